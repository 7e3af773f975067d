"""The linear support vector classifier on landmark scores."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from krein_problems import learned


def scores(n_classes, n=150, m=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = rng.normal(size=(n_classes, 4)) * 2
    points = centres[y] + rng.normal(size=(n, 4))
    landmarks = np.arange(m)
    distances = ((points[:, None] - points[landmarks]) ** 2).sum(axis=2)
    return np.exp(-distances / 10), y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_svc_folds_its_scaling_into_the_weights(n_classes):
    C, y = scores(n_classes)
    ours = learned({"method": "linear_svc"}, C, np.ones(12), y).decision.decide(C)
    X = (C - C.mean(axis=0)) / C.std(axis=0) / np.sqrt(C.shape[1])
    theirs = LinearSVC(C=1.0, dual=True, random_state=1).fit(X, y).decision_function(X)
    if n_classes == 2:
        theirs = np.column_stack([-theirs, theirs])
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_linear_svc_bears_a_constant_column():
    C, y = scores(3)
    constant = np.hstack([C, np.full((len(C), 1), 0.3)])
    one = learned({"method": "linear_svc"}, C, np.ones(12), y).decision
    other = learned({"method": "linear_svc"}, constant, np.ones(13), y).decision
    np.testing.assert_array_equal(
        one.decide(C).argmax(axis=1), other.decide(constant).argmax(axis=1)
    )
    np.testing.assert_allclose(other.weights[12], 0.0, atol=1e-12)
