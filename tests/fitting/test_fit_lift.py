"""Lifting against dense algebra and other libraries; what inner folds see of it; invariants."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.neighbors import KNeighborsClassifier

from fitting.lifted import BOTH, LETTERS, Records
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.config.schema import complete_method
from kreinflow.fitting import fit_lift as lifting_module
from kreinflow.fitting.fit_lift import (
    RIDGES,
    Trials,
    TriedWidths,
    _ridge_decisions,
    positive_factor,
)
from kreinflow.fitting.inner_folds import LiftedFits
from kreinflow.krein.factor import DegenerateKernelError
from kreinflow.krein.landmark_kernel import LandmarkKernel
from kreinflow.learners.learner import MANY_COLUMNS, Problem
from kreinflow.learners.registry import LEARNERS, make_learner
from kreinflow.views.objects import Viewed, Words

SF_LSM = {"method": "sf_lsm", "ridge": 0.1, "weights": "records"}
KREIN_LSM = {"method": "krein_lsm", "lambda_plus": 0.01, "lambda_minus": 0.01}


def everything(records, **lift):
    """The lift of all records, with the widths that are given."""
    lifting = records.lifting(**lift)
    widths = dict.fromkeys(lifting.names, float(lift.get("width", 1.0)))
    return lifting.on(records.kernel(), np.arange(len(records.y)), widths)


def views_of(records):
    """What each view compares; the scores in the precision of the model file."""
    return {
        "scores": records.landmarks().scores.astype(np.float32).astype(float),
        "words": Words((1, 2), LETTERS).features(records.sequences).toarray(),
        "vectors": records.vectors,
    }


def unit_of(X):
    return np.median(pdist(X, "sqeuclidean"))


def dense(records, form, width=1.0):
    """The kernel of all records with all, written out."""
    n = len(records.y)
    K = np.ones((n, n)) if form == "gaussian" else np.zeros((n, n))
    for X in views_of(records).values():
        if form == "gaussian":
            K *= np.exp(-cdist(X, X, "sqeuclidean") / (width * unit_of(X)))
        else:
            K += X @ X.T / (width * (X**2).sum(axis=1).mean())
    return K


def problem_of(records, lifted):
    factor, part = positive_factor(lifted.kernel), records.part
    return Problem.of(factor, lifted.kernel, lifted.landmarks, part, 1)


def learned(records, lifted, settings):
    """The decisions of a learner over a lift for all records, and what it made of them."""
    learner = make_learner(complete_method(LEARNERS, settings, "learner", "it"))
    problem = problem_of(records, lifted)
    (fitted,) = learner.fit(problem, learner.choices()[:1])
    return learner.decide(fitted, problem), fitted


# The kernel and its factor.


@pytest.mark.parametrize("form", ["gaussian", "linear"])
@pytest.mark.parametrize("width", [0.3, 2.0])
def test_the_lifted_kernel_is_that_of_the_formula(form, width):
    records = Records()
    lifted = everything(records, kernel=form, width=width)
    K = dense(records, form, width)
    found = np.asarray(lifted.kernel.C)
    np.testing.assert_allclose(found, K, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(lifted.kernel.self_similarities, np.diagonal(K), rtol=1e-9)
    np.testing.assert_allclose(lifted.kernel.W, K, rtol=1e-9, atol=1e-12)
    objects = Viewed(records.sequences, records.vectors)
    U = np.asarray(records.kernel().C)
    np.testing.assert_allclose(lifted.lift.columns(U, objects), K, rtol=3e-6, atol=5e-7)  # single


@pytest.mark.parametrize("form", ["gaussian", "linear"])
@pytest.mark.parametrize("inducing", [10, 25, 60])
def test_the_factor_is_the_subset_of_regressors(form, inducing):
    """Z Z' = C W^-1 C', by numpy's solver; with all records it is the kernel."""
    records = Records()
    lifted = everything(records, kernel=form, inducing=inducing)
    places = records.lifting(inducing=inducing).inducing
    assert len(lifted.lift) == inducing
    Z = problem_of(records, lifted).Z
    C = dense(records, form)[:, places]
    expected = C @ np.linalg.pinv(C[places], rcond=1e-13, hermitian=True) @ C.T
    np.testing.assert_allclose(Z @ Z.T, expected, rtol=1e-6, atol=1e-8)
    if form == "gaussian" and inducing == len(C):
        np.testing.assert_allclose(Z @ Z.T, C, rtol=1e-8, atol=1e-9)


