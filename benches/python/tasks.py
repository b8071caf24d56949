"""The cost of an empty task: rustarr.tasks beside concurrent.futures, joblib and Dask, in one process.

    python benches/python/tasks.py                   # all peers that are installed
    python benches/python/tasks.py --tasks 200 --rounds 2 --json ratios.json

Every side has the same number of threads. A round submits so many calls of a function that does nothing and takes all
results, once with each side, in an order that turns from round to round, so that all meet the same load. Submitting is
the time until the last call is handed over, the total the time until the last result is there, both per task. The
figure is the ratio peer's total / rustarr's total, above 1 where rustarr is faster: its median over the rounds, with
the smallest and the largest. joblib is handed one call per batch, as a task is one call; it submits while it waits, so
that it has a total only.
"""

import argparse
import contextlib
import gc
import importlib.util
import json
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import rustarr
from rustarr import tasks


def nothing():
    """The task."""


#: Gives the seconds of submitting (None where that is no step of its own) and of all, for so many tasks.
Side = Callable[[int], tuple[float | None, float]]


def results(futures):
    """The results of futures, in order."""
    return [future.result() for future in futures]


def futures_side(submit: Callable, gather: Callable = results) -> Side:
    """A side that submits calls one by one and gathers the results of their futures."""

    def run(count):
        start = time.perf_counter()
        futures = [submit(nothing) for _ in range(count)]
        submitted = time.perf_counter()
        gather(futures)
        end = time.perf_counter()
        return submitted - start, end - start

    return run


@contextlib.contextmanager
def rustarr_tasks(threads: int) -> Iterator[Side]:
    workers = [rustarr.Context("cpu-serial") for _ in range(threads)]
    with tasks.Runtime(workers=workers) as runtime:
        yield futures_side(runtime.submit)


@contextlib.contextmanager
def thread_pool(threads: int) -> Iterator[Side]:
    with ThreadPoolExecutor(threads) as pool:
        yield futures_side(pool.submit)


@contextlib.contextmanager
def joblib_threading(threads: int) -> Iterator[Side]:
    import joblib

    with joblib.Parallel(n_jobs=threads, backend="threading", batch_size=1) as parallel:

        def run(count):
            start = time.perf_counter()
            parallel(joblib.delayed(nothing)() for _ in range(count))
            return None, time.perf_counter() - start

        yield run


@contextlib.contextmanager
def dask(threads: int) -> Iterator[Side]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=1, threads_per_worker=threads, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        # Equal calls are one task to Dask unless they are said to be impure.
        yield futures_side(lambda func: client.submit(func, pure=False), client.gather)


PEERS = {"ThreadPoolExecutor": thread_pool, "joblib threading": joblib_threading, "Dask": dask}
MODULES = {"joblib threading": "joblib", "Dask": "distributed"}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=2000, help="tasks in a round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file")
    return parser.parse_args()


def main():
    args = parse_arguments()
    peers = [name for name in args.peers if importlib.util.find_spec(MODULES.get(name, "rustarr"))]
    for name in args.peers:
        if name not in peers:
            print(f"{name} is left out: {MODULES[name]} is not installed")
    with contextlib.ExitStack() as stack:
        sides = {"rustarr": stack.enter_context(rustarr_tasks(args.threads))}
        sides |= {name: stack.enter_context(PEERS[name](args.threads)) for name in peers}
        times = {name: [] for name in sides}
        for side in sides.values():
            side(min(args.tasks, 200))  # starts threads
        names = list(sides)
        for turn in range(args.rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                gc.collect()
                submit, total = sides[name](args.tasks)
                times[name].append((None if submit is None else submit / args.tasks, total / args.tasks))

    print(f"{args.tasks} empty tasks, {args.threads} threads, {args.rounds} rounds; above 1 rustarr is faster")
    line = "{:<20} {:>12} {:>12} {:>8} {:>18}"
    print(line.format("", "submit [us]", "total [us]", "ratio", "min to max"))
    figures = []
    for name, samples in times.items():
        submits = [submit for submit, _ in samples if submit is not None]
        ratios = [total / ours for (_, total), (_, ours) in zip(samples, times["rustarr"], strict=True)]
        figure = {
            "side": name,
            "submit_seconds": statistics.median(submits) if submits else None,
            "total_seconds": statistics.median(total for _, total in samples),
            "ratio": statistics.median(ratios),
            "ratio_min": min(ratios),
            "ratio_max": max(ratios),
        }
        figures.append(figure)
        submit = f"{figure['submit_seconds'] * 1e6:.1f}" if submits else "-"
        spread = f"{figure['ratio_min']:.2f} to {figure['ratio_max']:.2f}"
        total = f"{figure['total_seconds'] * 1e6:.1f}"
        print(line.format(name, submit, total, f"{figure['ratio']:.2f}", spread))
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
