"""Data hazards: tasks that share memory run in the order of submission wherever one of them writes.

Each base of a rustarr array has a `Block`, which the base itself keeps. NumPy arrays, and rustarr arrays over memory of
others, are found by address among the `Regions` that tasks use at the moment. Within a block, views that have no byte
in common are independent as long as every worker uses the same memory.

Whoever touches a rustarr array from outside waits at its gate for the tasks that are to write it and, to write it
himself, for those that are to read it. The memory of NumPy arrays has no gates.
"""

import bisect
import sys
from typing import TYPE_CHECKING, Any

from .. import _core
from .future import here

if TYPE_CHECKING:
    from .task import Task
    from .transfer import Replicas

Array = _core.Array


def is_numpy(value: Any) -> bool:
    """Whether it is a NumPy array; NumPy is not imported for the question."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


class Block:
    """Memory that tasks are ordered on."""

    __slots__ = ("announced", "into", "readers", "replicas", "writers", "__weakref__")

    def __init__(self) -> None:
        #: Unreleased tasks in the order of submission, each with the bytes that it uses.
        self.writers: dict[Task, tuple[int, int]] = {}
        self.readers: dict[Task, tuple[int, int]] = {}
        #: Tasks that those outside wait for, and whether each writes. Changed without a lock, one item at a time.
        self.announced: dict[Task, bool] = {}
        #: Copies on other devices, once there were any.
        self.replicas: Replicas | None = None
        #: The block that has taken this one over.
        self.into: Block | None = None

    def wait(self, writes: bool) -> None:
        """The gate's question: returns once the elements may be read or, if `writes`, written from outside."""
        task = here.task
        found = self.announced.copy()
        known = set(found)
        while found:
            for other, other_writes in found.items():
                within = task is not None and task.comes_from(other)
                if (writes or other_writes) and not within:
                    other.wait()
            # What these have submitted meanwhile belongs into their places in the order; later tasks do not.
            found = {
                new: new_writes
                for new, new_writes in self.announced.copy().items()
                if new not in known and any(new.comes_from(other) for other in known)
            }
            known.update(found)
        if self.replicas is not None:
            self.replicas.come_home()


class Access:
    """An array among a task's arguments: its memory, and what the task may do with it."""

    __slots__ = ("array", "block", "end", "first", "label", "mode", "numpy", "owner", "pinned", "used", "version")

    def __init__(self, array: Any, mode: str, label: str | None) -> None:
        self.array = array
        self.mode = mode
        #: The argument's name for errors, if it was declared.
        self.label = label
        #: The block that orders tasks, and the one that the array's base keeps.
        self.block: Block | None = None
        self.owner: Block | None = None
        self.first, self.end = 0, sys.maxsize
        self.numpy = not isinstance(array, Array)
        #: What the function got instead of the array.
        self.used: Any = None
        self.version = 0
        #: Where the copy is that it got, which stays there while the task runs.
        self.pinned: Replicas | None = None

    def written(self) -> bool:
        """Whether the task may have written already. NumPy arrays do not tell."""
        return self.numpy or (self.used is not None and _core._version(self.used)[0] != self.version)

    @property
    def writes(self) -> bool:
        """Whether the task may write."""
        return self.mode != "R"


def access(task: "Task", value: Any, mode: str | None, name: str | None) -> Access:
    """The access of a task to an array argument; keeps others off a rustarr array from now on."""
    writable = not _core._is_read_only(value) if isinstance(value, Array) else value.flags.writeable
    # Nobody writes through a read-only handle, declared or not.
    found = Access(value, mode or task.undeclared, name if mode else None)
    if not writable:
        found.mode = "R"
    base = value if isinstance(value, Array) else _exporter(value)
    if base is None:
        found.first, found.end = _addresses(value)
        return found
    block = _core._block(base) or _core._block_or(base, Block())
    if base is value:
        found.owner = block
    # Noted first: whatever interrupts, the announcement is found again.
    task.gates = (*task.gates, base)
    _core._announce(base, found.writes, block.announced, task)
    if base is not value:
        found.block = block
        return found
    first, end, address = _core._span(value)
    if not task.runtime.one_memory:
        # Copies on other devices are of whole bases.
        first, end = 0, _core._base_size(value) * value.dtype.itemsize
    if address is None:
        found.block = block
        found.first, found.end = first, end
    else:
        found.first, found.end = address + first, address + end
    return found


def _exporter(array: Any) -> Any:
    """The rustarr array whose memory a NumPy array shows, or None."""
    base = array.base
    while is_numpy(base):
        base = base.base
    owner = base.obj if isinstance(base, memoryview) else None
    return owner if isinstance(owner, Array) and not _core._is_foreign(owner) else None


