"""Several labels a record: thresholds, calibration, what is measured, and what is seen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import f1_score

from chimeras import several_problem, trained_on_several
from fitting.trainings import LEARNERS, embedded
from kreinflow.answering.query_and_answers import Query
from kreinflow.answering.several_labels import Several
from kreinflow.base.hierarchy import above
from kreinflow.fitting.calibration import (
    PlattCalibrator,
    f1_threshold,
    held_out_figures,
    several_of,
)
from kreinflow.fitting.inner_folds import InnerFits, _held_out_decisions, choose, inner_partition
from kreinflow.fitting.recipe_choice import unpacked
from kreinflow.krein.landmark_kernel import landmark_kernel
from kreinflow.learners.binary_relevance import BinaryRelevance
from kreinflow.learners.learner import Problem
from kreinflow.learners.registry import make_learner

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


def naive_thresholds(logits, having):
    """The cut of the largest F1 of all cuts, and half the largest expected F1 by all numbers."""
    cuts = np.unique(logits)
    scores = [f1_score(having, logits >= cut) for cut in cuts]
    above = max(cut for cut, score in zip(cuts, scores, strict=True) if score == max(scores))
    below = logits[logits < above]
    p = expit(np.sort(logits)[::-1])
    largest = max(2 * p[:n].sum() / (n + p.sum()) for n in range(1, len(p) + 1))
    half = -np.log(2 / largest - 1)
    return (above + below.max()) / 2 if len(below) else above, half


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_is_between_the_best_cut_and_half_the_expected_f1(seed):
    rng = np.random.default_rng(seed)
    having = rng.random(40) < rng.choice([0.1, 0.5, 0.9])
    having[:2] = True, False
    logits = np.round(rng.normal(size=40) + having, 1)  # with ties
    expected = np.mean(naive_thresholds(logits, having))
    assert f1_threshold(logits, having) == pytest.approx(expected)


def test_rows_that_are_told_apart_are_cut_between():
    having = np.arange(40) < 10
    assert f1_threshold(np.where(having, 30.0, -30.0), having) == pytest.approx(0, abs=1e-9)


def new_records(trained, landmarks, part):
    """The probabilities of the records behind the training part."""
    new = np.arange(len(part.rows), len(landmarks.scores))
    query = Query(landmarks.scores[new], landmarks.self_scores[new], landmarks.lengths[new])
    return trained.classifier.predict_proba(query)


@pytest.mark.parametrize("learner", ["ikfd", "pooled", "lsm", "sf-lsm", "pcvm", "sh-svm", "svc"])
def test_both_labels_of_new_records_are_found(learner):
    landmarks, part, memberships = several_problem(outside=400)
    trained = trained_on_several(LEARNERS[learner], landmarks, part)
    p, truth = new_records(trained, landmarks, part), memberships[150:]
    assert p.shape == (400, 5)
    assert ((p > 0) & (p < 1)).all()
    predicted = trained.classifier.several.chosen(p)
    assert f1_score(truth, predicted, average="micro") > 0.85
    two = truth.sum(axis=1) == 2
    assert (predicted[two] == truth[two]).all(axis=1).mean() > 0.6
    right = (predicted == truth).all(axis=1).mean()
    figures = trained.figures
    assert abs(figures["inner_accuracy"] - right) < 0.15
    assert np.nanmean(unpacked(figures)) == figures["inner_accuracy"]
    assert figures["inner_records"] == 150
    assert figures["temperature"] == 1.0
    assert figures["reject_threshold"] == trained.classifier.several.thresholds.min()


def test_a_row_without_any_label_is_rejected_and_no_other():
    landmarks, part, _ = several_problem(outside=200)
    trained = trained_on_several(LEARNERS["lsm"], landmarks, part)
    everything = Query(landmarks.scores, landmarks.self_scores, landmarks.lengths)
    answers = trained.classifier.answer(everything)
    chosen = trained.classifier.several.chosen(trained.classifier.predict_proba(everything))
    np.testing.assert_array_equal(answers.rejected, ~chosen.any(axis=1))
    assert 0 < answers.rejected.sum() < 40
    assert (answers.probabilities.max(axis=1)[answers.rejected] >= 0.0).all()


def naive_decisions(settings, landmarks, part, inner):
    """What each inner fold's records get from the learner on the others, a label at a time."""
    out = np.zeros(part.memberships.shape)
    for fold in range(3):
        seen, unseen = np.flatnonzero(inner != fold), np.flatnonzero(inner == fold)
        kept = landmarks.some(~np.isin(landmarks.rows, part.rows[unseen]))
        for code in range(part.memberships.shape[1]):
            own = part.memberships[seen, code].astype(int)
            rest = replace(
                part,
                rows=part.rows[seen],
                labels=own,
                groups=part.groups[seen],
                classes=("n", "y"),
                memberships=None,
            )
            embedding, kernel = embedded(kept, rest, "none")
            (fit,) = make_learner(settings).fit(
                Problem.of(embedding, kernel, kept, rest, 1), make_learner(settings).choices()
            )
            rows = landmark_kernel(kept, part, kernel.transform).C[unseen]
            out[unseen, code] = fit.decision.decide(rows)[:, 1]
    return out


