"""The core vector machine: a support vector machine as the smallest ball around its points."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from kreinflow.errors import InputError, KreinflowError
from kreinflow.landmarks.meb import CoreSet
from kreinflow.learners.learner import Choice, Fitted, Problem, folded
from kreinflow.learners.linear import LinearEstimator
from kreinflow.learners.moments import class_counts
from kreinflow.learners.one_against_rest import fitted_classes, with_mirror
from kreinflow.learners.support_vectors import (
    PENALTY_SCHEMA,
    SupportVectorLearner,
    check_penalty,
    mean_square,
)
from kreinflow.numerics import FloatArray, IntArray, single_threaded, tiled_product, tiles
from kreinflow.settings import SettingsSchema

EPSILON = 1e-9
"""By what fraction of the radius a point may lie outside the ball, unless told otherwise."""

_BATCH = 20  # points that may join a small core set at once
_MAX_STEPS = 200  # of Newton's method on one core set
_TOLERANCE = 1e-18  # of the squared Newton decrement against the objective, before a last step
_SLACK = 1e-12  # of the squared distances, that counts as rounding


class CoreVectorMachine(LinearEstimator):
    r"""Sparse support vector machines of all classes against the rest, by core sets.

    Class c against the rest has targets :math:`y = \pm 1`, :math:`f(z) = w'z/\sqrt\kappa + b` with
    the mean :math:`\kappa` of :math:`z_i'z_i`, and the squared hinge loss with a margin
    :math:`\rho` that is a variable too:

    .. math:: \min_{w, b, \rho, \xi}\ \|w\|^2 + b^2 - 2 \rho + C \sum_i \xi_i^2, \qquad
              y_i f(z_i) \ge \rho - \xi_i .

    Its dual is that of the minimum enclosing ball of one point for each row,

    .. math:: \max_a\ \eta - a' \tilde K a, \quad \sum_i a_i = 1, \; a_i \ge 0, \qquad
              \tilde K_{ij} = y_i y_j (z_i'z_j/\kappa + 1) + \delta_{ij}/C,

    with :math:`\eta = \max_i \tilde K_{ii}`: each point has a coordinate of its own of square
    :math:`\eta - \tilde K_{ii}`, which the centre does not have. (Without it the two problems are
    the same only for a constant diagonal.) The ball of a core set grows until all points lie
    within R (1 + epsilon), so that the dual objective R^2 is at most (1 + epsilon)^2 too small.

    On the core set the solution is exact. The farthest points join, as many at once as there are
    already, after a full pass over the rows that all classes share: O(N r K). So no
    sample of the rows stands for all of them, and nothing is drawn.

    The decisions are divided by :math:`\rho`, so that support vectors of all classes have a
    margin of 1: f minimises :math:`\|w\|^2 + b^2 + C \sum_i \max(0, 1 - y_i f(z_i))^2`.

    Parameters
    ----------
    penalty : float
        C, for a kernel of mean diagonal 1.
    epsilon : float
        By what fraction of the radius a point may lie outside the ball.

    Attributes
    ----------
    coef_ : ndarray of shape (r, n_classes)
    intercept_ : ndarray of shape (n_classes,)
        Of two classes, the first is the negative of the second.
    weights_ : list of ndarray
        The dual weights a > 0 of each class.
    support_ : list of ndarray
        The rows that they belong to.
    squared_radii_ : ndarray of shape (n_classes,)
    n_iter_ : int
        Passes over the rows.
    converged_ : ndarray of shape (n_classes,) of bool
        Whether the ball came to cover all points.

    Notes
    -----
    R^2 is :math:`\eta` less the inverse of the minimum P of the loss above, so P comes out too
    large by a share of up to about :math:`2 \epsilon \eta P`. The 1e-6 of the authors is too coarse
    where P is large, as it is with a large penalty on many rows of classes that overlap: the first
    core sets hold mostly rows with wrong labels, and the machine stops there. A smaller epsilon
    costs little, because core sets are solved exactly, whatever their size.

    References
    ----------
    I. W. Tsang, J. T. Kwok, P.-M. Cheung (2005), Core vector machines, JMLR 6, 363-392.
    I. W. Tsang, J. T. Kwok, J. M. Zurada (2006), Generalized core vector machines, IEEE TNN 17,
    1126-1140 (the centre-constrained ball). gisbrecht2015 cites a later variant that fixes the
    radius beforehand (ICML 2007): it approximates the same optimum.
    """

    weights_: list[FloatArray]
    support_: list[NDArray[np.intp]]
    squared_radii_: FloatArray
    n_iter_: int
    converged_: NDArray[np.bool_]

    def __init__(self, penalty: float = 1.0, epsilon: float = EPSILON) -> None:
        check_penalty(penalty)
        if not 0 < epsilon < 1:
            raise InputError(f"epsilon: {epsilon} is not between 0 and 1. Give such a number.")
        self.penalty = penalty
        self.epsilon = epsilon

    def fit(
        self, Z: FloatArray, signs: FloatArray, y: IntArray, n_classes: int
    ) -> "CoreVectorMachine":
        """Fit all classes.

        Parameters
        ----------
        Z : ndarray of shape (N, r)
            Rows of the Krein factor.
        signs : ndarray of shape (r,)
            All +1.
        y : ndarray of shape (N,)
            Class codes, 0 to ``n_classes - 1``; each must occur.
        n_classes : int

        Raises
        ------
        InputError
            If a sign is negative, a class has no row, or all rows are zero. With a negative sign
            the dual is not concave, and no ball belongs to it: what a solver then returns is up to
            the solver.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            If the ball of a class does not come to cover all points.
        """
        kernel = LinearRows(Z, signs)
        (solution,) = core_vector_path(kernel, y, n_classes, (self.penalty,), self.epsilon)
        self.coef_, self.intercept_ = with_mirror(*kernel.functions(solution.expansions), n_classes)
        self.weights_, self.support_ = solution.weights, solution.support
        self.squared_radii_ = solution.squared_radii
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged
        return self


class Core(ABC):
    """The rows of a core set with their targets: the kernel :math:`Q = y y' (K + 1)` on them."""

    @abstractmethod
    def margins(self, betas: FloatArray) -> FloatArray:
        """Return Q betas: y f at the rows."""

    @abstractmethod
    def solve(self, active: NDArray[np.intp], penalty: float) -> FloatArray:
        """Return the betas of (Q + I/C) betas = 1 over some of the rows."""


class RowKernel(ABC):
    """A positive semidefinite kernel of the training rows, of mean diagonal 1.

    Attributes
    ----------
    diagonal : ndarray of shape (N,)
    limit : int
        Rows that a core set may have.
    """

    diagonal: FloatArray
    limit: int

    @abstractmethod
    def values(self, expansions: "Sequence[Expansion]") -> FloatArray:
        """Return the functions of some expansions at all rows, of shape (N, n_expansions)."""

    @abstractmethod
    def core(self, rows: NDArray[np.intp], targets: FloatArray) -> Core:
        """Return some rows as a core set, with their targets of +-1."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """The function sum_j k(., x_j) c_j + sum_j c_j over some rows j."""

    rows: NDArray[np.intp]
    coefficients: FloatArray


class LinearRows(RowKernel):
    """The kernel Z Z'/kappa of the rows of a factor without negative signs.

    Parameters
    ----------
    Z : ndarray of shape (N, r)
    signs : ndarray of shape (r,)

    Raises
    ------
    InputError
        If a sign is negative, or all rows are zero.
    """

    def __init__(self, Z: FloatArray, signs: FloatArray) -> None:
        self.Z = Z
        self.scale = mean_square(Z, signs)
        self.diagonal = np.einsum("ij,ij->i", Z, Z) / self.scale
        self.limit = len(Z)

    def functions(self, expansions: "Sequence[Expansion]") -> tuple[FloatArray, FloatArray]:
        """Return the expansions as weights and intercepts on z, of shape (r, k) and (k,)."""
        with single_threaded():
            coef = np.column_stack([self.Z[e.rows].T @ e.coefficients for e in expansions])
        return coef / self.scale, np.array([e.coefficients.sum() for e in expansions])

    def values(self, expansions: "Sequence[Expansion]") -> FloatArray:
        """See :meth:`RowKernel.values`."""
        coef, intercept = self.functions(expansions)
        return tiled_product(self.Z, coef) + intercept

    def core(self, rows: NDArray[np.intp], targets: FloatArray) -> Core:
        """See :meth:`RowKernel.core`."""
        X = np.empty((len(rows), self.Z.shape[1] + 1))
        np.divide(self.Z[rows], np.sqrt(self.scale), out=X[:, :-1])
        X[:, -1] = 1.0
        X *= targets[:, None]
        return _LinearCore(X)


@dataclass(frozen=True, eq=False)
class _LinearCore(Core):
    """Q = X X'."""

    X: FloatArray

    def margins(self, betas: FloatArray) -> FloatArray:
        margins: FloatArray = self.X @ (betas @ self.X)
        return margins

    def solve(self, active: NDArray[np.intp], penalty: float) -> FloatArray:
        X = self.X if len(active) == len(self.X) else self.X[active]
        n, d = X.shape
        if n <= d:
            return _solve_positive(X @ X.T, np.ones(n), penalty)
        gram = np.zeros((d, d))
        for rows in tiles(n):
            gram += X[rows].T @ X[rows]
        v = _solve_positive(gram, X.sum(axis=0), penalty)
        betas: FloatArray = penalty * (1.0 - X @ v)
        return betas


@dataclass(frozen=True, eq=False)
class GramCore(Core):
    """Q as a matrix."""

    Q: FloatArray

    def margins(self, betas: FloatArray) -> FloatArray:
        """See :meth:`Core.margins`."""
        margins: FloatArray = self.Q @ betas
        return margins

    def solve(self, active: NDArray[np.intp], penalty: float) -> FloatArray:
        """See :meth:`Core.solve`."""
        return _solve_positive(self.Q[np.ix_(active, active)], np.ones(len(active)), penalty)


def _solve_positive(A: FloatArray, b: FloatArray, penalty: float) -> FloatArray:
    """Solve (A + I/C) x = b for a positive semidefinite A, which is overwritten."""
    A.flat[:: len(A) + 1] += 1.0 / penalty
    _, x, failed = lapack.dposv(A, b, lower=1)
    if failed:
        raise KreinflowError(
            "core vector machine: a step could not be solved; the factor is not finite."
        )
    return np.asarray(x)


@dataclass(frozen=True, eq=False)
class CoreVectorSolution:
    """All classes at one penalty.

    Parameters
    ----------
    expansions : list of Expansion
        The functions of the classes; of two classes, that of the second.
    weights, support, squared_radii, n_iter, converged
        The attributes of :class:`CoreVectorMachine`.
    """

    expansions: list[Expansion]
    weights: list[FloatArray]
    support: list[NDArray[np.intp]]
    squared_radii: FloatArray
    n_iter: int
    converged: NDArray[np.bool_]

    @property
    def basis_used(self) -> NDArray[np.intp]:
        """The rows that are support of any class."""
        return np.unique(np.concatenate(self.support))


@dataclass
class _Machine:
    """One class against the rest, at one penalty."""

    targets: FloatArray
    core: CoreSet
    penalty: float
    betas: FloatArray  # of the members of the core set

    @property
    def expansion(self) -> Expansion:
        used = self.betas > 0
        rows = np.array(self.core.members)[used]
        return Expansion(rows, self.targets[rows] * self.betas[used])

    def solve(self, kernel: RowKernel) -> None:
        members = np.array(self.core.members)
        start = np.zeros(len(members))
        start[: len(self.betas)] = self.betas
        self.betas = minimise_squared_hinge(
            kernel.core(members, self.targets[members]), start, self.penalty
        )

    def grow(self, values: FloatArray) -> bool:
        """Let the farthest points join, from the values of the function at all rows."""
        members = self.core.members
        total = float(self.betas.sum())
        products = self.targets * values
        products[members] += self.betas / self.penalty
        products /= total
        weights = self.betas / total
        square = float(weights @ products[members])
        return self.core.grow(products, square, weights, most=max(_BATCH, len(members)))


def core_vector_path(
    kernel: RowKernel, y: IntArray, n_classes: int, penalties: Sequence[float], epsilon: float
) -> list[CoreVectorSolution]:
    """Fit core vector machines of all classes at each of several penalties.

    Each penalty starts from the support vectors of the one before.

    Parameters
    ----------
    kernel : RowKernel
    y : ndarray of shape (N,)
        Class codes, 0 to ``n_classes - 1``; each must occur.
    n_classes : int
    penalties : sequence of float
    epsilon : float

    Raises
    ------
    InputError
        If a class has no row.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        If the ball of a class does not come to cover all points.
    """
    y = np.asarray(y)
    class_counts(y, n_classes)
    classes = fitted_classes(n_classes).tolist()
    machines: list[_Machine] = []
    solutions = []
    with single_threaded():
        for penalty in penalties:
            machines = _start(kernel, y, classes, machines, penalty, epsilon)
            n_iter = _run(kernel, machines)
            solutions.append(_solution(machines, n_classes, n_iter))
    missed = max(int((~solution.converged).sum()) for solution in solutions)
    if missed:
        from sklearn.exceptions import ConvergenceWarning  # a slow import, seldom needed

        warnings.warn(
            f"core vector machine: the core sets of {missed} of {n_classes} classes are full "
            f"({kernel.limit} rows) and do not cover all points, so decisions may be poor. Take a "
            "smaller penalty.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return solutions


def _start(
    kernel: RowKernel,
    y: IntArray,
    classes: Sequence[int],
    before: Sequence[_Machine],
    penalty: float,
    epsilon: float,
) -> list[_Machine]:
    lengths = np.full(len(y), kernel.diagonal.max() + 1.0 + 1.0 / penalty)
    machines = []
    for i, code in enumerate(classes):
        targets = np.where(y == code, 1.0, -1.0)
        if before:
            support = np.flatnonzero(before[i].betas > 0)
            members = [before[i].core.members[place] for place in support]
            betas = before[i].betas[support]
        else:
            members, betas = [int(targets.argmax()), int(targets.argmin())], np.empty(0)
        core = CoreSet(lengths, members, epsilon, kernel.limit, slack=_SLACK * lengths[0])
        machine = _Machine(targets, core, penalty, betas)
        machine.solve(kernel)
        machines.append(machine)
    return machines


def _run(kernel: RowKernel, machines: Sequence[_Machine]) -> int:
    """Grow all core sets until they cover the rows; return the number of passes."""
    running, passes = list(machines), 0
    while running:
        passes += 1
        values = kernel.values([machine.expansion for machine in running])
        running = [m for m, column in zip(running, values.T, strict=True) if m.grow(column)]
        for machine in running:
            machine.solve(kernel)
    return passes


def _solution(machines: Sequence[_Machine], n_classes: int, n_iter: int) -> CoreVectorSolution:
    expansions = [machine.expansion for machine in machines]
    shown = list(machines) * 2 if n_classes == 2 else machines
    used = [machine.expansion for machine in shown]
    weights = [np.abs(e.coefficients) / np.abs(e.coefficients).sum() for e in used]
    return CoreVectorSolution(
        expansions=expansions,
        weights=weights,
        support=[e.rows for e in used],
        squared_radii=np.array([m.core.squared_radius for m in shown]),
        n_iter=n_iter,
        converged=np.array([m.core.reached for m in shown]),
    )


def minimise_squared_hinge(core: Core, betas: FloatArray, penalty: float) -> FloatArray:
    r"""Return the dual optimum of the squared hinge loss on a core set.

    .. math:: \min_f\ \|f\|^2/2 + \frac{C}{2} \sum_i \max(0, 1 - y_i f_i)^2, \qquad
              f = \sum_i \beta_i y_i (k(\cdot, x_i) + 1), \quad
              \beta_i = C \max(0, 1 - y_i f_i),

    by Newton's method over the rows of margin below 1 (each step solves (Q + I/C) beta = 1 over
    them) with an exact line search, until these rows stay the same.

    Parameters
    ----------
    core : Core
    betas : ndarray of shape (n,)
        Where to start.
    penalty : float
        C.

    References
    ----------
    S. S. Keerthi, D. DeCoste (2005), A modified finite Newton method for fast solution of large
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
    """Return the t where d/dt of the objective at margins + t slope is zero.

    It is linear + t curvature - C sum (1 - margins - t slope) slope over the rows of margin below
    1: continuous, rising, and linear between the points where a row reaches a margin of 1.
    """
    gaps = 1.0 - margins
    active = (gaps > 0) | ((gaps == 0) & (slope < 0))
    crossing = np.where(active, slope > 0, slope < 0)
    rows = np.flatnonzero(crossing)
    places = gaps[rows] / slope[rows]
    order = np.argsort(places, kind="stable")
    rows, places = rows[order], places[order]
    constants = linear - penalty * float(gaps[active] @ slope[active])
    steepness = curvature + penalty * float(slope[active] @ slope[active])
    leaving = np.where(active[rows], penalty, -penalty)
    constant = constants + np.append(0.0, np.cumsum(leaving * gaps[rows] * slope[rows]))
    rising = steepness - np.append(0.0, np.cumsum(leaving * slope[rows] ** 2))
    piece = int(np.searchsorted(constant[:-1] + rising[:-1] * places, 0.0))
    return float(-constant[piece] / rising[piece])


class CoreVectorLearner(SupportVectorLearner):
    """The core vector machine as recipes name it."""

    method = "cvm"
    needs_positive = True
    references = ("tsang2005", "gisbrecht2015")
    settings_schema: ClassVar[SettingsSchema] = {
        "penalty": PENALTY_SCHEMA,
        "epsilon": {
            "description": "by what fraction of its radius a point may lie outside the ball",
            "type": "number",
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 1,
            "default": EPSILON,
        },
    }

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        return (
            "the core vector machine, one class against the rest, with epsilon = "
            f"{self.settings['epsilon']:g} and {self.describe_penalty()}"
        )

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`; a penalty starts from the support vectors of another."""
        kernel = LinearRows(np.asarray(problem.Z), problem.signs)
        solutions = core_vector_path(
            kernel,
            problem.labels,
            problem.n_classes,
            [choice["penalty"] for choice in choices],
            self.settings["epsilon"],
        )
        return [
            Fitted(
                folded(
                    problem,
                    *with_mirror(*kernel.functions(solution.expansions), problem.n_classes),
                ),
                basis_used=len(solution.basis_used) / len(problem.labels),
                iterations=solution.n_iter,
                converged=bool(solution.converged.all()),
            )
            for solution in solutions
        ]
