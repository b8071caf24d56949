"""The functions of tasks: what they are called, finding them by name, and those whose calls are tasks."""

import builtins
import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any


def function_name(func: Any) -> str:
    """What a function is called, or what a partial holds."""
    while isinstance(func, functools.partial):
        func = func.func
    return getattr(func, "__name__", None) or type(func).__name__


class Delayed:
    """A function whose calls are tasks. ``__wrapped__`` is the function itself."""

    def __init__(self, func: Callable, submit: Callable[..., Any]) -> None:
        functools.update_wrapper(self, func)
        self.__wrapped__ = func
        self._submit = submit

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Submits a call; returns what ``task_submit`` with the same options returns."""
        return self._submit(self.__wrapped__, *args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<delayed {self.__wrapped__!r}>"


def resolve(func: "Callable | str") -> Callable:
    """The function that is meant by itself, by its name, or by what `delayed` has made of it.

    Raises
    ------
    TypeError
        If it cannot be called.
    ValueError
        If no function has that name.
    """
    if isinstance(func, Delayed):
        return func.__wrapped__
    if callable(func):
        return func
    if not isinstance(func, str):
        raise TypeError(f"submit: {func!r} is neither a function nor the name of one")
    module, _, name = func.rpartition(".")
    places = [sys.modules.get("__main__"), builtins]
    if module:
        places = [*(attribute(place, module) for place in places), _named_object(module)]
    for place in places:
        found = getattr(place, name, None)
        if callable(found):
            return resolve(found)
    raise ValueError(f"submit: there is no function {func!r}")


def attribute(place: Any, path: str) -> Any:
    """What a dotted name is in an object, or None."""
    for part in path.split("."):
        place = getattr(place, part, None)
    return place


def _named_object(path: str) -> Any:
    """The module, or the class or object in one, of a dotted name."""
    parts = path.split(".")
    for count in range(len(parts) if all(parts) else 0, 0, -1):
        name = ".".join(parts[:count])
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as error:
            # A module that lacks one of its own imports says so itself.
            if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
                raise
            continue
        return attribute(found, ".".join(parts[count:])) if parts[count:] else found
    return None