def test_calibration_and_thresholds_come_from_held_out_decisions():
    settings = {"method": "krein_lsm", "lambda_plus": 1e-2, "lambda_minus": 1e-2}
    landmarks, part, memberships = several_problem()
    inner = inner_partition(part, 3, 1, "r0f0")
    trained = trained_on_several(settings, landmarks, part)
    decisions = naive_decisions(settings, landmarks, part, inner)
    calibrator = PlattCalibrator().fit(decisions, memberships)
    several = trained.classifier.several
    np.testing.assert_allclose(several.slopes, calibrator.slopes_, rtol=1e-6)
    np.testing.assert_allclose(several.intercepts, calibrator.intercepts_, rtol=1e-6)
    z = calibrator.logits(decisions)
    thresholds = [expit(f1_threshold(z[:, c], memberships[:, c])) for c in range(5)]
    np.testing.assert_allclose(several.thresholds, thresholds, rtol=1e-6)
    # What is measured knows nothing of the fold that it is measured on, the thresholds neither.
    right, losses = np.zeros(150, dtype=bool), np.zeros(150)
    for fold in range(3):
        own = inner == fold
        others = PlattCalibrator().fit(decisions[~own], memberships[~own])
        z, Y = others.logits(decisions), memberships
        cuts = [f1_threshold(z[~own, c], Y[~own, c]) for c in range(5)]
        right[own] = ((z >= cuts) == Y).all(axis=1)[own]
        p = expit(z[own])
        losses[own] = -np.log(np.where(Y[own], p, 1 - p)).mean(axis=1)
    assert trained.figures["inner_accuracy"] == right.mean()
    assert trained.figures["inner_log_loss"] == pytest.approx(losses.mean(), rel=1e-6)


def test_the_hyper_parameters_are_those_of_the_smallest_log_loss():
    landmarks, part, memberships = several_problem(signal=0.5)
    embedding, kernel = embedded(landmarks, part, "none")
    problem = Problem.of(embedding, kernel, landmarks, part, 1)
    learner = BinaryRelevance(make_learner(LEARNERS["sf-lsm"]))
    fits = InnerFits(inner_partition(part, 3, 1, "r0f0"))
    choice, honest, *_ = choose(learner, problem, fits, "misfit")
    choices = learner.choices()
    held = _held_out_decisions(learner, problem, choices, fits, "misfit")
    calibrators = [PlattCalibrator().fit(f, memberships) for f in held]
    losses = np.array(
        [own.losses(f, memberships) for own, f in zip(calibrators, held, strict=True)]
    )
    best = losses.mean(axis=1).argmin()
    assert choice == choices[best]
    assert len({round(loss, 6) for loss in losses.mean(axis=1)}) > 5  # they do differ
    for fold in range(3):
        own = fits.inner == fold
        other = losses[:, ~own].mean(axis=1).argmin()
        # The probabilities of the other choice, written as decisions of the chosen one.
        np.testing.assert_allclose(
            calibrators[best].probabilities(honest[own]),
            calibrators[other].probabilities(held[other][own]),
            rtol=1e-9,
        )


