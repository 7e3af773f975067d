"""Each sequence with a list of its own: pairs that are asked, in rectangles for a backend.

A backend scores rectangles, and shares its work among the pairs of one row or column. Sequences
that ask for the same others therefore stand together in one rectangle.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.backends import SAMPLE, Agreement, Backend, drawn_pairs
from kreinflow.alignment.engine import NOT_ALIGNED, PackedSequences
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.numerics import FloatArray, IntArray

_MOST_ROWS = 512
"""Of a rectangle. With more, batches are hardly fuller, and less of the rectangle is asked."""

_MOST_CELLS = 2**21
"""Of a rectangle, asked or not: 8 MB of scores."""

_ROUNDS = 10
"""Of averages, by which the rows are ordered. 28 families stand apart after 5."""


def align_asked(
    sequences: PackedSequences,
    rows: IntArray,
    asked: IntArray,
    scheme: ScoringScheme,
    threads: int,
    backend: Backend,
) -> NDArray[np.int32]:
    """Return the scores of sequences, each with those that it asks for.

    Every distinct pair that is asked is aligned once, and no other. A pair is the same whichever
    of its two sequences asks. Memory grows with the pairs that are asked.

    Parameters
    ----------
    sequences : PackedSequences
        Of letters of the matrix, nothing else.
    rows : ndarray of shape (n,)
        Numbers of the sequences that ask.
    asked : ndarray of shape (n, q)
        Numbers of the sequences that each is aligned with; -1 for none.
    scheme : ScoringScheme
    threads : int
        Scores do not depend on it.
    backend : Backend
        What aligns rectangles, of 512 rows at most. Around it, as
        :func:`~kreinflow.alignment.backends.checked` samples pairs of each call, ``share`` is 1,000
        over the pairs that are asked: then about 1,000 are sampled of all rectangles together.

    Returns
    -------
    ndarray of shape (n, q), int32
        :data:`~kreinflow.alignment.engine.NOT_ALIGNED` where ``asked`` is -1.

    Raises
    ------
    InputError, KreinflowError
        As the backend.
    """
    scores = np.full(asked.shape, NOT_ALIGNED, dtype=np.int32)
    r, c = np.nonzero(asked >= 0)
    asks, others, place = _distinct(rows[r], asked[r, c], sequences.lengths.size)
    found = np.empty(asks.size, dtype=np.int32)
    for pairs in _rectangles(asks, others):
        left, i = np.unique(asks[pairs], return_inverse=True)
        right, j = np.unique(others[pairs], return_inverse=True)
        mask = np.zeros((left.size, right.size), dtype=bool)
        mask[i, j] = True
        found[pairs] = backend(sequences, left, right, scheme, threads, mask)[i, j]
    scores[r, c] = found[place]
    return scores


def check_asked(
    sequences: PackedSequences,
    rows: IntArray,
    asked: IntArray,
    scores: NDArray[np.int32],
    scheme: ScoringScheme,
    threads: int,
    most: int = SAMPLE,
    advice: str = "",
) -> int:
    """Hold scores of :func:`align_asked` against parasail, and return how many.

    Parameters
    ----------
    sequences, rows, asked, scheme, threads
        As for :func:`align_asked`.
    scores : ndarray of shape (n, q)
    most : int
        Pairs at most, drawn from those that are asked.
    advice : str
        What to do if one differs.

    Raises
    ------
    KreinflowError
        If one differs.
    """
    [(r, c)] = drawn_pairs([asked >= 0], 0, most)
    agreement = Agreement(sequences, rows[r], asked[r, c], scheme, threads, advice)
    agreement.compare(np.arange(r.size), scores[r, c])
    return r.size


def _distinct(left: IntArray, right: IntArray, count: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return both sides of the distinct pairs, and which of them each given pair is."""
    keys = np.minimum(left, right).astype(np.int64) * count + np.maximum(left, right)
    distinct, place = np.unique(keys, return_inverse=True)
    low, high = np.divmod(distinct, count)
    asks = np.zeros(count, dtype=bool)
    asks[left] = True
    swapped = ~asks[low]
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
    """Return a number for each row, about the same for rows that ask for the same sequences.

    Each sequence that is asked starts at a number of its own. Then each row moves to the mean of
    what it asks for, and each sequence to the mean of the rows that ask for it, over and over.
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
