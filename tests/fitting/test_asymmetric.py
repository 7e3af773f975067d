"""Learning from an asymmetric kernel: the machines by their definitions on the N x N matrix."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from data_sets import dataset_of
from krein_problems import sparse_functions
from kreinflow.alignment.transforms import make_transform
from kreinflow.config.schema import complete_method
from kreinflow.fitting.inner_folds import InnerFits, choose, inner_partition
from kreinflow.fitting.run import Run
from kreinflow.krein.correction import embed
from kreinflow.krein.landmark_kernel import TrainingPart, factor_of, landmark_kernel
from kreinflow.learners.learner import Problem
from kreinflow.learners.one_against_rest import fitted_classes
from kreinflow.learners.pcvm import kernel_scale
from kreinflow.learners.registry import LEARNERS, make_learner
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.payload import Matrix
from learners.test_epcvm import Dense
from learners.test_pcvm import DenseEM

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")

RAW = make_transform("raw")
FORMS = ("none", "landmark_basis")
TAKEN = sorted(name for name, learner in LEARNERS.items() if not learner.needs_symmetric)


def directed(seed, n=90, n_classes=2, rank=8, noise=1.0):
    """Similarities of two different views of the same objects, and the classes of these."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    queries, targets = (
        1.5 * noise * rng.normal(size=(n_classes, rank))[y] + rng.normal(size=(n, rank))
        for _ in range(2)
    )
    return queries @ targets.T / rank, y


def landmarks_of(K, y, rows, kind="asymmetric"):
    """Landmarks of a data set of a matrix, as a run of the workflow has them."""
    classes = tuple("abcd"[: y.max() + 1])
    dataset = replace(dataset_of(y, Matrix(K, kind=kind)), classes=classes)
    partition = Partition(np.arange(len(y)), np.empty((0, len(y)), dtype=np.int64))
    table = pd.DataFrame({"row": rows, "class": [dataset.classes[y[row]] for row in rows]})
    both = np.hstack([K[:, rows], K[rows].T])
    return Run(dataset, partition, both, rows, np.diagonal(K).copy()).landmarks(table)


def problem(K, y, m=12, form="none", kind="asymmetric", training=None, rank="misfit"):
    """The problem of a training part whose first m records are landmarks, and all landmarks."""
    training = np.arange(len(y)) if training is None else training
    landmarks = landmarks_of(K, y, training[:m], kind)
    part = TrainingPart(training, y[training], training, tuple("abcd"[: y.max() + 1]))
    kernel = landmark_kernel(landmarks, part, RAW)
    factor, pairs = factor_of(kernel, rank)
    return Problem.of(embed(factor, pairs, form), kernel, landmarks, part, seed=1)


def unseen(known, y, rows):
    """The problem of other records of the matrix, with the same landmarks."""
    part = TrainingPart(rows, y[rows], rows, known.part.classes)
    kernel = landmark_kernel(known.landmarks, part, RAW)
    return Problem.of(known.embedding, kernel, known.landmarks, part, seed=1)


def machine(method, **settings):
    learner = make_learner(complete_method(LEARNERS, {"method": method, **settings}, "", "it"))
    return SimpleNamespace(learner=learner, choice=dict(learner.choices()[0]))


def decisions(method, known, other=None, **settings):
    it = machine(method, **settings)
    (fitted,) = it.learner.fit(known, [it.choice])
    return it.learner.decide(fitted, known if other is None else other)


def approximated(known):
    """K~ of the training records, dense, from the matrices C, W and R."""
    W = known.everything.W
    return (
        np.asarray(known.C) @ np.linalg.pinv(W, rcond=1e-9) @ np.asarray(known.everything.reverse).T
    )


