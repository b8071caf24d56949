"""Moving arguments to the device of the worker that takes a task, and keeping the copies coherent.

An array stays where it was made: its home. A worker of another device gets a copy of the array's whole base there,
which later tasks use again as long as the home is unchanged. After a task has written a copy, the copy is the newest;
the elements go home when somebody needs them there. Until then the home's gate is closed.
"""

import threading
import time
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

from .. import _core
from .hazards import Access

if TYPE_CHECKING:
    from .task import Task
    from .worker import Worker

#: What a transfer is taken to cost before the first one was measured.
LATENCY_SECONDS = 20e-6
BYTES_PER_SECOND = 5e9


#: All that are alive.
_all: "weakref.WeakSet[Replicas]" = weakref.WeakSet()


def after_fork() -> None:
    """In a forked child: a thread that is not here may have held locks."""
    for replicas in _all:
        replicas._lock = threading.Lock()


class Replicas:
    """The copies of one base on other devices than its own."""

    def __init__(self, array: Any) -> None:
        self.home = _core._Weak(array)
        self._lock = threading.Lock()
        #: By device: the copy of the whole base, and the home's version that it has.
        self._copies: dict[Any, tuple[Any, int]] = {}
        #: By device: how many arguments of running tasks are in the copy.
        self._pins: Counter[Any] = Counter()
        #: The device whose copy is newer than the home.
        self._newest: Any = None
        _all.add(self)

    def holds(self, array: Any, device: Any) -> bool:
        """Whether a device has the newest elements of the array, whose base this is."""
        with self._lock:
            return self._newest == device if self._newest is not None else self._usable(array, device) is not None

    def _usable(self, array: Any, device: Any) -> Any:
        found = self._copies.get(device)
        if found is None or device == self._newest:
            return found and found[0]
        version, shared = _core._version(array)
        # Memory that others know may have changed without a trace.
        return found[0] if found[1] == version and not shared else None

    def fetch(self, array: Any, worker: "Worker", blank: bool, held: bool) -> tuple[Any, bool]:
        """The copy of the base on a worker's device, and whether it had to be brought there; it stays until `unpin`.

        With `held`, the one that another argument of the task is in.
        """
        with self._lock:
            device = worker.device
            copy = self._copies[device][0] if held else self._usable(array, device)
            moved = copy is None
            if moved:
                self._restore(array)
                copy = _core._replica(array, worker.context, blank)
                self._copies[device] = copy, _core._version(array)[0]
            self._pins[device] += 1
            return copy, moved

    def unpin(self, device: Any) -> None:
        """A task that had the copy on a device has ended."""
        with self._lock:
            self._pins[device] -= 1

    def wrote(self, array: Any, device: Any) -> None:
        """A task has written the copy on a device."""
        with self._lock:
            self._copies = {device: self._copies[device]}
            if self._newest is None:
                _core._announce(array, True)
            self._newest = device
            if _core._version(array)[1]:
                # Others look at the home without passing the gate.
                self._restore(array)

    def drop(self, device: Any) -> None:
        """Forgets the copy on a device that is short of memory, unless it is the newest or a running task has it."""
        with self._lock:
            if device != self._newest and not self._pins[device]:
                self._copies.pop(device, None)

    def forget(self, device: Any) -> None:
        """The copy on a device has not what the base has."""
        with self._lock:
            if device != self._newest:
                self._copies.pop(device, None)

    def come_home(self, array: Any = None) -> None:
        """Brings the newest elements home."""
        if self._newest is not None:
            array = self.home() if array is None else array
            with self._lock:
                if array is not None:
                    self._restore(array)

    def _restore(self, array: Any) -> None:
        if self._newest is not None:
            copy, _ = self._copies[self._newest]
            _core._restore(array, copy)
            self._copies[self._newest] = copy, _core._version(array)[0]
            self._newest = None
            _core._withdraw(array, True)


