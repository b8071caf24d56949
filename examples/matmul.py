"""Matrix product of two random matrices, as an import-switch program: `np` is NumPy or rustarr.

    python examples/matmul.py --backend cpu-parallel --size 5000

The default size is small enough for a software GPU.
"""

import common
import numpy


def main():
    run = common.start(common.parser(__doc__, size=1000, unit="rows and columns"))
    np, n = run.xp, run.size

    np.random.seed(0)
    a = run.time("random.rand", lambda: np.random.rand(n, n).astype(run.dtype))
    b = np.random.rand(n, n).astype(run.dtype)
    c = run.time("dot", lambda: np.dot(a, b))
    run.note("dot GFLOP/s", 2e-9 * n**3 / run.steps["dot"]["median"])

    run.check_dtype("product", c)
    # All entries are positive, so the standard bound on the error of a dot product of length n is
    # relative: n u / (1 - n u) with u = eps / 2 (Higham, Accuracy and Stability, section 3.1).
    a, b, c = (run.asnumpy(x) for x in (a, b, c))
    expected = numpy.dot(a.astype("float64"), b.astype("float64"))
    run.check("relative error", numpy.max(numpy.abs(c - expected) / expected), n * run.eps)
    # The entries are uniform in [0, 1): six deviations of their mean.
    run.check("mean of entries - 1/2", abs(numpy.mean(a, dtype="float64") - 0.5), 6 * (1 / 12) ** 0.5 / n)
    run.finish()


if __name__ == "__main__":
    main()
