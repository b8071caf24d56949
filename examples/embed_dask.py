"""rustarr inside Dask: tasks of a `distributed.LocalCluster` compute on the blocks that Dask hands them.

    python examples/embed_dask.py            # needs: pip install "dask[distributed]"

Dask's worker owns the threads; a task computes in the context of the cores that its thread may use, on Dask's memory:
`asarray(block, copy=False)` is a view, and `numpy.asarray(result)` hands the result over without a copy. A block that
came over the network may lie at any address; only one that is misaligned has to be copied.
"""

import argparse

import numpy
import rustarr


def view(xp, block):
    """A view of one of Dask's blocks."""
    return xp.asarray(numpy.require(block, requirements="A"), copy=False)


def norm_of_rows(block):
    """A task on one block, NumPy's in and NumPy's out."""
    with rustarr.Context.current_affinity() as context:
        xp = context.namespace
        x = view(xp, block)
        return numpy.asarray(xp.sqrt(xp.sum(x * x, axis=1)))


def standardise(block, mean, deviation):
    """A task that fills an output of Dask's in place."""
    out = numpy.empty_like(block)
    with rustarr.Context.current_affinity() as context:
        xp = context.namespace
        target = xp.asarray(out, copy=False)
        target[...] = (view(xp, block) - mean) / deviation
        rustarr.synchronize()
    return out


def run(client, rows, columns, blocks):
    """Norms of the rows of a standardised array, block by block on the cluster; with the array."""
    array = numpy.random.default_rng(0).normal(3.0, 2.0, (rows, columns))
    parts = numpy.array_split(array, blocks)
    means = client.map(numpy.mean, parts, pure=False)
    mean = client.submit(numpy.mean, means).result()
    scaled = client.map(standardise, client.scatter(parts), mean=mean, deviation=array.std(), pure=False)
    norms = client.gather(client.map(norm_of_rows, scaled, pure=False))
    return array, numpy.concatenate(norms)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", action="store_true", help="worker processes instead of threads")
    arguments = parser.parse_args()
    from distributed import Client, LocalCluster

    # All blocks have the same number of rows, so that the mean of their means is the mean.
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=arguments.processes, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        array, norms = run(client, rows=800, columns=500, blocks=8)
    expected = numpy.linalg.norm((array - array.mean()) / array.std(), axis=1)
    numpy.testing.assert_allclose(norms, expected, rtol=1e-10)
    print(f"{len(norms)} rows in 8 blocks, right")


if __name__ == "__main__":
    main()
