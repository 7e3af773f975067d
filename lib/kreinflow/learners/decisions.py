"""Decision functions of the scores with the landmarks: what training leaves behind.

A decision sees rows of one of two spaces:

* ``kernel``: k(x), the transformed scores with the landmarks (for squared dissimilarities: the
  columns S^L of :class:`~kreinflow.krein.double_centring.LandmarkCentring`);
* ``nearness``: k(x), or the negative squared dissimilarities themselves.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal, Self

import numpy as np

from kreinflow.base.hierarchy import Forks
from kreinflow.base.numerics import FloatArray, single_threaded, tiled_product
from kreinflow.files.state import Array, State
from kreinflow.kernels.products import elm_expansion
from kreinflow.krein.factor import Embedding

Space = Literal["kernel", "nearness"]


@dataclass(frozen=True, eq=False)
class Decision(State):
    """Named arrays of floats, and a function of rows; ``kind`` is its name in files."""

    kind: ClassVar[str]
    space: ClassVar[Space] = "kernel"

    def decide(self, rows: FloatArray) -> FloatArray:
        """Return the decisions (n, n_classes) of rows (n, n_landmarks); the largest wins.

        Each row of the result depends on its own row alone, bit for bit.
        """
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class LinearDecision(Decision):
    """f(x) = k(x)' weights + intercept."""

    kind: ClassVar[str] = "linear"
    state: ClassVar = {"weights": Array("f", "m c"), "intercept": Array("f", "c")}
    weights: FloatArray
    intercept: FloatArray

    @classmethod
    def folded(cls, embedding: Embedding, coef: FloatArray, intercept: FloatArray) -> Self:
        """Fold f(z) = z' coef + intercept, of z(x) = k(x) M - o, into weights on the scores."""
        with single_threaded():
            return cls(embedding.matrix @ coef, intercept - embedding.offset @ coef)

    def decide(self, rows: FloatArray) -> FloatArray:
        return tiled_product(rows, self.weights) + self.intercept


@dataclass(frozen=True, eq=False)
class NearnessDecision(LinearDecision):
    """A linear function of the dissimilarities to the landmarks, their signs changed."""

    kind: ClassVar[str] = "linear_nearness"
    space: ClassVar[Space] = "nearness"


@dataclass(frozen=True, eq=False)
class NearestDecision(Decision):
    r"""The nearest neighbour among the landmarks: :math:`f_c(x) = \max_{l \in c} k(x, l)`.

    A class without landmarks gets the row's smallest score minus 1, below all others. ``members``
    is 1 where a landmark is of a class, else 0.
    """

    kind: ClassVar[str] = "nearest"
    space: ClassVar[Space] = "nearness"
    state: ClassVar = {"members": Array("f", "m c")}
    members: FloatArray

    def decide(self, rows: FloatArray) -> FloatArray:
        out = np.repeat(rows.min(axis=1, keepdims=True) - 1.0, self.members.shape[1], axis=1)
        for code, own in enumerate(self.members.T == 1):
            if own.any():
                out[:, code] = rows[:, own].max(axis=1)
        return out


@dataclass(frozen=True, eq=False)
class QuadraticDecision(Decision):
    r"""Distances from class centres, each along axes of its own.

    .. math:: f_c(x) = b_c - \tfrac12 \sum_j g_{cj}^2 (k(x)' M V_c - o_c)_j^2

    with the matrix M from scores to the coordinates of the factor, axes V, centres o, scales g and
    constants b.
    """

    kind: ClassVar[str] = "quadratic"
    state: ClassVar = {
        "matrix": Array("f", "m r"),
        "axes": Array("f", "c r r"),
        "centres": Array("f", "c r"),
        "scales": Array("f", "c r"),
        "constants": Array("f", "c"),
    }
    matrix: FloatArray
    axes: FloatArray
    centres: FloatArray
    scales: FloatArray
    constants: FloatArray

    @classmethod
    def folded(
        cls, embedding: Embedding, axes: FloatArray, centres: FloatArray, *others: FloatArray
    ) -> Self:
        """Return the decision on k(x) from one on z(x) = k(x) M - o: its centres move."""
        with single_threaded():
            moved = centres + np.array([embedding.offset @ V for V in axes])
        return cls(embedding.matrix, axes, moved, *others)

    def decide(self, rows: FloatArray) -> FloatArray:
        Z = tiled_product(rows, self.matrix)
        out = np.empty((len(Z), len(self.constants)))
        for c, constant in enumerate(self.constants):
            whitened = tiled_product(Z, self.axes[c])
            whitened -= self.centres[c]
            whitened *= self.scales[c]
            out[:, c] = constant - 0.5 * np.einsum("ij,ij->i", whitened, whitened)
        return out


@dataclass(frozen=True, eq=False)
class ELMDecision(Decision):
    r"""An expansion in the extreme learning machine kernel of standardised nearness.

    .. math:: f_c(x) = \sum_j k(u(x), u_j)\, a_{jc} + b_c, \qquad u = (nearness - o) / d

    with centre o, deviation d, support :math:`u_j`, coefficients a and intercept b.
    """

    kind: ClassVar[str] = "elm"
    space: ClassVar[Space] = "nearness"
    state: ClassVar = {
        "centre": Array("f", "m"),
        "deviation": Array("f", "m"),
        "support": Array("f", "s m"),
        "coefficients": Array("f", "s c"),
        "intercept": Array("f", "c"),
    }
    centre: FloatArray
    deviation: FloatArray
    support: FloatArray
    coefficients: FloatArray
    intercept: FloatArray

    def decide(self, rows: FloatArray) -> FloatArray:
        u = (rows - self.centre) / self.deviation
        return elm_expansion(u, self.support, self.coefficients) + self.intercept


@dataclass(frozen=True, eq=False)
class SiblingsDecision(Decision):
    r"""Linear functions of the branches of a tree of classes, a softmax at each fork.

    .. math:: f_c(x) = \sum_{j \in way(c)} \log softmax(k(x)' W + b)_j

    The softmax of a branch j is over the branches of its fork, so :math:`\exp f_c(x)` is the
    product of the conditional probabilities on the way to class c, and sums to one. ``above`` and
    ``leaf`` are those of :class:`~kreinflow.base.hierarchy.Forks`, whole numbers as floats.
    """

    kind: ClassVar[str] = "siblings"
    state: ClassVar = {
        "weights": Array("f", "m b"),
        "intercept": Array("f", "b"),
        "above": Array("f", "b"),
        "leaf": Array("f", "c"),
    }
    weights: FloatArray
    intercept: FloatArray
    above: FloatArray
    leaf: FloatArray

    @cached_property
    def forks(self) -> Forks:
        return Forks(self.above.astype(np.int64), self.leaf.astype(np.int64))

    def decide(self, rows: FloatArray) -> FloatArray:
        return self.forks.log_probabilities(tiled_product(rows, self.weights) + self.intercept)


@dataclass(frozen=True, eq=False)
class NearnessSiblingsDecision(SiblingsDecision):
    """The same of the dissimilarities to the landmarks, their signs changed."""

    kind: ClassVar[str] = "siblings_nearness"
    space: ClassVar[Space] = "nearness"


KINDS: dict[str, type[Decision]] = {
    kind.kind: kind
    for kind in (
        LinearDecision,
        NearnessDecision,
        NearestDecision,
        QuadraticDecision,
        ELMDecision,
        SiblingsDecision,
        NearnessSiblingsDecision,
    )
}
"""By the name that stands in files."""
