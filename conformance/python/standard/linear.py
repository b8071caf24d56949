"""Linear algebra and Fourier transforms."""

import numpy as np

from .draw import COMPLEX, FLOAT, INEXACT, NUMERIC, DType
from .oracles import Difference, Holds, Norm, Sum
from .table import row

# ------------------------------------------------------------------------------------ products


def fitting(d, scale=4):
    """A function that draws operands of one dtype or of two, without overflow in sums of products."""
    names = list(d.pair(NUMERIC))
    return lambda shape: d.array(names.pop() if len(names) > 1 else names[0], shape, scale=scale)


@row("linear_algebra/matmul linalg(alias)/matmul", check=Sum())
def matmul(d, name):
    make = fitting(d)
    m, k, n = (d.integer(0, 5) if d.chance(0.9) else d.integer(20, 70) for _ in range(3))
    luck = d.rng.random()
    if luck < 0.15:
        return (make((k,)), make((k,))), {}
    if luck < 0.3:
        return (make((k,)), make((*d.shape(most=2, long=0), k, n))), {}
    if luck < 0.45:
        return (make((*d.shape(most=2, long=0), m, k)), make((k,))), {}
    one, two = d.shapes(2, most=2, long=0)
    return (make((*one, m, k)), make((*two, k, n))), {}


@row("linear_algebra/matrix_transpose linalg(alias)/matrix_transpose")
def matrix_transpose(d, name):
    return (d.array(d.dtype(NUMERIC), d.shape(least=2)),), {}


@row("linear_algebra/tensordot linalg(alias)/tensordot", check=Sum())
def tensordot(d, name):
    make = fitting(d)
    shared = d.integer(0, 2)
    sizes = tuple(d.integer(0 if d.chance(0.1) else 1, 4) for _ in range(shared))
    left, right = d.shape(most=2, long=0.05), d.shape(most=2, long=0)
    if d.chance(0.5):
        return (make((*left, *sizes)), make((*sizes, *right))), {} if shared == 2 else {"axes": shared}
    first, second = [*left, *sizes], [*right, *sizes]
    orders = [d.rng.permutation(len(s)).tolist() for s in (first, second)]
    shapes = [tuple(s[i] for i in o) for s, o in zip((first, second), orders, strict=True)]
    axes = []
    for free, order in zip((left, right), orders, strict=True):
        found = [order.index(len(free) + i) for i in range(shared)]
        axes.append(tuple(a - len(order) if d.chance(0.3) else a for a in found))
    return (make(shapes[0]), make(shapes[1])), {"axes": tuple(axes)}


@row("linear_algebra/vecdot linalg(alias)/vecdot", check=Sum())
def vecdot(d, name):
    make = fitting(d)
    n = d.pick([0, 1, 2, 3, 3, 5, 70, 2050])
    one, two = ((*shape, n) for shape in d.shapes(2, most=2, long=0))
    if d.chance(0.6):
        return (make(one), make(two)), {}
    # The axis counts from the end, the same in both.
    axis = -d.integer(1, min(len(one), len(two)))
    shapes = []
    for shape in (one, two):
        free = list(shape[:-1])
        free.insert(len(free) + axis + 1, n)
        shapes.append(tuple(free))
    return (make(shapes[0]), make(shapes[1])), {"axis": axis}


def lengths(np, x1, x2, axis=-1):
    """What bounds the terms of a cross product."""
    return np.linalg.vector_norm(x1, axis=axis, keepdims=True) * np.linalg.vector_norm(x2, axis=axis, keepdims=True)


@row("linalg/cross", check=Sum(size=lengths))
def cross(d, name):
    make = fitting(d)
    one, two = ((*shape, 3) for shape in d.shapes(2, most=2))
    if d.chance(0.5):
        return (make(one), make(two)), {}
    axis = -d.integer(1, min(len(one), len(two)))
    shapes = []
    for shape in (one, two):
        free = list(shape[:-1])
        free.insert(len(free) + axis + 1, 3)
        shapes.append(tuple(free))
    return (make(shapes[0]), make(shapes[1])), {"axis": axis}


