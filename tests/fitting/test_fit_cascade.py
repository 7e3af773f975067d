"""A cascade that is learned: against other formulas, invariants, noise, and what it promises."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from kreinflow.alignment.transforms import make_transform
from kreinflow.answering.cascade import SMALLEST, LevelAnswers, followed
from kreinflow.answering.label_sets import outcomes
from kreinflow.answering.nearest_records import BY_SEEDS, ScoreCache, closeness_besides
from kreinflow.answering.query_and_answers import Query
from kreinflow.base.errors import InputError
from kreinflow.base.random_streams import hash_keys
from kreinflow.fitting import first_stage
from kreinflow.fitting import fit_cascade as cascading
from kreinflow.fitting.cascade_choice import THRESHOLDS, Plan, Wanted, chosen
from kreinflow.fitting.fit_cascade import fit_logit
from kreinflow.fitting.fit_lift import Lifting
from kreinflow.fitting.inner_folds import InnerFits, inner_partition
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.training import Training
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, landmark_kernel
from kreinflow.views.objects import Viewed
from plain_seeds import plain_nearest
from small_inputs import PROTEIN

LEARNER = {"method": "sf_lsm", "ridge": "inner", "weights": "classes"}
RECIPE = {"name": "it", "transform": "log", "correction": "none", "rank": "misfit"}


class Families:
    """Objects of families, their scores with each other, and landmarks that tell little.

    The first m are landmarks; with a spread of 0 nothing tells of the families. The closer two are,
    the more blocks of residues have they in common.
    """

    def __init__(self, n=180, n_classes=6, seed=0, spread=0.8, m=12, tested=120):
        rng = np.random.default_rng(seed)
        every = n + tested
        self.n, self.k = n, n_classes
        self.y = np.arange(every) % n_classes
        points = (
            rng.normal(size=(every, 4)) + 1.6 * spread * rng.normal(size=(n_classes, 4))[self.y]
        )
        squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
        self.S = np.floor(200 * np.exp(-squared / 12)).astype(np.int32)
        self.own = np.full(every, 200.0)
        self.lengths = np.full(every, 40.0)
        self.landmarks = np.arange(m)
        self.asked = Counter()
        self.classes = tuple("abcdefghijkl"[:n_classes])
        blocks = rng.choice([letter.encode() for letter in PROTEIN], (8, 64, 6))
        cells = np.floor(0.7 * points @ rng.normal(size=(4, 8))).astype(int) % 64
        self.sequences = [blocks[np.arange(8), own].tobytes() for own in cells]

    def look_up(self, queries, records):
        """Scores, and a note of each pair that is asked."""
        for query, row in zip(queries.tolist(), records.tolist(), strict=True):
            self.asked.update((min(query, r), max(query, r)) for r in row if r >= 0)
        return self.S[queries[:, None], records]

    def training(self, groups=None, inner=4):
        rows = np.arange(self.n)
        part = TrainingPart(
            rows, self.y[: self.n], rows if groups is None else groups, self.classes
        )
        landmarks = Landmarks(
            self.S[:, self.landmarks], self.own, self.lengths, self.landmarks,
            self.y[self.landmarks], "sequences",
        )  # fmt: skip
        keys = hash_keys(1, "inducing points", [str(i) for i in range(len(self.y))])
        objects = Viewed(self.sequences)
        return Training(
            landmarks,
            part,
            InnerFits(inner_partition(part, inner, 1, "r0f0")),
            RejectRule(0.2),
            1,
            lambda recipe: Lifting(objects, part, recipe["views"], recipe["lift"], keys),
            ScoreCache(self.look_up, len(self.y), symmetric=True),
            make_transform("normalised"),
        )

    def trained(self, wanted, training=None, lift=None, learner=LEARNER):
        training = training or self.training()
        kernel = landmark_kernel(training.landmarks, training.part, make_transform("log"))
        recipe = {**RECIPE, "cascade": wanted, "lift": lift, "views": {}}
        no_factor = type("NoFactor", (), {"rank": 0})()
        return training.train(recipe, learner, None if lift else no_factor, kernel)

    def tested(self, classifier):
        """What the classifier sees of the test records, and how it may ask."""
        rows = np.arange(self.n, len(self.y))
        query = Query(
            self.S[np.ix_(rows, self.landmarks)],
            self.own[rows],
            self.lengths[rows],
            Viewed(self.sequences).take(rows),
            ask=lambda queries, records: self.S[rows[queries][:, None], records],
        )
        return classifier.decided(query)

    def level_answers(self, classifier):
        cascade = classifier.cascade
        return cascade.level_answers(cascade.scores(self.tested(classifier)))

    def right(self, levels, threshold):
        said, _, alignments = followed(levels, threshold)
        return said.argmax(axis=1) == self.y[self.n :], alignments


@pytest.fixture(scope="module")
def families():
    return Families()


@pytest.fixture(scope="module")
def trained(families):
    return families.trained({"loss": 0.01})


def problem_of(seed=0, n=200, k=4, p=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k, p))
    said = softmax(X @ rng.normal(size=p), axis=1)
    return X, np.array([rng.choice(k, p=row) for row in said])


def slope_of(X, y, w):
    """Of the loss of weights, and their shrinkage."""
    left = softmax(X @ w, axis=1)
    left[np.arange(len(y)), y] -= 1
    return np.einsum("nc,ncp->p", left, X) / len(y) + 2 * cascading._SHRINKAGE * w


def test_a_conditional_logit_has_the_least_loss():
    X, y = problem_of()

    def loss(w):
        own = np.log(softmax(X @ w, axis=1))[np.arange(len(y)), y]
        return -own.mean() + cascading._SHRINKAGE * w @ w

    found = fit_logit(X, y)
    assert check_grad(loss, lambda w: slope_of(X, y, w), found) < 1e-5
    assert np.abs(slope_of(X, y, found)).max() < 1e-4
    assert loss(found) <= minimize(loss, np.zeros(3), method="Nelder-Mead", tol=1e-8).fun + 1e-7


def test_what_the_level_before_says_makes_no_class_less_likely():
    """The first weight is 0 where it would be negative, and the others are the best ones then."""
    X, y = problem_of()
    X[:, :, 0] *= -1
    found = fit_logit(X, y)
    assert found[0] == 0
    first, *others = slope_of(X, y, found)
    assert first > 0.1
    np.testing.assert_allclose(others, 0, atol=1e-4)


def test_of_two_classes_it_is_logistic_regression_of_differences():
    X, y = problem_of(k=2, n=300)
    other = LogisticRegression(fit_intercept=False, C=1 / (2 * cascading._SHRINKAGE * len(y)))
    other.fit(X[:, 1] - X[:, 0], y)
    np.testing.assert_allclose(fit_logit(X, y), other.coef_[0], atol=2e-3)


def test_figures_are_those_of_the_combined_answers(families, trained):
    cascade, figures = trained.classifier.cascade, trained.figures
    assert figures["temperature"] == cascade.temperature
    assert figures["reject_threshold"] == cascade.reject_threshold
    assert figures["alignments_per_query"] > len(families.landmarks) + 1
    assert figures["inner_records"] == len(families.training().fits.measured)
    assert figures["inner_known"] == ""  # a sample of all
    assert f"threshold {cascade.threshold:.4g}" in figures["cascade"]
    alone = families.trained(None)
    assert alone.figures["inner_accuracy"] < figures["inner_accuracy"]
    # So is what sets are made by.
    calibration, first = trained.classifier.calibration, alone.classifier.calibration
    assert len(calibration.conformity) == figures["inner_records"]
    assert len(calibration.wrong) / 180 < len(first.wrong) / 168


def test_sets_know_how_close_each_record_is_to_the_others(families, trained):
    """It is held out of all other records, not of those of two inner folds alone."""
    near, records = trained.classifier.calibration.near, trained.classifier.records
    measured = families.training().fits.measured
    scores = families.S[np.ix_(measured, families.landmarks)]
    sequences = Viewed(families.sequences).take(measured)
    query = Query(scores, families.own[measured], families.lengths[measured], sequences)
    besides = closeness_besides(records, query, measured, np.arange(families.n))
    assert near.closeness.tolist() == np.sort(besides).tolist()
    answers = trained.classifier.answer(families.tested(trained.classifier))
    assert (answers.closeness > 0).all()
    assert trained.classifier.calibration.beyond(answers.closeness).mean() < 0.1
    assert families.trained(None).classifier.calibration.near is None, "it has no records"


def test_closeness_leaves_out_what_is_of_a_records_group():
    families = Families(seed=2)
    groups = np.arange(families.n) // 12
    near = families.trained({}, families.training(groups=groups)).classifier.calibration.near
    alone = families.trained({}).classifier.calibration.near
    assert near.closeness.mean() < alone.closeness.mean()


@pytest.mark.parametrize("wanted", [None, {}])
def test_promises_rest_on_groups_where_these_hold_different_records(wanted):
    families = Families(seed=2)
    groups = np.arange(families.n) // 12
    training = families.training(groups=groups)
    measured = training.fits.measured
    some = measured[training.independent(measured)]
    assert sorted(groups[some]) == sorted({*groups[measured]}), "one of each"
    assert (some % 12).std() > 2, "by chance"
    again = measured[::-1][training.independent(measured[::-1])]
    assert sorted(again) == sorted(some), "in whatever order"
    calibration = families.trained(wanted, training).classifier.calibration
    assert len(calibration.weights) == len(calibration.conformity)
    units = {*zip(groups.tolist(), families.y[: families.n].tolist(), strict=True)}
    if wanted is None:  # without the group of the landmarks
        units = {(group, label) for group, label in units if group}
    assert calibration.units.sum() == pytest.approx(len(units), abs=1e-6)
    if wanted is not None:
        assert calibration.near.weights.sum() == pytest.approx(len(units))
    alone = families.training()
    assert alone.independent(measured).tolist() == list(range(len(measured)))
    calibration = families.trained(wanted, alone).classifier.calibration
    assert calibration.weights is None
    assert len(calibration.to_parts()[1]) == (3 if wanted is None else 5)


def test_a_threshold_of_groups_is_that_of_one_record_of_each():
    families, groups = Families(seed=2, spread=1.2), np.arange(180) // 3
    training = families.training(groups=groups)
    seen = []

    class Rule(RejectRule):
        def promise(self, probabilities, y):
            seen.append(len(y))
            return super().promise(probabilities, y)

    families.trained({}, replace(training, reject=Rule(0.2)))
    assert seen == [60, 60], "of the first stage, and of the cascade"


def test_each_pair_of_training_records_is_asked_once():
    families = Families(seed=3)
    trained = families.trained({"loss": 0.01})
    assert set(families.asked.values()) == {1}
    assert trained.figures["cascade_pairs"] == len(families.asked)
    rows = {row for pair in families.asked for row in pair}
    assert max(rows) < families.n  # no test record


def test_a_sample_of_the_records_is_told_by_its_bits(monkeypatch, families):
    monkeypatch.setattr(first_stage, "SAMPLE", 100)
    some = families.trained({"loss": 0.01}).figures
    assert some["inner_records"] == 100
    known = np.unpackbits(np.frombuffer(bytes.fromhex(some["inner_known"]), np.uint8))
    assert known.sum() == 100


def test_weights_of_an_inner_fold_do_not_know_its_labels(families):
    """The probabilities of held-out records stay the same if their own labels change."""
    training = families.training()
    X, y = problem_of(n=len(training.fits.measured))
    held = object.__new__(cascading._HeldOut)
    held._folds, held.truth = training.fits.inner[training.fits.measured], y
    every, held._found = np.ones(len(y), dtype=bool), {}
    _, said = held._logit(X, every)
    out, held._found = held._folds == 1, {}
    held.truth = np.where(out, (y + 1) % 4, y)
    _, changed = held._logit(X, every)
    np.testing.assert_array_equal(said[out], changed[out])
    assert not np.array_equal(said[~out], changed[~out])


def test_level_0_learns_of_the_seeds_of_records_that_a_fold_knows(monkeypatch, families):
    """By plain loops over the records of the other inner folds."""
    fit, seen = cascading.fit_logit, []
    monkeypatch.setattr(cascading, "fit_logit", lambda X, *of: seen.append(X) or fit(X, *of))
    training = families.training()
    trained = families.trained({"loss": 0.01}, training)
    held, inner = training.fits.measured, training.fits.inner
    features = next(X for X in seen if len(X) == len(held))
    assert (features[:, :, 0].argmax(axis=1) == trained.held_out[held]).all()
    seeds, y = trained.classifier.cascade.records.seeds, families.y[: families.n]
    for record, of_classes in zip(held[::8], features[::8], strict=True):
        known = np.flatnonzero(inner != inner[record])
        of_known = [families.sequences[i] for i in known]
        ((order, scores),) = plain_nearest(seeds, [families.sequences[record]], of_known)
        order = order[:BY_SEEDS]
        last = scores[order[-1]] if len(order) == BY_SEEDS else 0
        for c, own in enumerate(of_classes):
            best = max((scores[j] for j in order if y[known[j]] == c), default=last)
            share = np.sum(y[known[order[:10]]] == c) / 10
            np.testing.assert_allclose(own[1:], [np.log(1 + best), share], rtol=1e-12)


def test_records_held_out_meet_no_record_of_their_group(monkeypatch):
    monkeypatch.setattr(cascading, "BLOCKS", 0)  # machines align members of classes
    families = Families(seed=5)
    groups = np.arange(families.n) // 3
    training = families.training(groups)
    families.trained({"loss": 0.01}, training)
    fold = training.fits.inner
    assert len(families.asked) > families.n
    assert all(fold[a] != fold[b] and groups[a] != groups[b] for a, b in families.asked)


def test_noise_gives_chance_inside_and_outside():
    """The best of many plans and thresholds is not what is reported."""
    accuracies, best = [], []
    for seed in range(6):
        families = Families(n=330, seed=seed, spread=0.0, n_classes=3, tested=150)
        trained = families.trained({"loss": 0.03})
        right, _ = families.right(
            families.level_answers(trained.classifier), trained.classifier.cascade.threshold
        )
        accuracies.append([right.mean(), trained.figures["inner_accuracy"]])
        best.append(families.trained(None).figures["inner_accuracy"])
    outer, inner = np.mean(accuracies, axis=0)
    assert abs(outer - 1 / 3) < 0.06
    assert abs(inner - 1 / 3) < 0.05
    assert abs(np.mean(best) - 1 / 3) < 0.05


@pytest.mark.parametrize("loss", [0.01, 0.03])
def test_the_loss_against_asking_all_is_kept(loss):
    """On the mean of outer records, over seeds."""
    lost, saved = [], []
    for seed in range(4):
        families = Families(seed=10 + seed, spread=0.7)
        classifier = families.trained({"loss": loss}).classifier
        levels = families.level_answers(classifier)
        own, alignments = families.right(levels, classifier.cascade.threshold)
        everything, all_alignments = families.right(levels, 2.0)
        lost.append(everything.mean() - own.mean())
        saved.append(alignments.mean() / max(1.0, all_alignments.mean()))
    assert np.mean(lost) <= loss
    assert np.mean(saved) < 0.9


def test_sets_hold_what_they_promise_where_inner_folds_choose_otherwise():
    """216 records keep to a loss of .005 with few alignments, the 162 of other inner folds not."""
    held = []
    for seed in range(4):
        families = Families(n=216, seed=30 + seed, spread=1.8, tested=600)
        classifier = families.trained({"loss": 0.005}).classifier
        cascade, y = classifier.cascade, families.y[families.n :]
        said, *_ = followed(families.level_answers(classifier), cascade.threshold)
        probabilities = softmax(np.log(np.maximum(said, SMALLEST)) / cascade.temperature, axis=1)
        held.append(outcomes(classifier.calibration, probabilities, y)["held_90"].mean())
    assert np.mean(held) > 0.9
    assert min(held) > 0.88


def test_level_0_is_counted_with_the_records_that_p_values_ask(monkeypatch):
    """So are pairs right above it. Fewer alignments than both are refused."""
    families, seen = Families(seed=20, spread=0.7), []
    monkeypatch.setattr(
        cascading, "chosen", lambda plans, *of: seen.append(plans) or chosen(plans, *of)
    )
    for p_values in (False, True):
        start = len(seen)
        monkeypatch.setattr(Training, "has_p_values", p_values)
        families.trained({"alignments": 60})
        seen[start + 1 :] = []
    for plain, counted in zip(*seen, strict=True):
        assert not plain.levels[0].alignments.any()
        np.testing.assert_array_equal(counted.levels[0].alignments, seen[0][1].levels[1].alignments)
        for before, level in pairwise(counted.levels):
            assert (level.alignments >= before.alignments).all()
        for level, same in zip(counted.levels, plain.levels, strict=True):
            np.testing.assert_array_equal(level.probabilities, same.probabilities)
    assert any(plan.pairs and not plan.steps for plan in seen[1])
    with pytest.raises(InputError, match=r"first stage takes 13, and p-values 10 more\."):
        families.trained({"alignments": 22})
    monkeypatch.setattr(Training, "has_p_values", False)
    families.trained({"alignments": 22})


@pytest.mark.parametrize("p_values", [False, True])
def test_a_mean_number_of_alignments_is_kept(p_values, monkeypatch):
    """With the ten of p-values for what level 0 answers."""
    monkeypatch.setattr(Training, "has_p_values", p_values)
    asked = []
    for seed in range(6):
        families = Families(seed=20 + seed, spread=0.7)
        trained = families.trained({"alignments": 40})
        levels = families.level_answers(trained.classifier)
        _, number, alignments = followed(levels, trained.classifier.cascade.threshold)
        if p_values:
            scores = trained.classifier.cascade.scores(families.tested(trained.classifier))
            every = np.arange(len(number))
            scores.rank(every, 10)
            alignments = np.where(number == 0, scores.nearest(every, 10)[1], alignments)
        asked.append(len(families.landmarks) + 1 + alignments.mean())
        assert trained.figures["alignments_per_query"] <= 44
    assert 25 < np.mean(asked) < 42  # of one the first stage alone is best


def test_fewer_alignments_than_landmarks_are_refused(families):
    with pytest.raises(InputError, match=r"recipe 'it': cascade: 5 alignments .* takes 13\."):
        families.trained({"alignments": 5})


def test_machines_are_for_classes_that_are_confused_and_not_too_large(monkeypatch):
    families = Families(seed=3)
    for name, value, found in (
        ("MEMBERS", 2000, True),
        ("MEMBERS", 10, False),
        ("BLOCKS", 0, False),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(cascading, name, value)
            cascade = families.trained({"alignments": 150}).classifier.cascade
        assert (cascade.machines is not None) == found


def test_where_an_inner_fold_is_left_with_one_landmark_the_first_stage_answers():
    """It learned nothing there, and nobody can be asked; the records stay in the sample."""
    for seed in range(4):
        families = Families(n=60, n_classes=2, m=2, tested=20, seed=seed)
        trained = families.trained({}, families.training(inner=2))
        assert trained.figures["inner_records"] == 60
        assert trained.figures["inner_known"] == ""


def test_the_threshold_of_a_loss_against_trying_all():
    """The lowest one at which, and above which, few enough are lost."""
    rng = np.random.default_rng(0)
    n, truth = 400, rng.integers(3, size=400)
    levels = []
    for certain in (1.0, 3.0):
        said = softmax(certain * (np.eye(3)[truth] + rng.normal(size=(n, 3)) * 0.6), axis=1)
        levels.append(LevelAnswers(said, np.full(n, 10 * int(certain)), np.ones(n, dtype=bool)))
    plan = Plan(1, False, levels, ())
    everything = followed(levels, 2.0)[0].argmax(axis=1) == truth
    answers = {t: followed(levels, t)[0].argmax(axis=1) for t in THRESHOLDS}
    lost = {t: int((everything & (said != truth)).sum()) for t, said in answers.items()}
    for loss in (0.001, 0.005, 0.02, 0.1, 1.0):
        found, threshold = chosen([plan], truth, Wanted(loss=loss), 5)
        assert found is plan
        kept = [
            t
            for t in THRESHOLDS
            if all((lost[u] + 1) / (n + 1) <= loss for u in THRESHOLDS if u >= t)
        ]
        assert threshold == min(kept, default=2.0)
    assert chosen([plan], truth, Wanted(loss=0.001), 5)[1] == 2.0  # 400 cannot promise it
    assert chosen([plan], truth, Wanted(loss=1.0), 5)[1] == 0.0


@pytest.mark.parametrize("most", [5, 8, 12.5, 30, 45, 1000])
def test_the_threshold_of_a_number_of_alignments_against_trying_all(most):
    """Of plans the one that is right most often at the highest that keeps to the number.

    Then the lowest that loses no record, and by which all are less than e times less likely.
    """
    rng = np.random.default_rng(1)
    n, truth = 300, rng.integers(3, size=300)
    levels = []
    for step, certain in enumerate((1.0, 2.0, 3.0)):
        said = softmax(certain * (np.eye(3)[truth] + rng.normal(size=(n, 3)) * 0.6), axis=1)
        reached = np.ones(n, dtype=bool) if not step else rng.random(n) < 0.9
        levels.append(LevelAnswers(said, step * rng.integers(10, 20, size=n) + 3 * step, reached))
    plans = [Plan(number, False, levels[: number + 1], ()) for number in range(3)]

    def at(plan, t):
        p, _, asked = followed(plan.levels, t)
        likelihood = np.log(p[np.arange(n), truth]).sum()
        return p.argmax(axis=1) == truth, likelihood, float(asked.mean())

    best = []
    for plan in plans:
        kept = [t for t in THRESHOLDS if at(plan, t)[2] <= most - 5]
        right, likelihood, _ = at(plan, max(kept))
        for low in kept:
            own = at(plan, low)
            if (own[0] >= right).all() and own[1] > likelihood - 1:
                break
        best.append((int(right.sum()), plan.steps, low))
    found, threshold = chosen(plans, truth, Wanted(alignments=most), 5)
    assert (found.steps, threshold) in [b[1:] for b in best if b[0] == max(best)[0]]


@pytest.mark.parametrize(("n", "asks"), [(50, False), (200, True)])
def test_what_makes_answers_hardly_surer_is_not_asked(n, asks):
    """Records that are right anyway: together .7 or 2.7 nats likelier with everything asked."""
    truth, nobody = np.arange(n) % 3, np.zeros(n, dtype=np.int64)
    levels = [
        LevelAnswers(softmax(sure * np.eye(3)[truth], axis=1), nobody + more, nobody == 0)
        for sure, more in ((5.0, 0), (9.0, 10))
    ]
    plan = Plan(1, False, levels, ())
    threshold = chosen([plan], truth, Wanted(alignments=60), 5)[1]
    assert (followed(levels, threshold)[1] == asks).all()
