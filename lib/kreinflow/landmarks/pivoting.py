"""Adaptive randomized pivoting on the dominant eigenvectors."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.landmarks.cholesky import random_pivots
from kreinflow.landmarks.selector import SketchSelector
from kreinflow.landmarks.sketch import Sketch


class AdaptivePivoting(SketchSelector):
    r"""Rows drawn by their leverage in what the rows before leave of the dominant eigenvectors.

    V (n x k) are the orthonormal eigenvectors of the k largest \|a\|. Row i is drawn with
    probability proportional to its squared norm, all rows are projected onto the orthogonal
    complement of that row, and so on: the pivots of randomly pivoted Cholesky on the projector
    V V'. A set J of k rows has the probability

    .. math:: P(J) = \det(V_J)^2, \qquad
              E \| A - A V_J^{-\prime} V' \|_F^2 = (k + 1) \| A - A V V' \|_F^2

    for every A of n columns, A_J those in J. If V are the dominant singular vectors of A, as the
    eigenvectors are of K, this is k + 1 times the error of the best approximation of rank k, which
    is the best guarantee that k columns can have.

    k is the number of landmarks, or the rank of the sketch if that is smaller; further rows are
    then drawn uniformly.

    References
    ----------
    .. [1] Cortinovis, A., Kressner, D.: Adaptive randomized pivoting for column subset selection,
       DEIM, and low-rank approximation. arXiv:2412.13992 (2024).
    """

    method = "pivoting"
    references = ("cortinovis2024",)
    phrase = "adaptive randomized pivoting on the dominant eigenvectors"

    def choose(self, sketch: Sketch, count: int, keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Draw the rows; see :func:`~kreinflow.landmarks.cholesky.random_pivots`."""
        return random_pivots(sketch.eigenvectors[:, :count], count, keys)
