"""What a kernel of vectors or strings promises to everything after it."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.numerics import FloatArray
from kreinflow.settings import Configured

Objects = NDArray[Any]
"""Vectors, of shape (n, n_features) and float64, or strings, of shape (n,) and ``object``."""


class Kernel(Configured, ABC):
    """A function of two objects: one subclass, and its line in the registry.

    Parameters
    ----------
    settings : mapping
        As in the config, checked: other keys than ``name`` that are missing have their default.

    Attributes
    ----------
    name : str
        Its name in the config.
    kind : str
        ``similarity``, or ``squared_dissimilarity``: then 0 for an object with itself, never
        negative, and *squared* where the function is a distance.
    strings : bool
        Whether it compares strings; else vectors.
    references : tuple of str
        Keys of :data:`kreinflow.references.REFERENCES`.
    """

    named_by = "name"
    name: ClassVar[str]
    kind: ClassVar[str] = "similarity"
    strings: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def describe(self) -> str:
        """Return what the methods paragraph says of it, without reference and full stop."""

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
