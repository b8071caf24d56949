"""Namespaces: complete, honest about themselves, modules like any other."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import rustarr
from rustarr import _namespace

#: The names of the standard's version 2025.12.
STANDARD = """
    arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
    zeros_like astype can_cast finfo iinfo isdtype result_type abs acos acosh add asin asinh atan atan2 atanh
    bitwise_and bitwise_left_shift bitwise_invert bitwise_or bitwise_right_shift bitwise_xor ceil clip conj copysign
    cos cosh divide equal exp expm1 floor floor_divide greater greater_equal hypot imag isfinite isinf isnan less
    less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply
    negative nextafter not_equal positive pow real reciprocal remainder round sign signbit sin sinh square sqrt
    subtract tan tanh trunc take take_along_axis matmul matrix_transpose tensordot vecdot broadcast_arrays
    broadcast_shapes broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile
    unstack argmax argmin count_nonzero nonzero searchsorted where isin unique_all unique_counts unique_inverse
    unique_values argsort sort cumulative_sum cumulative_prod max mean min prod std sum var all any diff e inf nan
    newaxis pi bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
    __array_namespace_info__ __array_api_version__
""".split()
LINALG = """
    cholesky cross det diagonal eig eigh eigvals eigvalsh inv matmul matrix_norm matrix_power matrix_rank
    matrix_transpose outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm
""".split()
FFT = """
    fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift
""".split()
#: What programs that switch their import use besides.
SWITCH = """
    array dot allclose isclose concatenate absolute power arccos arctan2 ravel transpose cumsum ndarray dtype float16
    array_equal swapaxes copy
""".split()
RANDOM = "rand random randn randint uniform normal seed default_rng choice permutation shuffle".split()
#: The keyword-only parameters of the standard, for functions where programs are likely to rely on them.
KEYWORDS = {
    "arange": "dtype device", "asarray": "dtype device copy", "sum": "axis dtype keepdims", "std": "axis correction",
    "argsort": "axis descending stable", "unstack": "axis", "take": "axis", "astype": "copy device",
    "reshape": "copy", "cumulative_sum": "axis dtype include_initial", "diff": "axis n prepend append",
    "searchsorted": "side sorter", "linspace": "dtype device endpoint", "meshgrid": "indexing",
    "from_dlpack": "device copy", "isin": "invert", "vecdot": "axis", "tensordot": "axes",
}  # fmt: skip

MODULES = ("rustarr", "rustarr.cpu_serial", "rustarr.cpu_parallel", "rustarr.wgpu")


@pytest.mark.parametrize("module", MODULES)
def test_every_name_is_there(module):
    xp = importlib.import_module(module)
    for name in (*STANDARD, *SWITCH):
        assert hasattr(xp, name), name
    for part, names in (("linalg", (*LINALG, "norm")), ("fft", FFT), ("random", RANDOM)):
        for name in names:
            assert callable(getattr(getattr(xp, part), name)), name
    assert xp.__array_api_version__ == "2025.12"
    assert xp.newaxis is None and xp.pi == np.pi and xp.e == np.e and xp.inf == np.inf and xp.nan != xp.nan


@pytest.mark.parametrize("module", MODULES)
def test_every_function_explains_itself(module):
    xp = importlib.import_module(module)
    parts = {**vars(xp), **vars(xp.linalg), **vars(xp.fft), **vars(xp.random)}
    functions = {n: f for n, f in parts.items() if callable(f) and not n.startswith("_")}
    for name, function in functions.items():
        assert function.__doc__ and function.__doc__.strip(), name
        if isinstance(function, types.BuiltinMethodType):
            signature = inspect.signature(function)
            assert function.__name__ == name or _namespace.ALIASES.get(name) or name == "random_sample"
            assert "..." not in str(signature) and "self" not in signature.parameters, (name, signature)
    for name, keywords in KEYWORDS.items():
        parameters = inspect.signature(getattr(xp, name)).parameters
        for keyword in keywords.split():
            assert parameters[keyword].kind in (
                inspect.Parameter.KEYWORD_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
            ), (name, keyword)


def test_signatures_of_the_standard():
    xp = rustarr
    for name, want in (
        ("exp", "(x, /)"),
        ("add", "(x1, x2, /)"),
        ("arange", "(start, /, stop=None, step=1, *, dtype=None, device=None)"),
        ("expand_dims", "(x, /, axis=0)"),
        ("tensordot", "(x1, x2, /, *, axes=2)"),
        ("clip", "(x, /, min=None, max=None)"),
        ("reshape", "(x, /, shape, *, copy=None)"),
        ("concat", "(arrays, /, axis=0)"),
        ("repeat", "(x, repeats, /, axis=None)"),
    ):
        assert str(inspect.signature(getattr(xp, name))) == want, name


def test_dir_is_what_works(xp):
    for name in dir(xp):
        assert getattr(xp, name) is not NotImplemented
    assert set(xp.__all__) <= set(dir(xp)) and {"sum", "linalg", "context"} <= set(dir(xp))
    with pytest.raises(AttributeError):
        xp.no_such_name
    assert set(rustarr.__all__) <= set(dir(rustarr))


def test_a_plain_name_is_no_context_with_options():
    code = """if True:
        import rustarr
        one = rustarr.namespace("cpu-parallel", threads=1)
        plain = rustarr.namespace("cpu-parallel")
        assert plain is not one and plain.context != one.context
        assert plain is rustarr.namespace("cpu-parallel") is rustarr.namespace(plain.context)
        assert one is rustarr.namespace(one.context)
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_one_object_per_context():
    for name in ("cpu-serial", "cpu-parallel"):
        xp = rustarr.namespace(name)
        assert xp is rustarr.namespace(name) is rustarr.namespace(xp) is rustarr.namespace(xp.context)
        assert xp is getattr(rustarr, name.replace("-", "_")) is xp.context.namespace
        assert xp is importlib.import_module(xp.__name__)
        assert isinstance(xp, types.ModuleType) and xp.__name__ == "rustarr." + name.replace("-", "_")
        assert xp.ones(1).__array_namespace__() is xp
    two = rustarr.namespace("cpu-parallel", threads=2)
    assert two is rustarr.namespace("cpu-parallel", threads=2) is not rustarr.namespace("cpu-parallel")
    assert two.context.threads == 2
    own = rustarr.Context("cpu-serial")
    assert own.namespace is rustarr.namespace(own) is own.namespace is not rustarr.cpu_serial
    with own:
        assert rustarr.namespace() is own.namespace
    for bad, error in ((3, TypeError), ("nowhere", ValueError), (b"cpu-serial", TypeError)):
        with pytest.raises(error):
            rustarr.namespace(bad)
    with pytest.raises(TypeError):
        rustarr.namespace(own, threads=2)


