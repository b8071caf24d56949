"""What goes wrong with tasks, beyond the exceptions of the tasks' own functions."""

__all__ = ["DeadlockError", "DependencyError"]


class DependencyError(RuntimeError):
    """A task did not run because a future among its arguments failed.

    ``__cause__`` is the first exception: of that future or, if that one's task did not run either, of what it needed.
    """

    #: What failed first, in words.
    origin: "str | None" = None


class DeadlockError(RuntimeError):
    """A task would wait for something that waits for the task itself."""
