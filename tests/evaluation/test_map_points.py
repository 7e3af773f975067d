"""The plane of the landmark map against dense eigenvectors, and the order of similar classes."""

from dataclasses import replace

import numpy as np
import pytest

from fitting.trainings import kernel_problem
from kreinflow.alignment.transforms import make_transform
from kreinflow.evaluation import map_points as landmark_map
from kreinflow.evaluation.map_points import leading, map_points, similar_classes, some_landmarks
from kreinflow.krein.landmark_kernel import TrainingPart, factor_of, landmark_kernel

N = 40
LANDMARKS = np.array([3, 8, 11, 20, 29, 35])


def problem(signs=(1, 1, -1)):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, len(signs))) * [3.0, 0.5, 1.5][: len(signs)]
    K, landmarks, part = kernel_problem(X, signs, LANDMARKS)
    raw = make_transform("raw")
    kernel = landmark_kernel(landmarks, part, raw)
    return K, part, kernel, factor_of(kernel, "misfit")


def ids_of(n):
    return [f"s{i}" for i in range(n)]


def test_points_are_the_leading_eigenvectors_of_the_kernel():
    K, part, kernel, made = problem()
    embedding, total = leading(*made, 2)
    values, vectors = np.linalg.eigh(K)
    first = np.argsort(-np.abs(values))[:2]
    np.testing.assert_allclose(embedding.values, values[first], rtol=1e-9)
    assert embedding.signs.tolist() == [1, -1]
    assert total == pytest.approx(np.abs(values).sum(), rel=1e-9)
    points = map_points(kernel, part, ids_of(N), LANDMARKS, embedding, seed=1)
    expected = vectors[:, first] * np.sqrt(np.abs(values[first]))
    expected *= np.sign(expected[np.abs(expected).argmax(axis=0), [0, 1]])
    np.testing.assert_allclose(points[["x", "y"]], expected, atol=1e-8)
    assert points["id"].tolist() == ids_of(N)
    assert np.flatnonzero(points["landmark"]).tolist() == LANDMARKS.tolist()
    assert points["class"].tolist() == ["a", "b"] * (N // 2)


def test_a_single_eigenvalue_leaves_the_second_axis_empty():
    _, part, kernel, made = problem(signs=(1,))
    embedding, total = leading(*made, 2)
    assert embedding.rank == 1
    assert total == embedding.values[0]
    points = map_points(kernel, part, ids_of(N), LANDMARKS, embedding, seed=1)
    assert (points["y"] == 0).all()
    assert points["x"].abs().min() > 0


def test_a_sample_follows_from_seed_and_ids_alone(monkeypatch):
    _, part, kernel, made = problem()
    embedding, _ = leading(*made, 2)
    monkeypatch.setattr(landmark_map, "SHOWN_OBJECTS", 10)
    monkeypatch.setattr(landmark_map, "SHOWN_LANDMARKS", 4)
    points = map_points(kernel, part, ids_of(N), LANDMARKS, embedding, seed=1)
    assert points["landmark"].value_counts().to_dict() == {False: 10, True: 4}
    assert points["id"].is_unique
    other = map_points(kernel, part, ids_of(N), LANDMARKS, embedding, seed=2)
    assert set(other["id"]) != set(points["id"])
    # Without the last records: of those that were shown, all others still are.
    fewer = TrainingPart(part.rows[:30], part.labels[:30], part.groups[:30], part.classes)
    again = map_points(kernel, fewer, ids_of(30), LANDMARKS, embedding, seed=1)
    assert set(points["id"]) & set(ids_of(30)) <= set(again["id"])


def test_identical_objects_are_one_point():
    _, part, kernel, made = problem()
    embedding, _ = leading(*made, 2)
    rows = part.rows.copy()
    rows[10:20] = rows[0]
    points = map_points(kernel, replace(part, rows=rows), ids_of(N), LANDMARKS, embedding, seed=1)
    assert points["id"].tolist() == [f"s{i}" for i in range(N) if not 10 <= i < 20]


def test_of_many_landmarks_those_with_the_least_keys_make_the_factor(monkeypatch):
    _, landmarks, _ = kernel_problem(np.eye(N)[:, :3], (1, 1, 1), LANDMARKS)
    keys = np.array([5, 2, 9, 1, 7, 3])
    assert some_landmarks(landmarks, keys) is landmarks
    monkeypatch.setattr(landmark_map, "SHOWN_LANDMARKS", 3)
    assert some_landmarks(landmarks, keys).rows.tolist() == LANDMARKS[[1, 3, 5]].tolist()


def test_similar_classes_stand_side_by_side():
    rng = np.random.default_rng(0)
    turn = rng.permutation(7)  # class c points to the angle turn[c]
    labels = rng.integers(0, 7, 500)
    angle = 0.2 * turn[labels] + rng.normal(0, 0.01, 500)
    length = 10.0 ** rng.uniform(-1, 1, 500)  # which does not matter
    C = np.column_stack([np.cos(angle), np.sin(angle)]) * length[:, None]
    names = tuple("abcdefg")
    order = similar_classes(C, labels, names)
    places = [int(turn[names.index(name)]) for name in order]
    assert places in (list(range(7)), list(range(7))[::-1])
    assert order[0] < order[-1]
    # Another numbering of the classes changes nothing, and classes without a record are left out.
    back = similar_classes(C, 7 - labels, ("none", *names[::-1]))
    assert back == order
    # So it is with several labels: the mean of a class is that of all records that have it.
    one = labels[:, None] == np.arange(8)
    assert similar_classes(C, one, (*names, "none")) == order
    both = np.column_stack([one[:, :7], one[:, :7] @ (turn < 2)])  # the first two once more
    found = similar_classes(C, both, (*names, "both"))
    turns = [[*turn.tolist(), 0.5][(*names, "both").index(name)] for name in found]
    assert turns in (sorted(turns), sorted(turns, reverse=True))
