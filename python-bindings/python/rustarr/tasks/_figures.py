"""Pictures, drawn by matplotlib where it is installed."""

from pathlib import Path
from typing import Any

#: Suffixes of files that are pictures.
SUFFIXES = (".png", ".svg", ".pdf")


def require(what: str) -> None:
    """Raises ImportError with the way out if pictures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{what} draws with matplotlib: pip install 'rustarr[plot]'") from error


def label(text: str) -> str:
    """A text as matplotlib shows it: no formula, and with escapes for what no font has."""
    return text.encode("utf-8", "backslashreplace").decode().replace("$", r"\$")


def new(what: str, width: float, height: float, view: bool = False) -> Any:
    """An empty figure. Only one that is to be viewed goes through pyplot, whose state belongs to the program."""
    require(what)
    if view:
        from matplotlib import pyplot

        return pyplot.figure(figsize=(width, height), layout="constrained")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def finish(figure: Any, path: "str | Path", view: bool = False) -> Path:
    """Writes the figure, shows it if asked to, and says where it is."""
    path = Path(path)
    figure.savefig(path)
    if view:
        from matplotlib import pyplot

        pyplot.show()
        pyplot.close(figure)
    return path
