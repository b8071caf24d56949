"""Libraries that are written to the standard, on our arrays: results are right, and arrays of the same namespace.

SciPy looks at SCIPY_ARRAY_API when it is imported, scikit-learn asks for it too; the conftest sets it.
"""

import array_api_compat
import array_api_extra as xpx
import einops.array_api as einops
import numpy as np
import pytest
import rustarr
import scipy.fft
import scipy.special

X = np.asarray([[0.5, 1.5, 2.0], [3.0, 0.25, 1.0]])
SIGNAL = np.random.default_rng(1).normal(size=(4, 6))


def same(got, want, xp, rtol=1e-12):
    """Arrays of the namespace with the values and dtypes of NumPy's; tuples and lists of such; plain values."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w, xp, rtol)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert isinstance(got, rustarr.Array) and got.context == xp.context, type(got)
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(rustarr.asnumpy(got), want, rtol=rtol, atol=rtol)
    else:
        assert got == want


# ------------------------------------------------------------------------------------ array_api_compat


def test_the_namespace_is_found(xp):
    x, y = xp.ones(3), xp.zeros(3)
    assert array_api_compat.array_namespace(x) is xp
    assert array_api_compat.array_namespace(x, y, 1.0, None, api_version="2025.12") is xp
    with pytest.raises(TypeError):
        array_api_compat.array_namespace(x, np.ones(3))
    other = rustarr.namespace("cpu-serial" if xp.context.name == "cpu-parallel" else "cpu-parallel")
    with pytest.raises(TypeError):
        array_api_compat.array_namespace(x, other.ones(1))


def test_what_is_asked_of_arrays(xp):
    x = xp.ones((2, 3))
    assert array_api_compat.is_array_api_obj(x) and array_api_compat.is_writeable_array(x)
    assert not array_api_compat.is_numpy_array(x) and not array_api_compat.is_lazy_array(x)
    assert array_api_compat.size(x) == 6 and array_api_compat.device(x) == x.device
    assert array_api_compat.to_device(x, x.device) is x


# ------------------------------------------------------------------------------------ array_api_extra

EXTRA = {
    "angle": lambda f, xp, x: f(xp.asarray([1j, -1.0 + 0j, 2 - 2j])),
    "apply_where": lambda f, xp, x: (
        f(x > 1, x, lambda v: v * 2, fill_value=-1.0),
        f(x > 1, (x, x + 1), lambda v, w: v * w, lambda v, w: v - w),
    ),
    "argpartition": lambda f, xp, x: xp.take_along_axis(x, f(x, 1, axis=1), axis=1)[:, 1],
    "atleast_nd": lambda f, xp, x: f(x, ndim=4),
    "broadcast_shapes": lambda f, xp, x: f((2, 1), (3,)),
    "cov": lambda f, xp, x: f(x),
    "create_diagonal": lambda f, xp, x: f(x, offset=1),
    "deg2rad": lambda f, xp, x: f(x),
    "diag_indices": lambda f, xp, x: f(3, ndim=2, xp=xp),
    "expand_dims": lambda f, xp, x: f(x, axis=(0, 3)),
    "isclose": lambda f, xp, x: f(x, x + 1e-9),
    "isin": lambda f, xp, x: f(x, x[0, :], invert=True),
    "kron": lambda f, xp, x: f(x, x),
    "lazy_apply": lambda f, xp, x: f(lambda v: v * 2, x),
    "nan_to_num": lambda f, xp, x: f(xp.where(x > 2, xp.nan, x)),
    "nanmax": lambda f, xp, x: f(xp.where(x > 2, xp.nan, x), axis=0),
    "nanmean": lambda f, xp, x: f(xp.where(x > 2, xp.nan, x)),
    "nanmin": lambda f, xp, x: f(xp.where(x < 1, xp.nan, x), axis=1),
    "nansum": lambda f, xp, x: f(xp.where(x > 2, xp.nan, x), axis=0),
    "nunique": lambda f, xp, x: f(x),
    "one_hot": lambda f, xp, x: f(xp.asarray([0, 2, 1]), 3),
    "pad": lambda f, xp, x: f(x, ((1, 0), (0, 2)), constant_values=7.0),
    "partition": lambda f, xp, x: f(x, 1, axis=1)[:, 1],
    "rad2deg": lambda f, xp, x: f(x),
    "searchsorted": lambda f, xp, x: f(xp.sort(x, axis=-1), x, side="right"),
    "setdiff1d": lambda f, xp, x: f(xp.asarray([1, 2, 3]), xp.asarray([2])),
    "sinc": lambda f, xp, x: f(x),
    "tril_indices": lambda f, xp, x: f(3, offset=1, xp=xp),
    "triu_indices": lambda f, xp, x: f(3, offset=-1, xp=xp),
    "union1d": lambda f, xp, x: f(xp.asarray([3, 1]), xp.asarray([2, 1])),
    "unravel_index": lambda f, xp, x: f(xp.asarray([5, 0, 3]), (2, 3)),
}


def test_every_extra_function_is_tried():
    functions = {n for n in dir(xpx) if not n.startswith("_") and n not in ("at", "default_dtype", "testing")}
    assert functions == set(EXTRA)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", sorted(EXTRA))
def test_extra_functions(cpu, name):
    function = getattr(xpx, name)
    want = EXTRA[name](function, np, X)
    same(EXTRA[name](function, cpu, cpu.asarray(X)), want, cpu)


@pytest.mark.parametrize("copy", [None, True, False])
def test_at(xp, copy):
    for key in ((0, 1), (slice(None), 2), 1, ..., "mask"):
        for method in ("set", "add", "subtract", "multiply", "divide", "power", "min", "max"):
            host = np.asarray(X, dtype=np.float32)
            x = xp.asarray(host)
            at = (x > 1, host > 1) if key == "mask" else (key, key)
            got = getattr(xpx.at(x)[at[0]], method)(2, copy=copy)
            want = getattr(xpx.at(host.copy())[at[1]], method)(2, copy=copy)
            same(got, want, xp, rtol=1e-6)
            assert (got is x) == (copy is not True)
            assert copy is not True or xp.asnumpy(x).tolist() == host.tolist()


def test_default_dtype(xp):
    assert xpx.default_dtype(xp) == xp.zeros(1).dtype
    assert xpx.default_dtype(xp, "integral") == xp.asarray(1).dtype


# ------------------------------------------------------------------------------------ einops


def test_einops(xp):
    host = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    x = xp.asarray(host)
    same(einops.rearrange(x, "a b c -> c (a b)"), host.reshape(6, 4).T, xp)
    same(einops.rearrange(x, "a (b d) c -> b a d c", d=3), host.reshape(2, 1, 3, 4).transpose(1, 0, 2, 3), xp)
    for kind in ("mean", "sum", "max", "min", "prod"):
        same(einops.reduce(x, "a b c -> a c", kind), getattr(host, kind)(axis=1), xp, rtol=1e-6)
    same(einops.repeat(x, "a b c -> a b d c", d=2), np.repeat(host[:, :, None], 2, axis=2), xp)
    packed, shapes = einops.pack([x, x[:, 0, :]], "a * c")
    same(packed, np.concatenate([host, host[:, :1]], axis=1), xp)
    same(einops.unpack(packed, shapes, "a * c"), [host, host[:, 0]], xp)


# ------------------------------------------------------------------------------------ SciPy

#: Functions of scipy.special that know the standard, and how many arguments each takes here.
SPECIAL = {
    "betainc": 3, "betaincc": 3, "betaincinv": 3, "betaln": 2, "binom": 2, "boxcox": 2, "boxcox1p": 2, "cbrt": 1,
    "chdtr": 2, "chdtrc": 2, "digamma": 1, "entr": 1, "erf": 1, "erfc": 1, "erfcinv": 1, "erfinv": 1, "exp1": 1,
    "exp10": 1, "exp2": 1, "expi": 1, "expit": 1, "exprel": 1, "fdtr": 3, "gamma": 1, "gammainc": 2, "gammaincc": 2,
    "gammaln": 1, "gdtr": 3, "huber": 2, "i0": 1, "i0e": 1, "i1": 1, "i1e": 1, "inv_boxcox": 2, "j0": 1, "j1": 1,
    "k0": 1, "k0e": 1, "k1": 1, "k1e": 1, "kl_div": 2, "log_ndtr": 1, "loggamma": 1, "logit": 1, "ndtr": 1, "ndtri": 1,
    "pdtr": 2, "poch": 2, "psi": 1, "rel_entr": 2, "rgamma": 1, "sinc": 1, "stdtr": 2, "stdtrit": 2, "xlog1py": 2,
    "xlogy": 2, "y0": 1, "y1": 1, "zeta": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SPECIAL))
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scipy_special(cpu, name, dtype):
    function = getattr(scipy.special, name)
    host = [np.asarray([0.25, 0.5, 0.75, 0.9], dtype) + (i == 1) for i in range(SPECIAL[name])]
    want = function(*host)
    same(function(*(cpu.asarray(h) for h in host)), want, cpu, rtol=1e-5 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_scipy_reductions(xp, name):
    function, host = getattr(scipy.special, name), X.astype(np.float32)
    for axis in (None, 0, -1):
        same(function(xp.asarray(host), axis=axis), function(host, axis=axis), xp, rtol=1e-5)


FFT = """
    fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft hfft2 ihfft2 hfftn ihfftn
    dct idct dst idst dctn idctn dstn idstn fftshift ifftshift
