"""The array class: operators, conversions, indexing, attributes, text."""

import copy
import math
import operator

import numpy as np
import pytest
import rustarr

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow,
]  # fmt: skip
BITWISE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
COMPARE = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def same(ours, theirs, rtol=1e-6):
    """Equal shape, dtype name and values."""
    got = rustarr.asnumpy(ours)
    want = np.asarray(theirs)
    assert got.dtype == want.dtype, (got.dtype, want.dtype)
    np.testing.assert_allclose(got, want, rtol=rtol)


@pytest.mark.parametrize("op", BINARY)
def test_binary_operators(xp, op):
    a = np.array([[1.5, 2.0, -3.0]], dtype=np.float32)
    b = np.array([[2.0], [0.5]], dtype=np.float32)
    with np.errstate(all="ignore"):
        x, y = xp.asarray(a), xp.asarray(b)
        if op is not operator.pow:
            same(op(x, y), op(a, b))
        same(op(x, 2.0), op(a, np.float32(2.0)))
        same(op(2, abs(x)), op(np.float32(2), abs(a)))


@pytest.mark.parametrize("op", BITWISE)
def test_bitwise_operators(xp, op):
    a, b = np.array([1, 6, 12], dtype=np.int32), np.array([3, 2, 1], dtype=np.int32)
    x, y = xp.asarray(a), xp.asarray(b)
    same(op(x, y), op(a, b))
    same(op(x, 2), op(a, np.int32(2)))
    same(op(5, y), op(np.int32(5), b))
    assert rustarr.asnumpy(~x).tolist() == (~a).tolist()


@pytest.mark.parametrize("op", COMPARE)
def test_comparisons(xp, op):
    a, b = np.array([1.0, math.nan, 3.0], dtype=np.float32), np.float32(1.0)
    same(op(xp.asarray(a), 1.0), op(a, b))
    same(op(1.0, xp.asarray(a)), op(b, a))


def test_integers_compare_as_numbers_whatever_their_dtypes(xp):
    big = [2**63 - 1, 2**63, 2**63 + 1, 0, 2**64 - 1]
    x = xp.asarray([2**63 - 1, 2**63 - 2, -1, 0, -(2**63)], dtype=xp.int64)
    y = xp.asarray(big, dtype=xp.uint64)
    for op in COMPARE:
        for left, right in ((x, y), (y, x), (x[:, None], y), (y[::-1], x)):
            pairs = np.broadcast_arrays(*(np.asarray(v.tolist(), dtype=object) for v in (left, right)))
            assert op(left, right).tolist() == op(*pairs).tolist(), op
    assert (xp.asarray([-1], dtype=xp.int8) < y).tolist() == [True] * 5
    with pytest.raises(ValueError, match="less"):
        operator.lt(y, x[:2])


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"])
def test_in_place_keeps_the_object_and_reaches_views(xp, name):
    op = getattr(operator, name)
    a = np.array([4.0, 9.0, 2.0], dtype=np.float32)
    x = xp.asarray(a)
    view, handle = x[::-1], x
    x = op(x, 2.0)
    a = op(a, np.float32(2.0))
    assert x is handle
    same(x, a)
    same(view, a[::-1])


def test_in_place_refuses_what_does_not_fit(xp):
    x = xp.asarray([1, 2, 3], dtype=xp.int32)
    with pytest.raises(TypeError, match="in place"):
        x += 0.5
    with pytest.raises(TypeError):
        x /= 2
    with pytest.raises(ValueError, match="in place"):
        x += xp.ones((2, 3), dtype=xp.int32)
    with pytest.raises(TypeError, match="str"):
        x += "1"
    assert x.tolist() == [1, 2, 3]


def test_foreign_operands_are_left_to_answer(xp):
    class Answers:
        def __radd__(self, other):
            return "answered"

        def __eq__(self, other):
            return "equal"

    x = xp.ones(3)
    assert x + Answers() == "answered"
    assert (x == Answers()) == "equal"
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True
    with pytest.raises(TypeError):
        x + "text"
    with pytest.raises(TypeError):
        x < None  # noqa: B015


