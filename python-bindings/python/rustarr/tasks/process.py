"""Worker processes for tasks that hold the interpreter: pure Python runs in parallel there."""

import atexit
import os
import pickle
import signal
import sys
import threading
import traceback
import types
import weakref
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection, get_context
from multiprocessing import process as multiprocessing_process
from typing import Any

import rustarr

from .. import _core
from ._cpus import usable_cpus
from ._segments import Folder, Segment, Sharing, pack_arguments, pack_result, reduce_delayed
from .arguments import wants_namespace
from .functions import function_name
from .hazards import is_numpy


class WorkerDiedError(RuntimeError):
    """The process that ran the task was killed, crashed, or did not start."""


class _RemoteTraceback(Exception):
    """The traceback of a task in its process, shown as the cause of its exception."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


# In the worker


def _main(pipe: connection.Connection, paths: list[str], threads: int) -> None:
    """What a worker process does until its parent hangs up."""
    # Ctrl-C is for the parent, which decides what becomes of tasks. It was blocked since before the start.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    threading.Thread(target=_end_with_parent, name="rustarr-parent", daemon=True).start()
    # The workers share the machine.
    os.environ.setdefault("RUSTARR_NUM_THREADS", str(threads))
    folder = Folder()
    folder.use(paths)
    try:
        pipe.send_bytes(b"ready")
        while True:
            message = pipe.recv_bytes()
            # From here on the task may have had effects, and is not given to another worker.
            pipe.send_bytes(b"taken")
            pipe.send_bytes(_answer(folder, message))
    except (EOFError, OSError):
        pass


def _end_with_parent() -> None:
    """Ends the process when its parent is killed, in the middle of a task too."""
    parent = multiprocessing_process.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


def _answer(folder: Folder, message: bytes) -> bytes:
    try:
        func, args, kwargs = pickle.loads(message)
        if wants_namespace(func, args, kwargs):
            kwargs["xp"] = rustarr.namespace()
        result = func(*args, **kwargs)
        del args, kwargs
    except BaseException as error:
        return _failure(error)
    try:
        return pack_result(folder, (True, result))
    except MemoryError as error:
        return _failure(error)
    except Exception as error:
        return _failure(TypeError(f"the result, {_kind(result)}, cannot go to another process: {error}"))


def _failure(error: BaseException) -> bytes:
    """The message of an exception; one that does not survive the way is replaced by its text."""
    text = "".join(traceback.format_exception(error))
    try:
        message = pickle.dumps((False, (error, text)))
        pickle.loads(message)
    except Exception:
        told = RuntimeError(f"{type(error).__qualname__}: {error} (this exception cannot be pickled)")
        message = pickle.dumps((False, (told, text)))
    return message


# In the parent


def _kind(obj: Any) -> str:
    name = getattr(obj, "__qualname__", None)
    return f"{type(obj).__qualname__} {name}" if name else f"a {type(obj).__qualname__}"


def _explain(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], error: BaseException) -> TypeError:
    """Which part of a task cannot be pickled."""
    parts = [("the function", func)]
    parts += ((f"argument {number}", value) for number, value in enumerate(args))
    parts += ((f"argument {name!r}", value) for name, value in kwargs.items())
    for what, value in parts:
        try:
            _Trial().dump(value)
        except Exception as reason:
            way_out = " (define it at the top of a module)" if value is func else ""
            return TypeError(
                f"task {function_name(func)}: {what}, {_kind(value)}, cannot go to another process: {reason}{way_out}"
            )
    return TypeError(f"task {function_name(func)} cannot go to another process: {error}")


class _Trial(pickle.Pickler):
    """Pickles for nothing, but for the errors: arrays always can be, and futures stand for what is not there yet."""

    def __init__(self) -> None:
        super().__init__(_Nowhere(), pickle.HIGHEST_PROTOCOL)

    def reducer_override(self, obj: Any) -> Any:
        """Leaves out what need not be tried."""
        if isinstance(obj, Future | _core.Array) or (is_numpy(obj) and not obj.dtype.hasobject):
            return int, ()
        return reduce_delayed(obj) if type(obj) is types.FunctionType else NotImplemented


class _Nowhere:
    def write(self, data: Any) -> int:
        """Takes the bytes."""
        return len(data)


def check_picklable(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Tries whether a task can go to another process.

    Raises
    ------
    TypeError
        If the function or an argument cannot be pickled; it names which.
    """
    try:
        _Trial().dump((func, args, kwargs))
    except Exception as error:
        raise _explain(func, args, kwargs, error) from error


