"""Training of a recipe on synthetic scores: what is folded, what is measured, what is seen."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binomtest

from fitting.trainings import (
    CLASSES,
    KINDS,
    LEARNERS,
    PSD_ONLY,
    M,
    N,
    assert_same,
    decisions,
    embedded,
    fitted,
    problem,
    query_of,
    recipe_for,
    training_of,
    without,
)
from krein_problems import sparse_functions
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.label_sets import Calibration
from kreinflow.answering.levels import Levels
from kreinflow.base.errors import InputError
from kreinflow.fitting.inner_folds import PARTS, finer, inner_partition
from kreinflow.fitting.recipe_choice import fold_accuracies
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.krein.landmark_kernel import TrainingPart, landmark_kernel
from kreinflow.learners import registry
from kreinflow.learners.fisher import RIDGE_GRID, fisher_path
from kreinflow.learners.learner import Problem


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_probabilities_sum_to_one_and_new_rows_are_learned(kind, learner):
    trained, landmarks, part, *_ = fitted(kind, learner)
    new = np.setdiff1d(np.arange(N), part.rows)
    probabilities = trained.classifier.predict_proba(query_of(landmarks, new))
    assert (probabilities >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-14)
    truth = np.arange(N)[new] // 30
    assert np.mean(probabilities.argmax(axis=1) == truth) >= 0.8
    together = decisions(trained.classifier, landmarks, part.rows)
    for place in (0, 31, len(part.rows) - 1):
        alone = decisions(trained.classifier, landmarks, part.rows[place : place + 1])
        np.testing.assert_array_equal(alone[0], together[place])
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
        (fisher,) = fisher_path(Z, embedding.signs, part.labels, 3)
        coef, intercept = fisher.coef, fisher.intercept
    else:
        known = Problem.of(embedding, kernel, landmarks, part, 1)
        machine = sparse_functions(registry.make_learner(LEARNERS[learner]), known)
        coef, intercept = machine.coef, machine.intercept
    expected = Z @ coef + intercept
    ours = decisions(trained.classifier, landmarks, part.rows)
    scale = np.abs(embedding.matrix).max() * np.abs(coef).max()
    np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-12 * scale)


def test_a_fit_that_has_not_converged_is_told_once():
    with pytest.warns(UserWarning, match="recipe 'it': training stopped .* Raise max_iter") as told:
        fitted("sequences", "pcvm-all")
    assert len(told) == 1


@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_outside_the_training_part_are_not_looked_at(learner):
    plain, landmarks, part, *_ = fitted("sequences", learner)
    outside = np.setdiff1d(np.arange(N), part.rows)
    changed = {
        name: getattr(landmarks, name).copy() for name in ("scores", "self_scores", "lengths")
    }
    for array in changed.values():
        array[outside] = 7
    assert_same(plain, fitted("sequences", learner, **changed)[0])


def refitted(settings, landmarks, part, inner):
    """The decisions of Fisher's discriminant for the records of each inner fold, of the others."""
    decisions = np.zeros((len(part.rows), 3))
    for fold in range(3):
        held_out = inner == fold
        others, rest = without(landmarks, part, held_out)
        embedding, kernel = embedded(others, rest, "none")
        Z = embedding.transform(kernel.C)
        (machine,) = fisher_path(Z, embedding.signs, rest.labels, 3, *settings[:2], settings[2:])
        unseen = landmark_kernel(others, part, kernel.transform).C[held_out]
        decisions[held_out] = embedding.transform(unseen) @ machine.coef + machine.intercept
    return decisions


def test_calibration_and_threshold_come_from_held_out_decisions():
    """The temperature minimises the log loss of decisions of models that lacked the record."""
    trained, landmarks, part, kernel, embedding, inner, _ = fitted("sequences", "ikfd")
    held_out = refitted(("balanced", "midpoint", 0), landmarks, part, inner)
    truth = part.labels

    def loss(temperature):
        p = softmax(held_out / temperature, axis=1)
        return -np.log(p[np.arange(len(truth)), truth]).mean()

    best = trained.figures["temperature"]
    assert loss(best) == pytest.approx(trained.figures["inner_log_loss"], rel=1e-8)
    assert loss(best) <= min(loss(best * 1.05), loss(best / 1.05))
    p = softmax(held_out / best, axis=1)
    accepted = p.max(axis=1) >= trained.figures["reject_threshold"]
    wrong = p.argmax(axis=1)[accepted] != truth[accepted]
    assert binomtest(int(wrong.sum()), len(wrong)).proportion_ci(0.8, "exact").high <= 0.2
    assert trained.figures["inner_accuracy"] == np.mean(p.argmax(axis=1) == truth)
    assert trained.classifier.about["reject"] == {
        **{"error": 0.2, "confidence": 0.9},
        "otherwise": "half",
    }
    assert trained.classifier.promised_error == trained.figures["promised_error"] == 0.2
    covering = training_of(landmarks, part, inner, RejectRule(None, 0.8)).train(
        trained.classifier.about["recipe"], LEARNERS["ikfd"], embedding, kernel
    )
    accepted = p.max(axis=1) >= covering.figures["reject_threshold"]
    assert np.mean(accepted) == pytest.approx(0.8, abs=1 / len(truth))
    assert covering.classifier.about["reject"] == {"coverage": 0.8}
    assert covering.figures["temperature"] == best


