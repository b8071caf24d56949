"""The runner of the standard's own test suite: what it makes of results, and a small run where a checkout is at hand.

RUSTARR_ARRAY_API_TESTS names a checkout of the suite, whose requirements must be installed beside rustarr.
"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "array_api"
CHECKOUT = os.environ.get("RUSTARR_ARRAY_API_TESTS")


@pytest.fixture(scope="module")
def runner():
    """The runner's modules."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("run")
    finally:
        sys.path.remove(str(FOLDER))


#: What pytest says about a run.
RAW = {
    "tests": [
        {"nodeid": "array_api_tests/test_has_names.py::test_has_names[elementwise-floor_divide]", "outcome": "passed"},
        {"nodeid": "array_api_tests/test_has_names.py::test_has_names[array_method-__mod__]", "outcome": "passed"},
        {"nodeid": "array_api_tests/test_has_names.py::test_has_names[linear_algebra-matmul]", "outcome": "passed"},
        {"nodeid": "array_api_tests/test_has_names.py::test_has_names[linalg-matmul]", "outcome": "passed"},
        {"nodeid": "array_api_tests/test_has_names.py::test_has_names[creation-empty]", "outcome": "passed"},
        {
            "nodeid": "array_api_tests/test_special_cases.py::"
            "test_binary[floor_divide(x1_i is +infinity and isfinite(x2_i) and x2_i > 0) -> +infinity]",
            "outcome": "failed",
            "call": {"outcome": "failed", "crash": {"message": "AssertionError: out=nan\nmore"}},
        },
        {
            "nodeid": "array_api_tests/test_operators_and_elementwise_functions.py::test_remainder[__imod__(x, s)]",
            "outcome": "skipped",
            "setup": {"outcome": "skipped", "longrepr": "('/a/test.py', 1953, 'Skipped: flaky')"},
        },
        {
            "nodeid": "array_api_tests/test_linalg.py::test_linalg_matmul",
            "outcome": "xfailed",
            "call": {"outcome": "skipped", "longrepr": "expected"},
        },
        {"nodeid": "array_api_tests/test_linalg.py::test_eig", "outcome": "error", "setup": {"outcome": "failed"}},
    ]
}

NAMESPACE = "rustarr.cpu_serial"


def report(runner, permitted):
    tests = runner.judged(RAW, NAMESPACE, permitted)
    return {
        "namespace": NAMESPACE,
        "version": "2025.12",
        "revision": "0" * 40,
        "options": {"max_examples": 7, "grain": None},
        "seconds": 1.0,
        "totals": runner.totals(tests),
        "stale": runner.stale(tests, NAMESPACE, permitted),
        "tests": tests,
    }


def test_nothing_is_excused_that_is_not_permitted(runner):
    plain = report(runner, [])
    assert plain["totals"] == {"passed": 5, "failed": 3, "skipped": 1, "permitted": 0}
    assert not runner.passed(plain)
    words = runner.text(plain)
    assert "5 passed, 3 failed" in words and "max_examples=7" in words and "grain" not in words
    assert "skipped: flaky" in words and "FAILED: AssertionError: out=nan\n" in words
    assert all(test["nodeid"] in words for test in RAW["tests"][5:])


def test_what_is_permitted_is_still_named(runner):
    every = runner.Permit((NAMESPACE,), ".*", "so it is", "may differ")
    found = report(runner, [every])
    assert found["totals"] == {"passed": 5, "failed": 3, "skipped": 1, "permitted": 3} and runner.passed(found)
    assert 'failed, permitted: so it is. The standard: "may differ"' in runner.text(found)
    # One for another namespace changes nothing, and one that no failure needed has to go.
    assert not runner.passed(report(runner, [runner.Permit(("rustarr.wgpu",), ".*", "", "")]))
    unneeded = runner.Permit((NAMESPACE,), ".*test_has_names.*", "", "")
    found = report(runner, [every, unneeded])
    assert found["stale"] == [unneeded.tests] and not runner.passed(found)


def test_permits_quote_the_standard(runner, tmp_path):
    file = tmp_path / "permitted.toml"
    file.write_text('[[permitted]]\nnamespaces = ["a"]\ntests = "b"\nreason = "c"\nquote = "libraries  may"\n')
    assert runner.permits(file, "conforming libraries may differ")[0].quote == "libraries  may"
    with pytest.raises(runner.suite.SuiteError, match="does not say"):
        runner.permits(file, "libraries must not")


