"""Every function of the array API standard 2025.12: random arguments for it, and what its results are compared with."""

from . import arrays, elementwise, linear, objects
from .table import TABLE

__all__ = ["TABLE", "arrays", "elementwise", "linear", "objects"]
