"""Least squares with similarities as features: SF-LSM, the baseline of the Krein machines."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from kreinflow.errors import InputError
from kreinflow.learners.decisions import LinearDecision
from kreinflow.learners.krein_least_squares import check_positive, penalised_least_squares
from kreinflow.learners.learner import (
    Choice,
    Fitted,
    Learner,
    Problem,
    number_or_inner,
    values_tried,
)
from kreinflow.learners.linear import LinearEstimator
from kreinflow.learners.one_against_rest import Moments, with_mirror
from kreinflow.numerics import FloatArray, IntArray
from kreinflow.settings import SettingsSchema

RIDGE_GRID: tuple[float, ...] = tuple(10.0**power for power in range(0, -9, -1))
"""Ridges that are tried."""

WEIGHTS = ("records", "classes")


class SimilarityFeatures(LinearEstimator):
    r"""SF-LSM: ridge regression on the scores with the landmarks themselves.

    Whatever the kernel, row i is the vector :math:`x_i` of its m scores. Class c against the rest
    has targets :math:`y = \pm 1`, :math:`f(x) = w'x + b` and

    .. math:: \min_{w, b}\ \sum_{i=1}^N (f(x_i) - y_i)^2 + N t \lambda \|w\|^2 , \qquad
              t = tr(T)/m ,

    where T is the covariance of all rows.

    Parameters
    ----------
    ridge : float
        lambda, positive.

    Attributes
    ----------
    coef_ : ndarray of shape (m, n_classes)
    intercept_ : ndarray of shape (n_classes,)
        Of two classes, the first is the negative of the second.
    scale_ : float
        t.

    References
    ----------
    Y. Chen, E. K. Garcia, M. R. Gupta, A. Rahimi, L. Cazzanti (2009), Similarity-based
    classification: concepts and algorithms, JMLR 10, 747-776.
    D. Oglic, T. Gärtner (2019), Scalable learning in reproducing kernel Kreĭn spaces, ICML,
    PMLR 97, section 3.
    """

    scale_: float

    def __init__(self, ridge: float = 1e-2, weights: str = "records") -> None:
        check_positive(ridge=ridge)
        if weights not in WEIGHTS:
            raise InputError(f"weights: {weights!r} is unknown. Use one of {', '.join(WEIGHTS)}.")
        self.ridge = ridge
        self.weights = weights

    def fit(self, C: FloatArray, y: IntArray, n_classes: int) -> "SimilarityFeatures":
        """Fit all classes, O(N m^2 + m^3).

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
            If a class has no row, all rows are the same, or the ridge is too small for the
            precision of the machine.
        """
        moments = Moments.of(C, y, n_classes, balanced=self.weights == "classes")
        coef, intercept = penalised_least_squares(moments, np.full(C.shape[1], self.ridge))
        self.coef_, self.intercept_ = with_mirror(coef, intercept, n_classes)
        self.scale_ = moments.scale
        return self


class SimilarityFeaturesLearner(Learner):
    """:class:`SimilarityFeatures` as a recipe's learner; the factor and its correction are idle."""

    method = "sf_lsm"
    by_tiles = True
    settings_schema: ClassVar[SettingsSchema] = {
        "ridge": number_or_inner(
            "penalty as a share of the mean variance of the scores with a "
            "landmark, or 'inner': chosen on inner folds",
            exclusiveMinimum=0,
        ),
        "weights": {
            "description": "what counts the same: all records, or all classes",
            "enum": list(WEIGHTS),
            "default": "records",
        },
    }
    references = ("oglic2019", "chen2009")

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        ridge = self.settings["ridge"]
        how = "chosen on inner folds" if ridge == "inner" else f"of {ridge:g}"
        equal = " and equal weights of the classes" if self.settings["weights"] == "classes" else ""
        return (
            "SF-LSM, one class against the rest, least squares on the landmark scores with a "
            f"ridge {how}{equal}"
        )

    def choices(self) -> Sequence[Choice]:
        """See :meth:`Learner.choices`."""
        return values_tried(self.settings, "ridge", RIDGE_GRID)

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`; one pass over the rows for all choices."""
        balanced = self.settings["weights"] == "classes"
        moments = Moments.of(problem.C, problem.labels, problem.n_classes, balanced)
        fitted = []
        for choice in choices:
            penalties = np.full(problem.n_landmarks, choice["ridge"])
            coef, intercept = penalised_least_squares(moments, penalties)
            decision = LinearDecision(*with_mirror(coef, intercept, problem.n_classes))
            fitted.append(Fitted(decision))
        return fitted
