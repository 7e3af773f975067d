"""Two classifiers on the landmark scores themselves, to measure the others against."""

from collections.abc import Sequence

import numpy as np

from kreinflow.base.numerics import FloatArray, single_threaded, tile_map
from kreinflow.learners.decisions import LinearDecision, NearestDecision
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem
from kreinflow.learners.moments import class_counts
from kreinflow.learners.one_against_rest import with_mirror
from kreinflow.learners.support_vectors import standardisation


class NearestLandmarkLearner(Learner):
    """The class of the nearest landmark: there is nothing to learn."""

    method = "nearest_landmark"
    needs_factor = False
    by_tiles = True
    linear = False

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        return "the nearest landmark, a baseline"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`."""
        codes = np.arange(problem.n_classes)
        members = (problem.landmarks.classes[:, None] == codes).astype(np.float64)
        notes = {"unlearned": ~members.any(axis=0)}
        return [Fitted(NearestDecision(members), notes=notes) for _ in choices]

    def decide(self, fitted: Fitted, problem: Problem) -> FloatArray:
        """See :meth:`Learner.decide`; a record does not find itself among the landmarks."""
        near = problem.nearness

        def decide(tile: slice) -> FloatArray:
            rows = near[tile]
            others = np.where(problem.itself(tile), rows.min(axis=1, keepdims=True), rows)
            return fitted.decision.decide(others)

        return np.concatenate([np.empty((0, problem.n_classes)), *tile_map(decide, len(near))])


class LinearSVCLearner(Learner):
    r"""scikit-learn's ``LinearSVC`` on the landmark scores, one class against the rest.

    The penalty is not invariant to scale: so the scores with each landmark are centred, divided by
    their standard deviation in the training rows, and by :math:`\sqrt m`, which gives rows a mean
    squared norm of 1, like a kernel of unit diagonal. Squared hinge loss, with C = 1:

    .. math:: \min_{w, b}\ (w'w + b^2)/2 + C \sum_i \max(0, 1 - y_i (w'x_i + b))^2 .

    The scaling is folded into the weights, so decisions are linear in the raw landmark scores.

    References
    ----------
    R.-E. Fan, K.-W. Chang, C.-J. Hsieh, X.-R. Wang, C.-J. Lin (2008), LIBLINEAR, JMLR 9.
    """

    method = "linear_svc"
    needs_factor = False
    references = ("pedregosa2011",)

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        return "a linear support vector classifier on the landmark scores, a baseline"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`."""
        from sklearn.svm import LinearSVC  # importing it takes a second

        C, n_classes = np.asarray(problem.C), problem.n_classes
        class_counts(problem.labels, n_classes)
        mean, deviation = standardisation(C)
        deviation *= np.sqrt(C.shape[1])
        with single_threaded():
            # The seed is for the order in which the dual coordinate descent visits the rows.
            machine = LinearSVC(C=1.0, dual=True, random_state=problem.seed)
            machine.fit((C - mean) / deviation, problem.labels)
            coef = np.ascontiguousarray(machine.coef_.T / deviation[:, None])
            intercept = machine.intercept_ - mean @ coef
        decision = LinearDecision(*with_mirror(coef, intercept, n_classes))
        return [Fitted(decision) for _ in choices]