def test_matmul_operator(xp):
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = xp.asarray(a)
    same(x @ x.T, a @ a.T)
    same(x @ xp.asarray(a[0]), a @ a[0])
    with pytest.raises(TypeError, match="scalar"):
        x @ 2
    with pytest.raises(ValueError):
        x @ x
    y = xp.eye(3, dtype=xp.float32)
    z = xp.asarray(a)
    z @= y
    same(z, a)


def test_unary_operators(xp):
    a = np.array([1.0, -2.0, 0.0], dtype=np.float32)
    x = xp.asarray(a)
    same(-x, -a)
    same(+x, +a)
    same(abs(x), abs(a))


def test_conversions(xp):
    assert int(xp.asarray(3)) == 3 and isinstance(int(xp.asarray(3)), int)
    assert int(xp.asarray(True)) == 1
    assert int(xp.asarray(2.9, dtype=xp.float32)) == 2
    assert float(xp.asarray(2, dtype=xp.int32)) == 2.0
    assert complex(xp.asarray(1.5, dtype=xp.float32)) == 1.5 + 0j
    assert bool(xp.asarray([[0]])) is False
    assert [1, 2, 3][xp.asarray(1)] == 2
    for bad in (
        lambda: bool(xp.ones(2)),
        lambda: int(xp.ones(2)),
        lambda: float(xp.ones((1,))),
        lambda: operator.index(xp.asarray(1.0, dtype=xp.float32)),
        lambda: operator.index(xp.asarray(True)),
        lambda: int(xp.asarray(math.nan, dtype=xp.float32)),
        lambda: int(xp.asarray(math.inf, dtype=xp.float32)),
    ):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            bad()


def test_uint64_and_int64_extremes_survive(cpu):
    for dtype, value in ((cpu.uint64, 2**64 - 1), (cpu.int64, -(2**63)), (cpu.int64, 2**63 - 1)):
        x = cpu.asarray(value, dtype=dtype)
        assert int(x) == value == x.item() and x.tolist() == value
    assert cpu.asarray(2**64 - 1).dtype == cpu.uint64
    with pytest.raises(OverflowError):
        cpu.asarray(2**64)
    with pytest.raises(OverflowError):
        cpu.asarray(2**200)


def test_len_iter_contains(xp):
    x = xp.asarray([[1, 2], [3, 4]], dtype=xp.int32)
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert 3 in x and 7 not in x
    rows = iter(x)
    assert operator.length_hint(rows) == 2
    for bad in (lambda: len(xp.asarray(1)), lambda: iter(xp.asarray(1))):
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(TypeError):
        hash(x)


