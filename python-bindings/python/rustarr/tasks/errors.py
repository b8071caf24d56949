"""What goes wrong with tasks, beyond the exceptions of the tasks' own functions."""

__all__ = ["DeadlockError", "DependencyError"]


class DependencyError(RuntimeError):
    """A task did not run because a future among its arguments failed; ``__cause__`` is that future's exception."""


class DeadlockError(RuntimeError):
    """A task would wait for something that waits for the task itself."""
