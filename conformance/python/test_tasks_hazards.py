"""Tasks on shared arrays: their order, declared access, and who waits for whom outside."""

import concurrent.futures
import functools
import threading
import time
from typing import NamedTuple

import numpy as np
import pytest
import rustarr
from rustarr.tasks import Runtime, access, delayed, explain, submit, task_submit

pytestmark = pytest.mark.usefixtures("time_limit")

xp = rustarr.namespace("cpu-serial")


@pytest.fixture(autouse=True, scope="module")
def four_workers():
    with Runtime(["cpu-serial"] * 4) as runtime:
        yield runtime


def rustarr_zeros(*shape):
    return xp.zeros(shape)


def numpy_zeros(*shape):
    return np.zeros(shape)


both = pytest.mark.parametrize("zeros", [rustarr_zeros, numpy_zeros])


@access(x="RW")
def increment(x):
    before = float(x[0])
    time.sleep(0)
    x[...] = before + 1


@access(x="R")
def read(x):
    return float(x[0])


class Gate:
    """A task on an array that runs until it is opened."""

    def __init__(self, value=None):
        self.started, self.opened, self.value = threading.Event(), threading.Event(), value

    def __call__(self, x):
        self.started.set()
        assert self.opened.wait(60)
        if self.value is not None:
            x[...] = self.value
        return float(x[0])


@access(x="R")
def read_gate(gate, x):
    return gate(x)


@access(x="RW")
def write_gate(gate, x):
    return gate(x)


@both
def test_increments_serialise(zeros):
    x = zeros(10)
    futures = [submit(increment, x) for _ in range(100)]
    for future in futures:
        future.result(60)
    assert float(x[0]) == float(x[9]) == 100


@both
def test_undeclared_arguments_serialise(zeros):
    def undeclared(x):
        before = float(x[0])
        time.sleep(0)
        x[...] = before + 1
        return before

    x = zeros(3)
    assert [f.result(60) for f in [submit(undeclared, x) for _ in range(50)]] == list(range(50))


@both
def test_reads_see_the_writes_before_them_and_none_after(zeros):
    x = zeros(3)
    seen = []
    for _ in range(30):
        submit(increment, x)
        seen.append([submit(read, x) for _ in range(3)])
    assert [[f.result(60) for f in row] for row in seen] == [[i + 1.0] * 3 for i in range(30)]


@both
def test_readers_run_together(zeros):
    x = zeros(3)
    barrier = threading.Barrier(3, timeout=60)

    @access(x="R")
    def meet(x):
        return barrier.wait()

    assert sorted(f.result(60) for f in [submit(meet, x) for _ in range(3)]) == [0, 1, 2]


@both
def test_arrays_without_common_memory_are_independent(zeros):
    barrier = threading.Barrier(3, timeout=60)

    def meet(x):
        x[...] = 1
        return barrier.wait()

    whole = zeros(30)
    parts = [whole[i : i + 10] for i in (0, 10, 20)]
    assert sorted(f.result(60) for f in [submit(meet, part) for part in parts]) == [0, 1, 2]
    assert sorted(f.result(60) for f in [submit(meet, zeros(2)) for _ in range(3)]) == [0, 1, 2]
    assert float(whole[29]) == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[1:, :3], lambda x: x[::-1], lambda x: x.T, lambda x: x.reshape(-1), lambda x: x[:, 1],
        lambda x: x[2:4][0],
    ],
)  # fmt: skip
@both
def test_views_count_as_their_base(zeros, view):
    x = zeros(4, 5)
    gate = Gate(7.0)

    @access(part="RW")
    def fill(gate, part):
        gate.started.set()
        assert gate.opened.wait(60)
        part[...] = gate.value

    first = submit(fill, gate, view(x))
    second = submit(access(whole="R")(lambda whole: float(whole[2, 1])), x)
    third = submit(access(whole="RW")(lambda whole: whole[2, 1]), x)
    assert gate.started.wait(60)
    time.sleep(0.02)
    assert not second.done() and not third.done()
    gate.opened.set()
    first.result(60)
    assert second.result(60) == float(np.asarray(x)[2, 1])
    third.result(60)