KEYS = [
    0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(-100, 100, 2), slice(3, 1),
    None, Ellipsis, (0, 1), (slice(None), 1), (Ellipsis, 0), (None, slice(None), None), (1, Ellipsis),
    (slice(None, None, 2), slice(None, None, -2)), (0, 1, 2), (), slice(2**70), slice(-(2**70), None),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_basic_keys_read_and_write_like_numpy(xp, key):
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = xp.asarray(a)
    got, want = x[key], a[key]
    assert got.shape == np.shape(want)
    same(got, want)
    b = a.copy()
    b[key] = -1
    x[key] = -1
    same(x, b)


def test_array_keys(xp):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = xp.asarray(a)
    rows = xp.asarray([2, 0], dtype=xp.int32)
    same(x[rows], a[[2, 0]])
    same(x[[2, 0]], a[[2, 0]])
    same(x[rows, [1, 3]], a[[2, 0], [1, 3]])
    same(x[x > 5], a[a > 5])
    same(x[xp.asarray([True, False, True])], a[[0, 2]])
    same(x[np.int64(1)], a[1])
    assert x[[]].shape == (0, 4)
    x[x > 5] = 0
    x[rows] += 1
    a[a > 5] = 0
    a[[2, 0]] += 1
    same(x, a)


@pytest.mark.parametrize("key", [3, -4, (0, 0, 0), 2**70, "a", 1.5, (..., ...), slice(None, None, 0), [0.5]], ids=str)
def test_bad_keys(xp, key):
    x = xp.zeros((3, 4), dtype=xp.float32)
    with pytest.raises((IndexError, ValueError, TypeError)):
        x[key].tolist()
    with pytest.raises((IndexError, ValueError, TypeError)):
        x[key] = 1
    assert not bool(xp.any(x))


def test_views_share_and_copies_do_not(xp):
    x = xp.zeros((2, 3), dtype=xp.float32)
    for view in (x[0], x.T, x.mT, x.reshape(3, 2), x.ravel(), x[..., None], x.transpose()):
        before = float(xp.sum(x))
        view[...] = before + 1
        assert float(xp.sum(x)) != before
    for taken in (x.copy(), x.flatten(), copy.copy(x), copy.deepcopy(x), x.astype(xp.float32)):
        before = float(xp.sum(x))
        taken[...] = -7
        assert float(xp.sum(x)) == before


def test_attributes(xp):
    x = xp.zeros((2, 3), dtype=xp.float32)
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes) == ((2, 3), 2, 6, 4, 24)
    assert x.dtype == xp.float32 and x.device == xp.zeros(1).device
    assert x.context == xp.context and x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError):
        x.__array_namespace__(api_version="1999.01")
    with pytest.raises(AttributeError):
        x.shape = (3, 2)
    assert x.T.shape == (3, 2) and x.to_device(x.device) is x
    with pytest.raises(ValueError):
        x.to_device(x.device, stream=1)


def test_methods_agree_with_functions(xp):
    a = np.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]], dtype=np.float32)
    x = xp.asarray(a)
    for name in ("sum", "prod", "min", "max", "mean", "std", "var"):
        np.testing.assert_allclose(float(getattr(x, name)()), getattr(a, name)(), rtol=1e-6)
        same(getattr(x, name)(axis=1), getattr(a, name)(axis=1))
        assert getattr(x, name)(axis=(0, 1), keepdims=True).shape == (1, 1)
    assert bool(x.any()) and bool(x.all())
    assert int(x.argmax()) == 3 and x.argmin(axis=1).tolist() == [1, 2]
    same(x.cumsum(axis=0), a.cumsum(axis=0))
    same(x.cumsum(), a.cumsum())
    same(x.clip(2, 5), a.clip(2, 5))
    same(x.round(), a.round())
    same((x / 3).round(2), (a / np.float32(3)).round(2), rtol=1e-5)
    same(x.take(xp.asarray([0, 5])), a.take([0, 5]))
    same(x.repeat(2, axis=0), a.repeat(2, axis=0))
    same(x.dot(x.T), a.dot(a.T))
    same(x.conj(), a)
    assert x[:, None].squeeze().shape == (2, 3)
    assert [p.tolist() for p in (x > 4).nonzero()] == [p.tolist() for p in (a > 4).nonzero()]
    x.sort(axis=1)
    same(x, np.sort(a, axis=1))
    assert x.argsort(descending=True).tolist() == [[2, 1, 0]] * 2
    x.fill(3)
    assert x.tolist() == [[3.0] * 3] * 2 and x.item(0, 1) == 3.0 and x.item(5) == 3.0
    assert len(x.tobytes()) == 24


def test_text(xp):
    x = xp.asarray([[1.0, 2.5], [float("nan"), -float("inf")]], dtype=xp.float32)
    assert repr(x) == "Array([[ 1.0,  2.5],\n       [ nan, -inf]], dtype=float32)"
    assert str(xp.asarray([1, 2], dtype=xp.int32)) == "[1, 2]"
    assert str(xp.asarray(True)) == "True"
    assert repr(xp.zeros((0, 3), dtype=xp.float32)) == "Array([], shape=(0, 3), dtype=float32)"
    assert f"{xp.asarray(1.0 / 3, dtype=xp.float32):.3f}" == "0.333"
    assert f"{xp.asarray(7, dtype=xp.int32):04d}" == "0007"
    assert f"{xp.asarray([True, False])}" == "[ True, False]"
    with pytest.raises(TypeError):
        f"{x:.2f}"


