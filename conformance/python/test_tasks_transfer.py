"""Arrays of one device in tasks of another: copies that are made, kept, and coherent."""

import itertools
import threading

import numpy as np
import pytest
import rustarr
from conftest import open_namespace
from rustarr.tasks import Runtime, access, submit, task_submit

pytestmark = pytest.mark.usefixtures("time_limit")


@pytest.fixture(scope="module", autouse=True)
def runtime():
    """A worker of each kind."""
    open_namespace("wgpu")
    with Runtime(["cpu-serial", rustarr.Context("cpu-parallel", threads=2), "wgpu"]) as made:
        yield made


@pytest.fixture
def xp(runtime):
    """The namespace of the serial worker."""
    return runtime.workers[0].namespace


@access(x="RW")
def increment(x, xp):
    assert x.__array_namespace__() is xp
    x += 1


@access(x="R")
def total(x, xp):
    assert x.__array_namespace__() is xp
    return float(xp.sum(x))


@access(out="W", x="R")
def double(out, x):
    out[...] = 2 * x


def bytes_moved(runtime):
    return runtime.workers[2].context.stats()["bytes_transferred"]


def test_one_function_on_every_worker(xp):
    x = xp.ones(10, dtype=xp.float32)
    for where in itertools.islice(itertools.cycle(["cpu-serial", "wgpu", "cpu-parallel"]), 90):
        task_submit(where=where)(increment, x)
    assert x.tolist() == [91.0] * 10 and x.device == "cpu"


def test_arrays_of_the_gpu_in_tasks_of_the_host(runtime):
    gpu = runtime.workers[2].namespace
    x = gpu.ones(10, dtype=gpu.float32)
    task_submit(where="cpu-serial")(increment, x)
    assert task_submit(where="cpu-parallel")(total, x).result(60) == 20.0
    task_submit(where="wgpu")(increment, x)
    assert x.tolist() == [3.0] * 10 and x.device == runtime.workers[2].device


def test_copies_are_kept(runtime, xp):
    x = xp.ones(100_000, dtype=xp.float32)
    assert task_submit(where="wgpu")(total, x).result(60) == 100_000
    before = bytes_moved(runtime)
    futures = [task_submit(where="wgpu")(total, x[:1000]) for _ in range(5)]
    assert [f.result(60) for f in futures] == [1000] * 5
    assert bytes_moved(runtime) - before < 100, "only the sums came back"
    assert all(f.task.transfers == 0 for f in futures)


def test_a_chain_on_one_device_moves_once(runtime, xp):
    x = xp.zeros(100_000, dtype=xp.float32)
    before = bytes_moved(runtime)
    futures = [task_submit(where="wgpu")(increment, x) for _ in range(20)]
    futures[-1].result(60)
    assert sum(f.task.transfers for f in futures) == 1
    assert bytes_moved(runtime) - before < 500_000
    assert float(x[7]) == 20.0, "looking brings it home"
    assert bytes_moved(runtime) - before < 900_000
    assert float(x[8]) == 20.0
    assert bytes_moved(runtime) - before < 900_000


def test_writes_from_outside_reach_the_copies(xp):
    x = xp.zeros(10, dtype=xp.float32)
    for i in range(5):
        assert task_submit(where="wgpu")(total, x).result(60) == 10.0 * i
        x += 1
        view = x[:5]
        view += 1
        view -= 1
    task_submit(where="wgpu")(increment, x)
    x[0] = 100
    task_submit(where="cpu-serial")(increment, x)
    assert task_submit(where="wgpu")(total, x).result(60) == 101 + 9 * 7


def test_views_share_the_copy_of_their_base(xp):
    x = xp.zeros((4, 4), dtype=xp.float32)
    task_submit(where="wgpu")(increment, x[1:, ::2])
    task_submit(where="wgpu")(increment, x.T)
    task_submit(where="cpu-serial")(increment, x[0])
    want = np.ones((4, 4))
    want[1:, ::2] += 1
    want[0] += 1
    np.testing.assert_array_equal(np.asarray(x), want)


def test_memory_that_others_know(xp):
    a = np.zeros(10, dtype=np.float32)
    x = xp.asarray(a, copy=False)
    task_submit(where="wgpu")(increment, x).result(60)
    assert a.tolist() == [1.0] * 10, "the owner of the memory passes no gate, so it comes home at once"
    a[:] = 5
    assert task_submit(where="wgpu")(total, x).result(60) == 50.0
    y = xp.zeros(10, dtype=xp.float32)
    exported = np.asarray(y)
    task_submit(where="wgpu")(increment, y).result(60)
    assert exported.tolist() == [1.0] * 10


