"""Every function of the standard against NumPy and array-api-strict, with random dtypes, shapes, views and values.

RUSTARR_EXAMPLES says how many calls of each function are tried (400 without it), or which: "17:18" tries number 17.
"""

import os
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
import rustarr
from standard import TABLE
from standard.draw import Draw
from standard.faults import spared
from standard.oracles import Case, Difference, Raised, bits, run
from test_namespace import FFT, LINALG, STANDARD

NAMES = Path(__file__).resolve().parents[3] / "shared" / "standard-2025.12.txt"


def numbers():
    """The examples to try."""
    first, colon, last = os.environ.get("RUSTARR_EXAMPLES", "400").partition(":")
    return range(int(first), int(last)) if colon else range(int(first))


def example(name, number):
    """One call of a function."""
    args, kwargs = TABLE[name].draw(Draw(name, number), name)
    return Case(name, tuple(args), kwargs)


def difference(case):
    """What is wrong with the results of a case, or None, and whether there was a result."""
    row = TABLE[case.name]
    serial, parallel = (run(row.call, case, rustarr.namespace(name)) for name in ("cpu-serial", "cpu-parallel"))
    if bits(serial) != bits(parallel) and row.values:
        return f"cpu-serial: {serial!r}\ncpu-parallel: {parallel!r}", True
    for oracle, xp, call in (("numpy", np, row.numpy), ("strict", array_api_strict, row.call)):
        if oracle == "strict" and not row.strict:
            continue
        want = run(call, case, xp)
        try:
            if isinstance(want, Raised):
                # array-api-strict refuses what the standard does not require; NumPy what is wrong.
                if oracle == "numpy" and not isinstance(serial, Raised) and not np.any(spared(oracle, case)(0)):
                    raise Difference(f"no exception, but {want!r}")
            elif isinstance(serial, Raised):
                if not np.any(spared(oracle, case)(0)):
                    raise Difference(f"{serial!r}")
            else:
                row.check(case, serial, want, spared(oracle, case), row.numpy)
        except Difference as found:
            return f"{oracle}: {found}\nrustarr: {serial!r}\n{oracle}: {want!r}", True
    return None, not isinstance(serial, Raised)


@pytest.mark.parametrize("name", sorted(TABLE))
def test_function(name):
    tried = numbers() if TABLE[name].random else [0]
    results = 0
    for number in tried:
        case = example(name, number)
        found, has_result = difference(case)
        results += has_result
        assert found is None, (
            f"{case!r}\n{found}\n"
            f"again: RUSTARR_EXAMPLES={number}:{number + 1} python -m pytest '{__file__}::test_function[{name}]'"
        )
    # Arguments that everybody refuses would show nothing.
    assert results > 0.6 * len(tried) or len(tried) < 20


def test_no_function_is_forgotten():
    chapters = {}
    for name in TABLE:
        chapter, short = name.split("/")
        chapters.setdefault(chapter.split("(")[0], set()).add(short)
    main = set().union(*(names for chapter, names in chapters.items() if chapter not in ("linalg", "fft")))
    assert not set(STANDARD) - main and not set(LINALG) - chapters["linalg"] and not set(FFT) - chapters["fft"]
    operators = {n for n in dir(array_api_strict.zeros(1)) if n.startswith("__") and n not in dir(object)}
    attributes = {"__array__", "__buffer__", "__iter__", "__annotations__", "__module__", "__slots__", "__weakref__"}
    assert not operators - main - attributes


@pytest.mark.skipif(not NAMES.exists(), reason="the list of the standard's names is not beside this checkout")
def test_the_table_has_the_names_of_the_standard():
    assert set(TABLE) == set(NAMES.read_text().split())
