"""Workers as contexts, schedulers, tasks that wait for tasks, and the life of a runtime."""

import asyncio
import concurrent.futures
import contextvars
import os
import random
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
import pytest
import rustarr
from rustarr.tasks import DeadlockError, Runtime, Transfers, access, current, explain, graph, submit, task_submit
from rustarr.tasks.perfmodel import PerfModels

pytestmark = pytest.mark.usefixtures("time_limit")

SCHEDULERS = ("eager", "prio", "ws", "dmda")


class Gate:
    """A task that runs until it is opened."""

    def __init__(self):
        self.started, self.opened = threading.Event(), threading.Event()

    def __call__(self):
        self.started.set()
        assert self.opened.wait(60)


@pytest.fixture(params=SCHEDULERS)
def scheduler(request):
    """Each scheduler."""
    return request.param


def where_am_i(xp):
    return xp.__name__, rustarr.namespace() is xp, rustarr.current_context() == xp.context


@pytest.mark.parametrize("spec", ["cpu-serial", "cpu-parallel", "wgpu"])
def test_the_workers_context_is_current_in_its_tasks(spec):
    with Runtime([spec]) as runtime:
        name, same, now = submit(where_am_i).result(60)
        assert name == "rustarr." + runtime.workers[0].context.name.replace("-", "_").replace(":", "_") and same and now
        assert submit(current).result(60) is runtime
        x = submit(lambda: rustarr.ones(3)).result(60)
        assert x.device == runtime.workers[0].device and x.tolist() == [1.0] * 3


def test_a_namespace_that_the_caller_gives_stays():
    with Runtime(["cpu-serial"]):
        assert submit(lambda xp: xp, 3).result(60) == 3
        assert submit(lambda xp: xp, xp=4).result(60) == 4
        assert submit(lambda a, *, xp=None: xp, 1).result(60) is not None

        class Callable:
            def __call__(self, xp):
                return xp

        assert submit(Callable(), 5).result(60) == 5
        assert submit(Callable()).result(60).__name__ == "rustarr.cpu_serial"


def test_variables_of_one_task_do_not_reach_another():
    import contextvars

    variable = contextvars.ContextVar("variable", default="unset")

    def leave():
        before = variable.get()
        variable.set("set")
        rustarr.Context("cpu-serial").__enter__()
        return before

    with Runtime(["cpu-serial"]) as runtime:
        assert [submit(leave).result(60) for _ in range(3)] == ["unset"] * 3
        assert submit(rustarr.current_context).result(60) == runtime.workers[0].context


def test_where():
    contexts = [
        rustarr.Context("cpu-serial"),
        rustarr.Context("cpu-parallel", threads=2),
        rustarr.Context("cpu-serial"),
    ]
    with Runtime(contexts) as runtime:
        assert [w.name for w in runtime.workers] == ["cpu-serial#0", "cpu-parallel", "cpu-serial#1"]
        for where, names in [
            ("cpu-parallel", {"cpu-parallel"}),
            ("cpu-serial", {"cpu-serial#0", "cpu-serial#1"}),
            ("cpu-serial#1", {"cpu-serial#1"}),
            (contexts[2], {"cpu-serial#1"}),
            (["cpu-parallel", contexts[0]], {"cpu-parallel", "cpu-serial#0"}),
        ]:
            futures = [task_submit(where=where)(time.sleep, 0) for _ in range(20)]
            for future in futures:
                future.result(60)
            assert {explain(f).worker for f in futures} <= names
        with pytest.raises(ValueError, match="no worker is where='wgpu'; there are cpu-serial#0"):
            task_submit(where="wgpu")(time.sleep, 0)


def test_runtimes_that_cannot_be():
    for workers, error in [(["cpu-imaginary"], ValueError), ([], ValueError), ([3], TypeError)]:
        with pytest.raises(error):
            Runtime(workers)
    with pytest.raises(ValueError, match="'fastest' is no scheduler; there are eager"):
        Runtime(["cpu-serial"], scheduler="fastest")
    for count, error in [(0, ValueError), ("2", TypeError)]:
        with pytest.raises(error):
            Runtime(processes=count)


