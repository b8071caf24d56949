"""Functions that make, rearrange, search, sort and summarise arrays."""

import numpy as np

from .draw import ALL, BOOL, COMPLEX, FLOAT, INEXACT, INTEGER, NUMERIC, REAL, Device, DType, Operand
from .oracles import Difference, Exact, Norm, Shape, Sum, alike, same
from .table import row

# ------------------------------------------------------------------------------------ creation


def made(d, names=ALL):
    """The keywords of creation functions."""
    return d.keywords(dtype=lambda: DType(d.dtype(names)), device=Device)


@row("creation/zeros creation/ones")
def zeros(d, name):
    shape = d.shape()
    return (shape[0] if len(shape) == 1 and d.chance(0.5) else shape,), made(d)


@row("creation/empty", check=Shape())
def empty(d, name):
    return (d.shape(),), made(d)


@row("creation/zeros_like creation/ones_like")
def zeros_like(d, name):
    return (d.array(d.dtype(ALL), d.shape()),), made(d)


@row("creation/empty_like", check=Shape())
def empty_like(d, name):
    return zeros_like(d, name)


def fill(d, dtype):
    """A fill value that a dtype can hold."""
    value = d.scalar(dtype)
    return bool(value) if dtype == "bool" else value


@row("creation/full")
def full(d, name):
    if d.chance(0.3):
        return (d.shape(), d.pick([True, 3, 2.5, 1 - 2j])), {}
    dtype = d.dtype(ALL)
    return (d.shape(), fill(d, dtype)), {"dtype": DType(dtype)}


@row("creation/full_like")
def full_like(d, name):
    dtype = d.dtype(ALL)
    x = d.array(d.dtype(ALL), d.shape())
    if d.chance(0.5):
        return (x, fill(d, dtype)), {"dtype": DType(dtype)}
    return (x, fill(d, x.dtype.name)), {}


@row("creation/eye")
def eye(d, name):
    args = (d.integer(0, 6),) if d.chance(0.5) else (d.integer(0, 6), d.integer(0, 6))
    return args, {**made(d, BOOL + NUMERIC), **d.keywords(k=lambda: d.integer(-7, 7))}


@row("creation/arange")
def arange(d, name):
    if d.chance(0.5):
        start, stop, step = d.integer(-20, 20), d.integer(-20, 20), d.pick([1, 2, 3, -1, -2, 7])
        names = ("int8", "int32", "int64", "uint8", "float32", "float64")
        if min(start, stop) < 0 or step < 0:
            names = ("int8", "int32", "int64", "float32", "float64")
    else:
        # Numbers that binary fractions hold, so that every way to compute them is exact.
        start, stop, step = (d.integer(-40, 40) / 8 for _ in range(3))
        step, names = step or 0.25, FLOAT
    args = ((stop,), (start, stop), (start, stop, step))[d.integer(0, 2)]
    return args, made(d, names)


@row("creation/linspace", check=Norm(1))
def linspace(d, name):
    start, stop = d.values("float64", (2,), special=False).tolist()
    args = (start, d.pick([stop, stop, start]), d.pick([0, 1, 2, 3, 7, 50]))
    return args, {**made(d, INEXACT), **d.keywords(endpoint=lambda: d.chance(0.5))}


@row("creation/meshgrid", numpy=lambda np, *x, **k: tuple(np.meshgrid(*x, **k)))
def meshgrid(d, name):
    dtype = d.dtype(ALL)
    arrays = [d.array(dtype, (d.integer(0, 4),)) for _ in range(d.integer(1, 4))]
    return arrays, d.keywords(indexing=lambda: d.pick(["xy", "ij"]))


@row("creation/tril creation/triu")
def tril(d, name):
    x = d.array(d.dtype(ALL), d.shape(least=2))
    return (x,), d.keywords(k=lambda: d.integer(-5, 5))


def nested(d, values):
    """A nested list or tuple of Python scalars."""
    return values.tolist() if d.chance(0.7) or not values.ndim else tuple(values.tolist())


