"""Arrays in memory that processes share: files in a memory-backed directory, mapped by whoever reads them.

Files rather than POSIX shared-memory objects: they can be reserved, so that a full memory file system is an error and
not a SIGBUS in the middle of a copy; what does not fit goes to the ordinary temporary directory; and what a killed
process leaves behind is swept away by the next one, which sees that nobody holds its lock.
"""

import importlib
import io
import itertools
import mmap
import os
import pickle
import shutil
import sys
import tempfile
import threading
import types
import warnings
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rustarr

from ._files import FileLock
from .functions import Delayed, attribute

#: Smaller arrays travel inside the message: mapping a file costs more than copying them.
SMALLEST = 1 << 15
#: Bytes of segments that are kept although no task uses them now, since the next one may.
IDLE_BYTES = 1 << 30
#: Bytes that are compared at a time: both sides stay in the cache.
_BLOCK = 1 << 18
_PREFIX = "rustarr-"


class Descriptor(NamedTuple):
    """What another process needs to know of a segment."""

    path: str
    dtype: np.dtype
    shape: tuple[int, ...]
    #: "C" or "F".
    order: str
    writable: bool


def _reserve(path: str, size: int) -> None:
    """Makes a file of this size whose blocks are there; OSError if they are not."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(handle, 0, size)
        else:
            os.ftruncate(handle, size)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(handle)


def _map(descriptor: Descriptor) -> np.ndarray:
    """The segment's array. The mapping lives as long as the array or a view of it."""
    access = mmap.ACCESS_WRITE if descriptor.writable else mmap.ACCESS_READ
    with open(descriptor.path, "r+b" if descriptor.writable else "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=access)
    count = int(np.prod(descriptor.shape, dtype=np.int64))
    flat = np.frombuffer(mapped, dtype=descriptor.dtype, count=count)
    return flat.reshape(descriptor.shape, order=descriptor.order)


def _order(array: np.ndarray) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _same_bytes(array: np.ndarray, copy: np.ndarray) -> bool:
    """Whether an array has the bits of its contiguous copy: NaNs and signed zeros count as what they are."""
    if _order(copy) == "F":
        array, copy = array.T, copy.T
    if array.ndim == 0:
        array, copy = array.reshape(1), copy.reshape(1)
    step = max(1, _BLOCK * len(array) // array.nbytes)
    for start in range(0, len(array), step):
        sides = (np.ascontiguousarray(side[start : start + step]).reshape(-1) for side in (array, copy))
        left, right = (side.view(np.uint64 if side.nbytes % 8 == 0 else np.uint8) for side in sides)
        if not np.array_equal(left, right):
            return False
    return True


class Segment:
    """A file with one version of one array, and the number of tasks that are to read it."""

    def __init__(self, path: str, array: np.ndarray, writable: bool) -> None:
        order = _order(array)
        self.descriptor = Descriptor(path, array.dtype, array.shape, order, writable)
        self.nbytes = array.nbytes
        self.uses = 0
        self.key: tuple | None = None
        _reserve(path, array.nbytes)
        try:
            self.array = _map(self.descriptor._replace(writable=True))
            np.copyto(self.array, array)
        except BaseException:
            os.unlink(path)
            raise

    def delete(self) -> None:
        """Gives the file back; mappings of it stay valid until they are dropped."""
        del self.array
        with suppress(OSError):
            os.unlink(self.descriptor.path)


class Folder:
    """A directory for the segments of one process and its workers, marked as in use by a lock."""

    def __init__(self) -> None:
        self._paths: list[str] = []
        self._locks: list[FileLock] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def new_segment(self, array: np.ndarray, writable: bool = False) -> Segment:
        """A segment with a copy of the array, in memory if it fits there; MemoryError if it fits nowhere."""
        name = f"{os.getpid()}-{next(self._numbers)}"
        for path in self.paths():
            try:
                return Segment(os.path.join(path, name), array, writable)
            except OSError as error:
                failure = error
        raise MemoryError(f"no room for an array of {array.nbytes} bytes in shared memory: {failure}") from failure

    def paths(self) -> list[str]:
        """The directories, the preferred one first; made when they are first needed."""
        with self._lock:
            if not self._paths:
                parents = dict.fromkeys(["/dev/shm", tempfile.gettempdir()])
                for parent in parents:
                    if os.path.isdir(parent) and os.access(parent, os.W_OK):
                        _sweep(parent)
                        path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
                        lock = FileLock(Path(path) / "lock")
                        lock.acquire()
                        self._paths.append(path)
                        self._locks.append(lock)
            return self._paths

    def use(self, paths: list[str]) -> None:
        """In a worker: the directories are those of the parent."""
        self._paths = paths

    def delete_of(self, pid: int) -> None:
        """Removes what a dead worker has left."""
        for path in list(self._paths):
            for name in os.listdir(path):
                if name.startswith(f"{pid}-"):
                    with suppress(OSError):
                        os.unlink(os.path.join(path, name))

    def close(self) -> None:
        """Removes everything."""
        with self._lock:
            paths, self._paths = self._paths, []
            locks, self._locks = self._locks, []
        for path, lock in zip(paths, locks, strict=True):
            lock.release()
            shutil.rmtree(path, ignore_errors=True)

    def forget(self) -> None:
        """In a forked child: leaves the parent's directories alone."""
        for lock in self._locks:
            lock.forget()
        self.__init__()


def _sweep(parent: str) -> None:
    """Removes the directories of processes that died: nobody holds their locks."""
    for path in Path(parent).glob(f"{_PREFIX}*"):
        try:
            if path.stat().st_uid != os.getuid():
                continue
            lock = FileLock(path / "lock")
            # One without a file is being made at this moment.
            if lock.path.exists() and lock.acquire(blocking=False):
                lock.release()
                shutil.rmtree(path, ignore_errors=True)
        except (OSError, AttributeError):  # somebody else was quicker; a system without users
            continue


class Sharing:
    """The segments of the arrays that tasks are given: one for each version of an array, whoever reads it.

    A version is told by its contents: sharing an array again compares it with its segment, which is exact whoever
    wrote to it and needs no second copy.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        #: The newest segment by place in memory, the most recently used last.
        self._newest: OrderedDict[tuple, Segment] = OrderedDict()
        #: Keys whose arrays are gone. A finalizer may run anywhere, so that it only leaves a note.
        self._gone: deque[tuple] = deque()
        self._watched: set[tuple] = set()
        #: Copies that were made so far.
        self.copies = 0

    def share(self, array: np.ndarray, owner: Any, key: tuple | None = None) -> Segment:
        """The segment of the array's present contents, with one more use.

        `owner` is what has to die for the memory to be another array's; `key` stands for the place in memory.
        """
        if key is None:
            key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        with self._lock:
            self._drop_gone()
            segment = self._newest.get(key)
            if segment is None or not _same_bytes(array, segment.array):
                new = self._folder.new_segment(array)
                new.key = key
                self.copies += 1
                if segment is not None and not segment.uses:
                    segment.delete()
                segment = self._newest[key] = new
            segment.uses += 1
            self._newest.move_to_end(key)
            if key not in self._watched:  # its memory may have had another handle before
                self._watched.add(key)
                weakref.finalize(owner, self._gone.append, key).atexit = False
            return segment

    def release(self, segments: Iterable[Segment]) -> None:
        """A task that was given these segments is over."""
        with self._lock:
            for segment in segments:
                segment.uses -= 1
                if segment.uses:
                    continue
                newest = self._newest.get(segment.key) is segment
                if not newest or segment.key not in self._watched:
                    if newest:
                        del self._newest[segment.key]
                    segment.delete()
            self._drop_gone()
            idle = [key for key, segment in self._newest.items() if not segment.uses]
            excess = sum(self._newest[key].nbytes for key in idle) - IDLE_BYTES
            for key in idle:
                if excess <= 0:
                    break
                excess -= self._newest[key].nbytes
                self._newest.pop(key).delete()

    def _drop_gone(self) -> None:
        while self._gone:
            key = self._gone.popleft()
            self._watched.discard(key)
            segment = self._newest.get(key)
            # Another handle of the same memory may come along while tasks read it.
            if segment is not None and not segment.uses:
                self._newest.pop(key).delete()


def _owner(array: np.ndarray) -> np.ndarray:
    """The array whose death frees the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _read(descriptor: Descriptor) -> np.ndarray:
    """An argument, in the worker."""
    return _map(descriptor)


def _freeze(array: np.ndarray) -> np.ndarray:
    """A small argument, in the worker: it is read-only like a large one."""
    array.flags.writeable = False
    return array


def _thaw(array: np.ndarray) -> np.ndarray:
    """A small result, in the parent, whose own it is: it can be written like a large one."""
    return array if array.flags.writeable else array.copy(order="K")


def reduce_delayed(func: types.FunctionType) -> Any:
    """How a function is pickled whose name `delayed` has taken; others as usual."""
    found = attribute(sys.modules.get(func.__module__), func.__qualname__)
    if isinstance(found, Delayed) and found.__wrapped__ is func:
        return _undelayed, (func.__module__, func.__qualname__)
    return NotImplemented


def _undelayed(module: str, name: str) -> Callable:
    return attribute(importlib.import_module(module), name).__wrapped__


def _take(descriptor: Descriptor) -> np.ndarray:
    """A result, in the parent, which is its only owner from now on."""
    array = _map(descriptor)
    if os.name == "nt":  # a mapped file cannot be removed there
        array = array.copy(order="K")
    os.unlink(descriptor.path)
    return array


def _as_array(data: np.ndarray, context: str) -> "rustarr.Array":
    """An array in the context of this name; on the host, with a warning, if this process cannot open its device."""
    try:
        xp = rustarr.namespace(context)
    except (ValueError, rustarr.DeviceLostError) as error:
        # The host is everywhere, so that its contexts fail for other reasons.
        if context.startswith("cpu-"):
            raise
        warnings.warn(
            f"an array of {context} is on cpu-parallel in process {os.getpid()}: {error}",
            rustarr.FallbackWarning,
            stacklevel=2,
        )
        xp = rustarr.namespace("cpu-parallel")
    return xp.asarray(data, copy=False if xp.context.device.name == "cpu" else None)


class Packer(pickle.Pickler):
    """Pickles with larger arrays put into segments.

    Parameters
    ----------
    share
        Makes the segment of an array, given its owner and its key.
    restore
        What the other side calls with a descriptor.
    writable
        Arrays by id that the other side may write: each gets a segment of its own from `folder`.
    frozen
        Whether arrays without a segment are read-only on the other side, as those with one.
    """

    def __init__(
        self,
        buffer: io.BytesIO,
        share: Callable[[np.ndarray, Any, tuple | None], Segment],
        restore: Callable[[Descriptor], np.ndarray],
        writable: frozenset[int] = frozenset(),
        folder: Folder | None = None,
        frozen: bool = False,
    ) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self._share = share
        self._restore = restore
        self._writable = writable
        self._folder = folder
        self._frozen = frozen
        #: Segments with a use that has to be given back.
        self.used: list[Segment] = []
        #: Arrays that are to be written, with their segments.
        self.written: list[tuple[Any, Segment]] = []

    def reducer_override(self, obj: Any) -> Any:
        """Replaces arrays by descriptors."""
        if type(obj) is np.ndarray:
            return self._reduce(obj, obj, None)
        if type(obj) is types.FunctionType:
            return reduce_delayed(obj)
        if isinstance(obj, rustarr.Array):
            on_host = obj.device.name == "cpu"
            data = np.asarray(obj) if on_host else rustarr.asnumpy(obj)
            reduced = self._reduce(obj, data, None if on_host else ("array", id(obj)))
            return _as_array, (_Reduced(reduced), obj.context.name)
        return NotImplemented

    def _reduce(self, obj: Any, data: np.ndarray, key: tuple | None) -> tuple:
        movable = not data.dtype.hasobject and data.nbytes
        if movable and id(obj) in self._writable:
            segment = self._folder.new_segment(data, writable=True)
            self.written.append((obj, segment))
        elif not movable or data.nbytes < SMALLEST:
            whole = _Reduced(data.__reduce_ex__(pickle.HIGHEST_PROTOCOL))
            return _freeze if self._frozen else _thaw, (whole,)
        else:
            segment = self._share(data, obj if obj is not data else _owner(data), key)
            self.used.append(segment)
        return self._restore, (segment.descriptor,)


class _Reduced:
    """Stands for an object that is pickled as this reduction."""

    def __init__(self, reduced: tuple) -> None:
        self._reduced = reduced

    def __reduce__(self) -> tuple:
        return self._reduced


def pack_arguments(
    folder: Folder, sharing: Sharing, content: Any, writable: Iterable[Any] = ()
) -> tuple[bytes, list[Segment], list[tuple[Any, Segment]]]:
    """The message of a task, the shared segments that it uses, and the arrays it writes with their own segments."""
    buffer = io.BytesIO()
    packer = Packer(buffer, sharing.share, _read, frozenset(map(id, writable)), folder, frozen=True)
    try:
        packer.dump(content)
    except BaseException:
        sharing.release(packer.used)
        for _, segment in packer.written:
            segment.delete()
        raise
    return buffer.getvalue(), packer.used, packer.written


def pack_result(folder: Folder, content: Any) -> bytes:
    """The message of a result, whose segments the receiver takes over."""
    buffer = io.BytesIO()
    made: list[Segment] = []

    def share(array: np.ndarray, owner: Any, key: tuple | None) -> Segment:
        made.append(folder.new_segment(array, writable=True))
        return made[-1]

    try:
        Packer(buffer, share, _take).dump(content)
    except BaseException:
        for segment in made:
            segment.delete()
        raise
    return buffer.getvalue()
