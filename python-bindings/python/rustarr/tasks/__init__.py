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
from .runtime import Runtime
from .scheduler import Candidate
from .submit import Explanation, access, delayed, explain, submit, task_submit
from .transfer import Transfers

__all__ = [
    "Candidate",
    "DeadlockError",
    "DependencyError",
    "Explanation",
    "Future",
    "Runtime",
    "Transfers",
    "access",
    "current",
    "delayed",
    "explain",
    "submit",
    "task_submit",
]