@row("creation/asarray")
def asarray(d, name):
    if d.chance(0.6):
        kind = d.pick(["bool", "int64", "float64", "complex128"])
        values = d.values(kind, d.shape(long=0), special=kind != "int64")
        dtypes = {"bool": ALL, "int64": REAL[2:4] + INEXACT, "float64": INEXACT, "complex128": COMPLEX}
        return (nested(d, values),), d.keywords(dtype=lambda: DType(d.dtype(dtypes[kind])), device=Device)
    dtype = d.dtype(ALL)
    return (d.array(dtype, d.shape()),), d.pick([{}, {"dtype": DType(dtype)}, {"copy": True}, {"copy": False}])


@row("creation/from_dlpack")
def from_dlpack(d, name):
    values = d.values(d.dtype(ALL), d.shape())
    x = d.view_of(values)
    # NumPy exports memory that may be written only.
    x = Operand(values) if any(step == "broadcast" for step, _ in x.steps) else x
    return (x,), d.keywords(copy=lambda: d.pick([None, True, False]))


# ------------------------------------------------------------------------------------ dtypes


def cast(np, x, dtype, copy=True):
    """A conversion by the project's rules: floats saturate, NaN is 0."""
    dtype = np.dtype(dtype)
    if x.dtype.kind == "f" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        whole = np.trunc(np.nan_to_num(x.astype(np.longdouble), nan=0, posinf=np.inf, neginf=-np.inf))
        low, high = whole <= limits.min, whole >= limits.max
        inside = np.where(low | high, 0, whole).astype(dtype)
        return np.where(low, limits.min, np.where(high, limits.max, inside)).astype(dtype)
    return x.astype(dtype)


@row("data_type/astype", numpy=cast)
def astype(d, name):
    source, target = d.dtype(ALL), d.dtype(ALL)
    if source in COMPLEX and target not in COMPLEX:
        target = d.dtype(COMPLEX)
    return (d.array(source, d.shape()), DType(target)), d.keywords(copy=lambda: d.chance(0.5))


@row("data_type/can_cast", numpy=lambda np, a, b: bool(np.can_cast(a.dtype if isinstance(a, np.ndarray) else a, b)))
def can_cast(d, name):
    source, target = d.pair(ALL)
    return (d.pick([DType(source), d.array(source, (2,))]), DType(target)), {}


@row("data_type/result_type", numpy=lambda np, *args: np.dtype(np.result_type(*args)))
def result_type(d, name):
    names = d.pair(ALL)
    args = [DType(n) if d.chance(0.5) else d.array(n, d.shape(most=2, long=0)) for n in names]
    if d.chance(0.4):
        args.append(d.scalar(d.pick(names), special=False))
    return args, {}


def limits(kind):
    """`finfo` and `iinfo` as tuples."""
    if kind == "f":
        return lambda xp, t: tuple(
            float(v) for f in (xp.finfo(t),) for v in (f.bits, f.eps, f.max, f.min, f.smallest_normal)
        )
    return lambda xp, t: tuple(int(v) for i in (xp.iinfo(t),) for v in (i.bits, i.max, i.min))


@row("data_type/finfo", call=limits("f"))
def finfo(d, name):
    return (DType(d.dtype(INEXACT)),), {}


@row("data_type/iinfo", call=limits("i"))
def iinfo(d, name):
    return (DType(d.dtype(INTEGER)),), {}


@row("data_type/isdtype")
def isdtype(d, name):
    kinds = ["bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric"]
    kinds += [DType(n) for n in ALL]
    kind = d.pick(kinds) if d.chance(0.7) else tuple(d.some(kinds, 1))
    return (DType(d.dtype(ALL)), kind), {}


# ------------------------------------------------------------------------------------ manipulation


@row("manipulation/broadcast_arrays", numpy=lambda np, *x: tuple(np.broadcast_arrays(*x)))
def broadcast_arrays(d, name):
    return [d.array(d.dtype(ALL), shape) for shape in d.shapes(d.integer(1, 3))], {}


@row("manipulation/broadcast_shapes")
def broadcast_shapes(d, name):
    return d.shapes(d.integer(1, 4)), {}


@row("manipulation/broadcast_to")
def broadcast_to(d, name):
    shape = d.shape()
    return (d.array(d.dtype(ALL), d.compatible(shape)), shape), {}


