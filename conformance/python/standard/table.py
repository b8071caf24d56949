"""The table that the chapters fill: how to draw, call and compare each function of the standard."""

from collections.abc import Callable
from dataclasses import dataclass

from .oracles import Exact, Shape


@dataclass(frozen=True)
class Row:
    """A function of the standard."""

    #: Arguments and keywords from a source of random things and the function's name.
    draw: Callable
    #: The comparison of a result with an oracle's.
    check: Callable
    #: The call in a namespace.
    call: Callable
    #: The call in NumPy.
    numpy: Callable
    #: Whether array-api-strict is asked too.
    strict: bool
    #: Whether the arguments are random.
    random: bool

    @property
    def values(self):
        """Whether the standard says what values the result has."""
        return not isinstance(self.check, Shape)


#: Rows by the function's chapter and name.
TABLE: dict[str, Row] = {}


def function(name):
    """The call of a function by its chapter and name."""
    chapter, short = name.split("/")
    part = {"linalg": "linalg", "linalg(alias)": "linalg", "fft": "fft"}.get(chapter)

    def call(xp, *args, **kwargs):
        return getattr(getattr(xp, part) if part else xp, short)(*args, **kwargs)

    return call


def row(names, check=None, call=None, numpy=None, strict=True, random=True):
    """Adds rows for functions that draw their arguments in the same way."""

    def add(draw):
        for name in names.split():
            own = call or function(name)
            TABLE[name] = Row(draw, check or Exact(), own, numpy or own, strict, random)
        return draw

    return add


def fixed(name, call, numpy=None, check=None, strict=True):
    """Adds a row for something without arguments."""
    row(name, check, call, numpy, strict, random=False)(lambda d, name: ((), {}))
