"""What makes floating-point results the same whatever the cores, blocks or batch sizes."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

FloatArray = NDArray[np.float64]

TILE = 4096
"""Rows of one tile. A constant of the results: it never follows memory or cores."""

RANK_TOLERANCE = 1e-10
"""Eigenvalues below this fraction of the largest magnitude count as zero, everywhere."""


_libraries: tuple[int, ThreadpoolController] | None = None


def single_threaded() -> AbstractContextManager[object]:
    """Hold BLAS to one thread: gemm, QR and eigh round differently with two.

    To look for the libraries takes milliseconds, more than a small product; so it is done again
    only if modules have been imported since, for one of them may have loaded another library.
    """
    global _libraries
    if _libraries is None or _libraries[0] != len(sys.modules):
        _libraries = len(sys.modules), ThreadpoolController()
    limits: AbstractContextManager[object] = _libraries[1].limit(limits=1)
    return limits


def tiles(n: int) -> Iterator[slice]:
    """Yield the slices of at most :data:`TILE` rows that cover ``n`` rows, in order.

    Examples
    --------
    >>> list(tiles(5000))
    [slice(0, 4096, None), slice(4096, 5000, None)]
    """
    for start in range(0, n, TILE):
        yield slice(start, min(start + TILE, n))


def tiled_product(A: NDArray[np.floating], B: FloatArray) -> FloatArray:
    """Return A @ B such that each row depends on its own row of A alone, bit for bit.

    A product of another height may use another kernel of BLAS and round differently; so all
    products have :data:`TILE` rows, the last one filled up with zeros.

    Parameters
    ----------
    A : ndarray of shape (n, r)
    B : ndarray of shape (r, k)

    Returns
    -------
    ndarray of shape (n, k)
    """
    out = np.empty((A.shape[0], B.shape[1]))
    buffer = np.zeros((TILE, A.shape[1]))
    with single_threaded():
        for rows in tiles(A.shape[0]):
            height = rows.stop - rows.start
            buffer[:height] = A[rows]
            buffer[height:] = 0.0
            out[rows] = (buffer @ B)[:height]
    return out