def kernel_of(W, C=None):
    return LandmarkKernel(None, None, W if C is None else C, W, np.diagonal(W), None)


def test_a_singular_kernel_has_a_factor():
    X = np.random.default_rng(0).normal(size=(30, 4))
    K = X @ X.T  # of rank 4, 30 inducing points
    Z = positive_factor(kernel_of(K)).transform(K)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-4 * np.abs(K).max())


@pytest.mark.parametrize(
    "W", [np.zeros((3, 3)), np.full((3, 3), np.nan), np.diag([1.0, 1.0, -0.5])]
)
def test_kernels_without_a_factor_are_refused(W):
    with pytest.raises(DegenerateKernelError, match="zero, not finite, or has negative eigenval"):
        positive_factor(kernel_of(W))


def test_of_many_columns_every_second_ridge_is_tried():
    learner = make_learner({"method": "sf_lsm", "ridge": "inner", "weights": "classes"})
    few, many = (learner.choices(n) for n in (MANY_COLUMNS, MANY_COLUMNS + 1))
    assert [choice["ridge"] for choice in many] == [1e-2, 1e-4, 1e-6, 1e-8]
    assert len(few) > len(many)


def test_the_nearest_landmark_is_the_nearest_inducing_point():
    records = Records(signal=1.0)
    places = records.lifting(inducing=20).inducing
    f, _ = learned(records, everything(records, inducing=20), {"method": "nearest_landmark"})
    X = np.hstack([X / np.sqrt(unit_of(X)) for X in views_of(records).values()])
    others = np.setdiff1d(np.arange(60), places)  # it does not know itself
    machine = KNeighborsClassifier(1).fit(X[places], records.y[places])
    np.testing.assert_array_equal(f[others].argmax(axis=1), machine.predict(X[others]))


@pytest.mark.parametrize("n_classes", [3, 30])  # more classes than the 20 records held out, too
def test_the_ridge_regression_that_chooses_widths_is_that_of_dense_algebra(n_classes):
    """[K + r t I, 1; 1', 0] [a; b] = [y; 0]."""
    records = Records()
    K, out = dense(records, "gaussian"), np.arange(60) % 3 == 0
    y = np.random.default_rng(5).integers(n_classes, size=60)
    targets = np.where(y[:, None] == np.arange(n_classes), 1.0, -1.0)
    assert n_classes == 3 or len({*y[~out].tolist()}) < n_classes
    inside, n = K[np.ix_(~out, ~out)], int((~out).sum())
    found = list(_ridge_decisions(inside, K[np.ix_(out, ~out)], targets[~out]))
    assert len(found) == len(RIDGES)
    for ridge, f in zip(RIDGES, found, strict=True):
        A = np.ones((n + 1, n + 1))
        A[:n, :n] = inside + ridge * np.trace(inside) / n * np.eye(n)
        A[n, n] = 0
        solved = np.linalg.solve(A, np.vstack([targets[~out], np.zeros(n_classes)]))
        expected = K[np.ix_(out, ~out)] @ solved[:n] + solved[n]
        np.testing.assert_allclose(f, expected, rtol=1e-8, atol=1e-10)


# Each registered learner.


