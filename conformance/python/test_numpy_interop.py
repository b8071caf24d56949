"""NumPy in and out: values, memory, mixed operands."""

import array
import decimal
import fractions
import gc
import sys

import numpy as np
import pytest
import rustarr
from test_dtype import NAMES


def sample(name):
    """A small array of every kind of value that the dtype has."""
    return np.array([[1, 0, 1], [0, 1, 1]]).astype(name)


@pytest.mark.parametrize("name", NAMES)
def test_round_trip(xp, name):
    a = sample(name)
    for given in (a, a.T, a[::-1, ::2], a[:, :0], a[0, 0], a[0, 0, ...], np.broadcast_to(a[0], (4, 3))):
        x = xp.asarray(given)
        back = rustarr.asnumpy(x)
        assert x.dtype == name and back.dtype == name and x.shape == np.shape(given)
        np.testing.assert_array_equal(back, given)


def test_export_shares_memory(cpu):
    x = cpu.zeros((2, 3))
    a = np.asarray(x)
    a[0, 1] = 5
    assert float(x[0, 1]) == 5
    x[1, 2] = 7
    assert a[1, 2] == 7
    x += 1
    assert a[0, 0] == 1
    t = np.asarray(x.T[::-1])
    assert t.shape == (3, 2) and t[0, 1] == 8
    assert np.shares_memory(a, t)
    # The memory outlives the array.
    expected = a.copy()
    del x
    gc.collect()
    np.testing.assert_array_equal(a, expected)


def test_export_waits_for_recorded_work_and_keeps_values_apart(cpu):
    x = cpu.ones(1000)
    y = x * 2 + 1
    z = y.copy()
    a = np.asarray(y)
    a[...] = 0
    assert float(cpu.sum(z)) == 3000 and float(cpu.sum(y)) == 0


def test_buffer_protocol_of_arrays(cpu):
    x = cpu.reshape(cpu.arange(6, dtype=cpu.int32), (2, 3))
    view = memoryview(x)
    assert (view.format, view.shape, view.strides, view.readonly) == ("i", (2, 3), (12, 4), False)
    assert bytes(x) == np.arange(6, dtype=np.int32).tobytes()
    with pytest.raises(BufferError):
        # A consumer without strides takes contiguous memory only.
        sys.stdout.buffer.write(x.T)
    readonly = memoryview(cpu.broadcast_to(x[0], (4, 3)))
    assert readonly.tolist() == [[0, 1, 2]] * 4 and readonly.readonly
    # Elements that share memory are no more to be written there than here.
    spread = cpu.broadcast_to(x, (5, 2, 3))
    assert not np.asarray(spread).flags.writeable and not np.from_dlpack(spread).flags.writeable
    assert np.asarray(spread[0, ...]).flags.writeable
    with pytest.raises(BufferError):
        spread.__dlpack__()


def test_asarray_takes_a_snapshot_and_shares_on_request(cpu):
    a = np.arange(6.0).reshape(2, 3)
    snapshot, shared = cpu.asarray(a), cpu.asarray(a, copy=False)
    a[0, 0] = 9
    assert float(snapshot[0, 0]) == 0 and float(shared[0, 0]) == 9
    shared[1, 1] = -1
    assert a[1, 1] == -1
    shared *= 2
    assert a[0, 0] == 18
    view = cpu.asarray(a[:, ::-2], copy=False)
    view[...] = 0
    assert a.tolist() == [[0.0, 2.0, 0.0], [0.0, -2.0, 0.0]]


def test_read_only_memory_stays_read_only(cpu):
    a = np.arange(3.0)
    a.flags.writeable = False
    x = cpu.asarray(a, copy=False)
    for write in (lambda: x.__setitem__(0, 1), lambda: x.__iadd__(1), lambda: x[1:].fill(0)):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert not np.asarray(x).flags.writeable
    assert float(cpu.sum(x + 1)) == 6
    y = cpu.asarray(a)
    y[0] = 5


def test_odd_memory_is_copied_or_refused(cpu):
    swapped = np.arange(4, dtype=">f8")
    misaligned = np.frombuffer(b"\0" + np.arange(4.0).tobytes(), dtype=np.float64, offset=1)
    record = np.zeros(4, dtype=[("a", "i1"), ("b", "f8")])
    record["b"] = np.arange(4.0)
    complex_swapped = (np.arange(4) * (1 + 2j)).astype(">c8")
    for given in (swapped, misaligned, record["b"], complex_swapped, swapped[::-1]):
        assert cpu.asarray(given).tolist() == given.tolist()
        with pytest.raises(ValueError):
            cpu.asarray(given, copy=False)


@pytest.mark.parametrize(
    "given",
    [
        np.array(["a"]), np.array([object()]), np.array([1], dtype="M8[s]"), "text", None, object(),
        {1: 2}, {1, 2}, (i for i in range(3)), np.zeros(2, dtype=[("a", "i4")]), ["a"], [None],
        np.zeros(1, dtype=np.longdouble), decimal.Decimal(1), fractions.Fraction(1, 2), float,
    ],
    ids=lambda given: type(given).__name__,
)  # fmt: skip
def test_what_no_array_can_be_made_of(xp, given):
    if isinstance(given, np.ndarray) and given.dtype == np.longdouble and given.itemsize == 8:
        pytest.skip("long double is double on this platform")
    with pytest.raises(TypeError):
        xp.asarray(given)


