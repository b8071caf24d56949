"""Arrays, contexts, namespaces, devices, dtypes and generators travel between processes."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
import rustarr
from test_dtype import NAMES

PROTOCOLS = (2, 4, pickle.HIGHEST_PROTOCOL)


def again(obj, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(obj, protocol))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NAMES)
def test_arrays(xp, name, protocol):
    x = xp.asarray(np.array([[1, 0, 1], [0, 1, 1]]).astype(name))
    for given in (x, x.T, x[::-1, ::2], x[:, :0], x[0, 1]):
        back = again(given, protocol)
        assert back.dtype == name and back.shape == given.shape and back.device == given.device
        assert back.context == given.context
        assert back.tolist() == given.tolist()
    copied = again(x)
    copied[0, 0] = 0
    assert int(x.real[0, 0]) == 1


def test_only_the_view_is_pickled(xp):
    base = xp.zeros(1_000_000, dtype=xp.float32)
    assert len(pickle.dumps(base[:10])) < 1000


def test_the_rest(xp):
    assert again(xp) is xp and again(xp.context) == xp.context
    assert again(xp.zeros(1).device) == xp.zeros(1).device
    assert again(xp.exp)([0.0]).context == again(xp.linalg.det)([[1.0]]).context == xp.context
    assert again(rustarr.exp)([0.0]).context == rustarr.current_context()
    rng = xp.random.default_rng(7)
    rng.random(5)
    assert again(rng).random(3).tolist() == rng.random(3).tolist()


def test_chapters_of_a_namespace(xp):
    import copy

    for part in ("linalg", "fft", "random"):
        for space in (xp, rustarr):
            module = getattr(space, part)
            assert again(module) is copy.copy(module) is copy.deepcopy(module) is module
    own = rustarr.Context("cpu-serial", default_float="float32")
    assert again(own.namespace.linalg).det([[2.0]]).dtype == rustarr.float32


def test_a_context_of_ones_own_comes_back_with_its_settings():
    context = rustarr.Context("cpu-parallel", threads=2, default_float="float32")
    back = again(context)
    assert back.threads == 2 and back.default_float == rustarr.float32
    assert again(context.namespace).zeros(1).dtype == rustarr.float32


def test_another_process_reads_them(cpu):
    data = pickle.dumps((cpu, cpu.asarray([1.5, 2.5])[::-1]))
    code = (
        "import pickle, sys; xp, x = pickle.load(sys.stdin.buffer);"
        "assert x.tolist() == [2.5, 1.5] and x.__array_namespace__() is xp; print(x.context.name)"
    )
    out = subprocess.run([sys.executable, "-c", code], input=data, capture_output=True, timeout=60)
    assert out.returncode == 0, out.stderr.decode()
    assert out.stdout.decode().strip() == cpu.context.name


def test_an_array_of_an_absent_gpu_lands_on_the_host():
    restore, (name, *rest) = rustarr.ones(3).__reduce__()
    assert restore("wgpu:99", *rest).device == "cpu"
