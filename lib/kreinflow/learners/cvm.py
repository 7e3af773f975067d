"""The core vector machine: a support vector machine as the smallest ball around its points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, IntArray, single_threaded, tiled_product, tiles
from kreinflow.base.settings import SettingsSchema, number
from kreinflow.kernels.products import elm_expansion, elm_kernel
from kreinflow.landmarks.meb import CoreSet
from kreinflow.learners.decisions import Decision
from kreinflow.learners.learner import Choice, Fitted, Problem, folded
from kreinflow.learners.moments import class_counts
from kreinflow.learners.one_against_rest import fitted_classes
from kreinflow.learners.squared_hinge import Core, GramCore, LinearCore, minimise_squared_hinge
from kreinflow.learners.support_vectors import SupportVectorLearner, mean_square

EPSILON = 1e-9
"""By what fraction of the radius a point may lie outside the ball, unless told otherwise."""

_BATCH = 20  # points that may join a small core set at once
_SLACK = 1e-12  # of the squared distances, that counts as rounding


class CoreVectorLearner(SupportVectorLearner):
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
    :math:`\eta - \tilde K_{ii}`, which the centre does not have. The ball of a core set, on which
    the solution is exact, grows until all points lie within R (1 + epsilon). The farthest points
    join, as many at once as there are already, after a pass over the rows that all classes share,
    O(N r K). The decisions are divided by :math:`\rho`: f minimises
    :math:`\|w\|^2 + b^2 + C \sum_i \max(0, 1 - y_i f(z_i))^2`. The minimum P of that comes out
    too large by a share of up to about :math:`2 \epsilon \eta P`, so the 1e-6 of the authors is
    too coarse for a large penalty on many rows of classes that overlap.

    Sources: tsang2005; Tsang, Kwok, Zurada (2006), Generalized core vector machines, IEEE TNN 17.
    """

    method = "cvm"
    needs_symmetric = True
    needs_positive = True
    references = ("tsang2005", "gisbrecht2015")
    settings_schema: ClassVar[SettingsSchema] = {
        **SupportVectorLearner.settings_schema,
        "epsilon": number(
            "by what fraction of its radius a point may lie outside the ball",
            EPSILON,
            exclusiveMinimum=0,
            exclusiveMaximum=1,
        ),
    }

    def describe(self) -> str:
        how = f"with epsilon = {self.settings['epsilon']:g} and {self.describe_penalty()}"
        return f"the core vector machine, one class against the rest, {how}"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        kernel = LinearRows(np.asarray(problem.Z), problem.signs)
        penalties = [choice["penalty"] for choice in choices]
        y, epsilon = problem.labels, self.settings["epsilon"]
        return [
            found.fitted(folded(problem, *kernel.functions(found.expansions)), len(y))
            for found in core_vector_path(kernel, y, problem.n_classes, penalties, epsilon)
        ]


class Expansion(NamedTuple):
    """The function sum_j k(., x_j) c_j + sum_j c_j over some rows j."""

    rows: NDArray[np.intp]
    coefficients: FloatArray


class LinearRows:
    """The kernel Z Z'/kappa of the rows of a factor whose signs must all be positive.

    ``diagonal`` is that of the kernel, and ``limit`` the number of rows that a core set may have.
    """

    def __init__(self, Z: FloatArray, signs: FloatArray) -> None:
        self.Z = Z
        self.scale = mean_square(Z, signs)
        self.diagonal = np.einsum("ij,ij->i", Z, Z) / self.scale
        self.limit = len(Z)

    def functions(self, expansions: Sequence[Expansion]) -> tuple[FloatArray, FloatArray]:
        """Return the expansions as weights and intercepts on z, of shape (r, k) and (k,)."""
        with single_threaded():
            coef = np.column_stack([self.Z[e.rows].T @ e.coefficients for e in expansions])
        return coef / self.scale, np.array([e.coefficients.sum() for e in expansions])

    def values(self, expansions: Sequence[Expansion]) -> FloatArray:
        """Return the functions at all rows, of shape (N, n_expansions)."""
        coef, intercept = self.functions(expansions)
        return tiled_product(self.Z, coef) + intercept

    def core(self, rows: NDArray[np.intp], targets: FloatArray) -> Core:
        X = np.empty((len(rows), self.Z.shape[1] + 1))
        np.divide(self.Z[rows], np.sqrt(self.scale), out=X[:, :-1])
        X[:, -1] = 1.0
        X *= targets[:, None]
        return LinearCore(X)


