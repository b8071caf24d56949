"""Random linear systems with `np.linalg.solve`: one large system, and a stack of 1000 small ones.

    python examples/solve.py --backend cpu-parallel --size 2000

The check is the residual, which stays small where the systems are badly conditioned.
"""

import common
import numpy


def backward_error(a, x, b):
    """The largest normwise backward error |b - a x| / (|a| |x| + |b|) of the solutions `x` of `a x = b`.

    Rigal and Gaches (1967): the smallest relative change of `a` and `b` that makes `x` exact. It is
    evaluated by NumPy in float64, whatever computed `x`.
    """
    a, x, b = (numpy.asarray(m, dtype="float64") for m in (a, x, b))

    def norm(m):
        return numpy.max(numpy.sum(numpy.abs(m), axis=-1), axis=-1)

    return numpy.max(norm(b - a @ x) / (norm(a) * norm(x) + norm(b)))


def main():
    run = common.start(common.parser(__doc__, size=500, unit="unknowns of the large system"))
    np, n = run.xp, run.size
    small = 8

    np.random.seed(0)
    a = np.random.rand(n, n).astype(run.dtype)
    b = np.random.rand(n, 1).astype(run.dtype)
    x = run.time("large system", lambda: np.linalg.solve(a, b))

    stack = np.random.rand(1000, small, small).astype(run.dtype)
    sides = np.random.rand(1000, small, 1).astype(run.dtype)
    y = run.time("small systems", lambda: np.linalg.solve(stack, sides))

    run.check_dtype("large", x)
    run.check_dtype("small", y)
    for label, order, system in (("large", n, (a, x, b)), ("small", small, (stack, y, sides))):
        matrix, solution, side = (run.asnumpy(m) for m in system)
        run.check(f"{label} backward error", backward_error(matrix, solution, side), order * run.eps)
        numpys = backward_error(matrix, numpy.linalg.solve(matrix, side), side)
        run.note(f"{label}, with NumPy", float(numpys))
    run.finish()


if __name__ == "__main__":
    main()
