"""Constants, dtypes, inspection, and what arrays can do: attributes, methods, operators."""

import operator

import numpy as np

from .arrays import from_dlpack
from .draw import ALL, BOOL, COMPLEX, FLOAT, INEXACT, INTEGER, NUMERIC, Device, DType, build
from .elementwise import KINDS, Elementwise, operands
from .linear import matmul, matrix_transpose
from .oracles import Sum
from .table import fixed, row

# ------------------------------------------------------------------------------------ constants, dtypes, inspection

for _name in ("e", "inf", "nan", "pi", "newaxis"):
    fixed(f"constants/{_name}", lambda xp, name=_name: getattr(xp, name))
for _name in ALL:
    fixed(
        f"dtypes/{_name}",
        lambda xp, name=_name: (getattr(xp, name), xp.zeros(1, dtype=getattr(xp, name)).dtype),
        lambda np, name=_name: (np.dtype(name), np.dtype(name)),
    )


@row("dtype_object/__eq__", call=lambda xp, a, b: a == b, numpy=lambda np, a, b: np.dtype(a) == np.dtype(b))
def dtype_equal(d, name):
    return [DType(n) for n in d.pair(ALL)], {}


fixed("namespace/__array_api_version__", lambda xp: xp.__array_api_version__, lambda np: "2025.12")


def info(xp):
    return xp.__array_namespace_info__()


fixed(
    "namespace/__array_namespace_info__",
    lambda xp: sorted(n for n in dir(info(xp)) if not n.startswith("_")),
    lambda np: ["capabilities", "default_device", "default_dtypes", "devices", "dtypes"],
    strict=False,
)
fixed("info/capabilities", lambda xp: info(xp).capabilities())
fixed("info/default_device", lambda xp: str(info(xp).default_device()), lambda np: "cpu", strict=False)
fixed("info/devices", lambda xp: tuple(str(dev) for dev in info(xp).devices()), lambda np: ("cpu",), strict=False)
fixed("info/default_dtypes", lambda xp: info(xp).default_dtypes(device=info(xp).default_device()))


@row("info/dtypes", call=lambda xp, **k: info(xp).dtypes(**k), numpy=lambda np, **k: {
    name: dtype for name, dtype in info(np).dtypes(**k).items() if name in ALL
})  # fmt: skip
def dtypes(d, name):
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
    return (), d.keywords(kind=lambda: d.pick([None, d.pick(kinds), tuple(d.some(kinds))]), device=Device)


# ------------------------------------------------------------------------------------ attributes


def attribute(name, call):
    row(f"array.attribute/{name}", call=call)(lambda d, name: ((d.array(d.dtype(ALL), d.shape()),), {}))


row("array.attribute/T", call=lambda xp, x: x.T)(lambda d, name: ((d.array(d.dtype(ALL), d.shape(2, 2)),), {}))
row("array.attribute/mT", call=lambda xp, x: x.mT)(matrix_transpose)
attribute("dtype", lambda xp, x: x.dtype)
attribute("ndim", lambda xp, x: x.ndim)
attribute("shape", lambda xp, x: x.shape)
attribute("size", lambda xp, x: x.size)
attribute("device", lambda xp, x: x.device == info(xp).default_device())

# ------------------------------------------------------------------------------------ operators

#: Operators, the function that each of them is, and the one for it of Python.
BINARY = {
    "add": ("add", operator.add), "and": ("bitwise_and", operator.and_), "eq": ("equal", operator.eq),
    "floordiv": ("floor_divide", operator.floordiv), "ge": ("greater_equal", operator.ge),
    "gt": ("greater", operator.gt), "le": ("less_equal", operator.le),
    "lshift": ("bitwise_left_shift", operator.lshift),
    "lt": ("less", operator.lt), "mod": ("remainder", operator.mod), "mul": ("multiply", operator.mul),
    "ne": ("not_equal", operator.ne), "or": ("bitwise_or", operator.or_), "pow": ("pow", operator.pow),
    "rshift": ("bitwise_right_shift", operator.rshift), "sub": ("subtract", operator.sub),
    "truediv": ("divide", operator.truediv), "xor": ("bitwise_xor", operator.xor),
}  # fmt: skip
UNARY = {
    "abs": ("abs", operator.abs), "invert": ("bitwise_invert", operator.invert),
    "neg": ("negative", operator.neg), "pos": ("positive", operator.pos),
}  # fmt: skip


