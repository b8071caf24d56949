"""How near the functions of `linalg` come to the exact result, beside NumPy's on the same matrices.

Errors are counted in units of the dtype's epsilon and relative to the norm of what is given, so that one is what
rounding the matrix once would do: backward errors of solutions, inverses and decompositions (Higham, Accuracy and
Stability of Numerical Algorithms, 2002), departures from orthonormality, forward errors of values that a change of
the matrix moves no further than itself (singular values, Hermitian eigenvalues, norms), and of determinants over
their condition. They are measured in the next wider precision.

    python conformance/python/linalg_accuracy.py [--sizes 1:201] [--namespace cpu-parallel] [--dtype float32]

measures every size and prints the worst of each function.
"""

import argparse
import zlib

import numpy as np
import rustarr

DTYPES = ("float32", "float64", "complex64", "complex128")

# Ours may be at most twice NumPy's, in the mean square over a few matrices ..
RATIO = 2.0
# .. or this many epsilons. Results rounded to the dtype are half of one off each, and two or three factors are
# multiplied: below, the errors say how the last bits happened to fall and nothing about the method.
FLOOR = 2.0


class Face:
    """The functions of a namespace's `linalg` on NumPy's arrays, through any device."""

    def __init__(self, xp):
        self.xp = xp

    def __getattr__(self, name):
        function = getattr(self.xp.linalg, name)

        def call(*args, **keywords):
            def ours(x):
                return self.xp.asarray(x) if isinstance(x, np.ndarray) else x

            out = function(*map(ours, args), **{name: ours(x) for name, x in keywords.items()})
            return tuple(map(rustarr.asnumpy, out)) if isinstance(out, tuple) else rustarr.asnumpy(out)

        return call


# Wider precision


def wide(x):
    """In the next wider precision."""
    return x.astype({"f": "d", "F": "D", "d": "g", "D": "G", "g": "g", "G": "G"}[x.dtype.char], copy=False)


def eps(x):
    """The epsilon of an array's dtype."""
    return np.finfo(x.dtype).eps


def adjoint(x):
    return x.conj().swapaxes(-1, -2)


def norm(x):
    """Frobenius norms."""
    return np.sqrt(np.sum(np.abs(x) ** 2, axis=(-2, -1)))


def over(error, scale):
    """The quotient as a double; nothing over nothing is no error."""
    error, scale = np.broadcast_arrays(error, scale)
    return np.divide(error, scale, out=np.zeros(error.shape, error.dtype), where=error != 0).astype(float)


def lu(a):
    """The factors of `P A = L U` in one array, the rows chosen, and the signs of `P`, in the precision of `a`."""
    a, n = a.copy(), a.shape[-1]
    rows, sign = np.tile(np.arange(n), (len(a), 1)), np.ones(len(a))
    every = np.arange(len(a))
    for k in range(n):
        best = k + np.argmax(np.abs(a[:, k:, k]), axis=-1)
        sign[best != k] *= -1
        for x in (a, rows):
            x[every, k], x[every, best] = x[every, best].copy(), x[every, k].copy()
        pivot = np.where(a[:, k, k] == 0, 1, a[:, k, k])
        a[:, k + 1 :, k] /= pivot[:, None]
        a[:, k + 1 :, k + 1 :] -= a[:, k + 1 :, k, None] * a[:, k, None, k + 1 :]
    return a, rows, sign


def substitute(factors, rows, b):
    """The solution of `A x = b` from the factors."""
    n = factors.shape[-1]
    x = np.take_along_axis(b, rows[:, :, None], axis=1).astype(factors.dtype)
    for k in range(n):
        x[:, k + 1 :] -= factors[:, k + 1 :, k, None] * x[:, None, k]
    for k in reversed(range(n)):
        x[:, k] /= factors[:, k, k, None]
        x[:, :k] -= factors[:, :k, k, None] * x[:, None, k]
    return x


def orthonormal(q):
    """Columns nearly orthonormal made so (Newton's iteration for the polar factor)."""
    for _ in range(2):
        q = q @ (3 * np.eye(q.shape[-1]) - adjoint(q) @ q) / 2
    return q


