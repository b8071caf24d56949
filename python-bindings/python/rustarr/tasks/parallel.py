"""``Parallel(...)(delayed(f)(...) for ...)``: loops as tasks, with the interface of joblib.

    from rustarr.tasks.parallel import Parallel, delayed

    Parallel(n_jobs=2)(delayed(log10)(10**i) for i in range(10))
    Parallel(n_jobs=-1)(delayed(scale)(array, 2))       # the array is split along axis 0 and changed in place

``delayed`` here notes a call and runs nothing, as joblib's does; ``rustarr.tasks.delayed`` submits. ``Parallel`` takes
the futures of that one too, but only a noted call can be split or batched.
"""

import contextvars
import functools
import itertools
import operator
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, NamedTuple

import rustarr

from . import arguments
from ._cpus import usable_cpus
from .current import current
from .functions import Delayed, function_name
from .future import Future as TaskFuture
from .future import awaited, here
from .hazards import is_numpy
from .submit import task_submit

#: Batches of cheap calls grow until one takes about this long: the cost of a task is then a hundredth of it.
BATCH_SECONDS = 0.01
#: No batch has more calls.
LARGEST_BATCH = 1 << 16


class Call(NamedTuple):
    """A call that was noted. joblib's ``delayed`` gives plain tuples of the same three parts."""

    func: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class delayed:  # noqa: N801 - a function to those who use it
    """A function whose calls are noted for ``Parallel`` instead of run."""

    __slots__ = ("__wrapped__",)

    def __init__(self, func: Callable[..., Any]) -> None:
        if not callable(func):
            raise TypeError(f"delayed: {func!r} cannot be called")
        self.__wrapped__ = func.__wrapped__ if isinstance(func, Delayed) else func

    def __call__(self, /, *args: Any, **kwargs: Any) -> Call:
        return Call(self.__wrapped__, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not set yet, when it is copied or unpickled
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)


def effective_n_jobs(n_jobs: int | None) -> int:
    """The number of jobs, counted as joblib counts them: None is 1, -1 is all CPUs, -2 all but one.

    Raises
    ------
    ValueError
        For 0, and for a negative number that leaves no CPU.
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool):
        raise TypeError(f"Parallel: n_jobs is an int or None, not {n_jobs!r}")
    try:
        given = operator.index(n_jobs)
    except TypeError:
        raise TypeError(f"Parallel: n_jobs is an int or None, not {n_jobs!r}") from None
    if given > 0:
        return given
    cpus = usable_cpus()
    if given == 0 or given < -cpus:
        raise ValueError(
            f"Parallel: n_jobs={given} is out of range; there are {cpus} CPUs, so -1 to {-cpus} count down"
        )
    return cpus + 1 + given


def _call(func: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """A call inside a task: a parameter ``xp`` gets the worker's namespace there as it does in a task of its own."""
    if arguments.wants_namespace(func, args, kwargs):
        kwargs = {**kwargs, "xp": rustarr.namespace()}
    return func(*args, **kwargs)


def _place(number: int, func: Callable[..., Any]) -> str:
    return f"in call {number} of Parallel, to {function_name(func)}"


class _Sequence:
    """A task: several calls, one after the other. Gives the seconds that they took and their results."""

    def __init__(self, first: int, calls: list[tuple]) -> None:
        self.__name__ = function_name(calls[0][0])
        self.first = first
        self.calls = calls

    def __call__(self) -> tuple[float, list[Any]]:
        start = time.perf_counter()
        results: list[Any] = []
        try:
            for call in self.calls:
                results.append(_call(*call))
        except Exception as error:
            number = len(results)
            error.add_note(_place(self.first + number, self.calls[number][0]))
            raise
        return time.perf_counter() - start, results


class _Timed:
    """A task: one call that counts as a list of results. Its arguments are declared as those of the function."""

    def __init__(self, func: Callable[..., Any], results: Callable[[Any], list[Any]]) -> None:
        functools.update_wrapper(self, func)
        self._func = func
        self._results = results

    def __call__(self, /, *args: Any, **kwargs: Any) -> tuple[float, list[Any]]:
        start = time.perf_counter()
        result = _call(self._func, args, kwargs)
        return time.perf_counter() - start, self._results(result)


def _flat(result: Any) -> list[Any]:
    """The elements of a list or an array along its first axis; any other result is the only element."""
    if isinstance(result, list):
        return result
    if _is_array(result):
        return result.tolist() if result.ndim == 1 else [result[i] for i in range(result.shape[0])]
    return [result]


