"""Sums over the features of two vectors, such that no pair depends on another.

A matrix product rounds differently with another height or width, so features are added one after
the other, in their order: slower, and the same for every block, batch and order of the rows.
"""

from collections.abc import Callable, Iterator

import numpy as np

from kreinflow.base.numerics import FloatArray

BLOCK = 1 << 16
"""Entries that are worked on at a time, so that they stay in the cache. Results do not follow."""

Term = Callable[[FloatArray, FloatArray], FloatArray]


def row_blocks(n: int, m: int) -> Iterator[slice]:
    """Yield slices of the rows of an n x m matrix that hold about :data:`BLOCK` entries each."""
    height = max(1, BLOCK // max(1, m))
    for start in range(0, n, height):
        yield slice(start, min(start + height, n))


def feature_sums(X: FloatArray, Y: FloatArray, term: Term) -> FloatArray:
    """Return the sum over features f of term(x_f, y_f) for each pair of rows, of shape (n, m)."""
    out = np.zeros((len(X), len(Y)))
    transposed = np.ascontiguousarray(Y.T)
    for rows in row_blocks(*out.shape):
        part = X[rows]
        for feature, y in enumerate(transposed):
            out[rows] += term(part[:, feature, None], y)
    return out


def row_sums(X: FloatArray) -> FloatArray:
    """Return the sum of each row, of shape (n,), its terms added in their order."""
    out = np.zeros(len(X))
    for x in X.T:
        out += x
    return out


def inner_products(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return x'y for each pair of rows, of shape (n, m)."""
    return feature_sums(X, Y, lambda x, y: x * y)


def squared_norms(X: FloatArray) -> FloatArray:
    """Return x'x for each row, of shape (n,): the bits of :func:`inner_products`."""
    return row_sums(X * X)


def squared_distances(X: FloatArray, Y: FloatArray) -> FloatArray:
    """Return (x - y)'(x - y) for each pair of rows, of shape (n, m)."""

    def term(x: FloatArray, y: FloatArray) -> FloatArray:
        gap = x - y
        return gap * gap

    return feature_sums(X, Y, term)


def power(base: FloatArray, exponent: int) -> FloatArray:
    """Return base ** exponent for exponent >= 1, by multiplication."""
    out = base.copy()
    for _ in range(exponent - 1):
        out *= base
    return out
