"""Explicit features of each class, from the scores of its members against its candidates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from kreinflow.krein.double_centring import LandmarkCentring
from kreinflow.krein.eigen import triangular_factor
from kreinflow.krein.factor import KreinFactor
from kreinflow.numerics import RANK_TOLERANCE, FloatArray, IntArray, single_threaded

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
    members: IntArray
    candidates: IntArray
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
    def without_scores(cls, label: str, members: IntArray) -> "ClassScores":
        """Return the members alone, for selectors that look at no score."""
        n = len(members)
        return cls(label, members, np.empty(0, np.intp), np.empty((n, 0)), np.empty(n))


def class_features(classes: Sequence[ClassScores]) -> list[FloatArray]:
    r"""Return features of each class whose inner products are K_j, or K_j K_j' if indefinite.

    Each class has a Krein factor, the Nyström factor of its columns or, with all members as
    candidates, the eigenpairs of K_j itself:

    .. math:: K_j \approx Z_j \, diag(s_j) \, Z_j' .

    If all classes are known to be positive semi-definite, F = Z_j; a class of which only some
    members are candidates is not known to be. The dual of the enclosing ball is not
    concave on an indefinite kernel; so if one class is indefinite, then the kernel is, and *all*
    classes use the kernel K_j K_j' (schleif2018 4.2), lest one rule chose the landmarks of one
    class and another those of the next:

    .. math:: F = Z_j \, diag(s_j) \, R_j', \qquad Z_j = Q_j R_j .

    Dissimilarities are centred on the mean of the candidates first.

    Parameters
    ----------
    classes : sequence of ClassScores

    Returns
    -------
    list of ndarray of shape (n_j, d_j)
        All zero for a class whose kernel is.

    Raises
    ------
    ValueError
        If a class has no candidates.

    References
    ----------
    .. [1] Schleif, F.-M., Gisbrecht, A., Tino, P.: Supervised low rank indefinite kernel
       approximation using minimum enclosing balls. Neurocomputing 318, 213-226 (2018).
       doi:10.1016/j.neucom.2018.08.057
    """
    with single_threaded():
        factors = [_class_factor(scores) for scores in classes]
        if not any(indefinite for _, _, indefinite in factors):
            return [Z for Z, _, _ in factors]
        return [(Z * signs) @ triangular_factor(Z).T for Z, signs, _ in factors]


def _class_factor(scores: ClassScores) -> tuple[FloatArray, FloatArray, bool]:
    """Return Z_j, s_j, and whether K_j has a negative eigenvalue, truncated or not."""
    n, c = scores.columns.shape
    if c == 0:
        raise ValueError(f"class {scores.label!r} has no candidates, so it has no features.")
    columns, self_similarities = scores.columns, scores.self_similarities
    if scores.kind == "squared_dissimilarity":
        centring = LandmarkCentring.fit(columns[scores.candidates])
        self_similarities = centring.self_similarities(columns)
        columns = centring.columns(columns)
    landmark_matrix = columns[scores.candidates]
    if not landmark_matrix.any():
        return np.zeros((n, 1)), np.ones(1), False
    if c < n:
        factor = KreinFactor.fit(columns, landmark_matrix, self_similarities)
        # Some candidates without a negative eigenvalue do not make a class definite: take it for
        # indefinite, or which of the two kernels is used would hang on their number.
        return factor.transform(columns), factor.signs, True
    kernel = np.empty_like(columns)
    kernel[:, scores.candidates] = columns
    values, V = scipy.linalg.eigh((kernel + kernel.T) / 2, driver="evd")
    kept = np.abs(values) > RANK_TOLERANCE * np.abs(values).max()
    Z = V[:, kept] * np.sqrt(np.abs(values[kept]))
    indefinite = bool(values.min() < -RANK_TOLERANCE * np.abs(values).max())
    return Z, np.sign(values[kept]), indefinite
