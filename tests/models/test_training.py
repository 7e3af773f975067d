"""Training of a recipe on synthetic scores: what is folded, what is measured, what is seen."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.special import softmax

from kreinflow.alignment.transforms import make_transform
from kreinflow.errors import InputError
from kreinflow.krein.factor import Embedding, KreinFactor
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from kreinflow.learners import registry
from kreinflow.learners.fisher import RIDGE_GRID, NystroemFisher
from kreinflow.learners.learner import Problem
from kreinflow.models.factors import embedding_of, make_factors
from kreinflow.models.training import (
    _held_out_decisions,
    _whole_groups,
    choose,
    inner_partition,
    train,
    train_recipes,
)
from kreinflow.numerics import limited
from small_inputs import matrix_of, points

LEARNERS = {
    "ikfd": {"method": "ny_ikfd", "scatter": "balanced", "bias": "midpoint", "ridge": 0},
    "pooled": {
        "method": "ny_ikfd",
        "scatter": "pooled",
        "bias": "least_squares",
        "ridge": "inner",
    },
    "pcvm": {"method": "ny_pcvm", "basis": "landmarks", "max_iter": 60},
    "pcvm-all": {"method": "ny_pcvm", "basis": "all", "max_iter": 30},
    "epcvm": {"method": "ny_epcvm"},
    "epcvm-all": {"method": "ny_epcvm", "basis": "all", "max_iter": 200},
    "ikqd": {"method": "ikqd", "ridge": "inner"},
    "lsm": {"method": "krein_lsm", "lambda_plus": "inner", "lambda_minus": "inner"},
    "vc-lsm": {
        "method": "krein_vc_lsm",
        "lambda_plus": "inner",
        "lambda_minus": 0.01,
        "variance": "inner",
    },
    "sh-svm": {"method": "krein_sh_svm", "lambda_plus": 0.01, "lambda_minus": "inner"},
    "sf-lsm": {"method": "sf_lsm", "ridge": "inner"},
    "cvm": {"method": "cvm", "penalty": "inner"},
    "krein-svc": {"method": "svc", "penalty": 10.0},
    "dissimilarities": {"method": "dissimilarity_space", "kernel": "linear", "penalty": 1.0},
    "dissimilarities-elm": {"method": "dissimilarity_space", "kernel": "elm", "penalty": "inner"},
    "nearest": {"method": "nearest_landmark"},
    "svc": {"method": "linear_svc"},
}
PSD_ONLY = {"cvm", "krein-svc"}
KINDS = ("sequences", "similarity", "squared_dissimilarity")
CLASSES = ("a", "b", "c")
N, M = 90, 12


def problem(kind, seed=3, each=30):
    """Scores of points on a plane: for ``sequences`` positive integers, as alignments give."""
    X, labels = points(seed, each=each)
    rows = np.arange(0, len(X), len(X) // M)[:M]
    codes = np.array([CLASSES.index(label) for label in labels])
    if kind == "sequences":
        full = np.rint(400 * np.exp(-np.sqrt(matrix_of("squared_dissimilarity", X, X)) / 3))
        full = full.astype(np.int32)
    else:
        full = matrix_of(kind, X, X)
    landmarks = Landmarks(
        scores=full[:, rows],
        self_scores=np.diagonal(full).astype(float),
        lengths=np.full(len(X), 100.0),
        rows=rows,
        classes=codes[rows],
        kind=kind,
    )
    training = np.arange(len(X)) % 5 != 4
    training[rows] = True
    everything = np.flatnonzero(training)
    return landmarks, TrainingPart(everything, codes[everything], everything, CLASSES), full


def fitted(kind, learner, correction=None, seed=3, **changes):
    correction = correction or ("flip" if learner in PSD_ONLY else "none")
    landmarks, part, full = problem(kind, seed)
    landmarks = Landmarks(**{**vars(landmarks), **changes})
    recipe = {
        "name": "it",
        "transform": "log" if kind == "sequences" else "raw",
        "rank": "misfit",
        "correction": correction,
        "learner": learner,
    }
    transform = make_transform(recipe["transform"])
    (entry,) = make_factors(landmarks, part, {recipe["transform"]: transform}, [recipe])
    kernel = landmark_kernel(landmarks, part, transform)
    inner = inner_partition(landmarks.rows, part, 3, 1, "r0f0")
    embedding = entry.corrected[correction]
    trained = train(
        recipe, LEARNERS[learner], embedding, kernel, landmarks, part, inner, 0.05, seed=1
    )
    return trained, landmarks, part, kernel, embedding, inner, full


def decisions(classifier, landmarks, rows):
    return classifier.decision_function(
        landmarks.scores[rows], landmarks.self_scores[rows], landmarks.lengths[rows]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_probabilities_sum_to_one_and_new_rows_are_learned(kind, learner):
    trained, landmarks, part, *_ = fitted(kind, learner)
    new = np.setdiff1d(np.arange(N), part.rows)
    probabilities = trained.classifier.predict_proba(
        landmarks.scores[new], landmarks.self_scores[new], landmarks.lengths[new]
    )
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-14)
    truth = np.arange(N)[new] // 30
    assert np.mean(probabilities.argmax(axis=1) == truth) >= 0.8
    figures = trained.figures
    assert figures["landmarks"] == M
    assert figures["alignments_per_query"] == M + (kind == "sequences")
    assert 0.5 < figures["inner_accuracy"] <= 1
    assert 0 < figures["inner_log_loss"] < np.log(3)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("correction", ["none", "flip", "clip", "square", "shift"])
@pytest.mark.parametrize("learner", ["ikfd", "pcvm", "epcvm"])
def test_weights_on_landmark_scores_are_the_decisions_of_z(kind, correction, learner):
    trained, landmarks, part, kernel, embedding, *_ = fitted(kind, learner, correction)
    Z = embedding.transform(kernel.C)
    if learner == "ikfd":
        fisher = NystroemFisher().fit(Z, embedding.signs, part.labels, 3)
        coef, intercept = fisher.coef_, fisher.intercept_
    else:
        machine = registry.make_learner(LEARNERS[learner]).solve(
            Problem.of(embedding, kernel, landmarks, part, 1)
        )
        coef, intercept = machine.coef, machine.intercept
    expected = Z @ coef + intercept
    ours = decisions(trained.classifier, landmarks, part.rows)
    scale = np.abs(embedding.matrix).max() * np.abs(coef).max()
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_new_object_at_a_training_point_gets_its_decision(learner):
    """Out of sample equals in sample: the same scores, asked in one row, one at a time."""
    trained, landmarks, part, *_ = fitted("squared_dissimilarity", learner)
    together = decisions(trained.classifier, landmarks, part.rows)
    for place in (0, 31, len(part.rows) - 1):
        row = part.rows[place : place + 1]
        np.testing.assert_array_equal(
            decisions(trained.classifier, landmarks, row), together[place : place + 1]
        )


def test_dissimilarities_by_a_dense_computation():
    """Ny-iKFD on the double-centred dense matrix of all points: exact in the plane.

    The points span two dimensions, so 12 landmarks reproduce S = -JDJ/2; the faithful decision
    z' Cw^-1 (m+ - m-) - bias is then that of the points' own coordinates.
    """
    trained, landmarks, part, _, embedding, _, full = fitted("squared_dissimilarity", "ikfd")
    assert embedding.rank == 2
    n = len(part.rows)
    J = np.eye(n) - 1 / n
    S = -J @ full[np.ix_(part.rows, part.rows)] @ J / 2
    values, vectors = np.linalg.eigh(S)
    X = vectors[:, -2:] * np.sqrt(values[-2:])
    expected = np.empty((n, 3))
    for code in range(3):
        plus, minus = X[part.labels == code], X[part.labels != code]
        within = np.cov(plus.T, bias=True) + np.cov(minus.T, bias=True)
        expected[:, code] = (X - (plus.mean(0) + minus.mean(0)) / 2) @ np.linalg.solve(
            within, plus.mean(0) - minus.mean(0)
        )
    ours = decisions(trained.classifier, landmarks, part.rows)
    ratio = (ours * expected).sum() / (expected**2).sum()  # the scatter may be a mean or a sum
    np.testing.assert_allclose(ours, ratio * expected, atol=1e-8 * np.abs(ours).max())


@pytest.mark.parametrize("kind", KINDS)
def test_inner_folds_measure_no_landmark(kind):
    *_, inner, _ = fitted(kind, "nearest")
    landmarks, part, _ = problem(kind)
    assert (inner[np.isin(part.rows, landmarks.rows)] == -1).all()
    assert (inner[~np.isin(part.rows, landmarks.rows)] >= 0).all()
    assert set(inner) == {-1, 0, 1, 2}


def test_where_half_of_all_are_landmarks_they_are_measured_too():
    landmarks, part, full = problem("similarity")
    half = part.rows[: 2 * len(part.rows) // 3]
    many = Landmarks(
        full[:, half], landmarks.self_scores, landmarks.lengths, half, half // 30, "similarity"
    )
    assert (inner_partition(many.rows, part, 3, 1, "r0f0") >= 0).all()


def all_landmarks(kind):
    """The problem with every training record a landmark, and inner folds that measure them all."""
    landmarks, part, full = problem(kind)
    landmarks = replace(
        landmarks, scores=full[:, part.rows], rows=part.rows, classes=part.labels.copy()
    )
    return landmarks, part, inner_partition(landmarks.rows, part, 3, 1, "r0f0")


def whole(landmarks, part, correction):
    """The problem of a factor that all records of a training part make."""
    name = "log" if landmarks.kind == "sequences" else "raw"
    transform = make_transform(name)
    recipe = {"transform": name, "rank": "misfit", "correction": correction}
    (entry,) = make_factors(landmarks, part, {name: transform}, [recipe])
    kernel = landmark_kernel(landmarks, part, transform)
    return Problem.of(entry.corrected[correction], kernel, landmarks, part, 1)


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
        machine, whole(landmarks, part, correction), choices, inner, "misfit"
    )
    for fold in range(3):
        held_out, seen = inner == fold, inner != fold
        others = replace(
            landmarks,
            scores=np.asarray(landmarks.scores)[:, seen],
            rows=landmarks.rows[seen],
            classes=landmarks.classes[seen],
        )
        smaller = TrainingPart(part.rows[seen], part.labels[seen], part.groups[seen], CLASSES)
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
            train(
                recipe,
                LEARNERS[recipe["learner"]],
                embedding_of(entries, recipe),
                kernel,
                landmarks,
                part,
                inner,
                0.05,
                seed=1,
            )
            for recipe in recipes
        ]
        fits = len(made)
        together = list(
            train_recipes(
                recipes,
                LEARNERS,
                {"raw": transform},
                partial(embedding_of, entries),
                landmarks,
                part,
                inner,
                0.05,
                seed=1,
            )
        )
        fewer = len(made) - fits
    assert (fits, fewer) == (15, made_of_15)
    assert [recipe for recipe, _ in together] == recipes
    for one, (_, other) in zip(alone, together, strict=True):
        assert one.figures == other.figures
        same = other.classifier.decision.to_arrays()
        for name, array in one.classifier.decision.to_arrays().items():
            np.testing.assert_array_equal(array, same[name])


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize("learner", ["pooled", "sf-lsm", "nearest"])
def test_what_is_held_out_with_nearly_all_landmarks_is_not_measured_by_them(learner):
    """Four of five landmarks are in one inner fold: the fit with the fifth alone is none."""
    landmarks, part, full = problem("similarity")
    rows = np.r_[landmarks.rows[:4], part.rows[-1]]
    few = replace(landmarks, scores=full[:, rows], rows=rows, classes=np.r_[[0] * 4, 2])
    inner = np.where(np.isin(part.rows, rows[:4]), 0, 1 + np.arange(len(part.rows)) % 2)
    machine = registry.make_learner(LEARNERS[learner])
    _, held, _ = choose(machine, whole(few, part, "none"), inner, "misfit")
    assert (held[inner == 0] == 0).all()
    assert (held[inner != 0] != 0).any(axis=1).all()


@pytest.mark.filterwarnings("ignore:the factor misses")
def test_landmarks_that_score_nothing_without_those_held_out_decide_nothing():
    landmarks, part, full = problem("similarity")
    silent = ~np.isin(np.arange(N), landmarks.rows[:3])
    full[np.ix_(silent, silent)] = 0
    blank = replace(landmarks, scores=full[:, landmarks.rows], self_scores=np.diagonal(full))
    inner = np.where(silent[part.rows], 1 + np.arange(len(part.rows)) % 2, 0)
    machine = registry.make_learner(LEARNERS["pooled"])
    _, held, _ = choose(machine, whole(blank, part, "none"), inner, "misfit")
    assert (held[inner == 0] == 0).all()
    assert (held[inner != 0] != 0).any()


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize("learner", LEARNERS)
def test_all_learners_can_be_chosen_where_all_are_landmarks(learner):
    landmarks, part, inner = all_landmarks("sequences")
    problem_ = whole(landmarks, part, "flip" if learner in PSD_ONLY else "none")
    _, held, _ = choose(registry.make_learner(LEARNERS[learner]), problem_, inner, "misfit")
    assert np.mean(held.argmax(axis=1) == part.labels) > 0.8


def test_too_few_records_for_inner_folds_are_refused():
    landmarks, _, _ = problem("similarity")
    rows = landmarks.rows[[0, 5, 9]]  # one of each class
    part = TrainingPart(rows, rows // 30, rows, CLASSES)
    with pytest.raises(InputError, match="too few records are left to choose and calibrate on"):
        inner_partition(landmarks.rows, part, 3, 1, "r0f0")


def test_groups_share_an_inner_fold():
    landmarks, part, _ = problem("similarity")
    groups = part.rows // 3
    grouped = TrainingPart(part.rows, part.labels, groups, CLASSES)
    inner = inner_partition(landmarks.rows, grouped, 3, 1, "r0f0")
    for group in np.unique(groups):
        assert len(set(inner[groups == group]) - {-1}) <= 1


def test_a_group_is_trained_on_whole_where_another_fold_would_not_know_a_class_of_it():
    """Class b is in the first group alone: what is measured of a must not have it as a mate."""
    groups = np.repeat(np.arange(6), 5)
    labels = np.where(np.arange(30) < 2, 1, 0)
    part = TrainingPart(np.arange(30), labels, groups, ("a", "b"))
    inner = inner_partition(np.array([29]), part, 3, 1, "r0f0")
    assert (inner[:5] == -1).all()
    for group in range(1, 6):
        assert len(np.unique(inner[groups == group])) == 1
    assert set(inner[5:]) == {0, 1, 2}


def test_groups_that_leave_one_inner_fold_are_torn_with_a_warning():
    groups = np.repeat([0, 1], 5)
    part = TrainingPart(np.arange(10), np.where(np.arange(10) < 2, 1, 0), groups, ("a", "b"))
    with pytest.warns(UserWarning, match="fold r0f1: too few groups of records to hold whole"):
        inner = inner_partition(np.array([9]), part, 2, 1, "r0f1")
    single = replace(part, groups=part.rows)
    np.testing.assert_array_equal(inner, inner_partition(np.array([9]), single, 2, 1, "r0f1"))
    assert set(inner) == {-1, 0, 1}
    assert inner[9] == -1
    assert [_whole_groups(part.groups, inner), _whole_groups(part.rows, inner)] == [False, True]


def test_torn_groups_that_are_too_few_records_are_refused():
    part = TrainingPart(np.arange(2), np.array([0, 1]), np.array([0, 0]), ("a", "b"))
    with (
        pytest.warns(UserWarning, match="too few groups"),
        pytest.raises(InputError, match="too few records are left to choose and calibrate on"),
    ):
        inner_partition(np.array([0]), part, 2, 1, "r0f0")


def test_an_inner_fold_whose_landmarks_tell_nothing_apart_ends_no_run():
    """Without those held out all rows of scores are the same: SF-LSM has no variance to fit."""
    landmarks, part, full = problem("similarity")
    seen = ~np.isin(np.arange(N), landmarks.rows[:3])
    full[np.ix_(seen, seen)] = 7
    same = replace(landmarks, scores=full[:, landmarks.rows], self_scores=np.diagonal(full))
    inner = np.where(seen[part.rows], 1 + np.arange(len(part.rows)) % 2, 0)
    machine = registry.make_learner(LEARNERS["sf-lsm"])
    _, held, _ = choose(machine, whole(same, part, "none"), inner, "misfit")
    assert (held[inner == 0] == 0).all()
    assert (held[inner != 0] != 0).any()


def grouped_problem():
    """Groups of three neighbouring rows, of which a landmark is in many."""
    landmarks, part, full = problem("sequences")
    groups = part.rows // 3
    return landmarks, TrainingPart(part.rows, part.labels, groups, CLASSES), full


def test_a_group_that_is_held_out_has_no_word_in_its_own_decisions():
    """Scores with its landmarks are scrambled, and the decisions stay what they were."""
    landmarks, part, _ = grouped_problem()
    inner = inner_partition(landmarks.rows, part, 3, 1, "r0f0")
    assert (inner[np.isin(part.rows, landmarks.rows)] >= 0).any()
    recipe = {"name": "it", "transform": "log", "rank": "misfit", "correction": "none"}
    learner = registry.make_learner({"method": "nearest_landmark"})
    found = []
    for change in (False, True):
        scores = landmarks.scores.copy()
        if change:
            same = part.groups[:, None] == landmarks.rows // 3
            scores[np.ix_(part.rows, np.arange(M))] = np.where(same, 1, scores[part.rows])
        own = Landmarks(**{**vars(landmarks), "scores": scores})
        (entry,) = make_factors(own, part, {"log": make_transform("log")}, [recipe])
        kernel = landmark_kernel(own, part, make_transform("log"))
        whole = Problem.of(entry.corrected["none"], kernel, own, part, 1)
        found.append(choose(learner, whole, inner, "misfit")[1])
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_outside_the_training_part_are_not_looked_at(learner):
    plain, landmarks, part, *_ = fitted("sequences", learner)
    outside = np.setdiff1d(np.arange(N), part.rows)
    changed = {
        name: getattr(landmarks, name).copy() for name in ("scores", "self_scores", "lengths")
    }
    for array in changed.values():
        array[outside] = 7
    scrambled, *_ = fitted("sequences", learner, **changed)
    assert plain.figures == scrambled.figures
    same = scrambled.classifier.decision.to_arrays()
    for name, array in plain.classifier.decision.to_arrays().items():
        np.testing.assert_array_equal(array, same[name])


def test_calibration_and_threshold_come_from_held_out_decisions():
    """The temperature minimises the log loss of decisions of models that lacked the record."""
    trained, _, part, kernel, embedding, inner, _ = fitted("sequences", "ikfd")
    Z = embedding.transform(kernel.C)
    held_out = np.empty((len(part.rows), 3))
    for fold in range(3):
        rest = inner != fold
        machine = NystroemFisher("balanced", "midpoint", 0)
        machine.fit(Z[rest], embedding.signs, part.labels[rest], 3)
        held_out[~rest] = Z[~rest] @ machine.coef_ + machine.intercept_
    measured = inner >= 0
    truth = part.labels[measured]

    def loss(temperature):
        p = softmax(held_out[measured] / temperature, axis=1)
        return -np.log(p[np.arange(len(truth)), truth]).mean()

    best = trained.figures["temperature"]
    assert loss(best) == pytest.approx(trained.figures["inner_log_loss"], rel=1e-8)
    assert loss(best) <= min(loss(best * 1.05), loss(best / 1.05))
    p = softmax(held_out[measured] / best, axis=1)
    accepted = p.max(axis=1) >= trained.figures["reject_threshold"]
    if accepted.any():
        assert np.mean(p.argmax(axis=1)[accepted] != truth[accepted]) <= 0.05
    assert trained.figures["inner_accuracy"] == np.mean(p.argmax(axis=1) == truth)
    assert trained.classifier.about["reject"] == {"error": 0.05}

    landmarks = problem("sequences", 3)[0]
    recipe = trained.classifier.about["recipe"]
    covering = train(
        recipe, LEARNERS["ikfd"], embedding, kernel, landmarks, part, inner, None, 1, 0.8
    )
    accepted = p.max(axis=1) >= covering.figures["reject_threshold"]
    assert np.mean(accepted) == pytest.approx(0.8, abs=1 / len(truth))
    assert covering.classifier.about["reject"] == {"coverage": 0.8}
    assert covering.figures["temperature"] == best


def test_hyper_parameters_have_the_fewest_errors_of_refits_on_the_inner_folds():
    trained, _, part, kernel, embedding, inner, _ = fitted("sequences", "pooled")
    Z, measured = embedding.transform(kernel.C), inner >= 0
    errors = {}
    for ridge in RIDGE_GRID:
        decisions = np.zeros((len(part.rows), 3))
        for fold in range(3):
            rest = inner != fold
            machine = NystroemFisher("pooled", "least_squares", ridge)
            machine.fit(Z[rest], embedding.signs, part.labels[rest], 3)
            decisions[~rest] = Z[~rest] @ machine.coef_ + machine.intercept_
        errors[ridge] = int((decisions.argmax(axis=1) != part.labels)[measured].sum())
    chosen = float(trained.figures["hyper_parameters"].removeprefix("ridge="))
    assert errors[chosen] == min(errors.values())
    assert trained.figures["inner_accuracy"] == 1 - errors[chosen] / measured.sum()


@pytest.mark.parametrize("correction", ["none", "flip", "clip", "square", "shift"])
@pytest.mark.parametrize("learner", ["pcvm", "epcvm", "krein-svc", "cvm", "pooled"])
def test_the_unit_of_the_scores_does_not_matter(learner, correction):
    if learner in PSD_ONLY and correction == "none":
        return
    landmarks, part, _ = problem("similarity")
    plain, *_ = fitted("similarity", learner, correction)
    unit = 2.0**-10
    scores, own = unit * landmarks.scores, unit * landmarks.self_scores
    other, *_ = fitted("similarity", learner, correction, scores=scores, self_scores=own)
    figures = [
        {key: value for key, value in trained.figures.items() if key.endswith(("accuracy", "used"))}
        for trained in (plain, other)
    ]
    assert figures[0] == figures[1]
    np.testing.assert_allclose(
        decisions(other.classifier, replace(landmarks, scores=scores, self_scores=own), part.rows),
        decisions(plain.classifier, landmarks, part.rows),
        rtol=1e-6,
        atol=1e-6,
    )


def test_the_rows_of_the_factor_are_computed_once(monkeypatch):
    heights = []
    real = Embedding.transform
    monkeypatch.setattr(
        Embedding, "transform", lambda self, C: heights.append(len(C)) or real(self, C)
    )
    _, _, part, *_ = fitted("similarity", "pooled")
    of_the_recipe = heights[1:]  # the first are those that the eigenpairs are made of
    assert of_the_recipe == [len(part.rows)]


def test_decisions_are_held_for_measured_records_alone():
    """Of 25 choices, 66,000 records and 46 classes they are 0.6 GB."""
    _, landmarks, part, kernel, embedding, inner, _ = fitted("similarity", "lsm")
    inner[::2] = -1
    learner = registry.make_learner(LEARNERS["lsm"])
    problem_ = Problem.of(embedding, kernel, landmarks, part, 1)
    held = _held_out_decisions(learner, problem_, learner.choices(), inner, None)
    assert len(held) == 25
    assert {decisions.shape for decisions in held} == {(np.count_nonzero(inner >= 0), 3)}
    (fit,) = learner.fit(problem_.on(np.flatnonzero(inner != 1)), learner.choices()[7:8])
    expected = learner.decide(fit, problem_.on(np.flatnonzero(inner == 1)))
    np.testing.assert_allclose(held[7][inner[inner >= 0] == 1], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("learner", ["lsm", "sf-lsm", "ikqd", "dissimilarities"])
def test_a_recipe_that_cannot_learn_says_its_name(learner):
    with pytest.raises(InputError, match=r"^recipe 'it': .*choose other landmarks, or check"):
        fitted("similarity", learner, scores=np.ones((N, M)), self_scores=np.ones(N))


def test_every_learner_of_the_registry_is_tried_here():
    assert {settings["method"] for settings in LEARNERS.values()} == set(registry.LEARNERS)
