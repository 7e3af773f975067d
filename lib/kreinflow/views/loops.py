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


@compiled
def add_hits(
    numbers: NDArray[np.int32],
    ends: NDArray[np.int64],
    pointers: NDArray[np.int32],
    places: NDArray[np.int32],
    weights: NDArray[np.int32],
    cells: NDArray[np.uint16],
    scores: NDArray[np.int32],
) -> None:
    """Fill in the scores, of shape (n, n_records), of :mod:`kreinflow.views.seeds`.

    Its numbers are constants here: 4096 records at most, 512 diagonals, 32 bands.
    """
    n_shapes, n_seeds = len(numbers), len(weights) // len(numbers)
    start = 0
    for query in range(len(ends)):
        cells[:] = 0
        for shape in range(n_shapes):
            for residue in range(start, ends[query]):
                number = numbers[shape, residue]
                if number < 0:
                    continue
                seed = number + n_seeds * shape
                weight = weights[seed]
                if weight == 0:
                    continue
                at = (residue - start) << 12
                for place in places[pointers[seed] : pointers[seed + 1]]:
                    moved = place - at
                    cell = np.uint64((moved >> 4) & 0x1F000 | moved & 0xFFF)
                    cells[cell] = min(65535, cells[cell] + weight)
        best = scores[query]
        before = cells[31 << 12 :]
        for band in range(32):
            here = cells[band << 12 :]
            for record in range(len(best)):
                best[record] = max(best[record], np.int32(here[record]) + before[record])
            before = here
        start = ends[query]