@pytest.mark.parametrize("other", ["view", "numpy"])
def test_parts_of_memory_of_others_are_copied_as_a_whole(xp, other):
    a = np.zeros(10, dtype=np.float32)
    x = xp.asarray(a, copy=False)
    begun, go = threading.Event(), threading.Event()

    @access(x="RW")
    def slow(x):
        x += 1
        begun.set()
        assert go.wait(60)

    @access(x="RW")
    def add(x):
        x += 7

    first = task_submit(where="wgpu")(slow, x[:5])
    assert begun.wait(60)
    second = task_submit(where="cpu-serial")(add, x[5:] if other == "view" else a[5:])
    third = task_submit(where="cpu-serial")(int)
    third.result(60)  # the worker is free
    assert not second.done()
    go.set()
    first.result(60)
    second.result(60)
    assert a.tolist() == [1.0] * 5 + [7.0] * 5


def test_overwritten_arguments_are_not_brought(runtime, xp):
    x, out = xp.ones(50_000, dtype=xp.float32), xp.zeros(50_000, dtype=xp.float32)
    before = bytes_moved(runtime)
    future = task_submit(where="wgpu")(double, out, x)
    future.result(60)
    assert bytes_moved(runtime) - before < 250_000
    assert float(out[3]) == 2.0
    part = xp.zeros(10, dtype=xp.float32)
    task_submit(where="wgpu")(double, part[:5], x[:5])
    assert part.tolist() == [2.0] * 5 + [0.0] * 5, "of a view the rest stays"


@pytest.mark.parametrize("where", ["cpu-serial", "wgpu"])
def test_a_task_that_did_not_overwrite_leaves_the_elements(xp, where):
    @access(out="W")
    def fail(out):
        raise KeyError("before the write")

    @access(out="W")
    def leave(out):
        return None

    @access(one="W", other="W")
    def first_only(one, other):
        one[...] = 3

    x, y = xp.ones(10, dtype=xp.float32), xp.ones(10, dtype=xp.float32)
    assert isinstance(task_submit(where=where)(fail, x).exception(60), KeyError)
    task_submit(where=where)(leave, x)
    assert task_submit(where="wgpu")(total, x).result(60) == 10.0 and x.tolist() == [1.0] * 10
    # What only the device has stays there.
    task_submit(where="wgpu")(increment, x)
    task_submit(where=where)(leave, x)
    task_submit(where=where)(first_only, y, x)
    assert x.tolist() == [2.0] * 10 and y.tolist() == [3.0] * 10


def test_a_failed_device_has_no_copy_of_what_the_task_wrote(xp):
    x = xp.ones(10, dtype=xp.float32)
    task_submit(where="wgpu")(total, x)

    @access(x="RW")
    def fail(x):
        x += 1
        raise rustarr.DeviceLostError("gone")

    assert isinstance(task_submit(where="wgpu")(fail, x).exception(60), rustarr.DeviceLostError)
    assert task_submit(where="wgpu")(total, x).result(60) == float(xp.sum(x)) == 10.0


def test_results_stay_on_the_workers_device(runtime, xp):
    x = xp.ones(10, dtype=xp.float32)
    y = task_submit(where="wgpu")(lambda x: x + 1, x)
    z = task_submit(where="cpu-serial")(lambda y: y * 2, y)
    assert y.result(60).device == runtime.workers[2].device and z.result(60).device == "cpu"
    assert z.result().tolist() == [4.0] * 10


def test_results_that_view_a_moved_argument(xp):
    x = xp.zeros(4, dtype=xp.float32)
    same, view = task_submit(where="wgpu")(lambda x: (x, x[1:]), x).result(60)
    assert same is x
    view += 7
    assert x.tolist() == [0.0] * 4 and view.tolist() == [7.0] * 3
    assert task_submit(where="wgpu")(total, x).result(60) == 0.0


def test_a_returned_view_shares_memory_on_the_host_only(xp):
    for where, shared in (("cpu-serial", True), ("wgpu", False)):
        x = xp.zeros(4, dtype=xp.float32)
        view = task_submit(where=where)(lambda x: x[1:], x).result(60)
        x += 1
        assert view.tolist() == [float(shared)] * 3
        view += 5
        assert x.tolist() == [1.0] + [1.0 + 5 * shared] * 3


def test_declared_arguments_are_read_only_on_every_device(xp):
    x = xp.zeros(4, dtype=xp.float32)

    @access(x="R")
    def write(x):
        x += 1

    for where in ("cpu-parallel", "wgpu"):
        with pytest.raises(ValueError, match='argument "x" was declared'):
            task_submit(where=where)(write, x).result(60)
    assert x.tolist() == [0.0] * 4


