"""NumPy-style arrays whose code runs unchanged on one core, on all cores or on a GPU.

``rustarr.namespace("cpu-parallel")`` is an array API namespace that computes there. The module itself is
the namespace of the current context: of the innermost ``with context:``, else of the default one, which the
variable RUSTARR_BACKEND names. Importing opens no device.
"""

from . import _core, _namespace, exceptions
from ._core import (
    Array,
    Context,
    Device,
    Generator,
    __version__,
    current_context,
    devices,
    dtype,
    set_default_context,
)
from ._namespace import Namespace, namespace
from .exceptions import (
    AxisError,
    BackendError,
    DeviceLostError,
    FallbackWarning,
    LinAlgError,
    PanicError,
    UnsupportedError,
)

_current = _namespace.fill(globals(), None)

#: Of every context, not of the current one alone.
synchronize = _core.synchronize

#: Modules that are imported when they are first needed: namespaces that are modules too
#: (``import rustarr.cpu_parallel as np``), and tasks.
_MODULES = ("cpu_parallel", "cpu_serial", "tasks", "wgpu")

__all__ = sorted({name for name in globals() if not name.startswith("_")} - {"exceptions"} | {"exceptions", *_MODULES})


def __getattr__(name):
    if name in _MODULES:
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES})
