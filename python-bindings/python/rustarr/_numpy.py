"""NumPy's functions on our arrays: those of the namespace where it has them, NumPy's own on the same memory otherwise.

Either way the results are arrays of ours. NumPy asks through ``__array_ufunc__`` and ``__array_function__`` (NEP 13
and NEP 18). An array on a GPU meets the namespace's functions only: NumPy cannot read it.
"""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._core import Array, dtype

#: The parts of a namespace for NumPy's modules.
_PARTS = {"numpy": "", "numpy.linalg": "linalg", "numpy.fft": "fft"}

#: Universal functions that give floats, or whole quotients, for integers where ours give what the standard says.
_OF_INTEGERS = {"reciprocal", "rint"}

#: Functions that have our names and another meaning: NaN in `unique`, real eigenvalues, NumPy's dtypes, flattening.
_OTHERWISE = {"can_cast", "linspace", "numpy.linalg.eig", "numpy.linalg.eigvals", "outer", "result_type", "unique"}


def array_ufunc(ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict[str, Any]) -> Any:
    """The answer to ``Array.__array_ufunc__``."""
    if not isinstance(ufunc, np.ufunc):
        raise TypeError(f"__array_ufunc__: a universal function of NumPy is wanted, not {ufunc!r:.80}")
    if any(_answers_itself(value) for value in (*inputs, *kwargs.get("out", ()))) or not _has_array(inputs, kwargs):
        return NotImplemented
    if method == "__call__" and not kwargs and getattr(np, ufunc.__name__, None) is ufunc:
        result = _own("", ufunc.__name__, inputs, kwargs)
        if result is not NotImplemented:
            return result
    return _through_numpy(getattr(ufunc, method), inputs, kwargs)


def array_function(function: Callable, types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The answer to ``Array.__array_function__``."""
    if not all(issubclass(t, Array) or t.__array_function__ is np.ndarray.__array_function__ for t in types):
        return NotImplemented
    if not _has_array(args, kwargs):
        return NotImplemented
    module, name = function.__module__, function.__name__
    part = _PARTS.get(module)
    known = part is not None and getattr(sys.modules[module], name, None) is function
    if known and name not in _OTHERWISE and f"{module}.{name}" not in _OTHERWISE:
        result = _own(part, name, args, kwargs)
        if result is NotImplemented and not part and name != "sort" and args and isinstance(args[0], Array):
            # Methods take NumPy's arguments; `sort` is another thing, in place.
            result = _fitting(getattr(args[0], name, None), _method_signature(name), args[1:], kwargs)
        if result is not NotImplemented:
            return result
    return _through_numpy(function, args, kwargs)


def _answers_itself(value: Any) -> bool:
    """Whether an operand of another library has its own say in NumPy's functions."""
    if isinstance(value, (Array, np.generic)):
        return False
    own = getattr(type(value), "__array_ufunc__", None)
    return own is not None and own is not np.ndarray.__array_ufunc__


@functools.cache
def _signature(part: str, name: str) -> inspect.Signature | None:
    """The parameters of a namespace's function."""
    library: Any = sys.modules["rustarr"]
    function = getattr(getattr(library, part) if part else library, name, None)
    return inspect.signature(function) if inspect.isbuiltin(function) else None


@functools.cache
def _method_signature(name: str) -> inspect.Signature | None:
    """The parameters of an array's method, without the array."""
    method = getattr(Array, name, None)
    if not inspect.ismethoddescriptor(method):
        return None
    _, *parameters = inspect.signature(method).parameters.values()
    return inspect.Signature(parameters)


def _fitting(function: Any, signature: inspect.Signature | None, args: tuple, kwargs: dict[str, Any]) -> Any:
    """A function applied, or NotImplemented where it takes no such arguments."""
    if signature is None:
        return NotImplemented
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return NotImplemented
    return function(*args, **kwargs)


def _own(part: str | None, name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The namespace's function applied, or NotImplemented where it takes no such arguments."""
    like = next(_arrays((args, kwargs)))
    if name in _OF_INTEGERS and like.dtype.kind in "iu" or any(_foreign(value) for value in args):
        return NotImplemented
    namespace: Any = like.__array_namespace__()
    function = getattr(getattr(namespace, part) if part else namespace, name, None)
    return _fitting(function, _signature(part or "", name), args, kwargs)


def _foreign(value: Any) -> bool:
    """Whether a value of NumPy's has no dtype of ours."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return False
    try:
        dtype(value.dtype)
    except TypeError:
        return True
    return False


def _arrays(value: Any) -> Iterator[Array]:
    """The arrays of ours in arguments."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from _arrays(one)
    elif isinstance(value, dict):
        yield from _arrays(list(value.values()))


def _has_array(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether an argument is ours. NumPy asks only then, but anybody may."""
    return next(_arrays((args, kwargs)), None) is not None


def _through_numpy(function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """NumPy's function on the memory of our arrays, its results as arrays of ours.

    Views stay views; what was handed in comes back as it was; what no dtype of ours holds is left alone.
    """
    namespace = next(_arrays((args, kwargs))).__array_namespace__()
    given: dict[int, Any] = {}
    memory: list[np.ndarray] = []

    def lower(value: Any) -> Any:
        if isinstance(value, Array):
            lowered = np.asarray(value)
            memory.append(lowered)
            given[id(lowered)] = value
            return lowered
        if isinstance(value, np.ndarray):
            given[id(value)] = value
        elif type(value) in (tuple, list):
            return type(value)(lower(one) for one in value)
        elif isinstance(value, dict):
            return {key: lower(one) for key, one in value.items()}
        return value

    def lift(value: Any) -> Any:
        if id(value) in given:
            return given[id(value)]
        if isinstance(value, (np.ndarray, np.generic)):
            if _foreign(value):
                return value
            shares = isinstance(value, np.ndarray) and any(np.may_share_memory(value, m) for m in memory)
            return namespace.asarray(value, copy=False if shares else None)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(lift(one) for one in value))
        if type(value) in (tuple, list):
            return type(value)(lift(one) for one in value)
        return value

    return lift(function(*lower(args), **lower(kwargs)))