def test_importing_is_quick_and_opens_nothing():
    code = (
        "import sys, time; t = time.perf_counter(); import rustarr; t = time.perf_counter() - t;"
        "import threading; from rustarr import cpu_parallel, wgpu; from rustarr.linalg import solve;"
        "import rustarr.cpu_serial.fft as fft; fft.fft, cpu_parallel.exp, rustarr.random.rand;"
        "print('numpy' in sys.modules, len(__import__('os').listdir('/proc/self/task')), t)"
        if sys.platform == "linux"
        else "import sys, rustarr; print('numpy' in sys.modules, 1, 0)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0, out.stderr
    numpy, threads, _ = out.stdout.split()
    assert numpy == "False" and threads == "1"


def test_the_import_switch():
    with rustarr.Context("cpu-serial"):
        code = (
            "import rustarr as np\n"
            "from rustarr import linalg\n"
            "x = np.random.rand(20, 20) + 20 * np.eye(20)\n"
            "b = np.dot(x, np.ones(20))\n"
            "assert np.allclose(np.linalg.solve(x, b), np.ones(20))\n"
            "assert linalg.norm(b).shape == () and x[:, np.newaxis].shape == (20, 1, 20)\n"
            "y = np.array([1, 2, 3], dtype=float).reshape(3, 1)\n"
            "assert np.concatenate([y, y]).sum() == 12 and np.full((2,), np.pi).dtype == np.float64\n"
            "assert isinstance(y, np.ndarray) and np.maximum(0, 3) == 3 and np.exp(0.0) == 1\n"
            "assert np.sum([1, 2, 3]) == 6 and np.where(y > 1)[0].tolist() == [1, 2]\n"
            "assert np.std(y, ddof=1) == 1 and np.sum(y, 0).shape == (1,)\n"
        )
        exec(code, {})


def test_info_tells_the_truth(xp):
    info = xp.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64
    }  # fmt: skip
    device = info.default_device()
    assert device == xp.zeros(1).device and info.devices() == (device,)
    defaults = info.default_dtypes(device=device)
    assert defaults["real floating"] == xp.zeros(1).dtype == xp.asarray(0.5).dtype
    assert defaults["integral"] == xp.asarray(1).dtype == xp.arange(3).dtype
    assert defaults["indexing"] == xp.argmax(xp.zeros(3)).dtype
    assert defaults["complex floating"] == xp.asarray(1j).dtype
    for kind in (None, "bool", "integral", "numeric", ("real floating", "complex floating")):
        found = info.dtypes(kind=kind, device=device)
        assert all(getattr(xp, name) == dtype for name, dtype in found.items()) and found
        if kind is not None:
            assert all(xp.isdtype(dtype, kind) for dtype in found.values())
    # What is no dtype of the standard is not listed, though the namespace has it.
    assert "float16" not in info.dtypes() and xp.float16.itemsize == 2
    with pytest.raises(ValueError):
        info.dtypes(kind="anything")


def test_several_results_are_tuples(xp):
    """As the standard has it from 2025.12 on."""
    x = xp.ones(2)
    for results in (xp.broadcast_arrays(x, 1), xp.meshgrid(x, x), xp.unstack(x), xp.nonzero(x)):
        assert type(results) is tuple and all(isinstance(one, rustarr.Array) for one in results)