def test_sets_are_calibrated_by_fits_that_have_all_landmarks():
    """Of records that they did not learn from, and that are no landmarks."""
    trained, landmarks, part, kernel, embedding, inner, _ = fitted("sequences", "pooled")
    ridge = json.loads(trained.figures["hyper_parameters"])["ridge"]
    Z, held_out = embedding.transform(kernel.C), np.zeros((len(part.rows), 3))
    parts = finer(inner, part.groups)  # as there are few records
    assert len(np.unique(parts)) == 3 * PARTS
    for own in np.unique(parts):
        seen = parts != own
        (machine,) = fisher_path(
            Z[seen], embedding.signs, part.labels[seen], 3, "pooled", "least_squares", [ridge]
        )
        held_out[~seen] = machine.decide(Z[~seen])
    apart = ~np.isin(part.rows, landmarks.rows)
    assert 0 < apart.sum() == len(part.rows) - M
    p = softmax(held_out / trained.figures["temperature"], axis=1)
    expected = Calibration.of(p[apart], part.labels[apart]).to_parts()[1]
    for name, array in trained.classifier.calibration.to_parts()[1].items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-6, atol=1e-12)


def test_sets_of_other_fits_are_calibrated_by_the_inner_folds(monkeypatch):
    """Where most records are landmarks, or fits with all landmarks would take as long again."""
    monkeypatch.setattr("kreinflow.fitting.first_stage.FEW_RECORDS", 0)
    landmarks, part, full = problem("sequences")
    rows = np.flatnonzero(np.arange(N) % 3)
    many = replace(landmarks, scores=full[:, rows], rows=rows, classes=np.arange(N)[rows] // 30)
    everything = TrainingPart(np.arange(N), np.arange(N) // 30, np.arange(N), CLASSES)
    for learner, own, known in (("pooled", many, everything), ("pcvm", landmarks, part)):
        embedding, kernel = embedded(own, known, "none")
        recipe = recipe_for("sequences", "none", learner)
        trained = training_of(own, known).train(recipe, LEARNERS[learner], embedding, kernel)
        calibration = trained.classifier.calibration
        assert calibration.counts.tolist() == np.bincount(known.labels).tolist()
        right = 1 - len(calibration.wrong) / len(known.rows)
        assert right == pytest.approx(trained.figures["inner_accuracy"])


def test_hyper_parameters_have_the_fewest_errors_of_refits_on_the_inner_folds():
    """Each inner fold is measured with what has the fewest errors on the others."""
    trained, landmarks, part, _, _, inner, _ = fitted("sequences", "pooled", seed=6)
    wrong = {}
    for ridge in RIDGE_GRID:
        decisions = refitted(("pooled", "least_squares", ridge), landmarks, part, inner)
        wrong[ridge] = decisions.argmax(axis=1) != part.labels

    def fewest(records):
        errors = {ridge: int(of[records].sum()) for ridge, of in wrong.items()}
        return {ridge for ridge, count in errors.items() if count == min(errors.values())}

    chosen = json.loads(trained.figures["hyper_parameters"])["ridge"]
    assert chosen in fewest(inner >= 0)
    possible = {0}
    for fold in range(3):
        own = {int(wrong[ridge][inner == fold].sum()) for ridge in fewest(inner != fold)}
        possible = {errors + more for errors in possible for more in own}
    errors = round((1 - trained.figures["inner_accuracy"]) * len(inner))
    assert errors in possible
    assert min(possible) > 0


def test_what_a_fit_says_of_a_class_is_warned_of_and_counted():
    with pytest.warns(UserWarning, match=r"^recipe 'it': 1 of 3 classes \('a'\): nothing was le"):
        trained, *_ = fitted("squared_dissimilarity", "pcvm", "square", seed=2)
    assert trained.figures["unlearned_classes"] == 1
    assert trained.figures["unlearned_names"] == "'a'"
    assert trained.figures["singular_classes"] == 0
    assert trained.figures["singular_names"] == ""
    assert trained.figures["converged"]


@pytest.mark.parametrize("learner", ["lsm", "sf-lsm", "ikqd", "dissimilarities"])
def test_a_recipe_that_cannot_learn_says_its_name(learner):
    with pytest.raises(InputError, match=r"^recipe 'it': .*choose other landmarks, or check"):
        fitted("similarity", learner, scores=np.ones((N, M)), self_scores=np.ones(N))


LEVELS = Levels.of(["x.a", "x.b", "y"], ".", 0.95)


def trained_tree(kind, learner, learn, labels=None):
    """A recipe whose first two classes are siblings, its problem, and its new records."""
    landmarks, part, _ = problem(kind)
    part = replace(part, classes=("x.a", "x.b", "y"))
    if labels is not None:
        part = replace(part, labels=labels)
    correction = "flip" if learner in PSD_ONLY else "none"
    embedding, kernel = embedded(landmarks, part, correction)
    more = {} if learn is None else {"levels": LEVELS, "learn": learn}
    training = training_of(landmarks, part, **more)
    recipe = recipe_for(kind, correction, learner)
    trained = training.train(recipe, LEARNERS[learner], embedding, kernel)
    return trained, landmarks, np.setdiff1d(np.arange(N), part.rows)


def asked_for(classifier, landmarks, rows):
    return classifier.predict_proba(query_of(landmarks, rows))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["sequences", "squared_dissimilarity"])
@pytest.mark.parametrize("learn", ["siblings", "inner"])
@pytest.mark.parametrize(
    "learner", ["ikfd", "pcvm", "lsm", "sf-lsm", "cvm", "svc", "dissimilarities", "ikqd", "nearest"]
)
def test_classes_of_a_tree_are_learned_and_their_model_comes_back(kind, learn, learner):
    if learn == "siblings" and learner in ("ikqd", "nearest"):
        with pytest.raises(InputError, match=r"^recipe 'it': the learner .* cannot learn siblings"):
            trained_tree(kind, learner, learn)
        return
    trained, landmarks, new = trained_tree(kind, learner, learn)
    classifier = trained.classifier
    p = asked_for(classifier, landmarks, new)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    assert np.mean(p.argmax(axis=1) == np.arange(N)[new] // 30) >= 0.8
    assert classifier.decision.kind.startswith("siblings") or learn != "siblings"
    assert ('"siblings": 1' in trained.figures["hyper_parameters"]) == (
        classifier.decision.kind.startswith("siblings")
    )
    header, arrays = classifier.to_parts()
    header = json.loads(json.dumps(header))
    again = LandmarkClassifier.from_parts(header, arrays)
    np.testing.assert_array_equal(asked_for(again, landmarks, new), p)


@pytest.mark.parametrize("learner", ["ikfd", "sf-lsm", "nearest"])
def test_leaves_of_a_tree_are_the_classes_but_for_their_temperatures(learner):
    plain, landmarks, new = trained_tree("sequences", learner, None)
    trained, *_ = trained_tree("sequences", learner, "leaves")
    for name, array in plain.classifier.decision.to_parts()[1].items():
        np.testing.assert_array_equal(trained.classifier.decision.to_parts()[1][name], array)
    assert "forks" not in plain.classifier.to_parts()[0]
    f = decisions(plain.classifier, landmarks, new)
    log_p = trained.classifier.forks.log_probabilities(f)
    np.testing.assert_array_equal(decisions(trained.classifier, landmarks, new), log_p)
    expected = softmax(log_p / trained.classifier.temperature, axis=1)
    np.testing.assert_array_equal(asked_for(trained.classifier, landmarks, new), expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("learn", ["leaves", "siblings", "inner"])
def test_labels_that_are_noise_are_not_learned_by_a_tree(learn):
    right = []
    for seed in range(6):
        random = np.random.default_rng(seed)
        _, part, _ = problem("sequences")
        trained, *_ = trained_tree("sequences", "sf-lsm", learn, random.permutation(part.labels))
        right.append(trained.figures["inner_accuracy"])
        assert trained.figures["inner_log_loss"] > 1.0
    assert np.mean(right) < 0.45


def test_figures_tell_the_inner_folds_of_groups_that_are_held_out():
    landmarks, part, _ = problem("sequences")
    part = replace(part, groups=np.arange(len(part.rows)) // 2)
    embedding, kernel = embedded(landmarks, part, "none")
    recipe = recipe_for("sequences", "none", "pooled")
    of_groups = training_of(landmarks, part)
    trained = of_groups.train(recipe, LEARNERS["pooled"], embedding, kernel)
    means, right, place = fold_accuracies([trained.figures])
    inner = of_groups.fits.inner
    expected = trained.held_out == part.labels
    assert means[0].tolist() == [expected[inner == fold].mean() for fold in range(3)]
    for fold in range(3):
        np.testing.assert_array_equal(right[0, place == fold], expected[inner == fold])
    torn = training_of(landmarks, part, inner_partition(replace(part, groups=part.rows), 3, 1, "x"))
    single = training_of(landmarks, replace(part, groups=part.rows))
    for training in (torn, single):
        figures = training.train(recipe, LEARNERS["pooled"], embedding, kernel).figures
        assert figures["inner_sizes"] == ""