def test_the_environment_chooses(monkeypatch):
    monkeypatch.setenv("RUSTARR_SCHED", "prio")
    monkeypatch.setenv("RUSTARR_WORKERS", "cpu-serial, cpu-parallel")
    with Runtime() as runtime:
        assert [w.name for w in runtime.workers] == ["cpu-serial", "cpu-parallel"]
        assert explain(submit(int)).scheduler == "prio"
    monkeypatch.setenv("RUSTARR_SCHED", "none")
    with pytest.raises(ValueError, match="RUSTARR_SCHED='none'"):
        Runtime()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system has no affinity masks")
def test_a_serial_workers_thread_is_bound_to_its_cores():
    cores = sorted(os.sched_getaffinity(0))
    with Runtime([rustarr.Context("cpu-serial", cores=[cores[-1]]), rustarr.Context("cpu-serial")]) as runtime:
        seen = {
            worker.name: task_submit(where=worker.name)(lambda: sorted(os.sched_getaffinity(0))).result(60)
            for worker in runtime.workers
        }
        nested = task_submit(where=runtime.workers[0].name)(
            lambda: (task_submit(where=runtime.workers[0].name)(os.sched_getaffinity, 0)).result(60)
        )
        assert nested.result(60) == {cores[-1]}, "the thread that takes over is bound too"
    assert seen == {"cpu-serial#0": [cores[-1]], "cpu-serial#1": cores}
    assert sorted(os.sched_getaffinity(0)) == cores


def test_every_task_runs_once_under_every_scheduler(scheduler):
    ran = []
    with Runtime(["cpu-serial"] * 3, scheduler=scheduler):
        futures = [
            task_submit(priority=i % 3, where=None if i % 2 else "cpu-serial#1")(ran.append, i) for i in range(600)
        ]
        for future in futures:
            future.result(60)
    assert sorted(ran) == list(range(600))


def test_priorities():
    order = []
    with Runtime(["cpu-serial"], scheduler="prio"):
        gate = Gate()
        submit(gate)
        assert gate.started.wait(60)
        for priority in (0, 5, -3, 10**20, 5, -(10**20)):
            task_submit(priority=priority)(order.append, (priority, len(order)))
        gate.opened.set()
    assert [p for p, _ in order] == [10**20, 5, 5, 0, -3, -(10**20)]


def test_eager_runs_in_order():
    order = []
    with Runtime(["cpu-serial"], scheduler="eager"):
        for i in range(200):
            task_submit(priority=i)(order.append, i)
    assert order == list(range(200))


def test_a_free_worker_steals():
    with Runtime(["cpu-serial"] * 2, scheduler="ws") as runtime:
        gate, inner = Gate(), []

        def parent():
            # All go to the queue of the worker that is busy with this very task.
            inner.extend(submit(threading.get_ident) for _ in range(6))
            gate()
            return threading.get_ident()

        outer = submit(parent)
        assert gate.started.wait(60)
        other = {f.result(60) for f in inner}
        gate.opened.set()
        assert outer.result(60) not in other
        assert {explain(f).worker for f in inner} == {w.name for w in runtime.workers} - {explain(outer).worker}
        assert all("stole" in str(explain(f)) for f in inner)


@dataclass
class Guess:
    """What a fake model estimates."""

    seconds: float


class Linear:
    """A performance model whose costs are known: `start + slope * size` for each kind of worker."""

    def __init__(self, costs):
        self.costs, self.recorded = costs, []

    def estimate(self, model, worker, size):
        if worker not in self.costs:
            return None
        start, slope = self.costs[worker]
        return Guess(start + slope * size)

    def record(self, model, worker, size, seconds, flops=None):
        self.recorded.append((model, worker, size, flops))


