"""Run every example on every backend and print one table; exit with 1 if any result is wrong.

    python examples/demo.py                             # all of it
    python examples/demo.py --programs jacobi --backends numpy wgpu --dtypes float32
    python examples/demo.py --json results.json         # keep the full reports too

Each run is a process of its own, so that no backend inherits another one's threads, memory or
compiled kernels. A software adapter is good enough here: its name stands under the table.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from common import BACKENDS

FOLDER = Path(__file__).resolve().parent
DTYPES = ("float32", "float64")

# Sizes for two cores and a software GPU: the whole demo takes well under three minutes.
PROGRAMS = {
    "matmul": ["--size", "512"],
    "solve": ["--size", "300"],
    "black_scholes": ["--size", "100"],
    "jacobi": ["--size", "512", "--sweeps", "50"],
    "kmeans": ["--size", "20000", "--rounds", "3"],
}

COLUMNS = ("program", "backend", "dtype", "result", "time [ms]", "NumPy / it", "dispatches", "host fallbacks")


def run(program, backend, dtype, timeout):
    """The report of one example (see `common.Run.report`), or {"ok": False, "failure": why}."""
    arguments = ["--backend", backend, "--dtype", dtype, *PROGRAMS[program], "--json"]
    command = [sys.executable, str(FOLDER / f"{program}.py"), *arguments]
    environment = {"RUSTARR_ALLOW_SOFTWARE": "1", **os.environ}
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
    except subprocess.TimeoutExpired:
        return {"ok": False, "failure": f"not finished after {timeout:g} s"}
    try:
        report = json.loads(process.stdout.splitlines()[-1])
    except (IndexError, json.JSONDecodeError):
        return {"ok": False, "failure": f"exit status {process.returncode}\n{process.stderr.rstrip()}"}
    if process.returncode != 0:
        report["ok"] = False
    if not report["ok"]:
        wrong = [check for check in report["checks"] if not check["ok"]]
        report["failure"] = "\n".join("{label}: {error:.3g} > {limit:.3g}".format(**check) for check in wrong)
    return report


def row(program, backend, dtype, report, numpy_seconds):
    """The table row of one report."""
    seconds = report.get("seconds")
    counted = report.get("stats")
    return (
        program,
        backend,
        dtype,
        "ok" if report["ok"] else "FAILED",
        f"{1e3 * seconds:.2f}" if seconds else "-",
        f"{numpy_seconds / seconds:.2f}" if seconds and numpy_seconds else "-",
        str(report["dispatches"]) if counted else "-",
        str(report["fallbacks"]) if counted else "-",
    )


def print_row(cells):
    """One line: words to the left, numbers to the right."""
    print("{:<14} {:<13} {:<8} {:<6} {:>10} {:>10} {:>10} {:>14}".format(*cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--dtypes", nargs="+", choices=DTYPES, default=list(DTYPES))
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run (default: 120)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all reports to this file")
    args = parser.parse_args()

    reports = []
    print_row(COLUMNS)
    for program in args.programs:
        for dtype in args.dtypes:
            numpy_seconds = None
            for backend in sorted(args.backends, key=BACKENDS.index):  # NumPy first: the others' ratio
                report = run(program, backend, dtype, args.timeout)
                if backend == "numpy":
                    numpy_seconds = report.get("seconds")
                print_row(row(program, backend, dtype, report, numpy_seconds))
                reports.append({"program": program, "backend": backend, "dtype": dtype, **report})

    print()
    print("result: against NumPy in float64, within the limits each program states.")
    print("time: median of synchronised runs after a warm-up. NumPy / it: above 1 is faster than NumPy.")
    print("dispatches: of one run. host fallbacks: of the whole program; - where nothing is counted.")
    for backend, device in sorted({(r["backend"], r["device"]) for r in reports if "device" in r}):
        print(f"{backend} ran on {device}.")

    failed = [report for report in reports if not report["ok"]]
    for report in failed:
        print("\nFAILED {program} {backend} {dtype}: {failure}".format(**report), file=sys.stderr)
    if args.json:
        args.json.write_text(json.dumps(reports, indent=1) + "\n")
    print(f"{len(reports) - len(failed)} of {len(reports)} runs are right.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
