"""Traces: what ran where and when, as a graph, a timeline or a picture.

``with trace("run.json"):`` records the tasks of the block. A trace draws itself as a Graphviz graph (``.dot``), as a
timeline for Perfetto or Chrome (``.json``), or as a Gantt chart (``.png``, ``.svg``, ``.pdf``).
"""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _figures
from ._files import replacing

if TYPE_CHECKING:
    from .task import Task


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One finished task. Times are seconds of ``time.perf_counter``; a task that never started has none of them."""

    id: int
    name: str
    #: A colour's name or #rrggbb; an integer is taken for 0xrrggbb.
    color: "str | int | None"
    worker: str | None
    submitted: float
    started: float | None
    ended: float | None
    #: The ids of the tasks that it waited for.
    dependencies: tuple[int, ...]
    #: "done", "failed" or "cancelled".
    state: str
    model: str | None = None
    size: int | None = None
    #: Arrays that were moved to the worker's device for it.
    transfers: int = 0

    @classmethod
    def of(cls, task: "Task", state: str) -> "TaskRecord":
        """The record of a task that is ending."""
        return cls(
            id=task.id,
            name=task.name,
            color=task.options.color,
            worker=None if task.worker is None else task.worker.name,
            submitted=task.submitted,
            started=task.started,
            ended=task.ended,
            dependencies=task.dependencies,
            state=state,
            model=task.options.perfmodel,
            size=task.size,
            transfers=task.transfers,
        )


@dataclass(frozen=True, slots=True)
class _Bar:
    """A task that ran, on one line of its worker."""

    record: TaskRecord
    worker: str
    lane: int
    start: float
    end: float


def _colour(color: "str | int | None") -> str | None:
    return f"#{int(color):06x}" if isinstance(color, Integral) else color


def _quoted(text: str) -> str:
    """A string of the DOT language."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class Trace:
    """The records of the tasks that finished while it was active, in the order of their ends."""

    def __init__(self) -> None:
        self.records: list[TaskRecord] = []

    def add(self, record: TaskRecord) -> None:
        """Takes a record in; from any thread."""
        self.records.append(record)

    def write(self, path: "str | os.PathLike[str]") -> Path:
        """Writes it in the format that the suffix names: .dot, .json, .png, .svg or .pdf.

        Raises
        ------
        ValueError
            For another suffix.
        """
        path = Path(path)
        suffix = check_path(path)
        if suffix in _figures.SUFFIXES:
            return self.gantt(path)
        text = self.to_dot() if suffix == ".dot" else json.dumps(self.to_perfetto())
        with replacing(path) as new:
            new.write_text(text, encoding="utf-8", errors="backslashreplace")
        return path

    def to_dot(self) -> str:
        """The graph of the tasks in Graphviz's language: labels are names, fills are colours, edges dependencies."""
        records = sorted(self.records, key=lambda record: record.id)
        known = {record.id for record in records}
        lines = ["digraph tasks {", "  node [shape=ellipse, style=filled, fillcolor=white];"]
        for record in records:
            attributes = [f"label={_quoted(record.name)}"]
            colour = _colour(record.color)
            if colour is not None:
                attributes.append(f"fillcolor={_quoted(colour)}")
            if record.worker is not None:
                attributes.append(f"tooltip={_quoted(record.worker)}")
            if record.state != "done":
                attributes.append('style="filled,dashed"')
            lines.append(f"  task{record.id} [{', '.join(attributes)}];")
        for record in records:
            # Tasks that ended before the trace began are not in the graph.
            lines += (f"  task{before} -> task{record.id};" for before in record.dependencies if before in known)
        return "\n".join([*lines, "}", ""])

    def to_perfetto(self) -> dict[str, Any]:
        """The timeline as Chrome's trace events (Trace Event Format), which Perfetto reads too.

        A complete event for each task that ran, flow events for dependencies, instants for tasks that never started.
        """
        origin = min((record.submitted for record in self.records), default=0.0)

        def microseconds(seconds: float) -> float:
            return round((seconds - origin) * 1e6, 3)

        bars = self._bars()
        threads = {key: number for number, key in enumerate(sorted({(bar.worker, bar.lane) for bar in bars}), 1)}
        events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "tasks"}}]
        for (worker, lane), thread in threads.items():
            name = worker if lane == 0 else f"{worker} ({lane + 1})"
            events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": thread, "args": {"name": name}})
        placed = {}
        for bar in bars:
            record = bar.record
            at = placed[record.id] = {"pid": 1, "tid": threads[bar.worker, bar.lane]}
            events.append(
                {
                    "ph": "X",
                    "name": record.name,
                    "cat": "task",
                    "ts": microseconds(bar.start),
                    "dur": round((bar.end - bar.start) * 1e6, 3),
                    **at,
                    "args": {
                        "id": record.id,
                        "state": record.state,
                        "submitted": microseconds(record.submitted),
                        "dependencies": list(record.dependencies),
                        "color": _colour(record.color),
                        "model": record.model,
                        "size": record.size,
                        "transfers": record.transfers,
                    },
                }
            )
        ends = {bar.record.id: bar.end for bar in bars}
        for bar in bars:
            for before in bar.record.dependencies:
                if before in placed:
                    arrow = {"name": "dependency", "cat": "dependency", "id": f"{before}-{bar.record.id}"}
                    events.append({"ph": "s", "ts": microseconds(ends[before]), **arrow, **placed[before]})
                    events.append(
                        {"ph": "f", "bp": "e", "ts": microseconds(bar.start), **arrow, **placed[bar.record.id]}
                    )
        for record in self.records:
            if record.id not in placed:
                events.append(
                    {
                        "ph": "i",
                        "s": "p",
                        "name": f"{record.name} ({record.state})",
                        "cat": "task",
                        "ts": microseconds(record.submitted),
                        "pid": 1,
                        "tid": 0,
                        "args": {"id": record.id, "state": record.state},
                    }
                )
        return {"traceEvents": events, "displayTimeUnit": "ms"}

    def gantt(self, path: "str | os.PathLike[str]") -> Path:
        """Draws a line for each worker and a bar for each task that ran.

        Raises
        ------
        ImportError
            Without matplotlib.
        """
        bars = self._bars()
        lanes = sorted({(bar.worker, bar.lane) for bar in bars})
        rows = {lane: row for row, lane in enumerate(lanes)}
        figure = _figures.new("a Gantt chart", 12, 1.6 + 0.5 * max(len(lanes), 1))
        axes = figure.subplots()
        origin = min((record.submitted for record in self.records), default=0.0)
        names = sorted({bar.record.name for bar in bars})
        by_name = {name: f"C{number % 10}" for number, name in enumerate(names)}
        for bar in bars:
            axes.barh(
                rows[bar.worker, bar.lane],
                bar.end - bar.start,
                left=bar.start - origin,
                height=0.8,
                color=_matplotlib_colour(bar.record.color) or by_name[bar.record.name],
                edgecolor="black" if bar.record.state == "done" else "red",
                linewidth=0.3 if bar.record.state == "done" else 1.5,
            )
        labels = [_figures.label(worker) if lane == 0 else "" for worker, lane in lanes]
        axes.set_yticks(range(len(lanes)), labels)
        axes.invert_yaxis()
        axes.set(xlabel="seconds since the first submission", title=f"{len(bars)} tasks")
        axes.grid(axis="x", alpha=0.3)
        if 0 < len(names) <= 12:
            shown = {bar.record.name: _matplotlib_colour(bar.record.color) or by_name[bar.record.name] for bar in bars}
            handles = [_patch(shown[name], _figures.label(name)) for name in names]
            axes.legend(handles=handles, fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
        return _figures.finish(figure, path)

    def _bars(self) -> list[_Bar]:
        """The tasks that ran, each worker's on as few lines as it takes: a task that waits lets others in between."""
        ran = [r for r in self.records if r.started is not None and r.ended is not None]
        free: dict[str, list[float]] = {}
        bars = []
        for record in sorted(ran, key=lambda record: (record.started, record.id)):
            worker = record.worker or "?"
            ends = free.setdefault(worker, [])
            lane = next((lane for lane, end in enumerate(ends) if end <= record.started), len(ends))
            if lane == len(ends):
                ends.append(0.0)
            ends[lane] = record.ended
            bars.append(_Bar(record, worker, lane, record.started, record.ended))
        return bars


def _matplotlib_colour(color: "str | int | None") -> str | None:
    """The colour, unless it is one of Graphviz's that matplotlib does not know."""
    from matplotlib.colors import is_color_like

    colour = _colour(color)
    return colour if colour is not None and is_color_like(colour) else None


def _patch(colour: str, label: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=colour, edgecolor="black", linewidth=0.3, label=label)


def check_path(path: Path) -> str:
    """The suffix of a trace's file; ValueError for an unknown one, ImportError if it cannot be drawn."""
    suffix = path.suffix.lower()
    if suffix in _figures.SUFFIXES:
        _figures.require("a Gantt chart")
    elif suffix not in (".dot", ".json"):
        known = ", ".join([".dot", ".json", *_figures.SUFFIXES])
        raise ValueError(f"trace: the suffix {suffix!r} of {str(path)!r} is not one of {known}")
    return suffix


_lock = threading.Lock()
#: The traces that record, the newest last. Replaced whole, so that readers need no lock.
_active: tuple[Trace, ...] = ()


def current() -> Trace | None:
    """What records now: None, a trace, or an object that hands records to several."""
    active = _active
    if not active:
        return None
    return active[0] if len(active) == 1 else _Several(active)


class _Several(Trace):
    """Hands each record to all the traces that record."""

    def __init__(self, traces: tuple[Trace, ...]) -> None:
        super().__init__()
        self._traces = traces

    def add(self, record: TaskRecord) -> None:
        for trace in self._traces:
            trace.add(record)


@contextmanager
def trace(*paths: "str | os.PathLike[str]") -> Iterator[Trace]:
    """Records the tasks that finish inside the block, whichever thread submitted them.

    Parameters
    ----------
    paths
        Files to write at the end, each in the format of its suffix: .dot, .json, .png, .svg, .pdf. They are written
        after an exception too.

    Yields
    ------
    Trace
        With ``records``, and ``write(path)`` for more formats.

    Raises
    ------
    ValueError
        For an unknown suffix, at the start.
    ImportError
        For a picture without matplotlib, at the start.
    """
    global _active
    for path in paths:
        check_path(Path(path))
    recording = Trace()
    with _lock:
        _active = (*_active, recording)
    try:
        yield recording
    finally:
        with _lock:
            _active = tuple(other for other in _active if other is not recording)
        for path in paths:
            recording.write(path)


def _after_fork() -> None:
    global _active, _lock
    _active, _lock = (), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
