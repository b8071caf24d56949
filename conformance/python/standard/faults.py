"""Where the oracles are wrong or another choice than theirs was made, each with its reason."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Fault:
    """A known fault of an oracle."""

    #: "numpy", "strict" or "both": array-api-strict computes with NumPy, but not always as NumPy does.
    oracle: str
    #: The functions, by chapter and name.
    functions: tuple[str, ...]
    #: The arguments that show it: from a case to a truth value, or to one for each element of the result.
    where: Callable
    reason: str


FAULTS: list[Fault] = []


def spared(oracle, case):
    """A function from a result to the elements that the oracle is not asked about."""
    rows = [f for f in FAULTS if f.oracle in (oracle, "both") and case.name in f.functions]

    def spare(result):
        bad = np.zeros(np.shape(result), bool)
        for fault in rows:
            found = np.asarray(fault.where(case))
            if found.ndim == 0 or found.shape == bad.shape:
                bad = bad | found
        return bad

    return spare


def fault(oracle, functions, reason):
    """Adds the decorated condition to the table."""

    def add(where):
        FAULTS.append(Fault(oracle, tuple(functions.split()), where, reason))
        return where

    return add


def values(case, count=2):
    """The operands and scalars of an elementwise call, broadcast to its result."""
    return np.broadcast_arrays(*(a.value if hasattr(a, "value") else np.asarray(a) for a in case.args[:count]))


def is_complex(case):
    return any(v.dtype.kind == "c" for v in values(case))


QUOTIENTS = "elementwise/divide array.method/__truediv__ array.reflected/__rtruediv__ array.inplace/__itruediv__"
LOGIC = "elementwise/logical_and elementwise/logical_or elementwise/logical_xor"
PRODUCTS = (
    "elementwise/multiply elementwise/square array.method/__mul__ array.reflected/__rmul__ array.inplace/__imul__"
)
POWERS = "elementwise/pow array.method/__pow__ array.reflected/__rpow__ array.inplace/__ipow__"


@fault("both", QUOTIENTS, "Infinite operands of a complex quotient give NaN; C's Annex G, which we follow, keeps them.")
def infinite_quotient(case):
    return is_complex(case) & np.any([np.isinf(v) for v in values(case)], axis=0)


@fault("both", POWERS, "The angle of a complex power loses all its digits in long double too.")
def lost_angle(case):
    if not is_complex(case):
        return False
    z, w = (v.astype(np.complex128) for v in values(case))
    with np.errstate(all="ignore"):
        turn = np.abs(w * np.log(z))
    return (z != 0) & ~(turn < 500)


@fault("both", POWERS, "Infinities and NaN in complex powers come out as the C library's formula has them.")
def infinite_power(case):
    return is_complex(case) & np.any([~np.isfinite(v) for v in values(case)], axis=0)


@fault("both", PRODUCTS, "The plain formula of complex products overflows in another place in a wider dtype.")
def overflowing_product(case):
    operands = values(case)
    if not is_complex(case):
        return False
    with np.errstate(all="ignore"):
        size = np.prod([np.abs(v.astype(np.clongdouble)) for v in (*operands, *operands)[:2]], axis=0)
    limit = np.finfo(np.result_type(*case.dtypes)).max
    return ~(size < limit / 4)


@fault("both", "elementwise/log1p", "The complex log1p is log(1 + z), which cancels for small z.")
def small_log1p(case):
    z = case.args[0].value
    return (z.dtype.kind == "c") & (np.abs(z) < 0.01)


@fault(
    "both", "elementwise/expm1", "Complex expm1 is NaN beside infinities, and on the real axis where e^x is not finite."
)
def extreme_expm1(case):
    z = case.args[0].value
    return (z.dtype.kind == "c") & ((z.imag == 0) & ~(z.real < 80) | np.isinf(z.real))


@fault("both", "elementwise/expm1", "Complex expm1 of -0 is -0, where the standard has 0 for both zeros.")
def negative_zero(case):
    z = case.args[0].value
    return (z.dtype.kind == "c") & (z == 0)


@fault(
    "both", "elementwise/tanh elementwise/tan", "A zero at infinity has the sign of sin 2y, not the standard's of y."
)
def sign_of_the_turn(case):
    z = case.args[0].value
    return (z.dtype.kind == "c") & np.isinf(z.real if case.name.endswith("tanh") else z.imag)


@fault("both", "elementwise/reciprocal", "Complex reciprocals of 0 and infinity are NaN, other than quotients by them.")
def extreme_reciprocal(case):
    z = case.args[0].value
    return (z.dtype.kind == "c") & ((z == 0) | np.isinf(z))


@fault("strict", "data_type/astype", "What C leaves undefined, floats out of an integer's range, saturates here.")
def out_of_range(case):
    x, dtype = case.args[0].value, np.dtype(case.args[1].name)
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return ~((x > float(limits.min) - 1) & (x < float(limits.max)))


@fault("strict", "data_type/can_cast", "array-api-strict says no where the standard leaves promotion undefined.")
def undefined_promotion(case):
    kinds = [np.dtype(getattr(a, "name", None) or a.dtype).kind.translate({117: "i", 99: "f"}) for a in case.args]
    return kinds[0] != kinds[1]


@fault("strict", "set/isin", "array-api-strict 2.6.1 ignores invert=.")
def inverted(case):
    return case.kwargs.get("invert", False)


@fault("strict", "statistical/var statistical/std", "Nothing left to divide by gives infinities; NaN is our choice.")
def nothing_left(case):
    x, axis = case.args[0], case.kwargs.get("axis")
    n = x.value.size if axis is None else np.prod([x.shape[a] for a in np.atleast_1d(axis)], initial=1)
    return n <= case.kwargs.get("correction", 0)


@fault("strict", "sorting/sort sorting/argsort", "Descending is ascending turned round: NaN first, zeros reversed.")
def turned_round(case):
    x = case.args[0].value
    return case.kwargs.get("descending", False) and x.dtype.kind == "f" and bool(np.any(np.isnan(x) | (x == 0)))


@fault("both", LOGIC, "NumPy has no logic for Python integers beyond int64.")
def huge_scalar(case):
    return any(isinstance(a, int) and a > 2**63 - 1 for a in case.args)
