"""What goes wrong around tasks: exit, Ctrl-C, forks, lost devices. Nothing hangs and nothing is lost silently."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import rustarr
from conftest import open_namespace
from rustarr.tasks import Runtime, access, arguments, explain, submit, task_submit
from rustarr.tasks import future as tasks_future

pytestmark = pytest.mark.usefixtures("time_limit")
fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def program(code, **options):
    """Starts a Python program with tasks."""
    head = "import os, signal, sys, threading, time, rustarr\nfrom rustarr.tasks import *\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + textwrap.dedent(code)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def finish(process):
    """Output, errors and exit status."""
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return out, err, process.returncode


def test_tasks_that_are_pending_at_exit_run():
    code = """
    for i in range(20):
        submit(lambda i=i: (time.sleep(0.001), os.write(1, f"{i} ".encode())))
    submit(lambda: os.write(1, f"{submit(lambda: submit(int).result()).result()} nested ".encode()))
    """
    out, err, status = finish(program(code))
    assert sorted(out.split()) == sorted([*map(str, range(20)), "0", "nested"]) and not err and status == 0


def test_exit_inside_with_and_with_a_raised_error():
    code = """
    with Runtime(["cpu-serial"]):
        fut = submit(time.sleep, 0.05)
        rest = [submit(time.sleep, 60) for _ in range(3)]
        time.sleep(0.01)
        raise SystemExit(3)
    """
    assert finish(program(code))[2] == 3


def test_exit_before_the_first_task_and_without_one():
    for code in ("current()", "Runtime(['cpu-serial', 'cpu-parallel'])", "import rustarr.tasks", "submit(int)"):
        assert finish(program(code)) == ("", "", 0)


@pytest.mark.parametrize("where", ["fut.result()", "float(x[0])", "current().wait()", "x.__iadd__(1)"])
def test_ctrl_c_stops_a_wait(where):
    code = f"""
    x = rustarr.namespace("cpu-serial").zeros(3)
    started = threading.Event()
    def work(x):
        started.set()
        time.sleep(0.5)
    fut = submit(work, x)
    rest = [submit(lambda x: time.sleep(30), x) for _ in range(5)]
    started.wait()
    print("ready", flush=True)
    try:
        {where}
    except KeyboardInterrupt:
        print("stopped", flush=True)
        raise
    """
    start = time.monotonic()
    process = program(code)
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err, status = finish(process)
    assert out == "stopped\n" and "KeyboardInterrupt" in err and status == -signal.SIGINT
    assert "5 tasks had not begun and were cancelled" in err
    assert time.monotonic() - start < 25


def test_a_second_ctrl_c_leaves_running_tasks():
    process = program("""
    fut = submit(time.sleep, 50)
    print("ready", flush=True)
    fut.result()
    """)
    start = time.monotonic()
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    while "waiting for 1 running tasks" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err, _ = finish(process)
    assert "tasks were left running" in err and time.monotonic() - start < 25


def test_ctrl_c_anywhere_in_submitting_leaves_the_runtime_at_work():
    code = """
    x = rustarr.namespace("cpu-serial").zeros(3)
    y = rustarr.namespace("cpu-serial").zeros(3)
    @access(x="RW")
    def add(x):
        x += 1
    go = threading.Event()
    def interrupt():
        go.wait()
        for _ in range(150):
            time.sleep(0.002)
            os.kill(os.getpid(), signal.SIGINT)
    timer = threading.Thread(target=interrupt)
    timer.start()
    stopped = 0
    while timer.is_alive():
        try:
            go.set()
            f = submit(add, x)
            for _ in range(5):
                f = submit(lambda a: a, f)
            submit(add, y)
            f.result()
        except KeyboardInterrupt:
            stopped += 1
    for attempt in range(5):
        try:
            assert submit(lambda: 5).result(20) == 5
            for array in (x, y):
                before = float(array[0])
                submit(add, array).result(20)
                assert float(array[0]) == before + 1
            break
        except KeyboardInterrupt:
            pass
    print("goes on", stopped > 20)
    """
    out, err, status = finish(program(code))
    assert (out, status) == ("goes on True\n", 0), err


@pytest.mark.parametrize("place", ["rustarr.tasks.arguments.access", "rustarr.tasks.runtime.Runtime._wake_one"])
def test_a_submit_that_is_interrupted_half_way(monkeypatch, place):
    """Whoever touches its arrays, or comes after it on them, does not wait for ever."""
    module, _, name = place.rpartition(".")
    owner = __import__("pkgutil").resolve_name(module)
    original, calls = getattr(owner, name), []

    def interrupted(*args):
        calls.append(args)
        result = original(*args)
        if len(calls) == 2 or name == "_wake_one":
            raise KeyboardInterrupt
        return result

    xp = rustarr.namespace("cpu-serial")
    x, y, ran = xp.zeros(3), xp.zeros(3), []
    with Runtime(["cpu-serial"]) as runtime:
        submit(int).result(60)
        monkeypatch.setattr(owner, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            submit(lambda x, y: ran.append(float(x[0])), x, y)
        monkeypatch.undo()
        assert submit(lambda x, y: float(x[0]), x, y).result(60) == 0.0
        x += 1
        assert y.tolist() == [0.0] * 3
        runtime.wait(60)
        assert not runtime.live and ran in ([], [0.0])


@fork
def test_a_forked_child_has_no_tasks_and_starts_anew():
    opened = threading.Event()
    x = rustarr.namespace("cpu-serial").zeros(3)
    with Runtime(["cpu-serial"]) as runtime:

        @access(x="RW")
        def wait(x):
            assert opened.wait(60)

        running = submit(wait, x)
        behind = submit(wait, x)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            said = []
            try:
                for future in (running, behind):
                    said.append("parent" in str(future.exception(5)))
                said.append(float(x[0]) == 0.0)  # nobody to wait for
                try:
                    runtime.submit(int)
                except RuntimeError as error:
                    said.append("closed" in str(error))
                with Runtime(["cpu-serial", "cpu-parallel"]):
                    said.append(submit(lambda a: a + 1, submit(int)).result(20) == 1)
                    said.append(submit(access(x="RW")(lambda x: x.fill(2)), x).result(20) is None)
                    said.append(x.tolist() == [2.0] * 3)
                from rustarr.tasks.current import default

                said.append(default().submit(lambda: 7).result(20) == 7)
            except BaseException as error:
                said.append(repr(error))
            os.write(write, repr(said).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            text = pipe.read()
        assert os.waitpid(pid, 0)[1] == 0
        assert text == repr([True] * 8)
        opened.set()
        assert behind.result(60) is None


@fork
def test_forks_while_workers_are_busy():
    stop = threading.Event()

    def work(x):
        x += 1

    x = rustarr.namespace("cpu-serial").zeros(10)
    with Runtime(["cpu-serial"] * 2):

        def keep():
            while not stop.is_set():
                submit(work, x).result(60)

        busy = threading.Thread(target=keep)
        busy.start()
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                ok = False
                try:
                    with Runtime(["cpu-serial"] * 2):
                        ok = [f.result(10) for f in [submit(lambda i=i: i) for i in range(5)]] == list(range(5))
                finally:
                    os._exit(0 if ok else 1)
            assert os.waitpid(pid, 0)[1] == 0
        stop.set()
        busy.join(60)


def test_a_fault_of_the_runtime_itself_is_told_to_all_who_wait(monkeypatch):
    from rustarr.tasks import graph

    told = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
    runtime = Runtime(["cpu-serial"])
    opened = threading.Event()
    first = runtime.submit(opened.wait, 60)
    second = runtime.submit(int, "3")

    def broken(*_):
        raise LookupError("broken")

    monkeypatch.setattr(graph, "end", broken)
    opened.set()
    for future in (first, second):
        with pytest.raises(RuntimeError, match="is broken: LookupError"):
            future.result(60)
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="closed"):
        runtime.submit(int)
    runtime.close()
    assert told == [LookupError]


# A device that is lost in the middle of a task.


def two(*options):
    open_namespace("wgpu")
    return Runtime(["cpu-serial", "wgpu"], *options)


def test_a_task_that_has_written_nothing_runs_elsewhere():
    x = rustarr.namespace("cpu-serial").ones(4, dtype=rustarr.float32)

    @access(x="RW")
    def work(x, xp):
        if "wgpu" in xp.__name__:
            raise rustarr.DeviceLostError("gone")
        x += 1
        return xp.__name__

    with two() as runtime:
        futures = [task_submit(where=["wgpu", "cpu-serial"])(work, x) for _ in range(20)]
        assert {f.result(60) for f in futures} == {"rustarr.cpu_serial"}
        assert not runtime.workers[1].lost, "the device answers"
    assert x.tolist() == [21.0] * 4


def test_a_task_that_has_written_fails():
    x = rustarr.namespace("cpu-serial").ones(4, dtype=rustarr.float32)
    a = np.ones(3)

    @access(x="RW")
    def write(x, xp):
        if "wgpu" in xp.__name__:
            x += 1
            raise rustarr.DeviceLostError("gone")
        return "ran"

    @access(x="RW")
    def with_numpy(x, a, xp):
        if "wgpu" in xp.__name__:
            raise rustarr.DeviceLostError("gone")
        return "ran"

    with two():
        # Only the GPU's worker is free.
        opened = threading.Event()
        submit_block = task_submit(where="cpu-serial")(opened.wait, 60)
        first, second = submit(write, x), submit(with_numpy, x, a)
        for future in (first, second):
            assert isinstance(future.exception(60), rustarr.DeviceLostError)
        opened.set()
        submit_block.result(60)


def test_nowhere_else_to_go():
    def work():
        raise rustarr.DeviceLostError("gone")

    with two():
        future = task_submit(where="wgpu")(work)
        assert isinstance(future.exception(60), rustarr.DeviceLostError)


@fork
@pytest.mark.parametrize("scheduler", ["eager", "prio", "ws", "dmda"])
def test_a_lost_worker_takes_no_more_tasks(scheduler):
    """A GPU context is lost for good in a forked child."""
    context = open_namespace("wgpu").context
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = []
        try:
            signal.alarm(30)

            class Models:
                def estimate(self, *_):
                    return None

                def record(self, *_):
                    pass

            with Runtime(["cpu-serial", context], scheduler=scheduler, models=Models()) as runtime:

                def work(xp):
                    return float(xp.sum(xp.ones(3, dtype=xp.float32)))

                futures = [task_submit(perfmodel="m")(work) for _ in range(40)]
                said.append({f.result(20) for f in futures} == {3.0})
                said.append({explain(f).worker for f in futures} == {"cpu-serial"})
                lost = task_submit(where="wgpu")(work).exception(20) if not runtime.workers[1].lost else None
                said.append(runtime.workers[1].lost and (lost is None or isinstance(lost, rustarr.DeviceLostError)))
                said.append(isinstance(task_submit(where="wgpu")(work).exception(20), rustarr.DeviceLostError))
        except BaseException as error:
            said.append(repr(error))
        os.write(write, repr(said).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    assert text == repr([True] * 4)


def test_what_callbacks_raise_reaches_no_other(caplog):
    heard = []
    with Runtime(["cpu-serial"] * 2) as runtime:
        go = threading.Event()

        def leave():
            assert go.wait(60)
            sys.exit(3)

        future = submit(leave)
        future.add_done_callback(lambda f: f.result())
        future.add_done_callback(heard.append)
        go.set()
        assert isinstance(future.exception(60), SystemExit)
        runtime.wait(60)
        assert submit(int).result(60) == 0 and submit(int).result(60) == 0
    assert heard == [future] and "a callback of" in caplog.text


def test_a_cancel_that_is_interrupted(monkeypatch):
    """Everybody hears of it all the same, whether it waits for its inputs or for its arrays."""
    x, heard = rustarr.namespace("cpu-serial").zeros(3), []

    def interrupted(self):
        raise KeyboardInterrupt

    with Runtime(["cpu-serial"]) as runtime:
        never = concurrent.futures.Future()
        future = submit(lambda never, x: None, never, x)
        future.add_done_callback(heard.append)
        waiter = threading.Thread(target=concurrent.futures.wait, args=([future],), daemon=True)
        waiter.start()
        monkeypatch.setattr(tasks_future.Future, "_tell_cancelled", interrupted)
        with pytest.raises(KeyboardInterrupt):
            future.cancel()
        monkeypatch.undo()
        with pytest.raises(concurrent.futures.CancelledError):
            future.result(60)
        assert future.cancel() and float(x[0]) == 0.0
        waiter.join(60)
        assert not waiter.is_alive()
        runtime.wait(60)
    assert heard == [future]


def test_a_submit_while_another_thread_closes(monkeypatch):
    original = arguments.scan

    def closing(task):
        original(task)
        thread = threading.Thread(target=runtime.close)
        thread.start()
        thread.join(60)

    x = rustarr.namespace("cpu-serial").zeros(3)
    runtime = Runtime(["cpu-serial"])
    monkeypatch.setattr(arguments, "scan", closing)
    future = runtime.submit(lambda x: None, x)
    monkeypatch.undo()
    assert isinstance(future.exception(60), RuntimeError) and "closed" in str(future.exception())
    x += 1
    assert x.tolist() == [1.0] * 3 and not runtime.live


def test_an_interrupted_command_at_a_prompt_cancels_nothing():
    code = """
from rustarr.tasks import *
import sys, time
raise KeyboardInterrupt

tasks = [submit(time.sleep, 0.1) for _ in range(6)]
tasks[-1].add_done_callback(lambda f: print("cancelled", f.cancelled()))
"""
    done = subprocess.run([sys.executable, "-i", "-q"], input=code, capture_output=True, text=True, timeout=60)
    assert "KeyboardInterrupt" in done.stderr and done.stdout == "cancelled False\n", done.stderr
