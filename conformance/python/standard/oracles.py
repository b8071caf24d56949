"""What is right: calls in each library, and comparisons of their results."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import array_api_strict
import numpy as np
import rustarr

from .draw import Operand, build, operands

#: The next wider dtype, in which NumPy computes references.
WIDER = {
    "float16": np.float32, "float32": np.float64, "float64": np.longdouble,
    "complex64": np.complex128, "complex128": np.clongdouble,
}  # fmt: skip
#: Whether this machine's long double is wider than double.
LONG = np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant


class Difference(Exception):
    """Two results differ; the text says where."""


@dataclass(frozen=True)
class Raised:
    """What a call raised."""

    error: Exception

    def __repr__(self):
        return f"{type(self.error).__name__}: {self.error}"


@dataclass(frozen=True)
class Case:
    """One call: the function's name with its chapter, and its arguments."""

    name: str
    args: tuple
    kwargs: dict = field(default_factory=dict)

    def __repr__(self):
        words = [repr(a) for a in self.args] + [f"{k}={v!r}" for k, v in self.kwargs.items()]
        return f"{self.name.split('/')[1]}(\n    " + ",\n    ".join(words) + ",\n)"

    @property
    def dtypes(self):
        """The dtypes of the operands."""
        return [o.dtype for o in self.operands]

    @property
    def operands(self):
        """The operands."""
        return list(operands((self.args, self.kwargs)))

    @property
    def terms(self):
        """The size of the largest operand."""
        return max((o.value.size for o in self.operands), default=1)


def run(function: Callable, case: Case, xp):
    """The result of a case in a library, in plain NumPy terms, or what was raised."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return plain(function(xp, *build(case.args, xp), **build(case.kwargs, xp)))
        except Exception as error:
            return Raised(error)


def plain(result):
    """Arrays as NumPy's, dtypes as their names, containers of such."""
    if isinstance(result, rustarr.Array):
        return np.array(rustarr.asnumpy(result))
    if isinstance(result, array_api_strict._array_object.Array):
        return np.array(result)
    if isinstance(result, (np.ndarray, np.generic)):
        return np.array(result)
    if isinstance(result, (rustarr.dtype, np.dtype)):
        return result.name
    if isinstance(result, type) and issubclass(result, np.generic):
        return np.dtype(result).name
    if isinstance(result, array_api_strict._dtypes.DType):
        return result._np_dtype.name
    if isinstance(result, (tuple, list)):
        return (list if isinstance(result, list) else tuple)(plain(r) for r in result)
    if isinstance(result, dict):
        return {key: plain(value) for key, value in result.items()}
    return result


def bits(result):
    """Something that is equal for equal bits only."""
    if isinstance(result, np.ndarray):
        return result.dtype.str, result.shape, result.tobytes()
    if isinstance(result, (tuple, list)):
        return tuple(bits(r) for r in result)
    if isinstance(result, Raised):
        return type(result.error), str(result.error)
    if isinstance(result, complex):
        return result.real.hex(), result.imag.hex()
    if isinstance(result, float):
        return result.hex()
    return result


# ------------------------------------------------------------------------------------ comparisons


def alike(got, want):
    """Equal kinds, dtypes and shapes."""
    if type(got) is not type(want):
        raise Difference(f"a {type(got).__name__} {got!r} instead of a {type(want).__name__} {want!r}")
    if isinstance(got, np.ndarray):
        if got.dtype != want.dtype:
            raise Difference(f"dtype {got.dtype} instead of {want.dtype}")
        if got.shape != want.shape:
            raise Difference(f"shape {got.shape} instead of {want.shape}")
    elif isinstance(got, (tuple, list)):
        if len(got) != len(want):
            raise Difference(f"{len(got)} results instead of {len(want)}")
        for g, w in zip(got, want, strict=True):
            alike(g, w)


def wrong(bad, case, got, want, why):
    """Raises with the first wrong element, if there is one, and what stands there in the operands."""
    if np.any(bad):
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        text = f"{why} at {at}: {got[at]!r} instead of {want[at]!r} ({int(np.sum(bad))} elements)"
        for operand in case.operands:
            value = operand.value
            inner = at[len(at) - value.ndim :] if value.ndim else ()
            if len(inner) == value.ndim and all(
                n in (1, m) for n, m in zip(value.shape[::-1], got.shape[::-1], strict=False)
            ):
                here = tuple(0 if n == 1 else i for i, n in zip(inner, value.shape, strict=True))
                text += f"\n    {value[here]!r}"
        raise Difference(text)