def test_nothing_is_expected_to_fail(runner):
    lines = runner.XFAILS.read_text().splitlines()
    assert all(line.startswith("#") or not line.strip() for line in lines)


def test_tests_belong_to_names(runner):
    known = runner.table.index(test["nodeid"] for test in RAW["tests"])
    subjects = [runner.table.subject(test["nodeid"], known) for test in RAW["tests"]]
    assert subjects[4:] == [
        ("creation", "empty"), ("elementwise", "floor_divide"), ("array_method", "__mod__"), ("linalg", "matmul"),
        ("linalg", "eig"),
    ]  # fmt: skip
    of = lambda test: runner.table.subject(f"array_api_tests/{test}", known)  # noqa: E731
    assert of("test_linalg.py::test_matmul") == ("linear_algebra", "matmul")
    assert of("test_creation_functions.py::TestEmpty::test_shape") == ("creation", "empty")
    assert of("test_constants.py::test_irrational_numbers[pi]") == ("constants", "pi")
    assert of("test_signatures.py::test_extension_func_signature[linalg.matmul]") == ("linalg", "matmul")
    assert of("test_fft.py::test_anything") == ("fft", "anything")
    assert of("test_array_object.py::test_anything") == ("array_method", "")


def test_the_page_shows_every_outcome(runner):
    page = runner.table.document([report(runner, [])])
    assert "| `rustarr.cpu_serial` | 7 | 5 | 3 | 0 | 1 |" in page
    assert "| `floor_divide` | 1 passed, **1 failed** |" in page
    assert "| `__mod__` | 1 passed, 1 skipped |" in page
    assert "* `test_remainder` of `__mod__`: flaky (rustarr.cpu_serial)" in page
    assert "* `test_binary` of `floor_divide`: AssertionError: out=nan (rustarr.cpu_serial)" in page


def test_only_the_pinned_suite_runs(runner, tmp_path, monkeypatch):
    """A clone of a repository at hand, another revision, a change, and no suite at all."""
    suite = runner.suite
    source = tmp_path / "source"
    (source / "array_api_tests").mkdir(parents=True)
    (source / "array_api_tests" / "__init__.py").touch()
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    suite.git("init", "--quiet", cwd=source)
    suite.git("add", ".", cwd=source)
    suite.git(*who, "commit", "--quiet", "-m", "one", cwd=source)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(suite, "SOURCE", str(source))
    with pytest.raises(suite.SuiteError, match="could not be cloned; give the path"):
        suite.find(None, False)
    monkeypatch.setattr(suite, "REVISION", suite.git("rev-parse", "HEAD", cwd=source))
    # The standard's text is a repository of its own inside.
    path, found = suite.find(None, True)
    assert path == suite.default_path().resolve() and (path / "array_api_tests" / "__init__.py").exists()
    assert len(found) == 1 and "array-api" in found[0]
    with pytest.raises(suite.SuiteError, match="--any-revision"):
        suite.find(None, False)
    (path / "array_api_tests" / "__init__.py").write_text("changed")
    assert any("has changes" in difference for difference in suite.differences(path))
    suite.git(*who, "commit", "--quiet", "-a", "-m", "two", cwd=path)
    assert any("not at" in difference for difference in suite.differences(path))
    with pytest.raises(suite.SuiteError, match="no checkout"):
        suite.find(tmp_path, True)


@pytest.mark.skipif(CHECKOUT is None, reason="RUSTARR_ARRAY_API_TESTS names no checkout of the suite")
def test_a_small_run(tmp_path):
    command = [sys.executable, FOLDER / "run.py", "--suite", CHECKOUT, "--namespace", NAMESPACE, "rustarr.cpu_parallel"]
    command += ["--max-examples=2", "--select=test_constants or test_remainder", "--defer=always", "--grain=1"]
    out = subprocess.run([*command, "--report", tmp_path], capture_output=True, text=True, timeout=300)
    assert out.returncode == 0, out.stdout + out.stderr
    for namespace in (NAMESPACE, "rustarr.cpu_parallel"):
        found = json.loads((tmp_path / f"{namespace}.json").read_text())
        assert found["totals"]["failed"] == 0 and found["totals"]["passed"] >= 5
        assert found["options"]["defer"] == "always" and found["options"]["grain"] == 1
        assert (tmp_path / f"{namespace}.txt").read_text().strip() in out.stdout
