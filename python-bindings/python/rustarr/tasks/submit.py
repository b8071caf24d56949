"""Submitting tasks: ``submit``, ``task_submit``, and the decorators ``delayed`` and ``access``."""

import inspect
import math
import operator
import re
import reprlib
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

from .arguments import Declaration
from .current import current
from .functions import Delayed, function_name
from .future import Future
from .task import Options, Task, size_of

_OPTIONS = Options.__slots__
_MODES = ("R", "W", "RW")
_NONE = type(None)
_TYPES = {
    "name": ((str, _NONE), "a string"),
    "synchronous": (Integral, "True or False"),
    "priority": (Integral, "an integer"),
    "color": ((str, Integral, _NONE), "a string or an integer"),
    "flops": ((Real, _NONE), "a number"),
    "perfmodel": ((str, _NONE), "a string"),
    "ret_future": (Integral, "True or False"),
}


def submit(func: "Callable | str", /, *args: Any, **kwargs: Any) -> Future:
    """Runs a function as a task of the current runtime.

    Parameters
    ----------
    func
        A callable, or its name: ``"math.log10"``, or one in ``__main__`` or of the builtins, ``"max"``.
    args, kwargs
        Its arguments. Futures, also in lists, tuples and dicts, are replaced by their results; the task waits for them.
        Arrays order tasks: wherever one of two tasks writes an array or a view of it, they run in the order of
        submission. An argument that no ``access`` declares counts as written.

    Returns
    -------
    Future
        Its result is what the function returns.

    Raises
    ------
    TypeError
        If ``func`` cannot be called.
    ValueError
        If no function has that name.
    """
    return current().submit(func, *args, **kwargs)


def task_submit(**options: Any) -> Callable[..., Any]:
    """Makes a function that submits tasks: ``task_submit(options)(func, *args, **kwargs)``.

    Parameters
    ----------
    name
        What the task is called in traces and errors.
    synchronous
        Whether the call returns only when the task has ended.
    priority
        Any integer; higher ones first. The schedulers "prio" and "dmda" go by it.
    color
        Its color in pictures: a name, "#rrggbb", or such a number.
    flops
        Floating-point operations of the task, for GFlop/s in plots of the performance model.
    perfmodel
        The performance model that the task is measured for.
    sizebase
        The task's size in that model: a number, or a function of the arguments that gives it. By default the number of
        elements of the array arguments.
    where
        The workers that may run it: a worker's name, a backend's ("wgpu"), "process", a context, or a list of these.
    ret_future
        False returns None at once, or with ``synchronous`` the result itself; errors that nobody sees are logged.

    Returns
    -------
    callable
        Its arguments are those of ``submit``.

    Raises
    ------
    TypeError
        For an unknown option, or one of a wrong type.
    ValueError
        For ``flops`` that are no number of operations, what is no color, or a size that no float holds.
    """
    return _submitter(_options("task_submit", options))


def _submitter(options: Options) -> Callable[..., Any]:
    def call(func: "Callable | str", /, *args: Any, **kwargs: Any) -> Any:
        return _launch(options, func, args, kwargs)

    return call


def _launch(options: Options, func: "Callable | str", args: tuple, kwargs: dict[str, Any]) -> Any:
    future = current().launch(options, func, args, kwargs)
    if options.synchronous:
        if not options.ret_future:
            return future.result()
        if not future.done():
            future._wait(None)
    return future if options.ret_future else None


def _options(caller: str, options: dict[str, Any]) -> Options:
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise TypeError(f"{caller}: unknown option {', '.join(unknown)}; there are {', '.join(_OPTIONS)}")
    made = Options(**options)
    for option, (types, told) in _TYPES.items():
        value = getattr(made, option)
        if not isinstance(value, types):
            raise TypeError(f"{caller}: {option} is {told}, not {value!r}")
    if not _is_operations(made.flops):
        raise ValueError(f"{caller}: flops is a number of operations, not {reprlib.repr(made.flops)}")
    if not _is_colour(made.color):
        raise ValueError(f'{caller}: color is a name, "#rrggbb" or a number up to 0xffffff, not {made.color!r}')
    made.priority = operator.index(made.priority)  # NumPy's unsigned ones cannot be negated
    base = made.sizebase
    if not (base is None or callable(base) or (isinstance(base, Integral) and base >= 0)):
        raise TypeError(f"{caller}: sizebase is a number or a function of the arguments, not {base!r}")
    if isinstance(base, Integral):
        made.sizebase = size_of(base, caller)
    return made


