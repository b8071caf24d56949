"""Files that several processes share: where they are kept, locks on them, and replacing them whole."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def data_directory() -> Path:
    """Where the user's data of this package is kept."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return base / "rustarr"


class FileLock:
    """An exclusive lock between processes, which the system takes back from a process that dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = None

    def acquire(self, blocking: bool = True) -> bool:
        """Whether the lock was got; always, when waiting for it."""
        file = open(self.path, "a+b")  # noqa: SIM115 - it stays open as long as the lock is held
        try:
            if sys.platform == "win32":
                file.seek(0)
                while True:
                    try:
                        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if blocking else msvcrt.LK_NBLCK, 1)
                        break
                    except OSError:  # LK_LOCK gives up after ten seconds
                        if not blocking:
                            raise
            else:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if blocking else fcntl.LOCK_NB))
        except OSError:
            file.close()
            if blocking:
                raise
            return False
        self._file = file
        return True

    def release(self) -> None:
        """Opens the lock."""
        file, self._file = self._file, None
        if file is None:
            return
        # A child that was forked meanwhile has the file too: closing alone would leave it locked.
        if sys.platform == "win32":
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_UN)
        file.close()

    def forget(self) -> None:
        """In a forked child: lets go of the file and leaves the parent's lock alone."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def __enter__(self) -> "FileLock":
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new file beside `path` that takes its place when the block ends well: readers see the old or the new one."""
    # With the permissions of any file that the user writes: those of temporary files are the owner's alone.
    new = path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")
    new.touch(exist_ok=False)
    try:
        yield new
        os.replace(new, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(new)
        raise
