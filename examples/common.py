"""What the example programs share: arguments, the choice of a backend, timing, checks, the report.

A program describes itself in its docstring, computes with one array namespace `run.xp` and never
asks which one it got:

    run = common.start(common.parser(__doc__, size=1000, unit="rows"))
    result = run.time("dot", lambda: run.xp.dot(a, b))
    run.check("relative error", error, limit)
    run.finish()
"""

import argparse
import importlib.util
import json
import statistics
import sys
import time
from pathlib import Path

import numpy

BACKENDS = ("numpy", "cpu-serial", "cpu-parallel", "wgpu")


class NumPy:
    """The reference: every call has finished when it returns, and nothing is counted."""

    def __init__(self):
        self.xp = numpy

    def device(self):
        return "cpu"

    def synchronize(self):
        pass

    def asnumpy(self, array):
        return array

    def stats(self):
        return {}


class Strict(NumPy):
    """array-api-strict: has the array API standard and nothing else, so it finds what is not portable."""

    def __init__(self):
        import array_api_strict

        self.xp = array_api_strict

    def asnumpy(self, array):
        return numpy.from_dlpack(array)


class Rustarr:
    """One rustarr context and its namespace."""

    def __init__(self, name, **options):
        import rustarr

        self.rustarr = rustarr
        self.context = rustarr.Context(name, **options)
        self.xp = rustarr.namespace(self.context)

    def device(self):
        return str(self.xp.empty(0).device)

    def synchronize(self):
        self.rustarr.synchronize()

    def asnumpy(self, array):
        return self.rustarr.asnumpy(array)

    def stats(self):
        return dict(self.context.stats())


def open_backend(name, **options):
    """The backend called `name`; `options` go to `rustarr.Context`."""
    if name == "numpy":
        return NumPy()
    if name == "array-api-strict":
        return Strict()
    return Rustarr(name, **options)


class Run:
    """One run of one program on one backend: collects times and checks, then reports them."""

    def __init__(self, program, args, backend):
        self.program = program
        self.args = args
        self.backend = backend
        self.xp = backend.xp
        self.size = args.size
        self.dtype = getattr(self.xp, args.dtype)
        self.eps = float(numpy.finfo(args.dtype).eps)
        self.steps = {}
        self.checks = []
        self.notes = {}
        self.dispatches = 0

    def asnumpy(self, array):
        """The array's values as a NumPy array in host memory."""
        return self.backend.asnumpy(array)

    def count(self, counter):
        """The context's counter of this name; 0 on backends that count nothing."""
        stats = self.backend.stats()
        return stats[counter] if stats else 0

    def time(self, label, step):
        """Run `step` once to warm up and then `--repeats` times; return its last result.

        Every run ends with a synchronisation while its result is alive, so work that is recorded,
        queued or still on the device is inside the time. The first run, which may compile kernels
        and fetch memory from the system, is reported on its own.
        """
        seconds = []
        for _ in range(1 + self.args.repeats):
            result = None  # gives its memory back before the clock starts
            self.backend.synchronize()
            before = self.count("dispatches")
            start = time.perf_counter()
            result = step()
            self.backend.synchronize()
            seconds.append(time.perf_counter() - start)
        first, *timed = seconds
        self.dispatches += self.count("dispatches") - before
        self.steps[label] = {
            "first": first,
            "median": statistics.median(timed),
            "min": min(timed),
            "max": max(timed),
        }
        return result

    @property
    def seconds(self):
        """What one run of all timed steps takes: the sum of their medians."""
        return sum(step["median"] for step in self.steps.values())

    def check(self, label, error, limit):
        """Record that `error` has to be at most `limit`; NaN fails."""
        error, limit = float(error), float(limit)
        self.checks.append({"label": label, "error": error, "limit": limit, "ok": error <= limit})

    def check_dtype(self, label, array):
        """Record that `array` has the dtype asked for: nothing may narrow or widen it on the way."""
        wrong = str(self.asnumpy(array).dtype) != self.args.dtype
        self.check(f"{label}: wrong dtype", wrong, 0)

    def note(self, label, value):
        """Record a figure that is worth reading and decides nothing."""
        self.notes[label] = value

    def report(self):
        """All that was recorded, as one JSON-serialisable dictionary."""
        return {
            "program": self.program,
            "backend": self.args.backend,
            "device": self.backend.device(),
            "dtype": self.args.dtype,
            "size": self.size,
            "ok": bool(self.checks) and all(check["ok"] for check in self.checks),
            "checks": self.checks,
            "seconds": self.seconds,
            "steps": self.steps,
            "dispatches": self.dispatches,
            "fallbacks": self.count("fallbacks"),
            "stats": self.backend.stats(),
            "notes": self.notes,
        }

    def finish(self):
        """Print the report and end the program: status 0 if every check held, 1 if one failed."""
        report = self.report()
        if self.args.json:
            print(json.dumps(report))
        else:
            print_report(report)
        sys.exit(0 if report["ok"] else 1)


def print_report(report):
    """The report for people."""
    print("{program}: {backend} ({device}), {dtype}, size {size}".format(**report))
    for label, step in report["steps"].items():
        spread = "{median:.6f} s ({min:.6f} to {max:.6f}), first run {first:.6f} s".format(**step)
        print(f"  {label:<26} {spread}")
    for label, value in report["notes"].items():
        print(f"  {label:<26} {value:.6g}")
    for check in report["checks"]:
        verdict = "ok" if check["ok"] else "FAILED"
        print(f"  {check['label']:<26} {check['error']:.3g} <= {check['limit']:.3g}: {verdict}")
    if report["stats"]:
        print(f"  {report['dispatches']} dispatches in a run, {report['fallbacks']} host fallbacks in all")


def parser(description, size, unit):
    """The arguments every program takes."""
    known = [*BACKENDS]
    if importlib.util.find_spec("array_api_strict"):
        known.append("array-api-strict")
    result = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    result.add_argument("--backend", choices=known, default="numpy", help="where it runs (default: numpy)")
    result.add_argument("--dtype", choices=("float32", "float64"), default="float64")
    result.add_argument("--size", type=positive, default=size, help=f"{unit} (default: {size})")
    result.add_argument("--repeats", type=positive, default=3, help="timed runs (default: 3)")
    result.add_argument("--threads", type=positive, help="worker threads of cpu-parallel (default: usable cores)")
    result.add_argument("--allow-software", action="store_true", help="let wgpu take a software adapter")
    result.add_argument("--json", action="store_true", help="print one JSON line instead of the report")
    return result


def positive(text):
    """An argument that has to be a whole number of at least one."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def start(arguments):
    """Parse the command line with `arguments` (see `parser`) and open the backend it names."""
    args = arguments.parse_args()
    options = {}
    if args.threads:
        options["threads"] = args.threads
    if args.allow_software:
        options["allow_software"] = True
    return Run(Path(sys.argv[0]).stem, args, open_backend(args.backend, **options))
