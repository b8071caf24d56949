"""Worker processes: arrays over shared memory, faults that name themselves, and ends without hangs or litter."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError, as_completed
from pathlib import Path

import numpy as np
import pytest
import rustarr
from rustarr.tasks import Runtime, _segments, access, delayed, submit
from rustarr.tasks._cpus import usable_cpus
from rustarr.tasks.parallel import Parallel
from rustarr.tasks.parallel import delayed as note
from rustarr.tasks.process import ProcessPool, WorkerDiedError

LARGE = 200_000

posix = pytest.mark.skipif(os.name != "posix", reason="this system has no such signals")


def add(a, b=0):
    return a + b


def total(x):
    return float(x.sum())


def describe(x):
    return type(x).__module__, x.dtype, x.shape, bool(getattr(x, "flags", None) is None or x.flags.writeable)


def increment(x):
    x += 1


@access(x="RW")
def increment_declared(x):
    x += 1


def nap(seconds, value=None):
    time.sleep(seconds)
    return value


def fail(text):
    raise KeyError(text)


def pid():
    return os.getpid()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def leave():
    os._exit(3)


def generator():
    return (i for i in range(3))


class Odd(Exception):
    """An exception that pickle cannot make again."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def raise_odd():
    raise Odd(1, 2)


def quit_interpreter():
    sys.exit("enough")


def threads_setting():
    return os.environ["RUSTARR_NUM_THREADS"]


@delayed
def plus(x):
    return x + 1


class Holder:
    @delayed
    def plus(self, x):
        return x + 1


def with_namespace(x, xp):
    return x, xp is not None and float(xp.sum(xp.ones(x))) == x


@pytest.fixture(scope="module")
def pool():
    with ProcessPool(2) as pool:
        yield pool


def test_functions_run_in_other_processes(pool):
    futures = [pool.submit(add, (i,), {"b": 10}) for i in range(50)]
    assert [future.result(60) for future in futures] == list(range(10, 60))
    pids = {pool.submit(pid).result(60) for _ in range(20)}
    assert os.getpid() not in pids and pids <= set(pool.pids()) and len(pool.pids()) <= 2
    assert {f.result() for f in as_completed([pool.submit(add, (i,)) for i in range(5)], 60)} == set(range(5))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(LARGE, dtype=np.float64),
        np.arange(LARGE, dtype=np.int8)[::-3],
        np.asfortranarray(np.arange(LARGE).reshape(400, 500)),
        np.arange(LARGE).reshape(20, 100, 100).transpose(1, 2, 0)[::2],
        np.full(LARGE, np.nan),
        np.zeros(LARGE, dtype=[("a", "f4"), ("b", "i8")]),
        np.arange(LARGE).astype("datetime64[s]"),
        np.broadcast_to(np.float32(2), (300, 700)),
        np.array(3.0),
        np.zeros((0, 5)),
        np.array([None, "object", 3] * 20_000, dtype=object),
    ],
    ids="plain reversed fortran strided nan struct dates broadcast 0-d empty object".split(),
)
def test_arrays_come_back_as_they_went(pool, array):
    back = pool.submit(nap, (0, array)).result(60)
    assert back.dtype == array.dtype and back.shape == array.shape
    np.testing.assert_array_equal(back, array)
    assert back.flags.writeable and (back.flags.f_contiguous or not array.flags.f_contiguous)


def test_arrays_inside_containers_go_too(pool):
    a = np.arange(LARGE)
    before = pool.copies
    back = pool.submit(nap, (0, {"x": [a, a], "y": (a, 3)})).result(60)
    assert pool.copies == before + 1
    np.testing.assert_array_equal(back["x"][1], a)


def test_one_copy_for_each_version_however_many_read_it(pool):
    a = np.random.default_rng(1).random(LARGE)
    before = pool.copies
    want = []
    futures = []
    for version in range(3):
        a[version] += 1
        futures += [pool.submit(total, (a,)) for _ in range(10)]
        want += [a.sum()] * 10
    # What a task reads is what was there when it was submitted.
    a[:] = 0
    assert [future.result(60) for future in futures] == want
    assert pool.copies == before + 3
    view = a[10:]
    assert [pool.submit(total, (view,)).result(60) for _ in range(3)] == [0.0] * 3
    assert pool.copies == before + 4