def applied(op):
    return lambda xp, *args: op(*args)


def drawn(function):
    """Operands of a function, the left one an array."""

    def draw(d, name):
        args = operands(d, function)
        if len(args) == 2 and not hasattr(args[0], "base"):
            args.reverse()
        return args, {}

    return draw


for _short, (_function, _op) in {**BINARY, **UNARY}.items():
    row(f"array.method/__{_short}__", check=Elementwise(_function), call=applied(_op))(drawn(_function))


def reflected(function):
    """A Python scalar on the left."""

    def draw(d, name):
        x = d.array(d.dtype(KINDS[function][1]), d.shape())
        return (d.scalar(x.dtype), x), {}

    return draw


def in_place(op):
    """The array and a view of it that was there before."""

    def call(xp, x, other):
        view, handle = x[...], x
        x = op(x, other)
        if x is not handle:
            raise RuntimeError("another object")
        return x, view

    return call


def assigned(function):
    """Operands whose result fits into the first one."""

    def draw(d, name):
        shape = d.shape()
        dtype = d.dtype([n for n in KINDS[function][1] if function != "divide" or n in INEXACT])
        x = d.array(dtype, shape)
        if any(step == "broadcast" for step, _ in x.steps):
            x = d.array(dtype, shape, view=False)
        lesser = [n for n in KINDS[function][1] if np.result_type(n, dtype) == dtype]
        other = d.array(d.pick([dtype, d.pick(lesser)]), d.compatible(shape))
        return (x, other if d.chance(0.7) else d.scalar(dtype)), {}

    return draw


class Both:
    """The comparison for each of two results."""

    def __init__(self, check):
        self.check = check

    def __call__(self, case, got, want, spare, oracle):
        for i in range(2):
            self.check(case, got[i], want[i], spare, lambda np, *args: oracle(np, *args)[i])


for _short, (_function, _op) in BINARY.items():
    if _short not in ("eq", "ne", "lt", "le", "gt", "ge"):
        _check = Elementwise(_function)
        row(f"array.reflected/__r{_short}__", check=_check, call=applied(_op))(reflected(_function))
        row(
            f"array.inplace/__i{_short}__",
            check=Both(_check),
            call=in_place(getattr(operator, f"i{_short}")),
        )(assigned(_function))

row("array.method/__matmul__", check=Sum(), call=applied(operator.matmul))(matmul)


def from_right(method):
    """The reflected method itself, which Python asks only where the left side has no answer."""
    return lambda xp, a, b: getattr(b, method)(a)


row("array.reflected/__rmatmul__", check=Sum(), call=from_right("__rmatmul__"), numpy=applied(operator.matmul))(matmul)


@row("array.inplace/__imatmul__", check=Both(Sum()), call=in_place(operator.imatmul))
def imatmul(d, name):
    dtype, n = d.dtype(NUMERIC), d.integer(1, 5)
    shape = (*d.shape(most=2, long=0), d.integer(1, 5), n)
    x = d.view_of(d.values(dtype, shape, scale=4), view=False)
    return (x, d.array(dtype, (n, n), scale=4)), {}


# ------------------------------------------------------------------------------------ conversions and exchange


def zero_dim(names, special=True):
    return lambda d, name: ((d.array(d.dtype(names), (), special),), {})


row("array.method/__bool__", call=lambda xp, x: bool(x))(zero_dim(ALL))
row("array.method/__int__", call=lambda xp, x: int(x))(zero_dim(BOOL + INTEGER + FLOAT))
row("array.method/__index__", call=lambda xp, x: operator.index(x))(zero_dim(INTEGER))
row("array.method/__float__", call=lambda xp, x: float(x))(zero_dim(BOOL + INTEGER + FLOAT))
row("array.method/__complex__", call=lambda xp, x: complex(x))(zero_dim(BOOL + INTEGER + FLOAT + COMPLEX))


