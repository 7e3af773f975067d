"""The linear support vector classifier on landmark scores."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from krein_problems import labelled_rows, learned, problem_of
from kreinflow.learners.registry import make_learner


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_svc_folds_its_scaling_into_the_weights(n_classes):
    C, signs, y = labelled_rows(n_classes=n_classes)
    ours = learned({"method": "linear_svc"}, C, signs, y).decision.decide(C)
    X = (C - C.mean(axis=0)) / C.std(axis=0) / np.sqrt(C.shape[1])
    theirs = LinearSVC(C=1.0, dual=True, random_state=1).fit(X, y).decision_function(X)
    if n_classes == 2:
        theirs = np.column_stack([-theirs, theirs])
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


def test_linear_svc_bears_a_constant_column():
    C, signs, y = labelled_rows()
    constant = np.hstack([C, np.full((len(C), 1), 0.3)])
    one = learned({"method": "linear_svc"}, C, signs, y).decision
    other = learned({"method": "linear_svc"}, constant, np.ones(11), y).decision
    np.testing.assert_array_equal(
        one.decide(C).argmax(axis=1), other.decide(constant).argmax(axis=1)
    )
    np.testing.assert_allclose(other.weights[10], 0.0, atol=1e-12)


def test_a_class_without_landmark_is_noted_by_the_nearest():
    Z, signs, y = labelled_rows(n_classes=3)
    (fitted,) = make_learner({"method": "nearest_landmark"}).fit(
        problem_of(Z, signs, y, basis=np.flatnonzero(y != 1)[: Z.shape[1]]), [{}]
    )
    assert fitted.notes["unlearned"].tolist() == [False, True, False]
    assert not (fitted.decision.decide(Z).argmax(axis=1) == 1).any()