@pytest.mark.parametrize("one, other", [(0.0, -0.0), (np.nan, -np.nan), (1.0, np.nextafter(1.0, 2.0))])
def test_versions_are_told_by_bits(pool, one, other):
    a = np.full(LARGE, one)
    pool.submit(total, (a,)).result(60)
    a[-1] = other
    back = pool.submit(nap, (0, a)).result(60)
    assert back.tobytes() == a.tobytes()


@pytest.mark.parametrize("size", [3, LARGE])
def test_arguments_are_read_only_and_results_are_ones_own(pool, size):
    a = np.zeros(size)
    for array in (a, rustarr.namespace("cpu-serial").zeros(size), np.array([1, None])):
        with pytest.raises(ValueError, match="read-only"):
            pool.submit(increment, (array,)).result(60)
    assert pool.submit(describe, (a,)).result(60) == ("numpy", a.dtype, a.shape, False)
    result = pool.submit(add, (a, 1.0)).result(60)
    result += 1
    assert result.max() == 2 and a.max() == 0


def test_delayed_functions_go_by_their_names(pool):
    assert plus.__wrapped__ is not plus and pool.submit(plus.__wrapped__, (1,)).result(60) == 2
    assert pool.submit(Holder.plus.__wrapped__, (Holder(), 1)).result(60) == 2
    with Runtime(processes=1):
        assert plus(1).result(60) == submit(plus, 1).result(60) == Holder().plus(1).result(60) == 2
        assert Parallel(n_jobs=2)(note(plus)(i) for i in range(3)) == [1, 2, 3]


def test_functions_get_a_namespace(pool):
    assert pool.submit(with_namespace, (3,)).result(60) == (3, True)
    assert pool.submit(with_namespace, (3,), {"xp": None}).result(60) == (3, False)


@pytest.mark.parametrize("size", [3, LARGE])
def test_declared_writes_come_back(pool, size):
    a = np.arange(size)
    pool.submit(increment, (a,), writes=[0]).result(60)
    np.testing.assert_array_equal(a, np.arange(1, size + 1))
    strided = np.zeros((size, 2))
    pool.submit(increment, (), {"x": strided[:, 1]}, writes=["x"]).result(60)
    assert strided[:, 1].min() == 1 and strided[:, 0].max() == 0


@pytest.mark.parametrize("size", [5, LARGE])
def test_arrays_of_every_context(pool, xp, size):
    x = xp.astype(xp.arange(size), xp.float32)
    back = pool.submit(add, (x[::2], 1)).result(60)
    assert isinstance(back, rustarr.Array) and back.dtype == x.dtype
    assert back.tolist() == (x[::2] + 1).tolist()


def test_an_arrays_versions(pool, cpu):
    x = cpu.zeros(LARGE)
    before = pool.copies
    first = [pool.submit(total, (x,)) for _ in range(5)]
    x[0] = 5.0
    second = [pool.submit(total, (x,)) for _ in range(5)]
    assert [f.result(60) for f in first + second] == [0.0] * 5 + [5.0] * 5
    assert pool.copies == before + 2


def test_segments_go_with_their_arrays(pool):
    folders = [Path(path) for path in pool._folder.paths()]

    def size():
        return sum(file.stat().st_size for folder in folders for file in folder.iterdir())

    pool.submit(add, (np.arange(3),)).result(60)
    before = size()
    a = np.arange(LARGE)
    assert pool.submit(total, (a,)).result(60) and size() >= before + a.nbytes
    del a
    pool.submit(total, (np.zeros(LARGE),)).result(60)
    pool.submit(total, (np.arange(LARGE),)).result(60)
    assert size() <= before + np.arange(LARGE).nbytes


