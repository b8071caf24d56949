"""The arguments of tasks: finding the futures and arrays among them, and putting in their place what the function gets.

Futures and arrays are found as arguments and inside lists, tuples (named ones too) and dicts, up to DEEPEST levels.
"""

import concurrent.futures
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .functions import resolve
from .hazards import Access, Array, access, is_numpy

if TYPE_CHECKING:
    from .task import Task

#: What stands for an argument that a partial leaves open, from Python 3.14 on.
_PLACEHOLDER = getattr(functools, "Placeholder", object())
#: What cannot hold any.
_PLAIN = frozenset({int, float, complex, str, bytes, bool, type(None), range, slice})
#: How deep containers may be nested.
DEEPEST = 200


class _TooDeepError(ValueError):
    """Containers that are nested too deep, or lie in themselves."""

    def __init__(self) -> None:
        super().__init__(f"lists, tuples or dicts that are nested more than {DEEPEST} deep, or lie in themselves")


def _is_sequence(kind: type) -> bool:
    """Whether values of the type are looked into: a list, a tuple, or a named tuple."""
    return kind is list or kind is tuple or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _like(value: Any, items: list[Any]) -> Any:
    """A sequence of the same type with other items; the same object if they are the same."""
    if all(a is b for a, b in zip(items, value, strict=True)):
        return value
    kind = type(value)
    return kind._make(items) if hasattr(kind, "_make") else kind(items)


class Declaration:
    """What a function's arguments were declared as: "R", "W" or "RW" by name."""

    def __init__(self, positions: tuple[str | None, ...], rest: str | None, modes: dict[str, str]) -> None:
        #: The names of positional parameters, None where a name does not matter, and of ``*args``.
        self.positions = positions
        self.rest = rest
        self.modes = modes

    def name(self, position: int) -> str | None:
        """The parameter that takes a positional argument."""
        return self.positions[position] if position < len(self.positions) else self.rest


def declaration(func: Any) -> Declaration | None:
    """What a function's arguments were declared as, if they were."""
    found = getattr(func, "__rustarr_access__", None)
    if found is not None and hasattr(func, "__func__"):
        # A bound method has got its first argument.
        return Declaration(found.positions[1:], found.rest, found.modes)
    return found


def _named(task: "Task") -> Iterator[tuple[Any, str | None, str | None]]:
    """The arguments, each with its name, if it matters, and its mode, if it was declared."""
    declared = declaration(task.func)
    for position, value in enumerate(task.args):
        if type(value) not in _PLAIN:
            name = None if declared is None else declared.name(position)
            yield value, name, None if declared is None else declared.modes.get(name or "")
    for name, value in task.kwargs.items():
        if type(value) not in _PLAIN:
            yield value, name, None if declared is None else declared.modes.get(name)


def _leaves(value: Any, depth: int = 0) -> Iterator[Any]:
    kind = type(value)
    if kind in _PLAIN:
        return
    if kind is dict or _is_sequence(kind):
        if depth >= DEEPEST:
            raise _TooDeepError
        for item in value.values() if kind is dict else value:
            if type(item) not in _PLAIN:
                yield from _leaves(item, depth + 1)
    else:
        yield value


def scan(task: "Task") -> None:
    """Finds the futures and arrays among a new task's arguments; from now on others are kept off the arrays."""
    inputs: list[Any] = []
    accesses: list[Access] = []
    for argument, name, mode in _named(task):
        try:
            for value in _leaves(argument):
                if isinstance(value, concurrent.futures.Future):
                    inputs.append(value)
                elif isinstance(value, Array) or is_numpy(value):
                    accesses.append(access(task, value, mode, name))
        except (_TooDeepError, RecursionError) as error:
            raise ValueError(f"submit: {_place(task, argument)} of {task.name!r} has {_TooDeepError()}") from error
    if inputs or accesses:
        task.inputs = tuple(inputs)
        task.accesses = accesses
        task.prepared = False