def test_repr_of_a_large_array_reads_its_edges(xp):
    x = xp.reshape(xp.arange(1_000_000, dtype=xp.int32), (1000, 1000))
    want = (
        "Array([[     0,      1,      2, ...,    997,    998,    999],\n"
        "       [  1000,   1001,   1002, ...,   1997,   1998,   1999],\n"
    )
    assert repr(x).startswith(want), repr(x)
    assert "...," in repr(x) and repr(x).endswith(" 999998, 999999]], dtype=int32)")
    assert len(repr(xp.zeros(10**6))) < 100


def test_numbers_read_back_from_their_text(cpu):
    values = [0.1, 1e-7, 1e20, -1.5e300, 123456.789, 5e-324]
    for value in values:
        assert float(str(cpu.asarray(value))) == value
    for value in (0.1, 1e-7, 3.4e38, 1 / 3):
        x = cpu.asarray(value, dtype=cpu.float32)
        assert np.float32(str(x)) == np.float32(value)
    h = cpu.asarray(0.1, dtype=cpu.float16)
    assert np.float16(str(h)) == np.float16(0.1) and len(str(h)) < 8
    assert complex(str(cpu.asarray(1 - 2j))) == 1 - 2j


def test_a_scalar_keeps_its_weakness(xp):
    x = xp.asarray([1], dtype=xp.int8)
    assert (x + 1).dtype == xp.int8 and (x + True).dtype == xp.int8
    with pytest.raises(OverflowError):
        x + 300
    assert (xp.ones(1, dtype=xp.float32) * 2.5).dtype == xp.float32
    assert (x * 2.5).dtype == xp.__array_namespace_info__().default_dtypes()["real floating"]


def test_masks_that_are_empty_along_an_axis(xp):
    """They select nothing, whatever the array's size there; as in NumPy."""
    for shape, mask in (((0, 1), (0, 0)), ((2, 3), (0, 3)), ((2, 3), (2, 0)), ((2, 3, 4), (0, 0)), ((3,), (0,))):
        x, empty = np.ones(shape, dtype=np.int32), np.zeros(mask, dtype=bool)
        y = xp.asarray(x)
        assert y[xp.asarray(empty)].shape == x[empty].shape
        for value in (7, xp.ones((0, *shape[len(mask) :]), dtype=xp.int32)):
            y[xp.asarray(empty)] = value
        assert y.tolist() == x.tolist()


def test_diagonals_however_far_away(xp):
    x = xp.ones((2, 3), dtype=xp.int32)
    far = 2**70
    assert int(xp.sum(xp.eye(3, k=far))) == 0 == int(xp.sum(xp.eye(3, k=-far)))
    assert xp.tril(x, k=far).tolist() == x.tolist() == xp.triu(x, k=-far).tolist()
    assert int(xp.sum(xp.tril(x, k=-far))) == 0 == int(xp.sum(xp.triu(x, k=far)))
    assert xp.linalg.diagonal(x, offset=far).shape == (0,) and int(xp.linalg.trace(x, offset=-far)) == 0


def test_rounding_to_decimals(xp):
    x = xp.asarray([1.25, -2.675, 1234.5], dtype=xp.float32)
    for decimals in (-2, 0, 1, 2):
        expected = np.round(np.asarray([1.25, -2.675, 1234.5], dtype=np.float32), decimals)
        for rounded in (xp.round(x, decimals), xp.round(x, decimals=decimals), x.round(decimals)):
            assert rounded.dtype == xp.float32
            np.testing.assert_allclose(rounded.tolist(), expected, rtol=1e-6)
    big = xp.asarray([2**62 + 1], dtype=xp.int64)
    assert xp.round(big, 3).tolist() == [2**62 + 1]
    assert xp.round(xp.asarray([17, -15]), -1).tolist() == np.round([17, -15], -1).tolist()
    # Beyond the range of the scale there is nothing to round.
    assert xp.round(xp.asarray([3e38, 0.5], dtype=xp.float32), 30).tolist()[0] == np.float32(3e38)


