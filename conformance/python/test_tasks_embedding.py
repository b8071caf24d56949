"""Inside other runtimes: the thread's cores, their memory in place, and nothing else of the machine."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import rustarr

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import embed_dask  # noqa: E402
import embed_futures  # noqa: E402
import embed_legate  # noqa: E402

affinity = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity masks")


def in_a_bound_thread(cores, work):
    """What `work` gives in a new thread that is bound to these cores."""
    result = []

    def run():
        if cores is not None:
            os.sched_setaffinity(0, cores)
        try:
            result.append(work())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(120)
    assert not thread.is_alive()
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]


@affinity
def test_the_context_has_the_threads_cores():
    cores = sorted(os.sched_getaffinity(0))
    contexts = [in_a_bound_thread({core}, rustarr.Context.current_affinity) for core in cores]
    assert [context.threads for context in contexts] == [1] * len(cores)
    assert len(set(contexts)) == len(cores)
    assert in_a_bound_thread({cores[0]}, rustarr.Context.current_affinity) == contexts[0]  # opened once
    assert rustarr.Context.current_affinity().threads == len(cores)


PLACED = """
import os, threading, numpy, rustarr

def cores_of(task):
    for line in open(f"/proc/self/task/{task}/status"):
        if line.startswith("Cpus_allowed_list"):
            return line.split()[1]

before = set(os.listdir("/proc/self/task"))
allowed = sorted(os.sched_getaffinity(0))

def work():
    os.sched_setaffinity(0, {allowed[-1]})
    with rustarr.Context.current_affinity() as context:
        xp = context.namespace
        x = xp.linspace(0, 1, 3_000_000)
        for _ in range(3):
            float(xp.sum(xp.exp(x) * x)), float(xp.sum(xp.reshape(x[:1_000_000], (1000, 1000)) @ xp.ones((1000, 4))))
            xp.sort(x)
    new = set(os.listdir("/proc/self/task")) - before
    print(allowed[-1], *sorted(cores_of(task) for task in new))

thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_every_thread_that_computes_is_on_the_given_core():
    out = subprocess.run([sys.executable, "-c", PLACED], capture_output=True, text=True, timeout=120)
    core, *places = out.stdout.split()
    assert places and set(places) == {core}, out.stdout + out.stderr


class Exports:
    """Another runtime's array: memory behind one protocol only."""

    def __init__(self, memory, protocol):
        self._memory = memory
        if protocol == "dlpack":
            self.__class__ = _DLPack
        else:
            self.__class__ = _Interface


class _Interface(Exports):
    @property
    def __array_interface__(self):
        return self._memory.__array_interface__


class _DLPack(Exports):
    def __dlpack__(self, **options):
        return self._memory.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._memory.__dlpack_device__()


@pytest.mark.parametrize("protocol", ["interface", "dlpack"])
@pytest.mark.parametrize("strided", [False, True])
def test_foreign_memory_is_used_in_place(cpu, protocol, strided):
    memory = np.arange(24.0).reshape(4, 6)
    view = memory[::2, 1:5:3] if strided else memory
    store = Exports(view, protocol)
    x = cpu.from_dlpack(store) if protocol == "dlpack" else cpu.asarray(store, copy=False)
    want = memory.copy()
    (want[::2, 1:5:3] if strided else want)[...] = np.sqrt(view) + 1
    x[...] = cpu.sqrt(x) + 1
    rustarr.synchronize()
    np.testing.assert_allclose(memory, want)


@affinity
def test_threads_of_a_pool():
    source, target, threads = embed_futures.run(rows=9, columns=501)
    assert len(threads) == 9 and set(threads) == {1}
    np.testing.assert_allclose(target[:, 1:-1], (source[:, :-2] + source[:, 1:-1] + source[:, 2:]) / 3)
    np.testing.assert_array_equal(target[:, [0, -1]], source[:, [0, -1]])


def test_stores_of_legate():
    x, before, after = embed_legate.run((50, 70), (20, 30), -1.5)
    np.testing.assert_allclose(after, -1.5 * x + before)


def test_an_input_store_stays_as_it_is():
    memory = np.ones((3, 4))
    with pytest.raises(ValueError, match="read-only"):
        embed_legate.saxpy(2.0, embed_legate.Store(memory, True), embed_legate.Store(memory, False))
    assert memory.min() == memory.max() == 1


@pytest.mark.parametrize("processes", [False, True])
def test_dask(processes):
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=processes, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        array, norms = embed_dask.run(client, rows=60, columns=40, blocks=3)
    np.testing.assert_allclose(norms, np.linalg.norm((array - array.mean()) / array.std(), axis=1))


@pytest.mark.parametrize("program", ["embed_dask", "embed_futures", "embed_legate"])
def test_program(program):
    process = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{program}.py")], capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 0 and "right" in process.stdout, process.stdout + process.stderr