@row(
    "array.method/__array_namespace__",
    call=lambda xp, x, **k: x.__array_namespace__(**k) is xp,
    numpy=lambda np, x, **k: True,
    strict=False,
)
def array_namespace(d, name):
    versions = ["2021.12", "2022.12", "2023.12", "2024.12", "2025.12", None]
    return (d.array("float64", (2,)),), d.keywords(api_version=lambda: d.pick(versions))


@row("array.method/to_device", call=lambda xp, x, device: x.to_device(device))
def to_device(d, name):
    return (d.array(d.dtype(ALL), d.shape()), Device()), {}


def exported(d, name):
    return from_dlpack(d, name)[0], {}


row("array.method/__dlpack__", call=lambda xp, x: np.from_dlpack(x))(exported)
row("array.method/__dlpack_device__", call=lambda xp, x: tuple(int(v) for v in x.__dlpack_device__()))(exported)

# ------------------------------------------------------------------------------------ indexing


def basic_key(d, shape):
    """Integers, slices, None and an Ellipsis."""
    key = []
    named = d.integer(0, len(shape)) if d.chance(0.3) else len(shape)
    for n in shape[:named]:
        if d.chance(0.35) and n:
            key.append(d.integer(-n, n - 1))
        else:
            ends = [None if d.chance(0.4) else d.integer(-n - 2, n + 2) for _ in range(2)]
            key.append(slice(*ends, d.pick([None, 1, 2, -1, -2])))
        if d.chance(0.1):
            key.append(None)
    if named < len(shape) or d.chance(0.1):
        key.append(...)
    return tuple(key)


def array_key(d, shape):
    """Integer arrays and integers for the first axes, with equal or broadcast shapes."""
    count = d.integer(1, len(shape))
    common = d.shape(most=2, empty=0.1, long=0.05)
    key = []
    for n in shape[:count]:
        if d.chance(0.2):
            key.append(d.integer(-n, n - 1))
        else:
            values = d.rng.integers(-n, n, d.compatible(common))
            key.append(d.view_of(values.astype(d.pick(["int64", "int64", "int32", "uint8"]))))
            if key[-1].dtype == "uint8":
                key[-1] = d.view_of((values % n).astype("uint8"))
    return tuple(key)


def any_key(d, shape):
    """A key for an array of a shape."""
    luck = d.rng.random()
    if luck < 0.2:
        # A mask of the whole array, or of its first axes.
        return d.array("bool", shape if d.chance(0.7) or not shape else shape[: d.integer(1, len(shape))])
    if luck < 0.45 and shape and 0 not in shape:
        return array_key(d, shape)
    key = basic_key(d, shape)
    return key[0] if len(key) == 1 and d.chance(0.5) else key


@row("array.method/__getitem__", call=lambda xp, x, key: x[key])
def getitem(d, name):
    x = d.array(d.dtype(ALL), d.shape())
    return (x, any_key(d, x.shape)), {}


def put(xp, x, key, value):
    x[key] = value
    return x


@row("array.method/__setitem__", call=put)
def setitem(d, name):
    dtype = d.dtype(ALL)
    shape = d.shape()
    x = d.array(dtype, shape)
    if any(step == "broadcast" for step, _ in x.steps):
        x = d.array(dtype, shape, view=False)
    key = any_key(d, shape)
    if d.chance(0.4):
        return (x, key, d.scalar(dtype) if dtype != "bool" else d.chance(0.5)), {}
    target = np.zeros(shape)[build(key, np)].shape
    distinct = np.zeros(shape, int)
    np.add.at(distinct, build(key, np), 1)
    if np.max(distinct, initial=0) > 1:
        # Which of several values stays is open.
        return (x, key, d.array(dtype, ())), {}
    return (x, key, d.array(dtype, d.compatible(target))), {}
