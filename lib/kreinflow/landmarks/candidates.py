"""Candidates for landmarks: the rows that others are compared with, of each class and of all."""

from collections.abc import Iterable, Sequence

import numpy as np

from kreinflow.base.numerics import IntArray
from kreinflow.base.random_streams import hash_keys

SKETCH = ""
"""Stands for the class of the rows that all others are compared with."""


def candidate_order(digests: Sequence[str], seed: int, name: str = "candidates") -> IntArray:
    """Return the rows in a random order in which added rows leave the others as they were."""
    return np.argsort(hash_keys(seed, name, digests), kind="stable")


def first_candidates(
    order: IntArray, labels: Sequence[str], training_rows: IntArray, count: int | None
) -> dict[str, IntArray]:
    """Return the candidates of one fold: of each class, the first rows that it trains on."""
    trained = np.zeros(len(order), dtype=bool)
    trained[training_rows] = True
    ordered = order[trained[order]]
    classes = np.asarray(labels)[ordered]
    return {str(label): ordered[classes == label][:count] for label in np.unique(classes)}


def all_candidates(
    order: IntArray, labels: Sequence[str], folds: Iterable[IntArray], count: int | None
) -> dict[str, IntArray]:
    """Return the union of the candidates of folds, given by their training rows, in order."""
    parts = [first_candidates(order, labels, training_rows, count) for training_rows in folds]
    place = np.argsort(order)
    return {
        label: order[np.unique(place[np.concatenate([p[label] for p in parts if label in p])])]
        for label in sorted(set().union(*parts))
    }