def _addresses(array: Any) -> tuple[int, int]:
    """The addresses of the first byte that a NumPy array uses and of the one after the last."""
    first = end = array.__array_interface__["data"][0]
    if array.size == 0:
        return first, first
    if array.flags.c_contiguous:
        return first, first + array.nbytes
    for length, step in zip(array.shape, array.strides, strict=True):
        if step < 0:
            first += (length - 1) * step
        else:
            end += (length - 1) * step
    return first, end + array.itemsize


class Regions:
    """The blocks of memory that has no base of ours, by address; no two have a byte in common."""

    def __init__(self) -> None:
        self._first: list[int] = []
        self._end: list[int] = []
        self._blocks: list[Block] = []

    def block(self, first: int, end: int) -> Block:
        """The block that covers these bytes; it takes over all that it meets."""
        low = bisect.bisect_right(self._end, first)
        high = bisect.bisect_left(self._first, end, lo=low)
        if high - low == 1 and self._first[low] <= first and end <= self._end[low]:
            return self._blocks[low]
        whole = Block()
        for block in self._blocks[low:high]:
            _unite(whole.writers, block.writers)
            _unite(whole.readers, block.readers)
            block.into = whole
        if low < high:
            first, end = min(first, self._first[low]), max(end, self._end[high - 1])
        self._first[low:high] = [first]
        self._end[low:high] = [end]
        self._blocks[low:high] = [whole]
        return whole

    def drop(self, block: Block, first: int) -> None:
        """Forgets a block that nobody uses any more."""
        at = bisect.bisect_right(self._end, first)
        if at < len(self._blocks) and self._blocks[at] is block:
            del self._first[at], self._end[at], self._blocks[at]


def _unite(tasks: "dict[Task, tuple[int, int]]", others: "dict[Task, tuple[int, int]]") -> None:
    """Adds tasks with their bytes; a task that is in both has used all from the first to the last."""
    for task, (first, end) in others.items():
        low, high = tasks.get(task, (first, end))
        tasks[task] = (min(first, low), max(end, high))


class Hazards:
    """The order of tasks on memory. All methods are called under the graph's lock."""

    def __init__(self) -> None:
        self.regions = Regions()

    def register(self, task: "Task", accesses: "list[Access]") -> None:
        """Makes the task wait for those before it that it shares memory with, where one of the two writes."""
        for access in accesses:
            block, first, end = access.block, access.first, access.end
            if block is None:
                if first == end:
                    continue
                block = access.block = self.regions.block(first, end)
            self._order(task, block, first, end, access.writes)

    def _order(self, task: "Task", block: Block, first: int, end: int, writes: bool) -> None:
        holder = _holder(task, block)
        rivals = (block.writers, block.readers) if writes else (block.writers,)
        for tasks in rivals:
            covered = []
            for other, (low, high) in tasks.items():
                if low >= end or first >= high or other is task:
                    continue
                # What a task submits on its own arrays belongs into its own place in the order.
                if holder is not None and not (other is not holder and other.comes_from(holder)):
                    continue
                _follow(task, other)
                if writes and holder is None and first <= low and high <= end:
                    covered.append(other)
            for other in covered:
                # Whoever comes later waits for this task, and so for the other one. The task keeps its block.
                del tasks[other]
        if holder is not None and holder not in task.shares:
            task.shares = (*task.shares, holder)
            holder.holds += 1
        mine = block.writers if writes else block.readers
        if task in block.writers:
            mine = block.writers
            low, high = mine[task]
            first, end = min(first, low), max(end, high)
        elif task in block.readers and writes:
            low, high = block.readers.pop(task)
            first, end = min(first, low), max(end, high)
        elif task in mine:
            low, high = mine[task]
            first, end = min(first, low), max(end, high)
        mine[task] = (first, end)

    def release(self, task: "Task") -> None:
        """The task's arrays are free."""
        for access in task.accesses:
            block = _present(access.block)
            if block is None:
                continue
            block.writers.pop(task, None)
            block.readers.pop(task, None)
            if not block.writers and not block.readers:
                self.regions.drop(block, access.first)
        for base in task.gates:
            _core._strike(base, _core._block(base).announced, task)


def _holder(task: "Task", block: Block) -> "Task | None":
    """The nearest task around this one that uses the block itself, and so vouches for those that it submits."""
    parent = task.parent
    while parent is not None:
        # The block itself may have lost the task to a later one that covers it.
        if any(_present(access.block) is block for access in parent.accesses):
            return parent
        parent = parent.parent
    return None


def _present(block: Block | None) -> Block | None:
    while block is not None and block.into is not None:
        block = block.into
    return block


def _follow(task: "Task", other: "Task") -> None:
    """Makes a task wait until the other one's arrays are free."""
    if not task.blockers:
        task.blockers = set()
    if other not in task.blockers:
        task.blockers.add(other)
        task.dependencies = (*task.dependencies, other.id)
        if not other.followers:
            other.followers = []
        other.followers.append(task)
