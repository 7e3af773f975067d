"""Double centring with all dissimilarities of the training part, as the papers' tables do."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, IntArray, tiles
from kreinflow.sequences.scores import Scores


@dataclass(frozen=True, eq=False)
class CentredScores(Scores):
    r"""The similarities that squared dissimilarities D become around the mean of a fold.

    With the means :math:`m_i` of row i over the training rows and M of all of these,

    .. math:: s_{ij} = -(D_{ij} - m_i - m_j + M) / 2 .

    It takes all N^2 dissimilarities, and of a new object those to all training rows: the papers
    centre a full matrix before they approximate it by landmarks. The workflow's own way at linear
    cost is :class:`~kreinflow.krein.double_centring.LandmarkCentring`.

    Parameters
    ----------
    scores : Scores
        The squared dissimilarities.
    training : ndarray of int
        The distinct rows that the fold trains on.
    """

    scores: Scores
    training: IntArray
    dtype = np.dtype(np.float64)

    @cached_property
    def means(self) -> FloatArray:
        """m, of all distinct rows."""
        n = len(self.scores.self_scores())
        everyone = np.arange(n)
        return np.concatenate(
            [self.scores.rectangle(everyone[part], self.training).mean(axis=1) for part in tiles(n)]
        )

    def into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        """Write the similarities of rows x columns into ``out``."""
        self.scores.into(out, rows, columns)
        out -= self.means[rows, None]
        out -= self.means[columns] - self.means[self.training].mean()
        out /= -2

    def self_scores(self) -> FloatArray:
        """Return the similarity of each distinct row with itself."""
        own = self.scores.self_scores()
        similarities: FloatArray = self.means - (own + self.means[self.training].mean()) / 2
        return similarities