def test_one_memory_under_several_names():
    """The same bytes as a NumPy array, a rustarr array over it, and a NumPy view of a rustarr array."""
    a = np.zeros(10)
    shared = xp.asarray(a, copy=False)
    b = xp.zeros(10)
    exported = np.asarray(b)
    for one, other in [(a, shared), (shared, a), (b, exported), (exported[2:], b), (a[3:], shared[:5])]:
        gate = Gate(3.0)
        first = submit(write_gate, gate, one)
        second = submit(read, other)
        assert gate.started.wait(60)
        time.sleep(0.02)
        assert not second.done()
        gate.opened.set()
        first.result(60), second.result(60)


def test_regions_that_a_later_one_joins():
    memory = bytearray(80)
    left, right = np.frombuffer(memory, count=5), np.frombuffer(memory, offset=40)
    whole = np.frombuffer(memory)
    gates = Gate(1.0), Gate(2.0)
    first = [submit(write_gate, gate, part) for gate, part in zip(gates, (left, right), strict=True)]
    both = submit(lambda x: x.tolist(), whole)
    last = submit(increment, right)
    for gate in gates:
        assert gate.started.wait(60)
    gates[0].opened.set()
    first[0].result(60)
    time.sleep(0.02)
    assert not both.done() and not last.done()
    gates[1].opened.set()
    assert both.result(60) == [1.0] * 5 + [2.0] * 5
    last.result(60)
    assert whole.tolist() == [1.0] * 5 + [3.0] * 5


@both
def test_arrays_inside_containers_and_keywords(zeros):
    x = zeros(3)
    gate = Gate(5.0)
    submit(lambda gate, kept: gate(kept["x"][0]), gate, kept={"x": [x]})
    second = submit(lambda pair: float(pair[1][0]), (1, x))
    assert gate.started.wait(60)
    time.sleep(0.02)
    assert not second.done()
    gate.opened.set()
    assert second.result(60) == 5.0


def test_an_array_given_twice():
    x = xp.zeros(3)

    @access(a="R", b="RW")
    def both(a, b):
        b += 1
        with pytest.raises(ValueError, match='argument "a"'):
            a += 1
        return float(a[0])

    assert [submit(both, x, x).result(60), submit(both, x, x[1:]).result(60)] == [1.0, 1.0]
    assert x.tolist() == [1.0, 2.0, 2.0]


def test_results_of_futures_are_ordered_too():
    made = submit(lambda: xp.zeros(3))
    for _ in range(50):
        last = submit(increment, made)
    last.result(60)
    assert float(made.result()[0]) == 50


def test_a_declared_argument_cannot_be_written():
    @access(a="R")
    def write(a):
        a[0] = 1

    @delayed(b="R")
    def write_view(a, b):
        b[1:].T[...] = 0

    def add_to(a, b):
        b += a

    x, y = xp.ones(4), xp.ones(4)
    with pytest.raises(ValueError, match='argument "a" was declared'):
        submit(write, x).result(60)
    with pytest.raises(ValueError, match='argument "b" was declared'):
        write_view(x, y).result(60)
    with pytest.raises(ValueError, match="read-only"):
        submit(access(b="R")(add_to), x, y).result(60)
    with pytest.raises(ValueError, match="read-only"):
        submit(access(a="R")(lambda a: np.asarray(a).__setitem__(0, 1)), x).result(60)
    assert x.tolist() == y.tolist() == [1.0] * 4
    x[0] = 5  # the caller's own handle is as it was


def test_methods_are_declared_too():
    class Holder:
        @access(x="R")
        def look(self, x, y):
            y[...] = 1
            with pytest.raises(ValueError, match='argument "x" was declared'):
                x += 1
            return self

    holder, x, y = Holder(), xp.zeros(2), xp.zeros(2)
    assert submit(holder.look, x, y).result(60) is holder
    assert (x.tolist(), y.tolist()) == ([0.0] * 2, [1.0] * 2)


def test_a_declared_numpy_argument_comes_as_a_view_that_cannot_be_written():
    @access(a="R", rest="R")
    def look(a, *rest):
        assert not a.flags.writeable and not any(r.flags.writeable for r in rest)
        with pytest.raises(ValueError, match="read-only"):
            a += 1
        return np.shares_memory(a, x)

    x = np.ones(4)
    assert submit(look, x, x[1:]).result(60) is True
    assert x.flags.writeable