def joined(d, names=ALL):
    """A shape, an axis of it, and a dtype or two."""
    return d.shape(least=1), d.pair(names)


@row("manipulation/concat")
def concat(d, name):
    shape, (one, two) = joined(d)
    axis = d.axis(len(shape))
    arrays = []
    for i in range(d.integer(1, 4)):
        own = list(shape)
        own[axis] = d.integer(0, 3) if i else own[axis]
        arrays.append(d.array(two if i else one, tuple(own)))
    if d.chance(0.15):
        return (arrays,), {"axis": None}
    return (d.pick([arrays, tuple(arrays)]),), {"axis": axis} if axis or d.chance(0.5) else {}


@row("manipulation/stack")
def stack(d, name):
    shape, (one, two) = joined(d)
    arrays = [d.array(two if i else one, shape) for i in range(d.integer(1, 3))]
    return (arrays,), d.keywords(axis=lambda: d.axis(len(shape) + 1))


@row("manipulation/expand_dims")
def expand_dims(d, name):
    x = d.array(d.dtype(ALL), d.shape(most=3))
    if d.chance(0.6):
        return (x,), {"axis": d.axis(x.ndim + 1)}
    extra = d.integer(0, 3)
    return (x,), {"axis": d.axes_like(x.ndim + extra, extra)}


@row("manipulation/flip")
def flip(d, name):
    x = d.array(d.dtype(ALL), d.shape())
    return (x,), d.keywords(axis=lambda: d.reduced(x.ndim))


@row("manipulation/moveaxis")
def moveaxis(d, name):
    x = d.array(d.dtype(ALL), d.shape(least=1))
    if d.chance(0.5):
        return (x, d.axis(x.ndim), d.axis(x.ndim)), {}
    source = d.axes(x.ndim, 1)
    return (x, source, d.axes_like(x.ndim, len(source))), {}


@row("manipulation/permute_dims")
def permute_dims(d, name):
    x = d.array(d.dtype(ALL), d.shape())
    return (x, d.axes_like(x.ndim, x.ndim)), {}


@row("manipulation/repeat")
def repeat(d, name):
    x = d.array(d.dtype(ALL), d.shape())
    axis = d.axis(x.ndim) if x.ndim and d.chance(0.7) else None
    n = x.value.size if axis is None else x.shape[axis]
    if d.chance(0.5):
        repeats = d.integer(0, 3)
    else:
        values = d.rng.integers(0, 4, n if d.chance(0.8) else 1).astype(d.dtype(INTEGER[:3]))
        repeats = d.view_of(values)
    return (x, repeats), {"axis": axis} if axis is not None or d.chance(0.5) else {}


@row("manipulation/reshape")
def reshape(d, name):
    x = d.array(d.dtype(ALL), d.shape())
    sizes = [n for n in x.shape if n != 1]
    d.rng.shuffle(sizes)
    if len(sizes) > 1 and d.chance(0.5):
        sizes = [sizes[0] * sizes[1], *sizes[2:]]
    for _ in range(d.integer(0, 2)):
        sizes.insert(d.integer(0, len(sizes)), 1)
    if sizes and 0 not in sizes and d.chance(0.4):
        sizes[d.integer(0, len(sizes) - 1)] = -1
    return (x, tuple(int(n) for n in sizes)), d.keywords(copy=lambda: d.pick([None, True]))


@row("manipulation/roll")
def roll(d, name):
    x = d.array(d.dtype(ALL), d.shape())
    if not x.ndim or d.chance(0.3):
        return (x, d.integer(-9, 9)), {}
    if d.chance(0.5):
        return (x, d.integer(-9, 9)), {"axis": d.axis(x.ndim)}
    axes = d.axes(x.ndim, 1)
    return (x, tuple(d.integer(-9, 9) for _ in axes)), {"axis": axes}


@row("manipulation/squeeze")
def squeeze(d, name):
    x = d.array(d.dtype(ALL), d.shape())
    ones = [a for a, n in enumerate(x.shape) if n == 1]
    if len(ones) == 1 and d.chance(0.5):
        return (x,), {"axis": ones[0]}
    return (x,), {"axis": tuple(a - x.ndim if d.chance(0.4) else a for a in d.some(ones))}


