"""Runtimes: workers, the threads that run tasks in them, and the scheduler between."""

import contextlib
import logging
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _core
from . import arguments, graph
from ._cpus import usable_cpus
from .errors import DeadlockError
from .execute import AGAIN, expect, run
from .future import Future, here
from .graph import Step
from .scheduler import Scheduler, make_scheduler
from .task import READY, RUNNING, WAITING, Options, Task
from .trace import TaskRecord
from .trace import current as active_trace
from .transfer import Transfers
from .worker import Worker, WorkerThread, contexts_of, current_runtime

_log = logging.getLogger("rustarr.tasks")

#: How many tasks of a runtime may wait for others at a time: each has a thread.
MOST_WAITING = 512

_PLAIN = Options()

#: Every runtime of the process that is not closed.
runtimes: "set[Runtime]" = set()


class Runtime:
    """Runs tasks on workers, each of which is a context, until it is closed; ``with`` makes it current and closes it.

    Parameters
    ----------
    workers
        Contexts, their names, or both. By default ``RUSTARR_WORKERS``, names with commas between, then one "cpu-serial"
        for each core that the process may use.
    scheduler
        "eager", "prio", "ws" or "dmda"; by default ``RUSTARR_SCHED``, then "eager".
    processes
        Number of worker processes, for pure Python functions. Without ``workers`` all tasks run in them, else those
        with ``where="process"``.
    models
        Performance models; by default those of the user's data directory.
    transfers
        What moving arrays between devices is taken to cost.

    Raises
    ------
    ValueError
        For an unknown scheduler, a context that cannot be, or no workers at all.
    TypeError
        For a parameter of another type.
    """

    def __init__(
        self,
        workers: "Iterable[_core.Context | str] | None" = None,
        *,
        scheduler: "str | type[Scheduler] | None" = None,
        processes: int | None = None,
        models: Any = None,
        transfers: Transfers | None = None,
    ) -> None:
        if transfers is not None and not isinstance(transfers, Transfers):
            raise TypeError(f"Runtime: transfers is a Transfers, not {transfers!r}")
        if models is not None and not all(callable(getattr(models, name, None)) for name in ("record", "estimate")):
            raise TypeError(f"Runtime: models is a PerfModels, not {models!r}")
        self.clock: Callable[[], float] = time.perf_counter
        self.transfers = transfers if transfers is not None else Transfers()
        self._models = models
        self._pool: Any = None
        self._processes: Runtime | None = None
        self._guard = threading.Lock()
        contexts = contexts_of(workers, processes)
        if not contexts:
            raise ValueError("Runtime: there are no workers; name at least one context, or processes")
        self._process_indices = frozenset(i for i, c in enumerate(contexts) if c is None)
        self._default_allowed = None
        if self._process_indices and len(self._process_indices) < len(contexts):
            self._default_allowed = frozenset(range(len(contexts))) - self._process_indices
        self._places: dict[Any, frozenset[int] | None] = {None: self._default_allowed}
        names = ["process" if context is None else context.name for context in contexts]
        self.workers: list[Worker] = []
        for index, (context, name) in enumerate(zip(contexts, names, strict=True)):
            # Several of a name are numbered.
            number = f"#{names[:index].count(name)}" if names.count(name) > 1 else ""
            self.workers.append(Worker(self, index, context, name + number))
        self.scheduler = make_scheduler(scheduler, self)
        self.one_memory = len({w.device for w in self.workers if w.device is not None}) < 2 and all(
            w.device is None or w.device == "cpu" for w in self.workers
        )
        #: Tasks with what has happened to them: a function of the graph. The workers take them in.
        self._inbox: deque[tuple[Task, Callable[[Task, Step], None]]] = deque()
        #: Unended tasks by number.
        self.live: dict[int, Task] = {}
        self._idle: deque[Worker] = deque()
        #: Ready tasks that somebody waits for.
        self._urgent: deque[Task] = deque()
        self._spare: list[WorkerThread] = []
        self._threads: set[WorkerThread] = set()
        self._waiting = 0
        #: Why a worker was lost, once one was.
        self._loss: BaseException | None = None
        self._closed = False
        self._stopped = False
        self._tokens: list[Any] = []
        runtimes.add(self)
        for worker in self.workers:
            self._new_thread(worker)
        try:
            for worker in self.workers:
                worker.thread.start()
        except BaseException:
            self._closed = self._stopped = True
            runtimes.discard(self)
            for thread in self._threads:
                thread.wake()
            raise

    @property
    def models(self) -> Any:
        """The performance models."""
        if self._models is None:
            from .perfmodel import default_models

            self._models = default_models()
        return self._models

    @property
    def pool(self) -> Any:
        """The worker processes, which start when they are first needed."""
        with self._guard:
            if self._pool is None:
                from .process import ProcessPool

                self._pool = ProcessPool(len(self._process_indices))
            return self._pool

    # Submitting.

    def submit(self, func: "Callable | str", /, *args: Any, **kwargs: Any) -> Future:
        """Runs a function as a task; see ``rustarr.tasks.submit``."""
        return self.launch(_PLAIN, func, args, kwargs)

    def launch(self, options: Options, func: "Callable | str", args: tuple, kwargs: dict[str, Any]) -> Future:
        """Submits a call.

        Raises
        ------
        ValueError
            If no worker is what ``where``, or a part of it, asks for.
        RuntimeError
            If the runtime is closed.
        """
        func, args, kwargs = arguments.unwrapped(func, args, kwargs)
        # Tasks that a closed runtime still finishes may need others.
        if self._closed and (here.task is None or self._stopped):
            raise RuntimeError(f"the runtime is closed; the task {options.name or func!r} cannot run")
        if options.where == "process" and not self._process_indices:
            return self._other_processes().launch(options, func, args, kwargs)
        allowed = self._allowed(options.where)
        task = Task(self, options, func, args, kwargs, time.perf_counter())
        # The task's own reference goes with its end, which may come before ours.
        future = task.future
        if allowed is not None:
            task.allowed = allowed
        if self._process_indices and (allowed is None or allowed <= self._process_indices):
            from .process import check_picklable

            check_picklable(func, args, kwargs)
            # Processes get copies.
            task.undeclared = "R"
        try:
            # A size that goes by values waits for their writers, of whom the task itself shall not be one.
            if options.perfmodel is not None and callable(options.sizebase) and not arguments.has_futures(args, kwargs):
                task.measure()
            if args or kwargs:
                arguments.scan(task)
            if options.perfmodel is not None and not task.inputs:
                task.measure()
                try:
                    task.expects = self.scheduler.expect(task)
                except Exception as error:
                    task.expects = error
            self.live[task.id] = task
            self._inbox.append((task, graph.enter))
            self._wake_one()
        except BaseException:
            # Ctrl-C may come anywhere. Nobody gets the future, so the task ends the way of cancelled ones.
            future.cancel()
            self.live[task.id] = task
            self._inbox.append((task, graph.enter))
            raise
        if self._stopped:
            # Another thread has closed the runtime meanwhile.
            self._refuse_rest()
        return future

    def expect(self, task: Task) -> None:
        """Has a ready task's expectations found out, which may run user code; the graph hears of it."""
        expect(task)
        self._inbox.append((task, graph.resume))
        self._wake_one()
        if self._stopped:
            self._refuse_rest()

    def _other_processes(self) -> "Runtime":
        """The runtime of worker processes that stands by one without."""
        with self._guard:
            if self._processes is None:
                self._processes = Runtime(processes=usable_cpus(), models=self._models)
            return self._processes

    def arrived(self, task: Task, untold: Future | None = None) -> None:
        """A future of others, which a task waits for, has ended, or the task was cancelled; `untold` is its future then
        if not all who wait for it have heard."""
        self._inbox.append((task, graph.arrive if untold is None else graph.cancelled(untold)))
        self._wake_one()

    def _wake_one(self) -> None:
        if self._idle:
            # Another thread may take the last one meanwhile.
            with contextlib.suppress(IndexError):
                thread = self._idle.popleft().thread
                if thread is not None:
                    thread.wake()

    def _allowed(self, where: Any) -> frozenset[int] | None:
        try:
            return self._places[where]
        except (KeyError, TypeError):
            pass
        wanted = where if isinstance(where, (list, tuple, set, frozenset)) else [where]
        found = frozenset(w.index for w in self.workers for place in wanted if w.is_at(place))
        unknown = [place for place in wanted if not any(w.is_at(place) for w in self.workers)]
        if unknown or not found:
            names = ", ".join(w.name for w in self.workers)
            which = f"{unknown[0]!r} of " if unknown and wanted is where else ""
            raise ValueError(f"task_submit: no worker is {which}where={where!r}; there are {names}")
        with contextlib.suppress(TypeError):
            self._places[where] = found
        return found

    # Running: the loop of a worker's thread.

    def serve(self, thread: WorkerThread) -> None:
        """Runs tasks until the runtime stops; the whole life of a thread."""
        try:
            self._serve(thread)
        except BaseException as error:
            # A fault of the runtime itself. Whoever waits has to hear of it.
            self._closed = self._stopped = True
            self.fail(RuntimeError(f"{self!r} is broken: {type(error).__name__}: {error}"))
            raise

    def _serve(self, thread: WorkerThread) -> None:
        task: Task | None = None
        value: Any = None
        error: BaseException | None = None
        while True:
            step = Step()
            with graph.lock:
                worker = thread.worker
                # What a task has submitted belongs before its own end.
                self._take_inbox(step)
                if task is not None:
                    self.scheduler.finished(task, worker)
                    if worker.loss is not None and not worker.lost:
                        self._lose(worker, step)
                    if value is AGAIN:
                        self._run_elsewhere(task, worker, error, step)
                    else:
                        worker.completed += 1
                        graph.end(task, value, error, step)
                    step.dropped.append((value, error))
                    task = value = error = None
                if worker is not None:
                    self._leave_idle(worker)
                    if worker.resuming:
                        self._hand_over(thread, worker.resuming.popleft(), step)
                        worker = None
                if worker is not None:
                    task = self._pick(worker, step)
                step.settle()
                if task is None and worker is not None:
                    # Something may have become ready with what was doomed.
                    task = self._pick(worker, step)
                    step.settle()
                if task is None and worker is not None:
                    worker.idle = True
                    self._idle.append(worker)
                stop = self._stopped or thread.retired
            step.finish()
            del step
            if task is not None:
                thread.bind(worker)
                value, error = run(task, worker)
                while task.waits_for:
                    # Coroutines that were left behind in the middle of a wait.
                    self._take_back(thread, task, task.waits_for[0])
            elif stop:
                break
            # Whoever submits looks for the idle after it has filled the inbox.
            elif worker is None or not self._inbox:
                thread.sleep()
        with graph.lock:
            self._threads.discard(thread)

    def _take_inbox(self, step: Step) -> None:
        inbox = self._inbox
        while inbox:
            task, happened = inbox.popleft()
            happened(task, step)

    def _leave_idle(self, worker: Worker) -> None:
        if worker.idle:
            worker.idle = False
            with contextlib.suppress(ValueError):
                self._idle.remove(worker)

    def _pick(self, worker: Worker, step: Step) -> Task | None:
        """The task that the worker runs next, marked as running."""
        if worker.lost:
            return None
        while True:
            task = None
            while self._urgent and task is None:
                first = self._urgent[0]
                if first.state is READY:
                    if not self.scheduler.suits(first, worker):
                        break
                    task = first
                    reason = first.choice or ("a task waits for it, so it went first", ())
                    first.choice = reason
                self._urgent.popleft()
            if task is None:
                task = self.scheduler.pop(worker)
            if task is None:
                return None
            self.scheduler.started(task, worker)
            if task.future._claim():
                task.state = RUNNING
                task.worker = worker
                return task
            self.scheduler.finished(task, worker)
            step.doom(task, None)

    def choose_wakes(self, step: Step) -> None:
        """Wakes idle workers for whom there is something to do."""
        for worker in self.workers:
            if worker.idle and self.scheduler.has(worker):
                self._leave_idle(worker)
                step.wake.append(worker.thread)

    def _run_elsewhere(self, task: Task, worker: Worker, error: BaseException, step: Step) -> None:
        """A worker's device failed under a task that had written nothing."""
        allowed = task.allowed if task.allowed is not None else frozenset(w.index for w in self.workers)
        left = frozenset(i for i in allowed if i != worker.index and not self.workers[i].lost)
        if not left:
            worker.completed += 1
            graph.end(task, None, error, step)
            return
        task.allowed = left
        task.state = WAITING
        task.worker = None
        task.future._reopen()
        graph.advance(task, step)

    def _lose(self, worker: Worker, step: Step) -> None:
        worker.lost = True
        self._loss = worker.loss
        self.scheduler.lose(worker)
        for task in list(self.live.copy().values()):
            if task.state is READY and not self._able(task):
                step.doom(task, self._loss)

    def _able(self, task: Task) -> bool:
        """Whether any worker that may run the task is there still."""
        allowed = task.allowed
        return any(not w.lost and (allowed is None or w.index in allowed) for w in self.workers)

    def admit(self, task: Task, step: Step) -> None:
        """Takes a ready task to be run."""
        if self._loss is not None and not self._able(task):
            step.doom(task, self._loss)
            return
        if task.expects is None:
            if self.scheduler.expects and task.options.perfmodel is not None:
                step.sized.append(task)
                return
            task.expects = {}
        task.state = READY
        self.scheduler.push(task)
        step.runtimes.add(self)

    def record(self, task: Task, state: str) -> None:
        """Tells the traces that are active of a task that is ending."""
        active = active_trace()
        if active is not None:
            active.add(TaskRecord.of(task, state))

    def report(self, task: Task, future: Future) -> None:
        """Tells the log of a failure where nobody has a future to ask."""
        error = future._exception
        if error is not None and not task.options.ret_future:
            _log.error("the task %r failed, and nobody has its future", task.name, exc_info=error)

    # Waiting inside tasks.

    @contextlib.contextmanager
    def blocked(self, task: Task, futures: Iterable[Any]) -> Iterator[None]:
        """Gives up the worker of a running task while it waits for futures; another thread serves the worker.

        A task in which an event loop runs may be in several waits at a time; it has the worker back after the last.

        Raises
        ------
        DeadlockError
            If one of the futures waits for the task.
        RuntimeError
            If too many tasks wait already.
        """
        here.check()
        thread: Any = threading.current_thread()
        futures = list(futures)
        self._give_up(thread, task, futures)
        try:
            yield
        finally:
            self._take_back(thread, task, futures)

    def _give_up(self, thread: WorkerThread, task: Task, futures: list[Any]) -> None:
        step = Step()
        fresh = None
        with graph.lock:
            refusal = self._hurry(task, futures, step)
            if refusal is None and not task.waits_for:
                if self._waiting >= MOST_WAITING:
                    count = f"{self._waiting} tasks of this runtime wait for others already"
                    refusal = RuntimeError(f"the task {task.name!r} cannot wait: {count}")
                else:
                    self._waiting += 1
                    worker = thread.worker
                    thread.worker = None
                    thread.lent = worker
                    if self._spare:
                        spare = self._spare.pop()
                        spare.worker = worker
                        worker.thread = spare
                        step.wake.append(spare)
                    else:
                        fresh = self._new_thread(worker)
            if refusal is None:
                task.waits_for = (*task.waits_for, futures)
            step.settle()
        step.finish()
        if refusal is not None:
            raise refusal
        if fresh is not None:
            self._start_spare(fresh, thread, task)

    def _hurry(self, task: Task, futures: list[Any], step: Step) -> Exception | None:
        """Puts what a task is to wait for ahead of the rest; the error if that waits for the task."""
        for runtime in {self, *(f.task.runtime for f in futures if isinstance(f, Future))}:
            runtime._take_inbox(step)
        step.settle()
        for other in graph.before(futures):
            if other is task:
                names = ", ".join(repr(getattr(f, "name", f)) for f in futures)
                return DeadlockError(f"the task {task.name!r} would wait for ever: {names} waits for it in turn")
            if other.state is READY:
                other.runtime._urgent.append(other)
                step.runtimes.add(other.runtime)
        return None

    def _take_back(self, thread: WorkerThread, task: Task, futures: list[Any]) -> None:
        step = Step()
        with graph.lock:
            left = tuple(others for others in task.waits_for if others is not futures)
            # A coroutine that was left behind ends its wait after the task.
            last = bool(task.waits_for) and not left
            task.waits_for = left
            if last:
                self._waiting -= 1
                worker = thread.lent
                if worker.idle:
                    self._leave_idle(worker)
                    self._hand_over(worker.thread, thread, step)
                else:
                    worker.resuming.append(thread)
        step.finish()
        while last and thread.worker is not worker:
            thread.sleep()

    def _start_spare(self, fresh: WorkerThread, thread: WorkerThread, task: Task) -> None:
        """Starts the thread that takes over from one that is to wait."""
        try:
            fresh.start()
        except RuntimeError as error:
            with graph.lock:
                worker = fresh.worker
                thread.worker = worker
                worker.thread = thread
                self._threads.discard(fresh)
                self._waiting -= 1
                task.waits_for = ()
            raise RuntimeError(f"the task {task.name!r} cannot wait: {error}") from error

    def _hand_over(self, from_: WorkerThread, to: WorkerThread, step: Step) -> None:
        worker = from_.worker
        from_.worker = None
        to.worker = worker
        worker.thread = to
        if len(self._spare) < len(self.workers) + 2:
            self._spare.append(from_)
        else:
            from_.retired = True
            step.wake.append(from_)
        step.wake.append(to)

    def _new_thread(self, worker: Worker) -> WorkerThread:
        thread = WorkerThread(self)
        thread.worker = worker
        worker.thread = thread
        self._threads.add(thread)
        return thread

    # Ending.

    def wait(self, timeout: float | None = None) -> None:
        """Waits until every task that was submitted so far has ended, however.

        Raises
        ------
        TimeoutError
            If they have not by then.
        """
        end = None if timeout is None else time.monotonic() + timeout
        own = here.task
        others = {} if self._processes is None else self._processes.live
        for task in [*self.live.copy().values(), *others.copy().values()]:
            if own is not None and own.comes_from(task):
                continue
            task.wait(None if end is None else max(0.0, end - time.monotonic()))

    def close(self, *, cancel: bool = False) -> None:
        """Waits for the tasks and stops the threads; tasks can no longer be submitted. A second call does nothing.

        Parameters
        ----------
        cancel
            Whether to cancel the tasks that have not started.

        Raises
        ------
        RuntimeError
            If a task would close the runtime that it runs in.
        """
        if here.task is not None and here.task.runtime is self:
            raise RuntimeError(f"the task {here.task.name!r} cannot close the runtime that it runs in")
        self._closed = True
        if cancel:
            for task in self.live.copy().values():
                task.cancel()
        while self.live:
            self.wait()
            # Those that were cancelled leave when a worker meets them.
            self._wake_one()
            if self.live:
                time.sleep(0.001)
        if self._processes is not None:
            self._processes.close(cancel=cancel)
        self._stopped = True
        if self._pool is not None:
            self._pool.close()
        for thread in self._threads.copy():
            thread.wake()
        for thread in self._threads.copy():
            if thread is not threading.current_thread():
                thread.join()
        if self.live or self._inbox:
            self._refuse_rest().join()
        runtimes.discard(self)
        self._save_models()

    def _save_models(self) -> None:
        """Saves what was measured, unless the models are of a kind that has no files."""
        save = getattr(self._models, "save", None)
        if save is not None:
            try:
                save()
            except OSError as error:
                warnings.warn(f"the performance models were not saved: {error}", RuntimeWarning, stacklevel=3)

    def _refuse_rest(self) -> threading.Thread:
        """Fails what other threads have submitted while the runtime stopped."""

        def refuse() -> None:
            step = Step()
            with graph.lock:
                self._take_inbox(step)
                for task in self.live.copy().values():
                    graph.refuse(task, step)
                step.settle()
            step.finish()

        # The lock is not for a thread that Ctrl-C may reach.
        thread = threading.Thread(target=refuse, name="rustarr-refuse", daemon=True)
        thread.start()
        return thread

    def __enter__(self) -> "Runtime":
        self._tokens.append(current_runtime.set(self))
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        current_runtime.reset(self._tokens.pop())
        # After Ctrl-C or an error nobody wants what has not begun.
        self.close(cancel=kind is not None)

    def __repr__(self) -> str:
        names = ", ".join(w.name for w in self.workers)
        return f"<Runtime of {names}; {self.scheduler.name}{'; closed' if self._closed else ''}>"

    def forget_parent(self) -> None:
        """In a forked child: fails what the parent's threads were to do. Its threads are not here."""
        self._closed = self._stopped = True
        tasks = list(self.live.values())
        for task in tasks:
            task.future._after_fork()
        self.fail(RuntimeError("the task belongs to the parent of this forked process"))
        while tasks:
            task = tasks.pop()
            graph.hazards.release(task)
            tasks += task.shares

    def fail(self, error: BaseException) -> None:
        """Ends the futures of all tasks at once."""
        while self.live:
            future = self.live.popitem()[1].future
            if future is not None and not future.done() and (future.running() or future._claim()):
                future._settle(None, error)
                future._invoke_callbacks()