def test_a_write_to_a_declared_numpy_argument_names_it():
    @access(rows="R")
    def write(rows, other):
        other[0] = 1
        rows[0] = 1

    with pytest.raises(ValueError, match="read-only") as caught:
        submit(write, np.ones(2), np.ones(2)).result(60)
    assert "'rows'" in caught.value.__notes__[0] and "'other'" not in caught.value.__notes__[0]


@both
def test_arrays_in_a_partial_are_arguments(zeros):
    @access(x="R")
    def look(x, y):
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1
        return float(x[0])

    def fill(x, value):
        time.sleep(0.05)
        x[...] = value

    x = zeros(3)
    submit(functools.partial(fill, x), 2)
    assert submit(functools.partial(look, y=0), x).result(60) == 2
    assert submit(functools.partial(look, x, 0)).result(60) == 2


def test_a_delayed_function_can_be_declared():
    @access(a="R")
    @delayed
    def write(a):
        a[0] = 1

    x = xp.ones(2)
    with pytest.raises(ValueError, match='argument "a" was declared'):
        write(x).result(60)


def test_declarations_that_make_no_sense():
    def function(a):
        pass

    with pytest.raises(TypeError, match="no parameter 'b'"):
        access(b="R")(function)
    with pytest.raises(ValueError, match="'X'"):
        access(a="X")(function)
    with pytest.raises(ValueError, match="'r'"):
        delayed(a="r")(function)
    with pytest.raises(TypeError, match="no parameter 'b'"):
        delayed(b="R")(function)
    with pytest.raises(TypeError, match="no parameter 'b'"):
        access(b="R")(functools.partial(function))
    with pytest.raises(TypeError, match="cannot be declared"):
        access(obj="R")(len)


def test_whoever_looks_from_outside_waits_for_the_writer():
    looks = [
        lambda x: float(x[0]),
        lambda x: x.tolist()[0],
        lambda x: float(xp.sum(x)) / 4,
        lambda x: float((x + 0)[1]),
        lambda x: float(np.asarray(x)[2]),
        lambda x: float(x.copy()[3]),
        lambda x: float(np.from_dlpack(x)[0]),
        lambda x: eval(repr(x)[6:-1].split(",")[0].strip("[( ")),
    ]
    for look in looks:
        x = xp.zeros(4)
        gate = Gate(9.0)
        submit(write_gate, gate, x)
        assert gate.started.wait(60)
        threading.Timer(0.03, gate.opened.set).start()
        assert look(x) == 9.0


def test_whoever_writes_from_outside_waits_for_readers():
    writes = [
        lambda x: x.__setitem__(0, 1.0), lambda x: x.__iadd__(1.0), lambda x: x.fill(1.0),
        lambda x: x.__setitem__(xp.asarray([0]), 1.0), lambda x: x.__setitem__(x < 1, 1.0),
    ]  # fmt: skip
    for write in writes:
        x = xp.zeros(4)
        gate = Gate()
        future = submit(read_gate, gate, x)
        assert gate.started.wait(60)
        assert float(x[0]) == 0.0, "readers need not wait for readers"
        threading.Timer(0.03, gate.opened.set).start()
        write(x)
        assert gate.opened.is_set() and float(x[0]) == 1.0
        assert future.result(60) == 0.0


def test_values_recorded_before_the_task_keep_the_old_elements():
    x = xp.zeros(100_000)
    later = x + 1
    submit(increment, x).result(60)
    assert float(later[0]) == 1.0 and float(x[0]) == 1.0


def test_views_from_outside_wait_only_for_their_elements_values():
    x = xp.zeros(4)
    gate = Gate(2.0)
    submit(write_gate, gate, x)
    view = x[1:]
    assert view.shape == (3,) and not gate.opened.is_set(), "a view reads nothing"
    gate.opened.set()
    assert float(view[0]) == 2.0


