"""Exceptions and warnings.

Wrong arguments raise Python's own: ``TypeError`` for dtypes, ``ValueError`` for shapes, values and
devices, ``IndexError``, ``OverflowError``, ``MemoryError``, ``BufferError``, ``KeyboardInterrupt``.
"""

__all__ = [
    "AxisError",
    "BackendError",
    "DeviceLostError",
    "FallbackWarning",
    "LinAlgError",
    "PanicError",
    "UnsupportedError",
]


class AxisError(ValueError, IndexError):
    """An axis is out of range or was given twice."""


class LinAlgError(ValueError):
    """A matrix is singular, or an iteration does not converge."""


class UnsupportedError(TypeError, NotImplementedError):
    """The device lacks an operation or a dtype, and ``fallback="error"`` forbids the host."""


class BackendError(RuntimeError):
    """A backend failed for a reason that is not the caller's."""


class DeviceLostError(BackendError):
    """The device stopped answering or was taken away; the arrays on it are gone."""


class PanicError(BackendError):
    """A fault of rustarr itself. Please report it."""


class FallbackWarning(RuntimeWarning):
    """The device lacks an operation or a dtype, so the host computes it."""