def side_by_side(expansions: Sequence[Expansion]) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the rows of all expansions, and the coefficients of each as a column."""
    rows = np.unique(np.concatenate([expansion.rows for expansion in expansions]))
    coefficients = np.zeros((len(rows), len(expansions)))
    for column, expansion in enumerate(expansions):
        coefficients[np.searchsorted(rows, expansion.rows), column] = expansion.coefficients
    return rows, coefficients


class ELMRows:
    """The ELM kernel of rows of features; never more than a core set of it in memory."""

    def __init__(self, X: FloatArray) -> None:
        self.X = X
        self.diagonal = np.ones(len(X))  # but for 1/(2 sigma^2), which is nothing
        self.limit = 8000  # the kernel of a core set is held in memory

    def values(self, expansions: Sequence[Expansion]) -> FloatArray:
        rows, coefficients = side_by_side(expansions)
        values = elm_expansion(self.X, self.X[rows], coefficients)
        values += coefficients.sum(axis=0)
        return values

    def core(self, rows: NDArray[np.intp], targets: FloatArray) -> Core:
        X = self.X[rows]
        Q = np.empty((len(X), len(X)))
        for one in tiles(len(X)):  # the kernel makes copies of what it works on
            for other in tiles(len(X)):
                Q[one, other] = elm_kernel(X[one], X[other])
        Q += 1.0
        Q *= targets[:, None]
        Q *= targets
        return GramCore(Q)


RowKernel = LinearRows | ELMRows


class CoreVectorSolution(NamedTuple):
    """The functions of all classes that are fitted, at one penalty, after so many passes."""

    expansions: list[Expansion]
    n_iter: int
    converged: bool  # the balls of all classes cover all points

    def fitted(self, decision: Decision, n: int) -> Fitted:
        """Return what a learner returns, of n rows, with the expansions as a decision."""
        used = np.unique(np.concatenate([expansion.rows for expansion in self.expansions]))
        return Fitted(decision, len(used) / n, self.n_iter, self.converged)


@dataclass
class _CoreVectorMachine:
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
        core = kernel.core(members, self.targets[members])
        self.betas = minimise_squared_hinge(core, start, self.penalty)

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
    """Fit core vector machines of all classes at each penalty, from the one before."""
    class_counts(y, n_classes)
    targets = [np.where(y == code, 1.0, -1.0) for code in fitted_classes(n_classes)]
    starts = [([int(t.argmax()), int(t.argmin())], np.empty(0)) for t in targets]
    solutions = []
    with single_threaded():
        for penalty in penalties:
            lengths = np.full(len(y), kernel.diagonal.max() + 1.0 + 1.0 / penalty)
            slack = _SLACK * lengths[0]
            machines = [
                _CoreVectorMachine(
                    own, CoreSet(lengths, members, epsilon, kernel.limit, slack), penalty, betas
                )
                for own, (members, betas) in zip(targets, starts, strict=True)
            ]
            for machine in machines:
                machine.solve(kernel)
            running, n_iter = machines, 0
            while running:
                n_iter += 1
                values = kernel.values([machine.expansion for machine in running]).T
                running = [m for m, own in zip(running, values, strict=True) if m.grow(own)]
                for machine in running:
                    machine.solve(kernel)
            expansions = [machine.expansion for machine in machines]
            converged = all(machine.core.reached for machine in machines)
            solutions.append(CoreVectorSolution(expansions, n_iter, converged))
            starts = [(m.expansion.rows.tolist(), m.betas[m.betas > 0]) for m in machines]
    return solutions