def test_numpy_arguments_stay_numpy(xp):
    a = np.ones(3, dtype=np.float32)
    assert task_submit(where="wgpu")(lambda a, xp: (type(a), xp.asarray(a).tolist()), a).result(60) == (
        np.ndarray,
        [1.0] * 3,
    )


def test_a_failed_task_leaves_what_it_has_written(xp):
    x = xp.zeros(3, dtype=xp.float32)

    @access(x="RW")
    def fail(x):
        x += 1
        raise KeyError("no")

    assert isinstance(task_submit(where="wgpu")(fail, x).exception(60), KeyError)
    assert x.tolist() == [1.0] * 3


def test_memory_of_copies_is_given_back_when_the_device_is_full(xp):
    limited = rustarr.Context("wgpu")
    with Runtime([limited]):
        arrays = [xp.ones(250_000, dtype=xp.float32) for _ in range(6)]
        limited.set_memory_limit(limited.memory_info()["in_use"] + 3_500_000)
        for x in arrays * 2:
            assert submit(total, x).result(60) == 250_000


def test_the_copies_of_a_running_task_stay_when_the_device_is_full(xp):
    @access(x="RW", y="R")
    def add(x, y):
        x += y

    limited = rustarr.Context("wgpu")
    with Runtime([limited]):
        old = [xp.ones(250_000, dtype=xp.float32) for _ in range(3)]
        for x in old:
            submit(total, x).result(60)
        limited.release()
        x, y = (xp.ones(250_000, dtype=xp.float32) for _ in range(2))
        # Room for the first argument; for the second one the copies of the old arrays have to go.
        limited.set_memory_limit(limited.memory_info()["in_use"] + 1_500_000)
        submit(add, x, y).result(60)
        limited.set_memory_limit(None)
        assert float(x[0]) == 2.0 == float(x[-1])
        # Nothing is held for ever: the copies of that task may go in turn.
        others = [xp.ones(250_000, dtype=xp.float32) for _ in range(4)]
        limited.set_memory_limit(limited.memory_info()["in_use"] + 500_000)
        for x in others:
            assert submit(total, x).result(60) == 250_000


def test_copies_die_with_the_array(runtime, xp):
    context = runtime.workers[2].context
    x = xp.ones(1_000_000, dtype=xp.float32)
    task_submit(where="wgpu")(increment, x).result(60)
    held = context.memory_info()["in_use"]
    del x
    submit(int).result(60)
    assert context.memory_info()["in_use"] <= held - 4_000_000


def test_random_tasks_on_a_mix_give_the_sequential_result(xp):
    rng = np.random.default_rng(3)
    arrays = [xp.asarray(rng.integers(0, 100, 8).astype(np.float32)) for _ in range(4)]
    arrays.append(task_submit(where="wgpu")(lambda xp: xp.zeros(8, dtype=xp.float32)).result(60))
    expected = [np.asarray(rustarr.asnumpy(a)).copy() for a in arrays]

    @access(out="RW", a="R")
    def mix(out, a, k):
        out[...] = out * 0.5 + a * k

    for step in range(300):
        i, j = rng.integers(0, 5, 2)
        start, k = int(rng.integers(0, 4)), float(rng.integers(0, 4))
        stop = start + 4
        if step % 7 == 0:
            arrays[i][start] = k
            expected[i][start] = k
        where = [None, "cpu-serial", "cpu-parallel", "wgpu"][rng.integers(0, 4)]
        task_submit(where=where)(mix, arrays[i][start:stop], arrays[j][4:], k)
        mix(expected[i][start:stop], expected[j][4:], np.float32(k))
    for got, want in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(rustarr.asnumpy(got), want)


@pytest.mark.parametrize("kind", ["own", "exported", "foreign"])
def test_arguments_on_one_base_are_in_one_copy(xp, kind):
    @access(out="RW", a="R")
    def add(out, a):
        out += a

    @access(out="W", a="R")
    def double(out, a):
        out[...] = a * 2

    memory = np.ones(4, dtype=np.float32)
    x = xp.asarray(memory, copy=kind != "foreign")
    seen = np.asarray(x) if kind == "exported" else None
    with Runtime(["wgpu"]):
        submit(add, x[:2], x[2:]).result(60)
        assert x.tolist() == [2.0, 2.0, 1.0, 1.0]
        submit(double, x, x).result(60)
    assert x.tolist() == [4.0, 4.0, 2.0, 2.0]
    assert seen is None or seen.tolist() == x.tolist()
