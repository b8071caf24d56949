"""`linalg` beside NumPy on the same matrices, and what it does with matrices that have no answer.

A sample of sizes; `linalg_accuracy.py` measures all of them.
"""

import linalg_accuracy as accuracy
import numpy as np
import pytest
import rustarr
from conftest import ALL, open_namespace

# Errors in single precision are measured in double, which is fast.
SIZES = {
    "float32": (1, 2, 5, 17, 60),
    "complex64": (1, 3, 16, 40),
    "float64": (2, 4, 7, 20),
    "complex128": (1, 3, 13),
}


@pytest.mark.parametrize("dtype", accuracy.DTYPES)
@pytest.mark.parametrize("function", accuracy.CHECKS)
def test_no_worse_than_numpy(function, dtype):
    xp = open_namespace("cpu-parallel")
    for n in SIZES[dtype]:
        for what, kind, ours, theirs in accuracy.compare(xp, function, n, dtype):
            assert accuracy.excess(ours, theirs) <= 1, f"{what}, {kind} {n}: {ours:.2f} epsilons, NumPy's {theirs:.2f}"


def test_measures_find_errors():
    """A result off by a thousand epsilons is one too many by every measure."""

    class Worse:
        def __getattr__(self, name):
            def call(*args, **keywords):
                out = getattr(np.linalg, name)(*args, **keywords)

                def spoil(x):
                    return x if x.dtype.kind == "i" else x * (1 + 1000 * np.finfo(x.dtype).eps)

                return tuple(map(spoil, out)) if isinstance(out, tuple) else spoil(out)

            return call

    for function in accuracy.CHECKS:
        if function == "matrix_rank":
            continue
        with np.errstate(all="ignore"):
            found = accuracy.errors(Worse(), function, "random", 8, "float64")
            fair = accuracy.errors(np.linalg, function, "random", 8, "float64")
        assert any(accuracy.excess(found[name], fair[name]) > 1 for name in found), function


MATRICES = [
    "solve", "inv", "det", "slogdet", "cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "pinv",
    "matrix_rank", "matrix_norm",
]  # fmt: skip


def call(xp, name, x):
    function = getattr(xp.linalg, name)
    return function(x, x) if name == "solve" else function(x, ord=2) if name == "matrix_norm" else function(x)


@pytest.mark.parametrize("dtype", accuracy.DTYPES)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_a_batch_is_its_members(cpu, shape, dtype):
    """Small ones are computed together, which changes nothing but the last digits; views are as good as copies."""
    rng = np.random.default_rng(1)
    for n in (1, 2, 4, 16, 20):
        x = (accuracy.normal(rng, (*shape, n, 2 * n), np.dtype(dtype))[..., ::2] + 3 * n * np.eye(n)).astype(dtype)
        h = (x + accuracy.adjoint(x)).astype(dtype)
        for name, a in (("solve", x), ("inv", x), ("det", x), ("cholesky", h), ("eigvalsh", h)):
            got = np.asarray(call(cpu, name, cpu.asarray(a)))
            strided = np.asarray(call(cpu, name, cpu.asarray(a[..., ::-1, ::-1])[..., ::-1, ::-1]))
            assert got.tobytes() == strided.tobytes()
            for index in np.ndindex(shape):
                alone = np.asarray(call(cpu, name, cpu.asarray(a[index])))
                np.testing.assert_allclose(got[index], alone, rtol=100 * n * np.finfo(dtype).eps, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30])
