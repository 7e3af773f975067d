"""What the probabilistic classification vector machines share: where basis functions may be."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.learners.learner import Fitted, Problem, folded
from kreinflow.learners.linear import LinearEstimator
from kreinflow.numerics import FloatArray, IntArray

BASES: Mapping[str, str] = {"landmarks": "the landmarks", "all": "all training points"}
"""The places of basis functions, and how texts name them."""

BASIS_SCHEMA: Mapping[str, Any] = {
    "description": "where basis functions may be: at the landmarks, or all training points",
    "enum": list(BASES),
    "default": "landmarks",
}


def check_basis(basis: str) -> None:
    """Refuse what is none of :data:`BASES`.

    Raises
    ------
    InputError
    """
    if basis not in BASES:
        raise InputError(f"basis: {basis!r} is unknown. Use one of {', '.join(BASES)}.")


def basis_places(basis: str, basis_rows: IntArray | None, n: int) -> NDArray[np.intp]:
    """Return the rows that basis functions may be at, of n.

    Parameters
    ----------
    basis : {"landmarks", "all"}
    basis_rows : ndarray of int
        The landmarks.
    n : int

    Raises
    ------
    InputError
        If the landmarks are wanted, and there are none.
    """
    if basis == "all":
        return np.arange(n)
    if basis_rows is None or len(basis_rows) == 0:
        raise InputError("basis: 'landmarks' needs the rows of the landmarks. Give basis_rows.")
    return np.asarray(basis_rows)


class BasisFunctionMachine(LinearEstimator):
    """What is left of the basis functions of all classes, and the steps that this took."""

    weights_: list[FloatArray]
    active_: list[NDArray[np.intp]]
    n_iter_: NDArray[np.intp]
    converged_: NDArray[np.bool_]
    complexity_: float

    def fitted(self, problem: Problem) -> Fitted:
        """Return it as a learner's, once it is fitted to the problem."""
        return Fitted(
            folded(problem, self.coef_, self.intercept_),
            basis_used=self.complexity_,
            iterations=int(self.n_iter_.max()),
            converged=bool(self.converged_.all()),
        )
