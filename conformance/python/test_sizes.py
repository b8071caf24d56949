"""Every kind of work on arrays longer than a block, a chunk and a task, stored or only described, against NumPy."""

import numpy as np
import pytest

#: Around the sizes at which the kernels change their ways.
SIZES = (1023, 1025, 32_769, 70_001)

#: Arrays that no memory holds before they are used, and one that it does.
SOURCES = {
    "stored": lambda xp, n: xp.asarray(np.arange(n, dtype=np.float32) % 1000 - 500),
    "arange": lambda xp, n: xp.arange(n, dtype=xp.int32),
    "arange of floats": lambda xp, n: xp.arange(0, n, dtype=xp.float32),
    "full": lambda xp, n: xp.full(n, 3, dtype=xp.int32),
    "zeros": lambda xp, n: xp.zeros(n, dtype=xp.float32),
    "linspace": lambda xp, n: xp.linspace(-1, 1, n, dtype=xp.float32),
    "one element, broadcast": lambda xp, n: xp.broadcast_to(xp.asarray([7], dtype=xp.int32), (n,)),
    "a range, reversed": lambda xp, n: xp.flip(xp.arange(n, dtype=xp.int32)),
    "every third": lambda xp, n: xp.arange(3 * n, dtype=xp.int32)[::3],
    "computed": lambda xp, n: xp.arange(n, dtype=xp.float32) * 2 - xp.full(n, 5, dtype=xp.float32),
    "chosen": lambda xp, n: xp.where(xp.arange(n, dtype=xp.int32) % 2 == 0, xp.ones(n), xp.zeros(n)),
}

WORK = {
    "sum": lambda xp, x: xp.sum(xp.astype(x, xp.float32) / 1024),
    "exact sum": lambda xp, x: xp.sum(xp.astype(x, xp.int32) % 7),
    "sum alone": lambda xp, x: xp.sum(x),
    "max": lambda xp, x: xp.max(x),
    "min": lambda xp, x: xp.min(x),
    "argmax": lambda xp, x: xp.argmax(x),
    "argmin": lambda xp, x: xp.argmin(x),
    "any": lambda xp, x: xp.any(x),
    "all": lambda xp, x: xp.all(x),
    "mean": lambda xp, x: xp.mean(xp.astype(x, xp.float32)),
    "std": lambda xp, x: xp.std(xp.astype(x, xp.float32)),
    "count_nonzero": lambda xp, x: xp.count_nonzero(x),
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(xp.astype(x, xp.int32) % 5, dtype=xp.int32),
    "sort": lambda xp, x: xp.sort(x),
    "argsort": lambda xp, x: xp.argsort(x, stable=True),
    "unique": lambda xp, x: xp.sort(xp.unique_values(x)),
    "reversed": lambda xp, x: x[::-1] + x,
    "mask": lambda xp, x: x[x > 2],
    "take": lambda xp, x: xp.take(x, xp.arange(x.shape[0] - 1, -1, -3)),
    "roll": lambda xp, x: xp.roll(x, 5),
    "repeat": lambda xp, x: xp.repeat(x, 2),
    "diff": lambda xp, x: xp.diff(x),
    "concat": lambda xp, x: xp.concat([x, x[:7]]),
    "searchsorted": lambda xp, x: xp.searchsorted(xp.sort(x), x),
    "nonzero": lambda xp, x: xp.nonzero(x)[0],
    "rows": lambda xp, x: xp.sum(xp.broadcast_to(x, (3, *x.shape)), axis=0),
    "columns": lambda xp, x: xp.max(xp.broadcast_to(x[:, None], (*x.shape, 3)), axis=0),
    "along columns": lambda xp, x: xp.min(xp.broadcast_to(x[:, None], (*x.shape, 3)), axis=1),
    "outer": lambda xp, x: xp.sum(x[:300, None] + x[None, :200], axis=0),
    "product": lambda xp, x: xp.vecdot(xp.astype(x, xp.float32) / 4096, xp.ones_like(x, dtype=xp.float32)),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("n", SIZES)
def test_work_on_long_arrays(xp, n, source):
    make = SOURCES[source]
    for name, work in WORK.items():
        theirs = np.asarray(work(np, make(np, n)))
        ours = np.asarray(xp.asnumpy(work(xp, make(xp, n))))
        assert ours.shape == theirs.shape, name
        assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-3), name
