"""The minimum enclosing ball by core sets."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, single_threaded

SUPPORT_THRESHOLD = 1e-6
"""Weights above it belong to the support."""

MAX_CORE = 1000
"""Points at which the core set stops to grow; 2/epsilon are enough in theory."""

_RIDGE = 1e-12
_SLACK = 1e-11  # both in units of the largest squared distance from the start


@dataclass(frozen=True, eq=False)
class EnclosingBall:
    """A ball around points, in the coordinates of the points.

    ``weights`` are the dual weights a on the simplex, and F'a the centre; ``support`` are the
    points with a above :data:`SUPPORT_THRESHOLD`, in order, and at least two if there are two.
    No enclosing ball has a smaller ``radius``. For the rest see :class:`CoreSet`.
    """

    weights: FloatArray
    support: NDArray[np.intp]
    centre: FloatArray
    radius: float
    reached: bool
    core: NDArray[np.intp]
    excess: FloatArray


@dataclass(eq=False)
class CoreSet:
    r"""Points that a ball is spanned by, and the rule by which others join them.

    The ball of the core set has the centre :math:`c = \sum_i a_i x_i` and
    :math:`R^2 = \sum_i a_i \ell_i - \|c\|^2`. Where :math:`\ell_i = \|x_i\|^2`, the
    :math:`x_i` lie in it; a larger :math:`\ell_i` gives point i a coordinate of its own that the
    centre does not have (the centre-constrained ball of Tsang, Kwok & Zurada, IEEE Transactions on
    Neural Networks 17, 1126-1140, 2006). The caller of :meth:`grow` finds the weights a of the
    larger set.

    ``members`` are in the order of joining; ``excess`` is by what fraction of the radius each lay
    outside the ball that it joined, infinite where that ball was a point; ``slack`` is the squared
    distance that counts as rounding. ``reached``: the last ball, widened by epsilon, covered all.
    """

    lengths: FloatArray
    members: list[int]
    epsilon: float
    limit: int
    slack: float = 0.0
    squared_radius: float = field(default=0.0, init=False)
    reached: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.excess = [np.inf] * len(self.members)

    def grow(self, products: FloatArray, square: float, weights: FloatArray, most: int = 1) -> bool:
        """Let at most ``most`` points farthest from the centre c join; return whether any did.

        ``products`` are x'c, ``square`` is c'c, ``weights`` are a of the members.
        """
        distances = self.lengths - 2 * products + square
        self.squared_radius = max(0.0, float(weights @ distances[self.members]))
        limit = (1 + self.epsilon) ** 2 * self.squared_radius + self.slack
        farthest = int(np.argmax(distances))
        self.reached = bool(distances[farthest] <= limit)
        # A point of the core outside the core's own ball is one of rounding.
        if self.reached or farthest in self.members or len(self.members) >= self.limit:
            return False
        distances[self.members] = -np.inf
        outside = np.flatnonzero(distances > limit)
        order = np.argsort(-distances[outside], kind="stable")
        joining = outside[order[: min(most, self.limit - len(self.members))]]
        self.members.extend(joining.tolist())
        point, ratios = self.squared_radius <= self.slack, distances[joining]
        if not point:
            ratios = np.sqrt(ratios / self.squared_radius) - 1
        self.excess.extend([np.inf] * len(joining) if point else ratios.tolist())
        return True


def minimum_enclosing_ball(F: FloatArray, epsilon: float = 0.01) -> EnclosingBall:
    r"""Return a (1 + epsilon) approximation of the minimum enclosing ball of the rows of F.

    The core set begins with the point farthest from the first, and the farthest point joins until
    all lie within R (1 + epsilon); on the core set the dual is solved exactly:

    .. math:: R^2 = \max_a \sum_i a_i k_{ii} - a' K a, \qquad \sum_i a_i = 1, \; a_i \ge 0, \;
              K = F F'.

    (schleif2018 prints K_ii^2; its centre covers with 4 R^2.)
    """
    with single_threaded():
        # Points far from the origin would cancel in the distances; the ball moves along.
        points = F - F[0]
        norms = np.einsum("ij,ij->i", points, points)
        scale = float(norms.max())
        core = CoreSet(norms, [int(np.argmax(norms))], epsilon, MAX_CORE, 10 * _SLACK * scale)
        gram = norms[core.members][:, None]
        alpha = np.ones(1)
        while True:
            centre = alpha @ points[core.members]
            if not core.grow(points @ centre, float(centre @ centre), alpha):
                break
            products = points[core.members] @ points[core.members[-1]]
            gram = np.block([[gram, products[:-1, None]], [products[None, :]]])
            alpha = _core_weights(gram / scale, np.append(alpha, 0.0))
    weights = np.zeros(len(F))
    weights[core.members] = alpha
    support = np.flatnonzero(weights > SUPPORT_THRESHOLD)
    if len(support) == 1 < len(F):
        support = np.sort(np.append(support, 0 if support[0] else 1))
    return EnclosingBall(
        weights=weights,
        support=support,
        centre=centre + F[0],
        radius=float(np.sqrt(core.squared_radius)),
        reached=core.reached,
        core=np.array(core.members),
        excess=np.array(core.excess),
    )


def _core_weights(K: FloatArray, alpha: FloatArray) -> FloatArray:
    """Maximise a'diag(K) - a'K a on the simplex by an active-set method, warm from ``alpha``.

    The ridge keeps the equalities regular where points are affinely dependent.
    """
    K = K + _RIDGE * np.eye(len(K))
    k = K.diagonal()
    alpha = alpha.copy()
    active = alpha > 0
    for _ in range(10 * len(K)):
        outside = k - 2 * (K @ alpha)  # squared distances from the centre but for a constant
        outside -= alpha @ outside
        outside[active] = -np.inf
        joining = int(np.argmax(outside))
        if outside[joining] <= _SLACK:
            break
        active[joining] = True
        alpha = _walk(K, alpha, active)
        if not active[joining]:  # only by rounding: there is nothing left to gain
            break
    alpha /= alpha.sum()
    return alpha


def _walk(K: FloatArray, alpha: FloatArray, active: NDArray[np.bool_]) -> FloatArray:
    """Move to the optimum over the active points, dropping from ``active`` those that hit 0."""
    while True:
        chosen = np.flatnonzero(active)
        n = len(chosen)
        equalities = np.ones((n + 1, n + 1))
        equalities[:n, :n] = 2 * K[np.ix_(chosen, chosen)]
        equalities[n, n] = 0.0
        right = np.append(K.diagonal()[chosen], 1.0)
        target = np.linalg.solve(equalities, right)[:n]
        blocking = target <= 0
        if not blocking.any():
            alpha[chosen] = target
            return alpha
        now = alpha[chosen]
        steps = np.full(n, np.inf)
        steps[blocking] = now[blocking] / (now[blocking] - target[blocking])
        first = int(np.argmin(steps))
        alpha[chosen] = np.maximum(now + steps[first] * (target - now), 0.0)
        alpha[chosen[first]] = 0.0
        active[chosen[first]] = False