def test_inner_figures_promise_what_new_records_get():
    """Over draws of the data the inner figures are those of new records, if anything worse."""
    settings = {"method": "krein_lsm", "lambda_plus": "inner", "lambda_minus": 1e-2}
    found = []
    for seed in range(20):
        landmarks, part, memberships = several_problem(
            n=200, outside=1000, seed=seed, signal=0.7, shares=(8, 6, 3, 2, 1)
        )
        trained = trained_on_several(settings, landmarks, part, k=5)
        p, truth = new_records(trained, landmarks, part), memberships[200:]
        right = (trained.classifier.several.chosen(p) == truth).all(axis=1).mean()
        loss = -np.log(np.where(truth, p, 1 - p)).mean()
        figures = trained.figures
        found.append(
            (
                figures["inner_accuracy"] - right,
                figures["inner_log_loss"] - loss,
                *(p.mean(axis=0) - truth.mean(axis=0)),
            )
        )
    mean, error = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(20)
    assert -0.04 < mean[0] < 2 * error[0]
    assert -2 * error[1] < mean[1] < 0.03
    assert (np.abs(mean[2:]) < 0.02).all()  # probabilities of each label are as large as its share


def test_noise_gives_chance():
    landmarks, part, memberships = several_problem(n=300, outside=1000, signal=0, both=0.3)
    trained = trained_on_several(LEARNERS["lsm"], landmarks, part)
    p, truth = new_records(trained, landmarks, part), memberships[300:]
    share = memberships[:300].mean(axis=0)
    np.testing.assert_allclose(p.mean(axis=0), share, atol=0.03)
    chance = -(share * np.log(share) + (1 - share) * np.log(1 - share)).mean()
    loss = -np.log(np.where(truth, p, 1 - p)).mean()
    assert loss == pytest.approx(chance, abs=0.03)
    assert trained.figures["inner_log_loss"] == pytest.approx(chance, abs=0.03)
    # All records are said to have all labels, or nearly so: nothing beats that for F1.
    f1 = f1_score(truth, trained.classifier.several.chosen(p), average="macro")
    assert f1 == pytest.approx((2 * share / (1 + share)).mean(), abs=0.05)


NODES = ("1", "1.1", "1.1.1", "1.1.2", "2", "2.5.5", "3.1")


@pytest.mark.parametrize("seed", range(5))
def test_a_label_brings_those_above_it(seed):
    """By the names: what begins with a label and a point is below it."""
    rng = np.random.default_rng(seed)
    thresholds = rng.uniform(0.2, 0.8, len(NODES))
    several = Several(np.ones(len(NODES)), np.zeros(len(NODES)), thresholds, above(NODES, "."))
    p = rng.random((40, len(NODES)))
    chosen = several.chosen(p)
    for row, own in zip(p, chosen, strict=True):
        sure = [node for node, enough in zip(NODES, row >= thresholds, strict=True) if enough]
        said = {n for n in NODES if any(f"{node}.".startswith(f"{n}.") for node in sure)}
        assert {NODES[code] for code in np.flatnonzero(own)} == said
        last = [NODES[code] for code in several.ranked(row)]
        assert set(last) == {n for n in said if not any(o.startswith(f"{n}.") for o in said)}
        assert last == sorted(last, key=lambda node, row=row: -row[NODES.index(node)])
    assert (chosen != (p >= thresholds)).any()


def test_labels_with_one_record_share_a_calibration():
    _, _, memberships = several_problem()
    memberships = np.column_stack([memberships, np.arange(150) == 3])
    calibrator = PlattCalibrator().fit(np.random.default_rng(0).normal(size=(150, 6)), memberships)
    assert calibrator.shared_.tolist() == [False] * 5 + [True]
    several = several_of(calibrator, np.zeros((150, 6)), memberships)
    assert several.thresholds[5] == 0.5
    right, losses = held_out_figures(np.zeros((150, 6)), memberships, np.arange(150) % 3)
    assert right.shape == losses.shape == (150,)
    assert np.isfinite(losses).all()