@dataclass(eq=False, slots=True)
class _Job:
    name: str
    message: bytes
    used: list[Segment]
    written: list[tuple[Any, Segment]]
    future: Future = field(default_factory=Future)


#: The script that runs. Its module forgets it when the script ends, and a worker that starts then still imports it.
_script = getattr(sys.modules["__main__"], "__file__", None)


class _Worker:
    """A process and the pipe to it."""

    _starting = threading.Lock()

    def __init__(self, folder: Folder, threads: int) -> None:
        # A fresh interpreter: a fork would copy locks that other threads hold.
        context = get_context("spawn")
        self._folder = folder
        self.pipe, theirs = context.Pipe()
        arguments = (theirs, folder.paths(), threads)
        main = sys.modules["__main__"].__dict__
        with self._starting:
            while True:
                self.process = context.Process(target=_main, args=arguments, name="rustarr-tasks")
                if _script is not None:
                    main.setdefault("__file__", _script)
                self._start()
                if _script is None or "__file__" in main:
                    break
                # The script has ended meanwhile, so that this process may not have heard of it.
                self.process.kill()
                self.process.join()
        theirs.close()
        self._ready = False

    def _start(self) -> None:
        blocked = hasattr(signal, "pthread_sigmask")
        if blocked:
            before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            self.process.start()
        finally:
            if blocked:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def wait(self) -> None:
        """Waits until the process takes tasks; WorkerDiedError if it never will."""
        if not self._ready and self.receive() is None:
            raise WorkerDiedError(
                f"a worker process did not start ({self.end()}); a script that uses processes has to start its work "
                "under `if __name__ == '__main__':`"
            )
        self._ready = True

    def receive(self) -> bytes | None:
        """The next message, or None if the process is dead."""
        try:
            ready = connection.wait([self.pipe, self.process.sentinel])
            # A process that dies after its answer has answered.
            if self.pipe in ready or self.pipe.poll():
                return self.pipe.recv_bytes()
        except (EOFError, OSError):
            pass
        return None

    def end(self) -> str:
        """Cleans up behind a dead process and tells how it died."""
        self.pipe.close()
        self.process.join()
        self._folder.delete_of(self.process.pid)
        code = self.process.exitcode
        if code is not None and code < 0:
            with suppress(ValueError):
                return f"killed by {signal.Signals(-code).name}"
        return f"exit code {code}"

    def stop(self) -> None:
        """Hangs up, upon which the process ends."""
        self.pipe.close()
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()

    def forget(self) -> None:
        """In a forked child: the process is the parent's."""
        self.pipe.close()
        # multiprocessing would end it as if it were the child's own.
        multiprocessing_process._children.discard(self.process)


