"""k-means by broadcasting: all pairwise distances at once, and means by one-hot sums.

    python examples/kmeans.py --backend cpu-parallel --size 100000

The only loop is the one over the rounds.
"""

import common
import numpy


def distances(xp, points, centres):
    """The squared distance of every point to every centre: (n, d) and (k, d) to (n, k)."""
    return xp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1)


def kmeans(xp, points, centres, rounds):
    """Lloyd's algorithm: centres (k, d), the label of every point (n,) and the mean squared distance."""
    clusters = xp.arange(centres.shape[0])
    for _ in range(rounds):
        labels = xp.argmin(distances(xp, points, centres), axis=1)
        member = xp.astype(labels[:, None] == clusters[None, :], points.dtype)
        count = xp.sum(member, axis=0)[:, None]
        total = xp.sum(member[:, :, None] * points[:, None, :], axis=0)
        centres = xp.where(count > 0, total / xp.maximum(count, 1.0), centres)
    squared = distances(xp, points, centres)
    return centres, xp.argmin(squared, axis=1), xp.mean(xp.min(squared, axis=1))


def blobs(n, dtype, clusters=8, dimensions=4):
    """`n` points around well separated centres, one start per cluster, and the true labels, in NumPy."""
    generator = numpy.random.default_rng(0)
    corners = numpy.arange(clusters)[:, None] >> numpy.arange(dimensions)[None, :] & 1
    truth = generator.integers(clusters, size=n)
    points = 10.0 * corners[truth] + generator.uniform(-2, 2, (n, dimensions))
    start = 10.0 * corners + generator.uniform(-2, 2, (clusters, dimensions))
    return points.astype(dtype), start.astype(dtype), truth


def main():
    arguments = common.parser(__doc__, size=20_000, unit="points")
    arguments.add_argument("--rounds", type=common.positive, default=5, help="(default: 5)")
    run = common.start(arguments)
    xp, rounds = run.xp, run.args.rounds

    host_points, host_start, truth = blobs(run.size, run.args.dtype)
    points, start = xp.asarray(host_points), xp.asarray(host_start)
    centres, labels, spread = run.time("rounds", lambda: kmeans(xp, points, start, rounds))
    run.note("mean squared distance", float(spread))

    run.check_dtype("centres", centres)
    # Coordinates lie within 2 of their blob's centre and blobs are 10 apart: rounding moves no label.
    expected, expected_labels, expected_spread = kmeans(
        numpy, host_points.astype("float64"), host_start.astype("float64"), rounds
    )
    labels = run.asnumpy(labels)
    run.check("labels unlike NumPy's", numpy.count_nonzero(labels != expected_labels), 0)
    run.check("labels unlike the truth", numpy.count_nonzero(labels != truth), 0)
    # Summing m numbers in any order is off by at most m roundings of the sum of their magnitudes.
    scale = numpy.max(numpy.abs(host_points))
    limit = max(numpy.bincount(expected_labels)) * run.eps
    run.check("centres unlike NumPy's", numpy.max(numpy.abs(run.asnumpy(centres) - expected)) / scale, limit)
    run.check("spread unlike NumPy's", abs(float(spread) - expected_spread) / scale**2, limit)
    run.finish()


if __name__ == "__main__":
    main()