def test_dmda_flips_at_the_computed_size():
    # 1e-3 + 4e-6 n against 9e-3 + 2e-6 n: they meet at n = 4000.
    models = Linear({"cpu-serial": (1e-3, 4e-6), "cpu-parallel:1": (9e-3, 2e-6)})
    contexts = [rustarr.Context("cpu-serial"), rustarr.Context("cpu-parallel", threads=1)]
    with Runtime(contexts, scheduler="dmda", models=models) as runtime:
        for size in (0, 1, 1000, 3999, 4001, 5000, 10**6):
            future = task_submit(perfmodel="m", sizebase=size)(int)
            future.result(60)
            told = explain(future)
            assert told.worker == ("cpu-serial" if size < 4000 else "cpu-parallel"), str(told)
            assert [c.finish for c in told.candidates] == [1e-3 + 4e-6 * size, 9e-3 + 2e-6 * size]
            assert "expected to finish first" in str(told) and "execution" in str(told)
        array = runtime.workers[0].namespace.zeros(5000)
        future = task_submit(perfmodel="m", flops=7.0)(lambda x: None, array)
        future.result(60)
        assert explain(future).worker == "cpu-parallel", "the default size is the number of elements"
        future = task_submit(perfmodel="m", sizebase=lambda x, k: k)(lambda x, k: None, array, 10)
        future.result(60)
        assert explain(future).worker == "cpu-serial"
    assert models.recorded[-2:] == [("m", "cpu-parallel:1", 5000, 7.0), ("m", "cpu-serial", 10, None)]


def test_dmda_counts_what_workers_have_to_do():
    models = Linear({"cpu-serial": (1.0, 0.0), "cpu-parallel:1": (2.6, 0.0)})
    contexts = [rustarr.Context("cpu-serial"), rustarr.Context("cpu-parallel", threads=1)]
    with Runtime(contexts, scheduler="dmda", models=models) as runtime:
        runtime.clock = lambda: 0.0
        gates = [Gate() for _ in range(7)]
        futures = [task_submit(perfmodel="m")(gate) for gate in gates]
        deadline = time.monotonic() + 60
        while any(explain(f).reason is None for f in futures) and time.monotonic() < deadline:
            time.sleep(0.001)
        chosen = [min(explain(f).candidates, key=lambda c: c.finish).worker for f in futures]
        for gate in gates:
            gate.opened.set()
    # They finish at 1, 2 | 2.6 | 3, 4, 5 | 5.2.
    assert chosen == ["cpu-serial"] * 2 + ["cpu-parallel"] + ["cpu-serial"] * 3 + ["cpu-parallel"]
    assert [explain(f).worker for f in futures] == chosen