class ProcessPool:
    """Runs picklable functions in worker processes.

    Arrays, NumPy's and rustarr's, go over shared memory. However many tasks read an array, it is copied there once for
    each version: submitting compares it with the copy that is there. Tasks get what the array held when they were
    submitted, read-only; results are theirs who get them. A killed worker fails the task it ran and is replaced.

    Parameters
    ----------
    processes
        How many. Each starts with its first task, as a fresh interpreter that imports the main module: scripts start
        their work under ``if __name__ == "__main__":``.
    """

    def __init__(self, processes: int) -> None:
        if isinstance(processes, bool) or not isinstance(processes, int):
            raise TypeError(f"ProcessPool: processes is an int, not {processes!r}")
        if processes < 1:
            raise ValueError(f"ProcessPool: processes={processes} is not positive")
        self.processes = processes
        self._closed = False
        self._reset()
        _pools.add(self)

    def _reset(self) -> None:
        self._changed = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._running: set[_Job] = set()
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._workers: set[_Worker] = set()
        self._folder = Folder()
        self._sharing = Sharing(self._folder)

    def submit(
        self,
        func: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        writes: Collection["int | str"] = (),
    ) -> Future:
        """Runs ``func(*args, **kwargs)`` in a worker process.

        Parameters
        ----------
        writes
            Positions and keywords of array arguments that the function changes: it gets a writable copy, whose
            contents go back into the array before the future is done.

        Returns
        -------
        concurrent.futures.Future
            ``cancel`` works until a worker takes the task.

        Raises
        ------
        TypeError
            If the function or an argument cannot be pickled; it names which.
        MemoryError
            If an array fits into no shared memory.
        RuntimeError
            After ``close``.
        """
        args, kwargs = tuple(args), dict(kwargs or {})
        written = [args[where] if isinstance(where, int) else kwargs[where] for where in writes]
        if self._closed:
            raise RuntimeError("this ProcessPool is closed")
        try:
            packed = pack_arguments(self._folder, self._sharing, (func, args, kwargs), written)
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise _explain(func, args, kwargs, error) from error
        job = _Job(function_name(func), *packed)
        with self._changed:
            if self._closed:
                self._done(job)
                raise RuntimeError("this ProcessPool is closed")
            if self._idle <= len(self._jobs) and len(self._threads) < self.processes:
                try:
                    # Here and not in the thread: a script that ends at once would take its main module away.
                    worker = self._new_worker()
                except BaseException:
                    self._done(job)
                    raise
                thread = threading.Thread(target=self._serve, args=(worker,), name="rustarr-process", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._jobs.append(job)
            self._changed.notify()
        return job.future

    @property
    def copies(self) -> int:
        """Copies of arguments into shared memory so far."""
        return self._sharing.copies

    def pids(self) -> list[int]:
        """The processes that run now."""
        with self._changed:
            return sorted(worker.process.pid for worker in self._workers)

    def close(self, wait: bool = True, cancel: bool = False) -> None:
        """Takes no more tasks; the workers end when all are done.

        Parameters
        ----------
        wait
            Whether to return only then.
        cancel
            Whether to cancel the tasks that no worker has taken.
        """
        with self._changed:
            self._closed = True
            dropped = list(self._jobs) if cancel else []
            if cancel:
                self._jobs.clear()
            self._changed.notify_all()
            threads = list(self._threads)
        for job in dropped:
            job.future.cancel()
            self._done(job)
        if wait:
            for thread in threads:
                thread.join()
            self._folder.close()

    def terminate(self) -> None:
        """Cancels what waits and kills the workers: what runs fails with WorkerDiedError."""
        self.close(wait=False, cancel=True)
        with self._changed:
            workers = list(self._workers)
        for worker in workers:
            worker.process.kill()
        self.close()

    def __enter__(self) -> "ProcessPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<ProcessPool of {self.processes}{', closed' if self._closed else ''}>"

    def _new_worker(self) -> _Worker:
        worker = _Worker(self._folder, max(1, usable_cpus() // self.processes))
        with self._changed:
            self._workers.add(worker)
        return worker

    def _serve(self, worker: _Worker | None) -> None:
        """A thread's work: hand tasks to one process, one after the other, and replace it when it dies."""
        while (job := self._next()) is not None:
            try:
                if job.future.set_running_or_notify_cancel():
                    try:
                        worker, done, value = self._run(job, worker)
                    except BaseException as error:  # the worker is gone
                        worker, done, value = None, False, error
                    self._done(job)
                    if done:
                        job.future.set_result(value)
                    else:
                        job.future.set_exception(value)
                else:
                    self._done(job)
            finally:
                with self._changed:
                    self._running.discard(job)
            del job
            value = None
        if worker is not None:
            self._lose(worker)
            worker.stop()

    def _next(self) -> _Job | None:
        with self._changed:
            self._idle += 1
            try:
                while not self._jobs:
                    if self._closed:
                        return None
                    self._changed.wait()
                # In both places rather than in none, for a child that is forked in between.
                self._running.add(self._jobs[0])
                return self._jobs.popleft()
            finally:
                self._idle -= 1

    def _run(self, job: _Job, worker: _Worker | None) -> tuple[_Worker, bool, Any]:
        """The worker for the next task, whether this one succeeded, and its result or exception.

        Where it raises, the worker's process has been ended.
        """
        while True:
            worker = worker or self._new_worker()
            try:
                worker.wait()
                worker.pipe.send_bytes(job.message)
                if worker.receive() is not None:
                    message = worker.receive()
                    break
            except OSError:
                pass
            except BaseException:
                self._discard(worker)
                raise
            # It died idle: it has not begun the task, which goes to another one.
            self._discard(worker)
            worker = None
        if message is None:
            self._lose(worker)
            raise WorkerDiedError(f"task {job.name}: worker process {worker.process.pid} died ({worker.end()})")
        try:
            return worker, *self._outcome(job, message)
        except BaseException as error:
            return worker, False, error

    def _outcome(self, job: _Job, message: bytes) -> tuple[bool, Any]:
        """Whether a task succeeded, and its result or exception; its arrays get what it has written."""
        try:
            done, value = pickle.loads(message)
        except Exception as error:
            raise RuntimeError(f"task {job.name}: its result cannot be unpickled: {error!r}") from error
        if done:
            # On behalf of the task, which others may wait for at the arrays' gates.
            _core._hold([array for array, _ in job.written if isinstance(array, _core.Array)])
            try:
                for array, segment in job.written:
                    array[...] = segment.array
            except Exception as error:
                error.add_note(f"task {job.name}: an argument that it has written cannot be")
                return False, error
            finally:
                _core._hold([])
            return True, value
        error, text = value
        error.__cause__ = _RemoteTraceback(text)
        return False, error

    def _discard(self, worker: _Worker) -> None:
        """Ends a worker that cannot go on."""
        self._lose(worker)
        worker.process.kill()
        worker.end()

    def _lose(self, worker: _Worker) -> None:
        with self._changed:
            self._workers.discard(worker)

    def _done(self, job: _Job) -> None:
        """Gives back what the task held."""
        self._sharing.release(job.used)
        for _, segment in job.written:
            segment.delete()
        job.used, job.written = [], []

    def _after_fork(self) -> None:
        """In a forked child: the processes and their tasks are the parent's; the child's own start anew."""
        jobs = [*self._running, *self._jobs]
        for worker in list(self._workers):
            worker.forget()
        self._folder.forget()
        self._reset()
        for job in jobs:
            # A thread that is not here may have held the future's lock.
            job.future._condition = threading.Condition()
            if not job.future.done():
                job.future.set_exception(WorkerDiedError(f"task {job.name} belongs to the process that forked"))


_pools: "weakref.WeakSet[ProcessPool]" = weakref.WeakSet()


def _close_all() -> None:
    """At the interpreter's exit: tasks that were submitted are finished, as by concurrent.futures; Ctrl-C ends that."""
    try:
        for pool in list(_pools):
            pool.close()
    except BaseException:
        for pool in list(_pools):
            pool.terminate()
        raise


def _after_fork() -> None:
    _Worker._starting = threading.Lock()
    for pool in list(_pools):
        pool._after_fork()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
