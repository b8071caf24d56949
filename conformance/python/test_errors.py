"""Every failure is an exception that names the operation and the way out, and leaves nothing half-written."""

import pytest
import rustarr
from rustarr import exceptions


def test_types():
    assert issubclass(rustarr.AxisError, ValueError) and issubclass(rustarr.AxisError, IndexError)
    assert issubclass(rustarr.LinAlgError, ValueError)
    assert issubclass(rustarr.PanicError, RuntimeError) and issubclass(rustarr.DeviceLostError, RuntimeError)
    assert rustarr.linalg.LinAlgError is exceptions.LinAlgError


def test_the_operation_and_its_operands_are_named(xp):
    for call, kind, words in (
        (lambda: xp.ones((2, 3)) + xp.ones(4), ValueError, ["add", "[2, 3]", "[4]"]),
        (lambda: xp.sum(xp.ones(3), axis=3), rustarr.AxisError, ["sum", "axis 3", "1"]),
        (lambda: xp.sum(xp.ones((3, 3)), axis=(0, 0)), rustarr.AxisError, ["twice"]),
        (lambda: xp.reshape(xp.ones(6), (4, 2)), ValueError, ["reshape", "[6]", "[4, 2]"]),
        (lambda: xp.ones((2, 3))[xp.zeros((1, 0), dtype=xp.bool)], IndexError, ["size 1", "axis 0", "2"]),
        (lambda: xp.sqrt(xp.ones(3)) @ xp.ones(2), ValueError, ["matmul", "[3]", "[2]"]),
        (lambda: xp.bitwise_and(xp.ones(3), 1), TypeError, ["bitwise_and", "float"]),
        (lambda: xp.ones(3)[5], IndexError, ["5", "3"]),
        (lambda: xp.asarray([1], dtype=xp.uint8) + 256, OverflowError, ["256", "uint8"]),
        (lambda: xp.asarray([2]) ** -1, ValueError, ["pow", "negative"]),
        (lambda: xp.max(xp.zeros(0)), ValueError, ["max"]),
        (lambda: xp.zeros(-1), ValueError, ["zeros", "negative"]),
        (lambda: xp.concat([]), ValueError, ["concat"]),
        (lambda: xp.isdtype(xp.int8, "number"), ValueError, ["number", "numeric"]),
        (lambda: xp.meshgrid(xp.ones(2), indexing="ab"), ValueError, ["ab", "xy"]),
        (lambda: xp.zeros(2, dtype="f9"), TypeError, ["f9", "float32"]),
        (lambda: xp.zeros(2, device="tpu"), ValueError, ["tpu", "cpu-parallel"]),
        (lambda: xp.zeros(2, device=3), TypeError, ["device", "int"]),
        (lambda: xp.ones(3)[2**70], IndexError, [str(2**70), "axis 0", "size 3"]),
        (lambda: xp.ones((3, 2))[..., -(2**70)], IndexError, [str(-(2**70)), "axis 1", "size 2"]),
        (lambda: xp.ones((3, 2)).__setitem__((0, 2**70), 1), IndexError, ["setitem", str(2**70), "axis 1"]),
        (lambda: xp.ones(3).__setitem__(0, "x"), TypeError, ["setitem", "str"]),
        (lambda: xp.add(xp.ones(3), "x"), TypeError, ["add", "str"]),
        (lambda: xp.ones(3).sum(out=xp.ones(())), TypeError, ["out must be None", "a[...] = result"]),
        (lambda: xp.ones(3).take([0], mode="wrap"), ValueError, ["take", "wrap"]),
        (lambda: xp.asarray([1]) + 10**39, OverflowError, ["add", "128 bits", "int64"]),
        (lambda: xp.ones(3, dtype=xp.float32) * 10**400, OverflowError, ["multiply", "1024 bits", "float32"]),
        (lambda: xp.add(10**40, 1), OverflowError, ["add", "128 bits"]),
        (lambda: xp.arange(10**40, 10**40 + 5), OverflowError, ["arange", "128 bits"]),
    ):
        with pytest.raises(kind) as caught:
            call()
        for word in words:
            assert word in str(caught.value), (word, str(caught.value))