def exact_values(a, hermitian=False):
    """Singular values falling, or eigenvalues rising, to a small part of the dtype's epsilon.

    Vectors from NumPy nearly diagonalise the matrix. What they leave beside the diagonal changes its elements by its
    square over their distance, which is nothing unless they lie together as those near zero may: these are the values
    of a matrix so small that a double's errors are too.
    """
    find = np.linalg.eigvalsh if hermitian else lambda x: np.linalg.svd(x, compute_uv=False)
    if eps(a) > 1e-10:
        return find(wide(a))
    if hermitian:
        u = v = np.linalg.eigh(a)[1]
    else:
        u, _, v = np.linalg.svd(a, full_matrices=False)
        v = adjoint(v)
    u, v = orthonormal(wide(u)), orthonormal(wide(v))
    d = adjoint(u) @ wide(a) @ v
    values = np.diagonal(d, axis1=-2, axis2=-1).real.copy()
    for matrix, diagonal in zip(d, values, strict=True):
        near = np.flatnonzero(np.abs(diagonal) < 1e-12 * np.max(np.abs(diagonal)))
        diagonal[near] = find(matrix[np.ix_(near, near)].astype(a.dtype))
    values.sort(axis=-1)
    return values if hermitian else values[:, ::-1]


# Matrices


def unitary(rng, count, n, m, dtype):
    return np.linalg.qr(normal(rng, (count, n, m), dtype))[0]


def normal(rng, shape, dtype):
    x = rng.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal(shape)
    return x


def spectrum(rng, count, m, n, values, dtype):
    """Matrices of the given singular values."""
    k = min(m, n)
    return (unitary(rng, count, m, k, dtype) * values) @ adjoint(unitary(rng, count, n, k, dtype))


def random(rng, count, m, n, dtype):
    return normal(rng, (count, m, n), dtype)


def graded(rng, count, m, n, dtype):
    """Singular values from one to epsilon."""
    return spectrum(rng, count, m, n, np.geomspace(1, np.finfo(dtype).eps, min(m, n)), dtype)


def hilbert(rng, count, m, n, dtype):
    """Hilbert's matrix, its rows and columns in random orders and by random phases: each rounds in its own way."""
    i, j = (np.argsort(rng.random((count, size)), axis=-1) for size in (m, n))
    h = 1 / (1.0 + i[:, :, None] + j[:, None, :])
    phase = normal(rng, (count, m + n), dtype)
    phase /= np.abs(phase)
    return phase[:, :m, None] * h * phase[:, None, m:].conj()


def scaled(rng, count, m, n, dtype):
    """Rows and columns of very different sizes."""
    sizes = 10.0 ** rng.uniform(-3, 3, (count, m + n))
    return sizes[:, :m, None] * normal(rng, (count, m, n), dtype) * sizes[:, None, m:]


def deficient(rng, count, m, n, dtype):
    """About half of full rank, as near as the dtype comes."""
    rank = (min(m, n) + 1) // 2
    return normal(rng, (count, m, rank), dtype) @ normal(rng, (count, rank, n), dtype)


KINDS = {f.__name__: f for f in (random, graded, hilbert, scaled, deficient)}
# Rounded, Hilbert's matrix may be singular.
REGULAR = ("random", "graded", "scaled")


def general(rng, kind, count, m, n, dtype):
    return KINDS[kind](rng, count, m, n, dtype).astype(dtype)


