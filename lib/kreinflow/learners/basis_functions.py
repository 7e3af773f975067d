"""The basis functions of the probabilistic classification vector machines."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.base.settings import SettingsSchema
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem, folded
from kreinflow.learners.moments import class_counts
from kreinflow.learners.one_against_rest import warn_missed

BASES: Mapping[str, str] = {"landmarks": "the landmarks", "all": "all training points"}
"""The places of basis functions, and how texts name them."""


def basis_schema(steps: str, default: int) -> SettingsSchema:
    """Return the schema of the settings, with what counts as a step and how many may be made."""
    return {
        "basis": {
            "description": "where basis functions may be: at the landmarks, or all training points",
            "enum": list(BASES),
            "default": "landmarks",
        },
        "max_iter": {
            "description": steps,
            "type": "integer",
            "minimum": 1,
            "default": default,
        },
    }


class SparseFunction(NamedTuple):
    """What one class against the rest came to: f = sum_i c_i k~(., x_i) / scale + b."""

    rows: NDArray[np.intp]  # training rows of the functions that are left
    weights: FloatArray  # of these, positive
    coefficients: FloatArray  # c: the weights with the targets of the rows
    intercept: float
    n_iter: int
    converged: bool


@dataclass(frozen=True, eq=False)
class BasisFunctions:
    """What is left of the basis functions of all classes that are fitted."""

    coef: FloatArray  # (r, n_fitted), the weights on z
    intercept: FloatArray
    weights: list[FloatArray]
    active: list[NDArray[np.intp]]  # training rows that the weights belong to
    n_iter: NDArray[np.intp]
    converged: NDArray[np.bool_]
    basis_used: float  # share of training rows with a weight in any class


class BasisFunctionLearner(Learner):
    """A learner of sparse positive weights of basis functions; ``basis`` says where they may be.

    The kernel need not be symmetric: the function of record i is the column k~(., x_i) = Z y_i,
    with y_i of :meth:`~kreinflow.learners.learner.Problem.functions`.
    """

    title: ClassVar[str]
    how: ClassVar[str]  # it finds the functions, {} being their places

    def describe(self) -> str:
        places = BASES[self.settings["basis"]]
        return f"{self.title}, one class against the rest, {self.how.format(places)}"

    @abstractmethod
    def grow(
        self, problem: Problem, basis: NDArray[np.intp]
    ) -> tuple[Sequence[SparseFunction], float]:
        """Return the function of each class that is fitted, and the scale of the kernel."""

    def solve(self, problem: Problem) -> BasisFunctions:
        """Find the weights.

        InputError if a class has no row, no landmark is among the rows, or the kernel is zero. One
        ConvergenceWarning if a class has not converged after ``max_iter`` steps.
        """
        y, n_classes = problem.labels, problem.n_classes
        class_counts(y, n_classes)
        basis = self._places(problem)
        with single_threaded():
            found, scale = self.grow(problem, basis)
            coef = [problem.functions(f.rows).T @ f.coefficients for f in found]
        converged = np.array([f.converged for f in found])
        advice = f"had not converged after {self.settings['max_iter']} steps. Raise max_iter."
        warn_missed(converged, n_classes, f"{self.title}: {{}} {advice}")
        return BasisFunctions(
            np.column_stack(coef) / scale,
            intercept=np.array([f.intercept for f in found]),
            weights=[f.weights for f in found],
            active=[f.rows for f in found],
            n_iter=np.array([f.n_iter for f in found]),
            converged=converged,
            basis_used=len(np.unique(np.concatenate([f.rows for f in found]))) / len(y),
        )

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        found = self.solve(problem)
        lost = np.array([len(weights) == 0 for weights in found.weights])
        fitted = Fitted(
            folded(problem, found.coef, found.intercept),
            basis_used=found.basis_used,
            iterations=int(found.n_iter.max()),
            converged=bool(found.converged.all()),
            notes={"unlearned": np.resize(lost, problem.n_classes)},
        )
        return [fitted for _ in choices]

    def _places(self, problem: Problem) -> NDArray[np.intp]:
        """Return the records that basis functions may be at."""
        if self.settings["basis"] == "all":
            return np.arange(len(problem.labels))
        if not len(problem.landmark_records):
            raise InputError(
                "basis: no landmark is among the records to learn from. Take more landmarks, or "
                "basis: all."
            )
        return np.asarray(problem.landmark_records)
