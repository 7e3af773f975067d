"""Candidates for landmarks: the rows that others are compared with, of each class and of all."""

from collections.abc import Iterable, Sequence

import numpy as np

from kreinflow.base.numerics import IntArray
from kreinflow.base.random_streams import hash_keys

SKETCH = ""
"""What stands for the class of the rows that all others are compared with; no class has it."""


def candidate_order(digests: Sequence[str], seed: int, name: str = "candidates") -> IntArray:
    """Return the rows in a random order in which added rows leave the others as they were.

    Parameters
    ----------
    digests : sequence of str of length n
        One digest for each distinct row.
    seed : int
    name : str
        "candidates" or "sketch": their orders are independent.

    Returns
    -------
    ndarray of shape (n,)
        Row numbers, the first candidate first.
    """
    return np.argsort(hash_keys(seed, name, digests), kind="stable")


def first_candidates(
    order: IntArray, labels: Sequence[str], training_rows: IntArray, count: int | None
) -> dict[str, IntArray]:
    """Return the candidates of one fold: of each class, the first rows it trains on.

    Parameters
    ----------
    order : ndarray of shape (n,)
        See :func:`candidate_order`.
    labels : sequence of str of length n
        The class of each row.
    training_rows : ndarray of int
        The rows that the fold trains on; no other row is looked at.
    count : int or None
        Candidates a class; None takes all members (the exact mode).

    Returns
    -------
    dict of str to ndarray
        Row numbers in candidate order; the classes are sorted.

    Examples
    --------
    >>> found = first_candidates(np.array([2, 0, 1]), ["a", "b", "a"], np.array([0, 1, 2]), 1)
    >>> {label: rows.tolist() for label, rows in found.items()}
    {'a': [2], 'b': [1]}
    """
    trained = np.zeros(len(order), dtype=bool)
    trained[training_rows] = True
    ordered = order[trained[order]]
    classes = np.asarray(labels)[ordered]
    return {str(label): ordered[classes == label][:count] for label in np.unique(classes)}


def all_candidates(
    order: IntArray, labels: Sequence[str], folds: Iterable[IntArray], count: int | None
) -> dict[str, IntArray]:
    """Return the union of the folds' candidates: what the class scores are computed against.

    Parameters
    ----------
    order, labels, count
        See :func:`first_candidates`.
    folds : iterable of ndarray
        The training rows of each fold.

    Returns
    -------
    dict of str to ndarray
        Row numbers in candidate order; the classes are sorted.
    """
    wanted: dict[str, set[int]] = {}
    for training_rows in folds:
        for label, rows in first_candidates(order, labels, training_rows, count).items():
            wanted.setdefault(label, set()).update(rows.tolist())
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return {label: order[np.sort(place[list(wanted[label])])] for label in sorted(wanted)}