def hermitian(rng, kind, count, n, dtype):
    if kind == "hilbert":
        i = np.argsort(rng.random((count, n)), axis=-1)
        phase = normal(rng, (count, n), dtype)
        phase /= np.abs(phase)
        x = phase[:, :, None] / (1.0 + i[:, :, None] + i[:, None, :]) * phase[:, None, :].conj()
    elif kind == "graded":
        u = unitary(rng, count, n, n, dtype)
        x = (u * np.geomspace(1, np.finfo(dtype).eps, n) * rng.choice([-1, 1], n)) @ adjoint(u)
    elif kind == "deficient":
        x = normal(rng, (count, n, (n + 1) // 2), dtype)
        x = x @ adjoint(x)
    elif kind == "scaled":
        x, sizes = normal(rng, (count, n, n), dtype), 10.0 ** rng.uniform(-3, 3, (count, n))
        x = sizes[:, :, None] * (x + adjoint(x)) * sizes[:, None, :]
    else:
        x = normal(rng, (count, n, n), dtype)
        x = x + adjoint(x)
    return ((x + adjoint(x)) / 2).astype(dtype)


def positive(rng, kind, count, n, dtype):
    """Positive definite also when rounded: the smallest eigenvalue is far above what rounding changes."""
    u = unitary(rng, count, n, n, dtype)
    least = 0.1 if kind == "random" else 10 * n * np.finfo(dtype).eps
    x = (u * np.geomspace(1, least, n)) @ adjoint(u)
    if kind == "scaled":
        sizes = 10.0 ** rng.uniform(-3, 3, (count, n))
        x = sizes[:, :, None] * x * sizes[:, None, :]
    return ((x + adjoint(x)) / 2).astype(dtype)


# The functions, each as the errors of one implementation on matrices made for it


def check_solve(la, rng, kind, count, n, dtype):
    a, b = general(rng, kind, count, n, n, dtype), normal(rng, (count, n, 3), dtype).astype(dtype)
    x = la.solve(a, b)
    residual = norm(wide(a) @ wide(x) - b)
    yield "backward error", over(residual, norm(wide(a)) * norm(wide(x)) + norm(wide(b)))


def check_inv(la, rng, kind, count, n, dtype):
    a = general(rng, kind, count, n, n, dtype)
    x = la.inv(a)
    yield "right residual", over(norm(wide(a) @ wide(x) - np.eye(n)), norm(wide(a)) * norm(wide(x)))
    exact = inverse(*lu(wide(a))[:2])
    condition = norm(wide(a)) * norm(exact)
    yield "error over condition", known(over(norm(wide(x) - exact), condition * norm(exact)), condition, a)


def inverse(factors, rows):
    return substitute(factors, rows, np.broadcast_to(np.eye(factors.shape[-1]), factors.shape))


def known(error, condition, a):
    """An error over a condition; nothing where so ill a matrix has no digits that the condition would foretell."""
    return np.where(condition * eps(a) < 1e-2, error, 0)


def log_det(a):
    """Sign and logarithm of the determinant, and its condition with respect to the elements."""
    a = wide(a)
    factors, rows, sign = lu(a)
    pivots = np.diagonal(factors, axis1=-2, axis2=-1)
    condition = np.sum(np.abs(a) * np.abs(inverse(factors, rows).swapaxes(-1, -2)), axis=(-2, -1))
    return sign * np.prod(pivots / np.abs(pivots), axis=-1), np.sum(np.log(np.abs(pivots)), axis=-1), condition


def check_det(la, rng, kind, count, n, dtype):
    # Near one in size, so that large ones do not overflow.
    a = general(rng, kind, count, n, n, dtype)
    a = a * np.exp2(np.round(-log_det(a)[1] / (n * np.log(2)))).astype(a.real.dtype)[:, None, None]
    sign, log, condition = log_det(a)
    exact = sign * np.exp(log)
    error = over(np.abs(wide(la.det(a)) - exact), condition * np.abs(exact))
    yield "error over condition", known(error, condition, a)


def check_slogdet(la, rng, kind, count, n, dtype):
    a = general(rng, kind, count, n, n, dtype)
    sign, log, condition = log_det(a)
    got = la.slogdet(a)
    yield "sign's error over condition", known(over(np.abs(wide(got[0]) - sign), condition), condition, a)
    error = over(np.abs(wide(got[1]) - log), condition + np.abs(log))
    yield "logarithm's error over condition", known(error, condition, a)


def check_cholesky(la, rng, kind, count, n, dtype):
    a = positive(rng, kind, count, n, dtype)
    for upper in (False, True):
        f = wide(la.cholesky(a, upper=upper))
        assert not (np.tril(f, -1) if upper else np.triu(f, 1)).any()
        product = adjoint(f) @ f if upper else f @ adjoint(f)
        yield "reconstruction", over(norm(product - a), norm(wide(a)))


def shapes(n):
    return {(n, n), (n, n // 2 + 1), (n // 2 + 1, n)}


def skew(q):
    """How far the columns are from orthonormal."""
    return norm(adjoint(q) @ q - np.eye(q.shape[-1])) / np.sqrt(q.shape[-1])


def check_qr(la, rng, kind, count, n, dtype):
    for rows, columns in sorted(shapes(n)):
        a = general(rng, kind, count, rows, columns, dtype)
        for mode in ("reduced", "complete"):
            q, r = map(wide, la.qr(a, mode=mode))
            assert not np.tril(r, -1).any()
            yield f"reconstruction, {mode}", over(norm(q @ r - a), norm(wide(a)))
            yield f"orthonormality, {mode}", skew(q)


def check_svd(la, rng, kind, count, n, dtype):
    for rows, columns in sorted(shapes(n)):
        a = general(rng, kind, count, rows, columns, dtype)
        exact = exact_values(a)
        for full in (False, True):
            u, s, vh = map(wide, la.svd(a, full_matrices=full))
            k = min(rows, columns)
            product = (u[..., :k] * s[:, None, :]) @ vh[:, :k]
            yield "reconstruction", over(norm(product - a), norm(wide(a)))
            yield "left orthonormality", skew(u)
            yield "right orthonormality", skew(adjoint(vh))
            yield "values", over(np.max(np.abs(s - exact), axis=-1), exact[:, 0])


def check_svdvals(la, rng, kind, count, n, dtype):
    for rows, columns in sorted(shapes(n)):
        a = general(rng, kind, count, rows, columns, dtype)
        exact = exact_values(a)
        yield "values", over(np.max(np.abs(wide(la.svdvals(a)) - exact), axis=-1), exact[:, 0])


def check_eigh(la, rng, kind, count, n, dtype):
    a = hermitian(rng, kind, count, n, dtype)
    exact = exact_values(a, hermitian=True)
    w, v = map(wide, la.eigh(a))
    size = np.max(np.abs(exact), axis=-1)
    yield "reconstruction", over(norm((v * w[:, None, :]) @ adjoint(v) - a), norm(wide(a)))
    yield "orthonormality", skew(v)
    yield "values", over(np.max(np.abs(w - exact), axis=-1), size)


def check_eigvalsh(la, rng, kind, count, n, dtype):
    a = hermitian(rng, kind, count, n, dtype)
    exact = exact_values(a, hermitian=True)
    size = np.max(np.abs(exact), axis=-1)
    yield "values", over(np.max(np.abs(wide(la.eigvalsh(a)) - exact), axis=-1), size)


def check_eig(la, rng, kind, count, n, dtype):
    a = general(rng, kind, count, n, n, dtype)
    w, v = map(wide, la.eig(a))
    lengths = np.sqrt(np.sum(np.abs(v) ** 2, axis=-2))
    yield "length of vectors", np.max(np.abs(lengths - 1), axis=-1).astype(float)
    yield "residual", over(norm(wide(a) @ v - v * w[:, None, :]), norm(wide(a)))


def check_eigvals(la, rng, kind, count, n, dtype):
    """How far the matrix is from one that has the value: the least singular value of `A - w`, by inverse iteration."""
    a = general(rng, kind, count, n, n, dtype)
    w = wide(la.eigvals(a))
    picked = np.unique(np.linspace(0, n - 1, 5).round().astype(int))
    # A zero pivot is as good as any other of this size.
    tiny = np.finfo(w.dtype).eps * np.repeat(norm(wide(a)), len(picked))[:, None]
    shifted = (wide(a)[:, None] - w[:, picked, None, None] * np.eye(n)).reshape(-1, n, n)
    forward, adjoined = lu(shifted), lu(adjoint(shifted))
    for factors in (forward[0], adjoined[0]):
        d = np.einsum("kii->ki", factors)
        d += np.where(np.abs(d) < tiny, tiny, 0)
    x = normal(rng, (len(shifted), n, 1), dtype)
    for _ in range(2):
        x = substitute(*adjoined[:2], x / norm(x)[:, None, None])
        x = substitute(*forward[:2], x / norm(x)[:, None, None])
    distance = norm(shifted @ (x / norm(x)[:, None, None])).reshape(count, -1)
    yield "distance", over(np.max(distance, axis=-1), norm(wide(a)))


def check_pinv(la, rng, kind, count, n, dtype):
    """The conditions of Penrose."""
    for rows, columns in sorted(shapes(n)):
        a = general(rng, kind, count, rows, columns, dtype)
        # A cut in the middle of a gap, so that everybody keeps the same values.
        s = np.linalg.svd(a.astype("D"), compute_uv=False)
        keep = min(rows, columns) if kind in ("random", "scaled") else (min(rows, columns) + 1) // 2
        cut = s[:, keep - 1] / s[:, 0] / 2 if kind != "deficient" else np.full(count, 100 * columns * eps(a))
        x = wide(la.pinv(a, rtol=cut.astype(a.real.dtype)))
        if kind in ("random", "scaled", "deficient"):
            a = wide(a)
            yield "A X A", over(norm(a @ x @ a - a), norm(a) ** 2 * norm(x))
            yield "X A X", over(norm(x @ a @ x - x), norm(x) ** 2 * norm(a))
            for product in (a @ x, x @ a):
                yield "Hermitian", over(norm(product - adjoint(product)), norm(a) * norm(x))


def check_matrix_rank(la, rng, kind, count, n, dtype):
    for rows, columns in sorted(shapes(n)):
        a = general(rng, kind, count, rows, columns, dtype)
        full = min(rows, columns)
        want = (full + 1) // 2 if kind == "deficient" else full
        if kind in ("random", "deficient"):
            yield "rank", np.abs(la.matrix_rank(a) - want).astype(float)
        s = exact_values(a)
        cut = np.sqrt(eps(a))
        got = la.matrix_rank(a, rtol=np.full(count, cut, a.real.dtype))
        ratio = (s / s[:, :1]).astype(float)
        least, most = (np.sum(ratio > cut * f, axis=-1) for f in (1.01, 0.99))
        yield "rank by tolerance", ((got < least) | (got > most)).astype(float)


def check_matrix_norm(la, rng, kind, count, n, dtype):
    for rows, columns in sorted(shapes(n)):
        a = general(rng, kind, count, rows, columns, dtype)
        s, modulus = exact_values(a), np.abs(wide(a))
        columns, rows = modulus.sum(axis=-2), modulus.sum(axis=-1)
        exact = {
            "fro": norm(modulus), "nuc": s.sum(axis=-1), 2: s[:, 0], -2: s[:, -1],
            1: columns.max(axis=-1), -1: columns.min(axis=-1), np.inf: rows.max(axis=-1), -np.inf: rows.min(axis=-1),
        }
        for order, value in exact.items():
            scale = s[:, 0] if order == -2 else value
            yield f"order {order}", over(np.abs(wide(la.matrix_norm(a, ord=order)) - value), scale)


def check_matrix_power(la, rng, kind, count, n, dtype):
    a = general(rng, kind, count, n, n, dtype)
    a = a / norm(a).astype(a.real.dtype)[:, None, None]
    product, size = wide(a), norm(wide(a))
    for power in range(2, 6):
        product = product @ wide(a)
        yield f"power {power}", over(norm(wide(la.matrix_power(a, power)) - product), size**power)
    exact = inverse(*lu(wide(a))[:2])
    condition = norm(wide(a)) * norm(exact)
    exact = exact @ exact
    error = over(norm(wide(la.matrix_power(a, -2)) - exact), condition * norm(exact))
    yield "power -2 over condition", known(error, condition, a)


CHECKS = {name.removeprefix("check_"): f for name, f in list(globals().items()) if name.startswith("check_")}
KINDS_OF = {
    **dict.fromkeys(CHECKS, tuple(KINDS)),
    **dict.fromkeys(("solve", "inv", "det", "slogdet", "matrix_power"), REGULAR),
    "cholesky": REGULAR,
    "pinv": ("random", "scaled", "deficient"),
}


def count(n):
    """How many matrices of a size are measured together: where they are small, chance plays a large part."""
    return 24 if n <= 8 else 8 if n <= 32 else 3


def errors(la, function, kind, n, dtype):
    """What is measured of a function, in epsilons: the root of the mean square over the matrices, by name."""
    out = {}
    rng = np.random.default_rng(zlib.crc32(f"{function} {kind} {n} {dtype}".encode()))
    for name, found in CHECKS[function](la, rng, kind, count(n), n, np.dtype(dtype)):
        out.setdefault(name, []).append(np.sqrt(np.mean(np.square(found / np.finfo(dtype).eps))))
    return {name: max(found) for name, found in out.items()}


def compare(xp, function, n, dtype):
    """Yields what is measured, on which matrices, our error and NumPy's."""
    for kind in KINDS_OF[function]:
        with np.errstate(all="ignore"):
            ours, theirs = (errors(la, function, kind, n, dtype) for la in (Face(xp), np.linalg))
        yield from ((name, kind, ours[name], theirs[name]) for name in ours)


def excess(ours, theirs):
    """Our error over what it may be: more than one is too much."""
    # A NaN is no small error.
    return ours / max(RATIO * theirs, FLOOR) if ours == ours else np.inf


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default="1:201", help="a range, as start:stop:step")
    parser.add_argument("--namespace", default="cpu-parallel")
    parser.add_argument("--dtype", action="append", choices=DTYPES)
    parser.add_argument("--function", action="append", choices=CHECKS)
    args = parser.parse_args()
    xp = rustarr.namespace(args.namespace)
    sizes = range(*map(int, args.sizes.split(":")))
    print(f"{'function':13}{'dtype':11}{'of allowed':>10}  {'ours':>8}{'NumPy':>8}  n, what, matrices")
    failed = False
    for function in args.function or CHECKS:
        for dtype in args.dtype or DTYPES:
            found = ((n, *row) for n in sizes for row in compare(xp, function, n, dtype))
            rows = [(excess(o, t), o, t, n, name, kind) for n, name, kind, o, t in found]
            worst, ours, theirs, *where = max(rows)
            failed |= worst > 1
            where = ", ".join(map(str, where))
            print(f"{function:13}{dtype:11}{worst:10.2f}  {ours:8.2f}{theirs:8.2f}  {where}", flush=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()
