"""Sequences that are each aligned with a list of their own, as rectangles for a backend.

A backend shares its work among the pairs of one row or column. Sequences with lists that are alike
therefore stand together in one rectangle.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.backends import Backend
from kreinflow.alignment.engine import NOT_ALIGNED, PackedSequences
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.numerics import FloatArray, IntArray

_MOST_ROWS = 512  # of a rectangle: with more, batches are hardly fuller, and fewer pairs wanted
_MOST_CELLS = 2**21  # pairs of a rectangle, wanted or not: 8 MB of scores
_ROUNDS = 10  # of averages, by which the rows are ordered: 28 families stand apart after 5


def align_pair_lists(
    sequences: PackedSequences,
    rows: IntArray,
    partners: IntArray,
    scheme: ScoringScheme,
    threads: int,
    backend: Backend,
) -> NDArray[np.int32]:
    """Return the scores of sequences with the partners of each, of shape (n, q), int32.

    Both are numbers of sequences; a partner -1 is none, and scores
    :data:`~kreinflow.alignment.engine.NOT_ALIGNED`. Every distinct pair is aligned once, whichever
    of its two sequences is the row. The backend is called for rectangles of 512 rows at most.
    """
    scores = np.full(partners.shape, NOT_ALIGNED, dtype=np.int32)
    r, c = np.nonzero(partners >= 0)
    first, second, place = _distinct(rows[r], partners[r, c], sequences.lengths.size)
    found = np.empty(first.size, dtype=np.int32)
    for pairs in _rectangles(first, second):
        left, i = np.unique(first[pairs], return_inverse=True)
        right, j = np.unique(second[pairs], return_inverse=True)
        mask = np.zeros((left.size, right.size), dtype=bool)
        mask[i, j] = True
        found[pairs] = backend(sequences, left, right, scheme, threads, mask)[i, j]
    scores[r, c] = found[place]
    return scores


def _distinct(left: IntArray, right: IntArray, count: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return both sides of the distinct pairs, and which of them each given pair is."""
    keys = np.minimum(left, right).astype(np.int64) * count + np.maximum(left, right)
    distinct, place = np.unique(keys, return_inverse=True)
    low, high = np.divmod(distinct, count)
    is_row = np.zeros(count, dtype=bool)
    is_row[left] = True
    swapped = ~is_row[low]
    return np.where(swapped, high, low), np.where(swapped, low, high), place


def _rectangles(left: IntArray, right: IntArray) -> Iterator[IntArray]:
    """Yield the numbers of the pairs of each rectangle. It has all the pairs of its rows."""
    rows, i = np.unique(left, return_inverse=True)
    if rows.size <= _MOST_ROWS and rows.size * np.unique(right).size <= _MOST_CELLS:
        if rows.size:
            yield np.arange(left.size)
        return
    rank = np.empty(rows.size, dtype=np.int64)
    rank[np.argsort(_positions(i, right), kind="stable")] = np.arange(rows.size)
    order = np.argsort(rank[i], kind="stable")
    ends = np.cumsum(np.bincount(rank[i], minlength=rows.size))
    starts = np.concatenate([[0], ends])
    waiting = [
        (start, min(start + _MOST_ROWS, rows.size)) for start in range(0, rows.size, _MOST_ROWS)
    ]
    while waiting:
        start, stop = waiting.pop()
        pairs = order[starts[start] : starts[stop]]
        width = np.unique(right[pairs]).size
        if stop - start > 1 and (stop - start) * width > _MOST_CELLS:
            middle = (start + stop) // 2
            waiting += [(start, middle), (middle, stop)]
        else:
            yield pairs


def _positions(i: IntArray, right: IntArray) -> FloatArray:
    """Return a number for each row, about the same for rows with the same partners.

    Each partner starts at a number of its own. Then each row moves to the mean of its partners,
    and each partner to the mean of its rows, over and over.
    """
    _, j = np.unique(right, return_inverse=True)
    of_rows, of_columns = np.bincount(i), np.bincount(j)
    golden = (np.sqrt(5) - 1) / 2
    columns = np.arange(of_columns.size) * golden % 1  # spread evenly
    rows = np.zeros(of_rows.size)
    for _ in range(_ROUNDS):
        rows = np.bincount(i, columns[j]) / of_rows
        columns = np.bincount(j, rows[i]) / of_columns
    return rows
