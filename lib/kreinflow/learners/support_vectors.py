"""Support vector machines on a kernel of mean diagonal 1; scikit-learn's; on flip, Krein SVM."""

import warnings
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import scipy

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.base.settings import SettingsSchema
from kreinflow.learners.hyper_parameters import (
    LARGEST_PENALTY,
    PENALTIES,
    in_words,
    number_or_inner,
)
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem, folded
from kreinflow.learners.moments import class_counts
from kreinflow.learners.one_against_rest import fitted_classes

_TOLERANCE = 1e-5  # of the optimality conditions; libsvm's own default, 1e-3, is coarse
_MAX_STEPS = 10_000_000


class SupportVectorLearner(Learner):
    """A learner with the penalty C, for a kernel of mean diagonal 1."""

    settings_schema: ClassVar[SettingsSchema] = {
        "penalty": number_or_inner(
            "C, for a kernel of mean diagonal 1; inner: chosen on the inner folds",
            exclusiveMinimum=0,
            maximum=LARGEST_PENALTY,
        )
    }
    grids: Mapping[str, Sequence[float]] = {"penalty": PENALTIES}

    def describe_penalty(self) -> str:
        return f"C {in_words(self.settings['penalty'], '= {:g}')}"


def mean_square(Z: FloatArray, signs: FloatArray) -> float:
    """Return the mean diagonal of the kernel Z Z'; InputError if a sign is negative, or Z zero."""
    negative = int(np.count_nonzero(np.asarray(signs) < 0))
    if negative:
        raise InputError(
            f"support vector machine: the kernel has {negative} negative eigenvalues, so its dual "
            "has no single optimum. Give the recipe a correction: flip, clip, square or shift."
        )
    scale = float(np.einsum("ij,ij->", Z, Z)) / len(Z)
    if not (np.isfinite(scale) and scale > 0):
        raise InputError(
            "support vector machine: all training rows are zero (or not finite), so nothing can be "
            "learned: choose other landmarks, or check the scores."
        )
    return scale


def standardisation(C: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the standard deviation of each column; 1 for a constant one."""
    mean, deviation = C.mean(axis=0), C.std(axis=0)
    deviation[deviation <= 1e-12 * np.abs(mean)] = 1.0  # it tells nothing
    return mean, deviation


class FactorSVCLearner(SupportVectorLearner):
    r"""scikit-learn's ``SVC`` on a factor without negative signs, one class against the rest.

    .. math:: \min_{w, b}\ w'w/2 + C \sum_i \max(0, 1 - y_i (w'z_i/\sqrt\kappa + b)),
              \qquad \kappa = {\textstyle\sum}_i z_i'z_i / N :

    the machine of the precomputed kernel :math:`Z Z'/\kappa`, in three times the memory of Z at
    most; time grows between N^2 and N^3.

    With the correction flip this is the Krein SVM of loosli2016, which has the dual variables a of
    :math:`|K| = U |D| U'` and predicts with the *indefinite* kernel, :math:`k(x)' U S U' a + b`. As
    :math:`k(x) = Z S z(x)` and :math:`Z' U S U' = S Z'`, the signs cancel (oglic2019, proposition
    3).
    """

    method = "svc"
    needs_symmetric = True
    needs_positive = True
    references = ("loosli2016", "pedregosa2011")

    def describe(self) -> str:
        machine = "a support vector classifier (with flipped eigenvalues: the Krein SVM)"
        return f"{machine}, one class against the rest, with {self.describe_penalty()}, a baseline"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        from sklearn import config_context, exceptions, svm  # importing it takes a second

        Z, y, n_classes = np.asarray(problem.Z), problem.labels, problem.n_classes
        class_counts(y, n_classes)
        root = np.sqrt(mean_square(Z, problem.signs))
        X = given = Z / root
        settings = {"kernel": "linear", "gamma": 1.0, "tol": _TOLERANCE, "max_iter": _MAX_STEPS}
        if len(X) <= 2 * X.shape[1]:  # one kernel for all machines; with the same bits
            settings["kernel"] = "precomputed"
            with single_threaded():
                given = X @ X.T
                given[np.diag_indices(len(X))] = [scipy.linalg.blas.ddot(x, x) for x in X]
        fits = []
        for choice in choices:
            # What is given is finite, and checks of it would take as long as a small fit.
            unchecked = config_context(assume_finite=True, skip_parameter_validation=True)
            with single_threaded(), warnings.catch_warnings(), unchecked:
                warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
                machines = [
                    svm.SVC(C=choice["penalty"], **settings).fit(given, y == code)
                    for code in fitted_classes(n_classes)
                ]
                coef = np.column_stack([own.dual_coef_[0] @ X[own.support_] for own in machines])
            coef /= root
            intercept = np.array([machine.intercept_[0] for machine in machines])
            support = np.unique(np.concatenate([machine.support_ for machine in machines]))
            steps = max(int(machine.n_iter_[0]) for machine in machines)
            reached = all(machine.fit_status_ == 0 for machine in machines)
            decision = folded(problem, coef, intercept)
            fits.append(Fitted(decision, len(support) / len(y), steps, reached))
        return fits