def parts(x):
    """Real and imaginary part, or the one part."""
    return (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def same(a, b):
    """Where two arrays are equal, NaN with NaN and zeros by their sign."""
    if a.dtype.kind not in "fc":
        return a == b
    both = np.ones(a.shape, bool)
    for x, y in zip(parts(a), parts(b), strict=True):
        both &= ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))
    return both


def widened(case: Case, dtype) -> Case:
    """The case with operands in the dtype that the result is computed in, then in the next wider one."""
    real = np.dtype(dtype).type(0).real.dtype
    complex_ = np.result_type(real, np.complex64)

    def widen(arg):
        if isinstance(arg, Operand):
            arg = arg.value
        elif isinstance(arg, (bool, int, float, complex)):
            arg = np.asarray(arg)
        elif isinstance(arg, (tuple, list)):
            return type(arg)(widen(a) for a in arg)
        else:
            return arg
        near = complex_ if arg.dtype.kind == "c" else real
        return Operand(arg.astype(near).astype(WIDER[near.name]))

    with np.errstate(all="ignore"):
        return Case(case.name, tuple(widen(a) for a in case.args), case.kwargs)


@dataclass(frozen=True)
class Exact:
    """Equal to the last bit, whichever NaN it is."""

    #: Where false, the sign of zeros may differ.
    zeros: bool = True

    def __call__(self, case, got, want, spare, oracle):
        alike(got, want)
        self.values(case, got, want, spare)

    def values(self, case, got, want, spare):
        if isinstance(got, (tuple, list)):
            for g, w in zip(got, want, strict=True):
                self.values(case, g, w, spare)
        elif isinstance(got, np.ndarray):
            equal = same(got, want) if self.zeros else same(got + 0 * (got == 0), want + 0 * (want == 0))
            wrong(~equal & ~spare(got), case, got, want, "wrong value")
        elif not (got == want or (got != got and want != want) or np.any(spare(0))):
            raise Difference(f"{got!r} instead of {want!r}")


@dataclass(frozen=True)
class Ulps:
    """Floats within some units in the last place of the value that NumPy computes in the next wider dtype.

    Complex numbers within that many epsilons of their modulus, with the signs of zeros if asked for.
    """

    real: float = 1
    complex: float = 8
    zeros: bool = True
    #: Errors that are allowed whatever the size of the result, by dtype.
    absolute: tuple[tuple[str, float], ...] = ()

    def __call__(self, case, got, want, spare, oracle):
        alike(got, want)
        if got.dtype.kind not in "fc":
            return Exact()(case, got, want, spare, oracle)
        slack = 0 if LONG or got.real.dtype.itemsize < 8 else 4
        reference = run(oracle, widened(case, got.dtype), np)
        reference = np.broadcast_to(reference, got.shape)
        self.near(case, got, reference, spare, slack)

    def near(self, case, got, reference, spare, slack):
        with np.errstate(all="ignore"):
            rounded = reference.astype(got.dtype)
            done = same(got, rounded) | spare(got)
            if got.dtype.kind == "f":
                limit = np.finfo(got.dtype).max
                unit = np.spacing(np.minimum(np.abs(rounded), limit)).astype(reference.dtype)
                # Infinity stands for the first number that is out of range.
                finite = np.where(np.isinf(got) & np.isfinite(reference), np.copysign(unit + limit, got), got)
                close = np.abs(finite - reference) <= unit * (self.real + slack + 0.01)
                close |= np.abs(finite - reference) <= dict(self.absolute).get(got.dtype.name, 0)
                close &= (rounded != 0) | (np.signbit(got) == np.signbit(rounded)) & (got != 0)
            else:
                size = np.abs(reference)
                info = np.finfo(got.dtype)
                unit = (self.complex + slack) * np.maximum(size * info.eps, info.smallest_subnormal)
                close = np.isfinite(got) & (np.abs(got - reference) <= unit)
                # Beside an infinity or a NaN each part stands for itself.
                lone = np.ones(got.shape, bool)
                for g, r, n in zip(parts(got), parts(reference), parts(rounded), strict=True):
                    lone &= same(g, n) | (np.abs(g - r) <= self.complex * info.eps * np.abs(r))
                close |= lone & ~np.isfinite(rounded)
                # Overflow may come a little early or late.
                close |= np.isfinite(reference) & (size > info.max * (1 - 16 * info.eps))
                if self.zeros:
                    for g, r in zip(parts(got), parts(reference), strict=True):
                        close &= (g != 0) | (r != 0) | (np.signbit(g) == np.signbit(r)) | np.isnan(reference)
        wrong(~done & ~close, case, got, reference, "too far off")


