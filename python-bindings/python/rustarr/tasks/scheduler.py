"""Schedulers: which ready task a free worker takes next, or which worker a ready task goes to.

All methods but ``expect`` are called under the graph's lock. A task that has been taken otherwise stays in the queues
until it is met there; its state tells.
"""

import heapq
import itertools
import os
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .task import READY, Task

if TYPE_CHECKING:
    from .runtime import Runtime
    from .worker import Worker


@dataclass(frozen=True)
class Candidate:
    """A worker that ``dmda`` considered, with what it expected there, in seconds from the decision."""

    worker: str
    #: Until the worker has done what it was given before.
    ready: float
    #: To bring the arguments to its device.
    transfer: float
    #: To run the task; None if nothing is known.
    execution: float | None

    @property
    def finish(self) -> float | None:
        """Until the task is done; None if nothing is known."""
        return None if self.execution is None else self.ready + self.transfer + self.execution

    def __str__(self) -> str:
        if self.execution is None:
            return f"{self.worker}: never measured"
        return (
            f"{self.worker}: finish in {self.finish:.3g} s = ready in {self.ready:.3g} s"
            f" + transfer {self.transfer:.3g} s + execution {self.execution:.3g} s"
        )


class Scheduler:
    """Takes ready tasks and gives them to workers."""

    name: str
    #: Whether `push` goes by what `expect` finds out.
    expects = False

    def __init__(self, runtime: "Runtime") -> None:
        self.runtime = runtime

    def expect(self, task: Task) -> Any:
        """What `push` has to know of a task, as its ``expects``: called without the lock, so that user code may run."""
        return ()

    def push(self, task: Task) -> None:
        """A task has become ready."""
        raise NotImplementedError

    def pop(self, worker: "Worker") -> Task | None:
        """The task that the worker is to run now."""
        raise NotImplementedError

    def has(self, worker: "Worker") -> bool:
        """Whether there may be a task for the worker."""
        raise NotImplementedError

    def suits(self, task: Task, worker: "Worker") -> bool:
        """Whether the worker may take a ready task out of turn, because somebody waits for it."""
        return task.allowed is None or worker.index in task.allowed

    def started(self, task: Task, worker: "Worker") -> None:
        """A worker has taken a ready task, in its turn or out of it."""

    def finished(self, task: Task, worker: "Worker") -> None:
        """A task has ended on a worker."""

    def lose(self, worker: "Worker") -> None:
        """A worker is gone; what was meant for it alone goes elsewhere."""


class _Lanes(Scheduler):
    """One queue for each set of workers that tasks may run on; a worker takes the first task over all of its queues."""

    def __init__(self, runtime: "Runtime") -> None:
        super().__init__(runtime)
        self._lanes: dict[frozenset[int] | None, list] = {}
        self._arrivals = itertools.count()

    def _rank(self, task: Task) -> Any:
        raise NotImplementedError

    def push(self, task: Task) -> None:
        lane = self._lanes.get(task.allowed)
        if lane is None:
            lane = self._lanes[task.allowed] = []
        heapq.heappush(lane, (self._rank(task), next(self._arrivals), task))

    def pop(self, worker: "Worker") -> Task | None:
        while True:
            best = None
            for allowed, lane in self._lanes.items():
                if lane and (allowed is None or worker.index in allowed) and (best is None or lane[0] < best[0]):
                    best = lane
            if best is None:
                return None
            task = heapq.heappop(best)[2]
            if task.state is READY:
                task.choice = self._reason(task), ()
                return task

    def has(self, worker: "Worker") -> bool:
        return any(lane and (allowed is None or worker.index in allowed) for allowed, lane in self._lanes.items())

    def _reason(self, task: Task) -> str:
        raise NotImplementedError


class Eager(_Lanes):
    """The first worker that is free takes the task that became ready first."""

    name = "eager"

    def _rank(self, task: Task) -> Any:
        return 0

    def _reason(self, task: Task) -> str:
        return "eager: it was the first free worker, and the task was the first that it may run"


class Prio(_Lanes):
    """The first free worker takes the task of the highest priority, among equals the first that became ready."""

    name = "prio"

    def _rank(self, task: Task) -> Any:
        return -task.options.priority

    def _reason(self, task: Task) -> str:
        return f"prio: it was the first free worker, and no task for it had a priority over {task.options.priority}"


class WorkStealing(Scheduler):
    """Each worker has a queue: it takes its own newest task, else it steals the oldest of the longest queue.

    A task goes to the queue of the worker that submitted it, else to the queues in turn.
    """

    name = "ws"

    def __init__(self, runtime: "Runtime") -> None:
        super().__init__(runtime)
        self._queues: list[deque[Task]] = [deque() for _ in runtime.workers]
        self._turn = itertools.count()

    def push(self, task: Task) -> None:
        parent = task.parent
        home = parent.worker if parent is not None else None
        if home is None or not self.suits(task, home) or home.lost:
            able = [w for w in self.runtime.workers if not w.lost and self.suits(task, w)]
            home = able[next(self._turn) % len(able)]
        self._queues[home.index].append(task)

    def pop(self, worker: "Worker") -> Task | None:
        own = self._queues[worker.index]
        while own:
            task = own.pop()
            if task.state is READY and self.suits(task, worker):
                task.choice = "ws: it was in this worker's own queue", ()
                return task
        for queue in sorted(self._queues, key=len, reverse=True):
            for task in list(queue):
                if task.state is not READY:
                    queue.remove(task)
                elif self.suits(task, worker):
                    queue.remove(task)
                    victim = self.runtime.workers[self._queues.index(queue)]
                    task.choice = f"ws: it was free and stole the oldest task that it may run from {victim.name}", ()
                    return task
        return None

    def has(self, worker: "Worker") -> bool:
        return any(self.suits(task, worker) for queue in self._queues for task in queue)


