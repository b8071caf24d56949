"""The graph of tasks that have not ended: which waits for which. There is one for all runtimes of the process.

Its lock is never held while user code runs, and only threads of workers and of waiting tasks take it. Those that submit
only append to a queue, so that an interrupt (Ctrl-C is raised in the main thread, between any two steps) cannot
leave the graph half changed.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from . import arguments
from .errors import DependencyError
from .future import Future, here
from .hazards import Hazards
from .task import DONE, ENDING, READY, RUNNING, WAITING, Task

if TYPE_CHECKING:
    from .runtime import Runtime
    from .worker import WorkerThread


class _Lock:
    """The graph's lock. A finaliser may run in a thread that holds it, and cannot wait there: ``here.locked`` tells."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        self._lock.acquire()
        here.locked = True

    def __exit__(self, *_: object) -> None:
        here.locked = False
        self._lock.release()


lock = _Lock()
hazards = Hazards()


def unlock() -> None:
    """In a forked child: a thread that is not here may have held the lock."""
    global lock, hazards
    lock, hazards = _Lock(), Hazards()
    here.locked = False


class Step:
    """What a change of the graph leaves to be done after the lock is released."""

    __slots__ = ("doomed", "dropped", "ended", "runtimes", "sized", "untold", "wake")

    def __init__(self) -> None:
        #: Tasks that are to end now, with their outcomes.
        self.doomed: list[tuple[Task, BaseException | None]] = []
        #: Tasks that have ended, each with its future if that was not cancelled.
        self.ended: list[tuple[Task, Future | None]] = []
        #: Cancelled futures of whom not everybody has heard.
        self.untold: list[Future] = []
        #: What ended tasks held: user code may run when it goes, which may wait for tasks.
        self.dropped: list[Any] = []
        #: Tasks that are ready but for what the scheduler has to find out.
        self.sized: list[Task] = []
        #: Those that got ready tasks.
        self.runtimes: set[Runtime] = set()
        self.wake: list[WorkerThread] = []

    def doom(self, task: Task, error: BaseException | None) -> None:
        """The task is to end without having run, with this exception if it was not cancelled."""
        task.state = ENDING
        self.doomed.append((task, error))

    def settle(self) -> None:
        """The last thing under the lock: ends what is doomed, and chooses who wakes up."""
        while self.doomed:
            task, error = self.doomed.pop()
            end(task, None, error, self)
        for runtime in self.runtimes:
            runtime.choose_wakes(self)

    def finish(self) -> None:
        """Wakes threads, lets go of arguments, runs the callbacks of ended tasks and reports them."""
        for thread in self.wake:
            thread.wake()
        for task in self.sized:
            task.runtime.expect(task)
        self.dropped.clear()
        for task, future in self.ended:
            task.future = None
            if future is not None:
                if future._done_callbacks:
                    future._invoke_callbacks()
                task.runtime.report(task, future)
        for future in self.untold:
            future._tell_cancelled()


def enter(task: Task, step: Step) -> None:
    """Takes a submitted task into the graph."""
    if task.entered:
        # It came twice, because its submission was interrupted.
        if task.state is DONE:
            task.runtime.live.pop(task.id, None)
        return
    task.entered = True
    for future in task.inputs:
        other = getattr(future, "task", None) if isinstance(future, Future) else None
        if other is None:
            if not future.done() and not task.future.cancelled():
                task.foreign += 1
                future.add_done_callback(lambda _: task.runtime.arrived(task))
        else:
            task.dependencies = (*task.dependencies, other.id)
            if other.state is not DONE:
                _block(task, other)
                if not other.dependents:
                    other.dependents = []
                other.dependents.append(task)
    if task.accesses:
        hazards.register(task, task.accesses)
    if task.blockers or task.foreign:
        # What is expected now may be long out of date when it is ready.
        task.expects = None
    advance(task, step)


def resume(task: Task, step: Step) -> None:
    """The scheduler has found out what it has to know of a ready task."""
    advance(task, step)


def arrive(task: Task, step: Step) -> None:
    """A future of others, which a task waits for, has ended, or the task was cancelled."""
    if task.entered and task.state is WAITING:
        # A cancelled task waits for no value, only for its turn on its arrays.
        if task.future.cancelled():
            task.foreign = 0
            if task.blockers and not task.accesses:
                task.blockers = set()
        else:
            task.foreign -= 1
        advance(task, step)


