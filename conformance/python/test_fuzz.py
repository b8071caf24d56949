"""Odd arguments everywhere: any exception is fine but one that says that rustarr itself failed."""

import math
import os
import random
import types

import numpy as np
import pytest
import rustarr
from conftest import open_namespace

# How many times as long as usual to go on.
TIMES = int(os.environ.get("RUSTARR_FUZZ", "1"))


def odd_values(xp, rng):
    """A value that some function will not like."""
    dtype = getattr(xp, rng.choice(["bool", "int8", "int64", "uint64", "float16", "float32", "float64", "complex64"]))
    shape = rng.choice([(), (0,), (1,), (3,), (2, 3), (3, 3), (0, 3), (1, 0, 2), (2, 2, 2)])

    def array():
        x = xp.asarray(np.ones(shape), dtype=dtype)
        return x[::-1] if x.ndim and rng.random() < 0.3 else x

    return rng.choice(
        [
            array, array, array, array,
            lambda: rng.choice([0, 1, -1, 2, 7, -(2**31), 2**63 - 1, 2**64, -(2**63), 10**30]),
            lambda: rng.choice([0.0, -0.0, 1.5, math.nan, math.inf, -math.inf, 1e308, 5e-324]),
            lambda: rng.choice([True, False, None, 1j, complex(math.nan, math.inf), ..., slice(None)]),
            lambda: rng.choice(["", "sum", "float32", "numeric", "fro", "ij", b"x", object()]),
            lambda: rng.choice([(), [], (0,), (-1, 2), [1, 0], (2**40, 2**40), [[1], [2, 3]], (0, 0), {}, "ab"]),
            lambda: rng.choice([np.ones(2), np.float32(1), np.zeros((0, 2)), np.array("x"), dtype, xp.float32]),
        ]
    )()  # fmt: skip


#: What may be raised for nonsense.
ALLOWED = (
    TypeError, ValueError, IndexError, OverflowError, MemoryError, BufferError, AttributeError, NotImplementedError,
)  # fmt: skip


def targets(xp):
    """Every function of a namespace and every method and operator of its arrays."""
    for part in (xp, xp.linalg, xp.fft, xp.random):
        for name, function in sorted(vars(part).items()):
            if isinstance(function, types.BuiltinMethodType) and name not in ("synchronize", "seed"):
                yield name, function
    for name in sorted(dir(rustarr.Array)):
        method = getattr(rustarr.Array, name)
        if callable(method) and name not in (
            "__class__", "__new__", "__init__", "__init_subclass__", "__subclasshook__", "__getattribute__",
            "__setattr__", "__delattr__", "__reduce_ex__", "__release_buffer__", "__buffer__", "__dir__",
        ):  # fmt: skip
            yield f"Array.{name}", method


@pytest.fixture(params=["cpu-serial", "cpu-parallel", "wgpu"])
def bounded(request):
    """A namespace whose context has little memory, so that huge results are refused."""
    open_namespace(request.param)  # skips where there is no GPU on purpose
    return rustarr.Context(request.param, memory_limit=1 << 24).namespace


@pytest.mark.parametrize("seed", range(6 * TIMES))
def test_no_panic_escapes(bounded, seed):
    xp, rng = bounded, random.Random(seed)
    for name, function in targets(xp):
        for _ in range(4):
            arguments = [odd_values(xp, rng) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
            if name.startswith("Array."):
                arguments.insert(0, xp.asarray([[1.0, 2.0], [3.0, 4.0]], dtype=xp.float32))
            keywords = {}
            if rng.random() < 0.4:
                word = rng.choice(["axis", "dtype", "keepdims", "copy", "device", "n", "axes", "ord", "size", "k"])
                keywords[word] = odd_values(xp, rng)
            shown = f"{name}(*{arguments!r}, **{keywords!r})"
            try:
                with np.errstate(all="ignore"):
                    result = function(*arguments, **keywords)
                for one in result if isinstance(result, (tuple, list)) else [result]:
                    if isinstance(one, rustarr.Array) and one.size < 10_000:
                        one.tolist()
            except (rustarr.PanicError, rustarr.BackendError) as error:
                raise AssertionError(shown) from error
            except ALLOWED:
                pass
            except Exception as error:
                raise AssertionError(shown) from error


@pytest.mark.parametrize("seed", range(4 * TIMES))
def test_no_panic_escapes_from_keys(xp, seed):
    rng = random.Random(seed)
    for _ in range(300):
        x = xp.zeros(rng.choice([(), (0,), (3,), (2, 3), (2, 0, 3)]), dtype=xp.float32)
        entries = [
            lambda: rng.randint(-5, 5),
            lambda: slice(*(rng.choice([None, rng.randint(-9, 9), 2**70, -(2**70)]) for _ in range(3))),
            lambda: rng.choice([None, ..., True, False, np.bool(True), np.int8(1)]),
            lambda: odd_values(xp, rng),
            lambda: [rng.randint(-3, 3) for _ in range(rng.randint(0, 3))],
        ]
        key = tuple(rng.choice(entries)() for _ in range(rng.randint(0, 4)))
        key = key[0] if len(key) == 1 and rng.random() < 0.5 else key
        for use in (lambda: x[key].tolist(), lambda: x.__setitem__(key, odd_values(xp, rng)), x.tolist):
            try:
                use()
            except (rustarr.PanicError, rustarr.BackendError) as error:
                raise AssertionError(repr(key)) from error
            except ALLOWED:
                pass
