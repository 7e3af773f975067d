"""The squared hinge loss on a core set, solved exactly by Newton's method."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, tile_sum
from kreinflow.learners.linear_systems import solve_positive

_MAX_STEPS = 200  # of Newton's method on one core set
_TOLERANCE = 1e-18  # of the squared Newton decrement against the objective, before a last step


@dataclass(frozen=True, eq=False)
class LinearCore:
    """A core set: the kernel Q = y y' (K + 1) on its rows, here X X', of rows with their targets.

    ``margins`` are Q betas, y f at the rows; ``solve`` finds the betas of (Q + I/C) betas = 1 over
    some of the rows.
    """

    X: FloatArray

    def margins(self, betas: FloatArray) -> FloatArray:
        return np.asarray(self.X @ (betas @ self.X))

    def solve(self, active: NDArray[np.intp], penalty: float) -> FloatArray:
        X = self.X if len(active) == len(self.X) else self.X[active]
        n, d = X.shape
        if n <= d:
            return _solve(X @ X.T, np.ones(n), penalty)
        gram = tile_sum(lambda rows: X[rows].T @ X[rows], n)
        v = _solve(gram, X.sum(axis=0), penalty)
        return np.asarray(penalty * (1.0 - X @ v))


@dataclass(frozen=True, eq=False)
class GramCore:
    """The same of Q as a matrix."""

    Q: FloatArray

    def margins(self, betas: FloatArray) -> FloatArray:
        return np.asarray(self.Q @ betas)

    def solve(self, active: NDArray[np.intp], penalty: float) -> FloatArray:
        return _solve(self.Q[np.ix_(active, active)], np.ones(len(active)), penalty)


Core = LinearCore | GramCore


def _solve(A: FloatArray, b: FloatArray, penalty: float) -> FloatArray:
    failure = "core vector machine: a step could not be solved; the factor is not finite."
    return solve_positive(A, b, 1.0 / penalty, failure)


def minimise_squared_hinge(core: Core, betas: FloatArray, penalty: float) -> FloatArray:
    r"""Return the dual optimum of the squared hinge loss on a core set.

    .. math:: \min_f\ \|f\|^2/2 + \frac{C}{2} \sum_i \max(0, 1 - y_i f_i)^2, \qquad
              f = \sum_i \beta_i y_i (k(\cdot, x_i) + 1), \quad
              \beta_i = C \max(0, 1 - y_i f_i),

    by Newton's method over the rows of margin below 1, with an exact line search, until these rows
    stay the same. ``betas`` are the start, of shape (n,), ``penalty`` is C.

    Source: Keerthi, DeCoste (2005), A modified finite Newton method for fast solution of large
    scale linear SVMs, JMLR 6, 341-361.
    """
    margins = core.margins(betas)
    for _ in range(_MAX_STEPS):
        active = margins < 1.0
        new = np.zeros(len(betas))
        if active.any():
            new[active] = core.solve(np.flatnonzero(active), penalty)
        new_margins = core.margins(new)
        change, slope = new - betas, new_margins - margins
        curvature = float(change @ slope)  # |f_new - f|^2
        objective = float(betas @ margins) + penalty * float(
            (np.maximum(0.0, 1.0 - margins) ** 2).sum()
        )
        decrement = curvature + penalty * float((slope[active] ** 2).sum())
        if np.array_equal(new_margins < 1.0, active) or decrement <= _TOLERANCE * objective:
            return np.maximum(new, 0.0)
        length = _line_search(margins, slope, float(betas @ slope), curvature, penalty)
        betas, margins = betas + length * change, margins + length * slope
    return np.maximum(betas, 0.0)


def _line_search(
    margins: FloatArray, slope: FloatArray, linear: float, curvature: float, penalty: float
) -> float:
    """Return the t where d/dt of the objective at margins + t slope is zero, to 1e-12."""

    def derivative(t: float) -> float:  # continuous and rising
        hinge = np.maximum(0.0, 1.0 - margins - t * slope)
        return linear + t * curvature - penalty * float(hinge @ slope)

    if derivative(0.0) >= 0.0:  # rounding alone
        return 1.0
    end = 1.0
    while derivative(end) < 0.0:
        end *= 2.0
    return float(scipy.optimize.brentq(derivative, 0.0, end))
