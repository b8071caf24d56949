"""Random arguments: dtypes, shapes, values, views, axes."""

import zlib
from dataclasses import dataclass

import numpy as np

BOOL = ("bool",)
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGER = SIGNED + UNSIGNED
FLOAT = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
REAL = INTEGER + FLOAT
NUMERIC = REAL + COMPLEX
INEXACT = FLOAT + COMPLEX
ALL = BOOL + NUMERIC

#: Everything random starts from this.
SEED = 20250012


@dataclass(frozen=True)
class DType:
    """A dtype argument, which every library has under the same name."""

    name: str

    def build(self, xp):
        return getattr(xp, self.name)

    def __repr__(self):
        return f"xp.{self.name}"


@dataclass(frozen=True)
class Device:
    """The device of a library's default."""

    def build(self, xp):
        return xp.__array_namespace_info__().default_device()

    def __repr__(self):
        return "default_device()"


@dataclass(frozen=True, eq=False)
class Operand:
    """An array argument: memory, and the steps that make a view of it."""

    base: np.ndarray
    steps: tuple = ()

    def build(self, xp):
        """The view, made with a library's own functions."""
        x = xp.asarray(self.base.copy())
        for step, arg in self.steps:
            if step == "index":
                x = x[arg]
            elif step == "permute":
                x = xp.permute_dims(x, arg)
            else:
                x = xp.broadcast_to(x, arg)
        return x

    @property
    def value(self):
        """The elements."""
        return np.ascontiguousarray(self.build(np)).reshape(self.shape)

    @property
    def shape(self):
        return self.build(np).shape

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def dtype(self):
        return self.base.dtype

    def __repr__(self):
        with np.printoptions(threshold=200, floatmode="unique"):
            text = f"np.{self.base!r}" if self.base.ndim else f"np.asarray({self.base!r})"
        text = text.replace("nan", "np.nan").replace("inf", "np.inf")
        for step, arg in self.steps:
            text += f"[{arg}]" if step == "index" else f".{step}({arg})"
        return f"{text} ({self.dtype}, shape {self.shape})"


def build(arg, xp):
    """An argument with every operand, dtype and device in it made by a library."""
    if isinstance(arg, (Operand, DType, Device)):
        return arg.build(xp)
    if type(arg) in (tuple, list):
        return type(arg)(build(a, xp) for a in arg)
    if isinstance(arg, dict):
        return {key: build(a, xp) for key, a in arg.items()}
    return arg


def operands(arg):
    """The operands inside an argument."""
    if isinstance(arg, Operand):
        yield arg
    elif isinstance(arg, (tuple, list)):
        for one in arg:
            yield from operands(one)
    elif isinstance(arg, dict):
        yield from operands(tuple(arg.values()))