@row("linalg/outer", check=Sum())
def outer(d, name):
    make = fitting(d)
    return (make((d.pick([0, 1, 3, 70]),)), make((d.pick([0, 1, 3, 70]),))), {}


@row("linalg/diagonal")
def diagonal(d, name):
    return (d.array(d.dtype(NUMERIC), d.shape(least=2)),), d.keywords(offset=lambda: d.integer(-4, 4))


@row("linalg/trace", check=Sum())
def trace(d, name):
    x = d.array(d.dtype(NUMERIC), d.shape(least=2, long=0), scale=9)
    wide = {"i": "int64", "u": "uint64", "f": "float64", "c": "complex128"}[x.dtype.kind]
    return (x,), d.keywords(offset=lambda: d.integer(-4, 4), dtype=lambda: DType(wide))


# ------------------------------------------------------------------------------------ matrices


def size(d):
    """A number of rows or columns."""
    return d.pick([0, 1, 1, 2, 2, 3, 3, 4, 5, 8, 17, 40])


def batch(d):
    """The shape of a stack."""
    return d.pick([(), (), (), (3,), (1,), (2, 2), (0,)])


def matrix(d, m=None, n=None, kind="any", stack=None):
    """A stack of matrices, well conditioned where they are square."""
    m = size(d) if m is None else m
    n = m if n is None else n
    shape = (*(batch(d) if stack is None else stack), m, n)
    dtype = d.dtype(INEXACT)
    values = d.values(dtype, shape, scale=1)
    if kind in ("regular", "definite") and m:
        values = values + 4 * np.sqrt(m) * np.eye(m, n)
    if kind in ("hermitian", "definite"):
        values = values + np.conj(np.swapaxes(values, -1, -2))
    return d.view_of(values.astype(dtype), repeat=kind == "any")


def regular(d, name):
    return (matrix(d, kind="regular"),), {}


row("linalg/det", check=Norm(64))(regular)
row("linalg/inv", check=Norm(64))(regular)
row("linalg/slogdet", check=Norm(64), numpy=lambda np, x: tuple(np.linalg.slogdet(x)))(regular)


@row("linalg/cholesky", check=Norm(64))
def cholesky(d, name):
    return (matrix(d, kind="definite"),), d.keywords(upper=lambda: d.chance(0.5))


@row("linalg/solve", check=Norm(64))
def solve(d, name):
    a = matrix(d, kind="regular")
    n = a.shape[-1]
    if d.chance(0.3):
        return (a, d.array(a.dtype.name, (n,), scale=1)), {}
    stack = d.compatible(a.shape[:-2])
    return (a, d.array(a.dtype.name, (*stack, n, d.integer(0, 4)), scale=1)), {}


@row("linalg/matrix_power", check=Norm(256))
def matrix_power(d, name):
    x = matrix(d, kind="regular")
    return (x, d.integer(-3, 7)), {}


@row("linalg/matrix_rank")
def matrix_rank(d, name):
    m, n, rank = size(d), size(d), size(d)
    stack = batch(d)
    dtype = d.dtype(INEXACT)
    factors = d.values(dtype, (*stack, m, rank), scale=1), d.values(dtype, (*stack, rank, n), scale=1)
    return (d.view_of((factors[0] @ factors[1]).astype(dtype)),), d.keywords(rtol=lambda: 1e-3)


@row("linalg/pinv", check=Norm(256))
def pinv(d, name):
    m = size(d)
    x = matrix(d, m, d.pick([m, m + 3, max(m - 1, 0)]), kind="regular")
    return (x,), d.keywords(rtol=lambda: 1e-3)


@row("linalg/svdvals", check=Norm(64, argument=True))
def svdvals(d, name):
    return (matrix(d, size(d), size(d)),), {}


