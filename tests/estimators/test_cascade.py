"""The cascade of the estimator of sequences: the workflow's answers, and what is asked of whom."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from kreinflow.answering.query_and_answers import STAGES
from kreinflow.classify.classification import classify_file
from kreinflow.estimators import KreinClassifier
from small_inputs import (
    configuration,
    families,
    fasta_source,
    trained_recipe,
    write_fasta,
    write_labels,
)

pytestmark = pytest.mark.filterwarnings("ignore:the factor misses")

LANDMARKS = 12
LSM = {"lambda_plus": 0.01, "lambda_minus": 0.01}


FAMILIES = families(3, classes="abcdef", each=40, changed=0.66)  # remote
ALL = [FAMILIES[i] for i in np.random.default_rng(0).permutation(len(FAMILIES))]
TEXTS, LABELS = [r[2] for r in ALL], np.array([r[1] for r in ALL])
KNOWN, NEW = slice(0, 150), slice(150, 240)


def estimator(cascade, **more):
    return KreinClassifier(
        "alignment",
        selector="uniform",
        n_landmarks=LANDMARKS,
        learner_params=LSM,
        cascade=cascade,
        **more,
    )


@pytest.fixture(scope="module")
def asking():
    return estimator({"loss": 0.1}).fit(TEXTS[KNOWN], LABELS[KNOWN])


@pytest.mark.parametrize(
    ("cascade", "more"),
    [
        ({"loss": 0.1}, {}),
        ({"alignments": 30}, {"views": {"words": [1, 2]}, "lift": {"width": 1}}),
    ],
    ids=["loss", "alignments"],
)
def test_the_answers_are_those_of_classify(tmp_path, cascade, more):
    known = [*ALL[KNOWN], ("again", ALL[0][1], ALL[0][2].lower())]
    write_fasta(tmp_path / "x.fasta", known)
    write_labels(tmp_path / "labels.tsv", known)
    new = write_fasta(tmp_path / "new.fasta", ALL[NEW])
    source = fasta_source("x.fasta", {"table": "labels.tsv"})
    config = configuration(source, "log", "it", recipe={"cascade": cascade, **more})
    config |= {
        "seed": 0,
        "selectors": {"meb": {"method": "uniform", "budget": LANDMARKS}},
        "learners": {"it": {"method": "krein_lsm", **LSM}},
    }
    it = trained_recipe(config, tmp_path)
    table = classify_file(it.model, new)
    model = estimator(cascade, **more).fit([r[2] for r in known], [r[1] for r in known])
    answers, found = model.answer(TEXTS[NEW]), model.predict_proba(TEXTS[NEW])
    np.testing.assert_allclose(found.max(axis=1), table["probability"], rtol=0, atol=1e-9)
    assert model.predict(TEXTS[NEW]).tolist() == table["label"].tolist()
    assert [STAGES[stage] for stage in answers.stage] == table["stage"].tolist()
    assert (answers.alignments + LANDMARKS + 1).tolist() == table["alignments"].tolist()
    assert len(set(table["stage"])) > 1
    asked = answers.nearest >= 0
    ids = [known[place][0] if place >= 0 else "" for place in answers.nearest]
    assert asked.any()
    assert ids == table["nearest_record"].tolist()
    assert model.training_["cascade"] == it.model.about["training"]["cascade"] != ""


def test_the_first_stage_is_what_it_is_without_a_cascade(asking):
    plain = estimator(None).fit(TEXTS[KNOWN], LABELS[KNOWN])
    assert plain.cascade_ is None
    for of in (lambda it: it.decision_function(TEXTS[NEW]), lambda it: it.landmark_indices_):
        np.testing.assert_array_equal(of(plain), of(asking))
    answers = plain.answer(TEXTS[NEW])
    assert (answers.stage == 0).all()
    assert answers.alignments.sum() == 0
    np.testing.assert_array_equal(answers.probabilities, plain.predict_proba(TEXTS[NEW]))
    assert (plain.training_["cascade"], plain.training_["cascade_pairs"]) == ("", 0)
    assert plain.training_["alignments_per_query"] == LANDMARKS + 1  # and that with itself


def test_it_is_cloned_and_pickled(asking):
    assert clone(asking).get_params()["cascade"] == {"loss": 0.1}
    again = pickle.loads(pickle.dumps(asking))
    np.testing.assert_array_equal(again.predict_proba(TEXTS[NEW]), asking.predict_proba(TEXTS[NEW]))
