"""The cascade of the estimator of sequences: the workflow's answers, and what is asked of whom."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from kreinflow.alignment.engine import align_pairs, pack
from kreinflow.answering.query_and_answers import STAGES
from kreinflow.base.errors import InputError
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


def records(n=None):
    """Remote families in an order that tells nothing."""
    found = families(3, classes="abcdef", each=40, changed=0.66)
    order = np.random.default_rng(0).permutation(len(found))
    return [found[i] for i in order][:n]


ALL = records()
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
def plain():
    return estimator(None).fit(TEXTS[KNOWN], LABELS[KNOWN])


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


def test_the_first_stage_is_what_it_is_without_a_cascade(plain, asking):
    assert plain.cascade_ is None
    for of in (lambda it: it.decision_function(TEXTS[NEW]), lambda it: it.landmark_indices_):
        np.testing.assert_array_equal(of(plain), of(asking))
    answers = plain.answer(TEXTS[NEW])
    assert (answers.stage == 0).all()
    assert answers.alignments.sum() == 0
    np.testing.assert_array_equal(answers.probabilities, plain.predict_proba(TEXTS[NEW]))
    assert (plain.training_["cascade"], plain.training_["cascade_pairs"]) == ("", 0)
    assert plain.training_["alignments_per_query"] == LANDMARKS + 1  # and that with itself


def test_what_is_said_of_an_object_depends_on_it_alone(asking):
    whole = asking.answer(TEXTS[NEW])
    assert len(set(whole.alignments.tolist())) > 3
    for row in (0, 17, 40, 88):
        alone = asking.answer([TEXTS[NEW][row]])
        np.testing.assert_array_equal(alone.probabilities[0], whole.probabilities[row])
        assert (alone.alignments[0], alone.nearest[0]) == (
            whole.alignments[row],
            whole.nearest[row],
        )


def test_more_are_right_than_by_the_first_stage(plain, asking):
    by_cascade, by_first = (it.score(TEXTS[NEW], LABELS[NEW]) for it in (asking, plain))
    assert by_cascade > by_first + 0.1
    p = asking.predict_proba(TEXTS[NEW])
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(asking.predict(TEXTS[NEW]), asking.classes_[p.argmax(axis=1)])


def test_an_answer_names_the_record_that_it_rests_on(asking):
    answers = asking.answer(TEXTS[NEW])
    asked = np.flatnonzero(answers.nearest >= 0)
    assert len(asked) > 10
    near = answers.nearest[asked]
    labels = asking.classes_[answers.probabilities[asked].argmax(axis=1)]
    np.testing.assert_array_equal(LABELS[KNOWN][near], labels)
    texts = [text.encode() for text in TEXTS]
    scheme = asking._make_kernel().scheme
    pairs = near.astype(np.int32), (asked + KNOWN.stop).astype(np.int32)
    scores = align_pairs(pack(texts, scheme), *pairs)
    np.testing.assert_array_equal(answers.nearest_score[asked], scores)


def test_the_mean_number_of_alignments_is_kept_to():
    taken = []
    for most in (20, 40):
        model = estimator({"alignments": most}).fit(TEXTS[KNOWN], LABELS[KNOWN])
        assert LANDMARKS + 1 < model.training_["alignments_per_query"] <= most
        taken.append(model.answer(TEXTS[NEW]).alignments.mean() + LANDMARKS + 1)
    assert taken[0] < taken[1] < 45


def test_it_is_cloned_searched_and_pickled(asking):
    assert clone(asking).get_params()["cascade"] == {"loss": 0.1}
    again = pickle.loads(pickle.dumps(asking))
    np.testing.assert_array_equal(again.predict_proba(TEXTS[NEW]), asking.predict_proba(TEXTS[NEW]))
    grid = {"cascade": [None, {"alignments": np.int64(30)}]}
    folds = StratifiedKFold(2, shuffle=True, random_state=1)
    search = GridSearchCV(estimator(None), grid, cv=folds, error_score="raise")
    search.fit(TEXTS[KNOWN], LABELS[KNOWN])
    assert search.best_params_["cascade"] is not None


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KreinClassifier(cascade={}), "compares others. Leave them out, or"),
        (KreinClassifier("gaussian", cascade={}), "only sequences have words and are aligned"),
        (estimator({"los": 0.1}), "cascade: unknown key 'los'; did you mean 'loss'"),
        (estimator({"loss": 0.1, "alignments": 9}), "two ways to choose one threshold"),
        (estimator(None, kernel_params={"mode": "global"}), "is negative"),
        (estimator({"alignments": 9}), "^recipe 'KreinClassifier': cascade: 9 alignments"),
    ],
)
def test_mistakes_are_named(model, message):
    K = np.eye(150)
    X = TEXTS[KNOWN] if model.kernel in ("alignment", "edit_distance") else K
    with pytest.raises(InputError, match=message):
        model.fit(X, LABELS[KNOWN])
