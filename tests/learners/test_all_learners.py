"""What all learners must do."""

import numpy as np
import pytest

from krein_problems import labelled_rows, learned, learner_problem, mixture_rows, problem_of_scores
from kreinflow.base.errors import InputError
from kreinflow.learners import krein_svm
from kreinflow.learners.cvm import LinearRows
from kreinflow.learners.decisions import LinearDecision
from kreinflow.learners.learner import NOTES
from kreinflow.learners.registry import LEARNERS, make_learner
from threads import same_with_threads

LAMBDAS = {"lambda_plus": 1e-2, "lambda_minus": 1e-4}
SETTINGS = [
    {"method": "ny_ikfd"},
    {"method": "ny_ikfd", "scatter": "pooled", "bias": "least_squares", "ridge": 0.1},
    {"method": "ny_pcvm"},
    {"method": "ny_pcvm", "basis": "all"},
    {"method": "ny_epcvm"},
    {"method": "ny_epcvm", "basis": "all"},
    {"method": "ikqd", "ridge": 0.01},
    {"method": "krein_lsm", **LAMBDAS},
    {"method": "krein_vc_lsm", **LAMBDAS},
    {"method": "krein_sh_svm", **LAMBDAS},
    {"method": "sf_lsm", "ridge": 1e-3},
    {"method": "sf_lsm", "ridge": 1e-3, "weights": "classes"},
    {"method": "cvm", "penalty": 10.0},
    {"method": "svc", "penalty": 10.0},
    {"method": "dissimilarity_space", "penalty": 1.0},
    {"method": "dissimilarity_space", "kernel": "elm", "penalty": 1.0},
    {"method": "linear_svc"},
]


EVERY = [*SETTINGS, {"method": "nearest_landmark"}]


def name_of(settings):
    return " ".join(map(str, settings.values()))


def parametrised(*left_out):
    chosen = [settings for settings in SETTINGS if settings["method"] not in left_out]
    return pytest.mark.parametrize("settings", chosen, ids=name_of)


def rows_for(settings, n_classes, **keywords):
    negative = 0 if LEARNERS[settings["method"]].needs_positive else 4
    return labelled_rows(n_classes=n_classes, negative=negative, **keywords)


def test_all_learn_but_the_nearest_landmark():
    assert {settings["method"] for settings in SETTINGS} == {*LEARNERS} - {"nearest_landmark"}


@parametrised()
def test_a_class_without_records_is_refused(settings):
    with pytest.raises(InputError, match=r"classes \[3\] of 4 have no training rows"):
        learned(settings, *rows_for(settings, 3), n_classes=4)


@parametrised("ikqd")  # which has a function of its own for each class
def test_decisions_of_two_classes_are_mirror_images(settings):
    Z, signs, y = rows_for(settings, 2)
    f = learned(settings, Z, signs, y).decision.decide(Z)
    np.testing.assert_array_equal(f[:, 0], -f[:, 1])
    assert (f.argmax(axis=1) == y).mean() > 0.8


@parametrised()
def test_decisions_come_back_from_arrays_and_do_not_depend_on_other_rows(settings):
    Z, signs, y = rows_for(settings, 3)
    decision = learned(settings, Z, signs, y).decision
    assert isinstance(decision, LinearDecision) == make_learner(settings).linear
    new = np.random.default_rng(9).normal(size=(4500, Z.shape[1]))
    together = decision.decide(new)
    again = type(decision).from_parts({}, decision.to_parts()[1], {"m": Z.shape[1], "c": 3})
    for rows in (slice(0, 1), slice(77, 80), slice(4200, None)):
        np.testing.assert_array_equal(again.decide(new[rows]), together[rows])


UNITS = {"unit 1e-6": 1e-6, "unit 1e6": 1e6, "unit 2^-40": 2.0**-40}
CHANGES = ["classes", "rows", "landmarks", *UNITS]


def plain(f, settings):
    """Decisions without what a learner's definition leaves open, see :func:`changed`."""
    if settings["method"] == "ikqd":
        # The log determinants of all classes grow by the same number with the unit.
        return f - f[:, :1]
    if settings["method"] == "nearest_landmark":
        # The decisions are the scores themselves, in their unit.
        return f / np.abs(f).max()
    return f


def changed(settings, n_classes, change):
    """Decisions of a problem for unseen records, and those of the same problem told otherwise.

    Of all learners, those of recipes included, no hyper-parameter has the unit of the scores:
    ridges, lambdas and variances are shares of the mean variance or square, penalties are for a
    kernel of mean diagonal 1.
    """
    rng = np.random.default_rng(4)
    n, m, n_seen = 130, 14, 90
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n_classes, 6))[y] + rng.normal(size=(n, 6))  # they overlap
    K = (X * [1, 1, 1, 1, -1, -1]) @ X.T + 2.0
    classes, rows, places = np.arange(n_classes), np.arange(n_seen), np.arange(n)
    if change == "classes":
        classes = np.roll(classes, 1)
    elif change == "rows":
        rows = rng.permutation(rows)
    elif change == "landmarks":
        places[:m] = rng.permutation(m)

    def decisions(K, labels, seen, places):
        K = K[np.ix_(places, places)]  # the first of them are the landmarks
        place_of = np.argsort(places)[np.concatenate([seen, np.arange(n_seen, n)])]
        correction = "flip" if LEARNERS[settings["method"]].needs_positive else "none"
        problem = problem_of_scores(
            K[:, :m], np.diagonal(K).copy(), labels[places], place_of, correction
        )
        learner = make_learner(settings)
        (fitted,) = learner.fit(problem.on(np.arange(n_seen)), learner.choices()[:1])
        return plain(learner.decide(fitted, problem.on(np.arange(n_seen, n))), settings), fitted

    one = decisions(K, y, np.arange(n_seen), np.arange(n))
    f, fitted = decisions(UNITS.get(change, 1.0) * K, classes[y], rows, places)
    return one, (plain(f[:, classes], settings), fitted)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("settings", EVERY, ids=name_of)
