"""What a kernel of vectors or strings promises to everything after it."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray
from kreinflow.base.settings import Configured

Objects = NDArray[Any]
"""Vectors, of shape (n, n_features) and float64, or strings, of shape (n,) and ``object``."""


class Named(Configured, ABC):
    """A kernel or a generator, which the config names by ``name``.

    Parameters
    ----------
    settings : mapping
        As in the config, checked: other keys than ``name`` that are missing have their default.

    Attributes
    ----------
    name : str
        Its name in the config.
    phrase : str
        What :meth:`describe` says, a format string of the settings.
    """

    named_by = "name"
    name: ClassVar[str]
    phrase: ClassVar[str]

    def describe(self) -> str:
        """Return what the methods paragraph says of it, without reference and full stop."""
        return self.phrase.format(**self.settings)


class Kernel(Named):
    """A function of two objects: one subclass, and its line in the registry.

    Attributes
    ----------
    kind : str
        ``similarity``, or ``squared_dissimilarity``: then 0 for an object with itself, never
        negative, and *squared* where the function is a distance.
    strings : bool
        Whether it compares strings; else vectors.
    references : tuple of str
        Keys of :data:`kreinflow.base.references.REFERENCES`.
    """

    kind: ClassVar[str] = "similarity"
    strings: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def columns(self, X: Objects, Y: Objects) -> FloatArray:
        """Return the kernel of each object of one list with each of another.

        Each entry depends on its two objects alone, bit for bit, and not on their order.

        Parameters
        ----------
        X : ndarray of shape (n, n_features) or (n,)
        Y : ndarray of shape (m, n_features) or (m,)

        Returns
        -------
        ndarray of shape (n, m)
        """

    @abstractmethod
    def diagonal(self, X: Objects) -> FloatArray:
        """Return the kernel of each object with itself: the bits of :meth:`columns`.

        Parameters
        ----------
        X : ndarray of shape (n, n_features) or (n,)

        Returns
        -------
        ndarray of shape (n,)
        """

    def first_fault(self, X: Objects) -> str | None:
        """Return where and why an object cannot be compared, such as ``row 2: ...``; else None.

        Parameters
        ----------
        X : ndarray of shape (n, n_features) or (n,)
            Finite.
        """
        return None


class Dissimilarity(Kernel):
    """A kernel that is 0 for an object with itself."""

    kind = "squared_dissimilarity"

    def diagonal(self, X: Objects) -> FloatArray:
        """See :meth:`Kernel.diagonal`."""
        return np.zeros(len(X))


def first_negative(values: FloatArray, why: str) -> str | None:
    """Return where a table has its first negative entry, and why that is wrong; None if nowhere."""
    rows, columns = np.nonzero(values < 0)
    if len(rows) == 0:
        return None
    value = values[rows[0], columns[0]]
    return f"row {rows[0] + 1}, column {columns[0] + 1}: {value:.6g} is negative. {why}"


def positive_number(description: str, default: float = 1.0) -> dict[str, Any]:
    """Return the schema of a setting above 0, such as a width."""
    return {
        "description": description,
        "type": "number",
        "exclusiveMinimum": 0,
        "default": default,
    }


def whole_number(
    description: str, maximum: int, default: int = 1, minimum: int = 1
) -> dict[str, Any]:
    """Return the schema of a setting that counts, such as a power."""
    return {
        "description": description,
        "type": "integer",
        "minimum": minimum,
        "maximum": maximum,
        "default": default,
    }