@row("manipulation/tile")
def tile(d, name):
    x = d.array(d.dtype(ALL), d.shape(most=3))
    return (x, tuple(d.integer(0, 3) for _ in range(d.integer(0, 4)))), {}


@row("manipulation/unstack", numpy=lambda np, x, axis=0: tuple(np.moveaxis(x, axis, 0)))
def unstack(d, name):
    x = d.array(d.dtype(ALL), d.shape(least=1, long=0))
    return (x,), d.keywords(axis=lambda: d.axis(x.ndim))


# ------------------------------------------------------------------------------------ indexing, searching, sets


@row("indexing/take")
def take(d, name):
    x = d.array(d.dtype(ALL), d.shape(least=1))
    axis = d.axis(x.ndim)
    n = x.shape[axis]
    count = d.pick([0, 1, 3, 70]) if n else 0
    dtype = d.dtype(INTEGER[:4] if n < 128 else INTEGER[1:4])
    indices = d.view_of(d.rng.integers(-n, max(n, 1), count).astype(dtype))
    return (x, indices), {} if x.ndim == 1 and d.chance(0.5) else {"axis": axis}


@row("indexing/take_along_axis")
def take_along_axis(d, name):
    x = d.array(d.dtype(ALL), d.shape(least=1))
    axis = d.axis(x.ndim)
    n, shape = x.shape[axis], list(x.shape)
    shape[axis] = d.integer(0, 5) if n else 0
    indices = d.view_of(d.rng.integers(-n, max(n, 1), tuple(shape)).astype("int64"))
    return (x, indices), {} if axis in (-1, x.ndim - 1) and d.chance(0.5) else {"axis": axis}


@row("searching/argmax searching/argmin")
def argmax(d, name):
    x = d.array(d.dtype(REAL), d.shape())
    axis = d.axis(x.ndim) if x.ndim and d.chance(0.7) else None
    return (x,), {"axis": axis, **d.keywords(keepdims=lambda: d.chance(0.5))}


@row("searching/count_nonzero")
def count_nonzero(d, name):
    x = d.array(d.dtype(ALL), d.shape())
    return (x,), d.keywords(axis=lambda: d.reduced(x.ndim), keepdims=lambda: d.chance(0.5))


@row("searching/nonzero")
def nonzero(d, name):
    return (d.array(d.dtype(ALL), d.shape(least=1)),), {}


@row("searching/searchsorted", numpy=lambda np, x1, x2, side="left", sorter=None: np.asarray(
    np.searchsorted(np.sort(x1) if sorter is None else x1, x2, side, sorter)
))  # fmt: skip
def searchsorted(d, name):
    one, two = d.pair(REAL)
    values = d.values(one, (d.pick([0, 1, 3, 20, 300]),))
    keywords = d.keywords(side=lambda: d.pick(["left", "right"]))
    if d.chance(0.4):
        order = np.argsort(values, kind="stable").astype(d.pick(["int64", "int32"]))
        keywords["sorter"] = d.view_of(order)
    else:
        values = np.sort(values)
    x2 = d.array(two, d.shape()) if d.chance(0.8) else d.scalar(one, special=False)
    return (d.view_of(values, view=not len(values) or d.chance(0.5)), x2), keywords


@row("searching/where")
def where(d, name):
    one, two = d.pair(ALL)
    shapes = d.shapes(3)
    args = [d.array(n, shape) for n, shape in zip(("bool", one, two), shapes, strict=True)]
    if d.chance(0.25):
        which = d.integer(1, 2)
        args[which] = d.scalar(args[3 - which].dtype)
    return args, {}


@row("set/isin")
def isin(d, name):
    one, two = d.pair(INTEGER)
    if d.chance(0.5):
        one = two = d.dtype(ALL)
    args = [d.array(one, d.shape()), d.array(two, d.shape())]
    if d.chance(0.2) and one in INTEGER:
        args[d.integer(0, 1)] = d.integer(0, 9)
    return args, d.keywords(invert=lambda: d.chance(0.5))


