"""Results with names: what the standard returns as named tuples and as small objects."""

from typing import Any, NamedTuple

from ._core import Array, dtype


class UniqueAllResult(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    values: Array
    inverse_indices: Array


class EigResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    U: Array
    S: Array
    Vh: Array


class finfo_object(NamedTuple):
    """Limits of a floating dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype

    @property
    def tiny(self) -> float:
        """NumPy's name for ``smallest_normal``."""
        return self.smallest_normal


class iinfo_object(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: dtype


class NamespaceInfo:
    """What ``__array_namespace_info__()`` returns.

    Source: array API standard 2025.12, "Inspection".
    """

    def __init__(self, functions: Any) -> None:
        self._functions = functions

    def capabilities(self) -> dict[str, Any]:
        """What the library can do: boolean indexing, data-dependent shapes, at most 64 dimensions."""
        return self._functions._capabilities()

    def default_device(self):
        """The device of this namespace's context."""
        return self._functions._info()["device"]

    def default_dtypes(self, *, device=None) -> dict[str, dtype]:
        """The dtypes of creation functions: real floating, complex floating, integral, indexing."""
        return self._functions._info(device)["default_dtypes"]

    def dtypes(self, *, device=None, kind=None) -> dict[str, dtype]:
        """The dtypes that can be used on a device, by name.

        Parameters
        ----------
        device
            By default this namespace's. ``rustarr.devices()`` says which dtypes are native.
        kind
            A kind of ``isdtype`` or a tuple of kinds.
        """
        if isinstance(kind, tuple):
            found: dict[str, dtype] = {}
            for one in kind:
                found.update(self.dtypes(device=device, kind=one))
            return found
        return self._functions._info(device, kind)["dtypes"]

    def devices(self) -> tuple:
        """The devices that this namespace's functions take: its own."""
        return (self.default_device(),)

    def __repr__(self) -> str:
        return "<rustarr.NamespaceInfo>"