def _one(result: Any) -> list[Any]:
    return [result]


def _same(result: Any) -> Any:
    return result


def _is_array(obj: Any) -> bool:
    return (isinstance(obj, rustarr.Array) or is_numpy(obj)) and obj.ndim > 0


def _is_call(obj: Any) -> bool:
    return (
        isinstance(obj, tuple)
        and len(obj) == 3
        and callable(obj[0])
        and isinstance(obj[1], (tuple, list))
        and isinstance(obj[2], dict)
    )


_KNOWN_TO_THE_RUNTIME = (rustarr.Array, Future)


def _needs_a_task(call: "tuple | TaskFuture") -> bool:
    """Whether the call's arguments concern the runtime: arrays that it moves and orders tasks by, and futures."""
    if isinstance(call, TaskFuture):
        return True
    _, args, kwargs = call
    for value in args:
        if isinstance(value, _KNOWN_TO_THE_RUNTIME):
            return True
    return bool(kwargs) and any(isinstance(value, _KNOWN_TO_THE_RUNTIME) for value in kwargs.values())


def _as_call(obj: Any, number: int) -> "tuple | TaskFuture":
    if _is_call(obj) or isinstance(obj, TaskFuture):
        return obj
    if isinstance(obj, Future):
        return Call(_same, (obj,), {})
    raise TypeError(
        f"Parallel: item {number} is a {type(obj).__name__}; it takes calls, made by `delayed(function)(arguments)`"
    )


class _Batch(NamedTuple):
    """The work of one task."""

    run: Callable[..., tuple[float, list[Any]]]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    #: What it is named after.
    func: Callable[..., Any]
    #: Calls, or elements along the split axis.
    size: int
    #: Share of the operations that ``flops`` gives.
    share: float
    #: What exceptions are told to come from; None where the task says so itself.
    place: str | None = None

    def start(self, submit: Callable[["_Batch"], TaskFuture]) -> TaskFuture:
        """Its task."""
        return submit(self)

    def outcome(self, future: TaskFuture) -> tuple[float | None, list[Any]]:
        """The seconds that it took and the results of its calls; raises what they raised."""
        try:
            return future.result()
        except Exception as error:
            if self.place is not None:
                error.add_note(self.place)
            raise


class _Given(NamedTuple):
    """A call that was submitted already: `rustarr.tasks.delayed` does."""

    future: TaskFuture
    results: Callable[[Any], list[Any]]
    place: str
    size: int = 1

    def start(self, submit: Callable[[_Batch], TaskFuture]) -> TaskFuture:
        """Its task."""
        return self.future

    def outcome(self, future: TaskFuture) -> tuple[float | None, list[Any]]:
        """None, as it was measured by itself, and the results; raises what the call raised."""
        try:
            return None, self.results(future.result())
        except Exception as error:
            error.add_note(self.place)
            raise