def test_limits(cpu):
    for name in ("float16", "float32", "float64", "complex64"):
        ours, theirs = cpu.finfo(name), np.finfo(name)
        assert (ours.bits, ours.eps, ours.max, ours.min, ours.smallest_normal) == (
            theirs.bits, theirs.eps, theirs.max, theirs.min, theirs.smallest_normal,
        )  # fmt: skip
        assert ours.dtype == theirs.dtype and isinstance(ours.eps, float)
    for name in ("int8", "uint8", "int64", "uint64"):
        ours, theirs = cpu.iinfo(name), np.iinfo(name)
        assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)
    assert cpu.finfo(cpu.ones(1)).dtype == cpu.float64
    for bad in (lambda: cpu.finfo(cpu.int8), lambda: cpu.iinfo(cpu.float32), lambda: cpu.finfo("x")):
        with pytest.raises(TypeError):
            bad()


def calls(xp):
    """One call of every function that makes arrays of an array."""
    x = xp.reshape(xp.arange(1, 10, dtype=xp.float32), (3, 3)) + 9 * xp.eye(3, dtype=xp.float32)
    i = xp.asarray([0, 2], dtype=xp.int64)
    special = {
        "astype": (x, xp.float64), "broadcast_to": (x, (2, 3, 3)), "reshape": (x, (9,)), "roll": (x, 1),
        "permute_dims": (x, (1, 0)), "moveaxis": (x, 0, 1), "swapaxes": (x, 0, 1), "repeat": (x, 2),
        "tile": (x, (2, 1)), "take": (x, i, 0), "take_along_axis": (x, xp.argsort(x)), "concat": ([x, x],),
        "stack": ([x, x],), "where": (x > 3, x, 0.0), "full_like": (x, 1), "searchsorted": (x[0], x),
        "cumulative_sum": (x[0],), "cumulative_prod": (x[0],), "concatenate": ([x, x],), "cross": (x, x),
        "outer": (x[0], x[1]), "matrix_power": (x, 2), "solve": (x, x), "cholesky": (x @ x.T,),
        "meshgrid": (x[0], x[1]), "unique_all": (x,), "copysign": (x, x),
    }  # fmt: skip
    skipped = {
        "arange", "array_equal", "allclose", "asnumpy", "broadcast_shapes", "can_cast", "empty", "eye", "finfo", "full",
        "iinfo", "isdtype", "linspace", "ones", "result_type", "synchronize", "zeros", "fftfreq", "rfftfreq",
    }  # fmt: skip
    for part in (xp, xp.linalg, xp.fft):
        for name, function in vars(part).items():
            if isinstance(function, types.BuiltinMethodType) and name not in skipped:
                yield name, function, special.get(name), x


def test_every_function_stays_on_its_device(xp):
    seen = 0
    for name, function, arguments, x in calls(xp):
        if arguments is None:
            pair = re.match(r"\((x1, x2|a, b), /", str(inspect.signature(function)))
            arguments = (x, x) if pair else (x,)
        try:
            result = function(*arguments)
        except TypeError as error:
            assert "dtype" in str(error) or "float" in str(error), (name, error)
            continue
        results = result if isinstance(result, (tuple, list)) else [result]
        for one in results:
            assert isinstance(one, rustarr.Array), name
            assert one.device == x.device and one.context == xp.context, name
            seen += 1
    assert seen > 120


def test_numpy_names_mean_what_they_mean_in_numpy():
    for alias, name in _namespace.ALIASES.items():
        assert getattr(rustarr, alias).__name__ == name
        assert hasattr(np, alias), alias
    for alias, dtype in _namespace.DTYPE_ALIASES.items():
        assert np.dtype(getattr(np, alias)).name == dtype or alias in ("int_", "uint"), alias


def test_stubs_are_current():
    path = Path(__file__).resolve().parents[2] / "python-bindings" / "stubs.py"
    out = subprocess.run([sys.executable, path, "--check"], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0, out.stderr
    for stub in (path.parent / "python" / "rustarr").glob("*.pyi"):
        ast.parse(stub.read_text())


def test_seeds_of_any_length(cpu):
    draw = lambda seed: cpu.random.default_rng(seed).random(4).tolist()  # noqa: E731
    seeds = [0, 1, 2**64 - 1, 2**64, 2**64 + 1, 2**200, 2**200 + 1, 3 << 200]
    assert len({tuple(draw(seed)) for seed in seeds}) == len(seeds)
    assert draw(2**200) == draw(2**200)
    # The words of a long seed, lowest first, through SplitMix64's finalizer.
    mask, state = 2**64 - 1, 0
    for word in (5, 7):
        z = ((state ^ word) + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        state = z ^ z >> 31
    assert draw(7 << 64 | 5) == draw(state)
    cpu.random.seed(2**100)
    for call in (cpu.random.default_rng, cpu.random.seed):
        with pytest.raises(ValueError, match="negative"):
            call(-1)
        with pytest.raises(TypeError, match="seed"):
            call("a")
