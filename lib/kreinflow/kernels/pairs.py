"""Kernels of vectors, such that no pair depends on another.

A matrix product rounds differently with another height or width, so features are added one after
the other, in their order: slower, and the same for every block, batch and order of the rows.
"""

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from kreinflow.base.numerics import FloatArray
from kreinflow.kernels.kernel import Kernel, Objects

BLOCK = 1 << 16
"""Entries that are worked on at a time, so that they stay in the cache."""


class VectorKernel(Kernel):
    """A kernel of vectors."""

    @abstractmethod
    def entries(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the kernel of vectors whose features stand first; the rest broadcasts."""

    def columns(self, X: Objects, Y: Objects) -> FloatArray:
        out = np.empty((len(X), len(Y)))
        y = np.ascontiguousarray(Y.T)[:, None]
        height = max(1, BLOCK // max(1, len(Y)))
        for start in range(0, len(X), height):
            rows = slice(start, start + height)
            out[rows] = self.entries(X[rows].T[:, :, None], y)
        return out

    def diagonal(self, X: Objects) -> FloatArray:
        return self.entries(X.T, X.T)


def feature_sum(
    x: FloatArray, y: FloatArray, term: Callable[[FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """Return the sum over features f of term(x_f, y_f), in their order."""
    out = np.zeros(np.broadcast_shapes(x.shape[1:], y.shape[1:]))
    for x_f, y_f in zip(x, y, strict=True):
        out += term(x_f, y_f)
    return out


def inner_product(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return x'y."""
    return feature_sum(x, y, np.multiply)


def squared_distance(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return (x - y)'(x - y)."""
    return feature_sum(x, y, lambda x_f, y_f: np.square(x_f - y_f))


def power(base: FloatArray, exponent: int) -> FloatArray:
    """Return base ** exponent for exponent >= 1, by multiplication."""
    out = base.copy()
    for _ in range(exponent - 1):
        out *= base
    return out
