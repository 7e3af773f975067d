"""Least squares with similarities as features: SF-LSM, the baseline of the Krein machines."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from kreinflow.base.settings import SettingsSchema
from kreinflow.learners.decisions import LinearDecision
from kreinflow.learners.hyper_parameters import (
    COARSE_RIDGE_GRID,
    RIDGE_GRID,
    in_words,
    number_or_inner,
)
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem
from kreinflow.learners.moments import Moments
from kreinflow.learners.one_against_rest import with_mirror


class SimilarityFeaturesLearner(Learner):
    r"""SF-LSM: ridge regression on the scores with the landmarks themselves.

    Whatever the kernel and its correction, row i is the vector :math:`x_i` of its m scores. Class c
    against the rest has targets :math:`y = \pm 1`, :math:`f(x) = w'x + b` and

    .. math:: \min_{w, b}\ \sum_{i=1}^N (f(x_i) - y_i)^2 + N t \lambda \|w\|^2 , \qquad
              t = tr(T)/m ,

    where T is the covariance of all rows.

    References
    ----------
    Y. Chen, E. K. Garcia, M. R. Gupta, A. Rahimi, L. Cazzanti (2009), Similarity-based
    classification: concepts and algorithms, JMLR 10, 747-776.
    D. Oglic, T. Gärtner (2019), Scalable learning in reproducing kernel Kreĭn spaces, ICML,
    PMLR 97, section 3.
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
        "weights": {
            "description": "what counts the same: all records, or all classes",
            "enum": ["records", "classes"],
            "default": "records",
        },
    }
    grids: Mapping[str, Sequence[float]] = {"ridge": RIDGE_GRID}
    coarse_grids: Mapping[str, Sequence[float]] = {"ridge": COARSE_RIDGE_GRID}
    references = ("oglic2019", "chen2009")

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        how = in_words(self.settings["ridge"], "of {:g}")
        equal = " and equal weights of the classes" if self.settings["weights"] == "classes" else ""
        return (
            "SF-LSM, one class against the rest, least squares on the landmark scores with a "
            f"ridge {how}{equal}"
        )

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`; one pass over the rows for all choices."""
        balanced = self.settings["weights"] == "classes"
        moments = Moments.of(problem.C, problem.labels, problem.n_classes, balanced)
        fitted = []
        for choice in choices:
            penalties = np.full(problem.n_landmarks, choice["ridge"])
            coef, intercept = moments.least_squares(penalties)
            decision = LinearDecision(*with_mirror(coef, intercept, problem.n_classes))
            fitted.append(Fitted(decision))
        return fitted