def test_answers_do_not_depend_on_how_a_problem_is_told(settings, n_classes, change):
    """Labels swapped, classes, rows or landmarks in another order, a kernel in another unit."""
    (f, one), (g, other) = changed(settings, n_classes, change)
    if change == "unit 2^-40" and settings["method"] != "ikqd":
        np.testing.assert_array_equal(g, f)
    # libsvm and liblinear stop at a tolerance, and visit the rows in their order.
    tolerance = 1e-4 if settings["method"] in ("svc", "linear_svc") else 1e-7
    np.testing.assert_allclose(g, f, rtol=0, atol=tolerance * np.abs(f).max())
    assert one.converged == other.converged
    assert {*one.notes} <= {*NOTES}
    for note, classes in one.notes.items():
        assert len(classes) == n_classes
        assert other.notes[note].sum() == classes.sum()
    if settings["method"] != "svc":  # rows at the margin are support vectors by rounding
        assert one.basis_used == other.basis_used


TUNED = {
    "ny_ikfd": (0.0, {"scatter": "pooled", "bias": "least_squares", "ridge": "inner"}),
    "ikqd": (0.0, {}),
    "sf_lsm": (0.0, {}),
    "krein_lsm": (0.0, {}),
    "krein_vc_lsm": (1e-6, {"variance": "inner"}),
    "krein_sh_svm": (1e-6, {}),
    "svc": (0.0, {}),
    "cvm": (1e-3, {}),
    "dissimilarity_space": (1e-3, {}),
}


@pytest.mark.parametrize("method", TUNED)
@pytest.mark.parametrize(
    ("correction", "n_classes"), [("none", 2), ("flip", 3), ("landmark_basis", 3)]
)
def test_all_choices_at_once_are_the_same_one_by_one(method, correction, n_classes):
    tolerance, settings = TUNED[method]
    learner = make_learner({"method": method, **settings})
    if learner.needs_positive and correction != "flip":
        return
    whole = learner_problem(n_classes=n_classes, correction=correction)
    problem, unseen = whole.on(np.arange(60)), whole.on(np.arange(60, 90))
    choices = learner.choices()
    assert len(choices) > 3
    for choice, fitted in zip(choices, learner.fit(problem, choices), strict=True):
        given = make_learner({"method": method, **settings, **choice})
        assert given.choices() == [choice]
        (alone,) = given.fit(problem, [choice])
        f = learner.decide(alone, unseen)
        found = learner.decide(fitted, unseen)
        np.testing.assert_allclose(found, f, rtol=0, atol=tolerance * np.abs(f).max())
        assert fitted.converged


@pytest.mark.parametrize("method", TUNED)
def test_the_methods_paragraph_says_how_hyper_parameters_were_chosen(method):
    learner = make_learner({"method": method, **TUNED[method][1]})
    assert learner.describe().count("chosen on inner folds") == len(
        {*learner.grids} - {"lambda_plus"}
    )
    given = make_learner({"method": method, **dict.fromkeys(learner.grids, 0.25)})
    assert "chosen" not in given.describe()
    assert "0.25" in given.describe()


@pytest.mark.parametrize("method", ["cvm", "krein_sh_svm", "ny_epcvm", "linear_svc"])
def test_same_bytes_whatever_the_number_of_threads_over_more_rows_than_a_tile(method):
    settings = next(settings for settings in SETTINGS if settings["method"] == method)
    Z, signs, y = mixture_rows(5000, 0.8, r=40, n_classes=3, negative=0, seed=3)
    assert same_with_threads(lambda: learned(settings, Z, signs, y).decision.weights.tobytes())


@pytest.mark.parametrize("method", ["ny_pcvm", "ny_epcvm", "krein_sh_svm", "cvm"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_fit_that_reached_its_limit_says_so(method, n_classes, monkeypatch):
    monkeypatch.setattr(krein_svm, "_MAX_ITER", 2)
    limit = property(lambda self: 5, lambda self, value: None)
    monkeypatch.setattr(LinearRows, "limit", limit, raising=False)
    settings = {"max_iter": 2, "basis": "all", "lambda_plus": 1e-4, "lambda_minus": 1e-4}
    settings |= {"penalty": 1.0, "epsilon": 1e-6}
    own = {key: settings[key] for key in LEARNERS[method].settings_schema}
    Z, signs, y = mixture_rows(90, 0.8, n_classes=n_classes, negative=0)
    fitted = learned({"method": method, **own}, Z, signs, y)
    assert not fitted.converged
    assert method != "cvm" or fitted.basis_used <= 5 * n_classes / 90
    assert "max_iter" not in own or fitted.iterations == 2
