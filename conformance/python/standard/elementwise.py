"""Elementwise functions."""

import numpy as np

from .draw import ALL, BOOL, FLOAT, INEXACT, INTEGER, NUMERIC, REAL
from .oracles import Exact, Ulps
from .table import row

#: The dtypes of every function, its number of operands and its greatest error.
KINDS = {
    "abs": (1, NUMERIC, 0), "acos": (1, INEXACT, 1), "acosh": (1, INEXACT, 1), "add": (2, NUMERIC, 0),
    "asin": (1, INEXACT, 1), "asinh": (1, INEXACT, 1), "atan": (1, INEXACT, 1), "atan2": (2, FLOAT, 1),
    "atanh": (1, INEXACT, 1), "bitwise_and": (2, BOOL + INTEGER, 0), "bitwise_left_shift": (2, INTEGER, 0),
    "bitwise_invert": (1, BOOL + INTEGER, 0), "bitwise_or": (2, BOOL + INTEGER, 0),
    "bitwise_right_shift": (2, INTEGER, 0), "bitwise_xor": (2, BOOL + INTEGER, 0), "ceil": (1, REAL, 0),
    "conj": (1, NUMERIC, 0), "copysign": (2, FLOAT, 0), "cos": (1, INEXACT, 1), "cosh": (1, INEXACT, 1),
    "divide": (2, NUMERIC, 0), "equal": (2, ALL, 0), "exp": (1, INEXACT, 1), "expm1": (1, INEXACT, 1),
    "floor": (1, REAL, 0), "floor_divide": (2, REAL, 0), "greater": (2, REAL, 0), "greater_equal": (2, REAL, 0),
    "hypot": (2, FLOAT, 1), "imag": (1, NUMERIC, 0), "isfinite": (1, NUMERIC, 0), "isinf": (1, NUMERIC, 0),
    "isnan": (1, NUMERIC, 0), "less": (2, REAL, 0), "less_equal": (2, REAL, 0), "log": (1, INEXACT, 1),
    "log1p": (1, INEXACT, 1), "log2": (1, INEXACT, 1), "log10": (1, INEXACT, 1), "logaddexp": (2, FLOAT, 1),
    "logical_and": (2, ALL, 0), "logical_not": (1, ALL, 0), "logical_or": (2, ALL, 0), "logical_xor": (2, ALL, 0),
    "maximum": (2, REAL, 0), "minimum": (2, REAL, 0), "multiply": (2, NUMERIC, 0), "negative": (1, NUMERIC, 0),
    "nextafter": (2, FLOAT, 0), "not_equal": (2, ALL, 0), "positive": (1, NUMERIC, 0), "pow": (2, NUMERIC, 2),
    "real": (1, NUMERIC, 0), "reciprocal": (1, INEXACT, 0), "remainder": (2, REAL, 0), "round": (1, NUMERIC, 0),
    "sign": (1, NUMERIC, 0), "signbit": (1, FLOAT, 0), "sin": (1, INEXACT, 1), "sinh": (1, INEXACT, 1),
    "square": (1, NUMERIC, 0), "sqrt": (1, INEXACT, 0), "subtract": (2, NUMERIC, 0), "tan": (1, INEXACT, 1),
    "tanh": (1, INEXACT, 1), "trunc": (1, REAL, 0),
}  # fmt: skip
#: Functions of complex numbers whose results are exact, part by part.
PARTWISE = (
    "add conj equal imag isfinite isinf isnan logical_and logical_not logical_or logical_xor negative not_equal"
    " positive real round subtract"
).split()


def dtypes(d, name):
    """The standard's dtypes, and now and then one that NumPy takes too."""
    _, kinds, _ = KINDS[name]
    if "float32" in kinds and d.chance(0.05):
        return (*kinds, "float16")
    if kinds in (FLOAT, INEXACT) and name != "reciprocal" and d.chance(0.1):
        return (*kinds, *INTEGER)
    return kinds


def operands(d, name):
    """One or two operands; one of two may be a Python scalar."""
    arity, _, _ = KINDS[name]
    args = d.arrays(arity, dtypes(d, name))
    if arity == 2 and d.chance(0.25):
        which = d.integer(0, 1)
        args[which] = d.scalar(args[1 - which].dtype)
    return args


class Elementwise:
    """Exact where the operation is, else within its error of a more precise reference."""

    def __init__(self, name):
        self.name, self.ulps = name, KINDS[name][2]

    def __call__(self, case, got, want, spare, oracle):
        complex_ = any(d.kind == "c" for d in case.dtypes)
        if self.name in ("floor_divide", "remainder"):
            # Rounded correctly; NumPy's own quotients are not.
            check = Ulps(0.5)
        elif self.ulps == 0 and (not complex_ or self.name in PARTWISE):
            # Which of two zeros is the larger one is open.
            check = Exact(zeros=self.name not in ("maximum", "minimum"))
        elif self.name in ("divide", "pow"):
            # Zeros have the sign that the formula happens to give; powers are products.
            check = Ulps(max(self.ulps, 1), complex=64, zeros=False)
        elif self.name == "logaddexp":
            # Where the terms cancel, a small result is as good as they are.
            check = Ulps(1, absolute=(("float32", 2**-37), ("float64", 2**-56)))
        else:
            check = Ulps(max(self.ulps, 1))
        check(case, got, want, spare, oracle)


for _name in KINDS:
    row(f"elementwise/{_name}", check=Elementwise(_name))(lambda d, name: (operands(d, name.split("/")[1]), {}))


@row("elementwise/clip", check=Exact(zeros=False))
def clip(d, name):
    dtype = d.dtype(REAL)
    shapes = d.shapes(3)
    x, low, high = (d.array(dtype, shape) for shape in shapes)
    whole = np.broadcast_shapes(*shapes)
    if x.shape != whole:
        x = d.array(dtype, whole)
    bounds = [d.pick([None, d.scalar(dtype, special=False), bound, bound]) for bound in (low, high)]
    if d.chance(0.3):
        return (x,), {k: v for k, v in zip(("min", "max"), bounds, strict=True) if v is not None}
    return (x, *bounds), {}
