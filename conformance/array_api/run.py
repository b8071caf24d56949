"""Run the array API standard's own test suite on namespaces of rustarr and report what it found.

    python conformance/array_api/run.py                                   # both CPU backends; clones the suite
    python conformance/array_api/run.py --suite PATH --namespace rustarr.wgpu --max-examples 20 --disable-deadline
    python conformance/array_api/run.py --defer always --grain 1          # everything recorded, and cut small
    python conformance/array_api/run.py --docs                            # and write docs/array-api.md

The page is made from the last report of each namespace in the folder of reports, this run's and earlier ones.

Needs the packages of the suite's requirements.txt beside rustarr. Nothing is skipped or expected to fail:
`xfails.txt` is empty, and what the standard permits to fail (`permitted.toml`) runs and is reported by name.
The exit status is 1 if anything else fails, and 2 if the suite could not run.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import rustarr
import suite
import table

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
XFAILS = FOLDER / "xfails.txt"
PERMITTED = FOLDER / "permitted.toml"
DOCUMENT = ROOT / "docs" / "array-api.md"
NAMESPACES = ("rustarr.cpu_serial", "rustarr.cpu_parallel")


@dataclass(frozen=True)
class Permit:
    """Failures that the standard permits."""

    namespaces: tuple[str, ...]
    tests: str
    reason: str
    quote: str

    def covers(self, namespace: str, test: str) -> bool:
        """Whether a test of a namespace may fail."""
        return any(re.fullmatch(n, namespace) for n in self.namespaces) and bool(re.fullmatch(self.tests, test))


def permits(path: Path, standard: str) -> list[Permit]:
    """The permits of a file, each with words that the standard's text has.

    Raises
    ------
    suite.SuiteError
        For a quotation that is not in the text.
    """
    found = []
    for entry in tomllib.loads(path.read_text())["permitted"]:
        permit = Permit(tuple(entry["namespaces"]), entry["tests"], entry["reason"], entry["quote"])
        if " ".join(permit.quote.split()) not in standard:
            raise suite.SuiteError(f"{path.name}: the standard does not say: {permit.quote}")
        found.append(permit)
    return found


def command(options: argparse.Namespace, raw: Path) -> list[str]:
    """The command that runs the suite."""
    words = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider", "--disable-warnings"]
    words += ["--tb=short", f"--max-examples={options.max_examples}", f"--xfails-file={XFAILS}"]
    words += ["--json-report", f"--json-report-file={raw}", *"--json-report-omit keywords streams log warnings".split()]
    words += ["--disable-deadline"] if options.disable_deadline else []
    words += ["-n", str(options.jobs)] if options.jobs > 1 else []
    words += [f"--hypothesis-seed={options.seed}"] if options.seed is not None else []
    words += ["-k", options.select] if options.select else []
    return words


def environment(options: argparse.Namespace, namespace: str, storage: Path) -> dict[str, str]:
    """The variables that the suite and the library read."""
    found = {"RUSTARR_ALLOW_SOFTWARE": "1", **os.environ}
    found |= {"ARRAY_API_TESTS_MODULE": namespace, "ARRAY_API_TESTS_VERSION": suite.VERSION}
    # Host fallbacks are right by design.
    found["PYTHONWARNINGS"] = "ignore"
    found["HYPOTHESIS_STORAGE_DIRECTORY"] = str(storage)
    found |= {"RUSTARR_DEFER": options.defer} if options.defer else {}
    found |= {"RUSTARR_GRAIN": str(options.grain)} if options.grain else {}
    return found


def reason(test: dict) -> str:
    """Why a test failed or was skipped, in one line."""
    for stage in ("setup", "call", "teardown"):
        found = test.get(stage, {})
        if found.get("outcome") == "skipped":
            # The representation of (path, line, "Skipped: why").
            return re.sub(r"^.*Skipped: (.*?)['\"]\)$", r"\1", str(found.get("longrepr", "")), flags=re.DOTALL)
        if found.get("outcome") == "failed":
            text = found.get("crash", {}).get("message") or str(found.get("longrepr", ""))
            return next((line.strip() for line in text.splitlines() if line.strip()), "")
    return ""


OUTCOMES = {"passed": "passed", "xpassed": "passed", "skipped": "skipped"}


def judged(raw: dict, namespace: str, permitted: list[Permit]) -> dict[str, dict]:
    """The outcome of each test by its id: passed, failed or skipped; nothing is expected to fail."""
    tests = {}
    for test in raw["tests"]:
        outcome = OUTCOMES.get(test["outcome"], "failed")
        found = {"outcome": outcome}
        if outcome != "passed":
            found["reason"] = reason(test)
        if outcome == "failed":
            permit = next((p for p in permitted if p.covers(namespace, test["nodeid"])), None)
            if permit:
                found["permitted"] = f'{permit.reason}. The standard: "{permit.quote}"'
        tests[test["nodeid"]] = found
    return tests


def stale(tests: dict[str, dict], namespace: str, permitted: list[Permit]) -> list[str]:
    """Permits that were not needed, of those that had a test in this run."""
    found = []
    for permit in permitted:
        covered = [t["outcome"] for test, t in tests.items() if permit.covers(namespace, test)]
        if covered and "failed" not in covered:
            found.append(permit.tests)
    return found


def totals(tests: dict[str, dict]) -> dict[str, int]:
    """How many tests passed, failed, were permitted to fail, and were skipped."""
    outcomes = [test["outcome"] for test in tests.values()]
    found = {outcome: outcomes.count(outcome) for outcome in ("passed", "failed", "skipped")}
    return found | {"permitted": sum("permitted" in test for test in tests.values())}


def text(report: dict) -> str:
    """A report in words."""
    count = report["totals"]
    options = ", ".join(f"{name}={value}" for name, value in report["options"].items() if value)
    lines = [
        f"{report['namespace']}: {count['passed']} passed, {count['failed']} failed ({count['permitted']} of them "
        f"permitted by the standard), {count['skipped']} skipped in {report['seconds']:.0f} s; {options}"
    ]
    groups: dict[tuple[str, str], list[str]] = {}
    for test, found in report["tests"].items():
        if found["outcome"] == "skipped":
            groups.setdefault(("skipped", found["reason"]), []).append(test)
        elif "permitted" in found:
            groups.setdefault(("failed, permitted", found["permitted"]), []).append(test)
        elif found["outcome"] == "failed":
            groups.setdefault(("FAILED", found["reason"]), []).append(test)
    for (outcome, why), tests in groups.items():
        lines.append(f"  {outcome}: {why}")
        lines += [f"    {test}" for test in tests]
    lines += [f"  no longer needed in {PERMITTED.name}: {pattern}" for pattern in report["stale"]]
    return "\n".join(lines)


def passed(report: dict) -> bool:
    """Whether nothing failed but what the standard permits."""
    return report["totals"]["failed"] == report["totals"]["permitted"] and not report["stale"]


def run(options: argparse.Namespace, path: Path, namespace: str, permitted: list[Permit]) -> dict:
    """Runs the suite on a namespace.

    Raises
    ------
    suite.SuiteError
        If it did not come to the tests.
    """
    options.report.mkdir(parents=True, exist_ok=True)
    raw = options.report.resolve() / f"{namespace}.raw.json"
    raw.unlink(missing_ok=True)
    start = time.monotonic()
    out = subprocess.run(
        command(options, raw),
        cwd=path,
        env=environment(options, namespace, options.report.resolve() / "examples"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    seconds = time.monotonic() - start
    (options.report / f"{namespace}.log").write_text(out.stdout)
    # 0: all passed, 1: some failed; the others are pytest's own troubles.
    if out.returncode not in (0, 1) or not raw.exists():
        raise suite.SuiteError(f"{namespace}: the suite did not run:\n{out.stdout[-3000:]}")
    tests = judged(json.loads(raw.read_text()), namespace, permitted)
    raw.unlink()
    if not tests:
        raise suite.SuiteError(f"{namespace}: the suite has no tests:\n{out.stdout[-3000:]}")
    return {
        "namespace": namespace,
        "version": suite.VERSION,
        "revision": suite.git("rev-parse", "HEAD", cwd=path),
        "rustarr": rustarr.__version__,
        "options": {
            name: getattr(options, name)
            for name in ("max_examples", "disable_deadline", "defer", "grain", "seed", "select")
        },
        "seconds": round(seconds, 1),
        "totals": totals(tests),
        "stale": stale(tests, namespace, permitted),
        "tests": tests,
    }


def kept(folder: Path) -> list[dict]:
    """The last report of each namespace."""
    reports = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    return sorted(reports, key=lambda report: (report["namespace"] not in NAMESPACES, report["namespace"]))


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--suite", type=Path, help="a checkout of the suite; cloned into the user's cache without it")
    found.add_argument("--any-revision", action="store_true", help="run another revision of the suite than the pinned")
    found.add_argument("--namespace", nargs="+", default=NAMESPACES, help="by default both CPU backends")
    found.add_argument("--max-examples", type=int, default=200, help="random examples of a test")
    found.add_argument("--disable-deadline", action="store_true", help="let single examples take as long as they need")
    found.add_argument("--defer", choices=("auto", "always", "never"), help="when recorded work runs (RUSTARR_DEFER)")
    found.add_argument("--grain", type=int, help="elements of a piece of parallel work (RUSTARR_GRAIN)")
    found.add_argument("--jobs", type=int, default=1, help="processes; more than one needs pytest-xdist")
    found.add_argument("--seed", type=int, help="seed of the random examples")
    found.add_argument("--select", help="run the tests whose names match only (pytest -k)")
    found.add_argument("--report", type=Path, default=ROOT / "build" / "array-api", help="folder of the reports")
    document = DOCUMENT.relative_to(ROOT)
    found.add_argument("--docs", action="store_true", help=f"write {document} from the reports in the folder")
    return found


def main(arguments: list[str] | None = None) -> int:
    """Runs the suite on each namespace, writes the reports and prints them."""
    options = parser().parse_args(arguments)
    try:
        path, found = suite.find(options.suite, options.any_revision)
        print(*(f"not the pinned suite: {difference}" for difference in found), sep="\n", end="\n" if found else "")
        permitted = permits(PERMITTED, suite.standard_text(path))
        reports = []
        for namespace in options.namespace:
            reports.append(run(options, path, namespace, permitted))
            words = text(reports[-1])
            print(words, flush=True)
            (options.report / f"{namespace}.txt").write_text(words + "\n")
            (options.report / f"{namespace}.json").write_text(json.dumps(reports[-1], indent=1) + "\n")
    except suite.SuiteError as error:
        print(error, file=sys.stderr)
        return 2
    if options.docs:
        DOCUMENT.write_text(table.document(kept(options.report)))
    return int(not all(map(passed, reports)))


if __name__ == "__main__":
    sys.exit(main())