def test_sequences(xp):
    assert xp.asarray([]).shape == (0,) and xp.asarray([[], []]).shape == (2, 0)
    assert xp.asarray(((1, 2), [3, 4])).tolist() == [[1, 2], [3, 4]]
    assert xp.asarray(range(3)).tolist() == [0, 1, 2]
    assert xp.asarray([xp.asarray(1), 2, np.int8(3)]).tolist() == [1, 2, 3]
    assert xp.asarray([xp.asarray([1, 2]), [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert xp.asarray([True, False]).dtype == xp.bool
    assert xp.asarray([1, True]).dtype == xp.int64
    assert xp.asarray([1, 2.5]).dtype == xp.__array_namespace_info__().default_dtypes()["real floating"]
    assert xp.asarray([2**63]).dtype == xp.uint64
    for ragged in ([1, [2]], [[1], 2], [[1, 2], [3]], [[[1]], [2]], [[], 1], [xp.ones(2), xp.ones(3)]):
        with pytest.raises(ValueError):
            xp.asarray(ragged)
    with pytest.raises(OverflowError):
        xp.asarray([300], dtype=xp.uint8)
    with pytest.raises(TypeError):
        xp.asarray([1j], dtype=xp.float32)
    deep = []
    deep.append(deep)
    with pytest.raises((ValueError, RecursionError)):
        xp.asarray(deep)


def test_other_exporters(cpu):
    assert cpu.asarray(array.array("f", [1, 2])).dtype == cpu.float32
    assert cpu.asarray(b"\1\2").tolist() == [1, 2]
    assert cpu.asarray(memoryview(bytearray(3))[::2], copy=False).shape == (2,)

    class Interface:
        def __init__(self):
            self.kept = np.arange(3, dtype=np.int16)
            self.__array_interface__ = self.kept.__array_interface__

    class Method:
        def __array__(self, dtype=None, copy=None):
            return np.arange(4)

    assert cpu.asarray(Interface()).dtype == cpu.int16
    assert cpu.asarray(Method()).tolist() == [0, 1, 2, 3]


def test_mixed_operands_on_the_host(cpu):
    a, x = np.arange(3.0), cpu.ones(3)
    for mixed in (x + a, a + x, np.float64(2) * x, x * np.float64(2), x - np.int8(1)):
        assert isinstance(mixed, rustarr.Array)
    assert (a + x).tolist() == [1.0, 2.0, 3.0]
    assert (x == a).tolist() == [False, True, False] == (a == x).tolist()
    assert (cpu.ones(3, dtype=cpu.float32) * np.float64(2)).dtype == cpu.float64
    assert (cpu.ones(3, dtype=cpu.float32) * np.float32(2)).dtype == cpu.float32
    x += a
    assert x.tolist() == [1.0, 2.0, 3.0]
    assert cpu.add(x, a).tolist() == (x + a).tolist()
    assert np.exp(cpu.zeros(2)).tolist() == [1.0, 1.0]


def test_numpy_meets_the_gpu_only_when_asked(gpu):
    x = gpu.ones(3, dtype=gpu.float32)
    a = np.ones(3, dtype=np.float32)
    for mix in (lambda: x + a, lambda: a + x, lambda: gpu.exp(a), lambda: gpu.add(x, a)):
        with pytest.raises(TypeError, match="asarray"):
            mix()
    for export in (lambda: np.asarray(x), lambda: np.array(x), lambda: memoryview(x)):
        with pytest.raises((TypeError, BufferError), match="asnumpy"):
            export()
    before = gpu.context.stats()["bytes_transferred"]
    y = x * np.float32(2) + 1.0
    gpu.synchronize()
    assert gpu.context.stats()["bytes_transferred"] - before <= 64
    assert rustarr.asnumpy(y).tolist() == [3.0, 3.0, 3.0]


def test_no_reference_is_kept(cpu):
    a = np.zeros(1000)
    count = sys.getrefcount(a)
    x = cpu.asarray(a)
    assert sys.getrefcount(a) == count
    y = cpu.asarray(a, copy=False)
    assert sys.getrefcount(a) > count
    del x, y
    gc.collect()
    assert sys.getrefcount(a) == count


@pytest.mark.parametrize("name", "sum prod max min mean std var all any argmax argmin cumsum cumprod round".split())
def test_functions_of_numpy_call_methods(xp, name):
    """They hand over out=None, and sometimes dtype=None."""
    x = xp.asarray([[1.5, 2.0], [0.5, 4.0]], dtype=xp.float32)
    given = np.asarray([[1.5, 2.0], [0.5, 4.0]], dtype=np.float32)
    for arguments in ({}, {"decimals": 1} if name == "round" else {"axis": 0}):
        found = getattr(np, name)(x, **arguments)
        assert isinstance(found, rustarr.Array) and found.context == xp.context
        np.testing.assert_allclose(found.tolist(), getattr(np, name)(given, **arguments), rtol=1e-6)


def test_functions_of_numpy_with_more_arguments(xp):
    x = xp.asarray([1.5, 2.0, 0.5], dtype=xp.float32)
    for found, expected in (
        (np.clip(x, 1, 1.75), [1.5, 1.75, 1.0]),
        (np.take(x, [2, 0]), [0.5, 1.5]),
        (np.mean(x, dtype=np.float64), 4 / 3),
    ):
        assert isinstance(found, rustarr.Array)
        np.testing.assert_allclose(found.tolist(), expected)
    assert np.mean(x, dtype=np.float64).dtype == np.var(x, dtype=np.float64).dtype == xp.float64
