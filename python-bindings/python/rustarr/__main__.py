"""``python -m rustarr tasks perfmodels``: what is known about the cost of tasks."""

import argparse
import sys
from typing import TextIO

from .tasks.perfmodel import PerfModels


def say(text: object, file: "TextIO | None" = None) -> None:
    """Prints a text, with escapes for what the terminal cannot show."""
    file = sys.stdout if file is None else file
    encoding = getattr(file, "encoding", None) or "utf-8"
    print(str(text).encode(encoding, "backslashreplace").decode(encoding), file=file)


def seconds(value: float) -> str:
    """A time with its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def table(rows: list[tuple[str, ...]]) -> str:
    """Lines whose columns stand below each other; the first row is the head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines)


def list_models(models: PerfModels) -> str:
    """A line for each model and kind of worker."""
    rows = [("model", "worker", "sizes", "samples", "curve in seconds")]
    for name in models.models():
        for worker, history in sorted(models.history(name).items()):
            curve = models.regression(name, worker)
            fitted = "-" if curve is None else f"{curve.a:.3g} n^{curve.b:.3g} + {curve.c:.3g}"
            first, last = min(history), max(history)
            sizes = str(first) if first == last else f"{first} .. {last}"
            rows.append((name, worker, sizes, str(sum(m.samples for m in history.values())), fitted))
    if len(rows) == 1:
        return f"no performance models in {models.directory}"
    return f"{models.directory}\n{table(rows)}"


def show_model(models: PerfModels, name: str) -> str:
    """A line for each kind of worker and size."""
    rows = [("worker", "size", "samples", "mean", "deviation", "GFlop/s")]
    for worker, history in sorted(models.history(name).items()):
        for size, m in sorted(history.items()):
            rate = "-" if m.flops is None or not m.mean else f"{m.flops / m.mean / 1e9:.3g}"
            rows.append((worker, str(size), str(m.samples), seconds(m.mean), seconds(m.deviation), rate))
    return table(rows)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m rustarr", description="What rustarr knows about this machine.")
    tasks = parser.add_subparsers(required=True).add_parser("tasks", help="tasks and what they cost")
    command = tasks.add_subparsers(required=True).add_parser(
        "perfmodels",
        help="list, draw or remove performance models",
        description="Lists the performance models of this machine, or what was measured for one of them.",
    )
    command.add_argument("model", nargs="?", help="show this one's measurements")
    command.add_argument("--directory", help="where the models are; by default RUSTARR_PERF_DIR, or the user's data")
    command.add_argument("--plot", metavar="FILE", help="draw the model into a file")
    command.add_argument("--remove", action="store_true", help="forget the model")
    options = parser.parse_args(arguments)
    models = PerfModels(options.directory)
    if options.model is None:
        if options.plot or options.remove:
            parser.error("--plot and --remove need the name of a model")
        say(list_models(models))
        return 0
    if options.model not in models.models():
        say(f"there is no model {options.model!r} in {models.directory}", file=sys.stderr)
        return 1
    if options.remove:
        models.remove(options.model)
    elif options.plot:
        try:
            say(models.plot(options.model, path=options.plot))
        except (ImportError, OSError, ValueError) as error:
            say(error, file=sys.stderr)
            return 1
    else:
        say(show_model(models, options.model))
    return 0


if __name__ == "__main__":
    sys.exit(main())
