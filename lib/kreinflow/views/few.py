"""The loops of :mod:`kreinflow.views.loops` by numpy, for few rows: numba takes longer to import.

The results are the same, bit for bit: all sums are added up in the same order.
"""

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray


def shares_of_words(
    codes: NDArray[np.integer],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    n_letters: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
) -> None:
    """See :func:`kreinflow.views.loops.shares_of_words`."""
    rows, places, shares, first = [], [], [], 0
    for k in lengths.tolist():
        words, row_of = _words(codes, starts[1:], k, n_letters)
        found, counts = np.unique(row_of * n_letters**k + words, return_counts=True)
        row, word = np.divmod(found, n_letters**k)
        rows.append(row)
        places.append(word + first)
        shares.append(np.sqrt(counts / (np.diff(starts)[row] - k + 1)))
        first += n_letters**k
    row = np.concatenate(rows)
    order, end = np.argsort(row, kind="stable"), len(row)
    indices[:end] = np.concatenate(places)[order]
    values[:end] = np.concatenate(shares)[order]
    indptr[0] = 0
    indptr[1:] = np.cumsum(np.bincount(row, minlength=len(starts) - 1))


def _words(
    codes: NDArray[np.integer], ends: NDArray[np.int64], k: int, n_letters: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the words of k letters of all sequences, and the sequence of each."""
    words = np.zeros(max(len(codes) - k + 1, 0), dtype=np.int64)
    for place in range(k):
        words = words * n_letters + codes[place : place + len(words)]
    sequence = np.searchsorted(ends, np.arange(len(words)), side="right")
    inside = np.arange(len(words)) + k <= ends[sequence]
    return words[inside], sequence[inside]


def add_products(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    values: NDArray[np.floating],
    other_indptr: NDArray[np.int32],
    other_indices: NDArray[np.unsignedinteger],
    other_values: NDArray[np.floating],
    out: NDArray[np.floating],
) -> None:
    """See :func:`kreinflow.views.loops.add_products`."""
    for row, sums in enumerate(out):
        for at in range(indptr[row], indptr[row + 1]):
            part = slice(*other_indptr[indices[at] : indices[at] + 2])
            sums[other_indices[part]] += values[at] * other_values[part]


def add_distances(
    x: FloatArray,
    points: NDArray[np.floating],
    places: NDArray[np.int64],
    rate: float,
    out: FloatArray,
) -> None:
    """See :func:`kreinflow.views.loops.add_distances`."""
    differences = x - points[places].astype(np.float64)
    out += rate * _sums(differences * differences)


def add_word_distances(
    x: NDArray[np.uint8],
    codes: NDArray[np.uint8],
    ends: NDArray[np.int64],
    lengths: NDArray[np.int64],
    n_letters: int,
    places: NDArray[np.int64],
    rate: float,
    out: FloatArray,
) -> None:
    """See :func:`kreinflow.views.loops.add_word_distances`."""
    starts = np.concatenate([[0], ends])
    totals = np.zeros(len(places))
    for k in lengths.tolist():
        words, _ = _words(x, np.array([len(x)]), k, n_letters)
        own, counts = np.unique(words, return_counts=True)
        shared = np.zeros((len(places), len(own)))
        for at, place in enumerate(places.tolist()):
            sequence = codes[starts[place] : ends[place]]
            of_place, _ = _words(sequence, np.array([len(sequence)]), k, n_letters)
            shared[at] = np.bincount(of_place, minlength=n_letters**k)[own]
        products = _sums(np.sqrt(counts) * np.sqrt(shared))
        others = (ends - starts[:-1])[places] - k + 1
        if len(x) < k:
            totals += others > 0
            continue
        pairs = np.sqrt((len(x) - k + 1) * np.maximum(others, 1))
        totals += np.where(others > 0, 2.0 - 2.0 * products / pairs, 1.0)
    out += rate * np.maximum(totals, 0.0)


def _sums(terms: FloatArray) -> FloatArray:
    """Return the sum of each row, added up from the left."""
    if not terms.shape[1]:
        return np.zeros(len(terms))
    return np.asarray(np.add.accumulate(terms, axis=1)[:, -1])
