"""Inducing points: the training records that stand for all of them in a lifted kernel."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import IntArray


def inducing_places(
    rows: IntArray, labels: IntArray, count: int, keys: NDArray[np.uint64]
) -> IntArray:
    """Return the sorted places of ``count`` records of distinct rows, shared by classes.

    All distinct rows if they are no more than ``count``. Else each class has as many as the square
    root of its size asks for, those of the smallest ``keys``: random numbers, from the digests of
    the rows.
    """
    order = np.lexsort((labels, rows))  # what is in two classes has one of them, in any order
    first = order[np.unique(rows[order], return_index=True)[1]]
    if len(first) <= count:
        return np.sort(first)
    classes, sizes = np.unique(labels[first], return_counts=True)
    shares = np.minimum(sizes, 1)
    roots = np.sqrt(sizes)
    for _ in range(count - int(shares.sum())):  # one at a time: monotone in the count
        shares[np.where(shares < sizes, roots / (shares + 1), -1.0).argmax()] += 1
    chosen = []
    for code, share in zip(classes.tolist(), shares.tolist(), strict=True):
        own = first[labels[first] == code]
        chosen.append(own[np.argsort(keys[own], kind="stable")[:share]])
    return np.sort(np.concatenate(chosen))
