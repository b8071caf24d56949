"""rustarr inside Legate tasks: `saxpy` on stores that Legate has placed, on the cores that Legate has given.

    python examples/embed_legate.py

With Legate installed, the task body below is the body of a Legate task:

    from legate.core.task import InputArray, OutputArray, task

    @task
    def saxpy_task(a: float, x: InputArray, y: OutputArray) -> None:
        saxpy(a, x, y)

Legate hands over stores that `numpy.asarray` turns into views of its memory: inputs read-only, outputs writable, either
of them with strides. It binds the threads of its processors; the context follows the mask. Here `Store` stands for
Legate's: an object with `__array_interface__` over a part of a larger allocation.
"""

import numpy
import rustarr


def saxpy(a, x, y):
    """y = a * x + y, in place. The stores may be anything that `numpy.asarray` views."""
    with rustarr.Context.current_affinity() as context:
        xp = context.namespace
        given = xp.asarray(numpy.asarray(x), copy=False)
        target = xp.asarray(numpy.asarray(y), copy=False)
        target += a * given
        # Legate may move the stores as soon as the task returns.
        rustarr.synchronize()


class Store:
    """A part of an allocation with the protocol of a Legate store: shape, dtype and memory, read-only or not."""

    def __init__(self, memory, writable):
        self._memory = memory
        self._writable = writable

    @property
    def shape(self):
        return self._memory.shape

    @property
    def __array_interface__(self):
        interface = dict(self._memory.__array_interface__)
        interface["data"] = (interface["data"][0], not self._writable)
        interface["strides"] = self._memory.strides
        return interface


def tiles(memory, rows, columns):
    """The views that a partition of a two-dimensional allocation consists of."""
    for i in range(0, memory.shape[0], rows):
        for j in range(0, memory.shape[1], columns):
            yield memory[i : i + rows, j : j + columns]


def run(shape, tile, a):
    """Runs the task on every tile of two allocations; the input, the output before, the output after."""
    rng = numpy.random.default_rng(0)
    x, y = rng.random(shape), rng.random(shape[::-1]).T  # row by row, and column by column
    before = y.copy()
    for part_x, part_y in zip(tiles(x, *tile), tiles(y, *tile), strict=True):
        saxpy(a, Store(part_x, writable=False), Store(part_y, writable=True))
    return x, before, y


def main():
    x, before, after = run((600, 900), (200, 250), 2.5)
    numpy.testing.assert_allclose(after, 2.5 * x + before, rtol=1e-14)
    print("12 tiles, right")


if __name__ == "__main__":
    main()
