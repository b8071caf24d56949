"""Submitting tasks and their futures."""

import asyncio
import concurrent.futures
import gc
import logging
import math
import threading
import time
import traceback
import weakref
from functools import partial

import numpy as np
import pytest
from rustarr import tasks
from rustarr.tasks import DeadlockError, DependencyError, Runtime, current, delayed, submit, task_submit, trace

pytestmark = pytest.mark.usefixtures("time_limit")


@pytest.fixture(autouse=True, scope="module")
def two_workers():
    with Runtime(["cpu-serial", "cpu-serial"]) as runtime:
        yield runtime


def add(a, b=0):
    return a + b


def divide(a, b):
    return a / b


class Gate:
    """A task that runs until it is opened."""

    def __init__(self):
        self.started, self.opened = threading.Event(), threading.Event()

    def __call__(self):
        self.started.set()
        assert self.opened.wait(60)
        return "opened"


@pytest.fixture
def gate():
    """A gate that opens at the end at the latest."""
    made = Gate()
    yield made
    made.opened.set()


def test_submit_with_positional_and_keyword_arguments():
    assert submit(add, 1, 2).result(60) == 3
    assert submit(add, 1, b=2).result(60) == 3
    assert task_submit()(add, a=5, b=6).result(60) == 11


def test_every_option_is_taken():
    future = task_submit(
        name="sum",
        synchronous=True,
        priority=-7,
        color="red",
        flops=1.0,
        sizebase=3,
        where="cpu-serial",
        ret_future=True,
    )(add, 1, 2)
    assert future.done() and future.result() == 3 and future.name == "sum"
    assert task_submit(color=0x00FF00)(add, 1).result(60) == 1


def test_an_empty_name_is_a_name():
    assert task_submit(name="")(add, 1).name == ""


@pytest.mark.parametrize(
    "options",
    [
        {"nmae": "x"}, {"priority": "high"}, {"priority": 1.5}, {"name": 3}, {"color": 1.0}, {"flops": "many"},
        {"perfmodel": 1}, {"sizebase": "n"}, {"sizebase": -1}, {"synchronous": "no"}, {"ret_future": None},
    ],
    ids=str,
)  # fmt: skip
def test_bad_options(options):
    with pytest.raises(TypeError, match=next(iter(options))):
        task_submit(**options)
    with pytest.raises(TypeError, match=next(iter(options))):
        delayed(**options)(add)