def unique(outputs):
    """The functions on unique elements, of NumPy, sorted and each NaN by itself."""

    def call(np, x):
        found = np.unique(x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
        values, first, inverse, counts = found
        results = {"values": values, "indices": first, "inverse": inverse.reshape(x.shape), "counts": counts}
        return tuple(results[o] for o in outputs) if len(outputs) > 1 else values

    return call


class Unique:
    """Sorted values; the order of NaN among each other is open."""

    def __init__(self, outputs):
        self.outputs = outputs

    def __call__(self, case, got, want, spare, oracle):
        alike(got, want)
        got, want = (r if isinstance(r, tuple) else (r,) for r in (got, want))
        got, want = (dict(zip(self.outputs, r, strict=True)) for r in (got, want))
        x = case.args[0].value
        check = Exact(zeros=False)
        check(case, np.sort(got["values"]), np.sort(want["values"]), spare, oracle)
        if "inverse" in got and not np.all(same(got["values"][got["inverse"]] + 0, x + 0)):
            raise Difference("values[inverse] is not x")
        if "indices" in got:
            flat = x.ravel()
            if not np.all(same(flat[got["indices"]] + 0, got["values"] + 0)):
                raise Difference("x[indices] is not values")
            for value, index in zip(got["values"], got["indices"], strict=True):
                if value == value and index != np.argmax(flat == value):
                    raise Difference(f"{index} is not the first position of {value!r}")
        if "counts" in got:
            found = {v: c for v, c in zip(got["values"].tolist(), got["counts"].tolist(), strict=True) if v == v}
            right = {v: c for v, c in zip(want["values"].tolist(), want["counts"].tolist(), strict=True) if v == v}
            if found != right or int(got["counts"].sum()) != x.size:
                raise Difference(f"counts {found} instead of {right}")


for _name, _outputs in (
    ("set/unique_values", ("values",)),
    ("set/unique_inverse", ("values", "inverse")),
    ("set/unique_counts", ("values", "counts")),
    ("set/unique_all", ("values", "indices", "inverse", "counts")),
):

    @row(_name, check=Unique(_outputs), numpy=unique(_outputs))
    def unique_draw(d, name):
        return (d.array(d.dtype(ALL), d.shape()),), {}


# ------------------------------------------------------------------------------------ sorting


def argsort_(np, x, axis=-1, descending=False, stable=True):
    """Stable, NaN last in both directions."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    _, rank = np.unique(x, return_inverse=True, equal_nan=True)
    rank = -rank.reshape(x.shape).astype(np.int64)
    return np.argsort(np.where(np.isnan(x), 1, rank), axis=axis, kind="stable")


def sort_(np, x, **keywords):
    order = argsort_(np, x, **keywords)
    return np.take_along_axis(x, order, keywords.get("axis", -1))


class Order:
    """Equal where the order is stable; else any order that sorts."""

    def __call__(self, case, got, want, spare, oracle):
        if case.kwargs.get("stable", True):
            return Exact()(case, got, want, spare, oracle)
        if case.name == "sorting/argsort":
            x, axis = case.args[0].value, case.kwargs.get("axis", -1)
            if not np.all(np.sort(got, axis=axis) == np.sort(want, axis=axis)):
                raise Difference(f"{got} is no permutation")
            got, want = (np.take_along_axis(x, r, axis) for r in (got, want))
        return Exact(zeros=False)(case, got, want, spare, oracle)


@row("sorting/sort", check=Order(), numpy=sort_)
@row("sorting/argsort", check=Order(), numpy=argsort_)
def sort(d, name):
    x = d.array(d.dtype(REAL), d.shape(least=1, long=0.3))
    return (x,), d.keywords(axis=lambda: d.axis(x.ndim), descending=lambda: d.chance(0.5), stable=lambda: d.chance(0.5))


# ------------------------------------------------------------------------------------ statistics, utilities


def summed(d, x):
    """The keywords of reductions."""
    return d.keywords(axis=lambda: d.reduced(x.ndim), keepdims=lambda: d.chance(0.5))


def wide(d, x):
    """A dtype for sums of x."""
    kinds = {"i": ("int64", "float64"), "u": ("uint64", "float64"), "f": FLOAT, "c": COMPLEX}
    return DType(d.dtype(kinds[x.dtype.kind]))


def tame(d, dtype, shape):
    """Factors whose product stays in range in any order, some of them special."""
    values = d.values(dtype, shape, special=False)
    if values.dtype.kind in "fc":
        if values.size > 20:
            values = (1 + values / 1000).astype(dtype)
        elif values.dtype.kind == "f" and d.chance(0.3):
            odd = d.rng.random(shape) < 0.2
            values = np.where(odd, d.rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape), values).astype(dtype)
    return d.view_of(values)


@row("statistical/sum", check=Sum())
@row("statistical/prod", check=Sum(growth=np.sqrt))
def sum_(d, name):
    dtype, shape = d.dtype(NUMERIC), d.shape()
    x = tame(d, dtype, shape) if name.endswith("prod") else d.array(dtype, shape)
    return (x,), {**summed(d, x), **({"dtype": wide(d, x)} if d.chance(0.3) else {})}


@row("statistical/mean", check=Sum())
def mean(d, name):
    x = d.array(d.dtype(INEXACT if d.chance(0.9) else INTEGER), d.shape())
    return (x,), summed(d, x)


def moment(root):
    """The size of what `var` and `std` sum."""

    def call(np, x, axis=None, correction=0.0, keepdims=False):
        n = x.size if axis is None else np.prod([x.shape[a] for a in np.atleast_1d(axis)], initial=1)
        size = np.mean(x * x, axis=axis, keepdims=keepdims) * n / np.where(n > correction, n - correction, np.nan)
        return np.sqrt(size) if root else size

    return call


def spread(np, x, correction=0.0, **keywords):
    """NumPy's variance; NaN where nothing is left to divide by."""
    axis = keywords.get("axis")
    n = x.size if axis is None else np.prod([x.shape[a] for a in np.atleast_1d(axis)], initial=1, dtype=int)
    result = np.var(x, correction=correction, **keywords)
    return np.asarray(result if n > correction else np.full_like(result, np.nan))


@row("statistical/var", check=Sum(size=moment(False)), numpy=spread)
@row(
    "statistical/std", check=Sum(size=moment(True), underflow=0.5), numpy=lambda np, x, **k: np.sqrt(spread(np, x, **k))
)
def var(d, name):
    x = d.array(d.dtype(FLOAT), d.shape())
    return (x,), {**summed(d, x), **d.keywords(correction=lambda: d.pick([0, 1, 1.5, 0.0, 3]))}


@row("statistical/max statistical/min", check=Exact(zeros=False))
def max_(d, name):
    x = d.array(d.dtype(REAL), d.shape())
    return (x,), summed(d, x)


@row("statistical/cumulative_sum", check=Sum(growth=float))
@row("statistical/cumulative_prod", check=Sum(growth=np.sqrt))
def cumulative_sum(d, name):
    dtype, shape = d.dtype(NUMERIC), d.shape(least=1)
    x = tame(d, dtype, shape) if name.endswith("prod") else d.array(dtype, shape)
    axis = {} if x.ndim == 1 and d.chance(0.5) else {"axis": d.axis(x.ndim)}
    return (x,), {
        **axis,
        **({"dtype": wide(d, x)} if d.chance(0.3) else {}),
        **d.keywords(include_initial=lambda: d.chance(0.5)),
    }


@row("utility/all utility/any")
def all_(d, name):
    x = d.array(d.dtype(ALL), d.shape())
    return (x,), summed(d, x)


@row("utility/diff")
def diff(d, name):
    x = d.array(d.dtype(NUMERIC), d.shape(least=1))
    axis = d.axis(x.ndim)

    def more():
        shape = list(x.shape)
        shape[axis] = d.integer(0, 2)
        return d.array(x.dtype, tuple(shape))

    keywords = d.keywords(n=lambda: d.integer(0, 3), prepend=more, append=more)
    return (x,), keywords if axis in (-1, x.ndim - 1) and d.chance(0.5) else {"axis": axis, **keywords}
