"""Views and lifts of the estimators: other libraries, the workflow's path and each other."""

import json

import numpy as np
import pytest

from estimators.test_estimators import check_decisions, matrix_files, scores, workflow
from kreinflow.estimators import KreinClassifier, NystroemClassifier
from small_inputs import families, fasta_source, write_fasta, write_labels

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")


@pytest.mark.parametrize("kind", ["similarity", "dissimilarity"])
@pytest.mark.parametrize("inducing", [20, 4000])
def test_a_lift_of_a_matrix_gives_the_decisions_of_the_workflow(tmp_path, kind, inducing):
    source, K, labels = matrix_files(tmp_path, kind)
    lift = {"kernel": "gaussian", "inducing": inducing}
    found = workflow(tmp_path, source, lift=lift)
    check_decisions(KreinClassifier(kind=kind, lift=lift).fit(K, labels), K, found)


WORDS = {"views": {"words": [1, 2]}}


@pytest.mark.parametrize(
    "more", [{}, WORDS, WORDS | {"lift": {"kernel": "gaussian"}}], ids=["plain", "sum", "gaussian"]
)
def test_sequences_and_their_words_give_the_decisions_of_the_workflow(tmp_path, more):
    records = families(2, each=12, changed=0.6)
    records.append(("again", "a", records[0][2].lower()))
    write_fasta(tmp_path / "all.fasta", records)
    write_labels(tmp_path / "labels.tsv", records)
    source = fasta_source("all.fasta", {"table": "labels.tsv"})
    found = workflow(tmp_path, source, transform="log", **more)
    sequences, labels = [r[2] for r in records], [r[1] for r in records]
    model = KreinClassifier("alignment", **more).fit(sequences, labels)
    check_decisions(model, sequences, found)
    assert set(json.loads(model.training_["views"] or "{}")) == (
        {"scores", "words"} if more else set()
    )
    again = model.decision_function([s.lower() for s in sequences[::-3]])
    np.testing.assert_array_equal(again, model.decision_function(sequences)[::-3])


def test_both_classifiers_lift_the_same_columns_alike():
    K, labels, _ = scores()
    lift = {"width": 1.5}
    model = KreinClassifier(lift=lift, selector="uniform", n_landmarks=12).fit(K, labels)
    S = model.landmark_indices_
    over = NystroemClassifier(K[np.ix_(S, S)], lift=lift).fit(K[:, S], labels)
    np.testing.assert_allclose(
        over.decision_function(K[:, S]), model.decision_function(K), rtol=0, atol=1e-8
    )