@pytest.mark.parametrize("method", LEARNERS)
def test_each_learner_learns_over_a_lift_and_its_model_decides_as_it_does(method):
    records, inducing = Records(n=110), 40
    known = records.ordered(np.arange(80))
    settings = complete_method(LEARNERS, {"method": method}, "learner", "it")
    trained = known.trained(settings, inducing=inducing)
    new = np.arange(80, 110)
    f = records.decisions(trained.classifier, places=new)
    assert np.mean(f.argmax(axis=1) == records.y[new]) >= 0.8
    assert trained.figures["inner_accuracy"] > 0.7
    assert trained.figures["landmarks"] == 12
    assert trained.figures["alignments_per_query"] == 12
    # The decision of the model, from scores and objects, is the learner's own on the problem.
    lifting, rates = known.lifting(inducing=inducing), trained.classifier.lift.rates
    widths = {view: 1.0 if view in rates else np.inf for view in lifting.names}
    lifted = lifting.on(known.kernel(), np.arange(80), widths)
    problem = problem_of(known, lifted)
    rows = problem.C if trained.classifier.decision.space == "kernel" else problem.nearness
    own = trained.classifier.decision.decide(np.asarray(rows))
    decisions = known.decisions(trained.classifier)  # in single precision
    np.testing.assert_allclose(decisions, own, rtol=3e-6, atol=1e-7)
    # Row by row too, whatever is asked for at once.
    np.testing.assert_array_equal(records.decisions(trained.classifier, places=new[5:8]), f[5:8])


# What inner folds may know.


def lifted_fits(records, **lift):
    """The lifted problem of a whole training part, and the fits of its inner folds."""
    training = records.training(**lift)
    lifting, kernel = training.liftings(None), records.kernel()
    widths, shape = dict.fromkeys(lifting.names, 1.0), (1, len(records.y))
    nothing = Trials(np.zeros(shape, dtype=bool), np.zeros(shape), records.inner())
    tried = TriedWidths([widths], dict.fromkeys((None, 0, 1, 2), nothing))
    lifted = lifting.on(kernel, np.arange(len(records.y)), widths)
    fits = LiftedFits(training.fits, training.landmarks, kernel, lifting, tried)
    return problem_of(records, lifted), fits


@pytest.mark.parametrize("inducing", [20, 4000])
def test_no_record_that_is_held_out_is_a_landmark_or_an_inducing_point_of_its_fit(inducing):
    records = Records()
    problem, fits = lifted_fits(records, inducing=inducing)
    for fold in fits:
        known = fits.problem(problem, fold, "misfit")
        held_out = np.flatnonzero(fits.inner == fold)
        assert len(held_out) > 10
        assert not np.isin(known.landmarks.rows, held_out).any()
        assert set(known.landmarks.rows) == set(problem.landmarks.rows) - set(held_out)
        # And its columns are those of the landmarks that are left alone: with all landmarks the
        # distances would be others.
        kept = records.landmarks().some(~np.isin(np.arange(12), held_out))
        u = np.asarray(kept.scores[:]).astype(np.float32).astype(float)
        views = (views_of(records) | {"scores": u}).values()
        units = [unit_of(np.delete(X, held_out, axis=0)) for X in views]
        squared = [cdist(X, X, "sqeuclidean") for X in views]
        exponent = sum(d / unit for d, unit in zip(squared, units, strict=True))
        expected = np.exp(-exponent)[:, known.landmarks.rows]
        np.testing.assert_allclose(np.asarray(known.C), expected, rtol=1e-8, atol=1e-12)


def changed(records, places, seed=5):
    """Records of which some have other labels, scores, sequences and vectors.

    Their scores change by the points that they are of; they may be landmarks.
    """
    rng = np.random.default_rng(seed)
    other = records.ordered(np.arange(len(records.y)))
    other.y = records.y.copy()
    other.y[places] = rng.permutation(records.y[places])
    other.X = records.X.copy()
    other.X[places] = rng.normal(size=(len(places), 3)) * 3
    other.vectors = records.vectors.copy()
    other.vectors[places] = 7 * rng.normal(size=(len(places), 4))
    for place in places:
        other.sequences[place] = "".join(rng.choice(list(LETTERS), 15)).encode()
    return other


