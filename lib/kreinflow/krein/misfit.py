"""The misfit of the known self-scores, by which the rank of a factor is chosen."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, tile_map, tiled_product
from kreinflow.base.tiled_matrix import MatrixLike

RANK_FRACTIONS = (1.0, 0.9, 2 / 3, 1 / 2, 1 / 3)
"""Shares of the numerical rank of W among which the misfit chooses."""

MISFIT_WARNING = 0.5
"""Relative misfit above which the factor says that it is a poor one."""


def misfits_of_ranks(
    C: MatrixLike,
    P: FloatArray,
    signs: FloatArray,
    self_similarities: NDArray[np.floating],
    ranks: list[int],
    other: tuple[MatrixLike, FloatArray] | None = None,
) -> tuple[dict[int, float], FloatArray]:
    r"""Return the relative misfit of each rank r, and the mean of the rows of Z, in one pass.

    .. math:: Z = C P, \qquad
              \sum_i | \sum_{j \le r} s_j z_{ij}^2 - k_{ii} | \, / \sum_i |k_{ii}|

    Of an asymmetric kernel :math:`z_{ij} y_{ij}` with Y = R' D stands for :math:`s_j z_{ij}^2`.
    The divisor is n mean ``|C|`` where all k_ii are zero, as in a matrix of dissimilarities.

    Parameters
    ----------
    C : ndarray or TiledMatrix of shape (n, n_landmarks)
    P : ndarray of shape (n_landmarks, rank)
        The axes in the order in which a rank takes them.
    signs : ndarray of shape (rank,)
        s.
    self_similarities : ndarray of shape (n,)
        k_ii.
    ranks : list of int
    other : tuple of R' and D, optional
        Of shapes (n, n_landmarks) and (n_landmarks, rank).

    Raises
    ------
    InputError
        Naming the first row with a score or self-score that is not finite.
    """
    n = C.shape[0]
    last = np.array(ranks) - 1

    def functions(rows: slice, Z: FloatArray) -> FloatArray:
        if other is None:
            return Z * signs
        return tiled_product(np.asarray(other[0][rows], dtype=np.float64), other[1])

    def sums(rows: slice) -> tuple[FloatArray, float, FloatArray]:
        block, own = np.asarray(C[rows], dtype=np.float64), np.asarray(self_similarities[rows])
        finite = np.isfinite(block).all(axis=1) & np.isfinite(own)
        if not finite.all():
            raise InputError(
                f"training row {rows.start + int(np.argmin(finite))} has a score or self-score "
                "that is not finite: look for missing or overflowing values in the scores, or "
                "take another score transform."
            )
        Z = tiled_product(block, P)
        # One cumulative sum over the columns gives the self-scores of every rank at once.
        scores = np.cumsum(Z * functions(rows, Z), axis=1)[:, last]
        missed: FloatArray = np.abs(scores - own[:, None]).sum(axis=0)
        return Z.sum(axis=0), float(np.abs(block).mean(axis=1).sum()), missed

    total, magnitude, misses = np.zeros(P.shape[1]), 0.0, np.zeros(len(ranks))
    for part, size, missed in tile_map(sums, n):
        total += part
        magnitude += size
        misses += missed
    scale = float(np.abs(self_similarities).sum()) or magnitude
    return dict(zip(ranks, (misses / scale).tolist(), strict=True)), total / n
