"""Contexts belong to a thread, a task or an object, never to a hidden global."""

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import rustarr

SERIAL, PARALLEL = rustarr.Context("cpu-serial"), rustarr.Context("cpu-parallel", threads=2)


def run(code, **environment):
    """What a fresh process prints."""
    out = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**{k: v for k, v in os.environ.items() if not k.startswith("RUSTARR_")}, **environment},
    )
    assert out.returncode == 0, out.stderr
    return out.stdout.strip()


def test_with_nests_and_restores():
    default = rustarr.current_context()
    with SERIAL as entered:
        assert entered is SERIAL and rustarr.current_context() == SERIAL
        assert rustarr.ones(2).context == SERIAL
        with PARALLEL, SERIAL, PARALLEL:
            assert rustarr.zeros(2).context == PARALLEL
        assert rustarr.current_context() == SERIAL
        with pytest.raises(KeyError), PARALLEL:
            raise KeyError
        assert rustarr.current_context() == SERIAL
    assert rustarr.current_context() == default


def test_threads_do_not_see_each_other():
    barrier, seen = threading.Barrier(2, timeout=30), {}

    def one(name, context, first):
        order = [context]
        if first:
            context.__enter__()
            barrier.wait()
            barrier.wait()
            order.append(rustarr.current_context())
            context.__exit__(None, None, None)
            barrier.wait()
            barrier.wait()
        else:
            barrier.wait()
            context.__enter__()
            barrier.wait()
            barrier.wait()
            order.append(rustarr.current_context())
            context.__exit__(None, None, None)
            barrier.wait()
        order.append(rustarr.current_context())
        seen[name] = order

    threads = [
        threading.Thread(target=one, args=("a", SERIAL, True)),
        threading.Thread(target=one, args=("b", PARALLEL, False)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    default = rustarr.current_context()
    assert seen == {"a": [SERIAL, SERIAL, default], "b": [PARALLEL, PARALLEL, default]}


def test_a_fresh_thread_has_the_default():
    default = rustarr.current_context()
    with SERIAL, ThreadPoolExecutor(1) as pool:
        assert pool.submit(rustarr.current_context).result() == default


def test_asyncio_tasks_keep_their_own():
    async def task(context):
        with context:
            await asyncio.sleep(0.01)
            return rustarr.current_context() == context

    async def main():
        return await asyncio.gather(*(task(c) for c in (SERIAL, PARALLEL) * 5))

    assert all(asyncio.run(main()))


def test_arrays_compute_where_they_are():
    x = SERIAL.namespace.ones(3)
    with PARALLEL:
        assert (x + 1).context == SERIAL and rustarr.exp(x).context == SERIAL
    y = PARALLEL.namespace.ones(3)
    assert (x + y).context == SERIAL and (y + x).context == PARALLEL
    with PARALLEL:
        assert (x + y).context == PARALLEL
    assert PARALLEL.namespace.asarray(x).context == PARALLEL
    assert x.device == y.device == "cpu"


def test_moving_to_another_host_context_shares_memory():
    x = SERIAL.namespace.zeros(3)
    y = PARALLEL.namespace.asarray(x)
    y[0] = 5
    assert float(x[0]) == 5


def test_an_array_is_usable_in_any_thread(xp):
    x = xp.exp(xp.zeros(100, dtype=xp.float32))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: float(xp.sum(x))).result() == 100
        assert pool.submit(lambda: repr(x[:2])).result() == repr(x[:2])
        assert pool.submit(lambda: rustarr.asnumpy(x).sum()).result() == 100


def test_set_default_context():
    before = rustarr.current_context()
    try:
        rustarr.set_default_context(SERIAL)
        assert rustarr.zeros(1).context == SERIAL
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(rustarr.current_context).result() == SERIAL
        with PARALLEL:
            assert rustarr.current_context() == PARALLEL
    finally:
        rustarr.set_default_context(None)
    assert rustarr.current_context() == before


def test_environment():
    show = "import rustarr; print(rustarr.current_context().name, rustarr.zeros(1).context.fallback)"
    assert run(show) == "cpu-parallel warn"
    assert run(show, RUSTARR_BACKEND="cpu-serial", RUSTARR_FALLBACK="allow") == "cpu-serial allow"
    for name, value in (
        ("RUSTARR_BACKEND", "cpu-imaginary"),
        ("RUSTARR_FALLBACK", "maybe"),
        ("RUSTARR_DEFER", "later"),
        ("RUSTARR_GRAIN", "-1"),
        ("RUSTARR_ALLOW_SOFTWARE", "perhaps"),
    ):
        code = (
            "import rustarr\ntry: rustarr.zeros(1)\nexcept ValueError as error: print(error)\nelse: print('no error')"
        )
        told = run(code, **{name: value})
        assert value in told and (name in told or "backend" in told), told


@pytest.mark.parametrize(
    "arguments, options",
    [
        (("cpu-imaginary",), {}), ((":1",), {}), (("wgpu:",), {}), (("cpu-serial:1",), {}),
        (("cpu-parallel",), {"threads": 0}), (("cpu-serial",), {"threads": 2}),
        (("cpu-serial",), {"cores": []}), (("cpu-parallel",), {"cores": []}),
        (("cpu-parallel",), {"cores": [10**6]}), (("cpu-serial",), {"cores": [10**6]}),
        (("cpu-serial",), {"fallback": "perhaps"}), (("cpu-serial",), {"default_float": "int8"}),
        (("wgpu:0",), {"device": 1}),
        (("wgpu:99",), {}), (("wgpu",), {"device": "no such adapter"}),
    ],
    ids=str,
)  # fmt: skip
def test_bad_settings(arguments, options):
    with pytest.raises(ValueError):
        rustarr.Context(*arguments, **options)


@pytest.mark.parametrize("options", [{"threads": "2"}, {"cores": 1}, {"colour": 1}, {"threads": 1.5}])
def test_settings_of_a_wrong_type(options):
    with pytest.raises(TypeError):
        rustarr.Context("cpu-parallel", **options)


def test_attributes():
    assert (PARALLEL.name, PARALLEL.threads, PARALLEL.fallback) == ("cpu-parallel", 2, "warn")
    assert PARALLEL.device == SERIAL.device == "cpu" and str(PARALLEL.device) == "cpu"
    assert PARALLEL != SERIAL and len({PARALLEL, SERIAL, rustarr.ones(1).context}) == 3
    assert PARALLEL.default_float == "float64" and not PARALLEL.closed
    assert repr(PARALLEL) == '<rustarr.Context "cpu-parallel", threads=2>'
    chosen = rustarr.Context("cpu-serial", default_float="float32").namespace
    assert chosen.ones(1).dtype == chosen.linspace(0, 1, 3).dtype == chosen.asarray(1.5).dtype == "float32"
    assert chosen.ones(1, dtype="float64").dtype == "float64"


def test_counters_show_fusion(xp):
    context = rustarr.Context(xp.context.name)
    xp = context.namespace
    host = np.linspace(0, 1, 4 * 100_000, dtype=np.float32).reshape(4, -1)
    a, b, c, d = (xp.asarray(row) for row in host)
    context.reset_stats()
    y = (a * b + c) * d - a
    assert context.stats()["maps"] == 0
    got = xp.asnumpy(y)
    stats = context.stats()
    assert (stats["maps"], stats["reduces"], stats["fallbacks"]) == (1, 0, 0), stats
    assert np.allclose(got, (host[0] * host[1] + host[2]) * host[3] - host[0], atol=1e-6)
    context.reset_stats()
    total = float(xp.sum(xp.exp(-a * a) * 2 + 1))
    stats = context.stats()
    assert (stats["maps"], stats["reduces"], stats["fallbacks"]) == (0, 1, 0), stats
    assert stats["bytes_allocated"] < 4096, stats
    assert abs(total / (np.exp(-host[0].astype(float) ** 2) * 2 + 1).sum() - 1) < 1e-5


def test_memory_that_others_may_change_is_read_at_the_call(cpu):
    context = rustarr.Context(cpu.context.name)
    host = np.ones(100_000)
    x = context.namespace.asarray(host, copy=False)
    context.reset_stats()
    y = x * 2.0 + x
    assert context.stats()["maps"] == 2
    host[:] = 7
    assert y.tolist()[:2] == [3.0, 3.0]


def test_synchronize_runs_what_somebody_holds(xp):
    context = rustarr.Context(xp.context.name)
    own = context.namespace
    x = own.asarray([0.5] * 100_000, dtype=own.float32)
    for wait in (rustarr.synchronize, own.synchronize, context.synchronize):
        context.reset_stats()
        kept, dropped = (x + 1) * 2, own.exp(x)
        del dropped
        assert context.stats()["maps"] == 0
        wait()
        assert context.stats()["maps"] == 1
        assert float(kept[7]) == 3 and context.stats()["maps"] <= 2
    for _ in range(500):
        x + 1
    wait()


def test_devices():
    found = {device["spec"]: device for device in rustarr.devices()}
    assert {"cpu-serial", "cpu-parallel"} <= found.keys()
    for device in found.values():
        assert device["name"] and device["kind"] and device["api"] and device["threads"] >= 1
        assert "float32" in device["dtypes"] and device["refused"] in (None, str(device["refused"]))
    out = run("import rustarr; print([d['spec'] for d in rustarr.devices() if d['refused']])")
    for device in found.values():
        if device["kind"] in ("cpu", "software") and device["spec"].startswith("wgpu"):
            # Without leave a software adapter is listed, with the reason why it is not used.
            assert device["spec"] in out


def test_memory_account(cpu):
    context = rustarr.Context(cpu.context.name)
    x = context.namespace.ones(1 << 18)
    x.tolist()
    info = context.memory_info()
    assert info["in_use"] >= x.nbytes and info["peak"] >= info["in_use"] and info["limit"] is None
    del x
    context.release()
    assert context.memory_info()["in_use"] < 1 << 20 and context.memory_info()["cached"] == 0


def test_a_closed_context_is_not_entered():
    closed, before = rustarr.Context("cpu-serial"), rustarr.current_context()
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        rustarr.set_default_context(closed)
    with pytest.raises(ValueError, match="closed"), closed:
        pass
    assert rustarr.current_context() == before


def test_negative_settings_are_values_out_of_range():
    for options in ({"threads": -1}, {"threads": -(2**70)}, {"memory_limit": -1}, {"device": -1}, {"cores": [-1]}):
        with pytest.raises(ValueError, match="Context"):
            rustarr.Context("cpu-parallel", **options)
    with pytest.raises(ValueError, match="set_memory_limit"):
        SERIAL.set_memory_limit(-1)
    with pytest.raises(TypeError, match="bool"):
        rustarr.Context("cpu-parallel", threads=True)


def test_dropped_uploads_to_a_gpu_are_freed(gpu):
    grown = run(
        """
import numpy, resource, rustarr
xp = rustarr.namespace("wgpu")
host = numpy.ones(20480, "float32")
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
xp.asarray(host)
rustarr.synchronize()
before = peak()
for _ in range(10_000):
    xp.asarray(host)
print((peak() - before) // 1024)
""",
        RUSTARR_ALLOW_SOFTWARE="1",
    )
    # 800 MB were uploaded, in peak memory of megabytes.
    assert int(grown) < 400
