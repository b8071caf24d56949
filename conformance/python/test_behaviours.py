"""The behaviours that users of array libraries reported, where the collection is at hand."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

PATH = Path(__file__).resolve().parents[3] / "shared" / "cases" / "behaviours.py"


def load():
    """The collection, which lies beside the checkout or is absent."""
    if not PATH.exists():
        return None
    spec = importlib.util.spec_from_file_location("behaviours", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASES = load()


@pytest.mark.skipif(CASES is None, reason="the collection of behaviours is not beside this checkout")
@pytest.mark.parametrize("case", sorted(CASES.META) if CASES else [])
def test_behaviour(xp, case):
    try:
        CASES.META[case]["fn"](xp, np)
    except CASES.Skip as skip:
        pytest.skip(str(skip))
