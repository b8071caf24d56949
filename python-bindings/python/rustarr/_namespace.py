"""Namespaces: modules whose functions create arrays in one context."""

import math
import os
import sys
import threading
import weakref
from types import ModuleType
from typing import Any

from . import _core, _results
from .exceptions import LinAlgError

#: The version of the standard that is implemented.
ARRAY_API_VERSION = "2025.12"

#: NumPy's other names for functions of the standard.
ALIASES = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_not": "bitwise_invert",
    "concatenate": "concat",
    "conjugate": "conj",
    "fix": "trunc",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
    "unique": "unique_values",
}

#: NumPy's other names for dtypes.
DTYPE_ALIASES = {
    "bool_": "bool",
    "cdouble": "complex128",
    "csingle": "complex64",
    "double": "float64",
    "half": "float16",
    "int_": "int64",
    "intp": "int64",
    "single": "float32",
    "uint": "uint64",
}

DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip

CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}

#: Functions of the main namespace that ``linalg`` has too, and the other way round.
_ALSO_IN_LINALG = ("matmul", "matrix_transpose", "tensordot", "vecdot")
_ALSO_IN_MAIN = ("cross", "outer")


def _methods(functions: Any) -> dict[str, Any]:
    """The public functions of a compiled table of functions."""
    return {name: getattr(functions, name) for name in dir(functions) if not name.startswith("_")}


class Submodule(ModuleType):
    """A chapter of a namespace; pickled as such, and copied as itself."""

    def __init__(self, name: str, doc: str, content: dict[str, Any], functions: Any) -> None:
        super().__init__(name, doc)
        self.__dict__.update(content)
        self.__all__ = sorted(content)
        self._functions = functions

    def __reduce__(self):
        _, described = self._functions.__reduce__()
        return _restore_submodule, (self.__name__.rpartition(".")[2], *described)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


def fill(target: dict[str, Any], context: Any) -> Any:
    """Puts a namespace's whole content into a module's dictionary.

    Parameters
    ----------
    target
        The dictionary of the module.
    context
        A context, a context's name, or None for the context that is current at each call.
    """
    functions = _core.Functions(context)
    name = target["__name__"]
    # A context that a user made has a namespace without a place of its own among the modules.
    importable = context is None or isinstance(context, str)
    target.update(_methods(functions))
    for alias, function in ALIASES.items():
        target[alias] = target[function]
    for dtype in DTYPES:
        target[dtype] = getattr(_core, dtype)
    for alias, dtype in DTYPE_ALIASES.items():
        target[alias] = getattr(_core, dtype)
    target.update(CONSTANTS)

    linalg = _methods(_core.Linalg(functions))
    linalg.update((shared, target[shared]) for shared in _ALSO_IN_LINALG)
    target.update((shared, linalg[shared]) for shared in _ALSO_IN_MAIN)
    linalg["LinAlgError"] = LinAlgError
    random = _methods(_core.Random(functions))
    random["random_sample"] = random["random"]
    random["Generator"] = _core.Generator
    fft = _methods(_core.Fft(functions))
    for part, doc, content in (
        ("linalg", "Linear algebra.", linalg),
        ("fft", "Fourier transforms.", fft),
        ("random", "Random numbers.", random),
    ):
        target[part] = Submodule(f"{name}.{part}", doc, content, functions)
        if importable:
            sys.modules[f"{name}.{part}"] = target[part]

    target["dtype"] = _core.dtype
    target["Array"] = target["ndarray"] = _core.Array
    target["__array_api_version__"] = ARRAY_API_VERSION
    target["__array_namespace_info__"] = lambda: _results.NamespaceInfo(functions)
    return functions


class Namespace(ModuleType):
    """The array API namespace of one context, with the NumPy names that programs use.

    Made by ``rustarr.namespace``; there is one object for each context.
    """

    def __init__(self, name: str, context: Any, restore: tuple) -> None:
        super().__init__(name, f"Arrays and functions of {name.removeprefix('rustarr.')}.")
        self._functions = fill(self.__dict__, context)
        self._restore = restore
        self.__all__ = sorted(n for n in self.__dict__ if not n.startswith("_"))

    @property
    def context(self) -> _core.Context:
        """The context, opened now if it was not."""
        return self._functions._context()

    def __dir__(self):
        return sorted({*self.__dict__, "context"})

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r}>"

    def __reduce__(self):
        return _restore_namespace, self._restore

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self


