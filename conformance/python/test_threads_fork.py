"""Threads, processes and signals: the interpreter runs on, a child computes, Ctrl-C stops."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import rustarr

fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def test_the_interpreter_is_released_during_work(cpu):
    x = cpu.reshape(cpu.arange(1_000_000, dtype=cpu.float64), (1000, 1000)) / 1e6
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    while time.perf_counter() - start < 1.0:
        float(cpu.sum(cpu.tanh(x) @ x))
    end = time.perf_counter()
    stop.set()
    ticker.join()
    inside = [t for t in ticks if start < t < end]
    # Held for whole calls, the interpreter would come round a few times only.
    assert len(inside) > 20


def test_shared_inputs_give_the_same_bits_in_every_thread(xp):
    x = xp.linspace(0, 1, 20_003, dtype=xp.float32)
    want = float(xp.sum(xp.exp(x)))
    bad, barrier = [], threading.Barrier(6, timeout=60)

    def work():
        barrier.wait()
        for _ in range(5):
            if float(xp.sum(xp.exp(x))) != want or (x[x > 0.5]).shape[0] != 10_001:
                bad.append(True)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads) and not bad


def test_one_pending_array_is_realised_by_many_threads(cpu):
    for _ in range(20):
        x = cpu.exp(cpu.zeros(50_000)) + 1
        results = []
        threads = [threading.Thread(target=lambda: results.append(float(cpu.max(x)))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert results == [2.0] * 4


def total(n):
    """Run in a child."""
    xp = rustarr.namespace("cpu-parallel")
    return float(xp.sum(xp.ones(n))), float(xp.sum(xp.ones((200, 200)) @ xp.ones((200, 200))))


@fork
def test_a_forked_pool_computes(cpu):
    assert float(cpu.sum(cpu.ones(1_000_000))) == 1_000_000
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for n, (s, m) in zip([3, 1_000_000], pool.map_async(total, [3, 1_000_000]).get(60), strict=True):
            assert (s, m) == (n, 200**3)


def child_result(work, seconds=60):
    """The exit code of a forked child that runs `work`; it is killed after a while."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hung"


@fork
def test_a_child_forked_while_another_thread_computes(cpu):
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            float(cpu.sum(cpu.sqrt(cpu.ones(300_000))))

    def work():
        assert float(cpu.sum(cpu.ones(300_000))) == 300_000
        assert float(cpu.sum(cpu.ones(3) + 1)) == 6

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(5):
            assert child_result(work) == 0
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()


@fork
def test_a_child_forked_while_another_thread_writes_the_same_array(cpu):
    y = cpu.linspace(0, 1, 300_000)
    x = cpu.zeros(300_001)
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            x[1:] = cpu.sin(cpu.exp(y))

    def work():
        x[0:2] = 3.0
        assert float(x[0]) == 3.0

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(10):
            assert child_result(work) == 0
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()


@fork
def test_recorded_work_is_finished_by_the_child(cpu):
    x = cpu.exp(cpu.zeros(200_000)) * 2

    def work():
        assert float(cpu.sum(x)) == 400_000

    assert child_result(work) == 0
    work()


@fork
def test_the_gpu_refuses_in_a_child(gpu):
    x = gpu.ones(3, dtype=gpu.float32)
    assert float(gpu.sum(x)) == 3

    def work():
        try:
            float(gpu.sum(x + 1))
        except rustarr.DeviceLostError as error:
            assert "fork" in str(error)
        else:
            raise AssertionError("the parent's device was used")
        assert float(rustarr.namespace("cpu-serial").ones(3).sum()) == 3

    assert child_result(work) == 0
    assert float(gpu.sum(x)) == 3


INTERRUPTED = """
import os, signal, sys, threading, time, rustarr
xp = rustarr.namespace({name!r})
x = xp.ones((1500, 1500))
float(xp.sum(x[:100, :100] @ x[:100, :100]))
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    for _ in range(100_000):
        float(xp.sum(xp.tanh(xp.exp(x)) @ x))
except KeyboardInterrupt:
    took = time.monotonic() - start
    assert float(xp.sum(xp.ones(3))) == 3
    print("interrupted", took)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("name", ["cpu-serial", "cpu-parallel"])
def test_ctrl_c_stops_work(name):
    out = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(name=name)], capture_output=True, text=True, timeout=120
    )
    assert out.stdout.startswith("interrupted"), out.stdout + out.stderr


HANDLED = """
import os, signal, threading, rustarr
class Stop(Exception): pass
def handler(*_):
    assert float(rustarr.sum(rustarr.ones(1000))) == 1000  # a handler may compute
    raise Stop("mine")
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.5)
x = rustarr.ones((2000, 2000))
try:
    while True:
        float(rustarr.sum(rustarr.tanh(rustarr.exp(x))))
except Stop as stop:
    print("stopped by", stop)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no timer signal")
def test_a_handler_of_ones_own_is_what_is_raised():
    out = subprocess.run([sys.executable, "-c", HANDLED], capture_output=True, text=True, timeout=120)
    assert out.stdout.strip() == "stopped by mine", out.stdout + out.stderr


WRITING_HANDLER = """
import signal, rustarr
y = rustarr.linspace(0, 1, 2_000_000)
x = rustarr.zeros(2_000_001)
hits = []
def handler(*_):
    x[0:2] = 3.0
    hits.append(float(x[0]))
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
while len(hits) < 5:
    x[1:] = y + rustarr.sum(rustarr.sin(rustarr.exp(y)))
signal.setitimer(signal.ITIMER_REAL, 0)
print("written", hits)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="this system has no timer signal")
def test_a_handler_writes_the_array_that_is_being_written():
    out = subprocess.run([sys.executable, "-c", WRITING_HANDLER], capture_output=True, text=True, timeout=120)
    assert out.stdout.strip() == "written [3.0, 3.0, 3.0, 3.0, 3.0]", out.stdout + out.stderr


def test_threads_write_disjoint_parts_of_one_array(xp):
    for size in (20_000, 200_000):
        x = xp.zeros(size, dtype=xp.float32)

        def work(k, x=x):
            for _ in range(20):
                x[k::4] += 1
                x[k] = x[k] + 0

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert float(xp.min(x)) == float(xp.max(x)) == 20


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity masks")
def test_threads_follow_the_affinity_mask_and_the_context():
    program = """if 1:
        import os, threading
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import rustarr

        def workers():
            names = (open(f"/proc/self/task/{t}/comm").read() for t in os.listdir("/proc/self/task"))
            return sum(n.startswith("rustarr-") for n in names)

        one = rustarr.Context("cpu-parallel")
        assert one.threads == 1, one.threads
        float(one.namespace.sum(one.namespace.ones(3_000_000)))
        assert workers() <= 1, workers()
        three = rustarr.Context("cpu-parallel", threads=3)
        xp, most, done = three.namespace, 0, threading.Event()
        x = xp.linspace(0, 1, 3_000_000)

        def work():
            for _ in range(10):
                float(xp.sum(xp.exp(x)))
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        while not done.wait(0.005):
            most = max(most, workers())
        thread.join()
        assert 1 <= most <= 3 + 1, most  # the first context's worker may still be there
    """
    environment = {k: v for k, v in os.environ.items() if k not in ("RUSTARR_NUM_THREADS", "OMP_NUM_THREADS")}
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120, env=environment)
