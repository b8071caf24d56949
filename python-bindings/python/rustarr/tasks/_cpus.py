"""The CPUs that this process may use."""

import math
import os
from pathlib import Path


def usable_cpus() -> int:
    """How many CPUs: those of the calling thread's affinity mask, or as many as the control group's quota is worth."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cgroup_quota(Path("/"))
    return cpus if quota is None else max(1, min(cpus, math.ceil(quota)))


def cgroup_quota(root: Path) -> float | None:
    """The CPUs that the control groups of this process allow in all; None without a limit or without control groups.

    Both hierarchies are read: ``cpu.max`` of version 2, ``cpu.cfs_quota_us`` of version 1. A group is limited by
    those above it as well.
    """
    quotas = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = (line.split(":", 2) + ["", ""])[:3]
        if not controllers:
            top, read = root / "sys/fs/cgroup", _quota_v2
        elif "cpu" in controllers.split(","):
            top, read = root / "sys/fs/cgroup/cpu", _quota_v1
        else:
            continue
        group = top / path.strip("/")
        # In a container the path may be the host's, of which only the top is mounted.
        for folder in [group, *group.parents]:
            quotas.append(read(folder))
            if folder == top:
                break
    return min((quota for quota in quotas if quota is not None), default=None)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _quota_v2(folder: Path) -> float | None:
    return _ratio(_text(folder / "cpu.max").split())


def _quota_v1(folder: Path) -> float | None:
    return _ratio(_text(folder / name).strip() for name in ("cpu.cfs_quota_us", "cpu.cfs_period_us"))


def _ratio(words) -> float | None:
    try:
        quota, period = map(int, words)
    except ValueError:  # "max", an empty or a missing file
        return None
    return quota / period if quota > 0 and period > 0 else None