@pytest.mark.parametrize("settings", [SF_LSM, KREIN_LSM, {"method": "ny_pcvm"}, {"method": "svc"}])
def test_what_is_held_out_does_not_touch_its_fit(settings):
    """Its decisions for others are the same whatever the records held out are."""
    records = Records()
    learner = make_learner(complete_method(LEARNERS, settings, "learner", "it"))
    inner = records.inner()
    for fold in range(3):
        held_out = np.flatnonzero(inner == fold)
        seen = np.flatnonzero(inner != fold)
        found = []
        for those in (records, changed(records, held_out)):
            problem, fits = lifted_fits(those)
            fits.inner[:] = inner  # labels that change would deal other folds
            known = fits.problem(problem, fold, "misfit")
            (fitted,) = learner.fit(known.on(seen), learner.choices()[:1])
            found.append(learner.decide(fitted, known.on(seen)))
        np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-8)


def test_what_the_other_folds_prefer_is_told_by_fits_that_know_nothing_of_the_fold(monkeypatch):
    """As if there were no such records: by the same trial on the others alone, in equal units."""
    monkeypatch.setattr(lifting_module._Unit, "value", 9.0)
    records = Records(n=90, signal=0.7)
    inner = records.inner()
    tried = tried_of(records, inner, width="inner")
    measured = np.isfinite([widths["scores"] for widths in tried.tries])  # the others only alone
    for fold in range(3):
        kept = np.flatnonzero(inner != fold)
        landmarks = records.landmarks()
        alone = records.ordered(kept)
        alone.landmarks = lambda lost=landmarks, kept=kept: replace(
            lost.some(np.isin(lost.rows, kept)),
            rows=np.searchsorted(kept, np.intersect1d(lost.rows, kept)),
        )
        U = np.asarray(landmarks.scores[kept][:, np.isin(landmarks.rows, kept)])
        kernel = replace(records.kernel(), C=U)
        again = alone.lifting(width="inner").tried(kernel, alone.landmarks(), inner[kept])
        mine, found = again.trials[None], tried.trials[fold]
        losses, right = (of[measured][:, kept] for of in (found.losses, found.right))
        np.testing.assert_allclose(mine.losses[measured], losses, rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(mine.right[measured], right)
        assert not found.right[:, inner == fold].any()


@pytest.mark.parametrize("form", ["gaussian", "linear"])
@pytest.mark.parametrize("twice", [False, True])
def test_widths_are_tried_on_kernels_without_the_landmarks_of_what_is_held_out(form, twice):
    """Each kernel written out from the columns that are left; also of a landmark in two folds."""
    records = Records(n=90, signal=0.7)
    inner, y, landmarks = records.inner(), records.y, records.landmarks()
    lifting = records.lifting(kernel=form, width="inner")
    if twice:  # a record of fold 0 and one of fold 1 are the same object, which is a landmark
        places = np.array([np.flatnonzero(inner == fold)[0] for fold in (0, 1)])
        records.X[places] = records.X[0]
        rows = np.arange(90)
        rows[places] = 0
        lifting = replace(lifting, part=replace(records.part, rows=rows))
        landmarks = records.landmarks()
    tried = lifting.tried(records.kernel(), landmarks, inner)
    drawn = lifting._drawn(lifting_module.TRIED)  # one of objects that are the same
    C = np.asarray(records.kernel().C).astype(np.float32).astype(float)
    views = {view: X[lifting.part.rows[drawn]] for view, X in views_of(records).items()}
    views["scores"] = C[drawn]
    units = {view: (X**2).sum(axis=1).mean() for view, X in views.items()}
    if form == "gaussian":
        units = {view: unit_of(X) for view, X in views.items()}
    folds, targets = inner[drawn], np.where(y[drawn, None] == np.arange(3), 1.0, -1.0)
    for fold, other in ((0, 0), (0, 1), (2, 1)):
        out = np.isin(folds, (fold, other))
        left = ~np.isin(landmarks.rows, lifting.part.rows[np.isin(inner, (fold, other))])
        assert 0 < left.sum() < len(left)
        found = tried.trials[None if fold == other else fold]
        for at, widths in enumerate(tried.tries):
            if not np.isfinite(list(widths.values())).all():
                continue
            K = np.ones((len(drawn),) * 2) if form == "gaussian" else 0.0
            for view, X in (views | {"scores": views["scores"][:, left]}).items():
                rate = 1 / (widths[view] * units[view])
                if form == "gaussian":
                    K = K * np.exp(-rate * cdist(X, X, "sqeuclidean"))
                else:
                    K = K + rate * X @ X.T
            blocks = K[np.ix_(~out, ~out)], K[np.ix_(out, ~out)]
            f = list(_ridge_decisions(*blocks, targets[~out]))[at % len(RIDGES)]
            expected = ((f - targets[out]) ** 2).mean(axis=1)[folds[out] == other]
            mine = found.losses[at][folds == other]
            np.testing.assert_allclose(mine, expected, rtol=1e-6, atol=1e-9)


def test_the_unit_of_a_view_is_that_of_the_records_that_a_fit_learns_from():
    records, rng = Records(n=70, signal=1.0), np.random.default_rng(3)
    for form in ("gaussian", "linear"):
        lifting = records.lifting(kernel=form)
        for seen in (np.arange(70), np.sort(rng.permutation(70)[:31])):
            widths = {"scores": 1.0, "words": 3.0, "vectors": np.inf}
            lift = lifting.lift_of(records.kernel(), seen, widths, seen[:5])
            assert set(lift.rates) == {"scores", "words"}
            for view, rate in lift.rates.items():
                X = views_of(records)[view][seen]
                unit = unit_of(X) if form == "gaussian" else (X**2).sum(axis=1).mean()
                assert rate == pytest.approx(1 / (widths[view] * unit), rel=1e-9)


def test_a_fold_of_which_no_record_was_tried_has_the_widths_of_all(monkeypatch):
    records = Records(signal=1.0)
    monkeypatch.setattr(lifting_module, "TRIED", 12)
    lifting = records.lifting(width="inner")
    inner = np.full(60, 3)
    inner[lifting._drawn(12)] = np.arange(12) % 3
    tried = lifting.tried(records.kernel(), records.landmarks(), inner)
    assert tried.best(without=3) == tried.best()


def test_with_two_folds_the_preferred_widths_are_measured():
    records = Records(signal=1.0)
    tried = tried_of(records, records.inner(2), width="inner")
    assert tried.best(without=0) == tried.best(without=1) == tried.tries[0]


@pytest.mark.parametrize(
    ("learner", "inducing"),
    [(SF_LSM | {"ridge": "inner"}, 4000), ({"method": "nearest_landmark"}, 20)],
    ids=["ridge", "nearest"],
)
def test_labels_that_are_noise_give_chance(learner, inducing):
    """The mean over seeds is within three and a half standard errors of one half."""
    found = []
    for seed in range(30):
        records = Records(n=45, n_classes=2, seed=seed, signal=0.0)
        lift = {"views": {"words": [1]}, "width": "inner", "inducing": inducing}
        trained = records.trained(learner, **lift)
        found.append(trained.figures["inner_accuracy"])
    assert abs(np.mean(found) - 0.5) < 3.5 * np.std(found) / np.sqrt(len(found))


# Widths.


def test_a_view_that_says_nothing_is_left_out_and_one_that_says_all_is_not():
    records = Records(n=150, signal=0.0)
    records.vectors = np.eye(3)[records.y] + 0.1 * np.random.default_rng(0).normal(size=(150, 3))
    tried = tried_of(records, width="inner")
    best, worth = tried.best(), tried.worth()
    assert np.isinf(best["words"]) or best["words"] >= 3
    assert np.isfinite(best["vectors"])
    assert worth["vectors"] > 0.4
    assert abs(worth["words"]) < 0.05
    assert abs(worth["scores"]) < 0.05


def tried_of(records, inner=None, **lift):
    inner = records.inner() if inner is None else inner
    return records.lifting(**lift).tried(records.kernel(), records.landmarks(), inner)


def test_one_view_has_no_worth_and_a_width_that_is_given_is_that_of_all_views():
    one = tried_of(Records(), views={}, width="inner")
    assert one.worth() == {}
    assert np.isfinite(one.best()["scores"])
    given = tried_of(Records(), width=2.5)
    assert {w for widths in given.tries for w in widths.values()} == {2.5, np.inf}


# Invariants.


@pytest.mark.parametrize("width", [1.0, "inner"])
@pytest.mark.parametrize("inducing", [20, 4000])
def test_the_order_of_records_changes_nothing(width, inducing):
    records = Records(signal=1.0)
    order = np.random.default_rng(3).permutation(60)
    other = records.ordered(order)
    one = records.trained(SF_LSM, width=width, inducing=inducing)
    two = other.trained(SF_LSM, width=width, inducing=inducing)
    found = [
        {these.names[i] for i in these.lifting(inducing=inducing).inducing}
        for these in (records, other)
    ]
    assert found[0] == found[1]
    assert one.figures["hyper_parameters"] == two.figures["hyper_parameters"]
    f, g = records.decisions(one.classifier), other.decisions(two.classifier)
    np.testing.assert_allclose(g, f[order], rtol=0, atol=1e-8)


def everything_of(records, views, form="gaussian"):
    """The decisions of least squares over the lift of all records; its bias is free."""
    lifted = everything(records, views=views, kernel=form)
    return learned(records, lifted, SF_LSM if form == "gaussian" else KREIN_LSM)[0]


@pytest.mark.parametrize("value", [0.0, 5.3, 1e6])
@pytest.mark.parametrize("form", ["gaussian", "linear"])
def test_a_view_of_constant_features_changes_nothing(value, form):
    records = Records(signal=1.0)
    constant = records.ordered(np.arange(60))
    constant.vectors = np.full((60, 4), value)
    without = everything_of(records, {"words": [1, 2]}, form)
    np.testing.assert_allclose(everything_of(constant, BOTH, form), without, rtol=0, atol=1e-7)


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**40])
def test_the_unit_of_the_scores_and_of_the_vectors_changes_nothing(unit):
    records = Records(signal=1.0)
    other = records.ordered(np.arange(60))
    other.vectors = unit * records.vectors
    for form in ("gaussian", "linear"):
        f = records.decisions(records.trained(SF_LSM, kernel=form, width="inner").classifier)
        trained = other.trained(SF_LSM, unit, kernel=form, width="inner")
        np.testing.assert_allclose(other.decisions(trained.classifier, unit), f, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_scores_that_single_precision_lacks_are_refused(unit):
    with pytest.raises(InputError, match="Give the scores in another unit"):
        Records().trained(SF_LSM, unit)


def test_the_same_bits_whatever_the_threads_and_the_memory():
    records = Records(n=90, signal=1.0)
    found = []
    for threads, memory in ((1, 2048), (2, 2048), (1, 0.01), (2, 0.001)):
        with limited(threads, memory):
            trained = records.trained(SF_LSM, width="inner", inducing=40)
            found.append((trained.figures, records.decisions(trained.classifier).tobytes()))
    assert all(other == found[0] for other in found)


def test_few_inducing_points_of_which_a_fit_may_hold_none():
    """A fit without any has nothing to say, as one without landmarks."""
    records = Records(n=40, n_classes=2, seed=1)
    for inducing in (2, 3):
        for learner in (SF_LSM, {"method": "nearest_landmark"}):
            trained = records.trained(learner, inducing=inducing)
            assert np.isfinite(trained.figures["inner_log_loss"])