class Transfers:
    """What moves between the devices of a runtime's workers, and what it costs."""

    def __init__(self, latency: float = LATENCY_SECONDS, bandwidth: float = BYTES_PER_SECOND) -> None:
        #: Seconds that any transfer takes, and bytes a second.
        self.latency = latency
        self.bandwidth = bandwidth
        self._measured = (0, 0.0)
        #: Whatever has copies, to be asked for memory when a device has no more.
        self._replicas: weakref.WeakSet[Replicas] = weakref.WeakSet()

    def expect(self, task: "Task", worker: "Worker") -> float:
        """Seconds to bring a task's arguments to a worker."""
        seconds = 0.0
        for access in task.accesses:
            if access.numpy or worker.device is None or access.mode == "W" or self._there(access, worker.device):
                continue
            seconds += self.latency + access.array.nbytes / self.bandwidth
        return seconds

    def _there(self, access: Access, device: Any) -> bool:
        replicas = None if access.owner is None else access.owner.replicas
        if access.array.device == device:
            return replicas is None or replicas._newest is None
        return replicas is not None and replicas.holds(access.array, device)

    def fetch(self, task: "Task", access: Access, worker: "Worker") -> Any:
        """What the function gets for an array: a handle of it or of its copy, in the worker's context."""
        array, block = access.array, access.owner
        replicas = block.replicas
        if array.device == worker.device:
            if replicas is not None and replicas._newest is not None:
                self._timed(task, array.nbytes, lambda: replicas.come_home(array))
            return self._hand(access, array, worker)
        if replicas is None:
            replicas = block.replicas = Replicas(array)
            self._replicas.add(replicas)
        others = [other for other in task.accesses if other is not access and other.owner is block]
        blank = access.mode == "W" and array.size == _core._base_size(array) and not others
        # One base has one copy in a task, whatever has come from outside since.
        held = any(other.pinned is replicas for other in others)
        copy = self._timed(task, array.nbytes, lambda: self._fetch(replicas, array, worker, blank, held))
        access.pinned = replicas
        return self._hand(access, _core._within(array, copy), worker)

    def home(self, access: Access) -> Any:
        """What the function of another process gets: the array itself, whose newest elements come home."""
        if access.owner is not None and access.owner.replicas is not None:
            access.owner.replicas.come_home(access.array)
        return access.array

    def _hand(self, access: Access, array: Any, worker: "Worker") -> Any:
        label = access.label if access.mode == "R" else None
        access.used = _core._handle(array, worker.context, label)
        access.version = _core._version(array)[0]
        return access.used

    def _fetch(self, replicas: Replicas, array: Any, worker: "Worker", blank: bool, held: bool) -> Any:
        try:
            return replicas.fetch(array, worker, blank, held)
        except MemoryError:
            for other in list(self._replicas):
                other.drop(worker.device)
            return replicas.fetch(array, worker, blank, held)

    def _timed(self, task: "Task", size: int, move: Any) -> Any:
        start = time.perf_counter()
        result = move()
        copy, moved = result if result is not None else (None, True)
        if moved:
            task.transfers += 1
            count, seconds = self._measured
            seconds += time.perf_counter() - start
            self._measured = count + size, seconds
            # Small transfers measure the latency, not the bandwidth.
            if self._measured[0] > 1 << 22:
                self.bandwidth = self._measured[0] / seconds
        return copy

    def finish(self, task: "Task", worker: "Worker") -> None:
        """A task has run: copies that it may have written are the newest now."""
        for access in self._copied(task, worker):
            if access.mode != "W" or access.written():
                access.owner.replicas.wrote(access.array, worker.device)
        for access in self._copied(task, worker):
            # Memory for what was to be overwritten holds nothing if it was not.
            if access.mode == "W" and not access.written():
                access.owner.replicas.forget(worker.device)

    def abandon(self, task: "Task", worker: "Worker") -> None:
        """A device failed under a task: copies that it was to write there are none any more."""
        for access in self._copied(task, worker):
            access.owner.replicas.forget(worker.device)

    @staticmethod
    def _copied(task: "Task", worker: "Worker") -> list[Access]:
        """The arrays that a task may write through a copy on the worker's device."""
        return [a for a in task.accesses if a.used is not None and a.writes and a.array.device != worker.device]

    def let_go(self, task: "Task", worker: "Worker") -> None:
        """A run of a task is over, however: its copies may be given up."""
        for access in task.accesses:
            pinned, access.pinned = access.pinned, None
            if pinned is not None:
                pinned.unpin(worker.device)