@row("linalg/eigvalsh", check=Norm(64, argument=True))
def eigvalsh(d, name):
    return (matrix(d, kind="hermitian"),), {}


@row("linalg/matrix_norm", check=Norm(64, argument=True))
def matrix_norm(d, name):
    x = matrix(d, max(size(d), 1), max(size(d), 1))
    return (x,), d.keywords(
        ord=lambda: d.pick(["fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf]), keepdims=lambda: d.chance(0.5)
    )


@row("linalg/vector_norm", check=Norm(16, wide=True))
def vector_norm(d, name):
    x = d.array(d.dtype(INEXACT), d.shape(empty=0), scale=2)
    return (x,), {
        **d.keywords(axis=lambda: d.reduced(x.ndim), keepdims=lambda: d.chance(0.5)),
        **d.keywords(ord=lambda: d.pick([1, 2, 3, 0.5, 0, -1, -2, np.inf, -np.inf])),
    }


# Factors are not unique: what they have to be is checked instead.


def near(got, want, why, factor=64):
    """Nearly equal in the norm of the larger one, matrix by matrix."""
    if got.size:
        epsilon = np.finfo(got.dtype).eps * factor * (got.shape[-1] + got.shape[-2])
        bound = epsilon * np.maximum(1, np.max(np.abs(want), axis=(-1, -2), keepdims=True))
        if not np.all(np.abs(got - want) <= bound):
            raise Difference(f"{why}:\n{got}\ninstead of\n{want}")


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def unitary(q, name):
    near(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2], *q.shape[-1:] * 2)),
         f"columns of {name} are not orthonormal")  # fmt: skip


def reduced(x, q, r):
    """Whether a product gives a matrix back."""
    near(q @ r, x, "the factors do not give the matrix")


def factored(case, got):
    q, r = got
    unitary(q, "Q")
    reduced(case.args[0].value, q, r)
    if np.any(np.tril(r, -1)):
        raise Difference(f"R is not triangular:\n{r}")


@row("linalg/qr", check=Holds(factored), numpy=lambda np, x, **k: tuple(np.linalg.qr(x, **k)))
def qr(d, name):
    return (matrix(d, size(d), size(d)),), d.keywords(mode=lambda: d.pick(["reduced", "complete"]))


def decomposed(case, got):
    u, s, vh = got
    unitary(u, "U")
    unitary(adjoint(vh), "V")
    k = s.shape[-1]
    reduced(case.args[0].value, u[..., :k] * s[..., None, :], vh[..., :k, :])
    if np.any(s < 0) or np.any(np.diff(s) > 0):
        raise Difference(f"singular values are not in order: {s}")


@row("linalg/svd", check=Holds(decomposed), numpy=lambda np, x, **k: tuple(np.linalg.svd(x, **k)))
def svd(d, name):
    return (matrix(d, size(d), size(d)),), d.keywords(full_matrices=lambda: d.chance(0.5))


def diagonalised(case, got):
    values, vectors = got
    unitary(vectors, "the eigenvectors")
    reduced(case.args[0].value, vectors * values[..., None, :], adjoint(vectors))
    if np.any(np.diff(values) < 0):
        raise Difference(f"eigenvalues are not in order: {values}")


@row("linalg/eigh", check=Holds(diagonalised), numpy=lambda np, x: tuple(np.linalg.eigh(x)))
def eigh(d, name):
    return (matrix(d, kind="hermitian"),), {}


def complex_(x):
    """Eigenvalues are complex, whatever the matrix."""
    return x.astype(np.result_type(x.dtype, np.complex64))


def eigen(case, got):
    values, vectors = got
    x = case.args[0].value
    near(x @ vectors, vectors * values[..., None, :], "x v is not w v")
    lengths = np.linalg.norm(vectors, axis=-2)
    if not np.allclose(lengths, 1, atol=1e-4):
        raise Difference(f"eigenvectors of lengths {lengths}")


