"""Performance models: what tasks have cost, by model, kind of worker and size.

A model is a name that a task gives with ``perfmodel=``. For each kind of worker it remembers, size by size, how many
samples there were, their mean and their deviation; between sizes it estimates by the curve ``a * n**b + c``. Models
live in readable JSON files, one a model, in a directory of this machine; processes may share it.
"""

import atexit
import json
import math
import os
import platform
import reprlib
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from . import _figures
from ._files import FileLock, data_directory, replacing


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a task is expected to take."""

    seconds: float
    #: Standard deviation of the measured times, or of the curve from them.
    deviation: float
    #: Measurements that the estimate rests on.
    samples: int
    #: "history" where this very size was measured, else "regression".
    source: str


@dataclass(slots=True)
class Measurement:
    """The samples of one model on one kind of worker at one size."""

    samples: int = 0
    mean: float = 0.0
    #: Sum of squared differences from the mean (Welford, 1962).
    spread: float = 0.0
    #: Operations of one task, if they were given.
    flops: float | None = None

    @property
    def deviation(self) -> float:
        """Standard deviation of the samples."""
        return math.sqrt(self.spread / (self.samples - 1)) if self.samples > 1 else 0.0

    def add(self, seconds: float, flops: float | None) -> None:
        """Takes one sample in."""
        self.samples += 1
        change = seconds - self.mean
        self.mean += change / self.samples
        self.spread += change * (seconds - self.mean)
        if flops is not None:
            self.flops = float(flops)

    def merge(self, other: "Measurement") -> None:
        """Takes the samples of another one in (Chan, Golub and LeVeque, 1979)."""
        total = self.samples + other.samples
        if total:
            change = other.mean - self.mean
            self.spread += other.spread + change * change * self.samples * other.samples / total
            self.mean += change * other.samples / total
            self.samples = total
        if other.flops is not None:
            self.flops = other.flops


@dataclass(frozen=True, slots=True)
class Regression:
    """The curve ``a * n**b + c`` through the mean times of several sizes, with ``a, c >= 0``."""

    a: float
    b: float
    c: float
    #: Root mean square of the relative distance of the means from the curve.
    error: float
    samples: int

    def __call__(self, size: float) -> float:
        """Seconds at a size."""
        return self.a * float(size) ** self.b + self.c


#: Exponents that are tried, from constant cost to beyond the cube of a matrix's side.
_EXPONENTS = (0.02, 3.5)


def _amplitudes(powers: np.ndarray, means: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """Non-negative (a, c) of the weighted least squares fit ``a * powers + c`` of the means, and its residual."""
    best = (0.0, 0.0, math.inf)
    columns = (powers * weights, weights)
    target = means * weights
    (pp, po, oo) = (columns[0] @ columns[0], columns[0] @ columns[1], columns[1] @ columns[1])
    (pt, ot) = (columns[0] @ target, columns[1] @ target)
    candidates = [(pt / pp, 0.0), (0.0, ot / oo)]
    determinant = pp * oo - po * po
    if determinant > 1e-12 * pp * oo:
        candidates.append(((pt * oo - ot * po) / determinant, (ot * pp - pt * po) / determinant))
    for a, c in candidates:
        residual = float(np.sum((a * columns[0] + c * columns[1] - target) ** 2))
        if a >= 0 and c >= 0 and residual < best[2]:
            best = (float(a), float(c), residual)
    return best


def fit(sizes: Iterable[float], means: Iterable[float], samples: Iterable[int]) -> Regression | None:
    """The curve ``a * n**b + c`` that is nearest to the means in relative terms, or None for fewer than two sizes.

    Two sizes do not tell a power from a constant part: they give a line.
    """
    n = np.asarray(list(sizes), float)
    means = np.asarray(list(means), float)
    counts = np.asarray(list(samples), float)
    keep = (n > 0) & (means > 0)
    n, means, counts = n[keep], means[keep], counts[keep]
    if len(n) < 2:
        return None
    # A curve over decades of sizes has to be near everywhere: distances count relative to the mean. Many samples
    # count more, but not so much that one size alone decides.
    weights = np.sqrt(np.minimum(counts, 10)) / means
    largest = n.max()
    x = n / largest

    def residual(b: float) -> float:
        return _amplitudes(x**b, means, weights)[2]

    if len(n) == 2:
        b = 1.0
    else:
        grid = np.linspace(*_EXPONENTS, 36)
        at = int(np.argmin([residual(b) for b in grid]))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
        golden = (math.sqrt(5) - 1) / 2
        for _ in range(30):
            left, right = high - golden * (high - low), low + golden * (high - low)
            if residual(left) < residual(right):
                high = right
            else:
                low = left
        b = float(low + high) / 2
    a, c, _ = _amplitudes(x**b, means, weights)
    error = float(np.sqrt(np.mean(((a * x**b + c) / means - 1) ** 2)))
    return Regression(float(a / largest**b), b, c, error, int(counts.sum()))


def _file_name(model: str) -> str:
    """A model's name as that of a file; surrogates, which strings of other systems' may have, included."""
    return quote(model, safe="", errors="surrogatepass")


#: Times by size of one kind of worker.
History = dict[int, Measurement]


class _Model:
    """The samples of one model: those of the file, with those that are not in it yet."""

    def __init__(self, workers: dict[str, History]) -> None:
        self.workers = workers
        self.unsaved: dict[str, History] = {}
        #: The last curve of each worker, with what it was fitted to.
        self.curves: dict[str, tuple[tuple[int, int], Regression | None]] = {}

    def curve(self, worker: str) -> Regression | None:
        history = self.workers.get(worker, {})
        # A fit takes as long as dozens of tasks: it is made anew for a new size, or for a tenth more of samples.
        total = sum(measured.samples for measured in history.values())
        basis = (len(history), int(math.log(total + 1, 1.1)))
        known = self.curves.get(worker)
        if known is None or known[0] != basis:
            sizes = sorted(history)
            measured = [history[size] for size in sizes]
            curve = fit(sizes, [m.mean for m in measured], [m.samples for m in measured])
            known = self.curves[worker] = (basis, curve)
        return known[1]


def _add(workers: dict[str, History], worker: str, size: int, seconds: float, flops: float | None) -> None:
    workers.setdefault(worker, {}).setdefault(size, Measurement()).add(seconds, flops)


def _merge(into: dict[str, History], workers: dict[str, History]) -> None:
    for worker, history in workers.items():
        for size, measured in history.items():
            into.setdefault(worker, {}).setdefault(size, Measurement()).merge(measured)


def _to_json(name: str, workers: dict[str, History]) -> dict[str, Any]:
    def entry(measured: Measurement) -> dict[str, Any]:
        out = {"samples": measured.samples, "mean": measured.mean, "deviation": measured.deviation}
        return out if measured.flops is None else {**out, "flops": measured.flops}

    return {
        "model": name,
        "machine": platform.node(),
        "workers": {
            worker: {str(size): entry(measured) for size, measured in sorted(history.items())}
            for worker, history in sorted(workers.items())
        },
    }


def _from_json(text: str) -> tuple[str, dict[str, History]]:
    content = json.loads(text)
    workers: dict[str, History] = {}
    for worker, history in content["workers"].items():
        for size, entry in history.items():
            samples, mean, deviation = int(entry["samples"]), float(entry["mean"]), float(entry["deviation"])
            flops = None if entry.get("flops") is None else float(entry["flops"])
            times = (mean, deviation, flops or 0.0)
            sane = samples >= 1 and 0 <= int(size) <= sys.float_info.max
            if not sane or not all(0 <= value < math.inf for value in times):
                raise ValueError(f"no measurement: {entry}")
            measured = Measurement(samples, mean, deviation**2 * (samples - 1), flops)
            workers.setdefault(worker, {})[int(size)] = measured
    return str(content["model"]), workers


class PerfModels:
    """The performance models of this machine.

    Parameters
    ----------
    directory
        Where the machine's folder of files lies; by default the variable RUSTARR_PERF_DIR, then ``rustarr/perf`` in
        the user's data directory.
    """

    def __init__(self, directory: "str | os.PathLike[str] | None" = None) -> None:
        chosen = directory or os.environ.get("RUSTARR_PERF_DIR") or data_directory() / "perf"
        #: The folder of this machine, one file a model.
        self.directory = Path(chosen) / quote(platform.node() or "machine", safe="")
        self._lock = threading.Lock()
        self._models: dict[str, _Model] = {}
        _stores.add(self)

    # Measuring and estimating

    def record(self, model: str, worker: str, size: int, seconds: float, flops: float | None = None) -> None:
        """Takes one sample in: a task of this size took this long on this kind of worker.

        Raises
        ------
        ValueError
            For a negative or infinite time, or a size that is negative or that no float holds.
        """
        if not (0 <= seconds < math.inf and 0 <= size <= sys.float_info.max):
            raise ValueError(f"record: {seconds} seconds at size {reprlib.repr(size)} is no measurement")
        with self._lock:
            known = self._model(model)
            _add(known.workers, worker, int(size), seconds, flops)
            _add(known.unsaved, worker, int(size), seconds, flops)

    def estimate(self, model: str, worker: str, size: int) -> Estimate | None:
        """What a task of this size is expected to take there; None if too little is known.

        A size that was measured has its mean, any other one lies on the curve, beyond the measured sizes too.
        """
        with self._lock:
            known = self._model(model)
            measured = known.workers.get(worker, {}).get(int(size))
            if measured is not None:
                return Estimate(measured.mean, measured.deviation, measured.samples, "history")
            curve = known.curve(worker)
        if curve is None:
            return None
        seconds = curve(max(size, 0))
        return Estimate(seconds, seconds * curve.error, curve.samples, "regression")

    def history(self, model: str) -> dict[str, dict[int, Measurement]]:
        """The measurements of a model by kind of worker and size: copies."""
        with self._lock:
            copied: dict[str, History] = {}
            _merge(copied, self._model(model).workers)
            return copied

    def regression(self, model: str, worker: str) -> Regression | None:
        """The curve of a model on a kind of worker; None below two sizes."""
        with self._lock:
            return self._model(model).curve(worker)

    def models(self) -> list[str]:
        """The names of all models, in files and in this process."""
        names = set()
        for path in self.directory.glob("*.json"):
            read = self._read(path)
            if read is not None:
                names.add(read[0])
        with self._lock:
            return sorted(names | {name for name, model in self._models.items() if model.workers})

    # Files

    def path(self, model: str) -> Path:
        """The file of a model."""
        name = _file_name(model)
        if len(name) > 100:
            digest = sha256(model.encode("utf-8", "surrogatepass")).hexdigest()
            name = f"{name[:80]}-{digest[:16]}"
        return self.directory / f"{name}.json"

    def load(self) -> None:
        """Reads every file again: what other processes have saved, with what is not saved here yet."""
        with self._lock:
            for name, model in list(self._models.items()):
                self._models[name] = self._read_model(name)
                _merge(self._models[name].workers, model.unsaved)
                self._models[name].unsaved = model.unsaved

    def save(self) -> None:
        """Adds what was measured since the last time to the files, and what other processes added to the models."""
        with self._lock:
            changed = [name for name, model in self._models.items() if model.unsaved]
            if not changed:
                return
            self.directory.mkdir(parents=True, exist_ok=True)
            with FileLock(self.directory / ".lock"):
                for name in changed:
                    merged = self._read_model(name)
                    _merge(merged.workers, self._models[name].unsaved)
                    with replacing(self.path(name)) as new:
                        new.write_text(json.dumps(_to_json(name, merged.workers), indent=1) + "\n", encoding="utf-8")
                    self._models[name] = merged

    def remove(self, model: str) -> bool:
        """Forgets a model and its file; whether there was one."""
        with self._lock:
            known = self._models.pop(model, None)
            path = self.path(model)
            if not path.exists():
                return known is not None and bool(known.workers)
            with FileLock(self.directory / ".lock"):
                path.unlink(missing_ok=True)
            return True

    def _model(self, name: str) -> _Model:
        known = self._models.get(name)
        if known is None:
            known = self._models[name] = self._read_model(name)
        return known

    def _read_model(self, name: str) -> _Model:
        path = self.path(name)
        read = self._read(path) if path.exists() else None
        return _Model(read[1] if read else {})

    def _read(self, path: Path) -> tuple[str, dict[str, History]] | None:
        try:
            return _from_json(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            # Somebody edited it: measuring starts again, and the file is kept for him.
            aside = path.with_suffix(f".damaged-{time.time_ns()}")
            warnings.warn(
                f"the performance model {path} cannot be read and is now {aside.name}: {error!r}",
                RuntimeWarning,
                stacklevel=3,
            )
            os.replace(path, aside)
            return None

    def _after_fork(self) -> None:
        # The parent saves what it measured, and a thread of its own may have held the lock.
        self._lock = threading.Lock()
        for model in self._models.values():
            model.unsaved = {}

    # Drawing

    def plot(self, name: str, view: bool = False, path: "str | os.PathLike[str] | None" = None) -> Path:
        """Draws a model: see ``perfmodel_plot``."""
        workers = self.history(name)
        if not workers:
            known = ", ".join(map(repr, self.models())) or "none"
            raise ValueError(f"perfmodel_plot: there is no model {name!r}; known are: {known}")
        rated = any(m.flops is not None for history in workers.values() for m in history.values())
        figure = _figures.new("perfmodel_plot", 8, 9 if rated else 5, view)
        axes = figure.subplots(2 if rated else 1, 1, squeeze=False)[:, 0]
        for number, (worker, history) in enumerate(sorted(workers.items())):
            colour = f"C{number}"
            sizes = sorted(history)
            means = [history[size].mean for size in sizes]
            bars = [history[size].deviation for size in sizes]
            axes[0].errorbar(sizes, means, bars, fmt="o", ms=4, capsize=2, color=colour, label=_figures.label(worker))
            curve = self.regression(name, worker)
            positive = [size for size in sizes if size > 0]
            if curve is not None:
                line = np.geomspace(positive[0], positive[-1], 200)
                label = f"{curve.a:.3g} n^{curve.b:.3g} + {curve.c:.3g} s"
                axes[0].plot(line, [curve(n) for n in line], color=colour, lw=1, label=label)
            known = [size for size in sizes if history[size].flops is not None and history[size].mean > 0]
            if known:
                rates = [history[size].flops / history[size].mean / 1e9 for size in known]
                axes[1].plot(known, rates, "o-", ms=4, lw=1, color=colour, label=_figures.label(worker))
        axes[0].set(title=_figures.label(f"Performance model {name}"), ylabel="seconds", yscale="log")
        if rated:
            axes[1].set(ylabel="GFlop/s", ylim=(0, None))
        for axis in axes:
            # Sizes may start at zero, which a plain logarithmic axis would leave out.
            axis.set_xscale("symlog", linthresh=1)
            axis.set(xlabel="size")
            axis.grid(alpha=0.3)
            axis.legend(fontsize="small")
        return _figures.finish(figure, path or f"rustarr_{_file_name(name)}.png", view)


_stores: "weakref.WeakSet[PerfModels]" = weakref.WeakSet()
_default: PerfModels | None = None
_default_lock = threading.Lock()


def default_models() -> PerfModels:
    """The models that tasks are measured with. They are saved when the interpreter exits."""
    global _default
    with _default_lock:
        if _default is None:
            _default = PerfModels()
            atexit.register(_save_at_exit)
        return _default


def _save_at_exit() -> None:
    if _default is None:
        return
    try:
        _default.save()
    except OSError as error:
        warnings.warn(f"the performance models were not saved: {error}", RuntimeWarning, stacklevel=1)


def _after_fork() -> None:
    global _default_lock
    _default_lock = threading.Lock()
    for store in list(_stores):
        store._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def perfmodel_plot(
    name: str, view: bool = False, path: "str | os.PathLike[str] | None" = None, models: PerfModels | None = None
) -> Path:
    """Draws the measured points and the fitted curve of a model for each kind of worker.

    Parameters
    ----------
    name
        The name of the model.
    view
        Whether to show it in a window as well.
    path
        The picture's file, PNG, SVG or PDF by its suffix; by default ``rustarr_<name>.png`` here.
    models
        The models to look in; by default those that tasks are measured with.

    Returns
    -------
    pathlib.Path
        The file. Where tasks gave ``flops``, a second panel shows GFlop/s.

    Raises
    ------
    ValueError
        If there is no such model.
    ImportError
        Without matplotlib.
    """
    return (models or default_models()).plot(name, view, path)
