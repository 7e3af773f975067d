"""The squared hinge support vector machine in a Kreĭn space: Krein SH-SVM on a Krein factor."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kreinflow.errors import InputError
from kreinflow.learners.krein_least_squares import (
    PENALTIES_SCHEMA,
    check_positive,
    describe_penalties,
    penalties_by_sign,
    penalty_choices,
)
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem, folded
from kreinflow.learners.linear import LinearEstimator
from kreinflow.learners.one_against_rest import Moments, fitted_classes, with_mirror
from kreinflow.numerics import FloatArray, IntArray, single_threaded, tiles

_ARMIJO = 1e-4  # part of the predicted decrease that a step must bring
_TOLERANCE = 1e-18  # of the squared Newton decrement against the objective, before a last step
_ROUNDING = 1e-12  # relative differences of the objective that mean nothing
_MAX_ITER = 100


class KreinSquaredHinge(LinearEstimator):
    r"""Krein SH-SVM: the squared hinge loss with a penalty for each part of a Kreĭn space.

    The rows z of the factor split by the signs into :math:`z_+` and :math:`z_-`, the weights
    likewise. Class c against the rest has targets :math:`y = \pm 1`, :math:`f(z) = w'z + b` and

    .. math::
        \min_{w, b}\ \sum_{i=1}^N \max(0, 1 - y_i f(z_i))^2
            + N t \lambda_+ \|w_+\|^2 + N t \lambda_- \|w_-\|^2 ,

    with t the mean diagonal of the covariance of all rows, as in
    :class:`~kreinflow.learners.krein_least_squares.KreinLeastSquares`. Over the active rows
    :math:`I = \{i: y_i f(z_i) < 1\}` the objective is quadratic. A step of Newton's method,
    shortened until it satisfies Armijo's rule, solves

    .. math:: (X_I'X_I + N t \Lambda)\, d = X_I'(y_I - f_I) - N t \Lambda u ,

    where X has the rows (z, 1), u = (w, b) and the penalty of b is zero. A full step that leaves I
    as it was ends at the optimum.

    Parameters
    ----------
    lambda_plus, lambda_minus : float
        Both positive.
    max_iter : int
        Largest number of steps at one value of the penalties.

    Attributes
    ----------
    coef_ : ndarray of shape (r, n_classes)
    intercept_ : ndarray of shape (n_classes,)
        Of two classes, the first is the negative of the second.
    n_iter_ : ndarray of shape (n_classes,)
        Steps at all values of the penalties on the way.
    converged_ : ndarray of shape (n_classes,) of bool
    scale_ : float
        t.

    Notes
    -----
    The paper has no intercept; here it is free. The matrix of a step follows from the last one by
    the rows that entered or left I. What rounding does to it can only slow the steps, because the
    gradient is computed anew.

    With small penalties and separable classes Newton's method alone takes hundreds of steps. So
    penalties fall by a decade at a time, from 1 or from the nearest choice that is solved,
    which takes a few steps each and few changes of I.

    References
    ----------
    D. Oglic, T. Gärtner (2019), Scalable learning in reproducing kernel Kreĭn spaces, ICML,
    PMLR 97, section 2.5.
    S. S. Keerthi, D. DeCoste (2005), A modified finite Newton method for fast solution of large
    scale linear SVMs, JMLR 6, 341-361.
    """

    n_iter_: NDArray[np.intp]
    converged_: NDArray[np.bool_]
    scale_: float

    def __init__(
        self, lambda_plus: float = 1e-2, lambda_minus: float = 1e-2, max_iter: int = _MAX_ITER
    ) -> None:
        check_positive(lambda_plus=lambda_plus, lambda_minus=lambda_minus)
        if max_iter < 1:
            raise InputError(f"max_iter: {max_iter} steps are too few. Give at least 1.")
        self.lambda_plus = lambda_plus
        self.lambda_minus = lambda_minus
        self.max_iter = max_iter

    def fit(
        self, Z: FloatArray, signs: FloatArray, y: IntArray, n_classes: int
    ) -> "KreinSquaredHinge":
        """Fit all classes: O(N r^2) for what they share, O(c r^2 + r^3) for a step with c changes.

        Parameters
        ----------
        Z, signs, y, n_classes
            As for :meth:`~kreinflow.learners.krein_least_squares.KreinLeastSquares.fit`.

        Raises
        ------
        InputError
            If a class has no row, all rows are the same, or the penalties are too small for the
            precision of the machine.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If a class has not converged after ``max_iter`` steps.
        """
        choice = {"lambda_plus": self.lambda_plus, "lambda_minus": self.lambda_minus}
        (solution,) = _solve(Z, signs, y, n_classes, (choice,), self.max_iter)
        self.coef_, self.intercept_ = solution.coef, solution.intercept
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged
        self.scale_ = solution.scale
        return self


@dataclass(frozen=True, eq=False)
class _Solution:
    """All classes at one choice."""

    coef: FloatArray
    intercept: FloatArray
    n_iter: NDArray[np.intp]
    converged: NDArray[np.bool_]
    scale: float


@dataclass(frozen=True, eq=False)
class _Rows:
    """The matrix X = [Z - mean, 1] as a map; centred, it is well conditioned."""

    Z: FloatArray
    mean: FloatArray

    def __len__(self) -> int:
        return len(self.Z)

    def times(self, u: FloatArray) -> FloatArray:
        """Return X u, of shape (N,)."""
        w = u[:-1]
        product: FloatArray = self.Z @ w + (u[-1] - self.mean @ w)
        return product

    def transposed_times(self, values: FloatArray) -> FloatArray:
        """Return X' values, of shape (r + 1,)."""
        total = values.sum()
        return np.append(self.Z.T @ values - self.mean * total, total)

    def gram(self, mask: NDArray[np.bool_]) -> FloatArray:
        """Return the sum of x x' over some rows."""
        rows = np.flatnonzero(mask)
        size = self.Z.shape[1] + 1
        total = np.zeros((size, size))
        for tile in tiles(len(rows)):
            block = np.ones((tile.stop - tile.start, size))
            block[:, :-1] = self.Z[rows[tile]] - self.mean
            total += block.T @ block
        return total


@dataclass
class _Machine:
    """One class against the rest: a point u, and the Gram matrix of the rows active there."""

    rows: _Rows
    targets: FloatArray
    active: NDArray[np.bool_]
    gram: FloatArray  # of the active rows
    u: FloatArray  # (w, b) of the centred rows

    def follow(self, start: FloatArray, end: FloatArray, max_iter: int) -> tuple[int, bool]:
        """Go from the optimum at some penalties to that at others, by way of those between."""
        decades = float(np.abs(np.log10(end / start)).max())
        pieces = max(1, int(np.ceil(decades - _ROUNDING)))
        steps, reached = 0, True
        for piece in range(1, pieces + 1):
            between = end if piece == pieces else start * (end / start) ** (piece / pieces)
            more, reached = self._fit(np.append(between, 0.0), max_iter)
            steps += more
        return steps, reached

    def _fit(self, penalties: FloatArray, max_iter: int) -> tuple[int, bool]:
        """Go to the optimum; return the number of steps and whether it was reached."""
        f = self.rows.times(self.u)
        for step in range(1, max_iter + 1):
            self._activate(self.targets * f < 1.0)
            direction, decrement = self._newton(f, penalties)
            start = self._objective(f, self.u, penalties)
            if decrement <= _TOLERANCE * start:
                self.u = self.u + direction
                return step, True
            slope = self.rows.times(direction)
            length = 1.0
            # The derivative along the direction is -2 decrement.
            while (
                self._objective(f + length * slope, self.u + length * direction, penalties)
                > start * (1.0 + _ROUNDING) - 2.0 * _ARMIJO * length * decrement
            ):
                length /= 2.0
            self.u = self.u + length * direction
            f = f + length * slope
        return max_iter, False

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
        descent = self.rows.transposed_times(residuals) / N - penalties * self.u
        matrix = self.gram / N
        matrix.flat[:: len(matrix) + 1] += penalties
        if not self.active.any():
            matrix[-1, -1] = 1.0  # no row is active, so nothing moves b
        _, direction, failed = lapack.dposv(matrix, descent, lower=1)
        if failed:
            raise InputError(
                "lambda_plus or lambda_minus is too small to solve the support vector machine. "
                "Give larger ones."
            )
        return np.asarray(direction), float(descent @ direction)

    def _objective(self, f: FloatArray, u: FloatArray, penalties: FloatArray) -> float:
        hinge = np.maximum(0.0, 1.0 - self.targets * f)
        return float(hinge @ hinge) / len(self.rows) + float(penalties @ (u * u))


def _solve(
    Z: FloatArray,
    signs: FloatArray,
    y: IntArray,
    n_classes: int,
    choices: Sequence[Choice],
    max_iter: int,
) -> list[_Solution]:
    """Fit all classes at each of several choices."""
    moments = Moments.of(Z, y, n_classes)
    classes = fitted_classes(n_classes)
    N, r = Z.shape
    rows = _Rows(Z, moments.mean)
    everything = np.ones(N, dtype=bool)
    gram = np.zeros((r + 1, r + 1))
    gram[:r, :r] = N * moments.covariance
    gram[r, r] = N
    shape = (len(choices), len(classes))
    U = np.empty((*shape, r + 1))
    n_iter, converged = np.empty(shape, dtype=np.intp), np.empty(shape, dtype=bool)
    with single_threaded():
        for k, code in enumerate(classes):
            targets = np.where(np.asarray(y) == code, 1.0, -1.0)
            machine = _Machine(rows, targets, everything, gram, np.zeros(r + 1))
            # At penalties of 1, zero is near enough to begin with.
            known = [(np.full(r, moments.scale), machine.u)]
            for i, choice in enumerate(choices):
                penalties = moments.scale * penalties_by_sign(signs, choice)
                distances = [np.abs(np.log(penalties / other)).max() for other, _ in known]
                start, machine.u = known[int(np.argmin(distances))]
                n_iter[i, k], converged[i, k] = machine.follow(start, penalties, max_iter)
                known.append((penalties, machine.u))
                U[i, k] = machine.u
        solutions = []
        for u, steps, reached in zip(U, n_iter, converged, strict=True):
            coef = np.ascontiguousarray(u[:, :r].T)
            intercept = u[:, r] - moments.mean @ coef
            solutions.append(
                _Solution(
                    *with_mirror(coef, intercept, n_classes),
                    n_iter=np.resize(steps, n_classes),
                    converged=np.resize(reached, n_classes),
                    scale=moments.scale,
                )
            )
    if not converged.all():
        from sklearn.exceptions import ConvergenceWarning  # a slow import, seldom needed

        warnings.warn(
            f"Krein SH-SVM: {int((~converged).any(axis=0).sum())} of {n_classes} classes had not "
            f"converged after {max_iter} steps. Give larger penalties, or raise max_iter.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return solutions


class KreinSquaredHingeLearner(Learner):
    """:class:`KreinSquaredHinge` as a recipe's learner."""

    method = "krein_sh_svm"
    settings_schema = PENALTIES_SCHEMA
    references = ("oglic2019",)

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        return (
            "Krein SH-SVM, one class against the rest, the squared hinge loss with "
            f"{describe_penalties(self.settings)}"
        )

    def choices(self) -> Sequence[Choice]:
        """See :meth:`Learner.choices`."""
        return penalty_choices(self.settings)

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`."""
        Z = np.asarray(problem.Z)
        solutions = _solve(Z, problem.signs, problem.labels, problem.n_classes, choices, _MAX_ITER)
        return [
            Fitted(
                folded(problem, solution.coef, solution.intercept),
                iterations=int(solution.n_iter.max()),
                converged=bool(solution.converged.all()),
            )
            for solution in solutions
        ]
