"""The interface of kernels of vectors or strings."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray
from kreinflow.base.settings import Configured

Objects = NDArray[Any]
"""Vectors, of shape (n, n_features) and float64; or strings, of shape (n,) and ``object``, and for
a score of the user's any other objects."""


Mask = NDArray[np.bool_]  # which pairs of a rectangle are wanted


class Named(Configured, ABC):
    """A kernel or a generator; ``phrase`` is a format string of the settings."""

    named_by = "name"
    name: ClassVar[str]
    phrase: ClassVar[str]

    def describe(self) -> str:
        """Return it in words, without reference and full stop, for the methods text."""
        return self.phrase.format(**self.settings)


class Kernel(Named):
    """A function of two objects.

    ``kind`` is ``similarity``, or ``squared_dissimilarity``: then 0 for an object with itself,
    never negative, and *squared* where the function is a distance. ``strings`` says that it
    compares strings, else vectors; ``asked``, that it is no kernel of ours; ``references`` are keys
    of :data:`kreinflow.base.references.REFERENCES`.
    """

    kind: str = "similarity"
    strings: bool = False
    asked: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def columns(self, X: Objects, Y: Objects) -> FloatArray:
        """Return the (n, m) entries: two objects have the same bits in any block and order."""

    @abstractmethod
    def diagonal(self, X: Objects) -> FloatArray:
        """Return the kernel of each object with itself: the bits of :meth:`columns`."""

    def compare(
        self, X: Objects, Y: Objects, ids: Sequence[str], others: Sequence[str]
    ) -> FloatArray:
        """Return :meth:`columns`; messages may name the objects by their ids."""
        return self.columns(X, Y)

    def at(self, path: Path, known: Collection[str] = ()) -> Self:
        """Return the kernel for new objects of a file, if it is this file that has the scores.

        ``known``: ids that these objects are compared with.
        """
        return self

    def content(self, value: Any) -> bytes | None:
        """Return the bytes that tell an object from others; None if it is like no other."""
        if isinstance(value, str):
            return value.encode()
        return bytes(value) if isinstance(value, bytes | np.ndarray) else None

    def first_fault(self, X: Objects) -> str | None:
        """Return where and why one of X, finite, cannot be compared: ``row 2: ...``; else None."""
        return None


class Dissimilarity(Kernel):
    """A kernel that is 0 for an object with itself."""

    kind = "squared_dissimilarity"

    def diagonal(self, X: Objects) -> FloatArray:
        return np.zeros(len(X))


def first_negative(X: FloatArray, first: int, why: str) -> str | None:
    """Return where X has a negative entry in a column from the ``first`` on, and why not."""
    for row, column in np.argwhere(X[:, first:] < 0)[:1]:
        value = X[row, first + column]
        return f"row {row + 1}, column {first + column + 1}: {value:.6g} is negative. {why}"
    return None