def test_columns_and_rows_are_those_of_the_matrix():
    K, y = directed(1, n_classes=2)
    known = problem(K, y)
    np.testing.assert_array_equal(np.asarray(known.C), K[:, :12])
    np.testing.assert_array_equal(np.asarray(known.everything.reverse), K[:12].T)
    np.testing.assert_array_equal(known.everything.W, K[:12, :12])
    assert known.n_landmarks == 12
    few = known.landmarks.some(np.arange(12) % 3 == 0)
    np.testing.assert_array_equal(few.reverse[np.array([7, 2])], K[:12:3][:, [7, 2]].T)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("basis", ["landmarks", "all"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_pcvm_is_the_dense_em_over_columns(form, basis, n_classes):
    K, y = directed(2, n_classes=n_classes, rank=14)
    known = problem(K, y, form=form, rank=1.0)
    rows = np.arange(12 if basis == "landmarks" else len(y))
    scaled = approximated(known) / np.abs(np.diagonal(K)).mean()
    for steps in (1, 4, 12):
        it = machine("ny_pcvm", basis=basis, max_iter=steps).learner
        vars(it).update(accelerate=False, tol=1e-12)
        found = sparse_functions(it, known)
        f = np.asarray(known.Z) @ found.coef + found.intercept
        for i, c in enumerate(fitted_classes(n_classes)):
            em = DenseEM(np.eye(len(y)), np.ones(len(y)), y == c, rows)
            em.F = scaled[:, rows] * em.y[rows]
            for _ in range(steps):
                em.step()
            np.testing.assert_array_equal(found.active[i], rows[em.active])
            np.testing.assert_allclose(found.weights[i], em.w, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(f[:, i], em.f(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("basis", ["landmarks", "all"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_epcvm_is_its_definition_over_columns(form, basis, n_classes):
    K, y = directed(3, n=60, n_classes=n_classes, rank=14)
    known = problem(K, y, form=form, rank=1.0)
    rows = np.arange(12 if basis == "landmarks" else len(y))
    found = sparse_functions(machine("ny_epcvm", basis=basis).learner, known)
    f = np.asarray(known.Z) @ found.coef + found.intercept
    for i, c in enumerate(fitted_classes(n_classes)):
        dense = Dense(approximated(known), y == c, rows)
        tried, _ = dense.grow()
        members = np.array(list(dense.alpha))
        assert found.n_iter[i] == tried
        np.testing.assert_array_equal(found.active[i], rows[members[1:] - 1])
        np.testing.assert_allclose(f[:, i], dense.Psi[:, members] @ dense.w, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("method", ["ny_pcvm", "ny_epcvm"])
def test_the_kernel_scale_of_zero_self_scores(method):
    K, y = directed(4)
    np.fill_diagonal(K, 0)
    known = problem(K, y, rank=1.0)
    rows = slice(0, 12)
    expected = np.sqrt(np.square(approximated(known)[:, rows]).mean())
    if method == "ny_pcvm":
        assert kernel_scale(known, np.arange(12)) == pytest.approx(expected, rel=1e-9)
    assert np.mean(decisions(method, known).argmax(axis=1) == y) > 0.8


@pytest.mark.parametrize("method", TAKEN)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_new_rows_get_the_decision_of_their_scores_with_the_landmarks(method, n_classes):
    """They are learned, they depend on their own row alone, and both forms say the same."""
    K, y = directed(5, n=240, n_classes=n_classes)
    training, new = np.arange(120), np.arange(120, 240)
    known = problem(K, y, m=20, training=training)
    f = decisions(method, known, unseen(known, y, new))
    if method != "nearest_landmark":  # a large inner product is no small distance
        assert np.mean(f.argmax(axis=1) == y[new]) > 0.8
    alone = decisions(method, known, unseen(known, y, new[7:8]))
    np.testing.assert_array_equal(alone, f[7:8])
    other = problem(K, y, m=20, training=training, form="landmark_basis")
    if method in ("ny_pcvm", "ny_epcvm", "ny_ikfd", "sf_lsm", "linear_svc", "nearest_landmark"):
        g = decisions(method, other, unseen(other, y, new))
        np.testing.assert_allclose(g, f, rtol=1e-5, atol=1e-6 * np.abs(f).max())


@pytest.mark.parametrize("method", ["ny_pcvm", "ny_epcvm", "ny_ikfd", "sf_lsm"])
def test_noise_labels_give_chance(method):
    """Three standard errors around one half, over sixty draws of matrix and labels."""
    found = []
    for seed in range(60):
        K, _ = directed(seed, n=120, noise=0.0)
        y = np.random.default_rng(seed + 1000).integers(0, 2, 120)
        known = problem(K, y, m=20, training=np.arange(60))
        new = np.arange(60, 120)
        f = decisions(method, known, unseen(known, y, new))
        found.append(np.mean(f.argmax(axis=1) == y[new]))
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - 0.5) < 3 * error


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ["ny_pcvm", "ny_epcvm", "ny_ikfd"])
def test_inner_folds_hold_landmarks_out_with_both_their_directions(method, form):
    """The decisions are those of a training part in which the held-out records never were."""
    K, y = directed(9, n=60)
    known = problem(K, y, m=60, form=form)  # all are landmarks
    inner = inner_partition(known.part, 3, 1, "r0f0")
    assert (inner >= 0).all()
    settings = {"ridge": 0.1} if method == "ny_ikfd" else {}
    it = machine(method, **settings).learner
    _, found, *_ = choose(it, known, InnerFits(inner), "misfit")
    for fold in range(3):
        held_out, seen = np.flatnonzero(inner == fold), np.flatnonzero(inner != fold)
        alone = problem(K, y, m=len(seen), form=form, training=seen)
        expected = decisions(method, alone, unseen(alone, y, held_out), **settings)
        np.testing.assert_allclose(found[held_out], expected, rtol=1e-6, atol=1e-7)
