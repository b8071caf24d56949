"""Workers: contexts with a thread that runs tasks in them."""

import contextlib
import contextvars
import logging
import os
import threading
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import rustarr

from .. import _core
from ._cpus import usable_cpus

if TYPE_CHECKING:
    from .runtime import Runtime

_log = logging.getLogger("rustarr.tasks")

#: The runtime of ``with``, or of the task that runs.
current_runtime: contextvars.ContextVar[Any] = contextvars.ContextVar("rustarr.tasks.runtime", default=None)


class Worker:
    """A place where tasks run, one at a time.

    Attributes
    ----------
    name
        Unique in its runtime: the context's name, numbered where several have it.
    context
        The context that is current in its tasks; None of a worker process.
    kind
        What performance models tell workers apart by.
    """

    def __init__(self, runtime: "Runtime", index: int, context: Any, name: str) -> None:
        self.index = index
        self.name = name
        self.context = context
        self.device = None if context is None else context.device
        self.namespace = None if context is None else context.namespace
        self.kind = "process" if context is None else _kind(context)
        self.cores = None if context is None else context.cores
        #: Whether its device is gone, and what said so.
        self.lost = False
        self.loss: BaseException | None = None
        #: Whether its thread has nothing to do.
        self.idle = False
        self.thread: WorkerThread | None = None
        #: Threads whose task has waited for others and wants to go on.
        self.resuming: deque[WorkerThread] = deque()
        self.completed = 0
        #: The variables that tasks start with.
        self.variables = contextvars.Context()
        self.variables.run(self._enter, runtime)

    def _enter(self, runtime: "Runtime") -> None:
        current_runtime.set(runtime)
        if self.context is not None:
            self.context.__enter__()

    def is_at(self, place: Any) -> bool:
        """Whether it is what ``where`` names: the worker itself, its context, its name, or its backend."""
        if isinstance(place, str):
            return place in (self.name, self.name.partition("#")[0], self.name.partition(":")[0])
        return place is self or (isinstance(place, _core.Context) and place == self.context)

    def __repr__(self) -> str:
        return f"<worker {self.name!r}{' lost' if self.lost else ''}>"


def _kind(context: Any) -> str:
    if context.name == "cpu-parallel":
        return f"cpu-parallel:{context.threads}"
    if context.name.startswith("wgpu"):
        for device in rustarr.devices():
            if device["spec"] == context.name:
                return f"{context.name} {device['name']}"
    return context.name


def contexts_of(workers: Any, processes: int | None) -> list[Any]:
    """The contexts of a runtime's workers, None for a process; see ``Runtime`` for what may be given."""
    if workers is None:
        named = os.environ.get("RUSTARR_WORKERS", "")
        workers = [name.strip() for name in named.split(",") if name.strip()]
        if processes is not None:
            workers = []
        elif not workers:
            workers = [_core.Context("cpu-serial") for _ in range(usable_cpus())]
    if isinstance(workers, (str, _core.Context)):
        workers = [workers]
    if not isinstance(workers, Iterable):
        raise TypeError(f"Runtime: workers are contexts or their names, not {workers!r}")
    contexts = []
    for worker in workers:
        if isinstance(worker, str):
            worker = _core.Context(worker)
        elif not isinstance(worker, _core.Context):
            raise TypeError(f"Runtime: a worker is a rustarr.Context or its name, not {type(worker).__name__}")
        contexts.append(worker)
    if processes is None:
        return contexts
    if isinstance(processes, bool) or not isinstance(processes, int):
        raise TypeError(f"Runtime: processes is an int, not {processes!r}")
    if processes < 1:
        raise ValueError(f"Runtime: processes={processes} is not 1 or more")
    return contexts + [None] * processes


class WorkerThread(threading.Thread):
    """A thread that runs tasks of one worker at a time, or of none while it is spare."""

    def __init__(self, runtime: "Runtime") -> None:
        super().__init__(name="rustarr-task", daemon=True)
        self.runtime = runtime
        self.worker: Worker | None = None
        #: The worker that it has given up while its task waits.
        self.lent: Worker | None = None
        self.retired = False
        self._wake = threading.Lock()
        self._wake.acquire()
        self._everywhere = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
        self._bound: Any = None

    def wake(self) -> None:
        """Ends the present or the next `sleep`."""
        # It may be awake already.
        with contextlib.suppress(RuntimeError):
            self._wake.release()

    def sleep(self) -> None:
        """Waits for `wake`."""
        self._wake.acquire()

    def bind(self, worker: Worker) -> None:
        """Binds the thread to the worker's cores, or to all that it may use."""
        if worker.cores != self._bound and self._everywhere is not None:
            self._bound = worker.cores
            try:
                os.sched_setaffinity(0, worker.cores or self._everywhere)
            except OSError as error:
                _log.warning("the thread of %s is not bound to cores %s: %s", worker.name, worker.cores, error)

    def run(self) -> None:
        self.runtime.serve(self)
