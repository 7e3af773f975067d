"""Estimators of several labels: scikit-learn's indicator matrices."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics import accuracy_score, average_precision_score, f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from chimeras import chimeras, points_of_several
from kreinflow.base.errors import InputError
from kreinflow.estimators import KreinClassifier, NystroemClassifier

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")

GAUSSIAN = {"kernel": "gaussian", "kernel_params": {"width": 3}}


def points(n=200, seed=0, **keywords):
    X, memberships = points_of_several(n, seed, **keywords)
    return X, memberships.astype(int)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"learner": "ny_ikfd"},
        {"learner": "ny_pcvm"},
        {"learner": "sf_lsm", "selector": "uniform", "n_landmarks": 40},
        {"lift": {"width": "inner"}},
    ],
)
def test_it_is_as_good_as_scikit_learns_one_against_the_rest(settings):
    X, Y = points()
    new, truth = points(1000, 1)
    model = KreinClassifier(**GAUSSIAN, **settings).fit(X, Y)
    theirs = OneVsRestClassifier(SVC(C=10, gamma=0.05)).fit(X, Y)
    for average in ("micro", "macro"):
        ours = f1_score(truth, model.predict(new), average=average)
        assert ours > f1_score(truth, theirs.predict(new), average=average) - 0.03
    assert average_precision_score(truth, model.predict_proba(new)) > 0.9
    assert model.score(new, truth) == accuracy_score(truth, model.predict(new))
    assert abs(model.score(new, truth) - model.training_["inner_accuracy"]) < 0.1


def test_what_is_predicted_is_at_least_at_its_threshold():
    X, Y = points(signal=0.6)
    new, _ = points(500, 1)
    model = KreinClassifier(**GAUSSIAN).fit(X, Y)
    predicted, p = model.predict(new), model.predict_proba(new)
    thresholds = model.landmark_classifier_.several.thresholds
    np.testing.assert_array_equal(predicted, p >= thresholds)
    np.testing.assert_array_equal(predicted, model.decision_function(new) >= 0)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    assert not np.array_equal(predicted, p.round())  # the thresholds are no halves
    with pytest.raises(InputError, match="and a set is of objects with one. Use predict"):
        model.predict_set(X)


def test_indicators_of_any_form_are_the_same():
    X, Y = points()
    forms = (Y, csr_matrix(Y), Y.tolist(), Y.astype(bool))
    expected, *others = (KreinClassifier(**GAUSSIAN).fit(X, of).predict_proba(X) for of in forms)
    for found in others:
        np.testing.assert_array_equal(found, expected)


def test_columns_of_landmarks():
    X, Y = points()
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 20)
    landmarks = np.arange(0, 200, 5)
    model = NystroemClassifier(K[np.ix_(landmarks, landmarks)])
    model.fit(K[:, landmarks], Y, self_similarities=np.diagonal(K))
    assert f1_score(Y, model.predict(K[:, landmarks]), average="macro") > 0.9


def test_sequences_that_are_joined_have_the_labels_of_their_parts():
    sequences, memberships = chimeras()
    Y = memberships.astype(int)
    model = KreinClassifier("alignment").fit(sequences[::2], Y[::2])
    assert model.score(sequences[1::2], Y[1::2]) > 0.9


def test_records_without_a_label_teach_what_has_none():
    X, Y = points(300)
    rng = np.random.default_rng(2)
    nothing = rng.normal(size=(60, 8)) / 2 - 4
    model = KreinClassifier(**GAUSSIAN)
    model.fit(np.concatenate([X, nothing]), np.concatenate([Y, np.zeros((60, 5), dtype=int)]))
    other = rng.normal(size=(200, 8)) / 2 - 4
    assert model.predict(other).any(axis=1).mean() < 0.05


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"learner": "nearest_landmark"}, "the learner nearest_landmark cannot learn records"),
        (
            {"learner": "dissimilarity_space", "learner_params": {"kernel": "elm"}},
            "the learner dissimilarity_space cannot learn records with several labels as it is set",
        ),
        ({"cascade": {}}, "KreinClassifier: cascade: it is for records of one label each"),
    ],
)
def test_what_takes_one_label_a_record_is_refused_before_anything_is_aligned(
    settings, why, monkeypatch
):
    sequences, memberships = chimeras()
    monkeypatch.setattr("kreinflow.estimators.alignment_kernel.AlignedScores", None)
    with pytest.raises(InputError, match=why):
        KreinClassifier("alignment", **settings).fit(sequences, memberships.astype(int))


def test_several_outputs_that_are_no_labels_are_refused():
    X, Y = points()
    with pytest.raises(ValueError, match="several columns and is multiclass-multioutput"):
        KreinClassifier(**GAUSSIAN).fit(X, Y + np.arange(200)[:, None] % 3)