def test_wrong_arguments_name_the_public_function(xp):
    for call, name in (
        (lambda: xp.round(xp.ones(1), figures=2), "rustarr.round()"),
        (lambda: xp.add(1), "rustarr.add()"),
        (lambda: xp.linalg.inv(), "linalg.inv()"),
        (lambda: xp.fft.fft(axis=0), "fft.fft()"),
        (lambda: xp.random.rand(shape=3), "random.rand()"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value).startswith(name), str(caught.value)


def test_integers_beyond_64_bits_are_refused_by_the_operation(xp):
    """Sizes, axes and counts that no array reaches: the operation says so, under its name."""
    x, m = xp.ones(3), xp.ones((2, 2))
    huge = 2**70
    for name, kind, calls in (
        ("sum", rustarr.AxisError, (lambda n: xp.sum(x, axis=n), lambda n: x.sum(axis=n))),
        ("sum", rustarr.AxisError, (lambda n: xp.sum(x, axis=(n,)),)),
        ("argmax", rustarr.AxisError, (lambda n: xp.argmax(x, axis=n), lambda n: x.argmax(axis=n))),
        ("cumulative_sum", rustarr.AxisError, (lambda n: xp.cumulative_sum(x, axis=n),)),
        ("concat", rustarr.AxisError, (lambda n: xp.concat([x, x], axis=n),)),
        ("stack", rustarr.AxisError, (lambda n: xp.stack([x, x], axis=n),)),
        ("sort", rustarr.AxisError, (lambda n: xp.sort(x, axis=n),)),
        ("flip", rustarr.AxisError, (lambda n: xp.flip(x, axis=n),)),
        ("fft", rustarr.AxisError, (lambda n: xp.fft.fft(x, axis=n),)),
        ("roll", OverflowError, (lambda n: xp.roll(x, n), lambda n: xp.roll(m, (n, 0), axis=(0, 1)))),
        ("matrix_power", OverflowError, (lambda n: xp.linalg.matrix_power(m, n),)),
        ("reshape", ValueError, (lambda n: xp.reshape(x, n), lambda n: x.reshape(n, 1))),
        ("item", IndexError, (lambda n: x.item(n),)),
    ):
        for call in calls:
            for n in (huge, -huge, 2**63):
                with pytest.raises(kind) as caught:
                    call(n)
                if name != "item":
                    assert str(caught.value).startswith(f"{name}:"), str(caught.value)
    for name, call in (
        ("zeros", lambda n: xp.zeros((n,))),
        ("zeros", lambda n: xp.zeros(n)),
        ("full", lambda n: xp.full((2, n), 1.0)),
        ("eye", lambda n: xp.eye(n)),
        ("linspace", lambda n: xp.linspace(0, 1, n)),
        ("repeat", lambda n: xp.repeat(x, n)),
        ("repeat", lambda n: x.repeat(n)),
        ("tile", lambda n: xp.tile(x, n)),
        ("broadcast_to", lambda n: xp.broadcast_to(x, (n, 3))),
        ("uniform", lambda n: xp.random.rand(n)),
    ):
        for n in (huge, 2**63):
            with pytest.raises((MemoryError, ValueError)) as caught:
                call(n)
            assert str(caught.value).startswith(f"{name}:"), str(caught.value)
        with pytest.raises(ValueError):
            call(-huge)
    # Where any large number means the same, it does.
    assert xp.tril(m, k=huge).tolist() == m.tolist() and xp.eye(2, k=huge).tolist() == [[0, 0], [0, 0]]
    assert xp.diff(x, n=huge).tolist() == []


def test_a_bool_is_no_axis_and_no_size(xp):
    x = xp.ones((2, 2))
    for call in (
        lambda: xp.sum(x, axis=True), lambda: x.sum(axis=False), lambda: xp.argmax(x, axis=True),
        lambda: xp.concat([x, x], axis=True), lambda: xp.squeeze(x, axis=(True,)), lambda: xp.zeros(True),
        lambda: xp.sort(x, axis=True), lambda: xp.roll(x, True), lambda: xp.eye(True), lambda: xp.fft.fft(x, n=True),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="bool"):
            call()


def test_no_memory_is_reported_under_the_name_that_was_called(xp):
    context = rustarr.Context(xp.context.name)
    space = context.namespace
    x = space.ones(100_000, dtype=space.float32)
    wide = space.broadcast_to(space.ones(1, dtype=space.float32), (2**40,))
    context.synchronize()
    context.set_memory_limit(context.memory_info()["in_use"] + 1000)
    for name, call in (
        ("nonzero", lambda: space.nonzero(x)),
        ("nonzero", lambda: space.nonzero(wide)),
        ("tolist", lambda: wide.tolist()),
        ("tobytes", lambda: wide.tobytes()),
        ("sort", lambda: space.sort(x)),
        ("cumulative_sum", lambda: space.cumulative_sum(x)),
        ("concat", lambda: space.concat([x, x])),
        ("add", lambda: (x + 1).tolist()),
    ):
        with pytest.raises(MemoryError) as caught:
            call()
        assert str(caught.value).startswith(f"{name}:"), (name, str(caught.value))


def test_exporters_that_do_not_keep_to_dlpack(xp):
    class Exporter:
        def __init__(self, device, capsule):
            self.device, self.capsule = device, capsule

        def __dlpack_device__(self):
            return self.device

        def __dlpack__(self, **_):
            return self.capsule

    for device, capsule in (((1, 0), 3), ((1, 0), None), (1, 3), (("a", "b"), 3), ((2**70, 0), 3)):
        for call in (xp.from_dlpack, xp.asarray):
            with pytest.raises(TypeError, match="from_dlpack: __dlpack"):
                call(Exporter(device, capsule))


def test_a_failed_write_leaves_the_target(xp):
    x = xp.asarray([1, 2, 3], dtype=xp.int32)
    for write in (
        lambda: x.__setitem__([0, 5], 9),
        lambda: x.__setitem__(slice(None), xp.asarray([1, 2], dtype=xp.int32)),
        lambda: x.__setitem__(0, 2**40),
        lambda: x.__setitem__(0, "a"),
        lambda: x.__setitem__(0, 1j),
    ):
        with pytest.raises((IndexError, ValueError, OverflowError, TypeError)):
            write()
    assert x.tolist() == [1, 2, 3]


def test_matrices_that_are_not_square(xp):
    wide, line = xp.ones((2, 3), dtype=xp.float32), xp.ones(3, dtype=xp.float32)
    linalg = xp.linalg
    for function in (linalg.inv, linalg.det, linalg.slogdet, linalg.cholesky, linalg.eigh, linalg.eigvals):
        for given in (wide, line):
            with pytest.raises(rustarr.LinAlgError, match=r"\[(2, )?3\]"):
                function(given)
    for call in (lambda: linalg.solve(wide, line), lambda: linalg.matrix_power(wide, 2), lambda: linalg.qr(line)):
        with pytest.raises(rustarr.LinAlgError):
            call()


def test_singular_matrices(xp):
    singular = xp.asarray([[1.0, 2.0], [2.0, 4.0]], dtype=xp.float32)
    for call in (
        lambda: xp.linalg.inv(singular),
        lambda: xp.linalg.solve(singular, singular),
        lambda: xp.linalg.cholesky(-singular),
    ):
        with pytest.raises(rustarr.LinAlgError):
            call().tolist()


def test_too_much_memory(xp):
    for shape in (2**62, (2**40, 2**40), (2**31, 2**31, 2)):
        with pytest.raises((MemoryError, ValueError)):
            xp.empty(shape)
    # The next small operation works.
    assert float(xp.sum(xp.ones(3))) == 3


def test_a_memory_limit(xp):
    name = xp.context.name
    context = rustarr.Context(name, memory_limit=1 << 20)
    limited = context.namespace
    assert context.memory_info()["limit"] == 1 << 20
    with pytest.raises(MemoryError):
        limited.zeros(1 << 22, dtype=limited.int32).tolist()
    assert int(limited.sum(limited.ones(10, dtype=limited.int32))) == 10
    context.set_memory_limit(None)
    assert limited.zeros(1 << 22, dtype=limited.int32).shape == (1 << 22,)


def test_a_closed_context(xp):
    context = rustarr.Context(xp.context.name)
    x = context.namespace.ones(3)
    context.close()
    assert context.closed and "closed" in repr(context)
    for call in (lambda: context.namespace.ones(3), lambda: x + 1):
        with pytest.raises(ValueError, match="closed"):
            call()
    assert x.tolist() == [1.0, 1.0, 1.0]


def test_devices_do_not_mix(gpu):
    x, y = gpu.ones(3, dtype=gpu.float32), rustarr.namespace("cpu-serial").ones(3, dtype="float32")
    for call in (lambda: x + y, lambda: y * x, lambda: gpu.concat([x, y]), lambda: x.__iadd__(y)):
        with pytest.raises(ValueError) as caught:
            call()
        assert "wgpu" in str(caught.value) and "cpu-serial" in str(caught.value)
    assert (x.to_device("cpu") + y).device == "cpu"
    assert (y.to_device(x.device) + x).device == x.device


def test_fallbacks_are_counted_warned_once_and_forbidden(gpu):
    context = rustarr.Context("wgpu")
    xp = context.namespace
    with pytest.warns(rustarr.FallbackWarning, match="complex64"):
        xp.exp(xp.ones(3, dtype=xp.complex64)).tolist()
    assert context.stats()["fallbacks"] > 0
    strict = rustarr.Context("wgpu", fallback="error").namespace
    with pytest.raises((TypeError, NotImplementedError), match="fallback"):
        strict.exp(strict.ones(3, dtype=strict.complex64)).tolist()