class _Calls:
    """Cuts an iterable of calls into batches that grow until one takes BATCH_SECONDS."""

    def __init__(self, calls: Iterable[Any], n_jobs: int) -> None:
        if not isinstance(calls, Iterable):
            raise TypeError(
                f"Parallel: {calls!r} is no iterable of calls, and no call, made by `delayed(function)(arguments)`"
            )
        try:
            self.total = len(calls)  # type: ignore[arg-type]
        except TypeError:
            self.total = None
        self._calls = iter(calls)
        self._n_jobs = n_jobs
        self._size = 1
        self._taken = 0
        self._held: tuple | TaskFuture | None = None

    def next(self) -> _Batch | _Given | None:
        """The next batch, None at the end. Only now its calls are taken from the iterable."""
        size = self._size
        if self.total is not None:  # leave some for the others
            size = min(size, max(1, (self.total - self._taken) // self._n_jobs))
        first = self._taken
        calls: list[tuple] = []
        while len(calls) < size:
            call = self._take(first + len(calls))
            if call is None:
                break
            if _needs_a_task(call):
                if calls:
                    self._held = call
                    break
                self._taken += 1
                if isinstance(call, TaskFuture):
                    return _Given(call, _one, f"in call {first} of Parallel, to {call.name}")
                func, args, kwargs = call
                return _Batch(_Timed(func, _one), args, kwargs, func, 1, 1, _place(first, func))
            calls.append(call)
        if not calls:
            return None
        self._taken += len(calls)
        return _Batch(_Sequence(first, calls), (), {}, calls[0][0], len(calls), len(calls))

    def _take(self, number: int) -> "tuple | TaskFuture | None":
        if self._held is not None:
            call, self._held = self._held, None
            return call
        for call in self._calls:
            return _as_call(call, number)
        return None

    def measured(self, batch: _Batch | _Given, seconds: float | None) -> None:
        """Takes note of how long a batch took."""
        if seconds is None:
            return
        wanted = int(BATCH_SECONDS * batch.size / max(seconds, 1e-9))
        # One quick batch may be luck: growth is by doubling, from what was measured.
        self._size = max(1, min(wanted, 2 * max(batch.size, self._size // 2), LARGEST_BATCH))


class _Parts:
    """The parts of one call: on parts of its arrays and generators, one for each job, or the whole."""

    def __init__(self, total: int, parts: "list[_Batch | _Given]") -> None:
        #: Elements along the split axis.
        self.total = total
        self._left = parts[::-1]

    @classmethod
    def split(cls, call: tuple, n_jobs: int) -> "_Parts":
        """Cuts a call that was noted."""
        func, args, kwargs = call
        given = dict(itertools.chain(enumerate(args), kwargs.items()))
        # Generators have no views: their parts are lists.
        arguments = {key: list(value) if isinstance(value, Iterator) else value for key, value in given.items()}
        lengths = {key: len(value) for key, value in arguments.items() if value is not given[key] or _is_array(value)}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{key!r}: {length}" for key, length in lengths.items())
            raise ValueError(f"Parallel: arguments of {function_name(func)} that are split differ in length ({told})")
        total = next(iter(lengths.values()), 1)
        count = min(n_jobs, total) if lengths else 1
        parts: list[_Batch | _Given] = []
        for number in range(count):
            start, stop = total * number // count, total * (number + 1) // count
            part = {key: value[start:stop] if key in lengths else value for key, value in arguments.items()}
            positional = tuple(part[key] for key in range(len(args)))
            keywords = {key: part[key] for key in kwargs}
            place = f"in the elements from {start} to {stop} of Parallel, to {function_name(func)}"
            timed, share = _Timed(func, _flat), (stop - start) / total
            parts.append(_Batch(timed, positional, keywords, func, stop - start, share, place))
        return cls(total, parts)

    @classmethod
    def whole(cls, future: TaskFuture) -> "_Parts":
        """A call that was submitted already."""
        return cls(1, [_Given(future, _flat, f"in the call of Parallel, to {future.name}")])

    def next(self) -> _Batch | _Given | None:
        """The next part, None at the end."""
        return self._left.pop() if self._left else None

    def measured(self, batch: _Batch | _Given, seconds: float | None) -> None:
        """The parts do not depend on how long others took."""


class Parallel:
    """Runs calls that ``delayed`` noted as tasks, and gives their results in order.

    Parameters
    ----------
    n_jobs
        Most tasks at a time: None is 1, -1 as many as there are CPUs, -2 one less.
    mode
        "normal": the call returns the results. "future": it returns a future of them at once, awaitable too.
    end_msg
        Printed when the results are there.
    perfmodel
        The performance model that the tasks are measured for; a task's size is the number of its calls, or of its
        elements along the split axis.
    progress
        Whether to show a progress bar (needs tqdm).
    task_options
        Options of ``task_submit``. ``flops`` is that of one call; of a call whose arrays are split, that of the whole.

    Raises
    ------
    TypeError
        For an unknown option.
    ValueError
        For an unknown mode, or n_jobs out of range.
    """

    def __init__(
        self,
        n_jobs: int | None = None,
        mode: str = "normal",
        end_msg: str | None = None,
        perfmodel: str | None = None,
        progress: bool = False,
        **task_options: Any,
    ) -> None:
        if mode not in ("normal", "future"):
            raise ValueError(f'Parallel: mode={mode!r} is not "normal" or "future"')
        self.n_jobs = effective_n_jobs(n_jobs)
        self.mode = mode
        self.end_msg = end_msg
        self.progress = progress
        if progress:
            _tqdm()
        self._options = {**task_options, "perfmodel": perfmodel}
        if not self._options.pop("ret_future", True):
            raise TypeError('Parallel: ret_future=False is for single tasks; mode="future" gives a future')
        task_submit(**self._options)

    def __call__(self, calls: Any) -> Any:
        """Runs the calls.

        Parameters
        ----------
        calls
            An iterable of calls, taken as the tasks progress; or one call, whose arrays are split along axis 0 as
            views, so that what it writes into them stays, and whose generators are split into lists. Futures of tasks
            count as calls that run already, each as one task with options of its own.

        Returns
        -------
        list, or a future of it
            The results in order. Of a call that was split: the elements of the arrays and lists that it returned.

        Raises
        ------
        Exception
            What the first call that failed raised; calls that have not begun are given up.
        """
        work: _Parts | _Calls
        if isinstance(calls, TaskFuture):
            work = _Parts.whole(calls)
        elif _is_call(calls):
            work = _Parts.split(calls, self.n_jobs)
        else:
            work = _Calls([calls] if isinstance(calls, Future) else calls, self.n_jobs)
        run = _Run(self, work)
        # Here, so that arrays are kept from others at once, and that errors of the first calls are raised here.
        run.fill()
        if self.mode == "normal":
            return run.finish()
        contexts = [worker.context for worker in current().workers if worker.context is not None]
        if contexts:
            options = {"name": "Parallel", "priority": self._options.get("priority", 0), "where": contexts}
            return task_submit(**options)(run.finish)
        return _in_a_thread(run.finish)

    def _submit(self, batch: _Batch) -> Future:
        options = dict(self._options)
        if options.get("name") is None:
            options["name"] = function_name(batch.func)
        if options.get("sizebase") is None:
            options["sizebase"] = batch.size
        if options.get("flops") is not None:
            options["flops"] *= batch.share
        return task_submit(**options)(batch.run, *batch.args, **batch.kwargs)


class _Run:
    """The progress of one call of a ``Parallel``."""

    def __init__(self, parallel: Parallel, work: "_Calls | _Parts") -> None:
        self._parallel = parallel
        self._work = work
        self._results: list[list[Any]] = []
        #: By place among the results. A future may have several.
        self._pending: dict[int, tuple[TaskFuture, _Batch | _Given]] = {}

    def fill(self) -> None:
        """Submits as many tasks as may run at a time."""
        try:
            while len(self._pending) < self._parallel.n_jobs and (batch := self._work.next()) is not None:
                self._pending[len(self._results)] = batch.start(self._parallel._submit), batch
                self._results.append([])
        except BaseException as error:
            self._give_up(error)
            raise

    def finish(self) -> list[Any]:
        """Waits for the results, and submits the rest of the tasks meanwhile."""
        bar = _tqdm()(total=self._work.total) if self._parallel.progress else None
        try:
            while self._pending:
                wait([future for future, _ in self._pending.values()], return_when=FIRST_COMPLETED)
                for place in [place for place, (future, _) in self._pending.items() if future.done()]:
                    future, batch = self._pending.pop(place)
                    seconds, self._results[place] = batch.outcome(future)
                    self._work.measured(batch, seconds)
                    if bar is not None:
                        bar.update(batch.size)
                self.fill()
        except BaseException as error:
            self._give_up(error)
            raise
        finally:
            if bar is not None:
                bar.close()
        if self._parallel.end_msg is not None:
            print(self._parallel.end_msg, flush=True)
        return list(itertools.chain.from_iterable(self._results))

    def _give_up(self, error: BaseException) -> None:
        running = [future for future, _ in self._pending.values() if not future.cancel()]
        self._pending = {}
        if isinstance(error, Exception):  # not Ctrl-C: nothing of this call runs on after it
            wait(running)


class _Promise(Future):
    """A future that can be awaited, and that gives up the worker of a task which waits for it."""

    def __await__(self) -> Any:
        return awaited(self)

    def result(self, timeout: float | None = None) -> Any:
        """As of any future."""
        task = here.task
        if task is None or self.done():
            return super().result(timeout)
        with task.runtime.blocked(task, []):
            return super().result(timeout)


def _in_a_thread(func: Callable[[], Any]) -> Future:
    """Runs a function that only waits for tasks, where there are no workers but processes."""
    promise = _Promise()
    promise.set_running_or_notify_cancel()

    def run() -> None:
        try:
            result = func()
        except BaseException as error:
            promise.set_exception(error)
        else:
            promise.set_result(result)

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name="rustarr-parallel").start()
    return promise


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("Parallel: progress=True needs tqdm: pip install 'rustarr[progress]'") from error
    return tqdm
