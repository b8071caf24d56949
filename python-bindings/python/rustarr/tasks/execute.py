"""What a worker does with one task: bring the arguments, call the function, keep what comes of it."""

import functools
import logging
import threading
import time
import traceback
from typing import Any

from .. import _core
from ..exceptions import DeviceLostError
from . import arguments
from .future import here
from .task import Task
from .worker import Worker

_log = logging.getLogger("rustarr.tasks")

#: What `run` gives if the task is to run again elsewhere.
AGAIN = object()


def run(task: Task, worker: Worker) -> tuple[Any, BaseException | None]:
    """Runs a task; gives its result, or None and its exception."""
    here.task = task
    try:
        outcome = _outcome(task, worker)
        if outcome[0] is not AGAIN:
            # Finalisers of arguments are the task's last deed: where they wait, they give up the worker.
            task.forget()
        return outcome
    finally:
        here.task = None
        if not task.prepared:
            _core._hold([])
            task.runtime.transfers.let_go(task, worker)


def _outcome(task: Task, worker: Worker) -> tuple[Any, BaseException | None]:
    try:
        value = _call_in_process(task) if worker.context is None else _call(task, worker)
        task.ended = time.perf_counter()
        if task.size is not None:
            _measure(task, worker)
        return value, None
    except BaseException as error:
        task.ended = time.perf_counter()
        return _failed(task, worker, error)


def _call(task: Task, worker: Worker) -> Any:
    args, kwargs, func = task.args, task.kwargs, task.func
    if not task.prepared:
        _core._hold([a.array for a in task.accesses if not a.numpy])
        _size(task)
        args, kwargs = arguments.prepare(task, functools.partial(_fetch, task, worker))
    if arguments.wants_namespace(func, args, kwargs):
        kwargs = {**kwargs, "xp": worker.namespace}
    task.started = time.perf_counter()
    value = worker.variables.copy().run(func, *args, **kwargs)
    if task.prepared and isinstance(value, (int, float, str, type(None))):
        return value
    return _keep(task, worker, value)


def _call_in_process(task: Task) -> Any:
    args, kwargs = task.args, task.kwargs
    if not task.prepared:
        _core._hold([a.array for a in task.accesses if not a.numpy])
        _size(task)
        args, kwargs = arguments.prepare(task, task.runtime.transfers.home)
    task.started = time.perf_counter()
    written = arguments.written(task.func, args, kwargs)
    return task.runtime.pool.submit(task.func, args, kwargs, written).result()


def _size(task: Task) -> None:
    """Finds out a size that was not known before the inputs, and not after the task may have written."""
    if task.options.perfmodel is not None:
        try:
            task.measure()
        except Exception as error:
            _log.warning("the task %r was not measured: sizebase: %s", task.name, error)


def expect(task: Task) -> None:
    """Asks the scheduler for what it has to know of a task whose turn has come: user code may run."""
    outer = here.task
    if outer is None and getattr(threading.current_thread(), "runtime", None) is task.runtime:
        # A size that waits for others gives up the worker.
        here.task = task
    try:
        # On behalf of the task, which others may wait for at the arrays' gates.
        _core._hold([a.array for a in task.accesses if not a.numpy])
        task.expects = task.runtime.scheduler.expect(task)
    except Exception as error:
        task.expects = error
    except BaseException as error:
        task.expects = RuntimeError(f"the size of the task {task.name!r} cannot be had: {error!r}")
        task.expects.__cause__ = error
    finally:
        here.task = outer
        _core._hold([] if outer is None else [a.array for a in outer.accesses if not a.numpy])


def _measure(task: Task, worker: Worker) -> None:
    options, seconds = task.options, task.ended - task.started
    try:
        task.runtime.models.record(options.perfmodel, worker.kind, task.size, seconds, options.flops)
    except Exception:
        _log.warning("the task %r was not measured", task.name, exc_info=True)


def _fetch(task: Task, worker: Worker, access: Any) -> Any:
    """What the function gets for an array."""
    if not access.numpy:
        return task.runtime.transfers.fetch(task, access, worker)
    if access.mode != "R" or access.label is None:
        return access.array
    view = access.array.view()
    view.flags.writeable = False
    return view


def _keep(task: Task, worker: Worker, value: Any) -> Any:
    """Computes what the result still records, and makes the results that are arguments the caller's arrays."""
    used = [access for access in task.accesses if access.used is not None]
    for access in used:
        if access.writes:
            _core._settle(access.used)
    found = list(arguments.results(value))
    for array in found:
        _core._settle(array)
    if worker.device != "cpu" and (used or found):
        worker.context.synchronize()
    task.runtime.transfers.finish(task, worker)
    if not used or not found:
        return value

    def instead(array: Any) -> Any:
        if not isinstance(array, _core.Array):
            return array
        for access in used:
            if array is access.used:
                return access.array
        # A view of a copy that is kept for later tasks would change with it.
        moved = (a for a in used if a.array.device != worker.device)
        return array.copy() if any(_core._same_base(array, a.used) for a in moved) else array

    return arguments.replace(value, instead)


def _failed(task: Task, worker: Worker, error: BaseException) -> tuple[Any, BaseException]:
    """What becomes of a task that raised: its exception, with a traceback of the function that keeps no argument."""
    untouched = not any(access.writes and access.written() for access in task.accesses)
    lost = isinstance(error, DeviceLostError) and worker.device not in (None, "cpu")
    if lost and not _answers(worker):
        worker.loss = error
    if lost:
        task.runtime.transfers.abandon(task, worker)
    else:
        try:
            task.runtime.transfers.finish(task, worker)
        except Exception as second:
            error.add_note(f"afterwards: {type(second).__name__}: {second}")
    names = sorted({a.label for a in task.accesses if a.numpy and a.mode == "R" and a.label is not None})
    if names and isinstance(error, ValueError) and "read-only" in str(error):
        # NumPy does not know how the array that it shows is called.
        declared = ", ".join(map(repr, names))
        error.add_note(f'declared "R" in the task {task.name!r}: {declared}; declare it "RW", or write into a copy')
    _free_frames(error)
    return (AGAIN if lost and untouched else None), error


def _answers(worker: Worker) -> bool:
    """Whether a worker's device still computes."""
    try:
        xp = worker.namespace
        return float(xp.sum(xp.ones(2, dtype=xp.float32))) == 2.0
    except Exception:
        return False


def _free_frames(error: BaseException) -> None:
    """Empties the frames that exceptions hold, and takes the worker's own off the front."""
    seen: set[int] = set()
    work: list[BaseException | None] = [error]
    while work:
        one = work.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        traceback.clear_frames(one.__traceback__)
        work += [one.__cause__, one.__context__]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    error.__traceback__ = trace