def test_idle_segments_are_limited(monkeypatch):
    monkeypatch.setattr(_segments, "IDLE_BYTES", 3 * LARGE * 8)
    arrays = [np.full(LARGE, float(i)) for i in range(6)]
    with ProcessPool(1) as pool:
        for a in arrays:
            pool.submit(total, (a,)).result(60)
        assert sum(segment.nbytes for segment in pool._sharing._newest.values()) <= 3 * LARGE * 8
        before = pool.copies
        assert pool.submit(total, (arrays[-1],)).result(60) == 5.0 * LARGE and pool.copies == before
        assert pool.submit(total, (arrays[0],)).result(60) == 0.0 and pool.copies == before + 1


def test_a_full_memory_file_system_is_an_error_and_no_crash(monkeypatch):
    def full(handle, offset, size):
        raise OSError(28, "No space left on device")

    with ProcessPool(1) as pool:
        monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
        with pytest.raises(MemoryError, match=r"1600000 bytes.*No space"):
            pool.submit(total, (np.zeros(LARGE),))
        assert pool.submit(add, (1, 2)).result(60) == 3


def test_exceptions_bring_the_tasks_traceback(pool):
    error = pool.submit(fail, ("missing",)).exception(60)
    assert isinstance(error, KeyError) and error.args == ("missing",)
    assert "in fail" in str(error.__cause__) and "raise KeyError(text)" in str(error.__cause__)
    odd = pool.submit(raise_odd).exception(60)
    assert isinstance(odd, RuntimeError) and "Odd: 1 and 2" in str(odd) and "raise_odd" in str(odd.__cause__)
    with pytest.raises(SystemExit):
        pool.submit(quit_interpreter).result(60)
    assert pool.submit(add, (1, 1)).result(60) == 2


def test_what_cannot_be_pickled_is_named_at_the_call(pool):
    with pytest.raises(TypeError, match=r"task <lambda>: the function, function .*<lambda>,.*top of a module"):
        pool.submit(lambda: 1)
    with pytest.raises(TypeError, match=r"task add: argument 1, a lock.*cannot pickle"):
        pool.submit(add, (1, threading.Lock()))
    with pytest.raises(TypeError, match=r"task add: argument 'b', generator"):
        pool.submit(add, (np.zeros(LARGE),), {"b": generator()})
    error = pool.submit(generator).exception(60)
    assert isinstance(error, TypeError) and "the result, generator" in str(error)
    assert not any(segment.uses for segment in pool._sharing._newest.values())


