"""The baselines on landmark scores against scikit-learn."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC
from sklearn.utils.class_weight import compute_sample_weight

from krein_problems import labelled_rows, learned, problem_of
from kreinflow.learners.decisions import NearestDecision
from kreinflow.learners.registry import make_learner


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_svc_folds_its_scaling_into_the_weights(n_classes):
    C, signs, y = labelled_rows(n_classes=n_classes)
    C[:, 3] = 0.3  # a constant column tells nothing
    ours = learned({"method": "linear_svc"}, C, signs, y).decision.decide(C)
    X = (C - C.mean(axis=0)) / np.where(np.arange(10) == 3, 1, C.std(axis=0)) / np.sqrt(10)
    theirs = LinearSVC(C=1.0, dual=True, random_state=1).fit(X, y).decision_function(X)
    if n_classes == 2:
        theirs = np.column_stack([-theirs, theirs])
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_the_nearest_is_the_class_of_the_best_landmark():
    rng = np.random.default_rng(0)
    C, classes = -rng.random((150, 12)), np.arange(12) % 3  # negative scores too
    f = NearestDecision((classes[:, None] == np.arange(5)).astype(float)).decide(C)
    np.testing.assert_array_equal(f.argmax(axis=1), classes[C.argmax(axis=1)])
    assert f[5, 1] == C[5, classes == 1].max()
    assert (f[:, 3:] < C.min(axis=1, keepdims=True)).all(), "classes without landmarks"


def test_a_class_without_landmark_is_noted_by_the_nearest():
    Z, signs, y = labelled_rows(n_classes=3)
    (fitted,) = make_learner({"method": "nearest_landmark"}).fit(
        problem_of(Z, signs, y, basis=np.flatnonzero(y != 1)[: Z.shape[1]]), [{}]
    )
    assert fitted.notes["unlearned"].tolist() == [False, True, False]
    assert not (fitted.decision.decide(Z).argmax(axis=1) == 1).any()


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
