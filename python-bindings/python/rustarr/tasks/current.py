"""The runtime that is meant where none is named, and what happens to runtimes at exit and after a fork."""

import atexit
import os
import sys
import threading

from . import graph, transfer
from .future import here
from .runtime import Runtime, runtimes
from .task import RUNNING
from .worker import current_runtime

_lock = threading.Lock()
_default: Runtime | None = None


def current() -> Runtime:
    """The runtime of the task that runs, of the innermost ``with``, or the default one, which starts when needed."""
    found = current_runtime.get()
    return found if found is not None and not found._stopped else default()


def default() -> Runtime:
    """The process's default runtime: its workers come from ``RUSTARR_WORKERS`` or the machine."""
    global _default
    found = _default
    if found is not None and not found._closed:
        return found
    with _lock:
        if _default is None or _default._closed:
            _default = Runtime()
        return _default


def _finish() -> None:
    """At exit: tasks that were submitted run; after Ctrl-C those that have not begun are cancelled, and counted."""
    # At a prompt an exception ends a command, and what it leaves in `sys` says nothing of the program's end.
    at_prompt = hasattr(sys, "ps1")
    interrupted = not at_prompt and issubclass(getattr(sys, "last_type", None) or object, KeyboardInterrupt)
    try:
        if interrupted:
            tasks = [task for runtime in list(runtimes) for task in list(runtime.live.copy().values())]
            cancelled = sum(task.cancel() for task in tasks)
            running = sum(task.state is RUNNING for task in tasks)
            if cancelled:
                print(f"rustarr.tasks: {cancelled} tasks had not begun and were cancelled", file=sys.stderr)
            if running:
                print(f"rustarr.tasks: waiting for {running} running tasks; Ctrl-C leaves them", file=sys.stderr)
        for runtime in list(runtimes):
            runtime.close()
    except KeyboardInterrupt:
        print("rustarr.tasks: tasks were left running", file=sys.stderr)


def _forked() -> None:
    """The child has its parent's memory, but none of the threads that run tasks or hold locks."""
    global _default, _lock
    _lock = threading.Lock()
    _default = None
    here.task = None
    transfer.after_fork()
    for runtime in list(runtimes):
        runtime.forget_parent()
    runtimes.clear()
    graph.unlock()


# Before the interpreter waits for threads that are not daemons: a task may still need a thread of its own.
getattr(threading, "_register_atexit", atexit.register)(_finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