@pytest.mark.parametrize(
    "options",
    [
        {"flops": -1}, {"flops": float("nan")}, {"flops": float("inf")}, {"color": -1}, {"color": 1 << 24},
        {"color": "#ff"}, {"color": ""}, {"color": 'red"\n'}, {"sizebase": 10**400},
        {"flops": 10**400},
    ],
    ids=str,
)  # fmt: skip
def test_bad_values_of_options(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        task_submit(**options)


def test_numbers_of_numpy_are_numbers():
    options = {"priority": np.int64(3), "sizebase": np.int32(5), "flops": np.float32(2), "color": np.uint8(255)}
    with trace() as recorded:
        assert task_submit(**options, perfmodel="numbers", synchronous=np.int8(1))(add, 1, 2).result(60) == 3
    assert recorded.records[0].size == 5 and 'fillcolor="#0000ff"' in recorded.to_dot()


def test_priorities_of_numpy_are_signed():
    with Runtime(["cpu-serial"], scheduler="prio") as runtime:
        gate, ran = Gate(), []
        runtime.submit(gate)
        assert gate.started.wait(60)
        for priority in (np.uint64(2), -1, np.uint8(200), 3):
            task_submit(priority=priority)(ran.append, int(priority))
        gate.opened.set()
        runtime.wait()
    assert ran == [200, 3, 2, -1]


def test_without_a_future():
    assert task_submit(ret_future=False)(add, 1) is None
    assert task_submit(ret_future=False, synchronous=True)(add, 1, 2) == 3
    with pytest.raises(ZeroDivisionError):
        task_submit(ret_future=False, synchronous=True)(divide, 1, 0)


def test_an_error_that_nobody_can_ask_for_is_logged(caplog):
    with caplog.at_level(logging.ERROR, "rustarr.tasks"):
        task_submit(ret_future=False, name="quotient")(divide, 1, 0)
        current().wait()
        submit(add, 1).result(60)
    assert "quotient" in caplog.text and "ZeroDivisionError" in caplog.text


def test_functions_by_name():
    assert submit("math.log10", 100).result(60) == 2
    assert submit("len", [1, 2]).result(60) == 2
    assert submit("collections.OrderedDict.fromkeys", "ab").result(60) == {"a": None, "b": None}
    assert submit("str.upper", "a").result(60) == "A"
    for name in ("math.log11", "no_such_module.f", "no_such_function", "str.f", "", ".", "..", "os..path", ".sep"):
        with pytest.raises(ValueError, match="there is no function"):
            submit(name, 1)
    with pytest.raises(TypeError, match="neither a function"):
        submit(3)


def test_parameters_may_be_called_anything():
    def named(self, func, runtime, task, options):
        return self + func + runtime + task + options

    numbers = {"self": 1, "func": 2, "runtime": 3, "task": 4, "options": 5}
    for call in (partial(submit, named), partial(task_submit(), named), delayed(named)):
        assert call(**numbers).result(60) == 15


def test_callables_of_every_kind():
    class Adder:
        def __call__(self, a, b):
            return a + b

        def method(self, a):
            return a + 1

    import functools

    assert submit(Adder(), 1, 2).result(60) == 3
    assert submit(Adder().method, 1).result(60) == 2
    assert submit(functools.partial(add, 1), 5).result(60) == 6
    named = submit(functools.partial(add, submit(add, 1), b=2))
    assert named.result(60) == 3 and named.name == "add"
    assert submit(lambda *args, **kwargs: (args, kwargs), 1, x=2).result(60) == ((1,), {"x": 2})
    assert submit(math.sqrt, 4).result(60) == 2


def test_delayed():
    @delayed
    def plain(a, b):
        """Adds."""
        return a + b

    @delayed(name="twice", color=2, priority=3)
    def named(a):
        return 2 * a

    assert plain(1, 2).result(60) == 3 and plain(b=1, a=1).result(60) == 2
    assert named(4).result(60) == 8 and named(4).name == "twice"
    assert plain.__name__ == "plain" and plain.__doc__ == "Adds." and plain.__wrapped__(1, 2) == 3
    assert submit(plain, 1, 2).result(60) == 3
    assert delayed(math.log10)(1000).result(60) == 3

    class Holder:
        @delayed
        def method(self, a):
            return self, a

    holder = Holder()
    assert holder.method(1).result(60) == (holder, 1)
    with pytest.raises(TypeError, match="cannot be called"):
        delayed(3)


def test_futures_as_arguments_do_not_block_the_caller(gate):
    first = submit(gate)
    second = submit(lambda text, rest: (text, rest), first, rest=[first, {"k": first}, (first, 1)])
    assert not second.done() and not first.done()
    gate.opened.set()
    assert second.result(60) == ("opened", ["opened", {"k": "opened"}, ("opened", 1)])


def test_a_list_that_gets_its_own_tasks_future():
    first = concurrent.futures.Future()
    inputs = [first]
    future = submit(len, inputs)
    inputs.append(future)
    first.set_result(1)
    with pytest.raises(DeadlockError):
        future.result(60)
    assert submit(add, 1).result(60) == 1


def test_a_chain_of_many():
    future = submit(add, 0)
    for _ in range(3000):
        future = submit(add, future, 1)
    assert future.result(60) == 3000


def test_futures_of_others_are_inputs_too():
    other = concurrent.futures.Future()
    future = submit(add, other, 1)
    assert not future.done()
    other.set_result(41)
    assert future.result(60) == 42
    assert submit(add, other, 2).result(60) == 43


def test_exceptions_keep_their_traceback_and_free_the_inputs():
    class Big:
        pass

    def inner(big):
        raise KeyError("inner")

    def outer(big):
        inner(big)

    big = Big()
    gone = weakref.ref(big)
    future = submit(outer, big)
    error = future.exception(60)
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert (
        isinstance(error, KeyError) and names[-2:] == ["outer", "inner"] and "run" not in names and "_call" not in names
    )
    del big
    gc.collect()
    assert gone() is None
    with pytest.raises(KeyError):
        future.result()


def test_arguments_and_functions_are_let_go_after_the_end():
    class Big:
        pass

    big = Big()
    gone = weakref.ref(big)
    future = submit(lambda x, kept=big: None, big)
    future.result(60)
    del big
    gc.collect()
    assert gone() is None
    assert "lambda" in future.name


def test_results_go_with_the_future():
    """At once, not when the collector comes: they may be large."""

    class Big:
        pass

    def make():
        big = Big()
        gone.append(weakref.ref(big))
        return big

    gone = []
    gc.collect()
    gc.disable()
    try:
        future = submit(make)
        future.result(60)
        chained = submit(lambda big: None, future)
        chained.result(60)
        del future
        deadline = time.monotonic() + 60
        while gone[0]() is not None and time.monotonic() < deadline:
            time.sleep(0.001)
        assert gone[0]() is None
    finally:
        gc.enable()


def test_a_failed_input_fails_its_dependents_with_the_cause():
    ran = []
    first = task_submit(name="quotient")(divide, 1, 0)
    second = task_submit(name="second")(ran.append, first)
    third = submit(ran.append, [second])
    for future in (second, third):
        error = future.exception(60)
        assert isinstance(error, DependencyError)
    assert second.exception().__cause__ is first.exception()
    assert third.exception().__cause__ is first.exception()
    assert "quotient" in str(second.exception()) and "ZeroDivisionError" in str(second.exception())
    assert not ran


def test_a_long_chain_fails_without_running_out_of_stack():
    future = submit(divide, 1, 0)
    for _ in range(3000):
        future = submit(add, future)
    assert isinstance(future.exception(60), DependencyError)


def test_errors_of_a_chain_name_the_first_failure_and_stay_small():
    first = task_submit(name="first")(divide, 1, 0)
    links = [first]
    for number in range(4000):
        links.append(task_submit(name=f"link {number}")(add, links[-1]))
    errors = [future.exception(60) for future in links[1:]]
    first_failure = "'first' failed: ZeroDivisionError: division by zero"
    assert str(errors[0]) == f"the task 'link 0' did not run: its input {first_failure}"
    assert str(errors[-1]) == f"the task 'link 3999' did not run: its input 'link 3998' failed: {first_failure}"
    assert all(error.__cause__ is first.exception() for error in errors)
    assert len("".join(traceback.format_exception(errors[-1]))) < 2000


def test_a_cancelled_head_takes_a_long_chain_with_it(gate):
    blocker = submit(gate)
    assert gate.started.wait(60)
    head = task_submit(name="head")(add, blocker)
    chain = [head]
    for _ in range(20_000):
        chain.append(submit(add, chain[-1]))
    assert head.cancel()
    error = chain[-1].exception(20)  # while the gate is closed
    assert str(error) == "the task 'add' did not run: its input 'add' failed: 'head' was cancelled"
    assert isinstance(error.__cause__, concurrent.futures.CancelledError)
    gate.opened.set()


def test_timeouts(gate):
    future = submit(gate)
    with pytest.raises(TimeoutError):
        future.result(0.01)
    with pytest.raises(concurrent.futures.TimeoutError):
        future.exception(timeout=0)
    assert not future.done()


def test_cancel_before_the_start(gate):
    first = submit(gate)
    ran, called = [], []
    waiting = submit(ran.append, first)
    waiting.add_done_callback(called.append)
    dependent = submit(ran.append, waiting)
    assert waiting.cancel() and waiting.cancelled() and waiting.done() and called == [waiting]
    assert waiting.cancel(), "a second time it is cancelled still"
    with pytest.raises(concurrent.futures.CancelledError):
        waiting.result(0)
    with pytest.raises(concurrent.futures.CancelledError):
        waiting.exception(0)
    gate.opened.set()
    error = dependent.exception(60)
    assert isinstance(error, DependencyError) and isinstance(error.__cause__, concurrent.futures.CancelledError)
    assert first.result(60) == "opened" and not ran


def test_cancel_after_the_start_does_nothing(gate):
    future = submit(gate)
    assert gate.started.wait(60)
    assert future.running() and not future.cancel() and not future.cancelled()
    gate.opened.set()
    assert future.result(60) == "opened" and not future.cancel() and not future.running()


def test_a_cancelled_task_waits_for_no_value():
    never = concurrent.futures.Future()
    with Runtime(["cpu-serial"]) as runtime:
        future = submit(add, never)
        dependent = submit(add, future)
        assert future.cancel()
        assert isinstance(dependent.exception(60), DependencyError)
        assert submit(add, 1).result(60) == 1
        runtime.wait(60)
    assert not runtime.live


def test_a_cancelled_task_lets_its_arguments_go(gate):
    class Big:
        pass

    first = submit(gate)
    big = Big()
    gone = weakref.ref(big)
    future = submit(add, big, first)
    assert future.cancel()
    del big
    gc.collect()
    assert gone() is None


def test_callbacks():
    called, done = [], threading.Event()

    def note(future):
        called.append(future)
        done.set()

    future = submit(add, 1, 2)
    future.add_done_callback(note)
    assert done.wait(60) and called == [future]
    future.add_done_callback(called.append)
    assert called == [future, future], "after the end it is called at once"


def test_as_completed_and_wait(gate):
    slow = submit(gate)
    quick = [submit(add, i) for i in range(20)]
    done, not_done = concurrent.futures.wait([slow, *quick], 60, concurrent.futures.FIRST_COMPLETED)
    assert slow in not_done and done
    seen = list(concurrent.futures.as_completed(quick, 60))
    assert sorted(f.result() for f in seen) == list(range(20))
    gate.opened.set()
    done, not_done = concurrent.futures.wait([slow, *quick], 60)
    assert len(done) == 21 and not not_done


def test_wait_hears_of_cancelled_tasks(gate):
    first = submit(gate)
    waiting = submit(add, first)
    threading.Timer(0.05, waiting.cancel).start()
    done, _ = concurrent.futures.wait([waiting], 60)
    assert done == {waiting}


def test_awaiting():
    async def main():
        total = await submit(add, 1, 2)
        many = await asyncio.gather(*(submit(add, i) for i in range(50)))
        with pytest.raises(ZeroDivisionError):
            await submit(divide, 1, 0)
        return total, many, await asyncio.wait_for(submit(add, 4), 60)

    assert asyncio.run(main()) == (3, list(range(50)), 4)


def test_one_future_in_several_loops(gate):
    future = submit(gate)
    results = []

    async def main():
        return await future

    threads = [threading.Thread(target=lambda: results.append(asyncio.run(main()))) for _ in range(3)]
    for thread in threads:
        thread.start()
    gate.opened.set()
    for thread in threads:
        thread.join(60)
    assert results == ["opened"] * 3 and asyncio.run(main()) == "opened"


@pytest.mark.parametrize("error", [StopIteration, SystemExit, asyncio.CancelledError, concurrent.futures.TimeoutError])
def test_awaiting_ends_whatever_was_raised(error):
    def fail():
        raise error("odd")

    async def main():
        await asyncio.wait([asyncio.ensure_future(wrapped())], timeout=60)

    async def wrapped():
        # A coroutine cannot raise StopIteration: it comes as RuntimeError.
        with pytest.raises((error, RuntimeError)):
            await submit(fail)
        seen.append(error)

    seen = []
    asyncio.run(main())
    assert seen == [error]


def test_a_waiting_coroutine_can_be_cancelled(gate):
    first = submit(gate)
    waiting = submit(add, first)

    async def main():
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(waiting, 0.05)

    asyncio.run(main())
    assert waiting.cancelled() and not first.done()


def test_threads_that_race_for_results_and_cancels():
    for _ in range(200):
        future = submit(add, 1)
        outcomes = []

        def look(future=future, outcomes=outcomes):
            try:
                outcomes.append(future.result(60))
            except concurrent.futures.CancelledError:
                outcomes.append("cancelled")

        threads = [threading.Thread(target=look) for _ in range(3)]
        for thread in threads:
            thread.start()
        cancelled = future.cancel()
        for thread in threads:
            thread.join(60)
        assert outcomes == (["cancelled"] * 3 if cancelled else [1] * 3)


def test_tasks_is_imported_when_it_is_needed():
    import subprocess
    import sys

    code = "import sys, rustarr; assert 'rustarr.tasks' not in sys.modules; rustarr.tasks.submit; "
    code += "print('tasks' in dir(rustarr))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True, timeout=120).strip() == "True"


def test_public_names_exist():
    assert all(hasattr(tasks, name) for name in tasks.__all__)
