"""DLPack both ways, by the book."""

import gc
import resource

import numpy as np
import pytest
import rustarr
import tvm_ffi
from test_dtype import NAMES

CPU = (1, 0)


@pytest.mark.parametrize("name", NAMES)
def test_to_numpy_without_a_copy(cpu, name):
    x = cpu.asarray(np.array([[1, 0, 1], [0, 1, 1]]).astype(name))
    for given in (x, x.T, x[::-1, ::2], x[:, :0], x[0, 1]):
        a = np.from_dlpack(given)
        assert a.dtype == name and a.shape == given.shape
        np.testing.assert_array_equal(a, rustarr.asnumpy(given))
    a = np.from_dlpack(x)
    x[0, 1] = 1
    assert a[0, 1] == 1


@pytest.mark.parametrize("name", NAMES)
def test_from_numpy_without_a_copy(cpu, name):
    a = np.array([[1, 0, 1], [0, 1, 1]]).astype(name)
    x = cpu.from_dlpack(a)
    assert x.dtype == name and x.tolist() == a.tolist()
    x[0, 1] = 1
    assert a[0, 1] == 1
    assert cpu.from_dlpack(a.T[::-1]).tolist() == a.T[::-1].tolist()
    assert cpu.from_dlpack(a[:, :0]).shape == (2, 0)


def test_copy_is_kept(cpu):
    a = np.zeros(3)
    for make in (cpu.from_dlpack, cpu.asarray):
        copied = make(a, copy=True)
        copied[0] = 1
        assert a[0] == 0
    x = cpu.zeros(3)
    own = cpu.from_dlpack(x, copy=True)
    own[0] = 1
    assert float(x[0]) == 0
    shared = cpu.from_dlpack(x)
    shared[0] = 2
    assert float(x[0]) == 2


def test_read_only(cpu):
    a = np.zeros(3)
    a.flags.writeable = False
    x = cpu.from_dlpack(a)
    with pytest.raises(ValueError):
        x[0] = 1
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__()
    assert not np.from_dlpack(x).flags.writeable


def test_capsules(cpu):
    x = cpu.arange(3)
    assert x.__dlpack_device__() == CPU
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(x.__dlpack__())
    assert '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))

    class Holder:
        def __init__(self, capsule):
            self.capsule = capsule

        def __dlpack__(self, **_):
            return self.capsule

        def __dlpack_device__(self):
            return CPU

    for capsule in (x.__dlpack__(), x.__dlpack__(max_version=(1, 1))):
        holder = Holder(capsule)
        assert cpu.from_dlpack(holder).tolist() == [0, 1, 2]
        with pytest.raises(BufferError):
            cpu.from_dlpack(holder)

    class Old(Holder):
        def __dlpack__(self):
            return self.capsule

    assert cpu.from_dlpack(Old(x.__dlpack__())).tolist() == [0, 1, 2]


def test_refusals(cpu):
    x = cpu.arange(3)
    for arguments in ({"stream": 1}, {"dl_device": (2, 0)}, {"dl_device": (1, 7)}):
        with pytest.raises(BufferError):
            x.__dlpack__(**arguments)
    for given in (object(), 3, [1, 2]):
        with pytest.raises((TypeError, AttributeError)):
            cpu.from_dlpack(given)

    class Elsewhere:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **_):
            raise BufferError("not on the host")

    with pytest.raises(BufferError):
        cpu.from_dlpack(Elsewhere())


def test_the_gpu_hands_over_copies_only(gpu):
    x = gpu.arange(3, dtype=gpu.int32)
    assert x.__dlpack_device__()[0] in (7, 8)
    with pytest.raises(BufferError, match="dl_device"):
        x.__dlpack__()
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=CPU, copy=False)
    assert np.from_dlpack(x, device="cpu").tolist() == [0, 1, 2]
    own = gpu.from_dlpack(x)
    assert own.device == x.device and own.tolist() == [0, 1, 2]
    moved = gpu.from_dlpack(np.arange(3, dtype=np.int32), device=x.device)
    assert moved.device == x.device and moved.tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", [n for n in NAMES if not n.startswith("complex")])
def test_to_and_from_another_library(cpu, name):
    """Apache TVM's tensors, which have no complex dtypes."""
    x = cpu.asarray(np.array([[1, 0, 1], [0, 1, 1]]).astype(name))
    for given in (x, x.T, x[::-1, ::2], x[:, :0], x[0, 1, ...]):
        tensor = tvm_ffi.from_dlpack(given)
        assert tuple(tensor.shape) == given.shape and str(tensor.dtype) == name
        back = cpu.from_dlpack(tensor)
        assert back.dtype == name and back.tolist() == given.tolist()
        if back.size:
            back[...] = 0
            assert not cpu.any(given)
    x = cpu.ones(1000, dtype=name)
    tensor = tvm_ffi.from_dlpack(x + 0 if name != "bool" else x & True)
    del x
    gc.collect()
    cpu.zeros(1000, dtype=name)
    assert cpu.all(cpu.from_dlpack(tensor, copy=True))


def test_another_library_gets_copies_from_the_gpu(gpu):
    x = gpu.arange(3, dtype=gpu.int32)
    with pytest.raises(BufferError, match="dl_device"):
        tvm_ffi.from_dlpack(x)
    own = gpu.from_dlpack(tvm_ffi.from_dlpack(np.arange(3, dtype=np.int32)), device=x.device)
    assert own.device == x.device and own.tolist() == [0, 1, 2]


def test_memory_stays_flat(cpu):
    x = cpu.zeros(1000)

    def rounds(n):
        for _ in range(n):
            np.from_dlpack(x)
            cpu.from_dlpack(np.zeros(100))
            x.__dlpack__()
            x.__dlpack__(max_version=(1, 0))

    rounds(2000)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rounds(20_000)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * 1024
