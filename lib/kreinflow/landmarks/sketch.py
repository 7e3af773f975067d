"""A uniform sketch: scores of all training rows with a few, and the factor that they make."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kreinflow.base.numerics import FloatArray, tiled_product
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import KreinFactor
from kreinflow.landmarks.sampled import SampledScores


@dataclass(frozen=True, eq=False)
class Sketch(SampledScores):
    r"""The scores of all training rows of a fold with the first of them in a random order.

    What the selectors see are the columns themselves, and the eigenpairs of the kernel that they
    approximate, of dissimilarities with the origin at the mean of the training rows:

    .. math:: \tilde K = C_e \, diag(a) \, C_e', \qquad
              Z^* = C_e |a|^{1/2}, \quad Z^* Z^{*\prime} = |\tilde K| ,

    where the flipped kernel :math:`|\tilde K|` has the eigenvectors of :math:`\tilde K` and is
    positive semi-definite, so that it has distances and leverage scores (oglic2019 2.3).

    Parameters
    ----------
    rows, order, scores, self_similarities, kind
        See :class:`~kreinflow.landmarks.sampled.SampledScores`; all rows are in the order.

    References
    ----------
    .. [1] Oglic, D., Gärtner, T.: Scalable learning in reproducing kernel Krein spaces.
       ICML 2019, PMLR 97, sections 2.2 and 2.3.
    """

    @cached_property
    def _eigenpairs(self) -> tuple[FloatArray, FloatArray]:
        columns, centred = self.columns, self.kind != "similarity"
        factor = KreinFactor.fit(columns, columns[self.drawn], self.diagonal, centre=centred)
        Z = factor.transform(columns)
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
