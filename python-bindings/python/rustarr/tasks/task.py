"""A task: a call, its place in the graph, and what became of it."""

import itertools
import reprlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .functions import function_name
from .future import Future, here

if TYPE_CHECKING:
    from .runtime import Runtime
    from .worker import Worker

_ids = itertools.count(1)

#: The states of a task, in order.
WAITING, READY, RUNNING, ENDING, DONE = "waiting", "ready", "running", "ending", "done"


@dataclass(slots=True, eq=False)
class Options:
    """What ``task_submit`` was told about tasks; shared by all that it submits."""

    name: str | None = None
    synchronous: bool = False
    priority: int = 0
    color: str | int | None = None
    flops: float | None = None
    perfmodel: str | None = None
    sizebase: Any = None
    where: Any = None
    ret_future: bool = True


def size_of(base: Any, whose: str) -> int:
    """The size that `sizebase` gave; ValueError for what is no number of elements."""
    try:
        size = int(base)
        if 0 <= size <= sys.float_info.max:
            return size
    except (TypeError, ValueError, OverflowError):
        pass
    told = f"{base:.3g}" if isinstance(base, float) else reprlib.repr(base)
    raise ValueError(f"{whose}: sizebase has to give a number from 0 to {sys.float_info.max:.3g}, not {told}")


class Task:
    """The runtime's record of one call. Users read it; only the runtime writes it."""

    # Few tasks need everything: what most of them leave alone is kept in the class.
    #: Which workers may run it, as a set of their indices; None for all.
    allowed: frozenset[int] | None = None
    #: The arguments that are futures, and the arrays among the arguments.
    inputs: tuple[Any, ...] = ()
    accesses: Any = ()
    #: What an array counts as that nobody declared: the function may do anything with it.
    undeclared = "RW"
    #: Whether it is in the graph.
    entered = False
    #: Whether arguments have to be replaced before the call.
    prepared = True
    state = WAITING
    #: Tasks, and futures of others, that have to end first; and those that wait for this one's end or for its arrays.
    blockers: Any = ()
    dependents: Any = ()
    followers: Any = ()
    #: How many futures of others it waits for.
    foreign = 0
    #: What it has ever waited for.
    dependencies: tuple[int, ...] = ()
    #: Its own run, and the children that share its arrays: the arrays are free when none is left.
    holds = 1
    #: The tasks around it whose arrays it shares, and the bases that it keeps others off.
    shares: Any = ()
    gates: Any = ()
    #: The task that submitted it, while that runs.
    parent: "Task | None" = None
    #: What it waits for in the middle of its run: a list of futures for each wait. Event loops have several.
    waits_for: Any = ()
    worker: "Worker | None" = None
    started: float | None = None
    ended: float | None = None
    size: int | None = None
    transfers = 0
    #: Why the worker was chosen; see `explain`.
    choice: Any = None
    #: The scheduler's own: what it has found out of the task, or why it could not, and the seconds that it expects.
    expects: Any = None
    expected = 0.0

    def __init__(
        self,
        runtime: "Runtime",
        options: Options,
        func: Callable,
        args: tuple,
        kwargs: dict[str, Any],
        submitted: float,
    ) -> None:
        self.id = next(_ids)
        self.runtime = runtime
        self.options = options
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.submitted = submitted
        parent = here.task
        if parent is not None:
            self.parent = parent
        #: None after the end: a future that nobody else has shall free its result at once, not wait for the collector.
        self.future: Future | None = Future()
        self.future.task = self

    @property
    def name(self) -> str:
        """The given name, else the function's."""
        name = self.options.name
        if name is None:
            name = self.__dict__.get("_name")
        return name if name is not None else function_name(self.func)

    def measure(self) -> int:
        """The size that performance models know the task by.

        A function `sizebase` runs before the task's arrays are announced, when it waits for their writers like
        everybody else, or when the inputs have ended and the task's turn on its arrays has come.
        """
        if self.size is None:
            from . import arguments

            base = self.options.sizebase
            if callable(base):
                args, kwargs = self.args, self.kwargs
                if not self.prepared:
                    args, kwargs = arguments.prepare(self, self.runtime.transfers.home)
                base = base(*args, **kwargs)
            self.size = arguments.elements(self) if base is None else size_of(base, f"the task {self.name!r}")
        return self.size

    def wait(self, timeout: float | None = None) -> None:
        """Waits until the task has ended; whoever waits in a task gives up its worker."""
        future = self.future
        if future is not None and not future.done():
            future._wait(timeout)

    def cancel(self) -> bool:
        """Cancels the task unless it has started."""
        future = self.future
        return future is not None and not future.done() and future.cancel()

    def forget(self) -> None:
        """Lets go of the function and the arguments; the name stays."""
        if self.func is not None:
            self._name = self.name
        self.func = None
        self.args = ()
        self.kwargs = {}

    def comes_from(self, other: "Task") -> bool:
        """Whether the task is `other` or was submitted in it, directly or not."""
        task: Task | None = self
        while task is not None:
            if task is other:
                return True
            task = task.parent
        return False

    def __repr__(self) -> str:
        return f"<task {self.id} {self.name!r} {self.state}>"
