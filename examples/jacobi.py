"""Laplace's equation on a square by Jacobi's method: a 5-point stencil of slices, updated in place.

    python examples/jacobi.py --backend wgpu --dtype float32

The upper edge is held at 1, the other edges at 0.
"""

import common
import numpy


def plate(xp, n, dtype):
    """The start: `n` by `n` zeros with a hot upper edge."""
    u = xp.zeros((n, n), dtype=dtype)
    u[0, :] = 1.0
    return u


def neighbours(u):
    """The mean of the four neighbours of every inner point."""
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def jacobi(xp, u, sweeps):
    """`u` after so many sweeps, in place, and the Euclidean norm of the residual."""
    for _ in range(sweeps):
        u[1:-1, 1:-1] = neighbours(u)
    residual = neighbours(u) - u[1:-1, 1:-1]
    return u, xp.sqrt(xp.sum(residual * residual))


def main():
    arguments = common.parser(__doc__, size=512, unit="points on a side")
    arguments.add_argument("--sweeps", type=common.positive, default=100, help="(default: 100)")
    run = common.start(arguments)
    xp, n, sweeps = run.xp, run.size, run.args.sweeps

    u, residual = run.time("sweeps", lambda: jacobi(xp, plate(xp, n, run.dtype), sweeps))
    run.note("residual norm", float(residual))
    run.note("million points/s", 1e-6 * sweeps * (n - 2) ** 2 / run.seconds)

    run.check_dtype("plate", u)
    # A sweep averages, so it does not magnify errors and adds at most two roundings of values <= 1.
    expected, norm = jacobi(numpy, plate(numpy, n, "float64"), sweeps)
    error = numpy.abs(run.asnumpy(u) - expected)
    run.check("plate unlike NumPy's", numpy.max(error), 2 * sweeps * run.eps)
    run.check("residual unlike NumPy's", abs(float(residual) - norm), 4 * n * run.eps)
    run.finish()


if __name__ == "__main__":
    main()
