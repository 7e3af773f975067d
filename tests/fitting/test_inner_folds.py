"""Inner folds: what is held out, what is measured, and what a fit may know."""

import threading
import warnings
from dataclasses import replace

import numpy as np
import pytest

from fitting.trainings import (
    CLASSES,
    KINDS,
    LEARNERS,
    PSD_ONLY,
    M,
    N,
    assert_same,
    embedded,
    problem,
    training_of,
    without,
)
from kreinflow.alignment.transforms import make_transform
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.estimators import KreinClassifier
from kreinflow.fitting import inner_folds
from kreinflow.fitting.calibration import TemperatureCalibrator
from kreinflow.fitting.factors import embedding_of, make_factors
from kreinflow.fitting.inner_folds import (
    FEW_RECORDS,
    PARTS,
    InnerFits,
    _held_out_decisions,
    choose,
    finer,
    inner_partition,
    whole_groups,
)
from kreinflow.krein.factor import KreinFactor
from kreinflow.krein.landmark_kernel import TrainingPart, landmark_kernel
from kreinflow.learners import registry
from kreinflow.learners.learner import Problem


def all_landmarks(kind):
    """The problem with every training record a landmark, and inner folds that measure them all."""
    landmarks, part, full = problem(kind)
    landmarks = replace(
        landmarks, scores=full[:, part.rows], rows=part.rows, classes=part.labels.copy()
    )
    return landmarks, part, inner_partition(part, 3, 1, "r0f0")


def whole(landmarks, part, correction):
    """The problem of a factor that all records of a training part make."""
    return Problem.of(*embedded(landmarks, part, correction), landmarks, part, 1)


def held_decisions(learner, landmarks, part, inner):
    """The decisions of inner folds, with the hyper-parameters that they choose."""
    problem = whole(landmarks, part, "flip" if learner in PSD_ONLY else "none")
    machine = registry.make_learner(LEARNERS[learner])
    return choose(machine, problem, InnerFits(inner), "misfit")[1]


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", ["pooled", "pcvm", "cvm", "sf-lsm", "svc", "nearest"])
def test_measured_landmarks_are_new_objects_to_their_inner_folds(kind, learner):
    """The decisions are those of a training part in which the held-out records never were."""
    correction = "flip" if learner in PSD_ONLY else "none"
    landmarks, part, inner = all_landmarks(kind)
    machine = registry.make_learner(LEARNERS[learner])
    choices = machine.choices()[:2]
    found = _held_out_decisions(
        machine, whole(landmarks, part, correction), choices, InnerFits(inner), "misfit"
    )
    for fold in range(3):
        held_out = inner == fold
        others, smaller = without(landmarks, part, held_out)
        alone = whole(others, smaller, correction)
        new = TrainingPart(part.rows[held_out], part.labels[held_out], part.groups, CLASSES)
        near = others.scores[new.rows]
        if kind != "squared_dissimilarity":
            kernel = landmark_kernel(others, new, alone.everything.transform)
            unseen = Problem.of(alone.embedding, kernel, others, new, 1)
        else:  # centred by the landmarks, which are the same for both
            columns = alone.everything.centring.columns(near)
            kernel = replace(alone.everything, C=columns, negative_dissimilarities=None)
            unseen = Problem.of(alone.embedding, kernel, others, new, 1)
            if machine.method == "nearest_landmark":
                continue
        for fitted_, decisions_ in zip(machine.fit(alone, choices), found, strict=True):
            expected = machine.decide(fitted_, unseen)
            np.testing.assert_allclose(decisions_[held_out], expected, rtol=1e-7, atol=1e-7)