def cancelled(future: Future) -> Callable[[Task, Step], None]:
    """What happens when a task was cancelled, and whoever did it was interrupted."""

    def happened(task: Task, step: Step) -> None:
        step.untold.append(future)
        arrive(task, step)

    return happened


def refuse(task: Task, step: Step) -> None:
    """A task will not be run: it fails when its turn on its arrays comes."""
    error = RuntimeError(f"the runtime was closed; the task {task.name!r} did not run")
    if task.state is READY:
        step.doom(task, error)
    elif task.state is WAITING:
        task.expects = error
        task.foreign = 0
        advance(task, step)


def _block(task: Task, other: Task) -> None:
    if not task.blockers:
        task.blockers = set()
    task.blockers.add(other)


def advance(task: Task, step: Step) -> None:
    """Makes a task ready if nothing is left to wait for."""
    if task.blockers or task.foreign or task.state is not WAITING:
        return
    try:
        if task.future.cancelled():
            step.doom(task, None)
        elif isinstance(task.expects, Exception):
            # A model or a size that cannot be had, or a runtime that is closed.
            step.doom(task, task.expects)
        elif task.inputs and (failed := arguments.failure(task)) is not None:
            step.doom(task, dependency_error(task, *failed))
        elif not (task.inputs and _late_arrays(task, step)):
            task.runtime.admit(task, step)
    except Exception as error:
        # An argument of a strange kind.
        step.doom(task, error)


def _late_arrays(task: Task, step: Step) -> bool:
    """Gives arrays that are only known now their place in the order; whether the task has to wait for it."""
    late = arguments.scan_results(task)
    step.dropped.append(task.inputs)
    task.inputs = ()
    task.accesses = [*task.accesses, *late]
    hazards.register(task, late)
    return bool(task.blockers)


def dependency_error(task: Task, future: Any, cause: BaseException) -> DependencyError:
    """The exception of a task that cannot run because of an input."""
    what = f"{future.name!r}" if isinstance(future, Future) else "a future of others"
    if isinstance(cause, DependencyError) and cause.origin is not None:
        # Only the first failure and the input itself are told: a chain of n tasks would else tell n of them n times.
        origin, first = cause.origin, cause.__cause__
        told = f"{what} failed: {origin}"
    else:
        how = "was cancelled" if future.cancelled() else f"failed: {type(cause).__name__}: {cause}"
        told = origin = f"{what} {how}"
        first = cause
    error = DependencyError(f"the task {task.name!r} did not run: its input {told}")
    error.origin = origin
    error.__cause__ = first
    return error


def end(task: Task, value: Any, error: BaseException | None, step: Step) -> None:
    """A task has ended, or never will run."""
    task.state = DONE
    if task.ended is None:
        task.ended = time.perf_counter()
    step.dropped.append((task.func, task.args, task.kwargs, task.inputs))
    task.forget()
    task.inputs = ()
    if task.parent is not None and task.parent.state is DONE:
        task.parent = None
    future = task.future
    mine = future.running() or future._claim()
    # Before anybody who waits for the task goes on: the trace may end then.
    task.runtime.record(task, "cancelled" if not mine else "done" if error is None else "failed")
    if mine:
        future._settle(value, error)
    step.ended.append((task, future if mine else None))
    task.runtime.live.pop(task.id, None)
    dependents, task.dependents = task.dependents, ()
    for other in dependents:
        other.blockers.discard(task)
        advance(other, step)
    _let_go(task, step)


def _let_go(task: Task, step: Step) -> None:
    """One of those that keep a task's arrays has ended; frees them with the last."""
    pending = [task]
    while pending:
        task = pending.pop()
        task.holds -= 1
        if task.holds:
            continue
        if task.accesses or task.gates:
            hazards.release(task)
            step.dropped.append((task.accesses, task.gates))
            task.accesses = ()
            task.gates = ()
        followers, task.followers = task.followers, ()
        for other in followers:
            other.blockers.discard(task)
            advance(other, step)
        shares, task.shares = task.shares, ()
        pending.extend(shares)


def before(futures: Iterable[Any]) -> Iterable[Task]:
    """The tasks that futures wait for, directly or not, themselves included; those of running tasks' waits too."""
    seen: set[Task] = set()
    work = [f.task for f in futures if isinstance(f, Future)]
    while work:
        task = work.pop()
        if task in seen or task.state is DONE:
            continue
        seen.add(task)
        yield task
        work.extend(task.blockers)
        if task.state is RUNNING:
            work.extend(f.task for futures in task.waits_for for f in futures if isinstance(f, Future))
