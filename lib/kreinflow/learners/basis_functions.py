"""The basis functions of the probabilistic classification vector machines."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.base.settings import SettingsSchema, number, one_of
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem, folded
from kreinflow.learners.moments import class_counts

BASES: Mapping[str, str] = {"landmarks": "the landmarks", "all": "all training points"}
"""The places of basis functions, and how texts name them."""


def basis_schema(steps: str, default: int) -> SettingsSchema:
    """Return the schema of the settings, with what counts as a step and how many may be made."""
    return {
        "basis": one_of(*BASES, about="basis functions: at the landmarks, or all training points"),
        "max_iter": number(steps, default, type="integer", minimum=1),
    }


class SparseFunction(NamedTuple):
    """What one class against the rest came to: f = sum_i c_i k~(., x_i) / scale + b."""

    rows: NDArray[np.intp]  # training rows of the functions that are left
    weights: FloatArray  # of these, positive
    coefficients: FloatArray  # c: the weights with the targets of the rows
    intercept: float
    n_iter: int
    converged: bool
    coef: FloatArray = np.empty(0)  # of f as a function of z


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

    def solve(self, problem: Problem) -> list[SparseFunction]:
        """Return the function of each class that is fitted.

        InputError if a class has no row, no landmark is among the rows, or the kernel is zero.
        """
        class_counts(problem.labels, problem.n_classes)
        with single_threaded():
            found, scale = self.grow(problem, self._places(problem))
            coefs = [problem.functions(f.rows).T @ f.coefficients / scale for f in found]
        return [f._replace(coef=coef) for f, coef in zip(found, coefs, strict=True)]

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        found = self.solve(problem)
        coef = np.column_stack([f.coef for f in found])
        intercept = np.array([f.intercept for f in found])
        used = np.unique(np.concatenate([f.rows for f in found]))
        lost = np.array([not len(f.rows) for f in found])
        fitted = Fitted(
            folded(problem, coef, intercept),
            basis_used=len(used) / len(problem.labels),
            iterations=max(f.n_iter for f in found),
            converged=all(f.converged for f in found),
            notes={"unlearned": np.resize(lost, problem.n_classes)},
        )
        return [fitted for _ in choices]

    def _places(self, problem: Problem) -> NDArray[np.intp]:
        if self.settings["basis"] == "all":
            return np.arange(len(problem.labels))
        if not len(problem.landmark_records):
            raise InputError(
                "basis: no landmark is among the records to learn from. Take more landmarks, or "
                "basis: all."
            )
        return np.asarray(problem.landmark_records)
