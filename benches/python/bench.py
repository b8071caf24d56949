"""rustarr beside NumPy: the same expressions in the same process, in alternating runs.

    python benches/python/bench.py                      # both CPU backends, about two minutes
    python benches/python/bench.py --quick --only sum   # a first impression
    python benches/python/bench.py --json ratios.json

The figure is the ratio NumPy's time / rustarr's time, above 1 where rustarr is faster: its median
over the rounds, with the smallest and the largest. Times on their own say more about the machine
and its load. A round times NumPy and then rustarr (the next one the other way round), so that
both meet the same load; each sample repeats its expression until it lasts long enough for the clock.

NumPy's matrix product takes the threads its BLAS takes: set OMP_NUM_THREADS=1 to compare one core
with one core.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy
import rustarr

BACKENDS = ("cpu-serial", "cpu-parallel")


@dataclass(frozen=True)
class Workload:
    """An expression of a namespace and of inputs that are made once, from NumPy arrays.

    `inputs(n, dtype)` makes NumPy arrays of about `n` elements, `expression(xp, *inputs)` is timed.
    `tiny` is for workloads whose cost is the call: their results are kept and waited for once at the
    end of a sample, where the others wait for each result.
    """

    name: str
    inputs: Callable
    expression: Callable
    tiny: bool = False


def vectors(count):
    """`count` random vectors of `n` elements."""

    def make(n, dtype):
        generator = numpy.random.default_rng(count)
        return tuple(generator.random(n).astype(dtype) for _ in range(count))

    return make


def square(n, dtype):
    """A random matrix with about as many rows as columns, `n` elements in all."""
    side = max(1, int(n**0.5))
    return (numpy.random.default_rng(0).random((side, side)).astype(dtype),)


def factors(n, dtype):
    """Two matrices whose product costs about as much as a hundred passes over `n` elements."""
    side = max(1, round((50 * n) ** (1 / 3)))
    generator = numpy.random.default_rng(0)
    return tuple(generator.random((side, side)).astype(dtype) for _ in range(2))


def outer(n, dtype):
    """A column and a row that broadcast to `n` elements."""
    (matrix,) = square(n, dtype)
    return matrix[:, :1].copy(), matrix[:1, :].copy()


def uniform(xp, x):
    """As many uniform numbers as `x` has elements: float64, the dtype of both generators."""
    return xp.random.random(x.size)


WORKLOADS = (
    Workload("a + b", vectors(2), lambda xp, a, b: a + b),
    Workload("a * b + c", vectors(3), lambda xp, a, b, c: a * b + c),
    Workload("exp(-x) * sin(x)", vectors(1), lambda xp, x: xp.exp(-x) * xp.sin(x)),
    Workload("sum(x)", vectors(1), lambda xp, x: xp.sum(x)),
    Workload("sum(exp(-x*x)*2 + 1)", vectors(1), lambda xp, x: xp.sum(xp.exp(-x * x) * 2 + 1)),
    Workload("sum(m, axis=0)", square, lambda xp, m: xp.sum(m, axis=0)),
    Workload("max(m, axis=1)", square, lambda xp, m: xp.max(m, axis=1)),
    Workload("column * row + 1", outer, lambda xp, column, row: column * row + 1),
    Workload("a @ b", factors, lambda xp, a, b: a @ b),
    Workload("random.random(n)", vectors(1), uniform),
    Workload("x[x > 0.5]", vectors(1), lambda xp, x: x[x > 0.5]),
    Workload("sort(x)", vectors(1), lambda xp, x: xp.sort(x)),
    Workload("x + 1.0, ten elements", lambda n, dtype: vectors(1)(10, dtype), lambda xp, x: x + 1.0, tiny=True),
)


def sampler(workload, xp, inputs, wait):
    """A function of `loops` that gives the seconds for one evaluation, as the mean of so many."""
    expression = workload.expression

    def tiny(loops):
        start = time.perf_counter()
        results = [expression(xp, *inputs) for _ in range(loops)]
        wait()
        seconds = time.perf_counter() - start
        del results
        return seconds / loops

    def large(loops):
        start = time.perf_counter()
        for _ in range(loops):
            result = expression(xp, *inputs)  # alive while it is waited for
            wait()
            del result
        return (time.perf_counter() - start) / loops

    return tiny if workload.tiny else large


def loops_for(sample, seconds):
    """How many evaluations last about so long; warms up on the way."""
    sample(1)
    loops, took = 1, sample(1)
    while loops * took < seconds / 2 and loops < 1_000_000:
        loops = max(2 * loops, min(int(seconds / max(took, 1e-9)), 10 * loops))
        took = sample(loops)
    return loops


def nothing():
    """NumPy has finished when it returns."""


def compare(workload, xp, n, dtype, rounds, seconds):
    """Alternating samples of NumPy and `xp`; one dictionary of figures."""
    host = workload.inputs(n, dtype)
    ours = tuple(xp.asarray(array) for array in host)
    samples = (
        sampler(workload, numpy, host, nothing),
        sampler(workload, xp, ours, rustarr.synchronize),
    )
    loops = [loops_for(sample, seconds) for sample in samples]
    times = ([], [])
    for turn in range(rounds):
        for side in (0, 1) if turn % 2 == 0 else (1, 0):
            times[side].append(samples[side](loops[side]))
    ratios = [numpys / ours for numpys, ours in zip(*times, strict=True)]
    return {
        "workload": workload.name,
        "dtype": dtype,
        "ratio": statistics.median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "numpy_seconds": statistics.median(times[0]),
        "rustarr_seconds": statistics.median(times[1]),
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", nargs="+", choices=(*BACKENDS, "wgpu"), default=BACKENDS)
    parser.add_argument("--dtypes", nargs="+", choices=("float32", "float64"), default=("float64",))
    parser.add_argument("--only", metavar="TEXT", help="workloads whose name contains this")
    parser.add_argument("--size", type=int, help="elements (default: 4,000,000; quick: 200,000)")
    parser.add_argument("--rounds", type=int, help="pairs of samples (default: 15; quick: 5)")
    parser.add_argument("--threads", type=int, help="worker threads of cpu-parallel (default: usable cores)")
    parser.add_argument("--quick", action="store_true", help="small arrays and short samples")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    args = parser.parse_args()
    args.size = args.size or (200_000 if args.quick else 4_000_000)
    args.rounds = args.rounds or (5 if args.quick else 15)
    args.seconds = 0.01 if args.quick else 0.1
    return args


def main():
    args = parse_arguments()
    chosen = [workload for workload in WORKLOADS if not args.only or args.only in workload.name]
    if not chosen:
        sys.exit(f"no workload's name contains {args.only!r}: " + "; ".join(w.name for w in WORKLOADS))

    print(f"NumPy {numpy.__version__} / rustarr, {args.size} elements, {args.rounds} rounds; above 1 rustarr is faster")
    line = "{:<24} {:<13} {:<8} {:>8} {:>17} {:>13} {:>13}"
    print(line.format("workload", "backend", "dtype", "ratio", "min to max", "NumPy [us]", "rustarr [us]"))
    figures = []
    gc.disable()  # a collection inside a sample would be charged to whoever runs it
    for backend in args.backends:
        options = {"threads": args.threads} if args.threads and backend == "cpu-parallel" else {}
        xp = rustarr.namespace(rustarr.Context(backend, **options))
        for dtype in args.dtypes:
            for workload in chosen:
                figure = compare(workload, xp, args.size, dtype, args.rounds, args.seconds)
                figures.append({"backend": backend, "elements": args.size, **figure})
                spread = "{ratio_min:.2f} to {ratio_max:.2f}".format(**figure)
                times = (f"{1e6 * figure[side]:.2f}" for side in ("numpy_seconds", "rustarr_seconds"))
                ratio = f"{figure['ratio']:.2f}"
                print(line.format(workload.name, backend, dtype, ratio, spread, *times), flush=True)
                gc.collect()
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
