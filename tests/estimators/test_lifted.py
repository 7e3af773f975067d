"""Views and lifts of the estimators: other libraries, the workflow's path and each other."""

import json

import numpy as np
import pytest
from sklearn.svm import SVC

from estimators.test_estimators import check_decisions, matrix_files, scores, workflow
from kreinflow.base.errors import InputError
from kreinflow.estimators import KreinClassifier, NystroemClassifier
from small_inputs import (
    families,
    fasta_source,
    write_fasta,
    write_labels,
)

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


@pytest.mark.parametrize("kind", ["similarity", "dissimilarity"])
@pytest.mark.parametrize("inducing", [20, 4000])
def test_a_lift_of_a_matrix_gives_the_decisions_of_the_workflow(tmp_path, kind, inducing):
    source, K, labels = matrix_files(tmp_path, kind)
    lift = {"kernel": "gaussian", "inducing": inducing}
    found = workflow(tmp_path, source, lift=lift)
    check_decisions(KreinClassifier(kind=kind, lift=lift).fit(K, labels), K, found)


@pytest.mark.parametrize("lift", [None, {"kernel": "gaussian"}], ids=["sum", "gaussian"])
def test_words_of_sequences_give_the_decisions_of_the_workflow(tmp_path, lift):
    records = families(2, each=12, changed=0.6)
    records.append(("again", "a", records[0][2].lower()))
    write_fasta(tmp_path / "all.fasta", records)
    write_labels(tmp_path / "labels.tsv", records)
    source = fasta_source("all.fasta", {"table": "labels.tsv"})
    views = {"words": [1, 2]}
    found = workflow(tmp_path, source, transform="log", views=views, lift=lift)
    sequences, labels = [r[2] for r in records], [r[1] for r in records]
    model = KreinClassifier("alignment", views=views, lift=lift).fit(sequences, labels)
    check_decisions(model, sequences, found)
    assert set(json.loads(model.training_["views"])) == {"scores", "words"}
    again = model.decision_function([s.lower() for s in sequences[::-3]])
    np.testing.assert_array_equal(again, model.decision_function(sequences)[::-3])


def test_the_svc_over_a_lift_is_that_of_scikit_learn_on_the_columns():
    """A Gaussian of the landmark columns, all records inducing points: scikit-learn's own SVC."""
    K, labels, _ = scores()
    y = np.where(labels == "a", "a", "other")
    landmarks = np.arange(0, len(K), 6)
    C = K[:, landmarks].astype(np.float32).astype(float)
    squared = ((C[:, None] - C) ** 2).sum(axis=2)
    gamma = 1 / (2.0 * np.median(squared[np.triu_indices(len(C), 1)]))
    model = NystroemClassifier(
        K[np.ix_(landmarks, landmarks)],
        learner="svc",
        learner_params={"penalty": 3.0},
        lift={"width": 2.0},
    ).fit(C, y)
    # Of a Gaussian the mean diagonal is 1, so penalties are scikit-learn's.
    machine = SVC(C=3.0, kernel="rbf", gamma=gamma, tol=1e-6).fit(C, y)
    np.testing.assert_allclose(
        model.decision_function(C), machine.decision_function(C), rtol=0, atol=2e-3
    )


def test_both_classifiers_lift_the_same_columns_alike():
    K, labels, _ = scores()
    lift = {"width": 1.5}
    model = KreinClassifier(lift=lift, selector="uniform", n_landmarks=12).fit(K, labels)
    S = model.landmark_indices_
    over = NystroemClassifier(K[np.ix_(S, S)], lift=lift).fit(K[:, S], labels)
    np.testing.assert_allclose(
        over.decision_function(K[:, S]), model.decision_function(K), rtol=0, atol=1e-8
    )


def test_words_tell_apart_what_scores_do_not():
    """Classes that differ in their letters alone, and landmarks too few to see it."""
    rng = np.random.default_rng(0)
    shares = {"a": [0.32, 0.18, 0.32, 0.18], "b": [0.18, 0.32, 0.18, 0.32]}
    y = np.array(["a", "b"] * 60)
    texts = ["".join(rng.choice(list("ARND"), 60, p=shares[label])) for label in y]
    parameters = {"selector": "uniform", "n_landmarks": 2}
    found = {}
    for name, more in (
        ("scores", {}),
        ("sum", {"views": {"words": [1]}}),
        ("product", {"views": {"words": [1]}, "lift": {}}),
    ):
        model = KreinClassifier("alignment", **parameters, **more).fit(texts[:80], y[:80])
        found[name] = model.score(texts[80:], y[80:])
    assert min(found["sum"], found["product"]) > max(0.9, found["scores"])


K3, Y3, X3 = scores(each=8)


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (KreinClassifier(lift={"widht": 1}), K3, "lift: unknown key 'widht'; did you mean 'width'"),
        (KreinClassifier(lift="gaussian"), K3, "lift: 'gaussian' is not a set of keys"),
        (KreinClassifier(lift={}, correction="flip"), K3, "a lift has no negative eigenvalues"),
        (KreinClassifier(views={"words": [1]}), K3, "kernel 'precomputed' compares others"),
        (KreinClassifier("alignment", views={"vectors": True}), ["MKV"] * 24, "for the workflow"),
        (KreinClassifier("alignment", views={"words": [5]}), ["MKV"] * 24, "5 is not at most 4"),
        (NystroemClassifier(K3, lift={"width": -1}), K3, "NystroemClassifier: lift.width: -1"),
    ],
)
def test_mistakes_are_named(model, X, message):
    with pytest.raises(InputError, match=message):
        model.fit(X, Y3)
