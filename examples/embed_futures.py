"""rustarr inside a thread pool that binds its threads: each task computes on its thread's cores, in its own memory.

    python examples/embed_futures.py

The pool stands for any runtime that owns the threads and the memory. A task opens the context of the cores that its
thread may use, takes a view of the runtime's input without a copy and fills a view of the runtime's output in place.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy
import rustarr


def bind(cores, lock=threading.Lock()):  # noqa: B008 - one lock for all threads
    """Binds the calling thread to the next core; what an outer runtime does when it starts a thread."""
    with lock:
        core = cores.pop()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def smooth(source, target):
    """One task: the mean of neighbours, from the runtime's memory into the runtime's memory."""
    with rustarr.Context.current_affinity() as context:
        xp = context.namespace
        x = xp.asarray(source, copy=False)
        out = xp.asarray(target, copy=False)
        out[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
        out[0], out[-1] = x[0], x[-1]
        rustarr.synchronize()
        return context.threads


def run(rows, columns, workers=None):
    """Smooths every row of an array in tasks; the array, the result, and the threads of each task's context."""
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    cores = usable[:workers]
    source = numpy.random.default_rng(0).random((rows, columns))
    target = numpy.zeros((columns, rows)).T  # strided rows: an outer runtime's layout is its own
    with ThreadPoolExecutor(len(cores), initializer=bind, initargs=(list(cores),)) as pool:
        threads = list(pool.map(smooth, source, target))
    return source, target, threads


def main():
    source, target, threads = run(rows=64, columns=20_000)
    expected = source.copy()
    expected[:, 1:-1] = (source[:, :-2] + source[:, 1:-1] + source[:, 2:]) / 3
    numpy.testing.assert_allclose(target, expected, rtol=1e-13)
    if hasattr(os, "sched_setaffinity"):
        assert set(threads) == {1}, threads
    print(f"{len(threads)} tasks, right, each on {max(threads)} thread(s)")


if __name__ == "__main__":
    main()