""".split()


@pytest.mark.parametrize("name", FFT)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scipy_fft(cpu, name, dtype):
    function, host = getattr(scipy.fft, name), SIGNAL.astype(dtype)
    if name.startswith(("irfft", "hfft")):
        host = (host + 1j * host[::-1]).astype(np.result_type(dtype, np.complex64))
    want = function(host)
    same(function(cpu.asarray(host)), want, cpu, rtol=1e-4 if dtype == "float32" else 1e-12)


def test_scipy_frequencies(cpu):
    same(scipy.fft.fftfreq(7, 0.5, xp=cpu), np.fft.fftfreq(7, 0.5), cpu)
    same(scipy.fft.rfftfreq(7, 0.5, xp=cpu), np.fft.rfftfreq(7, 0.5), cpu)


def test_scipy_beyond_these(cpu):
    from scipy import cluster, integrate, ndimage, optimize, signal, stats

    host = SIGNAL
    x = cpu.asarray(host)
    same(stats.zscore(x, axis=1), stats.zscore(host, axis=1), cpu)
    same(stats.skew(x, axis=0), stats.skew(host, axis=0), cpu)
    same(integrate.trapezoid(x, axis=1), integrate.trapezoid(host, axis=1), cpu)
    same(signal.detrend(x, axis=1), signal.detrend(host, axis=1), cpu, rtol=1e-10)
    same(cluster.vq.whiten(x), cluster.vq.whiten(host), cpu)
    same(ndimage.gaussian_filter(x, 1.0), ndimage.gaussian_filter(host, 1.0), cpu)
    same(optimize.rosen(x), optimize.rosen(host), cpu)


# ------------------------------------------------------------------------------------ scikit-learn


def test_scikit_learn(cpu):
    import sklearn
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import Ridge
    from sklearn.metrics import mean_squared_error, r2_score
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    rng = np.random.default_rng(0)
    host = rng.normal(size=(40, 5))
    labels = (host[:, 0] > 0).astype(np.int64)
    with sklearn.config_context(array_api_dispatch=True):
        for run in (
            lambda x, y: PCA(2, svd_solver="full").fit_transform(x),
            lambda x, y: StandardScaler().fit_transform(x),
            lambda x, y: MinMaxScaler().fit_transform(x),
            lambda x, y: Ridge(solver="svd").fit(x, x[:, 0]).predict(x),
            lambda x, y: LinearDiscriminantAnalysis().fit(x, y).predict(x),
        ):
            same(run(cpu.asarray(host), cpu.asarray(labels)), run(host, labels), cpu, rtol=1e-9)
        for score in (r2_score, mean_squared_error):
            x = cpu.asarray(host)
            assert abs(score(x[:, 0], x[:, 1]) - score(host[:, 0], host[:, 1])) < 1e-12
