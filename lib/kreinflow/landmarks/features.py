"""Explicit features of each class, from the scores of its members against its candidates."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from kreinflow.base.numerics import RANK_TOLERANCE, FloatArray, IntArray, single_threaded
from kreinflow.krein.eigen import triangular_factor
from kreinflow.krein.factor import KreinFactor
from kreinflow.landmarks.sampled import SampledScores


@dataclass(frozen=True, eq=False)
class ClassScores(SampledScores):
    """The scores inside one class, with its candidates for the sample.

    If all members are candidates, in whatever order, the features are exact.

    Parameters
    ----------
    rows, order, scores, self_similarities, kind
        Those of the members; see :class:`~kreinflow.landmarks.sampled.SampledScores`.
    label : str
    """

    label: str = field(kw_only=True)

    @classmethod
    def without_scores(cls, label: str, rows: IntArray) -> "ClassScores":
        """Return the members alone, for selectors that look at no score."""
        n = len(rows)
        return cls(rows, np.empty(0, np.intp), np.empty((n, 0)), np.empty(n), label=label)


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
    n, c = scores.scores.shape
    if c == 0:
        raise ValueError(f"class {scores.label!r} has no candidates, so it has no features.")
    columns = scores.columns
    landmark_matrix = columns[scores.drawn]
    if not landmark_matrix.any():
        return np.zeros((n, 1)), np.ones(1), False
    if c < n:
        factor = KreinFactor.fit(columns, landmark_matrix, scores.diagonal)
        # Some candidates without a negative eigenvalue do not make a class definite: take it for
        # indefinite, or which of the two kernels is used would hang on their number.
        return factor.transform(columns), factor.signs, True
    kernel = np.empty_like(columns)
    kernel[:, scores.drawn] = columns
    values, V = scipy.linalg.eigh((kernel + kernel.T) / 2, driver="evd")
    kept = np.abs(values) > RANK_TOLERANCE * np.abs(values).max()
    Z = V[:, kept] * np.sqrt(np.abs(values[kept]))
    indefinite = bool(values.min() < -RANK_TOLERANCE * np.abs(values).max())
    return Z, np.sign(values[kept]), indefinite
