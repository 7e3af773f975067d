"""scikit-learn's own checks of the estimators; those that must fail are named, with the reason."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from kreinflow.estimators import KreinClassifier, KreinNystroem, NystroemClassifier

pytestmark = [
    pytest.mark.filterwarnings("ignore:the factor misses"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]


@dataclass(eq=False, repr=False, kw_only=True)
class WithMadeUpLandmarks(NystroemClassifier):
    """The checks choose the number of columns: a landmark matrix is made for each."""

    landmark_matrix: object = None

    def _landmark_matrix(self, m):
        made = np.linalg.qr(np.random.default_rng(m).normal(size=(m, m)))[0]
        W = (made * np.where(np.arange(m) % 3 == 1, -1.0, 1.0)) @ made.T + 2 * np.eye(m)
        return W, (W + W.T) / 2


OF_A_SQUARE_MATRIX = {
    "check_decision_proba_consistency": "it gives vectors to estimators of a square matrix too"
}


@parametrize_with_checks(
    [
        KreinClassifier(),
        KreinClassifier("multiquadric", correction="flip", learner="ny_ikfd"),
        KreinClassifier("gaussian", lift={"width": 1}),
        KreinNystroem(),
        WithMadeUpLandmarks(),
    ],
    expected_failed_checks=lambda estimator: (
        OF_A_SQUARE_MATRIX if repr(estimator) == "KreinClassifier()" else {}
    ),
    xfail_strict=True,
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
