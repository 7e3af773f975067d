"""SF-LSM against scikit-learn's Ridge."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.utils.class_weight import compute_sample_weight

from krein_problems import learned, learner_problem
from kreinflow.learners.registry import make_learner


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("ridge", [1.0, 1e-3, 1e-6])
@pytest.mark.parametrize("weights", ["records", "classes"])
def test_it_is_ridge_regression_on_the_landmark_scores(weights, ridge, n_classes):
    rng = np.random.default_rng(4)
    y = np.minimum(rng.geometric(0.4, 100) - 1, n_classes - 1)
    y[:n_classes] = np.arange(n_classes)
    C = rng.normal(size=(100, 20)) * np.geomspace(1, 1e-2, 20) + 7.0 + y[:, None]
    settings = {"method": "sf_lsm", "ridge": ridge, "weights": weights}
    decision = learned(settings, C, np.ones(20), y).decision
    u = compute_sample_weight("balanced" if weights == "classes" else None, y)
    penalty = 100 * ridge * np.trace(np.cov(C.T, bias=True, aweights=u)) / 20
    for c in range(n_classes):
        other = Ridge(penalty).fit(C, np.where(y == c, 1.0, -1.0), sample_weight=u)
        np.testing.assert_allclose(decision.decide(C)[:, c], other.predict(C), atol=1e-9)
        np.testing.assert_allclose(decision.weights[:, c], other.coef_, rtol=1e-6, atol=1e-8)
    if weights == "classes":  # which may be of any size
        copies = np.repeat(np.arange(100), np.where(y == 0, 3, 1))
        again = learned(settings, C[copies], np.ones(20), y[copies]).decision
        np.testing.assert_allclose(again.weights, decision.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("correction", ["flip", "clip"])
def test_the_factor_and_its_correction_are_idle(correction):
    learner = make_learner({"method": "sf_lsm", "ridge": 1e-3})
    found = [
        learner.fit(learner_problem(correction=name), learner.choices())[0].decision.weights
        for name in ("none", correction)
    ]
    np.testing.assert_array_equal(*found)