def test_sizes_are_of_results_and_may_fail():
    models = Linear({"cpu-serial": (1.0, 1.0)})
    for scheduler in ("eager", "dmda"):
        with Runtime(["cpu-serial"], scheduler=scheduler, models=models):
            first = submit(lambda: 7)
            future = task_submit(perfmodel="m", sizebase=lambda n: n * 2)(lambda n: n, first)
            assert future.result(60) == 7 and models.recorded[-1][2] == 14
            with pytest.raises(ZeroDivisionError):
                task_submit(perfmodel="m", sizebase=lambda n: 1 // n)(lambda n: n, 0)
            late = task_submit(perfmodel="m", sizebase=lambda n: n // 0)(lambda n: n, first)
            if scheduler == "dmda":
                assert isinstance(late.exception(60), ZeroDivisionError)
            else:
                assert late.result(60) == 7, "it is only not measured"
            assert submit(int).result(60) == 0


def test_models_that_fail():
    models = Linear({})
    models.estimate = models.record = lambda *args: 1 / 0
    with Runtime(["cpu-serial"], scheduler="dmda", models=models):
        assert isinstance(task_submit(perfmodel="m")(int).exception(60), ZeroDivisionError)
        assert submit(int).result(60) == 0
    with Runtime(["cpu-serial"], models=models):
        assert task_submit(perfmodel="m")(int).result(60) == 0, "it is only not measured"


def test_dmda_measures_what_it_does_not_know():
    models = Linear({"cpu-serial": (1.0, 0.0)})
    contexts = [rustarr.Context("cpu-serial"), rustarr.Context("cpu-parallel", threads=1)]
    with Runtime(contexts, scheduler="dmda", models=models):
        future = task_submit(perfmodel="m")(int)
        future.result(60)
        assert explain(future).worker == "cpu-parallel" and "has no measurements on cpu-parallel:1" in str(
            explain(future)
        )
        future = submit(int)
        future.result(60)
        assert "no performance model" in str(explain(future))


def test_dmda_counts_transfers():
    models = Linear({})
    models.estimate = lambda model, worker, size: Guess(1e-6 if worker.startswith("wgpu") else 1e-3)
    contexts = [rustarr.Context("cpu-serial"), rustarr.Context("wgpu")]
    # 1e-6 + 8 n / 8e6 against 1e-3: they meet near n = 999.
    with Runtime(contexts, scheduler="dmda", models=models, transfers=Transfers(latency=0.0, bandwidth=8e6)) as runtime:
        xp = runtime.workers[0].namespace
        for size, where in [(900, "wgpu"), (1100, "cpu-serial")]:
            future = task_submit(perfmodel="m")(lambda x: None, xp.zeros(size, dtype=xp.float64))
            future.result(60)
            assert explain(future).worker.startswith(where), str(explain(future))


def test_explain_before_and_after():
    with Runtime(["cpu-serial"]):
        gate = Gate()
        first = submit(gate)
        assert gate.started.wait(60)
        second = submit(lambda x: x, first)
        assert "no worker has been chosen" in str(explain(second))
        gate.opened.set()
        second.result(60)
        assert "cpu-serial: eager" in str(explain(second))
    with pytest.raises(TypeError):
        explain(concurrent.futures.Future())


def test_independent_tasks_run_together(scheduler):
    with Runtime(["cpu-serial"] * 3, scheduler=scheduler):
        barrier = threading.Barrier(3, timeout=60)
        assert sorted(f.result(60) for f in [submit(barrier.wait) for _ in range(3)]) == [0, 1, 2]


# Tasks that wait for tasks.


def fibonacci(n):
    if n < 2:
        return n
    one, two = submit(fibonacci, n - 1), submit(fibonacci, n - 2)
    return one.result() + two.result()


@pytest.mark.parametrize("count", [1, 2])
def test_recursion(scheduler, count):
    with Runtime(["cpu-serial"] * count, scheduler=scheduler) as runtime:
        assert submit(fibonacci, 13).result(60) == 233
        assert len(runtime._threads) < 80, "threads go with the depth, not with the number of tasks"


def test_every_way_of_waiting_gives_up_the_worker():
    ways = [
        lambda f: f.result(), lambda f: f.exception(), lambda f: concurrent.futures.wait([f]),
        lambda f: list(concurrent.futures.as_completed([f])), lambda f: f.result(timeout=60),
        lambda f: concurrent.futures.wait([f, submit(int)], 60, concurrent.futures.FIRST_EXCEPTION),
        lambda f: current().wait(),
    ]  # fmt: skip
    with Runtime(["cpu-serial"]):
        for way in ways:
            assert submit(lambda way=way: way(submit(int)) or True).result(60)
        assert submit(lambda: task_submit(synchronous=True)(int).done()).result(60)
        x = rustarr.namespace("cpu-serial").zeros(3)

        @access(x="RW")
        def fill(x):
            x[...] = 3

        def outside():
            submit(fill, x)
            return float(x[0])

        assert submit(outside).result(60) == 3.0, "a gate is a way of waiting too"


def test_event_loops_in_tasks_give_up_the_worker():
    def loop(count):
        async def main():
            first = asyncio.ensure_future(one(count))
            return await asyncio.gather(*(one(i) for i in range(count))), await first, submit(int).result(60)

        async def one(i):
            # The worker is free until the last of the coroutines goes on.
            return await submit(max, i, await submit(abs, -i))

        return asyncio.run(main())

    with Runtime(["cpu-serial"]) as runtime:
        assert submit(loop, 20).result(60) == ([*range(20)], 20, 0)
        futures = [submit(loop, i) for i in range(10)]
        assert [f.result(60)[1] for f in futures] == [*range(10)]
        assert len(runtime._threads) < 20


def test_a_coroutine_that_is_left_in_a_wait_does_not_keep_the_worker():
    left = []

    def abandon():
        loop = asyncio.new_event_loop()

        async def wait():
            await submit(opened.wait)

        left.append((loop, loop.create_task(wait())))
        loop.call_later(0.05, loop.stop)
        loop.run_forever()

    opened = threading.Event()
    with Runtime(["cpu-serial"]):
        future = submit(abandon)
        threading.Timer(0.2, opened.set).start()
        future.result(60)
        assert submit(int).result(60) == 0
        loop, task = left.pop()
        task.cancel()
        loop.run_until_complete(asyncio.wait([task]))
        loop.close()
        assert submit(int).result(60) == 0


def test_coroutines_that_would_wait_for_ever():
    known = {}

    def loop():
        async def main():
            while "self" not in known:
                await asyncio.sleep(0.001)
            results = await asyncio.gather(submit(int), asyncio.ensure_future(own()), return_exceptions=True)
            return [type(result) for result in results]

        async def own():
            return await known["self"]

        return asyncio.run(main())

    with Runtime(["cpu-serial"]):
        known["self"] = submit(loop)
        assert known["self"].result(60) == [int, DeadlockError]


def test_a_deep_chain_of_waits():
    def nest(depth):
        return 0 if depth == 0 else submit(nest, depth - 1).result() + 1

    with Runtime(["cpu-serial"]):
        assert submit(nest, 100).result(60) == 100


def test_too_many_waiting_tasks_are_told_so(monkeypatch):
    from rustarr.tasks import runtime

    monkeypatch.setattr(runtime, "MOST_WAITING", 20)

    def nest(depth):
        return 0 if depth == 0 else submit(nest, depth - 1).result() + 1

    with Runtime(["cpu-serial"]):
        error = submit(nest, 100).exception(60)
        assert isinstance(error, RuntimeError) and "20 tasks of this runtime wait" in str(error)
        assert submit(nest, 15).result(60) == 15


def test_one_task_at_a_time_on_a_worker():
    running, most = [], []
    lock = threading.Lock()

    def work(depth):
        with lock:
            running.append(None)
            most.append(len(running))
        time.sleep(random.random() * 1e-3)
        with lock:
            running.pop()
        if depth:
            for future in [submit(work, depth - 1) for _ in range(2)]:
                future.result()
            with lock:
                running.append(None)
                most.append(len(running))
            time.sleep(random.random() * 1e-3)
            with lock:
                running.pop()

    with Runtime(["cpu-serial"] * 2):
        for future in [submit(work, 4) for _ in range(3)]:
            future.result(60)
    assert max(most) == 2


def test_no_thread_to_take_over(monkeypatch):
    with Runtime(["cpu-serial"]):

        def wait():
            def start(self):
                raise RuntimeError("can't start new thread")

            inner = submit(int)
            with monkeypatch.context() as patch:
                patch.setattr(threading.Thread, "start", start)
                with pytest.raises(RuntimeError, match="cannot wait: can't start"):
                    inner.result()
            return inner.result()

        assert submit(wait).result(60) == 0


def test_a_task_that_closes_its_own_runtime():
    with Runtime(["cpu-serial"]) as runtime:
        with pytest.raises(RuntimeError, match="cannot close the runtime"):
            submit(runtime.close).result(60)

        def inner():
            with Runtime(["cpu-serial"]):
                return submit(int).result()

        assert submit(inner).result(60) == 0


def test_a_task_that_waits_for_itself():
    with Runtime(["cpu-serial"]):
        box, ready = [], threading.Event()

        def wait():
            assert ready.wait(60)
            return box[0].result()

        box.append(submit(wait))
        ready.set()
        with pytest.raises(DeadlockError, match="would wait for ever"):
            box[0].result(60)


@pytest.mark.parametrize("count", [1, 2])
def test_cycles_of_waits(count):
    """Each waits for the other, directly and through a dependent."""
    for through in (lambda f: f, lambda f: submit(lambda x: x, f)):
        with Runtime(["cpu-serial"] * count):
            box, ready = {}, threading.Event()

            def wait(name, through=through, box=box, ready=ready):
                assert ready.wait(60)
                return through(box[name]).result(60)

            box["a"] = submit(wait, "b")
            box["b"] = submit(wait, "a")
            ready.set()
            errors = [box["a"].exception(60), box["b"].exception(60)]
            assert any(isinstance(e, DeadlockError) for e in errors) and all(e is not None for e in errors)


def test_a_task_that_would_wait_for_a_writer_behind_it():
    """A child needs an array that a task behind its parent is going to write."""
    xp = rustarr.namespace("cpu-serial")
    x, y = xp.zeros(3), xp.zeros(3)

    @access(x="RW")
    def parent(x, ready):
        assert ready.wait(60)
        return submit(access(y="R")(lambda y: None), y).result(60)

    @access(x="R", y="RW")
    def behind(x, y):
        pass

    with Runtime(["cpu-serial"]):
        ready = threading.Event()
        first = submit(parent, x, ready)
        second = submit(behind, x, y)
        ready.set()
        assert isinstance(first.exception(60), DeadlockError)
        assert second.result(60) is None


def test_runtimes_wait_for_each_other():
    with Runtime(["cpu-serial"]) as one, Runtime(["cpu-serial"]) as two:
        x = rustarr.namespace("cpu-serial").zeros(2)

        @access(x="RW")
        def increment(x):
            x += 1

        for i in range(40):
            (one, two)[i % 2].submit(increment, x)
        # In the order of submission within each runtime; between runtimes nothing is lost.
        assert two.submit(lambda a: a, one.submit(lambda: 5)).result(60) == 5
        assert one.submit(lambda: two.submit(lambda: one.submit(int).result()).result()).result(60) == 0
        one.wait(60), two.wait(60)
        assert float(x[0]) == 40


# Worker processes.


def pid_and_sum(x, y=0):
    return os.getpid(), float(x.sum()) + y


@access(x="RW")
def increment_in_process(x):
    x += 1


def die():
    os.kill(os.getpid(), 9)


def test_a_runtime_of_processes():
    xp = rustarr.namespace("cpu-serial")
    with Runtime(processes=2) as runtime:
        assert [w.name for w in runtime.workers] == ["process#0", "process#1"]
        x = xp.ones(20_000)
        futures = [submit(pid_and_sum, x, y=i) for i in range(6)]
        assert [f.result(60)[1] for f in futures] == [20_000.0 + i for i in range(6)]
        assert os.getpid() not in {f.result()[0] for f in futures}
        assert runtime._pool.copies == 1
        for array in (x, np.ones(20_000)):
            for _ in range(5):
                submit(increment_in_process, array)
            assert submit(pid_and_sum, array).result(60)[1] == 120_000.0
        chained = submit(pid_and_sum, x, y=submit(os.getpid))
        assert chained.result(60)[1] > 120_000


def test_what_cannot_go_to_a_process_is_named_at_submit():
    with Runtime(processes=1):
        with pytest.raises(TypeError, match="the function.*<lambda>"):
            submit(lambda: 1)
        with pytest.raises(TypeError, match="argument 0"):
            submit(len, [threading.Lock()])
        with pytest.raises(TypeError, match="argument 'y'"):
            submit(pid_and_sum, np.ones(3), y=threading.Lock())
        late = concurrent.futures.Future()
        future = submit(len, late)
        late.set_result([threading.Lock()])
        assert isinstance(future.exception(60), TypeError), "what comes later fails the task"
        assert submit(len, [1]).result(60) == 1


def test_processes_beside_contexts():
    for options in ({}, {"processes": 1}):
        with Runtime(["cpu-serial"], **options) as runtime:
            x = runtime.workers[0].namespace.zeros(10_000)
            here, there = submit(os.getpid), task_submit(where="process")(os.getpid)
            assert here.result(60) == os.getpid() != there.result(60)
            for where in (None, "process", None, "process"):
                task_submit(where=where)(increment_in_process, x)
            assert float(x[7]) == 4.0
            last = task_submit(where="process")(time.sleep, 0.05)
        assert last.done(), "the end of the runtime waits for them"


def test_a_killed_process_fails_its_task_alone():
    from rustarr.tasks import WorkerDiedError

    with Runtime(processes=1):
        futures = [submit(os.getpid), submit(die), submit(os.getpid)]
        assert isinstance(futures[1].exception(60), WorkerDiedError)
        assert futures[0].result(60) != futures[2].result(60)


# The life of a runtime.


def test_with_ends_when_the_tasks_have_ended():
    ran = []
    with Runtime(["cpu-serial"]) as runtime:
        for i in range(50):
            submit(lambda i=i: (time.sleep(0.0005), ran.append(i)))
    assert ran == list(range(50)) and "closed" in repr(runtime)
    with pytest.raises(RuntimeError, match="closed"):
        runtime.submit(int)
    runtime.close()


def test_an_error_in_with_cancels_what_has_not_begun():
    gate = Gate()
    with pytest.raises(KeyError), Runtime(["cpu-serial"]):
        first = submit(gate)
        rest = [submit(int) for _ in range(20)]
        assert gate.started.wait(60)
        threading.Timer(0.02, gate.opened.set).start()
        raise KeyError("stop")
    assert first.done() and not first.cancelled() and all(f.cancelled() for f in rest)


def test_wait_with_a_timeout():
    with Runtime(["cpu-serial"]) as runtime:
        gate = Gate()
        submit(gate)
        with pytest.raises(TimeoutError):
            runtime.wait(0.01)
        gate.opened.set()
        runtime.wait(60)


def test_threads_end_with_the_runtime():
    before = threading.active_count()
    for _ in range(3):
        with Runtime(["cpu-serial"] * 2):
            submit(fibonacci, 6).result(60)
    assert threading.active_count() == before


def test_the_default_runtime_is_one():
    from rustarr.tasks.current import default

    assert current() is default() is default()
    assert submit(current).result(60) is default()


def test_many_threads_submit():
    with Runtime(["cpu-serial"] * 2) as runtime:
        results = []

        def work(k):
            futures = [runtime.submit(lambda a: a, i) for i in range(300)]
            results.append([f.result(60) for f in futures])

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert results == [list(range(300))] * 6


def test_finalisers_may_submit():
    """The collector runs anywhere, also while the runtime is at work."""

    class Submits:
        def __init__(self, runtime):
            self.runtime = runtime
            self.itself = self

        def __del__(self):
            done.append(self.runtime.submit(int))

    import gc

    done = []
    old = gc.get_threshold()
    gc.set_threshold(5)
    try:
        with Runtime(["cpu-serial"] * 2) as runtime:
            for _ in range(300):
                submit(lambda: Submits(runtime) and None).result(60)
            gc.collect()
            assert len(done) == 300 and all(f.result(60) == 0 for f in done)
    finally:
        gc.set_threshold(*old)


def test_switching_threads_often_changes_nothing():
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with Runtime(["cpu-serial"] * 3):
            assert submit(fibonacci, 9).result(60) == 34
            assert [f.result(60) for f in [submit(lambda i=i: i) for i in range(500)]] == list(range(500))
    finally:
        sys.setswitchinterval(old)


class Reads:
    """Looks at an array when it dies."""

    def __init__(self, x, seen):
        self.x, self.seen = x, seen

    def nothing(self):
        pass

    def __del__(self):
        self.seen.append(float(self.x[0]))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("holder", ["argument", "result", "function"])
def test_finalisers_may_wait(workers, holder):
    """What a task held goes where its finaliser may wait for tasks that come later."""
    seen, gate = [], Gate()
    x = rustarr.namespace("cpu-serial").zeros(3)

    @access(x="RW")
    def increment(x):
        x += 1

    with Runtime(["cpu-serial"] * workers):
        submit(gate)
        if holder == "argument":
            future = submit(lambda reads: False, Reads(x, seen))
        elif holder == "result":
            future = submit(lambda reads: False, submit(lambda: Reads(x, seen)))
        else:
            future = submit(Reads(x, seen).nothing)
        submit(increment, x)
        gate.opened.set()
        assert not future.result(60) and submit(int).result(60) == 0
    assert seen == [1.0]


def test_a_finaliser_inside_the_runtime_cannot_wait():
    with Runtime(["cpu-serial"]):
        gate = Gate()
        future = submit(gate)
        try:
            with graph.lock, pytest.raises(DeadlockError, match="finaliser"):
                future.result(60)
        finally:
            gate.opened.set()
        future.result(60)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("scheduler", ["eager", "dmda"])
@pytest.mark.parametrize("late", [False, True])
def test_sizes_may_be_values(scheduler, count, late):
    """A size may read the task's own arrays, after their writers and before the task itself, and wait for others."""
    models = Linear({"cpu-serial": (1.0, 1.0)})
    n = rustarr.namespace("cpu-serial").zeros(1)

    def add(n, k):
        n += k

    def size(n, k):
        return int(n[0]) + submit(lambda: k).result(60)

    with Runtime(["cpu-serial"] * count, scheduler=scheduler, models=models):
        submit(add, n, 5)
        k = submit(lambda: 2) if late else 2
        future = task_submit(perfmodel="m", sizebase=size)(add, n, k)
        later = submit(add, n, 1)
        future.result(60)
        later.result(60)
        assert float(n[0]) == 8.0 and [size for _, _, size, _ in models.recorded] == [7]


def test_models_may_wait_for_tasks():
    class Slow(Linear):
        def estimate(self, model, worker, size):
            assert submit(int).result(60) == 0
            return super().estimate(model, worker, size)

    models = Slow({"cpu-serial": (1.0, 1.0)})
    with Runtime(["cpu-serial"] * 2, scheduler="dmda", models=models):
        gate = Gate()
        future = task_submit(perfmodel="m")(lambda x: x, submit(gate))
        gate.opened.set()
        future.result(60)
        assert "expected to finish first" in str(explain(future))


@pytest.mark.parametrize("where", [["cpu-serial", "nope"], ("nope",), frozenset({"nope"}), ["cpu-serial", 3]], ids=str)
def test_each_place_of_where_has_to_be_there(where):
    with Runtime(["cpu-serial"]):
        unknown = next(place for place in where if place != "cpu-serial")
        with pytest.raises(ValueError, match=f"no worker is {unknown!r} of where=.*there are cpu-serial"):
            task_submit(where=where)(int)
        assert task_submit(where=["cpu-serial"])(int).result(60) == 0


@pytest.mark.parametrize(
    "options",
    [{"models": "folder"}, {"transfers": 3}, {"scheduler": 3}, {"scheduler": []}, {"scheduler": Runtime}],
    ids=str,
)
def test_parameters_of_another_type_are_named(options):
    with pytest.raises(TypeError, match=next(iter(options))):
        Runtime(["cpu-serial"], **options)


@pytest.mark.parametrize("size", [-3, 10**400, float("nan"), float("inf"), "many"])
def test_a_size_that_is_none_is_told_where_it_is_given(size, tmp_path, caplog):
    models = PerfModels(tmp_path)
    with Runtime(["cpu-serial"], models=models) as runtime:
        call = task_submit(perfmodel="f", sizebase=lambda x: size)
        with pytest.raises(ValueError, match="'abs': sizebase has to give a number"):
            call(abs, -1)
        # Known only after the call: the task is as good as ever.
        assert call(abs, runtime.submit(int)).result(60) == 0
    assert "was not measured" in caplog.text and "sizebase" in caplog.text and "Traceback" not in caplog.text
    assert models.models() == []


def test_threads_of_a_block_and_its_runtime():
    with Runtime(["cpu-serial"]) as runtime, concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert current() is runtime and submit(current).result(60) is runtime
        assert pool.submit(current).result(60) is not runtime
        assert pool.submit(contextvars.copy_context().run, current).result(60) is runtime
        assert pool.submit(runtime.submit, current).result(60).result(60) is runtime


def test_code_of_users_runs_outside_of_the_lock(cpu, time_limit):
    """Sizes are asked for, and arguments let go, while other tasks may be waited for."""
    x = cpu.asarray(5.0)

    class Reader:
        def __del__(self):
            seen.append(float(x))

    def slow(x):
        time.sleep(0.05)
        x += 1

    seen = []
    with Runtime(["cpu-serial"] * 2):
        sized = task_submit(perfmodel="sized by value", sizebase=lambda n: int(n))(lambda n: 1, x)
        assert sized.result(60) == 1 and sized.task.size == 5
        submit(slow, x)
        submit(lambda r: None, Reader()).result(60)
        # Of a task that never runs, too.
        go_on = threading.Event()
        blocker = submit(go_on.wait, 60)
        failed = submit(lambda: 1 / 0)
        submit(lambda a, r: None, failed, Reader())
        go_on.set()
        blocker.result(60)
    assert seen == [6.0, 6.0]


def test_no_exception_of_a_callback_ends_a_worker(caplog):
    def leave(future):
        raise SystemExit(3)

    with Runtime(["cpu-serial"]) as runtime:
        go_on = threading.Event()
        future = submit(go_on.wait, 60)
        future.add_done_callback(leave)
        go_on.set()
        assert future.result(60) and runtime.submit(int).result(60) == 0
    assert "callback" in caplog.text
