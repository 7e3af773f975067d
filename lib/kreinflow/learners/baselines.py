"""Two classifiers on the landmark scores themselves, to measure the others against."""

from collections.abc import Sequence

import numpy as np

from kreinflow.errors import InputError
from kreinflow.learners.decisions import LinearDecision, NearestDecision
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem
from kreinflow.learners.linear import LinearEstimator
from kreinflow.learners.moments import class_counts
from kreinflow.learners.one_against_rest import with_mirror
from kreinflow.learners.support_vectors import standardisation
from kreinflow.numerics import FloatArray, IntArray, single_threaded, tile_map


class NearestLandmarkLearner(Learner):
    """The class of the nearest landmark: there is nothing to learn."""

    method = "nearest_landmark"
    by_tiles = True

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        return "the nearest landmark, a baseline"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`."""
        codes = np.arange(problem.n_classes)
        members = (problem.landmarks.classes[:, None] == codes).astype(np.float64)
        return [Fitted(NearestDecision(members)) for _ in choices]

    def decide(self, fitted: Fitted, problem: Problem) -> FloatArray:
        """See :meth:`Learner.decide`; a record does not find itself among the landmarks."""
        near = problem.nearness

        def decide(tile: slice) -> FloatArray:
            rows = near[tile]
            others = np.where(problem.itself(tile), rows.min(axis=1, keepdims=True), rows)
            return fitted.decision.decide(others)

        return np.concatenate([np.empty((0, problem.n_classes)), *tile_map(decide, len(near))])


class LandmarkLinearSVC(LinearEstimator):
    r"""scikit-learn's ``LinearSVC`` on the landmark scores, one class against the rest.

    The penalty is not invariant to scale: so the scores with each landmark are centred, divided by
    their standard deviation in the training rows, and by :math:`\sqrt m`, which gives rows a mean
    squared norm of 1, like a kernel of unit diagonal. Squared hinge loss:

    .. math:: \min_{w, b}\ (w'w + b^2)/2 + C \sum_i \max(0, 1 - y_i (w'x_i + b))^2 .

    The scaling is folded into the weights, so decisions are linear in the raw landmark scores.

    Parameters
    ----------
    penalty : float
        C of the formula.
    random_state : int
        For the order in which the dual coordinate descent visits the rows.

    Attributes
    ----------
    coef_ : ndarray of shape (m, n_classes)
    intercept_ : ndarray of shape (n_classes,)
        Of two classes, the first is the negative of the second.

    References
    ----------
    R.-E. Fan, K.-W. Chang, C.-J. Hsieh, X.-R. Wang, C.-J. Lin (2008), LIBLINEAR, JMLR 9.
    """

    def __init__(self, penalty: float = 1.0, random_state: int = 0) -> None:
        if not (np.isfinite(penalty) and penalty > 0):
            raise InputError(f"penalty: {penalty} is not a positive number. Give one such.")
        self.penalty = penalty
        self.random_state = random_state

    def fit(self, C: FloatArray, y: IntArray, n_classes: int) -> "LandmarkLinearSVC":
        """Fit all classes.

        Parameters
        ----------
        C : ndarray of shape (N, m)
            Transformed scores with the landmarks.
        y : ndarray of shape (N,)
            Class codes, 0 to ``n_classes - 1``; each must occur.
        n_classes : int

        Raises
        ------
        InputError
            If a class has no row.
        """
        from sklearn.svm import LinearSVC  # importing it takes a second

        class_counts(y, n_classes)
        mean, deviation = standardisation(C)
        deviation *= np.sqrt(C.shape[1])
        with single_threaded():
            machine = LinearSVC(C=self.penalty, dual=True, random_state=self.random_state)
            machine.fit((C - mean) / deviation, y)
            coef = np.ascontiguousarray(machine.coef_.T / deviation[:, None])
            intercept = machine.intercept_ - mean @ coef
        self.coef_, self.intercept_ = with_mirror(coef, intercept, n_classes)
        return self


class LinearSVCLearner(Learner):
    """The baseline as recipes name it."""

    method = "linear_svc"
    references = ("pedregosa2011",)

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        return "a linear support vector classifier on the landmark scores, a baseline"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`."""
        baseline = LandmarkLinearSVC(random_state=problem.seed)
        baseline.fit(np.asarray(problem.C), problem.labels, problem.n_classes)
        return [Fitted(LinearDecision(baseline.coef_, baseline.intercept_)) for _ in choices]
