"""The linear support vector classifier on landmark scores."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from kreinflow.errors import InputError
from kreinflow.learners.baselines import LandmarkLinearSVC


def scores(n_classes, n=150, m=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centres = rng.normal(size=(n_classes, 4)) * 2
    points = centres[y] + rng.normal(size=(n, 4))
    landmarks = np.arange(m)
    distances = ((points[:, None] - points[landmarks]) ** 2).sum(axis=2)
    return np.exp(-distances / 10), y, y[landmarks]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_svc_folds_its_scaling_into_the_weights(n_classes):
    C, y, _ = scores(n_classes)
    ours = LandmarkLinearSVC(penalty=0.5, random_state=1).fit(C, y, n_classes)
    X = (C - C.mean(axis=0)) / C.std(axis=0) / np.sqrt(C.shape[1])
    theirs = LinearSVC(C=0.5, dual=True, random_state=1).fit(X, y).decision_function(X)
    if n_classes == 2:
        theirs = np.column_stack([-theirs, theirs])
    np.testing.assert_allclose(ours.decision_function(C), theirs, atol=1e-10)
    np.testing.assert_allclose(C @ ours.coef_ + ours.intercept_, theirs, atol=1e-10)
    assert ours.coef_.shape == (C.shape[1], n_classes)
    assert (ours.predict(C) == y).mean() > 0.8


def test_linear_svc_does_not_depend_on_the_scale_and_bears_a_constant_column():
    C, y, _ = scores(3)
    C = np.hstack([C, np.full((len(C), 1), 0.3)])
    one = LandmarkLinearSVC().fit(C, y, 3).decision_function(C)
    other = LandmarkLinearSVC().fit(C * 1000, y, 3).decision_function(C * 1000)
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_linear_svc_refuses_a_missing_class_and_a_bad_penalty():
    C, y, _ = scores(3)
    with pytest.raises(InputError, match=r"classes \[3\] of 4"):
        LandmarkLinearSVC().fit(C, y, 4)
    with pytest.raises(InputError, match="penalty"):
        LandmarkLinearSVC(penalty=0.0)
