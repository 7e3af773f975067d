"""Decisions: what they compute, row by row, and what of a stranger's file they refuse."""

import numpy as np

from kreinflow.krein.factor import Embedding
from kreinflow.learners.decisions import LinearDecision, NearestDecision


def scores(n_classes, n=150, m=12, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    points = (rng.normal(size=(n_classes, 4)) * 2)[y] + rng.normal(size=(n, 4))
    distances = ((points[:, None] - points[:m]) ** 2).sum(axis=2)
    return np.exp(-distances / 10), y[:m]


def nearest(landmark_classes, n_classes):
    members = (landmark_classes[:, None] == np.arange(n_classes)).astype(np.float64)
    return NearestDecision(members)


def test_nearest_neighbour_is_the_class_of_the_best_landmark_whatever_the_other_rows():
    C, landmark_classes = scores(3)
    C = -C  # negative scores too
    decision = nearest(landmark_classes, 5)
    decisions = decision.decide(C)
    np.testing.assert_array_equal(decisions.argmax(axis=1), landmark_classes[C.argmax(axis=1)])
    assert decisions[5, 1] == C[5, landmark_classes == 1].max()
    assert (decisions[:, 3:] < C.min(axis=1, keepdims=True)).all(), "classes without landmarks"
    np.testing.assert_array_equal(decision.decide(C[40:41]), decisions[40:41])


def test_folded_weights_are_the_decision_of_the_embedded_rows():
    rng = np.random.default_rng(1)
    C, coef, intercept = rng.normal(size=(20, 7)), rng.normal(size=(4, 3)), rng.normal(size=3)
    embedding = Embedding(rng.normal(size=(7, 4)), rng.normal(size=4), np.ones(4))
    decision = LinearDecision.folded(embedding, coef, intercept)
    expected = embedding.transform(C) @ coef + intercept
    np.testing.assert_allclose(decision.decide(C), expected, atol=1e-12)