def _is_operations(flops: "Real | None") -> bool:
    try:
        return flops is None or 0 <= float(flops) < math.inf
    except OverflowError:
        return False


def _is_colour(color: "str | int | None") -> bool:
    if isinstance(color, str):
        return re.fullmatch(r"#[0-9A-Fa-f]{6}|[A-Za-z][\w:/ ]*", color) is not None
    return color is None or 0 <= color <= 0xFFFFFF


def access(**modes: str) -> Callable[[Callable], Callable]:
    """Declares what a function does with array arguments: ``@access(a="R", out="W")``.

    "R" is read only: inside the task a write raises and names the argument, and a NumPy argument comes as a view that
    cannot be written. "W" overwrites all elements without reading them first. "RW" does both, and is what counts for
    arguments that are not declared.

    Raises
    ------
    TypeError
        If the function has no such parameter, or cannot be marked.
    ValueError
        For another mode.
    """

    def declare(func: Callable) -> Callable:
        _declare("access", func, modes)
        return func

    return declare


def _declare(caller: str, func: Callable, modes: dict[str, str]) -> None:
    if isinstance(func, Delayed):
        func = func.__wrapped__
    try:
        parameters = list(inspect.signature(func).parameters.values())
    except ValueError:
        raise TypeError(f"{caller}: {func!r} does not say what its parameters are called") from None
    names = {p.name for p in parameters}
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name in modes:
        if name not in names and not any_name:
            options = f", and the options are {', '.join(_OPTIONS)}" if caller == "delayed" else ""
            has = ", ".join(p.name for p in parameters) or "none"
            raise TypeError(f"{caller}: {function_name(func)} has no parameter {name!r}; it has {has}{options}")
        if modes[name] not in _MODES:
            raise ValueError(f'{caller}: {name}={modes[name]!r} is none of "R", "W", "RW"')
    positions = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    before = getattr(func, "__rustarr_access__", None)
    declaration = Declaration(positions, rest, {**(before.modes if before else {}), **modes})
    try:
        func.__rustarr_access__ = declaration
    except AttributeError:
        raise TypeError(f"{caller}: {func!r} cannot be declared; declare a function that calls it") from None


def delayed(func: Callable | None = None, /, **options: Any) -> Any:
    """Makes a function whose calls are tasks: ``@delayed``, or ``@delayed(name="add", perfmodel="add", a="RW")``.

    Parameters
    ----------
    options
        Those of ``task_submit``; other keywords are parameters of the function, declared as by ``access``.

    Raises
    ------
    TypeError
        For a keyword that is neither.
    """
    own = {key: value for key, value in options.items() if key in _OPTIONS}
    modes = {key: value for key, value in options.items() if key not in _OPTIONS}
    call = _submitter(_options("delayed", own))

    def decorate(func: Callable) -> Delayed:
        if not callable(func):
            raise TypeError(f"delayed: {func!r} cannot be called")
        if isinstance(func, Delayed):
            func = func.__wrapped__
        if modes:
            _declare("delayed", func, modes)
        return Delayed(func, call)

    return decorate if func is None else decorate(func)


def explain(future: Future) -> "Explanation":
    """Why the task of a future ran, or will run, where it does.

    Raises
    ------
    TypeError
        For a future of others.
    """
    task = getattr(future, "task", None)
    if not isinstance(task, Task):
        raise TypeError(f"explain: {future!r} is no future of a task")
    return Explanation(task)


class Explanation:
    """Why a worker was chosen; printed, it says so in words.

    Attributes
    ----------
    worker
        The worker's name, None before one was chosen.
    scheduler, reason
        The rule that chose it, by name and in words.
    candidates
        What ``dmda`` expected of each worker that it considered.
    dependencies
        The numbers of the tasks that had to end first.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self.worker = None if task.worker is None else task.worker.name
        self.scheduler = task.runtime.scheduler.name
        self.reason, self.candidates = task.choice or (None, ())
        self.dependencies = task.dependencies

    def __str__(self) -> str:
        task = self.task
        head = f"task {task.id} {task.name!r} ({task.state}): "
        if self.reason is None:
            head += "no worker has been chosen"
            if task.blockers:
                head += f"; it waits for {', '.join(sorted(f'{t.id} {t.name!r}' for t in task.blockers))}"
        else:
            head += f"{self.worker or 'not started'}: {self.reason}"
        lines = [head, *(f"  {candidate}" for candidate in self.candidates)]
        if self.dependencies:
            lines.append(f"  it came after {', '.join(map(str, self.dependencies))}")
        return "\n".join(lines)

    __repr__ = __str__
