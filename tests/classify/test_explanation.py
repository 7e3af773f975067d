"""Explanations: contributions add up to the decision, and scores are those of the alignments."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from kreinflow.classify.classification import classify_file
from kreinflow.classify.explanation import INTERCEPT, alignments, explain, explanation_text
from kreinflow.classify.new_objects import score_new
from kreinflow.errors import InputError
from small_inputs import (
    configuration,
    families,
    fasta_source,
    model_of,
    trained_model,
    write_fasta,
)

MODELS = {
    "log": {},
    "raw": {"transform": "raw"},
    "svc": {"learner": "svc"},
    "dissimilarity": {"objects": "dissimilarity"},
}


@pytest.fixture(params=MODELS)
def linear(request, tmp_path):
    """A model whose decision is linear, its training data, and an id."""
    model, *_ = model_of(tmp_path, **MODELS[request.param], seed=5, changed=0.5)
    if model.scheme is None:
        return model, tmp_path / "k.csv", "o13"
    return model, tmp_path / "x.fasta", "b3"


def test_contributions_add_up_to_the_decision(linear):
    model, path, id = linear
    found = explain(model, path, id)
    (batch,) = score_new(model, path)
    decisions = model.classifier.decision_function(batch.scores, batch.self_scores, batch.lengths)
    row = classify_file(model, path).set_index("id").loc[id]
    assert found.linear
    assert found.labels == (row["label"], row["runner_up"])
    assert found.probabilities == (row["probability"], row["runner_up_probability"])
    assert found.rejected == (row["reject"] == "yes")
    for label, decision, column in zip(
        found.labels, found.decisions, ("contribution", "runner_up_contribution"), strict=True
    ):
        code = model.classifier.classes.index(label)
        assert decision == decisions[batch.ids.index(id), code]
        terms = found.table[column]
        # Both are sums of the same numbers, rounded at other places.
        assert abs(terms.sum() - decision) <= 1e-14 * len(terms) * terms.abs().sum()
    table = found.table
    assert table["landmark"].iloc[-1] == INTERCEPT
    assert sorted(table["landmark"].iloc[:-1]) == sorted(model.landmark_ids)
    difference = (table["contribution"] - table["runner_up_contribution"]).abs().iloc[:-1]
    assert difference.is_monotonic_decreasing
    assert f"{len(table) - 1} landmarks" in explanation_text(found, 3)
    # A landmark taken away changes the decision by its contribution: its score becomes 0.
    first = model.landmark_ids.index(table["landmark"].iloc[0])
    rows = model.classifier.decision_rows(batch.scores, batch.self_scores, batch.lengths)
    rows[:, first] = 0.0
    code = model.classifier.classes.index(found.labels[0])
    without = model.classifier.decision.decide(rows)[batch.ids.index(id), code]
    assert found.decisions[0] - without == pytest.approx(table["contribution"].iloc[0], rel=1e-9)


def test_of_equal_classes_the_first_are_named_as_in_the_table(tmp_path):
    names = [f"c{i:02d}" for i in range(20)]
    path = write_fasta(tmp_path / "x.fasta", families(5, names, 2, 30))
    model, *_ = trained_model(configuration(fasta_source()), tmp_path)
    decision = model.classifier.decision
    weights, intercept = np.zeros_like(decision.weights), 1.0 * (np.arange(20) >= 10)
    decision = replace(decision, weights=weights, intercept=intercept)
    model = replace(model, classifier=replace(model.classifier, decision=decision))
    found = explain(model, path, "c070")
    assert found.labels == ("c10", "c11")
    row = classify_file(model, path).set_index("id").loc["c070"]
    assert (row["label"], row["runner_up"]) == found.labels


@pytest.mark.parametrize("linear", ["log"], indirect=True)
def test_alignments_have_the_scores_used(linear):
    model, path, id = linear
    found = explain(model, path, id)
    shown = alignments(model, found, 5)
    assert [name for name, _ in shown] == found.table["landmark"].tolist()[:5]
    assert [a.score for _, a in shown] == found.table["score"].tolist()[:5]
    assert (found.table["normalised"].iloc[:-1] <= 1).all()


def test_a_decision_that_is_not_linear_says_so(tmp_path):
    model, *_ = model_of(tmp_path, learner="nearest", seed=5, changed=0.5)
    found = explain(model, tmp_path / "x.fasta", "b3")
    assert not found.linear
    assert "contribution" not in found.table
    assert found.table["transformed"].is_monotonic_decreasing
    assert found.decisions[0] == found.table["transformed"].iloc[0]
    assert "(kind 'nearest') is not a sum over landmarks" in explanation_text(found, 3)


@pytest.mark.parametrize("linear", ["log", "dissimilarity"], indirect=True)
def test_what_cannot_be_explained(linear, tmp_path):
    model, path, id = linear
    with pytest.raises(InputError, match=r"none of its 30 records has the id 'nobody'"):
        explain(model, path, "nobody")
    if model.scheme is None:
        with pytest.raises(InputError, match="the model is not one of sequences"):
            alignments(model, explain(model, path, id), 1)
        return
    new = write_fasta(tmp_path / "new.fasta", [("good", "a", "MKVLAA"), ("bad", "a", "M1")])
    with pytest.raises(InputError, match=r"record 2 \(line 3\), bad: residue 2 is '1'"):
        explain(model, new, "bad")
    assert np.isfinite(explain(model, new, "good").decisions).all()


@pytest.mark.parametrize("linear", ["log"], indirect=True)
def test_decisions_that_overflow_are_refused_without_a_warning(linear):
    model, path, id = linear
    decision = model.classifier.decision
    decision = replace(decision, weights=np.full_like(decision.weights, 1e308))
    model = replace(model, classifier=replace(model.classifier, decision=decision))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="b3: the model's decision for it is not finite"):
            explain(model, path, id)
