"""The scores of rows with a sample of them: all that selectors see of a kernel."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy

from kreinflow.base.numerics import (
    RANK_TOLERANCE,
    FloatArray,
    IntArray,
    single_threaded,
    tiled_product,
)
from kreinflow.krein.double_centring import LandmarkCentring
from kreinflow.krein.eigen import eigenpairs, triangular_factor
from kreinflow.krein.factor import KreinFactor

Kind = Literal["similarity", "squared_dissimilarity"]


@dataclass(frozen=True, eq=False)
class Sketch:
    r"""The scores of rows, all of a fold or those of a class, with some in a random order.

    ``order`` has positions among the rows, the first c of them the sample; ``scores``, of shape
    (n, c), are transformed. Dissimilarities are centred on the mean of the sample, for
    :attr:`eigenpairs` on that of the rows. These are of the kernel that the columns approximate:

    .. math:: \tilde K = C_e \, diag(a) \, C_e', \qquad
              Z^* = C_e |a|^{1/2}, \quad Z^* Z^{*\prime} = |\tilde K| .

    The flipped kernel :math:`|\tilde K|` has distances and leverage scores (oglic2019, 2.2, 2.3).
    """

    rows: IntArray
    order: IntArray
    scores: FloatArray
    self_similarities: FloatArray
    kind: Kind = "similarity"

    @property
    def drawn(self) -> IntArray:
        """Positions of the sample among the rows, of shape (c,)."""
        return self.order[: self.scores.shape[1]]

    @cached_property
    def _centring(self) -> LandmarkCentring | None:
        return None if self.kind == "similarity" else LandmarkCentring.fit(self.scores[self.drawn])

    @property
    def columns(self) -> FloatArray:
        """Similarities of the rows with the sample, of shape (n, c)."""
        return self._centring.columns(self.scores) if self._centring else self.scores

    @property
    def diagonal(self) -> FloatArray:
        """Similarities of the rows with themselves, of shape (n,)."""
        if self._centring:
            return self._centring.self_similarities(self.scores)
        return self.self_similarities

    @cached_property
    def eigenpairs(self) -> tuple[FloatArray, FloatArray]:
        """The eigenvalues a other than 0, by falling magnitude, and the orthonormal C_e."""
        columns, centred = self.columns, self.kind != "similarity"
        factor = KreinFactor.fit(columns, columns[self.drawn], self.diagonal, centre=centred)
        Z = factor.transform(columns)
        pairs = eigenpairs(Z, factor.signs)
        order = np.argsort(-np.abs(pairs.values), kind="stable")
        return pairs.values[order], tiled_product(Z, np.ascontiguousarray(pairs.map[:, order]))

    @cached_property
    def flipped(self) -> FloatArray:
        """The factor Z* of the flipped kernel, of shape (n, rank)."""
        values, vectors = self.eigenpairs
        factor: FloatArray = vectors * np.sqrt(np.abs(values))
        return factor


def class_features(classes: Sequence[Sketch]) -> list[FloatArray]:
    r"""Return features of each class whose inner products are K_j, or K_j K_j' if indefinite.

    Each class has a Krein factor :math:`K_j \approx Z_j \, diag(s_j) \, Z_j'`. If all classes are
    known to be positive semi-definite, F = Z_j. The dual of the enclosing ball is not concave on an
    indefinite kernel, so if one class is indefinite, *all* use K_j K_j' (schleif2018, section 4.2):

    .. math:: F = Z_j \, diag(s_j) \, R_j', \qquad Z_j = Q_j R_j .
    """
    with single_threaded():
        factors = [_class_factor(scores) for scores in classes]
        if not any(indefinite for _, _, indefinite in factors):
            return [Z for Z, _, _ in factors]
        return [(Z * signs) @ triangular_factor(Z).T for Z, signs, _ in factors]


def _class_factor(scores: Sketch) -> tuple[FloatArray, FloatArray, bool]:
    """Return Z_j, s_j, and whether K_j has a negative eigenvalue, truncated or not."""
    n, c = scores.scores.shape
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
