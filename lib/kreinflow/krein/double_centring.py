"""Double centring: similarities from squared dissimilarities, at linear cost."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray


@dataclass(frozen=True, eq=False)
class LandmarkCentring:
    r"""Similarities from squared dissimilarities, with the origin at the landmark mean.

    .. math:: S_{xl} = -(D_{xl} - \bar D_{x \cdot} - \bar D_{\cdot l} + \bar D)/2, \qquad
              S_{xx} = \bar D_{x \cdot} - \bar D / 2,

    where all means are over landmarks. Both are exact, so the rank can be chosen by the misfit;
    the origin then moves to the training mean if the factor is fitted with ``centre=True``. Of
    signature (p, q) the kernel is exact from p + q + 1 landmarks. Its positive part is Landmark
    MDS.
    """

    landmark_means: FloatArray
    grand_mean: float

    @classmethod
    def fit(cls, D_SS: NDArray[np.floating]) -> "LandmarkCentring":
        """Take the means of the squared dissimilarities among landmarks, a square matrix."""
        D = np.ascontiguousarray(D_SS, dtype=np.float64)
        means = ((D + D.T) / 2).mean(axis=1)
        return cls(landmark_means=means, grand_mean=float(means.mean()))

    def columns(self, D: NDArray[np.floating]) -> FloatArray:
        """Return S_xl from the squared dissimilarities D_xl, both of shape (n, n_landmarks)."""
        D = np.ascontiguousarray(D, dtype=np.float64)  # a row's mean must not follow the layout
        S: FloatArray = D - D.mean(axis=1)[:, None]
        S -= self.landmark_means
        S += self.grand_mean
        S *= -0.5
        return S

    def self_similarities(self, D: NDArray[np.floating]) -> FloatArray:
        """Return S_xx, of shape (n,), from the squared dissimilarities D_xl."""
        D = np.ascontiguousarray(D, dtype=np.float64)
        similarities: FloatArray = D.mean(axis=1) - self.grand_mean / 2
        return similarities
