"""A uniform sketch: scores of all training rows with a few, and the factor that they make."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kreinflow.krein.double_centring import LandmarkCentring
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import KreinFactor
from kreinflow.landmarks.features import Kind
from kreinflow.numerics import FloatArray, IntArray, tiled_product


@dataclass(frozen=True, eq=False)
class Sketch:
    r"""The scores of a fold's training rows with the first of them in a random order.

    Dissimilarities are centred, the origin at the mean of the training rows. What the selectors
    see are the columns themselves, and the eigenpairs of the kernel that they approximate,

    .. math:: \tilde K = C_e \, diag(a) \, C_e', \qquad
              Z^* = C_e |a|^{1/2}, \quad Z^* Z^{*\prime} = |\tilde K| ,

    where the flipped kernel :math:`|\tilde K|` has the eigenvectors of :math:`\tilde K` and is
    positive semi-definite, so that it has distances and leverage scores (oglic2019 2.3).

    Parameters
    ----------
    rows : ndarray of shape (n,)
        Numbers of the distinct rows that the fold trains on.
    order : ndarray of shape (n,)
        Positions among the rows in random order; the sketch is made of the first c.
    scores : ndarray of shape (n, c)
        Transformed scores of the rows with the first c of the order.
    self_similarities : ndarray of shape (n,)
        Transformed self-scores; not looked at for dissimilarities.
    kind : {"similarity", "squared_dissimilarity"}

    References
    ----------
    .. [1] Oglic, D., Gärtner, T.: Scalable learning in reproducing kernel Krein spaces.
       ICML 2019, PMLR 97, sections 2.2 and 2.3.
    """

    rows: IntArray
    order: IntArray
    scores: FloatArray
    self_similarities: FloatArray
    kind: Kind = "similarity"

    def __post_init__(self) -> None:
        """Refuse shapes that disagree."""
        n = len(self.rows)
        c = self.scores.shape[1]
        if self.scores.shape[0] != n or len(self.order) != n or not 1 <= c <= n:
            raise ValueError(f"{n} rows cannot have a sketch of shape {self.scores.shape}.")
        if self.kind == "similarity" and self.self_similarities.shape != (n,):
            raise ValueError(f"a sketch of {n} rows needs as many self-similarities.")

    @property
    def drawn(self) -> IntArray:
        """Positions of the rows that the sketch is made of, of shape (c,)."""
        return self.order[: self.scores.shape[1]]

    @cached_property
    def _centring(self) -> LandmarkCentring | None:
        if self.kind == "similarity":
            return None
        return LandmarkCentring.fit(self.scores[self.drawn])

    @cached_property
    def columns(self) -> FloatArray:
        """Similarities of the rows with the sketch's, of shape (n, c)."""
        return self._centring.columns(self.scores) if self._centring else self.scores

    @cached_property
    def _eigenpairs(self) -> tuple[FloatArray, FloatArray]:
        own = self.self_similarities
        if self._centring:
            own = self._centring.self_similarities(self.scores)
        factor = KreinFactor.fit(
            self.columns, self.columns[self.drawn], own, centre=self._centring is not None
        )
        Z = factor.transform(self.columns)
        pairs = eigenpairs(Z, factor.signs)
        order = np.argsort(-np.abs(pairs.values), kind="stable")
        return pairs.values[order], tiled_product(Z, np.ascontiguousarray(pairs.map[:, order]))

    @property
    def eigenvalues(self) -> FloatArray:
        """The eigenvalues a other than zero, by falling magnitude, of shape (rank,)."""
        return self._eigenpairs[0]

    @property
    def eigenvectors(self) -> FloatArray:
        """Their orthonormal eigenvectors C_e, of shape (n, rank)."""
        return self._eigenpairs[1]

    @cached_property
    def flipped(self) -> FloatArray:
        """The factor Z* of the flipped kernel, of shape (n, rank)."""
        factor: FloatArray = self.eigenvectors * np.sqrt(np.abs(self.eigenvalues))
        return factor
