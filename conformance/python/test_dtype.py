"""dtype objects and everything that is accepted as one."""

import pickle

import numpy as np
import pytest
import rustarr

NAMES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_equal_to_numpy_and_to_the_name(name):
    ours, theirs = getattr(rustarr, name), np.dtype(name)
    assert ours == theirs and ours == name and ours == theirs.type and theirs == ours
    assert (ours.name, ours.kind, ours.itemsize) == (theirs.name, theirs.kind, theirs.itemsize)
    assert hash(ours) == hash(name) and {ours: 1}[name] == 1
    assert np.dtype(ours) == theirs and rustarr.dtype(theirs) == ours
    assert pickle.loads(pickle.dumps(ours)) == ours
    assert str(ours) == name and eval(repr(ours), {"rustarr": rustarr}) == ours


def test_other_dtypes_differ():
    assert rustarr.float32 != rustarr.float64 and rustarr.float32 != "int32"
    assert rustarr.float32 != None and rustarr.float32 != 4  # noqa: E711
    assert rustarr.float32 != np.dtype(">f4") and rustarr.float32 != np.dtype("M8[s]")


@pytest.mark.parametrize(
    "given, name",
    [
        (float, "float64"), (int, "int64"), (bool, "bool"), (complex, "complex128"),
        ("f4", "float32"), ("<i8", "int64"), ("?", "bool"), ("d", "float64"),
        (np.float32, "float32"), (np.dtype("u2"), "uint16"), (np.bool, "bool"),
        (np.longlong, "int64"), (np.intp, "int64"),
    ],
)  # fmt: skip
def test_accepted_forms(cpu, given, name):
    assert cpu.zeros(2, dtype=given).dtype == name
    assert cpu.ones(2).astype(given).dtype == name
    assert cpu.asarray([1, 0], dtype=given).dtype == name


@pytest.mark.parametrize("given", ["float", 5, "f3", object, np.dtype("O"), "S4", np.str_, "", [1], np.dtype(">i4")])
def test_refused_forms(xp, given):
    if given == "float":
        assert xp.zeros(1, dtype=given).dtype == xp.zeros(1, dtype=float).dtype
        return
    with pytest.raises(TypeError):
        xp.zeros(1, dtype=given)


def test_every_creation_function_keeps_the_dtype(xp):
    for name in xp.__array_namespace_info__().dtypes():
        dtype = getattr(xp, name)
        like = xp.zeros(2, dtype=dtype)
        made = [
            like, xp.ones(2, dtype=dtype), xp.empty(2, dtype=dtype), xp.full(2, 1, dtype=dtype),
            xp.zeros_like(like), xp.ones_like(like), xp.full_like(like, 1), xp.empty_like(like),
            xp.asarray([1, 0], dtype=dtype), xp.eye(2, dtype=dtype), like.astype(dtype),
        ]  # fmt: skip
        if name != "bool":
            made += [xp.arange(3, dtype=dtype), xp.sum(like, dtype=dtype)]
        assert [m.dtype for m in made] == [dtype] * len(made)
