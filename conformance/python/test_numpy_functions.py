"""NumPy's universal functions and functions keep our class: ours where the namespace has them, NumPy's otherwise."""

import numpy as np
import pytest
import rustarr

X = np.asarray([[0.5, 1.5, 2.0], [3.0, 0.25, 1.0]])
S = np.asarray([[4.0, 1.0], [1.0, 3.0]])


def lift(value, xp):
    """Arguments with arrays of ours for NumPy's."""
    if isinstance(value, np.ndarray):
        return xp.asarray(value)
    if isinstance(value, (list, tuple)):
        return type(value)(lift(v, xp) for v in value)
    return value


def same(got, want, xp):
    """The same values and dtypes in arrays of ours."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w, xp)
    elif isinstance(want, (np.ndarray, np.generic)) and want.dtype.kind in "biufc" and want.dtype != np.longdouble:
        if isinstance(got, bool):
            assert got == want
            return
        assert isinstance(got, rustarr.Array) and got.context == xp.context, type(got)
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(rustarr.asnumpy(got), want, rtol=1e-12)
    else:
        assert type(got) is type(want) and np.all(np.asarray(got) == np.asarray(want))


UFUNCS = [n for n in dir(np) if isinstance(getattr(np, n), np.ufunc) and n not in ("isnat", "matvec", "vecmat")]


@pytest.mark.parametrize("name", UFUNCS)
def test_every_universal_function(cpu, name):
    ufunc = getattr(np, name)
    for host in (np.asarray([[1, 2], [3, 1]]), np.asarray([0.25, 0.5, 1.0]), np.asarray([True, False])):
        if name in ("ceil", "floor", "trunc", "rint", "reciprocal") and host.dtype == bool:
            # What a rounded boolean is differs between NumPy's versions; here they count as int8.
            continue
        args = (host,) * ufunc.nin
        try:
            with np.errstate(all="ignore"):
                want = ufunc(*args)
        except (TypeError, ValueError):
            # Neither side has a loop for it.
            with pytest.raises((TypeError, ValueError)):
                ufunc(*lift(args, cpu))
            continue
        if np.asarray(want).dtype.kind not in "biufc":
            continue
        with np.errstate(all="ignore"):
            same(ufunc(*lift(args, cpu)), want, cpu)
            if ufunc.nin == 2:
                same(ufunc(args[0], cpu.asarray(args[1])), want, cpu)


CALLS = {
    "sum": lambda x: np.sum(x, axis=0), "mean": lambda x: np.mean(x), "std": lambda x: np.std(x, ddof=1),
    "var": lambda x: np.var(x, 0, np.float32), "max": lambda x: np.max(x, 1), "sort": lambda x: np.sort(x, axis=0),
    "argsort": lambda x: np.argsort(x), "concatenate": lambda x: np.concatenate([x, X], axis=1),
    "stack": lambda x: np.stack([X, x]), "where": lambda x: np.where(x > 1, x, 0.0),
    "where1": lambda x: np.where(x > 1),
    "clip": lambda x: np.clip(x, 0.5, 2), "round": lambda x: np.round(x, 1), "reshape": lambda x: np.reshape(x, (3, 2)),
    "transpose": lambda x: np.transpose(x), "squeeze": lambda x: np.squeeze(x[None]), "flip": lambda x: np.flip(x, 1),
    "cumsum": lambda x: np.cumsum(x, axis=1), "diff": lambda x: np.diff(x, 2), "take": lambda x: np.take(x, [1, 0], 1),
    "unique": lambda x: np.unique(x, return_counts=True), "nan": lambda x: np.unique(np.where(x > 1, np.nan, x)),
    "outer": lambda x: np.outer(x, x), "dot": lambda x: np.dot(x, x.T), "einsum": lambda x: np.einsum("ij,kj", x, x),
    "tensordot": lambda x: np.tensordot(x, x, 2), "median": lambda x: np.median(x, axis=0),
    "percentile": lambda x: np.percentile(x, 30), "histogram": lambda x: np.histogram(x, 4),
    "interp": lambda x: np.interp(x, [0, 1, 3], [0.0, 2.0, 1.0]), "gradient": lambda x: np.gradient(x),
    "pad": lambda x: np.pad(x, 1), "split": lambda x: np.split(x, 3, axis=1), "searchsorted": lambda x: np.searchsorted(
        np.sort(x[0, :]), 1.0, side="right"), "linspace": lambda x: np.linspace(x[0, :], 4, 3),
    "full_like": lambda x: np.full_like(x, 3), "zeros_like": lambda x: np.zeros_like(x, dtype=np.int8),
    "inv": lambda x: np.linalg.inv(x @ x.T), "norm": lambda x: np.linalg.norm(x),
    "det": lambda x: np.linalg.det(x @ x.T),
    "svd": lambda x: np.linalg.svd(x, compute_uv=False), "eigvals": lambda x: np.linalg.eigvals(x @ x.T),
    "lstsq": lambda x: np.linalg.lstsq(x, X[:, 0])[0], "fft": lambda x: np.fft.fft(x),
    "rfft": lambda x: np.fft.rfft(x, 4),
    "fftshift": lambda x: np.fft.fftshift(x), "isin": lambda x: np.isin(x, [1.0, 2.0]), "all": lambda x: np.all(x > 0),
    "reduce": lambda x: np.add.reduce(x, axis=1), "accumulate": lambda x: np.multiply.accumulate(x),
    "outer2": lambda x: np.subtract.outer(x[0, :], x[1, :]), "out_of_ours": lambda x: np.exp(x, where=x > 1, out=x * 1),
    "dtype": lambda x: np.add(x, 1, dtype=np.float32), "allclose": lambda x: np.allclose(x, X),
    "array_equal": lambda x: np.array_equal(x, X), "shape": lambda x: np.shape(x), "ndim": lambda x: np.ndim(x),
    "size": lambda x: np.size(x), "result_type": lambda x: np.result_type(x, np.int8),
    "array2string": lambda x: np.array2string(x), "longdouble": lambda x: np.add(x, np.longdouble(1)),
    "divmod": lambda x: np.divmod(x, 2), "real": lambda x: np.real(x), "average": lambda x: np.average(x, weights=x),
    "apply": lambda x: np.apply_along_axis(np.sum, 0, x), "isclose": lambda x: np.isclose(x, X, rtol=1e-3),
    "expand_dims": lambda x: np.expand_dims(x, (0, 3)), "vander": lambda x: np.vander(x[0, :]),
    "broadcast": lambda x: np.broadcast_arrays(x, x[:1, :]), "meshgrid": lambda x: tuple(np.meshgrid(x[0, :], x[1, :])),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", sorted(CALLS))
def test_functions(cpu, name):
    same(CALLS[name](cpu.asarray(X)), CALLS[name](X), cpu)


def test_what_is_written_stays_where_it_is(cpu):
    x, host = cpu.asarray(X), X.copy()
    assert np.add(host, x, out=host) is host and host.tolist() == (2 * X).tolist()
    host += x
    assert type(host) is np.ndarray and host.tolist() == (3 * X).tolist()
    assert np.add(x, 1, out=x) is x and x.tolist() == (X + 1).tolist()
    np.copyto(x, 2.0)
    assert x.tolist() == [[2.0] * 3] * 2
    left, right = np.split(cpu.asarray([1.0, 2.0]), 2)
    whole = cpu.asarray([1.0, 2.0, 3.0, 4.0])
    left, right = np.split(whole, 2)
    left[0] = 9
    assert float(whole[0]) == 9 and right.tolist() == [3.0, 4.0]
    read_only = cpu.broadcast_to(whole, (2, 4))
    with pytest.raises(ValueError):
        np.add(read_only, 1, out=read_only)


def test_other_libraries_have_their_say(cpu):
    class Other:
        def __array_ufunc__(self, *args, **kwargs):
            return "ufunc"

        def __array_function__(self, *args, **kwargs):
            return "function"

    x = cpu.ones(3)
    assert np.add(x, Other()) == np.add(Other(), x) == "ufunc"
    assert np.concatenate([x, Other()]) == "function"
    with pytest.raises(TypeError):
        np.add(x, object())
    with pytest.raises(TypeError):
        np.add(x, np.asarray(["a"]))


def test_errors_are_those_of_our_functions(cpu):
    x = cpu.ones((2, 3))
    with pytest.raises(rustarr.AxisError, match="sum"):
        np.sum(x, axis=5)
    with pytest.raises(rustarr.LinAlgError):
        np.linalg.inv(cpu.zeros((2, 2))).tolist()
    with pytest.raises(TypeError):
        np.sum(x, no_such_word=1)


def test_protocols_called_with_nonsense_refuse(cpu):
    x = cpu.ones(3)
    with pytest.raises(TypeError, match="universal function"):
        x.__array_ufunc__(cpu.ones(2), "sum")
    assert x.__array_ufunc__(np.add, "reduce", np.ones(3)) is NotImplemented
    assert x.__array_function__(np.sum, (), (np.ones(3),), {}) is NotImplemented


def test_on_the_gpu_only_what_the_namespace_has(gpu):
    x = gpu.asarray(X.astype(np.float32))
    assert np.exp(x).device == np.sum(x, axis=0).device == (np.float32(2) * x).device == x.device
    before = gpu.context.stats()["bytes_transferred"]
    np.multiply(x, 2)
    gpu.synchronize()
    assert gpu.context.stats()["bytes_transferred"] - before <= 64
    for call in (lambda: np.median(x), lambda: np.heaviside(x, 1), lambda: np.add(x, 1, out=x)):
        with pytest.raises(TypeError, match="asnumpy"):
            call()
