"""scikit-learn's support vector classifier on the corrected factor; on flip, the Krein SVM."""

import warnings
from collections.abc import Sequence

import numpy as np

from kreinflow.base.numerics import single_threaded
from kreinflow.learners.learner import Choice, Fitted, Problem, folded
from kreinflow.learners.moments import class_counts
from kreinflow.learners.one_against_rest import fitted_classes
from kreinflow.learners.support_vectors import SupportVectorLearner, mean_square

_TOLERANCE = 1e-5  # of the optimality conditions; libsvm's own default, 1e-3, is coarse
_MAX_STEPS = 10_000_000


class FactorSVCLearner(SupportVectorLearner):
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

    References
    ----------
    .. [1] G. Loosli, S. Canu, C. S. Ong (2016), Learning SVM in Krein spaces, IEEE TPAMI 38,
       1204-1216.
    """

    method = "svc"
    needs_symmetric = True
    needs_positive = True
    references = ("loosli2016", "pedregosa2011")

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        return (
            "a support vector classifier (with flipped eigenvalues: the Krein SVM), one class "
            f"against the rest, with {self.describe_penalty()}, a baseline"
        )

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`; negative signs, and rows that are all zero, are refused too."""
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.svm import SVC  # importing it takes a second

        Z, y, n_classes = np.asarray(problem.Z), problem.labels, problem.n_classes
        class_counts(y, n_classes)
        root = np.sqrt(mean_square(Z, problem.signs))
        X = Z / root
        fits = []
        for choice in choices:
            machines = []
            with single_threaded(), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # Fitted.converged says it
                for code in fitted_classes(n_classes):
                    machine = SVC(
                        kernel="linear", C=choice["penalty"], tol=_TOLERANCE, max_iter=_MAX_STEPS
                    )
                    machines.append(machine.fit(X, y == code))
            coef = np.column_stack([machine.coef_[0] for machine in machines]) / root
            intercept = np.array([machine.intercept_[0] for machine in machines])
            support = np.unique(np.concatenate([machine.support_ for machine in machines]))
            fits.append(
                Fitted(
                    folded(problem, coef, intercept),
                    basis_used=len(support) / len(y),
                    iterations=max(int(machine.n_iter_[0]) for machine in machines),
                    converged=all(machine.fit_status_ == 0 for machine in machines),
                )
            )
        return fits
