"""Explicit features of one class, from the scores of its members against its candidates."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from kreinflow.krein.dissimilarity import LandmarkCentring
from kreinflow.krein.eigen import triangular_factor
from kreinflow.krein.factor import KreinFactor
from kreinflow.numerics import RANK_TOLERANCE, FloatArray, single_threaded

Kind = Literal["similarity", "squared_dissimilarity"]


@dataclass(frozen=True, eq=False)
class ClassScores:
    """The scores inside one class, of one fold's training members.

    Parameters
    ----------
    label : str
    members : ndarray of shape (n,)
        Numbers of the distinct rows that the fold trains on.
    candidates : ndarray of shape (c,)
        Positions among the members. If all n are there, in whatever order, the features are
        exact.
    columns : ndarray of shape (n, c)
        Transformed scores of the members against the candidates.
    self_similarities : ndarray of shape (n,)
        Transformed self-scores of the members; not looked at for dissimilarities.
    kind : {"similarity", "squared_dissimilarity"}
    """

    label: str
    members: NDArray[np.intp]
    candidates: NDArray[np.intp]
    columns: FloatArray
    self_similarities: FloatArray
    kind: Kind = "similarity"

    def __post_init__(self) -> None:
        """Refuse shapes that disagree."""
        n, c = len(self.members), len(self.candidates)
        if self.columns.shape != (n, c) or n == 0:
            raise ValueError(
                f"class {self.label!r}: {n} members and {c} candidates do not match columns of "
                f"shape {self.columns.shape}."
            )
        if self.kind == "similarity" and self.self_similarities.shape != (n,):
            raise ValueError(f"class {self.label!r}: {n} members need as many self-similarities.")

    @classmethod
    def without_scores(cls, label: str, members: NDArray[np.intp]) -> "ClassScores":
        """Return the members alone, for selectors that look at no score."""
        n = len(members)
        return cls(label, members, np.empty(0, np.intp), np.empty((n, 0)), np.empty(n))


def class_features(scores: ClassScores) -> FloatArray:
    r"""Return features whose inner products are the class kernel K_j, or K_j K_j' if indefinite.

    With all members as candidates K_j is known: if it is positive semi-definite, the features are

    .. math:: F = V \, diag(a)^{1/2}, \qquad K_j = V \, diag(a) \, V',

    and if not, its rows. With fewer candidates the class has a Krein factor (Z_j, s), and

    .. math:: F = Z_j \quad (s = 1), \qquad
              F = Z_j \, diag(s) \, R_j', \; Z_j = Q_j R_j \quad (else),

    the latter with the inner products of the rows of K~_j. The dual of the enclosing ball is not
    concave on an indefinite K_j, hence K_j K_j' (schleif2018 3.3). Dissimilarities are centred
    on the candidates' mean first.

    Parameters
    ----------
    scores : ClassScores

    Returns
    -------
    ndarray of shape (n, d)
        All zero if the class kernel is.

    Raises
    ------
    ValueError
        If the class has no candidates.

    References
    ----------
    .. [1] Schleif, F.-M., Gisbrecht, A., Tino, P.: Supervised low rank indefinite kernel
       approximation using minimum enclosing balls. Neurocomputing 318, 213-226 (2018).
       doi:10.1016/j.neucom.2018.08.057
    """
    if len(scores.candidates) == 0:
        raise ValueError(f"class {scores.label!r} has no candidates, so it has no features.")
    columns, self_similarities = scores.columns, scores.self_similarities
    if scores.kind == "squared_dissimilarity":
        centring = LandmarkCentring.fit(columns[scores.candidates])
        self_similarities = centring.self_similarities(columns)
        columns = centring.columns(columns)
    landmark_matrix = columns[scores.candidates]
    if not landmark_matrix.any():
        return np.zeros((len(scores.members), 1))
    if len(scores.candidates) == len(scores.members):
        kernel = np.empty_like(columns)
        kernel[:, scores.candidates] = columns
        return _exact_features((kernel + kernel.T) / 2)
    factor = KreinFactor.fit(columns, landmark_matrix, self_similarities)
    Z = factor.transform(columns)
    if (factor.signs > 0).all():
        return Z
    with single_threaded():
        indefinite: FloatArray = (Z * factor.signs) @ triangular_factor(Z).T
    return indefinite


def _exact_features(kernel: FloatArray) -> FloatArray:
    with single_threaded():
        values, V = scipy.linalg.eigh(kernel)
        tolerance = RANK_TOLERANCE * np.abs(values).max()
        if values[0] < -tolerance:
            return kernel
        kept = values > tolerance
        features: FloatArray = V[:, kept] * np.sqrt(values[kept])
    return features