_lock = threading.RLock()


def _new_lock() -> None:
    """A forked child has its parent's locks, but not the threads that would open them."""
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)
#: Namespaces by name and options, which live as long as the process.
_shared: dict[tuple, Namespace] = {}
#: The contexts that were opened for them.
_contexts: dict[tuple, _core.Context] = {}
#: Namespaces of contexts that users made.
_of_context: "weakref.WeakValueDictionary[_core.Context, Namespace]" = weakref.WeakValueDictionary()


def _key(name: str, options: dict[str, Any]) -> tuple:
    plain = {
        option: tuple(value) if isinstance(value, (list, range, set)) else value
        for option, value in options.items()
        if value is not None
    }
    return name, tuple(sorted(plain.items()))


def _module_name(context_name: str) -> str:
    return "rustarr." + context_name.replace("-", "_").replace(":", "_")


def _named(name: str) -> Namespace:
    """The namespace of a context that is opened when it is first needed."""
    key = _key(name, {})
    with _lock:
        if key not in _shared:
            _shared[key] = Namespace(_module_name(name), name, (name, {}))
        return _shared[key]


def _shared_context(name: str) -> _core.Context:
    """The context behind ``namespace(name)``: the one of this name that is open, or a new one."""
    key = _key(name, {})
    with _lock:
        if key not in _contexts:
            for context in _contexts.values():
                if context.name == name and not context.closed:
                    return context
            _contexts[key] = _core.Context(name)
        return _contexts[key]


def _described(context: _core.Context) -> tuple[str, dict[str, Any]]:
    """The name and the options that lead to a context, or to one like it in another process."""
    with _lock:
        for (name, options), opened in _contexts.items():
            if opened == context:
                return name, dict(options)
    options = {"fallback": context.fallback, "default_float": context.default_float}
    if context.name == "cpu-parallel":
        options["threads"] = context.threads
    return context.name, options


def _of(context: _core.Context) -> Namespace:
    """The namespace of a context."""
    with _lock:
        described = _described(context)
        if context in _contexts.values():
            return namespace(described[0], **described[1])
        found = _of_context.get(context)
        if found is None:
            found = Namespace(_module_name(context.name), context, described)
            _of_context[context] = found
        return found


def namespace(context: "str | _core.Context | Namespace | None" = None, /, **options) -> Namespace:
    """The array API namespace that computes in a context.

    Parameters
    ----------
    context
        "cpu-serial", "cpu-parallel", "wgpu", "wgpu:1", a ``Context``, or None for the current one.
    options
        The keywords of ``Context``, with a name. Equal names and options give one namespace.

    Returns
    -------
    Namespace
        A module-like object, picklable, also importable as ``rustarr.cpu_parallel`` and so on.

    Raises
    ------
    ValueError
        For an unknown name, or where there is no usable device: all that were found are listed.
    """
    if isinstance(context, Namespace):
        context = context.context
    if context is None and not options:
        context = _core.current_context()
    if isinstance(context, _core.Context):
        if options:
            raise TypeError("namespace: options go with a name; this context is open already")
        return _of(context)
    if context is not None and not isinstance(context, str):
        raise TypeError(
            f"namespace: a context is named by a string or is a rustarr.Context, not {type(context).__name__}"
        )
    with _lock:
        if not options:
            _shared_context(context)
            return _named(context)
        key = _key(context or "", options)
        if key not in _shared:
            opened = _core.Context(context, **options)
            _contexts[key] = opened
            _shared[key] = Namespace(_module_name(opened.name), opened, (context, options))
        return _shared[key]


def _current_affinity() -> _core.Context:
    """The context of the cores that the calling thread may run on, opened when they are first asked for."""
    if not hasattr(os, "sched_getaffinity"):
        return _shared_context("cpu-parallel")
    return namespace("cpu-parallel", cores=sorted(os.sched_getaffinity(0))).context


def _restore_namespace(name, options):
    return namespace(name, **options)


def _restore_functions(name, options):
    if name is None:
        return sys.modules["rustarr"]._current
    return namespace(name, **options)._functions


def _restore_submodule(part, name, options):
    return getattr(sys.modules["rustarr"] if name is None else namespace(name, **options), part)


def _restore_context(name, options):
    return namespace(name, **options).context


def _restore_device(name):
    return _shared_context(name).device
