"""The example programs are right on every backend, the demo notices when one is not, the bench runs."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import common  # noqa: E402
import demo  # noqa: E402

SMALL = {
    "matmul": ["--size", "33"],
    "solve": ["--size", "17"],
    "black_scholes": ["--size", "12"],
    "jacobi": ["--size", "20", "--sweeps", "7"],
    "kmeans": ["--size", "300", "--rounds", "2"],
}
STANDARD_ONLY = ("black_scholes", "jacobi", "kmeans")  # the others use NumPy's names


def run_file(path, *arguments):
    """The finished process of one Python file, given a software GPU if there is no other."""
    return subprocess.run(
        [sys.executable, str(ROOT / path), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={"RUSTARR_ALLOW_SOFTWARE": "1", **os.environ},
    )


def run_example(program, backend, dtype):
    """The report of one example that has to succeed."""
    arguments = ["--backend", backend, "--dtype", dtype, "--repeats", "1", *SMALL[program], "--json"]
    process = run_file(f"examples/{program}.py", *arguments)
    assert process.returncode == 0, process.stdout + process.stderr
    return json.loads(process.stdout)


def test_every_example_is_in_the_demo():
    # Programs about tasks have tests of their own.
    programs = {path.stem for path in (ROOT / "examples").glob("*.py")} - {"common", "demo"}
    programs = {name for name in programs if not name.startswith(("embed_", "tasks_"))}
    assert set(demo.PROGRAMS) == programs == set(SMALL)


@pytest.mark.parametrize("dtype", demo.DTYPES)
@pytest.mark.parametrize("backend", common.BACKENDS)
@pytest.mark.parametrize("program", SMALL)
def test_example(program, backend, dtype):
    report = run_example(program, backend, dtype)
    assert report["ok"] and report["checks"]
    assert (report["program"], report["backend"], report["dtype"]) == (program, backend, dtype)
    assert report["seconds"] > 0


@pytest.mark.parametrize("program", STANDARD_ONLY)
def test_example_needs_the_standard_only(program):
    assert run_example(program, "array-api-strict", "float64")["ok"]


@pytest.mark.parametrize("program", ["black_scholes", "jacobi"])
def test_float32_stays_on_the_gpu(program):
    report = run_example(program, "wgpu", "float32")
    assert report["fallbacks"] == 0
    assert report["dispatches"] > 0


def run_in_process():
    args = argparse.Namespace(backend="numpy", dtype="float64", size=1, repeats=2, json=True)
    return common.Run("none", args, common.NumPy())


@pytest.mark.parametrize("error, limit, status", [(1.0, 1.0, 0), (1.5, 1.0, 1), (float("nan"), 1.0, 1)])
def test_status_follows_the_checks(capsys, error, limit, status):
    run = run_in_process()
    run.check("figure", error, limit)
    with pytest.raises(SystemExit) as end:
        run.finish()
    assert end.value.code == status
    assert json.loads(capsys.readouterr().out)["ok"] == (status == 0)


def test_no_checks_is_not_a_success():
    assert not run_in_process().report()["ok"]


def test_wrong_dtype_is_a_failure():
    run = run_in_process()
    run.check_dtype("narrowed", run.xp.zeros(3, dtype="float32"))
    assert not run.report()["ok"]


def test_warm_up_is_not_among_the_timed_runs():
    calls = []
    run = run_in_process()
    assert run.time("step", lambda: calls.append(None) or len(calls)) == 3
    step = run.steps["step"]
    assert step["min"] <= step["median"] <= step["max"]


@pytest.mark.parametrize("ok, status", [(True, 0), (False, 1)])
def test_demo_status(monkeypatch, capsys, ok, status):
    monkeypatch.setattr(demo, "run", lambda *_: {"ok": ok, "failure": "wrong on purpose"})
    monkeypatch.setattr(sys, "argv", ["demo.py", "--programs", "jacobi"])
    with pytest.raises(SystemExit) as end:
        demo.main()
    assert end.value.code == status
    printed = capsys.readouterr()
    assert ("FAILED" in printed.out) == ("wrong on purpose" in printed.err) == (not ok)


def test_demo_reports_a_program_that_crashes_or_hangs(monkeypatch):
    monkeypatch.setitem(demo.PROGRAMS, "jacobi", ["--size", "none"])
    crashed = demo.run("jacobi", "numpy", "float64", 60)
    assert not crashed["ok"] and "invalid positive value" in crashed["failure"]
    hung = demo.run("jacobi", "numpy", "float64", 0.001)
    assert not hung["ok"] and "not finished" in hung["failure"]


def test_bench(tmp_path):
    figures = tmp_path / "figures.json"
    process = run_file("benches/python/bench.py", "--quick", "--size", "1000", "--rounds", "1", "--json", str(figures))
    assert process.returncode == 0, process.stderr
    ratios = json.loads(figures.read_text())
    assert {figure["backend"] for figure in ratios} == {"cpu-serial", "cpu-parallel"}
    assert all(figure["ratio"] > 0 for figure in ratios)


def test_bench_of_tasks(tmp_path):
    figures = tmp_path / "figures.json"
    process = run_file("benches/python/tasks.py", "--tasks", "20", "--rounds", "1", "--json", str(figures))
    assert process.returncode == 0, process.stderr
    sides = {figure["side"]: figure for figure in json.loads(figures.read_text())}
    assert set(sides) == {"rustarr", "ThreadPoolExecutor", "joblib threading", "Dask"}
    assert all(figure["total_seconds"] > 0 and figure["ratio"] > 0 for figure in sides.values())


@pytest.mark.parametrize("scheduler", ["eager", "dmda"])
def test_portable_tasks(tmp_path, monkeypatch, scheduler):
    monkeypatch.setenv("RUSTARR_PERF_DIR", str(tmp_path))
    process = run_file("examples/tasks_portable.py", "--tasks", "64", "--size", "500", "--scheduler", scheduler)
    assert process.returncode == 0, process.stderr
    told = {line.split(":")[0].strip(): line for line in process.stdout.splitlines()}
    assert set(told) >= {"serial", "two serial", "parallel"}
    assert os.environ.get("RUSTARR_TEST_NO_GPU") == "1" or set(told) >= {"gpu", "mix"}
    assert all(": 64 tasks in" in line for line in told.values())
