"""Words counted and multiplied by compiled loops, in a module of its own: numba is slow to import.

All that a row gets depends on the same row of the input alone, added up in the same order.
"""

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.compiled import compiled
from kreinflow.base.numerics import FloatArray


@compiled
def shares_of_words(
    codes: NDArray[np.int64],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    n_letters: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
) -> None:
    """Write the square roots of the shares of words as rows of a sparse matrix.

    Parameters
    ----------
    codes : ndarray of shape (n_residues,)
        Of the letters, 0 to ``n_letters - 1``, one sequence after another.
    starts : ndarray of shape (n + 1,)
        Of the sequences.
    lengths : ndarray of int
        Of the words.
    n_letters : int
    indptr : ndarray of shape (n + 1,)
        Written: the ends of the rows.
    indices, values : ndarray
        Written, those of a row in no order, and long enough for a word at each residue and length.
    """
    table = np.zeros(n_letters ** lengths.max(), dtype=np.int32)  # all zero between the rows
    end = 0
    indptr[0] = 0
    for row in range(len(starts) - 1):
        first = 0  # column of the block
        for k in lengths:
            size = n_letters**k
            begin, n_words = end, starts[row + 1] - starts[row] - k + 1
            word = 0
            for place in range(starts[row], starts[row + 1]):
                word = word * n_letters + codes[place]
                if place - starts[row] >= k:  # not a remainder: to divide takes ten times as long
                    word -= codes[place - k] * size
                if place - starts[row] + 1 >= k:
                    if table[word] == 0:
                        indices[end] = word
                        end += 1
                    table[word] += 1
            for at in range(begin, end):
                word = indices[at]
                values[at] = np.sqrt(table[word] / n_words)
                table[word] = 0
                indices[at] = word + first
            first += size
        indptr[row + 1] = end


@compiled
def add_products(
    indptr: NDArray[np.int32],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    other_indptr: NDArray[np.int32],
    other_indices: NDArray[np.uint32],
    other_values: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Add the product of two sparse matrices to a dense one, row by row.

    Parameters
    ----------
    indptr, indices, values : ndarray
        Of X, of shape (n, k), by rows.
    other_indptr, other_indices, other_values : ndarray
        Of Y', of shape (k, p), by rows.
    out : ndarray of shape (n, p)
    """
    for row in range(len(out)):
        sums = out[row]
        for at in range(indptr[row], indptr[row + 1]):
            word, value = indices[at], values[at]
            for place in range(other_indptr[word], other_indptr[word + 1]):
                sums[other_indices[place]] += value * other_values[place]


@compiled
def add_distances(
    x: FloatArray,
    points: NDArray[np.floating],
    places: NDArray[np.int64],
    rate: float,
    out: FloatArray,
) -> None:
    """Add squared distances, times a rate, of x and the points at some places.

    Parameters
    ----------
    x : ndarray of shape (k,)
    points : ndarray of shape (p, k)
    places : ndarray of shape (n,)
    rate : float
    out : ndarray of shape (n,)
    """
    for at in range(len(places)):
        point = points[places[at]]
        total = 0.0
        for feature in range(len(x)):
            difference = x[feature] - np.float64(point[feature])
            total += difference * difference
        out[at] += rate * total


@compiled
def _count(
    codes: NDArray[np.uint8], k: int, n_letters: int, counts: NDArray[np.int64], counted: int
) -> None:
    """Add 1 for each word of k letters to its count, or set the counts to 0."""
    size, word = n_letters**k, 0
    for place in range(len(codes)):
        word = word * n_letters + codes[place]
        if place >= k:
            word -= codes[place - k] * size
        if place + 1 >= k:
            counts[word] = (counts[word] + 1) * counted


@compiled
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
    """Add squared distances, times a rate, of the words of x and of the sequences at some places.

    Words that x lacks are not counted, so it takes less than the features of a sequence.

    Parameters
    ----------
    x : ndarray of shape (n_residues_of_x,)
        Of its letters, 0 to ``n_letters - 1``.
    codes : ndarray of shape (n_residues,)
        Of the letters of all sequences, one after another.
    ends : ndarray of shape (p,)
        Of the sequences.
    lengths : ndarray of int
        Of the words.
    n_letters : int
    places : ndarray of shape (n,)
    rate : float
    out : ndarray of shape (n,)
    """
    totals = np.zeros(len(places))
    for k in lengths:
        size = n_letters**k
        counts = np.zeros(size, dtype=np.int64)  # all zero between the sequences
        _count(x, k, n_letters, counts, 1)
        own = np.flatnonzero(counts)
        values = np.sqrt(counts[own])
        counts[:] = 0
        for at in range(len(places)):
            place = places[at]
            start = ends[place - 1] if place > 0 else 0
            sequence = codes[start : ends[place]]
            _count(sequence, k, n_letters, counts, 1)
            product = 0.0
            for number in range(len(own)):
                product += values[number] * np.sqrt(counts[own[number]])
            _count(sequence, k, n_letters, counts, 0)
            if len(x) >= k and len(sequence) >= k:
                n_pairs = (len(x) - k + 1) * (len(sequence) - k + 1)
                totals[at] += 2.0 - 2.0 * product / np.sqrt(n_pairs)
            elif len(x) >= k or len(sequence) >= k:
                totals[at] += 1.0
    for at in range(len(places)):
        out[at] += rate * max(totals[at], 0.0)
