"""Decisions: what they compute, row by row, and what of a stranger's file they refuse."""

import numpy as np
import pytest

from kreinflow.krein.factor import Embedding
from kreinflow.learners.decisions import KINDS, LinearDecision, NearestDecision


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


def test_no_array_of_a_file_breaks_the_reading_of_another_kind_or_shape():
    """Whatever stands in an array, it is refused by one of the errors that readers expect."""
    arrays = {
        "linear": {"weights": np.ones((3, 2)), "intercept": np.ones(2)},
        "quadratic": {
            "matrix": np.ones((3, 2)),
            "axes": np.ones((2, 2, 2)),
            "centres": np.ones((2, 2)),
            "scales": np.ones((2, 2)),
            "constants": np.ones(2),
        },
        "elm": {
            "centre": np.zeros(3),
            "deviation": np.ones(3),
            "support": np.ones((4, 3)),
            "coefficients": np.ones((4, 2)),
            "intercept": np.ones(2),
        },
        "siblings": {
            "weights": np.ones((3, 2)),
            "intercept": np.ones(2),
            "above": -np.ones(2),
            "leaf": np.array([1.0, 0.0]),
        },
    }
    for kind, parts in arrays.items():
        KINDS[kind].from_arrays(parts, 3, 2)
        with pytest.raises(ValueError, match=r"is float64 \(.*, not of shape \("):
            KINDS[kind].from_arrays(parts, 4, 2)
        for name, array in parts.items():
            with pytest.raises(KeyError):
                KINDS[kind].from_arrays({key: parts[key] for key in parts if key != name}, 3, 2)
            for other in (
                np.ones(()),
                array[:0],
                array[..., None],
                array.astype(int),
                array.astype(complex),
                np.full_like(array, np.inf),
            ):
                with pytest.raises((KeyError, IndexError, ValueError)):
                    KINDS[kind].from_arrays(parts | {name: other}, 3, 2)
    for deviation in (0.0, -1.0):
        elm = arrays["elm"] | {"deviation": np.full(3, deviation)}
        with pytest.raises(ValueError, match="not positive"):
            KINDS["elm"].from_arrays(elm, 3, 2)
