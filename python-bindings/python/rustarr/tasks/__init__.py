"""Tasks: Python functions that run on contexts, in the order that their data asks for, where they are done soonest.

from rustarr.tasks import Runtime, access, submit

@access(x="RW")
def step(x, xp):
    x += xp.exp(-x)

with Runtime(["cpu-serial", "cpu-parallel", "wgpu"], scheduler="dmda"):
    for _ in range(100):
        submit(step, x)
"""

from .current import current
from .errors import DeadlockError, DependencyError
from .future import Future
from .joblib_backend import register_now_or_later
from .runtime import Runtime
from .scheduler import Candidate
from .submit import Explanation, access, delayed, explain, submit, task_submit
from .trace import TaskRecord, Trace, trace
from .transfer import Transfers

register_now_or_later()

#: What is imported when it is first needed, with its module: drawing and statistics need NumPy, processes a lot.
_LATER = {
    "Parallel": "parallel",
    "PerfModels": "perfmodel",
    "perfmodel_plot": "perfmodel",
    "ProcessPool": "process",
    "WorkerDiedError": "process",
}

__all__ = [
    "Candidate",
    "DeadlockError",
    "DependencyError",
    "Explanation",
    "Future",
    "Parallel",
    "PerfModels",
    "ProcessPool",
    "Runtime",
    "TaskRecord",
    "Trace",
    "Transfers",
    "WorkerDiedError",
    "access",
    "current",
    "delayed",
    "explain",
    "perfmodel_plot",
    "submit",
    "task_submit",
    "trace",
]


def __getattr__(name):
    import importlib

    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
