"""The interface of kernels of vectors or strings."""

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

    ``settings`` are those of the config, checked: keys that are missing have their default.
    ``phrase`` is what :meth:`describe` returns, a format string of the settings.
    """

    named_by = "name"
    name: ClassVar[str]
    phrase: ClassVar[str]

    def describe(self) -> str:
        """Return it in words, without reference and full stop, for the methods text."""
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
        """Return the kernel of each object of X with each of Y, of shape (n, m).

        Each entry depends on its two objects alone, bit for bit, and not on their order.
        """

    @abstractmethod
    def diagonal(self, X: Objects) -> FloatArray:
        """Return the kernel of each object with itself: the bits of :meth:`columns`."""

    def first_fault(self, X: Objects) -> str | None:
        """Return where and why an object cannot be compared, such as ``row 2: ...``; else None.

        X is finite.
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