def test_landmarks_that_are_alike_are_one_record():
    landmarks, part, full = problem("similarity")
    rows = np.r_[landmarks.rows, landmarks.rows[:2]]
    twice = replace(landmarks, scores=full[:, rows], rows=rows, classes=rows // 30)
    found = whole(twice, part, "none").landmark_records
    np.testing.assert_array_equal(part.rows[found], landmarks.rows)


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize(("memory_mb", "made_of_15"), [(2048, 9), (0.0001, 15)])
def test_recipes_share_the_factors_of_inner_folds(monkeypatch, memory_mb, made_of_15):
    """The bits are the same whether each recipe makes its own, or they do not fit in memory."""
    landmarks, part, inner = all_landmarks("squared_dissimilarity")
    recipes = [
        {"name": f"{learner}-{correction}", "transform": "raw", "rank": rank}
        | {"correction": correction, "learner": learner}
        for learner, correction, rank in [
            ("pooled", "none", "misfit"),
            ("lsm", "none", "misfit"),
            ("lsm", "clip", "misfit"),
            ("pooled", "flip", 1),
            ("pooled", "flip", 1.0),
        ]
    ]
    transform = make_transform("raw")
    entries = make_factors(landmarks, part, {"raw": transform}, recipes)
    kernel = landmark_kernel(landmarks, part, transform)
    made = []
    real = KreinFactor.fit
    monkeypatch.setattr(KreinFactor, "fit", lambda *a, **k: made.append(1) or real(*a, **k))

    with limited(1, memory_mb):
        alone = [
            training_of(landmarks, part, inner).train(
                recipe, LEARNERS[recipe["learner"]], embedding_of(entries, recipe), kernel
            )
            for recipe in recipes
        ]
        fits = len(made)
        together = list(
            training_of(landmarks, part, inner).train_recipes(
                recipes, LEARNERS, {"raw": transform}, entries
            )
        )
        fewer = len(made) - fits
    assert (fits, fewer) == (15, made_of_15)
    assert [recipe for recipe, _ in together] == recipes
    for one, (_, other) in zip(alone, together, strict=True):
        assert_same(one, other)


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize("learner", ["pooled", "sf-lsm", "nearest"])
def test_what_is_held_out_with_nearly_all_landmarks_is_not_measured_by_them(learner):
    """Four of five landmarks are in one inner fold: the fit with the fifth alone is none."""
    landmarks, part, full = problem("similarity")
    rows = np.r_[landmarks.rows[:4], part.rows[-1]]
    few = replace(landmarks, scores=full[:, rows], rows=rows, classes=np.r_[[0] * 4, 2])
    inner = np.where(np.isin(part.rows, rows[:4]), 0, 1 + np.arange(len(part.rows)) % 2)
    held = held_decisions(learner, few, part, inner)
    assert (held[inner == 0] == 0).all()
    assert (held[inner != 0] != 0).any(axis=1).all()


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize(("score", "learner"), [(0, "pooled"), (7, "sf-lsm")])
def test_landmarks_that_tell_nothing_apart_without_those_held_out_decide_nothing(score, learner):
    """Scores of 0 make no factor; where all rows are the same, SF-LSM has no variance to fit."""
    landmarks, part, full = problem("similarity")
    seen = ~np.isin(np.arange(N), landmarks.rows[:3])
    full[np.ix_(seen, seen)] = score
    same = replace(landmarks, scores=full[:, landmarks.rows], self_scores=np.diagonal(full))
    inner = np.where(seen[part.rows], 1 + np.arange(len(part.rows)) % 2, 0)
    held = held_decisions(learner, same, part, inner)
    assert (held[inner == 0] == 0).all()
    assert (held[inner != 0] != 0).any()


def test_too_few_records_for_inner_folds_are_refused():
    landmarks, _, _ = problem("similarity")
    rows = landmarks.rows[[0, 5, 9]]  # one of each class
    part = TrainingPart(rows, rows // 30, rows, CLASSES)
    with pytest.raises(InputError, match="too few records are left to choose and calibrate on"):
        inner_partition(part, 3, 1, "r0f0")


def test_a_group_is_trained_on_whole_where_another_fold_would_not_know_a_class_of_it():
    """Class b is in the first group alone: what is measured of a must not have it as a mate."""
    groups = np.repeat(np.arange(6), 5)
    labels = np.where(np.arange(30) < 2, 1, 0)
    part = TrainingPart(np.arange(30), labels, groups, ("a", "b"))
    inner = inner_partition(part, 3, 1, "r0f0")
    assert (inner[:5] == -1).all()
    for group in range(1, 6):
        assert len(np.unique(inner[groups == group])) == 1
    assert set(inner[5:]) == {0, 1, 2}


def test_groups_that_leave_one_inner_fold_are_torn_with_a_warning():
    groups = np.repeat([0, 1], 5)
    part = TrainingPart(np.arange(10), np.where(np.arange(10) < 2, 1, 0), groups, ("a", "b"))
    with pytest.warns(UserWarning, match="fold r0f1: too few groups of records to hold whole"):
        inner = inner_partition(part, 2, 1, "r0f1")
    single = replace(part, groups=part.rows)
    np.testing.assert_array_equal(inner, inner_partition(single, 2, 1, "r0f1"))
    assert set(inner) == {0, 1}
    assert [whole_groups(part.groups, inner), whole_groups(part.rows, inner)] == [False, True]


def test_a_group_that_is_held_out_has_no_word_in_its_own_decisions():
    """Scores with its landmarks are scrambled, and the decisions stay what they were."""
    landmarks, part, _ = problem("sequences")
    part = replace(part, groups=part.rows // 3)  # a landmark is in many
    inner = inner_partition(part, 3, 1, "r0f0")
    assert (inner[np.isin(part.rows, landmarks.rows)] >= 0).any()
    found = []
    for change in (False, True):
        scores = landmarks.scores.copy()
        if change:
            same = part.groups[:, None] == landmarks.rows // 3
            scores[np.ix_(part.rows, np.arange(M))] = np.where(same, 1, scores[part.rows])
        found.append(held_decisions("nearest", replace(landmarks, scores=scores), part, inner))
    np.testing.assert_array_equal(*found)


# What is measured on inner folds is what new objects get.

GAUSSIAN = {"kernel": "gaussian", "kernel_params": {"width": 3.0}, "n_landmarks": 60}


def noise(seed, n=120, classes=4):
    """Points of one cloud, and labels that say nothing of them."""
    random = np.random.default_rng(seed)
    return random.normal(size=(n, 10)), random.permutation(np.arange(n) % classes)


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_same_bits_however_many_inner_folds_are_fitted_at_once(learner):
    landmarks, part, _ = problem("similarity")
    inner = inner_partition(part, 3, 1, "r0f0")
    found = []
    for threads in (1, 3):
        with limited(threads):
            found.append(held_decisions(learner, landmarks, part, inner).tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(("memory_mb", "at_once"), [(2048, 3), (0.01, 1)])
def test_inner_folds_are_fitted_at_once_where_memory_allows_and_without_warnings(
    memory_mb, at_once, recwarn
):
    landmarks, part, _ = problem("similarity")
    fits = InnerFits(inner_partition(part, 3, 1, "r0f0"))
    learner, meeting = registry.make_learner(LEARNERS["ikfd"]), threading.Barrier(at_once)
    own, fitting = threading.get_ident(), set()

    class Meeting:
        def fit(self, *given):
            fitting.add(threading.get_ident())
            meeting.wait(timeout=60)
            warnings.warn("an inner fold's own", UserWarning, stacklevel=1)
            return learner.fit(*given)

        decide = learner.decide

    before = list(warnings.filters)
    with limited(3, memory_mb):
        choices = learner.choices(len(landmarks.rows))
        _held_out_decisions(Meeting(), whole(landmarks, part, "flip"), choices, fits, "misfit")
    assert len(fitting) == at_once
    assert (own in fitting) == (at_once == 1)
    assert warnings.filters == before
    assert not [one for one in recwarn if "own" in str(one.message)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("selector", "learner"),
    [("meb", "ny_ikfd"), ("meb", "nearest_landmark"), ("kmeans++", "sf_lsm")],
)
def test_labels_that_are_noise_give_chance(selector, learner):
    """Landmarks that are chosen class by class carry the labels of what inner folds hold out."""
    model = KreinClassifier(**GAUSSIAN, selector=selector, learner=learner)
    found = [model.fit(*noise(seed)).training_["inner_accuracy"] for seed in range(100, 120)]
    assert abs(np.mean(found) - 0.25) < 3 * np.std(found, ddof=1) / 20**0.5


@pytest.mark.filterwarnings("ignore")
def test_identical_objects_of_a_precomputed_matrix_share_an_inner_fold():
    """Twins with equal labels, which are noise: who is measured must not know the twin."""
    X, y = noise(4, n=60)
    twice = np.tile(np.arange(60), 2)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 2)[np.ix_(twice, twice)]
    model = KreinClassifier(selector="all", learner="nearest_landmark").fit(K, y[twice])
    assert model.training_["inner_accuracy"] < 0.5


def test_fits_of_inner_folds_choose_landmarks_from_their_own_records(monkeypatch):
    """The labels of what a fold holds out change nothing of the landmarks that measure it."""
    X, y = noise(1)
    fold_of = np.arange(len(y)) // 4 % 3
    seen = []

    def noted(learner, problem, fits, rank, forks):
        seen.append(fits.problem(problem, 0, rank).landmarks.rows)
        return choose(learner, problem, fits, rank, forks)

    monkeypatch.setattr("kreinflow.fitting.training.choose", noted)
    monkeypatch.setattr("kreinflow.fitting.pipeline.inner_partition", lambda *_: fold_of)
    for labels in (y, np.where(fold_of == 0, 3 - y, y)):
        KreinClassifier(**GAUSSIAN).fit(X, labels)
    np.testing.assert_array_equal(*seen)
    assert (fold_of[seen[0]] != 0).all()


def test_a_budget_that_an_inner_fold_has_no_records_for_leaves_the_landmarks_that_are_there():
    landmarks, part, _ = problem("similarity")
    inner = np.arange(len(part.rows)) % 3

    def refuse(held_out):
        raise InputError("a budget of 12 landmarks does not fit")

    whole_ = whole(landmarks, part, "none")
    plain, refused = (
        InnerFits(inner, again).problem(whole_, 1, "misfit") for again in (None, refuse)
    )
    np.testing.assert_array_equal(refused.landmarks.rows, plain.landmarks.rows)
    kept = ~np.isin(landmarks.rows, part.rows[inner == 1])
    np.testing.assert_array_equal(plain.landmarks.rows, landmarks.rows[kept])
    assert 2 <= kept.sum() < M


def test_the_best_of_many_hyper_parameters_is_not_measured_by_what_chose_it(monkeypatch):
    """Of 25 choices that are noise one is lucky: measured by what chose it, it is above chance."""
    embedding, kernel = embedded(*problem("similarity")[:2], "none")
    landmarks, part, _ = problem("similarity")
    fits = InnerFits(np.arange(len(part.rows)) % 3)
    learner = registry.make_learner(LEARNERS["lsm"])
    lucky, honest = [], []
    for seed in range(60):
        random = np.random.default_rng(seed)
        every = [random.normal(size=(len(part.rows), 3)) for _ in learner.choices()]
        truth = random.integers(0, 3, len(part.rows))
        monkeypatch.setattr(inner_folds, "_held_out_decisions", lambda *_, every=every: every)
        noise_ = Problem.of(embedding, kernel, landmarks, replace(part, labels=truth), 1)
        choice, decisions, calibrator, _ = choose(learner, noise_, fits, "misfit")
        found = [np.mean(d.argmax(axis=1) == truth) for d in every]
        assert found[learner.choices().index(choice)] == max(found)
        lucky.append(max(found))
        honest.append(np.mean(decisions.argmax(axis=1) == truth))
        assert calibrator.temperature_ == TemperatureCalibrator().fit(decisions, truth).temperature_
    error = np.std(honest, ddof=1) / 60**0.5
    assert np.mean(lucky) > 1 / 3 + 10 * error
    assert abs(np.mean(honest) - 1 / 3) < 3 * error


@pytest.mark.parametrize(("share", "side"), [(0.25, "have"), (0.7, "lack")])
def test_each_fit_knows_records_with_and_without_each_of_several_labels(share, side):
    """And the rule is not idle: else all records that have, or lack, a label would be in a fold."""
    unknown = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        has = rng.random((12, 8)) < share
        has[np.arange(12), rng.integers(8, size=12)] = True
        groups, rarest = np.arange(12), np.zeros(12, dtype=int)
        part = TrainingPart(groups, rarest, groups, tuple("abcdefgh"), has)
        inner = inner_partition(part, 2, seed, "r0f0")
        drawn = inner_folds.inner_folds(groups, rarest, 2, seed, "r0f0", memberships=has)
        for fold in (0, 1):
            known = has[inner != fold]
            assert (known.any(axis=0) | ~has.any(axis=0)).all()
            assert (~known.all(axis=0) | has.all(axis=0)).all()
            own = has if side == "have" else ~has
            unknown += (own.any(axis=0) & ~own[drawn != fold].any(axis=0)).any()
    assert unknown > 0


@pytest.mark.parametrize("n", [50, FEW_RECORDS])
def test_finer_parts_of_inner_folds_hold_out_whole_groups(n):
    rng = np.random.default_rng(n)
    groups = rng.integers(0, n // 2, n)
    of_group = rng.integers(-1, 3, n // 2)
    inner = of_group[groups]
    parts = finer(inner, groups)
    assert (parts[inner < 0] == -1).all()
    assert np.array_equal(parts[inner >= 0] // PARTS, inner[inner >= 0])
    assert all(len(np.unique(parts[groups == group])) == 1 for group in np.unique(groups))
    for fold in range(3):
        sizes = np.bincount(parts[inner == fold] - PARTS * fold, minlength=PARTS)
        largest = np.bincount(groups[inner == fold]).max()
        assert sizes.max() - sizes.min() <= largest
    assert np.array_equal(finer(np.repeat(inner, 50), np.arange(50 * n)), np.repeat(inner, 50))


@pytest.mark.parametrize("learner", ["sf_lsm", "ny_ikfd", "nearest_landmark"])
def test_sets_on_labels_that_are_noise_hold_the_true_one_on_the_mean(learner):
    """Of 60 trainings on 180 records each; the fits of three inner folds alone have 88.6 %."""
    held, ridge = [], {} if learner == "nearest_landmark" else {"ridge": "inner"}
    fisher = {"scatter": "pooled", "bias": "least_squares"} if learner == "ny_ikfd" else {}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(480, 3)), rng.permutation(np.arange(480) % 3)
        model = KreinClassifier(
            kernel="gaussian",
            kernel_params={"width": 3.0},
            selector="uniform",
            n_landmarks=40,
            learner=learner,
            learner_params=ridge | fisher,
            random_state=seed,
        ).fit(X[:180], y[:180])
        sets = model.landmark_classifier_.calibration.sets(model.predict_proba(X[180:]), 0.9)
        held.append(sets[np.arange(300), y[180:]].mean())
    assert np.mean(held) + 2 * np.std(held) / np.sqrt(60) >= 0.9
