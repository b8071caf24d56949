"""One stream of array tasks on serial, parallel and GPU workers, and on a mix of them.

    python examples/tasks_portable.py
    python examples/tasks_portable.py --tasks 400 --size 10000 --scheduler dmda

Pendulums are moved by tasks: one function, written once, steps a block of them in place, and a second one measures
their energy. Tasks on one block follow each other, blocks are independent. Every set of workers has to give the same
angles as a plain loop with NumPy; the program says where each task went. Without a GPU adapter that set is left out.
"""

import argparse
import os
import time
from collections import Counter

import numpy as np

os.environ.setdefault("RUSTARR_ALLOW_SOFTWARE", "1")

import rustarr
from rustarr.tasks import Runtime, access, explain, task_submit

#: What a step is long.
SECONDS = 0.01


@access(position="RW", velocity="RW")
def step(position, velocity, seconds, xp):
    """Moves pendulums by the symplectic Euler method."""
    velocity -= xp.sin(position) * seconds
    position += velocity * seconds


@access(position="R", velocity="R")
def energy(position, velocity, xp):
    """The sum of the pendulums' energies."""
    return float(xp.sum(velocity * velocity / 2 + 1 - xp.cos(position)))


def start(xp, blocks, size):
    """Angles and angular velocities of each block of pendulums."""
    at = np.linspace(0, 3, blocks * size, dtype=np.float32).reshape(blocks, size)
    return [(xp.asarray(row), xp.zeros(size, dtype=xp.float32)) for row in at]


def stream(xp, blocks, steps, size):
    """Submits all tasks; gives the blocks, the steps' futures and the energies' futures."""
    particles = start(xp, blocks, size)
    move = task_submit(name="step", perfmodel="tasks_portable.step")
    measure = task_submit(name="energy", priority=1, perfmodel="tasks_portable.energy")
    moved, energies = [], []
    for _ in range(steps):
        for position, velocity in particles:
            moved.append(move(step, position, velocity, SECONDS))
    for position, velocity in particles:
        energies.append(measure(energy, position, velocity))
    return particles, moved, energies


def loop(blocks, steps, size):
    """The same with NumPy, one after the other."""
    particles = start(np, blocks, size)
    for position, velocity in particles:
        for _ in range(steps):
            step(position, velocity, np.float32(SECONDS), np)
    return particles, [energy(position, velocity, np) for position, velocity in particles]


def worker_sets():
    """The names of each set's workers."""
    sets = {"serial": ["cpu-serial"], "two serial": ["cpu-serial"] * 2, "parallel": ["cpu-parallel"]}
    if any(device["spec"].startswith("wgpu") and not device["refused"] for device in rustarr.devices()):
        sets |= {"gpu": ["wgpu"], "mix": ["cpu-serial", "cpu-parallel", "wgpu"]}
    return sets


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=320, help="how many tasks (default: %(default)s)")
    parser.add_argument("--size", type=int, default=20_000, help="pendulums in a block (default: %(default)s)")
    parser.add_argument(
        "--scheduler", choices=["eager", "prio", "ws", "dmda"], help="by default RUSTARR_SCHED, then eager"
    )
    options = parser.parse_args()
    blocks = 8
    steps = max(1, options.tasks // blocks - 1)
    wanted, wanted_energies = loop(blocks, steps, options.size)
    for name, workers in worker_sets().items():
        with Runtime(workers, scheduler=options.scheduler) as runtime:
            begin = time.perf_counter()
            particles, moved, energies = stream(runtime.workers[0].namespace, blocks, steps, options.size)
            measured = [future.result() for future in energies]
            seconds = time.perf_counter() - begin
            places = Counter(explain(future).worker for future in [*moved, *energies])
            error = max(
                float(np.max(np.abs(rustarr.asnumpy(got) - want)))
                for block, block_wanted in zip(particles, wanted, strict=True)
                for got, want in zip(block, block_wanted, strict=True)
            )
            assert error < 1e-4, f"{name}: positions differ by {error}"
            np.testing.assert_allclose(measured, wanted_energies, rtol=1e-4)
        told = ", ".join(f"{count} on {place}" for place, count in sorted(places.items()))
        print(f"{name:>10}: {sum(places.values())} tasks in {seconds:.3f} s: {told}; largest difference {error:.1e}")


if __name__ == "__main__":
    main()