@row("linalg/eig", check=Holds(eigen), numpy=lambda np, x: tuple(complex_(r) for r in np.linalg.eig(x)))
def eig(d, name):
    return (matrix(d),), {}


def spectrum(case, got):
    """Sums of powers of the eigenvalues are traces of powers of the matrix."""
    x = complex_(case.args[0].value)
    n = x.shape[-1]
    for power in (1, 2):
        found = np.sum(got**power, axis=-1)
        right = np.trace(np.linalg.matrix_power(x, power), axis1=-2, axis2=-1)
        size = 1 + np.linalg.norm(x, axis=(-2, -1)) ** power
        if not np.all(np.abs(found - right) <= 64 * (n + 1) * np.finfo(got.dtype).eps * size):
            raise Difference(f"eigenvalues {got} have traces {found} instead of {right}")


@row("linalg/eigvals", check=Holds(spectrum), numpy=lambda np, x: complex_(np.linalg.eigvals(x)))
def eigvals(d, name):
    return (matrix(d),), {}


# ------------------------------------------------------------------------------------ Fourier transforms

NORMS = ("backward", "ortho", "forward")


def signal(d, names):
    """A finite array with a length of every sort: powers of two, primes, one."""
    shape = list(d.shape(least=1, most=3, empty=0, long=0))
    shape[d.integer(0, len(shape) - 1)] = d.pick([1, 2, 3, 5, 8, 12, 17, 31, 64, 97, 128, 210])
    return d.array(d.dtype(names), tuple(shape), scale=2)


def one_dimensional(names, least=1):
    def draw(d, name):
        x = signal(d, names)
        axis = d.axis(x.ndim)
        keywords = {} if axis in (-1, x.ndim - 1) and d.chance(0.5) else {"axis": axis}
        if x.shape[axis] < least or d.chance(0.4):
            keywords["n"] = max(d.integer(1, 2 * x.shape[axis] + 2), 1)
        return (x,), {**keywords, **d.keywords(norm=lambda: d.pick(NORMS))}

    return draw


for _name, _names, _least in (
    ("fft", INEXACT, 1), ("ifft", INEXACT, 1), ("rfft", FLOAT, 1), ("irfft", COMPLEX, 2), ("hfft", COMPLEX, 2),
    ("ihfft", FLOAT, 1),
):  # fmt: skip
    row(f"fft/{_name}", check=Norm(4, wide=True))(one_dimensional(_names, _least))


def several_dimensional(names, least=1):
    def draw(d, name):
        x = signal(d, names)
        axes = d.axes(x.ndim, 1)
        keywords = {"axes": axes} if axes and d.chance(0.6) else {}
        axes = keywords.get("axes", tuple(range(x.ndim)))
        last = x.shape[axes[-1]]
        if last < least or "axes" in keywords and d.chance(0.4):
            keywords["axes"] = axes
            keywords["s"] = tuple(d.integer(1, x.shape[a] + 2) for a in axes)
        return (x,), {**keywords, **d.keywords(norm=lambda: d.pick(NORMS))}

    return draw


for _name, _names, _least in (("fftn", INEXACT, 1), ("ifftn", INEXACT, 1), ("rfftn", FLOAT, 1), ("irfftn", COMPLEX, 2)):
    row(f"fft/{_name}", check=Norm(4, wide=True))(several_dimensional(_names, _least))


@row("fft/fftfreq fft/rfftfreq", check=Norm(1))
def fftfreq(d, name):
    return (d.integer(1, 70),), d.keywords(d=lambda: d.pick([0.5, 1.0, 2, 0.1, -1.0]))


@row("fft/fftshift fft/ifftshift")
def fftshift(d, name):
    x = d.array(d.dtype(INEXACT), d.shape(least=1))
    return (x,), d.keywords(axes=lambda: d.reduced(x.ndim))