def test_complex_values_that_the_standard_fixes(xp):
    def value(function, z):
        w = complex(function(xp.asarray(z, dtype=xp.complex128)))
        return w.real, w.imag, math.copysign(1, w.real), math.copysign(1, w.imag)

    inf = math.inf
    # The zero has the sign of the imaginary part, where C's has that of sin 2y.
    for y in (1.0, 2.0, 5e16):
        assert value(xp.tanh, complex(inf, y)) == (1, 0, 1, 1)
        assert value(xp.tanh, complex(-inf, -y)) == (-1, 0, -1, -1)
        assert value(xp.tan, complex(y, inf)) == (0, 1, 1, 1)
    # Both zeros give 0, unlike in the real function.
    assert value(xp.expm1, complex(-0.0, 0.0)) == value(xp.expm1, 0j) == (0, 0, 1, 1)
    # A tiny imaginary part of a vanishing result.
    assert value(xp.exp, complex(-1212, 1.3e-245)) == (0, 0, 1, 1)
    assert value(xp.expm1, complex(-1212, -1.3e-245)) == (-1, 0, -1, -1)


def test_comparisons_with_huge_integers_are_exact(xp):
    for dtype in (xp.int8, xp.int64, xp.uint64, xp.bool):
        x = xp.asarray([0, 1], dtype=dtype)
        for n in (10**39, 10**400, 2**127):
            assert (x == n).tolist() == (n == x).tolist() == [False, False]
            assert (x != -n).tolist() == [True, True]
            assert (x < n).tolist() == (x <= n).tolist() == (x > -n).tolist() == (n > x).tolist() == [True, True]
            assert (x > n).tolist() == (x < -n).tolist() == (n <= x).tolist() == [False, False]
            assert n not in x
    assert xp.clip(xp.asarray([1, 5]), -(10**39), 10**39).tolist() == [1, 5]
    f = xp.asarray([0.0, float("inf")], dtype=xp.float32)
    assert (f < 10**37).tolist() == [True, False] and (f * 10**37).tolist()[1] == float("inf")
    assert (f > 10**39).tolist() == [False, False] and (f == 10**39).tolist() == [False, True]
    assert float(xp.asarray(10**38, dtype=xp.float32)) == pytest.approx(1e38)


def test_powers_of_a_complex_zero(cpu):
    for dtype in (cpu.complex64, cpu.complex128):
        zero = cpu.zeros(1, dtype=dtype)
        for w in (2 + 1j, 2, 0.5 - 3j, complex(1, float("inf"))):
            assert (zero**w).tolist() == [0]
        assert (zero**0).tolist() == [1]
        for w in (-1 + 1j, -1, 1j, complex(float("nan"), 1)):
            z = (zero**w).tolist()[0]
            assert z.real != z.real and z.imag != z.imag, w


def test_every_sequence_lists_positions(xp):
    x = xp.asarray([[1, 2], [3, 4], [5, 6]])
    for key in ([2, 0], range(2, -1, -2)):
        assert x[key].tolist() == [[5, 6], [1, 2]]
    assert x[(2, 0),].tolist() == [[5, 6], [1, 2]]
    assert x[(2, 0), (1, 0)].tolist() == [6, 1]
    assert x[:, (1,)].tolist() == [[2], [4], [6]]
    assert x[(),].tolist() == [] and x[range(0)].tolist() == []
    x[(0, 1),] = 0
    assert x.tolist() == [[0, 0], [0, 0], [5, 6]]
    for key in ("01", b"01", ("a",), {0}, 1.5):
        with pytest.raises((IndexError, TypeError)):
            x[key, ...]