class Draw:
    """A source of random arguments, the same for the same name and number."""

    def __init__(self, name, number):
        self.rng = np.random.default_rng([SEED, zlib.crc32(name.encode()), number])

    # Small things.

    def chance(self, p):
        return self.rng.random() < p

    def integer(self, low, high):
        """An int from low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, options):
        return options[self.integer(0, len(options) - 1)]

    def some(self, options, least=0):
        """Some of the options, in random order."""
        chosen = list(options)
        self.rng.shuffle(chosen)
        return chosen[: self.integer(least, len(chosen))] if len(chosen) >= least else chosen

    def dtype(self, names):
        return self.pick(names)

    def pair(self, names):
        """Two dtypes: often equal, often of one kind, sometimes any two."""
        first = self.pick(names)
        luck = self.rng.random()
        if luck < 0.5:
            return first, first
        kinds = (BOOL, INTEGER, (*INEXACT, "float16"))
        near = [n for n in names for kind in kinds if n in kind and first in kind]
        return first, self.pick(near if luck < 0.85 else names)

    # Shapes and axes.

    def shape(self, least=0, most=4, empty=0.08, long=0.12):
        """A shape; now and then one without elements, now and then one that crosses blocks."""
        ndim = min(self.integer(least, max(least, most)), most)
        shape = [self.integer(1, 4) for _ in range(ndim)]
        if ndim and self.chance(empty):
            shape[self.integer(0, ndim - 1)] = 0
        elif ndim and self.chance(long):
            shape = [min(n, 2) for n in shape]
            shape[self.integer(0, ndim - 1)] = self.pick([31, 64, 65, 255, 1023, 1025, 2050, 5000])
        return tuple(shape)

    def compatible(self, shape):
        """A shape that broadcasts with another one."""
        other = [1 if self.chance(0.25) else n for n in shape]
        return tuple(other[self.integer(0, len(other)) if self.chance(0.3) else 0 :])

    def shapes(self, count, **limits):
        """Shapes that broadcast together."""
        whole = self.shape(**limits)
        return [whole if self.chance(0.4) else self.compatible(whole) for _ in range(count)]

    def axis(self, ndim):
        return self.integer(-ndim, ndim - 1)

    def axes(self, ndim, least=0):
        """Different axes, negative ones too, as a tuple."""
        return tuple(a - ndim if self.chance(0.4) else a for a in self.some(range(ndim), least))

    def axes_like(self, ndim, count):
        """A given number of different axes."""
        chosen = self.rng.permutation(ndim)[:count].tolist()
        return tuple(a - ndim if self.chance(0.4) else a for a in chosen)

    def reduced(self, ndim):
        """What `axis=` of a reduction takes: None, an axis, several."""
        luck = self.rng.random()
        if luck < 0.3 or not ndim:
            return None
        return self.axis(ndim) if luck < 0.7 else self.axes(ndim)

    def keywords(self, **options):
        """Some of the keywords, each with what its function draws."""
        return {name: make() for name, make in options.items() if self.chance(0.6)}

    # Values.

    def values(self, dtype, shape, special=True, scale=None):
        """Elements: small ones, ones from the whole range, special ones, or a mixture.

        `scale` keeps them finite and about that large.
        """
        dtype = np.dtype(dtype)
        n = int(np.prod(shape))
        if dtype.kind == "b":
            flat = self.rng.random(n) < self.pick([0.5, 0.5, 0.1, 0.9])
        elif dtype.kind in "iu":
            flat = self._integers(dtype, n, special and scale is None, scale)
        elif dtype.kind == "f":
            flat = self._floats(dtype, n, special and scale is None, scale)
        else:
            part = np.dtype(f"f{dtype.itemsize // 2}")
            flat = np.empty(n, dtype)
            flat.real = self._floats(part, n, special and scale is None, scale)
            flat.imag = self._floats(part, n, special and scale is None, scale)
        return np.asarray(flat, dtype=dtype).reshape(shape)

    def _integers(self, dtype, n, special, scale):
        limits = np.iinfo(dtype)
        bound = int(scale or 5)
        small = self.rng.integers(max(-bound, limits.min), min(bound, limits.max) + 1, n).astype(dtype)
        if not special or self.chance(0.4):
            return small
        wide = self.rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
        extremes = np.array(
            [limits.min, limits.max, limits.max - 1, limits.max // 2, limits.min // 2 + 1, 0, 1, 2], dtype=dtype
        )
        return self._mixture(small, wide, extremes)

    def _floats(self, dtype, n, special, scale):
        info = np.finfo(dtype)
        small = np.round(self.rng.normal(0, scale or 3, n), 2).astype(dtype)
        if not special or self.chance(0.4):
            return small
        with np.errstate(all="ignore"):
            exponents = self.rng.uniform(np.log2(float(info.smallest_subnormal)), np.log2(float(info.max)), n)
            wide = (self.rng.choice([-1, 1], n) * np.exp2(exponents)).astype(dtype)
            extremes = np.array(
                [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -1.5, 2.5, np.pi / 2, info.max, info.min, info.tiny,
                 -info.tiny, info.smallest_subnormal, -info.smallest_subnormal, info.eps, 1 + info.eps, 2.0**31,
                 2.0**63, -(2.0**31), 1e4]
            ).astype(dtype)  # fmt: skip
        return self._mixture(small, wide, extremes)

    def _mixture(self, small, wide, extremes):
        weights = self.pick([(0, 1, 0), (0.2, 0.2, 0.6), (0.6, 0.2, 0.2), (0.9, 0, 0.1)])
        which = self.rng.choice(3, len(small), p=weights)
        return np.choose(which, [small, wide, self.rng.choice(extremes, len(small))])

    def scalar(self, dtype, special=True):
        """A Python scalar that goes with arrays of a dtype."""
        kinds = {"b": "b", "i": "bi", "u": "bi", "f": "bif", "c": "bifc"}[np.dtype(dtype).kind]
        kind = self.pick(kinds) if self.chance(0.4) else kinds[-1]
        if kind == "b":
            return self.chance(0.5)
        if kind == "i":
            if np.dtype(dtype).kind in "iu":
                return self.values(dtype, (), special).item()
            return self.integer(-5, 5)
        value = self.values("float64" if kind == "f" else "complex128", (), False)
        if special and kind == "f" and self.chance(0.3):
            return self.pick([np.nan, np.inf, -np.inf, 0.0, -0.0]).real
        return value.item()

    # Arrays.

    def array(self, dtype, shape, special=True, scale=None, view=True):
        """An operand of a dtype and shape, which is often a view of something larger."""
        return self.view_of(self.values(dtype, shape, special, scale), view, repeat=True)

    def view_of(self, values, view=True, repeat=False):
        """An operand with these values, often a view whose base has other elements around them.

        Where `repeat` allows, the values may be replaced by repeated ones.
        """
        if not view or self.chance(0.4):
            return Operand(values)
        steps = []
        for axis, n in enumerate(values.shape):
            # A repeated axis: what the base has once.
            if repeat and n > 1 and self.chance(0.1):
                return Operand(np.take(values, [0], axis), (("broadcast", values.shape),))
        order = None
        if values.ndim > 1 and self.chance(0.4):
            order = list(range(values.ndim))
            self.rng.shuffle(order)
        key, base = [], values if order is None else np.transpose(values, np.argsort(order))
        if base.ndim and self.chance(0.8):
            shape, inner = [], []
            for n in base.shape:
                before, after, step = self.integer(0, 2), self.integer(0, 2), self.pick([1, 1, 2, -1, -1, -2, 3])
                span = (n - 1) * abs(step) + 1 if n else 0
                size = before + span + after
                if step > 0:
                    inner.append(slice(before, before + span, step))
                else:
                    first, last = before + span - 1, before - 1
                    inner.append(slice(first, last if last >= 0 else None, step) if n else slice(0, 0))
                shape.append(size)
            around = self.values(base.dtype, tuple(shape), special=False)
            around[tuple(inner)] = base
            key, base = inner, around
        if key:
            steps.append(("index", tuple(key)))
        if order is not None:
            steps.append(("permute", tuple(order)))
        if not steps and not base.ndim:
            # A 0-d view of a longer array.
            around = self.values(base.dtype, (3,), special=False)
            around[1] = base
            return Operand(around, (("index", (1, ...)),))
        return Operand(base, tuple(steps))

    def arrays(self, count, names, special=True, scale=None, **limits):
        """Operands that broadcast together, of one dtype or of two."""
        dtypes = self.pair(names)
        shapes = self.shapes(count, **limits)
        return [self.array(dtypes[min(i, 1)], shape, special, scale) for i, shape in enumerate(shapes)]
