"""The product of sparse matrices as a compiled loop, in a module of its own: numba loads slowly."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import compiled


@compiled
def add_products(
    indptr: NDArray[np.integer],
    indices: NDArray[np.integer],
    values: NDArray[np.floating],
    other_indptr: NDArray[np.integer],
    other_indices: NDArray[np.unsignedinteger],
    other_values: NDArray[np.floating],
    out: NDArray[np.floating],
) -> None:
    """Add X Y' to ``out``, of shape (n, p), from the CSR arrays of X and of Y' (not of Y)."""
    for row in range(len(out)):
        sums = out[row]
        for at in range(indptr[row], indptr[row + 1]):
            word, value = indices[at], values[at]
            for place in range(other_indptr[word], other_indptr[word + 1]):
                sums[other_indices[place]] += value * other_values[place]
