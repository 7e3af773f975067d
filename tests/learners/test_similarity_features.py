"""SF-LSM against scikit-learn's Ridge."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.utils.class_weight import compute_sample_weight

from krein_problems import learner_problem
from kreinflow.errors import InputError
from kreinflow.learners.similarity_features import SimilarityFeatures, SimilarityFeaturesLearner


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("ridge", [1.0, 1e-3, 1e-6])
def test_it_is_ridge_regression_on_the_landmark_scores(ridge, n_classes):
    rng = np.random.default_rng(2)
    y = np.arange(100) % n_classes
    C = rng.normal(size=(100, 20)) * np.geomspace(1, 1e-2, 20) + 7.0 + y[:, None]
    machine = SimilarityFeatures(ridge).fit(C, y, n_classes)
    penalty = 100 * ridge * np.trace(np.cov(C.T, bias=True)) / 20
    for c in range(n_classes):
        other = Ridge(penalty).fit(C, np.where(y == c, 1.0, -1.0))
        np.testing.assert_allclose(machine.decision_function(C)[:, c], other.predict(C), atol=1e-9)
        np.testing.assert_allclose(machine.coef_[:, c], other.coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(machine.intercept_[c], other.intercept_, rtol=1e-6)
    scaled = SimilarityFeatures(ridge).fit(1e4 * C, y, n_classes)
    np.testing.assert_array_equal(scaled.predict(1e4 * C), machine.predict(C))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("ridge", [1.0, 1e-3])
def test_with_equal_weights_of_classes_it_is_weighted_ridge_regression(ridge, n_classes):
    rng = np.random.default_rng(4)
    y = np.minimum(rng.geometric(0.4, 100) - 1, n_classes - 1)
    y[:n_classes] = np.arange(n_classes)
    C = rng.normal(size=(100, 20)) + 3.0 + y[:, None]
    machine = SimilarityFeatures(ridge, "classes").fit(C, y, n_classes)
    u = compute_sample_weight("balanced", y)
    penalty = 100 * ridge * np.trace(np.cov(C.T, bias=True, aweights=u)) / 20
    for c in range(n_classes):
        other = Ridge(penalty).fit(C, np.where(y == c, 1.0, -1.0), sample_weight=u)
        np.testing.assert_allclose(machine.decision_function(C)[:, c], other.predict(C), atol=1e-9)
    copies = np.repeat(np.arange(100), np.where(y == 0, 3, 1))  # a class may be of any size
    again = SimilarityFeatures(ridge, "classes").fit(C[copies], y[copies], n_classes)
    np.testing.assert_allclose(again.coef_, machine.coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weights", ["records", "classes"])
@pytest.mark.parametrize("correction", ["none", "clip"])
def test_all_choices_at_once_are_the_machines_one_by_one_on_the_scores(correction, weights):
    learner = SimilarityFeaturesLearner({"weights": weights})
    whole = learner_problem(correction=correction)
    problem, unseen = whole.on(np.arange(60)), whole.on(np.arange(60, 90))
    choices = learner.choices()
    ridges = [choice["ridge"] for choice in choices]
    assert ridges == sorted(ridges, reverse=True)
    for choice, fitted in zip(choices, learner.fit(problem, choices), strict=True):
        alone = SimilarityFeatures(**choice, weights=weights).fit(problem.C, problem.labels, 3)
        np.testing.assert_array_equal(
            learner.decide(fitted, unseen), alone.decision_function(unseen.C)
        )
    assert "a ridge chosen on inner folds" in learner.describe()
    given = SimilarityFeaturesLearner({"ridge": 0.5})
    assert given.choices() == [{"ridge": 0.5}]
    assert "a ridge of 0.5" in given.describe()


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="ridge: 0.0 is not a positive number"):
        SimilarityFeatures(0.0)
    with pytest.raises(
        InputError, match="weights: 'class' is unknown. Use one of records, classes"
    ):
        SimilarityFeatures(weights="class")
