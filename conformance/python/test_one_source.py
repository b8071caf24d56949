"""One program, written once, in every namespace: equal integers and booleans, near floats, no transfer on the way."""

import gc

import numpy as np
import pytest
import rustarr
from conftest import CPU, open_namespace


def program(xp, n=3000):
    """Elementwise chains, reductions, products, sorting, indexing, writing."""
    k = xp.arange(n, dtype=xp.int32)
    x = xp.astype(k % 101, xp.float32) / 101 - xp.astype(k % 7, xp.float32)
    m = xp.reshape(x[: 50 * 60], (50, 60))
    wave = xp.exp(-x * x) * 2 + xp.sin(x)
    masked = xp.where(x > 0, wave, -wave)
    y = xp.asarray(x, copy=True)
    y[::2] = y[1::2] * 3
    y[y < -4] = 0.5
    return {
        "counts": xp.sum(xp.astype(masked > 0, xp.int32)),
        "remainders": k // 7 - k % 13,
        "bits": (k << 3) ^ (k >> 1),
        "any": xp.any(x > 0.99, axis=0),
        "order": xp.argsort(k % 17),
        "largest": xp.argmax(wave),
        "found": xp.searchsorted(xp.sort(x), x[:5]),
        "unique": xp.unique_values(k % 11),
        "taken": xp.take(k, k[:70] * 3),
        "chain": masked,
        "sum": xp.sum(xp.exp(x) * 0.5 + 1),
        "mean": xp.mean(m, axis=1),
        "std": xp.std(m, axis=0, correction=1),
        "product": m @ m.T,
        "sorted": xp.sort(masked),
        "running": xp.cumulative_sum(x[:100]),
        "written": y,
        "solution": xp.linalg.solve(m[:, :50] + 60 * xp.eye(50, dtype=xp.float32), m[:, 0]),
        "spectrum": xp.abs(xp.fft.rfft(x[:128])),
    }


@pytest.mark.parametrize("n", [3000, 40_000])
def test_the_results_agree(xp, n):
    want = program(open_namespace("cpu-serial"), n)
    for name, got in program(xp, n).items():
        a, b = rustarr.asnumpy(got), rustarr.asnumpy(want[name])
        assert a.dtype == b.dtype and a.shape == b.shape, name
        if a.dtype.kind == "f" and xp.context.name not in CPU:
            size = np.max(np.abs(b))
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6 * size, err_msg=name)
        else:
            assert a.tobytes() == b.tobytes(), name


def test_nothing_is_transferred_on_the_way(gpu):
    context = rustarr.Context("wgpu")
    xp = context.namespace
    x = xp.asarray(np.linspace(0, 1, 10_000, dtype=np.float32))
    xp.synchronize()
    context.reset_stats()
    y = xp.sqrt(x * 2.0 + 1) - xp.exp(-x)
    m = xp.reshape(y, (100, 100))
    z = xp.sum(m * m.T, axis=0) + xp.max(y)
    z[3:50] = 0.25
    xp.synchronize()
    stats = context.stats()
    assert stats["fallbacks"] == 0 and stats["bytes_transferred"] == 0, stats
    assert z.shape == (100,)


def test_memory_is_flat(xp):
    context = rustarr.Context(xp.context.name)
    own = context.namespace
    x = own.ones(2000, dtype=own.float32)

    def rounds(n, x):
        for _ in range(n):
            y = (x + 1) * (x - 2) + own.sqrt(x) * 0.5
            y += x
        return float(y[0])

    rounds(10, x)
    context.release()
    before = context.memory_info()["in_use"]
    rounds(1000 if xp.context.name in CPU else 100, x)
    context.release()
    assert context.memory_info()["in_use"] <= before * 1.05 + 4096
    del x
    gc.collect()
    own.synchronize()
    context.release()
    info = context.memory_info()
    assert info["in_use"] <= 4096 and info["cached"] == 0, info


@pytest.mark.skipif(not hasattr(__import__("os"), "sched_getaffinity"), reason="threads are counted in /proc")
def test_contexts_come_and_go(cpu):
    import os
    import time

    def once():
        context = rustarr.Context(cpu.context.name)
        xp = context.namespace
        assert float(xp.sum(xp.ones(200_000))) == 200_000
        context.close()

    def threads():
        return len(os.listdir("/proc/self/task"))

    once()
    gc.collect()
    before = threads()
    for _ in range(100):
        once()
    gc.collect()
    end = time.monotonic() + 30
    while threads() > before and time.monotonic() < end:
        time.sleep(0.05)
    assert threads() <= before


# ------------------------------------------------------------------------------------ sizes


def test_reductions_over_more_elements_than_32_bits_count(cpu):
    n = 2**32 + 5
    x = cpu.broadcast_to(cpu.asarray([[1], [2], [3]], dtype=cpu.uint8), (3, n))
    assert x.size == 3 * n and int(x[2, n - 1]) == 3
    assert int(cpu.sum(x[2, : 2**31 + 3])) == 3 * (2**31 + 3)
    assert int(cpu.argmin(x[:, -1])) == 0 and int(cpu.max(x[:2, 2**32 :])) == 2


@pytest.mark.parametrize("mebibytes", [129, 257])
def test_arrays_above_the_usual_binding_limits(gpu, mebibytes):
    n = mebibytes << 18
    x = gpu.arange(n, dtype=gpu.int32) % 1000
    x += 1
    assert int(x[n - 1]) == (n - 1) % 1000 + 1 and int(gpu.max(x)) == 1000
    assert x[::65_536][:3].tolist() == [(i * 65_536) % 1000 + 1 for i in range(3)]


def test_an_array_that_no_buffer_holds_is_refused_or_works(gpu):
    n = (2 << 28) + (1 << 25)
    try:
        x = gpu.zeros(n, dtype=gpu.int32)
        x[n - 1] = 7
        assert int(x[n - 1]) == 7
    except (MemoryError, ValueError) as error:
        assert "bytes" in str(error) or "GiB" in str(error) or "MiB" in str(error)
    assert int(gpu.sum(gpu.ones(3, dtype=gpu.int32))) == 3


# ------------------------------------------------------------------------------------ dtypes that a device lacks


def test_what_a_device_lacks_is_refused_by_name_or_right(gpu):
    strict = rustarr.Context("wgpu", fallback="error").namespace
    info = strict.__array_namespace_info__()
    for name, dtype in info.dtypes().items():
        for make in (
            lambda: strict.zeros(3, dtype=dtype),
            lambda: strict.ones(3, dtype=dtype),
            lambda: strict.full(3, 1, dtype=dtype),
            lambda: strict.asarray([1, 0, 1], dtype=dtype),
            lambda: strict.astype(strict.ones(3, dtype=strict.float32), dtype),
            lambda: strict.eye(3, dtype=dtype),
            lambda: strict.sum(strict.ones(3, dtype=strict.float32), dtype=dtype),
        ):
            try:
                result = make()
                result.tolist()
                assert result.dtype == dtype
            except TypeError as error:
                assert name in str(error) and "fallback" in str(error), error