def test_a_failed_writer_lets_others_go_on():
    x = xp.zeros(3)

    @access(x="RW")
    def fail(x):
        x[0] = 4
        raise KeyError("no")

    future = submit(fail, x)
    assert submit(read, x).result(60) == 4.0 and float(x[0]) == 4.0
    assert isinstance(future.exception(), KeyError)


def test_a_cancelled_writer_lets_others_go_on():
    x = xp.zeros(3)
    gate = Gate()
    submit(read_gate, gate, x)
    writer = submit(increment, x)
    reader = submit(read, x)
    assert writer.cancel()
    gate.opened.set()
    assert reader.result(60) == 0.0 and float(x[0]) == 0.0


def test_a_task_may_submit_tasks_on_its_own_arrays():
    x = xp.zeros(3)
    order = []

    @access(x="RW")
    def child(x, name):
        order.append(name)
        x += 1

    @access(x="RW")
    def parent(x):
        time.sleep(0.02)
        order.append("parent")
        futures = [submit(child, x, f"child {i}") for i in range(3)]
        for future in futures:
            future.result(60)

    @access(x="RW")
    def parent_that_does_not_wait(x):
        time.sleep(0.02)
        submit(child, x, "late child")

    submit(parent, x)
    submit(child, x, "sibling")
    submit(parent_that_does_not_wait, x)
    submit(child, x, "last")
    assert float(x[0]) == 6.0
    assert order == ["parent", "child 0", "child 1", "child 2", "sibling", "late child", "last"]


def test_a_task_that_touches_an_array_it_was_not_given_waits_for_the_writer():
    x = xp.zeros(3)
    gate = Gate(6.0)
    submit(write_gate, gate, x)
    outside = submit(lambda: float(x[0]))
    assert gate.started.wait(60)
    time.sleep(0.02)
    assert not outside.done()
    gate.opened.set()
    assert outside.result(60) == 6.0


def test_read_only_handles_are_only_read():
    source = np.zeros(3)
    source.flags.writeable = False
    barrier = threading.Barrier(2, timeout=60)

    def meet(x):
        barrier.wait()
        return float(x[0])

    for x in (source, xp.asarray(source, copy=False)):
        assert [f.result(60) for f in [submit(meet, x) for _ in range(2)]] == [0.0, 0.0]


def test_empty_arrays():
    for x in (xp.zeros((0, 3)), np.zeros((3, 0)), np.zeros(5)[2:2]):
        assert submit(lambda x: x.shape, x).result(60) == x.shape


def test_results_that_are_arguments_are_the_callers_arrays():
    x = xp.zeros(3)
    same, view = submit(lambda x: (x, x[1:]), x).result(60)
    assert same is x
    x[2] = 5
    assert float(view[1]) == 5.0


def test_results_have_been_computed():
    pending = submit(lambda xp: xp.exp(xp.zeros(100_000)) + 1)
    assert float(pending.result(60)[5]) == 2.0


def test_explain_names_what_a_task_waited_for():
    x = xp.zeros(3)
    gate = Gate()
    first = submit(write_gate, gate, x)
    second = submit(read, x)
    assert gate.started.wait(60)
    gate.opened.set()
    second.result(60)
    told = explain(second)
    assert told.dependencies == (first.task.id,) and f"came after {first.task.id}" in str(told)


def test_many_tasks_over_many_arrays_give_the_sequential_result():
    """Random tasks over arrays and views, against the same calls in a loop."""
    rng = np.random.default_rng(5)
    arrays = [xp.asarray(rng.random(12)) for _ in range(4)] + [rng.random(12) for _ in range(3)]
    expected = [np.array(a) for a in arrays]

    def parts(all_, choice):
        index, start, stop, step = choice
        return all_[index][start:stop:step]

    @access(out="RW", a="R", b="R")
    def mix(out, a, b):
        out[...] = np.asarray(out) * 0.5 + np.asarray(a) * 0.25 - np.asarray(b) * 0.125

    for _ in range(400):
        choices = []
        for _ in range(3):
            start = int(rng.integers(0, 6))
            choices.append((int(rng.integers(0, 7)), start, start + 6, 1))
        submit(mix, *(parts(arrays, c) for c in choices))
        mix(*(parts(expected, c) for c in choices))
    for got, want in zip(arrays, expected, strict=True):
        submit(lambda x: None, got).result(60)
        np.testing.assert_array_equal(np.asarray(got), want)


