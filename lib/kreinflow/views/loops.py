"""Words counted and multiplied by compiled loops, in a module of its own: numba is slow to import.

All that a row gets depends on the same row of the input alone, added up in the same order.
"""

import numpy as np
from numpy.typing import NDArray

from kreinflow.compiled import compiled


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
        Written, and long enough for a word at each residue and length.
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
                word = (word * n_letters + codes[place]) % size
                if place - starts[row] + 1 >= k:
                    if table[word] == 0:
                        indices[end] = word
                        end += 1
                    table[word] += 1
            indices[begin:end].sort()
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
