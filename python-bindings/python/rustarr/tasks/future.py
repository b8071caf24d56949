"""Futures of tasks: those of ``concurrent.futures``, awaitable, and known to the runtime.

A task that waits for a future of a task gives up its worker meanwhile, whichever way it waits.
"""

import asyncio
import concurrent.futures
import contextlib
import logging
import threading
import weakref
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from typing import Any

_log = logging.getLogger("rustarr.tasks")

_PENDING = "PENDING"
_RUNNING = "RUNNING"
_CANCELLED = "CANCELLED_AND_NOTIFIED"
_FINISHED = "FINISHED"


class _Here(threading.local):
    """What the thread is doing: the task that it runs, if it runs one."""

    task: Any = None


here = _Here()


class _SlotEvent(threading.Event):
    """An event whose waiters give up their worker; ``concurrent.futures.wait`` and ``as_completed`` wait on it."""

    def __init__(self, futures: "list[Future]") -> None:
        super().__init__()
        self.futures = futures

    def wait(self, timeout: float | None = None) -> bool:
        task = here.task
        if task is None or self.is_set():
            return super().wait(timeout)
        with task.runtime.blocked(task, self.futures):
            return super().wait(timeout)


class _Waiters(list):
    """The waiters of ``concurrent.futures``, whose event is exchanged if they wait inside a task."""

    def __init__(self, future: "Future") -> None:
        super().__init__()
        # Not a cycle: results shall go with the future.
        self.future = weakref.ref(future)

    def append(self, waiter: Any) -> None:
        if here.task is not None:
            if not isinstance(waiter.event, _SlotEvent):
                waiter.event = _SlotEvent([])
            waiter.event.futures.append(self.future())
        super().append(waiter)


def awaited(future: concurrent.futures.Future) -> Generator[Any, None, Any]:
    """What ``await`` does with a future; in an event loop inside a task the worker is given up meanwhile."""
    if not future.done():
        task = here.task
        if task is None:
            yield from _until_done(future)
        else:
            with task.runtime.blocked(task, [future]):
                yield from _until_done(future)
    try:
        if future.cancelled():
            raise asyncio.CancelledError()
        return future.result()
    finally:
        # As in `result`: no cycle through the traceback.
        del future


def _until_done(future: concurrent.futures.Future) -> Generator[Any, None, None]:
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def tell(_: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lambda: done.done() or done.set_result(None))

    future.add_done_callback(tell)
    try:
        yield from done.__await__()
    except asyncio.CancelledError:
        future.cancel()
        raise


class Future(concurrent.futures.Future):
    """The outcome of a task.

    Everything that ``concurrent.futures`` does with futures works, and so does ``await``. As an argument of another
    task it makes that task run after this one, and is replaced by the result.

    Attributes
    ----------
    task
        The runtime's record of the task: ``id``, ``name``, ``state``, ``worker`` and times.
    """

    # Most futures are done before anybody looks, so that what only waiters need is made when the first one comes.
    _state = _PENDING
    _result = None
    _exception = None

    def __init__(self) -> None:
        self._done_callbacks: list[Callable] = []
        # Taken by whoever comes first: the worker that starts the task, or `cancel`.
        self._open = True

    @property
    def _condition(self) -> threading.Condition:
        found = self.__dict__.get("_cond")
        # One of several threads wins; setdefault is atomic.
        return found if found is not None else self.__dict__.setdefault("_cond", threading.Condition())

    @property
    def _waiters(self) -> list:
        found = self.__dict__.get("_waiting")
        return found if found is not None else self.__dict__.setdefault("_waiting", _Waiters(self))

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.name

    def _claim(self) -> bool:
        """Marks the task as running, unless it was cancelled."""
        if self.__dict__.pop("_open", None) is None:
            return False
        self._state = _RUNNING
        return True

    def _reopen(self) -> None:
        """Undoes `_claim`: the task is to run again."""
        self._state = _PENDING
        self._open = True

    def _settle(self, value: Any, error: BaseException | None) -> None:
        """Sets the outcome and wakes who waits; callbacks are for `_invoke_callbacks`, later."""
        self._result = value
        self._exception = error
        # The order matters: whoever comes after this line sees the state, whoever came before has made the condition.
        self._state = _FINISHED
        if "_cond" in self.__dict__:
            with self._condition:
                for waiter in self._waiters:
                    (waiter.add_exception if error is not None else waiter.add_result)(self)
                self._condition.notify_all()

    def cancel(self) -> bool:
        """Cancels the task unless it has started; its arguments are let go.

        Returns
        -------
        bool
            Whether the task is cancelled.
        """
        if self.__dict__.pop("_open", None) is None:
            return self._state == _CANCELLED
        with self._condition:
            self._state = _CANCELLED
            for waiter in self._waiters:
                waiter.add_cancelled(self)
            self._condition.notify_all()
        self.task.forget()
        # The graph has to hear of it: the task may wait for a future that never comes.
        self.task.runtime.arrived(self.task)
        self._invoke_callbacks()
        return True

    def _invoke_callbacks(self) -> None:
        for callback in self._done_callbacks:
            try:
                callback(self)
            except BaseException as error:
                # Nothing that a callback raises ends a worker; Ctrl-C in a callback is for who is at the keyboard.
                if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                    raise
                _log.exception("a callback of %r failed", self)

    def _wait(self, timeout: float | None) -> None:
        task = here.task
        if task is None:
            return self._wait_here(timeout)
        with task.runtime.blocked(task, [self]):
            return self._wait_here(timeout)

    def _wait_here(self, timeout: float | None) -> None:
        with self._condition:
            if not self._condition.wait_for(self.done, timeout):
                raise TimeoutError()

    def done(self) -> bool:
        """Whether the task has ended or was cancelled."""
        return self._state in (_FINISHED, _CANCELLED)

    def cancelled(self) -> bool:
        """Whether the task was cancelled."""
        return self._state == _CANCELLED

    def running(self) -> bool:
        """Whether a worker runs the task now."""
        return self._state == _RUNNING

    def result(self, timeout: float | None = None) -> Any:
        """What the task's function returned.

        Parameters
        ----------
        timeout
            Seconds to wait at most; None waits as long as it takes.

        Raises
        ------
        TimeoutError
            If the task has not ended by then.
        CancelledError
            If the task was cancelled.
        DependencyError
            If a future among the task's arguments failed.
        DeadlockError
            If the caller is a task that this one waits for.
        BaseException
            Whatever the function raised, with its traceback.
        """
        if self._state != _FINISHED:
            self._wait(timeout)
            if self._state == _CANCELLED:
                raise CancelledError()
        if self._exception is None:
            return self._result
        try:
            raise self._exception
        finally:
            # The traceback would hold the frame, the frame the future, and the future the traceback.
            self = None

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """What the task's function raised, or None; waits and raises as ``result``."""
        if self._state != _FINISHED:
            self._wait(timeout)
            if self._state == _CANCELLED:
                raise CancelledError()
        return self._exception

    def __await__(self) -> Generator[Any, None, Any]:
        return awaited(self)

    def __repr__(self) -> str:
        return f"<rustarr.tasks.Future {self.name!r} {self._state.partition('_')[0].lower()}>"

    def _after_fork(self) -> None:
        """Forgets locks and waiters in a forked child: the parent's threads may have held them, and are not here."""
        for key in ("_cond", "_waiting", "_open"):
            self.__dict__.pop(key, None)
        self._done_callbacks = []