@both
def test_arrays_in_a_declared_partial_are_arguments(zeros):
    @access(x="RW")
    def fill(x, y, value, *, out):
        with pytest.raises(ValueError, match="read-only"):
            y[0] = 1
        assert gate.wait(60)
        x[...] = value
        out[...] = value

    gate = threading.Event()
    x, out = zeros(3), zeros(3)
    bound = functools.partial(fill, x, out=out)
    access(y="R")(bound)
    first = submit(bound, zeros(2), 5)
    assert first.name == "fill"
    later = [submit(access(x="R")(lambda x: float(x[0])), z) for z in (x, out)]
    assert submit(int).result(60) == 0 and not any(f.done() for f in later)
    gate.set()
    first.result(60)
    assert [f.result(60) for f in later] == [5, 5]


def test_a_task_stays_in_the_order_when_regions_become_one():
    """A reader of two ranges, another reader that joins them, and a writer of the first one."""
    x, go_on = np.ones(8), threading.Event()

    @access(a="R", b="R")
    def read(a, b):
        return float(a.sum() + b.sum())

    @access(a="R")
    def read_one(a):
        return float(a.sum())

    def fill(a):
        a[...] = 100

    with Runtime(["cpu-serial"], scheduler="prio"):
        submit(go_on.wait, 60)
        first = submit(read, x[0:2], x[6:8])
        joined = submit(read_one, x[1:7])
        last = task_submit(priority=1)(fill, x[0:1])
        go_on.set()
        assert first.result(60) == 4 and joined.result(60) == 6
        last.result(60)
        assert first.task.id in last.task.dependencies
    assert x[0] == 100


def test_who_touches_an_array_outside_waits_for_what_its_writers_submit(cpu):
    def child(x):
        time.sleep(0.01)
        x += 10

    def parent(x):
        time.sleep(0.01)
        submit(child, x)

    with Runtime(["cpu-serial"] * 2):
        for touch in (np.asarray, lambda x: np.asarray(cpu.sum(x, axis=-1, keepdims=True))[..., 0] / 2):
            x = cpu.zeros(2)
            submit(parent, x)
            assert (touch(x) == 10).all()
        x = cpu.zeros(2)
        future = submit(parent, x)
        x[...] = 1
        future.result(60)
        assert x.tolist() == [1, 1]


class Pair(NamedTuple):
    left: object
    right: object


@both
def test_named_tuples_are_looked_into_like_tuples(zeros):
    gate, x = Gate(1), zeros(4)
    writing = submit(write_gate, gate, x)
    assert gate.started.wait(60)

    def look(pair):
        assert type(pair) is Pair
        return float(pair.left[0]), pair.right

    reading = submit(look, Pair(x, submit(int, 7)))
    assert not reading.done()
    gate.opened.set()
    writing.result(60)
    assert reading.result(60) == (1.0, 7)
    # As the result of a task, and from there into the next one.
    back = submit(lambda pair: pair, Pair(x, [x]))
    assert type(back.result(60)) is Pair and back.result().left is x and back.result().right[0] is x
    assert submit(look, back).result(60)[0] == 1.0


def test_containers_without_an_end_are_refused_by_name():
    ring = []
    ring.append(ring)
    deep = []
    for _ in range(5000):
        deep = [deep]
    for bad in (ring, deep, {"x": ring}, (deep,)):
        with pytest.raises(ValueError, match="submit: argument 1 of .*nested"):
            submit(lambda one, two: None, 1, bad)
        with pytest.raises(ValueError, match="submit: argument 'two' of .*nested"):
            submit(lambda one, two: None, 1, two=bad)
    fine = []
    for _ in range(150):
        fine = [fine]
    assert submit(lambda one: one is fine, fine).result(60)
    with pytest.raises(ValueError, match="the result has .*nested"):
        submit(lambda: ring).result(60)
    others = concurrent.futures.Future()
    later = submit(len, others)
    others.set_result(ring)
    with pytest.raises(ValueError, match="nested"):
        later.result(60)
