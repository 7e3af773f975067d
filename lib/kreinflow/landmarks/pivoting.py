"""Rows drawn by their leverage scores, or as the pivots of randomly pivoted Cholesky."""

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.numerics import RANK_TOLERANCE, FloatArray, single_threaded
from kreinflow.landmarks.sampled_scores import Sketch
from kreinflow.landmarks.selector import SketchSelector
from kreinflow.landmarks.weighted_draw import arrivals, draw_row


def ridge_leverage_scores(
    eigenvalues: FloatArray, eigenvectors: FloatArray, count: int
) -> FloatArray:
    r"""Return the leverage scores of the flipped kernel at an effective dimension, shape (n,).

    .. math:: \ell_i = \left( |K| (|K| + \lambda I)^{-1} \right)_{ii}
              = \sum_j u_{ij}^2 \frac{|a_j|}{|a_j| + \lambda}

    with the ridge \lambda for which the scores, the effective dimension, sum to ``count``
    (alaoui2015, definition 1); none, if the rank is not larger: then they are the squared norms of
    the rows of U (oglic2019, section 2.3), the orthonormal eigenvectors, of shape (n, rank).
    """
    magnitudes = np.abs(eigenvalues) / np.abs(eigenvalues).max()
    ridge = 0.0
    if count < len(magnitudes):
        ridge = scipy.optimize.brentq(
            lambda ridge: np.sum(magnitudes / (magnitudes + ridge)) - count,
            0.0,
            magnitudes.sum() / count,
        )
    weighted = eigenvectors * np.sqrt(magnitudes / (magnitudes + ridge))
    scores: FloatArray = np.einsum("ij,ij->i", weighted, weighted)
    return scores


class LeverageScores(SketchSelector):
    """Rows drawn without replacement, with probability proportional to their leverage scores."""

    method = "leverage"
    references = ("oglic2019", "alaoui2015")
    phrase = "drawn by approximate ridge leverage scores"

    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        scores = ridge_leverage_scores(*sketch.eigenpairs, count)
        # Rows that the sketch does not see have score 0 and come last.
        return np.lexsort((keys, arrivals(scores, keys, 0)))[:count]


def random_pivots(F: FloatArray, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
    r"""Draw pivots of K = F F' with probability proportional to the residual diagonal.

    With S the pivots so far and q an orthonormal basis of their rows of F,

    .. math:: d_i = k_{ii} - k_{iS} K_{SS}^{-1} k_{Si} = \|f_i\|^2 - \sum_t (f_i' q_t)^2,
              \qquad p_i = d_i / \sum_j d_j .

    Where all residuals are zero, the pivots have the rank of F, and further rows are drawn
    uniformly. Chen, Epperly, Tropp & Webber, Communications on Pure and Applied Mathematics 78,
    995-1041 (2025), doi:10.1002/cpa.22234.
    """
    residuals = np.einsum("ij,ij->i", F, F)
    threshold = RANK_TOLERANCE * residuals.max()
    basis = np.empty((0, F.shape[1]))
    free = np.ones(len(F), dtype=bool)
    chosen = np.empty(count, dtype=np.intp)
    with single_threaded():
        for step in range(count):
            residuals[residuals <= threshold] = 0.0
            chosen[step] = drawn = draw_row(residuals, free, keys, step)
            free[drawn] = False
            if residuals[drawn] > 0:
                direction = F[drawn]
                for _ in range(2):  # once leaves what rounding makes of nearly dependent rows
                    direction = direction - (basis @ direction) @ basis
                direction /= np.linalg.norm(direction)
                basis = np.vstack([basis, direction])
                residuals -= (F @ direction) ** 2
    return chosen


class PivotedCholesky(SketchSelector):
    """Randomly pivoted Cholesky on the flipped kernel of the sketch."""

    method = "cholesky"
    references = ("chen2025", "oglic2019")
    phrase = "pivots of randomly pivoted Cholesky on the flipped kernel"

    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        return random_pivots(sketch.flipped, count, keys)


class AdaptivePivoting(SketchSelector):
    r"""Adaptive randomized pivoting on the dominant eigenvectors.

    V (n x k) are the orthonormal eigenvectors of the k largest \|a\|; the rows are the pivots of
    the projector V V'. A set J of k rows has the probability

    .. math:: P(J) = \det(V_J)^2, \qquad
              E \| A - A V_J^{-\prime} V' \|_F^2 = (k + 1) \| A - A V V' \|_F^2

    for every A of n columns, A_J those in J: the best guarantee that k columns can have, if V are
    the dominant singular vectors of A, as the eigenvectors are of K. k is the number of landmarks,
    or the rank of the sketch if that is smaller; further rows are then drawn uniformly. Cortinovis
    & Kressner, arXiv:2412.13992 (2024).
    """

    method = "pivoting"
    references = ("cortinovis2024",)
    phrase = "adaptive randomized pivoting on the dominant eigenvectors"

    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        return random_pivots(sketch.eigenpairs[1][:, :count], count, keys)