@dataclass(frozen=True)
class Sum:
    """Sums of products: within some epsilons of the same sum over absolute values, whatever the order.

    Where those overflow, the order decides, and nothing is said.
    """

    factor: float = 4
    #: Another measure of the terms, called like the oracle.
    size: Callable | None = None
    #: The power of the smallest number that may get lost.
    underflow: float = 1
    #: How the error grows with the number of terms.
    growth: Callable = np.log2

    def __call__(self, case, got, want, spare, oracle):
        alike(got, want)
        if not isinstance(got, np.ndarray) or got.dtype.kind not in "fc":
            return Exact()(case, got, want, spare, oracle)
        dtype = got.dtype

        def absolute(arg):
            if isinstance(arg, Operand):
                value = arg.value
                if value.dtype.kind in "fc":
                    value = np.nan_to_num(value, nan=0, posinf=0, neginf=0)
                return Operand(np.abs(value.astype(WIDER[dtype.name])))
            if isinstance(arg, (tuple, list)):
                return type(arg)(absolute(a) for a in arg)
            return arg

        with np.errstate(all="ignore"):
            kwargs = {k: absolute(v) for k, v in case.kwargs.items() if k != "dtype"}
            size = run(self.size or oracle, Case(case.name, tuple(absolute(a) for a in case.args), kwargs), np)
            reference = run(oracle, widened(Case(case.name, case.args, kwargs_of(case)), dtype), np)
            info = np.finfo(dtype)
            bound = info.eps * size * (self.factor + self.growth(case.terms + 1))
            bound = bound + self.factor * info.smallest_subnormal**self.underflow
            unclear = size ** (1 / self.underflow) * case.terms > info.max / 4
            finite = np.isfinite(want)
            close = np.abs(got - reference) <= bound
            ok = np.where(finite, close, same(got, want) | (dtype.kind == "c") & ~np.isfinite(got))
        wrong(~ok & ~unclear & ~spare(got), case, got, reference, "too far off")


def kwargs_of(case):
    """The keywords of a case without the dtype, which a reference chooses itself."""
    return {k: v for k, v in case.kwargs.items() if k != "dtype"}


@dataclass(frozen=True)
class Norm:
    """Within some epsilons of the largest element of the reference; for finite arguments."""

    factor: float = 16
    #: Whether NumPy can compute the reference in the next wider dtype.
    wide: bool = False
    #: Whether the largest element of the argument counts too: results may cancel.
    argument: bool = False

    def __call__(self, case, got, want, spare, oracle):
        alike(got, want)
        if self.wide:
            want = run(oracle, widened(case, got.dtype), np)
        for g, w in zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]:
            if g.dtype.kind not in "fc":
                Exact()(case, g, w, spare, oracle)
            elif g.size:
                with np.errstate(all="ignore"):
                    least = np.max(np.abs(case.args[0].value)) if self.argument else 0
                    size = (
                        least
                        + np.max(np.abs(w), where=np.isfinite(w), initial=0)
                        + np.finfo(g.dtype).smallest_subnormal
                    )
                    bound = self.factor * np.finfo(g.dtype).eps * size * (1 + np.log2(case.terms + 1))
                    close = same(g, w.astype(g.dtype)) | (np.abs(g - w) <= bound)
                wrong(~close & ~spare(g), case, g, w, "too far off")


@dataclass(frozen=True)
class Sorted:
    """Equal as sorted lists: the standard does not say in which order."""

    def __call__(self, case, got, want, spare, oracle):
        alike(got, want)
        Exact(zeros=False)(case, np.sort(got), np.sort(want), spare, oracle)


@dataclass(frozen=True)
class Shape:
    """Equal dtype and shape; the values are open."""

    def __call__(self, case, got, want, spare, oracle):
        alike(got, want)


@dataclass(frozen=True)
class Holds:
    """Equal dtypes and shapes, and a relation between arguments and result that the oracle does not decide."""

    relation: Callable
    shapes: bool = True

    def __call__(self, case, got, want, spare, oracle):
        if self.shapes:
            alike(got, want)
        self.relation(case, got)
