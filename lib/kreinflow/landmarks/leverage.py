"""Approximate ridge leverage scores."""

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray
from kreinflow.landmarks.sampled_scores import Sketch
from kreinflow.landmarks.selector import SketchSelector
from kreinflow.landmarks.weighted_draw import arrivals


def ridge_leverage_scores(
    eigenvalues: FloatArray, eigenvectors: FloatArray, count: int
) -> FloatArray:
    r"""Return the leverage scores of the flipped kernel at an effective dimension, shape (n,).

    .. math:: \ell_i = \left( |K| (|K| + \lambda I)^{-1} \right)_{ii}
              = \sum_j u_{ij}^2 \frac{|a_j|}{|a_j| + \lambda}

    with the ridge \lambda for which the scores, the effective dimension, sum to ``count``
    (alaoui2015, definition 1); none, if the rank is not larger: then they are the squared norms of
    the rows of U (oglic2019, section 2.3), the orthonormal eigenvectors, of shape (n, rank). The
    ridge keeps small eigenvalues from counting like the dominant ones.
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
        # Rows that the sketch does not see have score 0, and come last in a random order.
        return np.lexsort((keys, arrivals(scores, keys, 0)))[:count]
