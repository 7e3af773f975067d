"""What the probabilistic classification vector machines share: their basis functions."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem, folded

BASES: Mapping[str, str] = {"landmarks": "the landmarks", "all": "all training points"}
"""The places of basis functions, and how texts name them."""

BASIS_SCHEMA: Mapping[str, Any] = {
    "description": "where basis functions may be: at the landmarks, or all training points",
    "enum": list(BASES),
    "default": "landmarks",
}


@dataclass(frozen=True, eq=False)
class BasisFunctions:
    """What is left of the basis functions of all classes, and the steps that this took.

    Of two classes, these are those of the second: the first is its mirror image.

    Parameters
    ----------
    coef : ndarray of shape (r, n_fitted)
        What the weights are on z.
    intercept : ndarray of shape (n_fitted,)
    weights : list of ndarray
        Positive weights of each class.
    active : list of ndarray
        Training rows that these weights belong to.
    n_iter : ndarray of shape (n_fitted,)
    converged : ndarray of shape (n_fitted,) of bool
    basis_used : float
        Share of training rows with a weight in any class.
    """

    coef: FloatArray
    intercept: FloatArray
    weights: list[FloatArray]
    active: list[NDArray[np.intp]]
    n_iter: NDArray[np.intp]
    converged: NDArray[np.bool_]
    basis_used: float


class BasisFunctionLearner(Learner):
    """A learner of sparse positive weights of basis functions; ``basis`` says where they may be.

    The kernel need not be symmetric: the function of record i is the column k~(., x_i) = Z y_i,
    with y_i of :meth:`~kreinflow.learners.learner.Problem.functions`.
    """

    @abstractmethod
    def solve(self, problem: Problem) -> BasisFunctions:
        """Find the weights; see :meth:`Learner.fit`.

        Raises
        ------
        InputError
            If a class has no row, no landmark is among the rows, or the kernel is zero.

        Warns
        -----
        sklearn.exceptions.ConvergenceWarning
            Once, if a class has not converged after ``max_iter`` steps.
        """

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`."""
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

    def places(self, problem: Problem) -> NDArray[np.intp]:
        """Return the records that basis functions may be at."""
        if self.settings["basis"] == "all":
            return np.arange(len(problem.labels))
        if not len(problem.landmark_records):
            raise InputError(
                "basis: no landmark is among the records to learn from. Take more landmarks, or "
                "basis: all."
            )
        return np.asarray(problem.landmark_records)
