"""Three classifiers on the landmark scores themselves, to measure the others against."""

import threading
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.base.settings import SettingsSchema, one_of
from kreinflow.learners.decisions import LinearDecision, NearestDecision
from kreinflow.learners.hyper_parameters import (
    COARSE_RIDGE_GRID,
    RIDGE_GRID,
    in_words,
    number_or_inner,
)
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem
from kreinflow.learners.moments import class_counts, least_squares_of
from kreinflow.learners.one_against_rest import with_mirror
from kreinflow.learners.support_vectors import standardisation

_one_draws = threading.Lock()  # liblinear has one random generator for all threads


class NearestLandmarkLearner(Learner):
    """The class of the nearest landmark: there is nothing to learn."""

    method = "nearest_landmark"
    needs_factor = False
    by_tiles = True
    linear = False

    def describe(self) -> str:
        return "the nearest landmark, a baseline"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        codes = np.arange(problem.n_classes)
        members = (problem.landmarks.classes[:, None] == codes).astype(np.float64)
        notes = {"unlearned": ~members.any(axis=0)}
        return [Fitted(NearestDecision(members), notes=notes) for _ in choices]

    def seen(self, rows: FloatArray, problem: Problem, tile: slice) -> FloatArray:
        """See :meth:`Learner.seen`; a record does not find itself among the landmarks."""
        return np.where(problem.itself(tile), rows.min(axis=1, keepdims=True), rows)


class LinearSVCLearner(Learner):
    r"""scikit-learn's ``LinearSVC`` on the landmark scores, one class against the rest.

    The scores with each landmark are centred, divided by their standard deviation in the training
    rows, and by :math:`\sqrt m`, so that rows have a mean squared norm of 1. With C = 1,

    .. math:: \min_{w, b}\ (w'w + b^2)/2 + C \sum_i \max(0, 1 - y_i (w'x_i + b))^2 .

    The scaling is folded into the weights. Fan et al. (2008), LIBLINEAR, JMLR 9.
    """

    method = "linear_svc"
    needs_factor = False
    references = ("pedregosa2011",)

    def describe(self) -> str:
        return "a linear support vector classifier on the landmark scores, a baseline"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        from sklearn.svm import LinearSVC  # importing it takes a second

        C, n_classes = np.asarray(problem.C), problem.n_classes
        class_counts(problem.labels, n_classes)
        mean, deviation = standardisation(C)
        deviation *= np.sqrt(C.shape[1])
        with _one_draws, single_threaded():
            # The seed is for the order in which the dual coordinate descent visits the rows.
            machine = LinearSVC(C=1.0, dual=True, random_state=problem.seed)
            machine.fit((C - mean) / deviation, problem.labels)
            coef = np.ascontiguousarray(machine.coef_.T / deviation[:, None])
            intercept = machine.intercept_ - mean @ coef
        decision = LinearDecision(*with_mirror(coef, intercept, n_classes))
        return [Fitted(decision) for _ in choices]


class SimilarityFeaturesLearner(Learner):
    r"""SF-LSM: ridge regression on the scores with the landmarks themselves.

    Row i is the vector :math:`x_i` of its m scores, whatever the kernel and its correction. Class c
    against the rest has targets :math:`y = \pm 1`, :math:`f(x) = w'x + b` and, with the covariance
    T of all rows,

    .. math:: \min_{w, b}\ \sum_{i=1}^N (f(x_i) - y_i)^2 + N t \lambda \|w\|^2 , \qquad
              t = tr(T)/m .
    """

    method = "sf_lsm"
    needs_factor = False
    by_tiles = True
    settings_schema: ClassVar[SettingsSchema] = {
        "ridge": number_or_inner(
            "penalty as a share of the mean variance of the scores with a "
            "landmark, or 'inner': chosen on inner folds",
            exclusiveMinimum=0,
        ),
        "weights": one_of("records", "classes", about="what counts the same, all of them"),
    }
    grids: Mapping[str, Sequence[float]] = {"ridge": RIDGE_GRID}
    coarse_grids: Mapping[str, Sequence[float]] = {"ridge": COARSE_RIDGE_GRID}
    references = ("oglic2019", "chen2009")

    def describe(self) -> str:
        how = f"a ridge {in_words(self.settings['ridge'], 'of {:g}')}"
        if self.settings["weights"] == "classes":
            how += " and equal weights of the classes"
        start = "SF-LSM, one class against the rest, least squares on the landmark scores"
        return f"{start} with {how}"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        balanced = self.settings["weights"] == "classes"
        moments = least_squares_of(problem.C, problem.labels, problem.n_classes, balanced)
        ones = np.ones(problem.n_landmarks)
        functions = [moments.least_squares(choice["ridge"] * ones) for choice in choices]
        return [
            Fitted(LinearDecision(*with_mirror(coef, intercept, problem.n_classes)))
            for coef, intercept in functions
        ]
