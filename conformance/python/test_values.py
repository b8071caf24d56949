"""The values that the standard leaves open, the same in every namespace: the table in ARCHITECTURE.md, row by row."""

import math

import numpy as np
import pytest

SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_integer_division_by_zero_is_zero(xp, name):
    x = xp.asarray([7, 0, 1], dtype=name)
    zero = xp.zeros(3, dtype=name)
    for quotient, remainder in ((x // zero, x % zero), (x // 0, x % 0), (7 // zero, 7 % zero), divmod(x, zero)):
        assert quotient.tolist() == remainder.tolist() == [0, 0, 0]
    y = xp.asarray(x, copy=True)
    y //= 0
    x %= 0
    assert x.tolist() == y.tolist() == [0, 0, 0]


@pytest.mark.parametrize("name", SIGNED)
def test_the_smallest_integer_by_minus_one(xp, name):
    least = int(np.iinfo(name).min)
    x = xp.asarray([least] * 70, dtype=name)
    minus = xp.asarray([-1] * 70, dtype=name)
    assert (x // minus).tolist() == (x // -1).tolist() == [least] * 70
    assert (x % minus).tolist() == (x % -1).tolist() == [0] * 70
    assert (-x).tolist() == abs(x).tolist() == [least] * 70


@pytest.mark.parametrize("name", SIGNED)
def test_a_negative_exponent_of_integers_is_refused_at_the_call(xp, name):
    x = xp.asarray([2, 1, 0], dtype=name)
    for call in (
        lambda: x**-1,
        lambda: x ** xp.asarray([1, 2, -1], dtype=name),
        lambda: xp.pow(x, xp.asarray(-1, dtype=name)),
        lambda: 2 ** xp.asarray([0, -3], dtype=name),
        lambda: x.__ipow__(-2),
    ):
        with pytest.raises(ValueError, match="negative"):
            call()
    assert x.tolist() == [2, 1, 0] and (x**0).tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", SIGNED + UNSIGNED)
def test_shifts_by_the_width_or_more(xp, name):
    info = np.iinfo(name)
    x = xp.asarray([1, int(info.max), int(info.min), 5], dtype=name)
    sign = [0, 0, -1 if info.min else 0, 0]
    for count in (info.bits, info.bits + 1, 127):
        counts = xp.asarray([count] * 4, dtype=name)
        assert (x << counts).tolist() == (x << count).tolist() == [0] * 4
        assert (x >> counts).tolist() == (x >> count).tolist() == sign


@pytest.mark.parametrize("name", FLOATS)
def test_too_large_a_correction_gives_nan(xp, name):
    x = xp.asarray([[1.0, 2.0], [3.0, 5.0]], dtype=name)
    for function in (xp.var, xp.std):
        for correction in (2, 2.5, 7):
            assert all(math.isnan(v) for v in function(x, axis=1, correction=correction).tolist())
        assert math.isnan(float(function(x, correction=4))) and not math.isnan(float(function(x, correction=3)))
        assert math.isnan(float(function(xp.zeros(0, dtype=name))))


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("to", SIGNED + UNSIGNED)
def test_floats_saturate_as_integers(xp, name, to):
    info = np.iinfo(to)
    x = xp.asarray([math.nan, math.inf, -math.inf, 3e38, -3e38, -0.9, 2.9], dtype=name)
    low, high = int(info.min), int(info.max)
    assert xp.astype(x, getattr(xp, to)).tolist() == [0, high, low, high, low, 0, 2]


def test_a_bad_index_touches_nothing(xp):
    x = xp.asarray([1, 2, 3], dtype=xp.int32)
    for bad in (3, -4, 2**31 - 1, -(2**31)):
        index = xp.asarray([0, bad], dtype=xp.int32)
        for call in (
            lambda: x[bad],
            lambda: x[index],
            lambda: xp.take(x, index),
            lambda: xp.take_along_axis(x, index),
            lambda: x.__setitem__(index, 9),
            lambda: x.__setitem__(bad, 9),
        ):
            with pytest.raises(IndexError):
                result = call()
                if result is not None:
                    result.tolist()
                x.tolist()
    assert x.tolist() == [1, 2, 3]


def test_extremes_are_the_first_nan_else_the_first_extreme(xp):
    nan = math.nan
    for values, largest, smallest in (
        ([1.0, nan, 3.0, nan], 1, 1),
        ([2.0, 3.0, 3.0, 1.0, 1.0], 1, 3),
        ([nan], 0, 0),
        ([-math.inf, math.inf, math.inf], 1, 0),
        ([0.0] * 3000 + [nan] + [5.0] * 100, 3000, 3000),
    ):
        x = xp.asarray(values, dtype=xp.float32)
        assert int(xp.argmax(x)) == largest and int(xp.argmin(x)) == smallest
        grid = xp.stack([x, x], axis=1)
        assert xp.argmax(grid, axis=0).tolist() == [largest] * 2
        assert xp.argmin(grid, axis=0).tolist() == [smallest] * 2


def test_sorting_puts_nan_last(xp):
    x = xp.asarray([math.nan, 2.0, -math.inf, math.nan, 3.0, math.inf], dtype=xp.float32)
    for descending, order in ((False, [2, 1, 4, 5]), (True, [5, 4, 1, 2])):
        assert xp.argsort(x, descending=descending).tolist() == [*order, 0, 3]
        values = xp.sort(x, descending=descending)
        assert values[:4].tolist() == [x.tolist()[i] for i in order] and bool(xp.all(xp.isnan(values[4:])))


def test_a_broadcast_view_is_not_written(xp):
    x = xp.asarray([1.0], dtype=xp.float32)
    view = xp.broadcast_to(x, (4,))
    for write in (
        lambda: view.__iadd__(1),
        lambda: view.__setitem__(0, 5.0),
        lambda: view.__setitem__(slice(0, 2), 5.0),
        lambda: view[1:].__setitem__(..., 5.0),
        lambda: view.fill(5.0),
        lambda: xp.broadcast_arrays(x, xp.zeros(3))[0].__setitem__(0, 5.0),
    ):
        with pytest.raises(ValueError):
            write()
    assert x.tolist() == [1.0] and view.tolist() == [1.0] * 4


def test_integers_alone_copy_one_element_and_an_ellipsis_views_it(xp):
    x = xp.asarray([[1, 2], [3, 4]], dtype=xp.int32)
    copy, view = x[0, 1], x[0, 1, ...]
    x[0, 1] = 9
    assert copy.shape == view.shape == () and (int(copy), int(view)) == (2, 9)
    view[...] = 7
    assert int(x[0, 1]) == 7
    v = xp.asarray([1, 2], dtype=xp.int32)
    v[0], v[1] = v[1], v[0]
    assert v.tolist() == [2, 1]
    rows = x[0]
    x[0, 0] = 5
    assert rows.tolist() == [5, 7]


def test_random_numbers_are_the_same_everywhere(xp):
    from conftest import open_namespace

    cpu = open_namespace("cpu-serial")
    for draw in (
        lambda rng: rng.random(1000, dtype="float32"),
        lambda rng: rng.uniform(-2.0, 3.0, (7, 11), dtype="float32"),
        lambda rng: rng.integers(-5, 1000, 1001, dtype="int32"),
        lambda rng: rng.bits(100, dtype="uint32"),
        lambda rng: rng.permutation(50),
    ):
        ours, reference = (draw(n.random.default_rng(42)).tolist() for n in (xp, cpu))
        assert ours == reference
    ours, reference = (n.asnumpy(n.random.default_rng(3).normal(size=1001, dtype="float32")) for n in (xp, cpu))
    if xp.context.device == cpu.context.device:
        assert ours.tobytes() == reference.tobytes()
    np.testing.assert_allclose(ours, reference, rtol=1e-5, atol=1e-6)


def test_overlapping_views_are_written_as_if_copied_first(xp):
    for write, right in (
        (lambda x: x.__setitem__(slice(1, None), x[:-1]), lambda a: np.concatenate([a[:1], a[:-1]])),
        (lambda x: x.__setitem__(slice(None), x[::-1]), lambda a: a[::-1]),
        (lambda x: x[1:].__iadd__(x[:-1]), lambda a: np.concatenate([a[:1], a[1:] + a[:-1]])),
        (lambda x: x[::-1].__iadd__(x), lambda a: a + a[::-1]),
    ):
        for size in (5, 3000, 100_000):
            host = np.arange(size, dtype=np.int32)
            x = xp.asarray(host)
            write(x)
            assert np.array_equal(xp.asnumpy(x), right(host))
    square = np.arange(9, dtype=np.int32).reshape(3, 3)
    x = xp.asarray(square)
    x += x.T
    assert xp.asnumpy(x).tolist() == (square + square.T).tolist()


@pytest.mark.parametrize("to", ("int64", "uint64", "int32"))
@pytest.mark.parametrize("name", ("bool", "int8", "uint8", "int32", "uint32", "int64"))
def test_integers_mean_the_same_after_a_conversion(name, to, xp):
    """One fused chain converts and computes: compilers of GPU drivers know what a converted number can be."""
    info = np.iinfo(name) if name != "bool" else None
    values = [False, True] * 4 if info is None else [0, 1, 7, 100, info.min, info.min + 7, info.max, info.max - 7]
    source = np.asarray(values, dtype=name)
    converted = source.astype(to)
    other = np.asarray([-3 if to[0] == "i" else 3, 5, 1, 7, 3, 2, 9, 4]).astype(to)
    x, y = xp.asarray(source), xp.asarray(other)
    for f in ("abs", "sign", "negative", "square"):
        assert getattr(xp, f)(xp.astype(x, to)).tolist() == getattr(np, f)(converted).tolist(), f
    positive = np.maximum(converted, 1)
    for f in ("add", "subtract", "multiply", "floor_divide", "remainder", "less", "less_equal", "maximum", "minimum"):
        ours, theirs = getattr(xp, f), getattr(np, f)
        assert ours(xp.astype(x, to), y).tolist() == theirs(converted, other).tolist(), f
        assert ours(y, xp.maximum(xp.astype(x, to), 1)).tolist() == theirs(other, positive).tolist(), f
    assert xp.astype(xp.astype(x, to), xp.float32).tolist() == converted.astype("float32").tolist()