@pytest.mark.parametrize("batch", [(), (6,)])
def test_singular(cpu, n, batch):
    error = rustarr.LinAlgError
    a = np.broadcast_to(np.eye(n) * (np.arange(n) > 0), (*batch, n, n))
    x = cpu.asarray(a.copy())
    for call_ in (lambda: cpu.linalg.inv(x), lambda: cpu.linalg.solve(x, x), lambda: cpu.linalg.matrix_power(x, -2)):
        with pytest.raises(error, match="singular"):
            call_()
    with pytest.raises(error, match="positive definite"):
        cpu.linalg.cholesky(x)
    with pytest.raises(error, match="positive definite"):
        cpu.linalg.cholesky(cpu.asarray(-np.broadcast_to(np.eye(n), a.shape)))
    assert (np.asarray(cpu.linalg.det(x)) == 0).all()
    sign, log = cpu.linalg.slogdet(x)
    assert (np.asarray(sign) == 0).all() and (np.asarray(log) == -np.inf).all()
    assert (np.asarray(cpu.linalg.matrix_rank(x)) == n - 1).all()
    np.testing.assert_allclose(np.asarray(cpu.linalg.pinv(x)), a, atol=1e-15)
    falling = np.sort(np.diagonal(a, axis1=-2, axis2=-1))[..., ::-1]
    np.testing.assert_array_equal(np.asarray(cpu.linalg.svdvals(x)), falling)


def test_one_bad_matrix_of_a_batch_is_named(cpu):
    for n in (2, 20):
        a = np.tile(np.eye(n), (3, 4, 1, 1))
        a[1, 2, 0, 0] = 0
        with pytest.raises(rustarr.LinAlgError, match=r"matrix \[1, 2\] of the batch"):
            cpu.linalg.inv(cpu.asarray(a))


@pytest.mark.parametrize("dtype", accuracy.DTYPES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("batch", [(), (9,)])
@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_not_finite(cpu, n, batch, value, dtype):
    """Iterations refuse what they cannot end on, as NumPy's do; elimination lets it spread. Nothing hangs."""
    rng = np.random.default_rng(2)
    a = accuracy.normal(rng, (*batch, n, n), np.dtype(dtype)).astype(dtype)
    a[..., n - 1, n // 2] = value
    x = cpu.asarray(a)
    for name in MATRICES:
        if name in ("solve", "inv", "det", "slogdet", "qr"):
            out = call(cpu, name, x)
            out = [np.asarray(o) for o in (out if isinstance(out, tuple) else (out,))]
            assert not all(np.isfinite(o).all() for o in out) or name in ("solve", "inv"), name
        else:
            with pytest.raises(rustarr.LinAlgError):
                call(cpu, name, x)


@pytest.mark.parametrize("spec", ALL)
def test_hard_matrices(spec):
    """Low rank to the end of the range, defective, rotations, graded without end: all decompositions hold."""
    xp = open_namespace(spec)
    la = accuracy.Face(xp)
    n = 60
    i, j = np.indices((n, n))
    matrices = [
        np.ones((n, n)),
        np.outer(np.arange(n), np.arange(n)) * 1.0,
        2.0 ** (-20.0 * (i + j)),
        np.eye(n) + np.eye(n, k=1),
        np.roll(np.eye(n), 1, axis=1),
        np.triu(np.ones((n, n))),
        np.diag(10.0 ** -np.arange(0, 6 * n, 6)),
        np.eye(n) * (i < 20),
        np.zeros((n, n)),
    ]
    for number, matrix in enumerate(matrices):
        for a in (matrix, matrix * 1e-300, matrix * 1e300):
            unit = 20 * n * np.finfo(float).eps * max(np.abs(a).max(), 5e-324)
            u, s, vh = la.svd(a)
            assert np.abs((u * s) @ vh - a).max() <= unit, number
            assert np.abs(la.svdvals(a) - s).max() <= unit, number
            q, r = la.qr(a)
            assert np.abs(q @ r - a).max() <= unit, number
            h = a + a.T if np.abs(a).max() < 1e300 else a
            h = np.maximum(h, h.T)
            w, v = la.eigh(h)
            assert np.abs((v * w) @ v.T - h).max() <= 2 * unit, number
            w, v = la.eig(a)
            assert np.abs(a @ v - v * w).max() <= unit, number
            for basis in (u, vh, q):
                assert np.abs(basis.T @ basis - np.eye(n)).max() <= 1e-13, number