def has_futures(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether a call has to wait for others."""
    try:
        return any(isinstance(value, concurrent.futures.Future) for value in _leaves([*args, *kwargs.values()]))
    except (_TooDeepError, RecursionError):
        return True  # `scan` says which argument it is


def _place(task: "Task", argument: Any) -> str:
    """Where an argument stands in the call."""
    places = [*enumerate(task.args), *task.kwargs.items()]
    return next(f"argument {place!r}" for place, value in places if value is argument)


def scan_results(task: "Task") -> list[Access]:
    """Finds the arrays in the results of a task's inputs, which are there now."""
    found = []
    for argument, name, mode in _named(task):
        for value in _leaves(argument):
            # A list may have got others meanwhile, which nobody is to wait for here.
            if isinstance(value, concurrent.futures.Future) and value.done():
                for result in _leaves(value.result()):
                    if isinstance(result, Array) or is_numpy(result):
                        found.append(access(task, result, mode, name))
    return found


def failure(task: "Task") -> tuple[Any, BaseException] | None:
    """The first input that failed or was cancelled, with its exception."""
    for future in task.inputs:
        if future.cancelled():
            return future, concurrent.futures.CancelledError()
        error = future.exception()
        if error is not None:
            return future, error
    return None


def prepare(task: "Task", fetch: Callable[[Access], Any]) -> tuple[tuple, dict[str, Any]]:
    """The arguments that the function gets: results for futures, and what `fetch` makes of arrays."""
    put = _Preparation(task, fetch).put
    declared = declaration(task.func)

    def label(name: str | None) -> str | None:
        return name if declared is not None and declared.modes.get(name or "") == "R" else None

    args = tuple(
        put(value, label(None if declared is None else declared.name(position)))
        for position, value in enumerate(task.args)
    )
    return args, {name: put(value, label(name)) for name, value in task.kwargs.items()}


class _Preparation:
    """Replaces the futures and arrays in the arguments of one task."""

    def __init__(self, task: "Task", fetch: Callable[[Access], Any]) -> None:
        self._fetch = fetch
        self._accesses = {(id(a.array), a.label if a.mode == "R" else None): a for a in task.accesses}
        self._ready: dict[tuple[int, str | None], Any] = {}

    def put(self, value: Any, label: str | None) -> Any:
        """What the function gets for a value of an argument, whose name is the label if it was declared read-only."""
        return replace(value, lambda leaf: self._put_leaf(leaf, label))

    def _put_leaf(self, value: Any, label: str | None) -> Any:
        if isinstance(value, concurrent.futures.Future):
            return self.put(value.result(), label)
        key = id(value), label
        if key not in self._ready:
            # An array that is read-only anyway has no label.
            found = self._accesses.get(key) or self._accesses.get((id(value), None))
            if found is None:
                return value
            self._ready[key] = self._fetch(found)
        return self._ready[key]


def written(func: Any, args: tuple, kwargs: dict[str, Any]) -> list["int | str"]:
    """Positions and names of the array arguments that are declared as written."""
    declared = declaration(func)
    if declared is None:
        return []
    places = [(position, declared.name(position), value) for position, value in enumerate(args)]
    places += [(name, name, value) for name, value in kwargs.items()]
    return [
        place
        for place, name, value in places
        if declared.modes.get(name or "") in ("W", "RW") and (isinstance(value, Array) or is_numpy(value))
    ]


def results(value: Any) -> Iterator[Any]:
    """The rustarr arrays in a result."""
    try:
        yield from (leaf for leaf in _leaves(value) if isinstance(leaf, Array))
    except (_TooDeepError, RecursionError) as error:
        raise ValueError(f"the result has {_TooDeepError()}") from error


def replace(value: Any, instead: Callable[[Any], Any]) -> Any:
    """A value with its leaves replaced; the same object where nothing changes."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if _is_sequence(kind):
        return _like(value, [replace(item, instead) for item in value])
    if kind is dict:
        items = {key: replace(item, instead) for key, item in value.items()}
        return items if any(items[key] is not value[key] for key in items) else value
    return instead(value)


def elements(task: "Task") -> int:
    """The default size of a task for performance models: the elements of its arrays, 1 without any."""
    return sum(int(a.array.size) for a in task.accesses) or 1


def unwrapped(func: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, tuple, dict[str, Any]]:
    """A call with what `functools.partial` holds among its arguments, where it is found like any other."""
    func = resolve(func)
    while type(func) is functools.partial and (func.args or func.keywords or declaration(func) is None):
        if any(value is _PLACEHOLDER for value in func.args):
            break
        args, kwargs = func.args + args, {**func.keywords, **kwargs}
        func = _emptied(func)
    return func, args, kwargs


def _emptied(partial: functools.partial) -> Any:
    """What a partial calls; where the partial was declared, so is that."""
    inner, outer = resolve(partial.func), declaration(partial)
    if outer is None:
        return inner
    before = declaration(inner)
    # The positions that it fills come first. They have names if the function was declared itself.
    names = [before.name(at) if before is not None else None for at in range(len(partial.args))]
    modes = {**(before.modes if before is not None else {}), **outer.modes}
    emptied = functools.partial(inner)
    emptied.__rustarr_access__ = Declaration((*names, *outer.positions), outer.rest, modes)
    return emptied


def wants_namespace(func: Any, args: tuple, kwargs: dict[str, Any]) -> bool:
    """Whether the function has a parameter `xp` that the caller has left open."""
    while isinstance(func, functools.partial):
        args, kwargs, func = func.args + args, {**func.keywords, **kwargs}, func.func
    if "xp" in kwargs:
        return False
    code = getattr(func, "__code__", None)
    offset = 0
    if code is None:
        inner = getattr(func, "__func__", None) or type(func).__call__
        code = getattr(inner, "__code__", None)
        offset = 1  # self
        if code is None:
            return False
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if "xp" not in names:
        return False
    at = names.index("xp") - offset
    return at >= len(args) or at >= code.co_argcount - offset