class Dmda(Scheduler):
    """Each task goes to the worker that is expected to finish it first, transfers included.

    What a task takes comes from the performance models, by its size and the kind of worker; a kind that the model has
    never seen is tried first. Within a worker's queue, higher priorities come first.
    """

    name = "dmda"
    expects = True

    def __init__(self, runtime: "Runtime") -> None:
        super().__init__(runtime)
        count = len(runtime.workers)
        self._queues: list[list[tuple[int, int, Task]]] = [[] for _ in range(count)]
        self._arrivals = itertools.count()
        #: Seconds of what waits in each queue, and how many they are.
        self._load = [0.0] * count
        self._length = [0] * count
        #: Task and start of what each worker runs.
        self._running: list[tuple[Task, float] | None] = [None] * count
        self._assigned: dict[Task, int] = {}

    def expect(self, task: Task) -> dict[str, float | None]:
        """The seconds that the task takes by kind of worker, as far as its model knows."""
        model = task.options.perfmodel
        if model is None:
            return {}
        size, seconds = task.measure(), {}
        for kind in {w.kind for w in self.runtime.workers if Scheduler.suits(self, task, w)}:
            estimate = self.runtime.models.estimate(model, kind, size)
            seconds[kind] = None if estimate is None else estimate.seconds
        return seconds

    def push(self, task: Task) -> None:
        clock, options = self.runtime.clock(), task.options
        workers = [w for w in self.runtime.workers if not w.lost and Scheduler.suits(self, task, w)]
        candidates = []
        for worker in workers:
            seconds = task.expects.get(worker.kind)
            ready = self._load[worker.index]
            running = self._running[worker.index]
            if running is not None:
                ready += max(0.0, running[0].expected - (clock - running[1]))
            candidates.append(Candidate(worker.name, ready, self.runtime.transfers.expect(task, worker), seconds))
        best, reason = self._best(task, workers, candidates)
        task.choice = reason, tuple(candidates)
        chosen = workers[best].index
        task.expected = (candidates[best].execution or 0.0) + candidates[best].transfer
        self._assigned[task] = chosen
        self._load[chosen] += task.expected
        self._length[chosen] += 1
        heapq.heappush(self._queues[chosen], (-options.priority, next(self._arrivals), task))

    def _best(self, task: Task, workers: "list[Worker]", candidates: list[Candidate]) -> tuple[int, str]:
        def busy(i: int) -> int:
            index = workers[i].index
            return self._length[index] + (self._running[index] is not None)

        order = range(len(candidates))
        if task.options.perfmodel is None:
            best = min(order, key=lambda i: (candidates[i].ready + candidates[i].transfer, busy(i), i))
            return best, "dmda: the task has no performance model, so the worker with the least to do got it"
        unknown = [i for i in order if candidates[i].execution is None]
        if unknown:
            best = min(unknown, key=lambda i: (busy(i), i))
            kind, model = workers[best].kind, task.options.perfmodel
            return best, f"dmda: the model {model!r} has no measurements on {kind}, so it is measured there"
        best = min(order, key=lambda i: (candidates[i].finish, busy(i), i))
        return best, "dmda: it was expected to finish first"

    def suits(self, task: Task, worker: "Worker") -> bool:
        return self._assigned.get(task) == worker.index

    def pop(self, worker: "Worker") -> Task | None:
        queue = self._queues[worker.index]
        while queue:
            task = heapq.heappop(queue)[2]
            if task.state is READY:
                return task
        return None

    def has(self, worker: "Worker") -> bool:
        return bool(self._queues[worker.index])

    def started(self, task: Task, worker: "Worker") -> None:
        self._leave(task)
        self._running[worker.index] = (task, self.runtime.clock())

    def _leave(self, task: Task) -> None:
        index = self._assigned.pop(task, None)
        if index is not None:
            self._length[index] -= 1
            # Sums of differences drift; an empty queue has no load.
            self._load[index] = max(0.0, self._load[index] - task.expected) if self._length[index] else 0.0

    def finished(self, task: Task, worker: "Worker") -> None:
        self._leave(task)
        running = self._running[worker.index]
        if running is not None and running[0] is task:
            self._running[worker.index] = None

    def lose(self, worker: "Worker") -> None:
        stranded = [task for _, _, task in self._queues[worker.index] if task.state is READY]
        self._queues[worker.index].clear()
        for task in stranded:
            self._leave(task)
            if any(not w.lost and Scheduler.suits(self, task, w) for w in self.runtime.workers):
                self.push(task)


SCHEDULERS: dict[str, type[Scheduler]] = {s.name: s for s in (Eager, Prio, WorkStealing, Dmda)}


def make_scheduler(name: "str | type[Scheduler] | None", runtime: "Runtime") -> Scheduler:
    """The scheduler of that name; by default what the variable RUSTARR_SCHED says, then ``eager``.

    Raises
    ------
    ValueError
        For an unknown name.
    TypeError
        For what is no name.
    """
    if isinstance(name, type) and issubclass(name, Scheduler):
        return name(runtime)
    where = "scheduler" if name is not None else "RUSTARR_SCHED"
    if name is None:
        name = os.environ.get("RUSTARR_SCHED") or "eager"
    if not isinstance(name, str):
        raise TypeError(f"Runtime: scheduler is a name or a class of Scheduler, not {name!r}")
    if name not in SCHEDULERS:
        raise ValueError(f"{where}={name!r} is no scheduler; there are {', '.join(SCHEDULERS)}")
    return SCHEDULERS[name](runtime)
