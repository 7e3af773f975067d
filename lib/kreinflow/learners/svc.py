"""scikit-learn's support vector classifier on the corrected factor; on flip, the Krein SVM."""

import warnings
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

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
from kreinflow.numerics import FloatArray, IntArray, single_threaded
from kreinflow.settings import SettingsSchema

_TOLERANCE = 1e-5  # of the optimality conditions; libsvm's own default, 1e-3, is coarse
_MAX_STEPS = 10_000_000


class FactorSVC(LinearEstimator):
    r"""scikit-learn's ``SVC`` on a factor without negative signs, one class against the rest.

    .. math:: \min_{w, b}\ w'w/2 + C \sum_i \max(0, 1 - y_i (w'z_i/\sqrt\kappa + b)),
              \qquad \kappa = {\textstyle\sum}_i z_i'z_i / N .

    The same as with the N x N matrix :math:`Z Z'/\kappa` as a precomputed kernel, but in memory
    of Z; time grows between N^2 and N^3.

    With the correction flip this is the Krein SVM of [1]_. That one solves the machine on
    :math:`|K| = U |D| U'` for the dual variables a (times their targets), takes
    :math:`\alpha = U S U' a` with the signs S of D, and predicts with the *indefinite* kernel,
    :math:`f(x) = k(x)'\alpha + b`. In the eigenbasis :math:`k(x) = Z S z(x)` and
    :math:`Z' U S U' = S Z'`, so the signs cancel: :math:`k(x)'\alpha = z(x)' Z' a` is the machine
    on the flipped factor, out of sample too (oglic2019, proposition 3).

    Parameters
    ----------
    penalty : float
        C, for a kernel of mean diagonal 1.

    Attributes
    ----------
    coef_ : ndarray of shape (r, n_classes)
    intercept_ : ndarray of shape (n_classes,)
        Of two classes, the first is the negative of the second.
    support_ : list of ndarray
        The support vectors of each class, as rows of Z.
    n_iter_ : ndarray of shape (n_classes,)
    converged_ : ndarray of shape (n_classes,) of bool

    References
    ----------
    .. [1] G. Loosli, S. Canu, C. S. Ong (2016), Learning SVM in Krein spaces, IEEE TPAMI 38,
       1204-1216.
    """

    support_: list[NDArray[np.intp]]
    n_iter_: NDArray[np.intp]
    converged_: NDArray[np.bool_]

    def __init__(self, penalty: float = 1.0) -> None:
        check_penalty(penalty)
        self.penalty = penalty

    def fit(self, Z: FloatArray, signs: FloatArray, y: IntArray, n_classes: int) -> "FactorSVC":
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
            If a sign is negative, a class has no row, or all rows are zero.
        """
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import SVC  # importing it takes a second

        y = np.asarray(y)
        class_counts(y, n_classes)
        root = np.sqrt(mean_square(Z, signs))
        X = Z / root
        machines = []
        with single_threaded(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # converged_ says it
            for code in fitted_classes(n_classes):
                machine = SVC(kernel="linear", C=self.penalty, tol=_TOLERANCE, max_iter=_MAX_STEPS)
                machines.append(machine.fit(X, y == code))
        coef = np.column_stack([machine.coef_[0] for machine in machines]) / root
        intercept = np.array([machine.intercept_[0] for machine in machines])
        self.coef_, self.intercept_ = with_mirror(coef, intercept, n_classes)
        machines = machines * 2 if n_classes == 2 else machines
        self.support_ = [np.asarray(machine.support_, dtype=np.intp) for machine in machines]
        self.n_iter_ = np.array([int(machine.n_iter_[0]) for machine in machines])
        self.converged_ = np.array([machine.fit_status_ == 0 for machine in machines])
        return self


class FactorSVCLearner(SupportVectorLearner):
    """The support vector classifier as recipes name it."""

    method = "svc"
    needs_positive = True
    references = ("loosli2016", "pedregosa2011")
    settings_schema: ClassVar[SettingsSchema] = {"penalty": PENALTY_SCHEMA}

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        return (
            "a support vector classifier (with flipped eigenvalues: the Krein SVM), one class "
            f"against the rest, with {self.describe_penalty()}, a baseline"
        )

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`."""
        Z, fits = np.asarray(problem.Z), []
        for choice in choices:
            machine = FactorSVC(choice["penalty"]).fit(
                Z, problem.signs, problem.labels, problem.n_classes
            )
            fits.append(
                Fitted(
                    folded(problem, machine.coef_, machine.intercept_),
                    basis_used=len(np.unique(np.concatenate(machine.support_)))
                    / len(problem.labels),
                    iterations=int(machine.n_iter_.max()),
                    converged=bool(machine.converged_.all()),
                )
            )
        return fits