@pytest.mark.parametrize("processes, error", [(0, ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_bad_numbers(processes, error):
    with pytest.raises(error, match="ProcessPool"):
        ProcessPool(processes)


@posix
def test_a_killed_worker_fails_its_task_alone(pool):
    a = np.ones(LARGE)
    killed = pool.submit(die)
    others = [pool.submit(total, (a,)) for _ in range(20)]
    with pytest.raises(WorkerDiedError, match="task die: worker process .*SIGKILL"):
        killed.result(60)
    assert [f.result(60) for f in others] == [LARGE] * 20
    with pytest.raises(WorkerDiedError, match="exit code 3"):
        pool.submit(leave).result(60)
    assert pool.submit(total, (a,)).result(60) == LARGE


@posix
def test_a_worker_killed_while_idle_costs_no_task():
    with ProcessPool(1) as pool:
        first = pool.submit(pid).result(60)
        os.kill(first, signal.SIGKILL)
        second = pool.submit(pid).result(60)
        assert second != first and pool.pids() == [second]


def test_waiting_tasks_can_be_cancelled():
    with ProcessPool(1) as pool:
        first = pool.submit(nap, (0.5, "done"))
        second, third = pool.submit(add, (1,)), pool.submit(add, (3,))
        assert second.cancel()
        assert first.result(60) == "done" and third.result(60) == 3
        with pytest.raises(CancelledError):
            second.result(1)


def test_closing_finishes_or_cancels():
    pool = ProcessPool(1)
    futures = [pool.submit(nap, (0.05, i)) for i in range(5)]
    pool.close()
    assert [f.result(0) for f in futures] == list(range(5))
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(add, (1,))
    pool.close()
    pool = ProcessPool(1)
    first = pool.submit(nap, (0.5, 1))
    while not first.running():
        time.sleep(0.01)
    rest = [pool.submit(nap, (100,)) for _ in range(3)]
    pool.close(cancel=True)
    assert first.result(0) == 1 and all(f.cancelled() for f in rest)


def test_terminating_fails_what_runs():
    pool = ProcessPool(2)
    futures = [pool.submit(nap, (1000,)) for _ in range(4)]
    while sum(f.running() for f in futures) < 2 or len(pool.pids()) < 2:
        time.sleep(0.01)
    folders = pool._folder.paths()
    start = time.monotonic()
    pool.terminate()
    assert time.monotonic() - start < 30
    assert sum(f.cancelled() for f in futures) == 2
    assert sum(not f.cancelled() and isinstance(f.exception(0), WorkerDiedError) for f in futures) == 2
    assert not any(os.path.exists(folder) for folder in folders)


def test_workers_share_the_machine_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("RUSTARR_NUM_THREADS", raising=False)
    cpus = usable_cpus()
    with ProcessPool(cpus) as pool:
        assert pool.submit(threads_setting).result(60) == "1"
    monkeypatch.setenv("RUSTARR_NUM_THREADS", "7")
    with ProcessPool(1) as pool:
        assert pool.submit(threads_setting).result(60) == "7"


def script(tmp_path, text, **more):
    """A started Python program."""
    path = tmp_path / "program.py"
    path.write_text(text)
    return subprocess.Popen(
        [sys.executable, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )


PENDING = """
import time
from rustarr.tasks.process import ProcessPool
def work(i):
    time.sleep(0.05)
    return i
if __name__ == "__main__":
    pool = ProcessPool(1)
    for i in range(5):
        pool.submit(work, (i,)).add_done_callback(lambda f: print(f.result(), flush=True))
    print("folders", *pool._folder.paths(), flush=True)
"""


def test_exit_finishes_what_was_submitted(tmp_path):
    process = script(tmp_path, PENDING)
    out, err = process.communicate(timeout=120)
    lines = out.splitlines()
    assert process.returncode == 0 and lines[1:] == ["0", "1", "2", "3", "4"] and not err, out + err
    assert not any(os.path.exists(folder) for folder in lines[0].split()[1:])


# The script's module forgets its file when the script has ended: here exactly between the start of a worker and what
# the worker is told of the script.
FORGOTTEN = """
import sys, threading, time
import multiprocessing.spawn as spawn
def work(i):
    return i
def prepare(name, before=spawn.get_preparation_data):
    if not starting.is_set():
        starting.set()
        while "__file__" in sys.modules["__main__"].__dict__:
            time.sleep(0.01)
    return before(name)
starting = threading.Event()
if __name__ == "__main__":
    from rustarr.tasks import Runtime
    spawn.get_preparation_data = prepare
    runtime = Runtime(processes=1)
    runtime.submit(work, 7).add_done_callback(lambda f: print(f.exception() or f.result(), flush=True))
    starting.wait(60)
"""


def test_a_script_that_ends_while_a_worker_starts(tmp_path):
    out, err = script(tmp_path, FORGOTTEN).communicate(timeout=120)
    assert out == "7\n" and not err, out + err


UNGUARDED = """
from rustarr.tasks.process import ProcessPool
try:
    print(ProcessPool(2).submit(abs, (-1,)).result())
except Exception as error:
    print(repr(error))
    raise
"""


def test_a_script_without_a_guard_is_told_so(tmp_path):
    process = script(tmp_path, UNGUARDED)
    out, _ = process.communicate(timeout=120)
    assert "WorkerDiedError" in out and "if __name__ == '__main__'" in out


WAITING = """
import signal, time
from rustarr.tasks.process import ProcessPool
if __name__ == "__main__":
    pool = ProcessPool(2)
    futures = [pool.submit(time.sleep, (1000,)) for _ in range(4)]
    while not pool.pids():
        time.sleep(0.01)
    print("folders", *pool._folder.paths(), flush=True)
    print("pids", *pool.pids(), flush=True)
    try:
        futures[0].result()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        pool.terminate()
        print([type(f.exception()).__name__ for f in futures if not f.cancelled()], flush=True)
"""


@posix
def test_ctrl_c_reaches_the_parent_alone(tmp_path):
    process = script(tmp_path, WAITING, start_new_session=True)
    process.stdout.readline()
    process.stdout.readline()
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "interrupted" in out and out.count("WorkerDiedError") == 2, out + err
    assert process.returncode == 0 and not err


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_a_killed_parent_leaves_no_processes_and_its_files_are_swept(tmp_path):
    process = script(tmp_path, WAITING)
    folders = process.stdout.readline().split()[1:]
    pids = list(map(int, process.stdout.readline().split()[1:]))
    process.kill()
    process.communicate(timeout=60)
    end = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert pids and not any(map(alive, pids))
    assert all(os.path.exists(folder) for folder in folders)
    with ProcessPool(1) as pool:
        pool.submit(add, (1,)).result(60)
        assert not any(os.path.exists(folder) for folder in folders)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_has_a_pool_of_its_own():
    program = """if 1:
        import os, sys, time
        from rustarr.tasks.process import ProcessPool, WorkerDiedError
        pool = ProcessPool(2)
        futures = [pool.submit(time.sleep, (3,)) for _ in range(4)]
        while len(pool.pids()) < 2:
            time.sleep(0.01)
        folder = pool._folder.paths()[0]
        child = os.fork()
        if child == 0:
            assert all(isinstance(f.exception(5), WorkerDiedError) for f in futures)
            assert pool.submit(abs, (-3,)).result(60) == 3
            assert pool._folder.paths()[0] != folder
            sys.exit(0)  # with all the exit handlers
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert os.path.exists(folder)
        assert [f.result(60) for f in futures] == [None] * 4
        print("both")
    """
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert process.stdout == "both\n" and not process.stderr, process.stdout + process.stderr


@pytest.mark.parametrize("owner", ["numpy", "rustarr"])
def test_a_worker_survives_what_cannot_be_written_back(owner):
    a = np.zeros(10)
    if owner == "rustarr":
        a = rustarr.namespace("cpu-serial").asarray(a, copy=False)
        a = rustarr._core._handle(a, a.context, "a")
    else:
        a.flags.writeable = False
    with ProcessPool(1) as pool:
        error = pool.submit(increment, (a,), writes=[0]).exception(60)
        assert isinstance(error, ValueError) and "read-only" in str(error)
        first = pool.pids()
        assert pool.submit(os.getpid).result(60) == first[0] and len(first) == 1
        process = next(iter(pool._workers)).process
    assert process.exitcode == 0, "it was told to end"


def test_arrays_of_a_device_that_is_not_there_come_with_a_warning():
    data = np.ones(3, dtype=np.float32)
    with pytest.warns(rustarr.FallbackWarning, match="wgpu:99"):
        x = _segments._as_array(data, "wgpu:99")
    assert x.context.name == "cpu-parallel" and x.tolist() == [1.0] * 3
    with pytest.raises(ValueError, match="backend"):
        _segments._as_array(data, "cpu-nowhere")


@pytest.mark.parametrize("size", [3, LARGE])
def test_writes_from_outside_wait_for_tasks_that_were_submitted_before(size):
    xp = rustarr.namespace("cpu-serial")
    with Runtime(processes=1):
        busy = submit(nap, 0.3)
        x = xp.ones(size)
        before = submit(total, x)
        x[...] = 5
        assert busy.done() and before.done()
        assert (before.result(), submit(total, x).result(60)) == (size, 5 * size)


def test_numpy_arrays_are_read_when_a_task_runs_in_a_process_as_in_a_thread():
    for options in ({"processes": 1}, {"workers": ["cpu-serial"]}):
        with Runtime(**options):
            submit(nap, 0).result(60)
            busy = submit(nap, 0.3)
            a = np.ones(LARGE)
            later = submit(total, a)
            a[:] = 5
            assert not busy.done() and later.result(60) == 5 * LARGE


def test_a_result_that_cannot_be_written_back_fails_the_task_alone():
    fixed = np.zeros(10)
    fixed.flags.writeable = False
    with Runtime(processes=1) as runtime:
        with pytest.raises(ValueError, match="read-only"):
            runtime.submit(increment_declared, fixed).result(60)
        before = runtime.submit(os.getpid).result(60)
        assert runtime.submit(os.getpid).result(60) == before
