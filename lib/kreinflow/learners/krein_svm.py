"""The squared hinge support vector machine in a Kreĭn space: Krein SH-SVM on a Krein factor."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, single_threaded, tiles
from kreinflow.learners.krein_least_squares import KreinLearner, penalties_by_sign
from kreinflow.learners.learner import Choice, Fitted, Problem, folded
from kreinflow.learners.linear_systems import solve_positive
from kreinflow.learners.moments import Moments
from kreinflow.learners.one_against_rest import fitted_classes

_ARMIJO = 1e-4  # part of the predicted decrease that a step must bring
_TOLERANCE = 1e-18  # of the squared Newton decrement against the objective, before a last step
_ROUNDING = 1e-12  # relative differences of the objective that mean nothing
_MAX_ITER = 100  # steps at one value of the penalties


class KreinSquaredHingeLearner(KreinLearner):
    r"""Krein SH-SVM: the squared hinge loss with a penalty for each part of a Kreĭn space.

    In the notation of :class:`~kreinflow.learners.krein_least_squares.KreinLearner`, class c
    against the rest has targets :math:`y = \pm 1`, :math:`f(z) = w'z + b` and

    .. math::
        \min_{w, b}\ \sum_{i=1}^N \max(0, 1 - y_i f(z_i))^2
            + N t \lambda_+ \|w_+\|^2 + N t \lambda_- \|w_-\|^2 .

    Over the active rows :math:`I = \{i: y_i f(z_i) < 1\}` the objective is quadratic. A step of
    Newton's method, shortened until it satisfies Armijo's rule, solves

    .. math:: (X_I'X_I + N t \Lambda)\, d = X_I'(y_I - f_I) - N t \Lambda u ,

    where X has the rows (z, 1), u = (w, b) and the penalty of b is zero. A full step that leaves I
    as it was ends at the optimum.

    The paper (oglic2019, section 2.5) has no intercept; here it is free. With small penalties and
    separable classes Newton's method alone takes hundreds of steps: so penalties fall by a decade
    at a time, from 1 or from the nearest choice that is solved. Keerthi, DeCoste (2005), A modified
    finite Newton method for fast solution of large scale linear SVMs, JMLR 6, 341-361.
    """

    method = "krein_sh_svm"
    needs_symmetric = True

    def describe(self) -> str:
        loss = "Krein SH-SVM, one class against the rest, the squared hinge loss"
        return f"{loss} with {self.describe_penalties()}"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`, in O(N r^2) for all, O(c r^2 + r^3) for a step with c changes.

        Rows that are all the same and penalties too small for the machine's precision are refused.
        """
        Z, y, n_classes = np.asarray(problem.Z), problem.labels, problem.n_classes
        moments = Moments.of(Z, y, n_classes)
        gram = len(Z) * np.pad(moments.covariance, (0, 1))
        gram[-1, -1] = len(Z)
        start = np.ones(len(Z), dtype=bool), gram, np.zeros(len(gram))
        penalties = [moments.scale * penalties_by_sign(problem.signs, choice) for choice in choices]
        with single_threaded():
            paths = []
            for code in fitted_classes(n_classes):
                targets = np.where(y == code, 1.0, -1.0)
                path = _NewtonPath(_Rows(Z, moments.mean), targets, *start)
                paths.append(path.follow(moments.scale, penalties))
            fits = []
            for ends in zip(*paths, strict=True):
                u = np.array([end.u for end in ends])
                coef = np.ascontiguousarray(u[:, :-1].T)
                decision = folded(problem, coef, u[:, -1] - moments.mean @ coef)
                steps, reached = max(e.steps for e in ends), all(e.converged for e in ends)
                fits.append(Fitted(decision, iterations=steps, converged=reached))
        return fits


class _End(NamedTuple):
    u: FloatArray  # (w, b) of the centred rows
    steps: int
    converged: bool


@dataclass(frozen=True, eq=False)
class _Rows:
    """The matrix X = [Z - mean, 1] as a map; centred, it is well conditioned."""

    Z: FloatArray
    mean: FloatArray

    def __len__(self) -> int:
        return len(self.Z)

    def times(self, u: FloatArray) -> FloatArray:
        return np.asarray(self.Z @ u[:-1] + (u[-1] - self.mean @ u[:-1]))

    def gram(self, mask: NDArray[np.bool_]) -> FloatArray:
        rows = np.flatnonzero(mask)
        size = self.Z.shape[1] + 1
        total = np.zeros((size, size))
        for tile in tiles(len(rows)):
            block = np.ones((tile.stop - tile.start, size))
            block[:, :-1] = self.Z[rows[tile]] - self.mean
            total += block.T @ block
        return total


@dataclass
class _NewtonPath:
    """One class against the rest: a point u, and the Gram matrix of the rows active there."""

    rows: _Rows
    targets: FloatArray
    active: NDArray[np.bool_]
    gram: FloatArray  # of the active rows
    u: FloatArray  # (w, b) of the centred rows

    def follow(self, scale: float, penalties: Sequence[FloatArray]) -> list[_End]:
        """Return the optima at each of several penalties, from the nearest that is solved."""
        # At lambdas of 1, zero is near enough to begin with.
        known = [(np.full(len(self.u) - 1, scale), self.u)]
        ends = []
        for wanted in penalties:
            distances = [np.abs(np.log(wanted / other)).max() for other, _ in known]
            start, self.u = known[int(np.argmin(distances))]
            decades = float(np.abs(np.log10(wanted / start)).max())
            pieces = max(1, int(np.ceil(decades - _ROUNDING)))
            steps = 0
            for piece in range(1, pieces + 1):
                between = start * (wanted / start) ** (piece / pieces)
                between = wanted if piece == pieces else between
                more, reached = self._fit(np.append(between, 0.0))
                steps += more
            known.append((wanted, self.u))
            ends.append(_End(self.u, steps, reached))
        return ends

    def _fit(self, penalties: FloatArray) -> tuple[int, bool]:
        """Go to the optimum; return the number of steps and whether it was reached."""
        f = self.rows.times(self.u)
        for step in range(1, _MAX_ITER + 1):
            self._activate(self.targets * f < 1.0)
            direction, decrement = self._newton(f, penalties)
            start = self._objective(f, self.u, penalties)
            if decrement <= _TOLERANCE * start:
                self.u = self.u + direction
                return step, True
            slope = self.rows.times(direction)
            for halvings in count():
                length = 0.5**halvings
                u, values = self.u + length * direction, f + length * slope
                # The derivative along the direction is -2 decrement.
                enough = start * (1.0 + _ROUNDING) - 2.0 * _ARMIJO * length * decrement
                if not self._objective(values, u, penalties) > enough:  # NaN ends it, too
                    break
            self.u, f = u, values
        return _MAX_ITER, False

    def _activate(self, active: NDArray[np.bool_]) -> None:
        entering, leaving = active & ~self.active, self.active & ~active
        changes = np.count_nonzero(entering) + np.count_nonzero(leaving)
        if changes < np.count_nonzero(active):
            if changes:
                self.gram = self.gram + self.rows.gram(entering) - self.rows.gram(leaving)
        else:
            self.gram = self.rows.gram(active)
        self.active = active

    def _newton(self, f: FloatArray, penalties: FloatArray) -> tuple[FloatArray, float]:
        """Return the direction d and its squared decrement d'H d."""
        N = len(self.rows)
        residuals = np.where(self.active, self.targets - f, 0.0)
        total = residuals.sum()
        product = np.append(self.rows.Z.T @ residuals - self.rows.mean * total, total)  # with X'
        descent = product / N - penalties * self.u
        matrix = self.gram / N
        if not self.active.any():
            matrix[-1, -1] = 1.0  # no row is active, so nothing moves b
        failure = InputError(
            "lambda_plus or lambda_minus is too small to solve the support vector machine. "
            "Give larger ones."
        )
        direction = solve_positive(matrix, descent, penalties, failure)
        return direction, float(descent @ direction)

    def _objective(self, f: FloatArray, u: FloatArray, penalties: FloatArray) -> float:
        hinge = np.maximum(0.0, 1.0 - self.targets * f)
        return float(hinge @ hinge) / len(self.rows) + float(penalties @ (u * u))
