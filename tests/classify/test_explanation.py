"""Explanations: contributions add up to the decision, and scores are those of the alignments."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from answering.cascades import related_model
from kreinflow.answering.fork_temperatures import ForkTemperatures
from kreinflow.base.errors import InputError
from kreinflow.base.hierarchy import Tree
from kreinflow.classify.classification import classify_batches, classify_file
from kreinflow.classify.evidence import SHOWN
from kreinflow.classify.explanation import INTERCEPT, explain
from kreinflow.classify.explanation_text import alignments, explanation_text
from kreinflow.classify.new_objects import Options, score_new
from kreinflow.views.lift import SCORES
from small_inputs import families, lifted_model, model_of, write_fasta

MODELS = {
    "log": {},
    "raw": {"transform": "raw"},
    "svc": {"learner": "svc"},
    "dissimilarity": {"objects": "dissimilarity"},
    "leaves of a tree": {},
}


@pytest.fixture(params=MODELS)
def linear(request, tmp_path):
    """A model whose decision is linear, its training data, and an id."""
    model, *_ = model_of(tmp_path, **MODELS[request.param], seed=5, changed=0.5)
    if model.scheme is None:
        return model, tmp_path / "k.csv", "o13"
    if request.param == "leaves of a tree":
        forks = Tree.of(["x.a", "x.b", "c"], ".").forks
        own = ForkTemperatures(forks, 0.5, np.array([0.1, 4.0]))
        model = replace(model, classifier=replace(model.classifier, forks=own))
    return model, tmp_path / "x.fasta", "b3"


def test_contributions_add_up_to_the_decision(linear):
    model, path, id = linear
    found = explain(model, path, id)
    (batch,) = score_new(model, path)
    rows = model.classifier.decision_rows(batch)
    decisions = model.classifier.decision.decide(rows)  # before the temperatures of the forks
    row = classify_file(model, path).set_index("id").loc[id]
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
    rows[:, first] = 0.0
    code = model.classifier.classes.index(found.labels[0])
    without = model.classifier.decision.decide(rows)[batch.ids.index(id), code]
    assert found.decisions[0] - without == pytest.approx(table["contribution"].iloc[0], rel=1e-9)


@pytest.fixture(params=["gaussian", "linear"])
def lifted(request, tmp_path):
    """A lifted model, the objects that it was trained on, and its explanation of one."""
    model, _ = lifted_model(tmp_path, kernel=request.param, inducing=12, seed=5, changed=0.5)
    path, vectors = tmp_path / "x.fasta", tmp_path / "v.tsv"
    (batch,) = score_new(model, path, Options(vectors=vectors))
    return (
        model,
        batch,
        explain(model, path, "b3", options=Options(vectors=vectors)),
        (path, vectors),
    )


def test_training_records_carry_a_lifted_decision(lifted):
    model, batch, found, (path, vectors) = lifted
    classifier, lift = model.classifier, model.classifier.lift
    row = batch.ids.index("b3")
    decisions = classifier.decision_function(batch)[row]
    kernel = lift.columns(classifier.landmark_rows(batch), batch.objects)[row]
    table = found.table.iloc[:-1].set_index("record").loc[list(model.inducing_ids)]
    assert found.table["record"].iloc[-1] == INTERCEPT
    np.testing.assert_array_equal(table["kernel"], kernel)
    assert table["class"].tolist() == [id[0] for id in model.inducing_ids]
    for label, column in zip(found.labels, ("contribution", "runner_up_contribution"), strict=True):
        code = classifier.classes.index(label)
        np.testing.assert_allclose(
            table[column], kernel * classifier.decision.weights[:, code], rtol=1e-12
        )
        assert found.table[column].sum() == pytest.approx(decisions[code], rel=1e-9)
    # The views, from nothing but their definitions.
    u = classifier.landmark_rows(batch).astype(np.float32).astype(np.float64)[row]
    seen = {
        SCORES: (u, lift.scores.astype(np.float64)),
        "vectors": (batch.objects.vectors[row], lift.objects.vectors),
        "words": (
            lift.words.features([batch.sequences[row]]).toarray()[0],
            lift.words.features(lift.objects.sequences).toarray(),
        ),
    }
    near = [table[f"near_{view}"] for view in lift.rates]
    for view, (x, Y) in seen.items():
        rate = lift.rates[view]
        wanted = np.exp(-rate * ((Y - x) ** 2).sum(axis=1)) if lift.form == "gaussian" else Y @ x
        wanted = wanted if lift.form == "gaussian" else rate * wanted
        np.testing.assert_allclose(table[f"near_{view}"], wanted, rtol=3e-6, atol=5e-7)
    whole = np.prod(near, axis=0) if lift.form == "gaussian" else np.sum(near, axis=0)
    np.testing.assert_allclose(whole, kernel, rtol=3e-6)  # of single precision
    row = classify_file(model, path, Options(vectors=vectors)).set_index("id").loc["b3"]
    assert (row["label"], row["probability"]) == (found.labels[0], found.probabilities[0])


def test_a_lifted_decision_is_told_with_the_scores_of_the_landmarks(lifted):
    model, batch, found, _ = lifted
    scores = batch.scores[batch.ids.index("b3")]
    table = found.told["first stage"].sections["landmarks"].table
    landmarks = table.set_index("landmark").loc[list(model.landmark_ids)]
    np.testing.assert_array_equal(landmarks["score"], scores)
    assert table["transformed"].is_monotonic_decreasing
    text = explanation_text(found, 3)
    assert "from 12 training records + " in text
    assert f"... and {len(scores) - 3} more" in text


@pytest.mark.parametrize("linear", ["log"], indirect=True)
def test_alignments_are_those_of_the_nearest_members_of_both_classes_in_turn(linear):
    model, path, id = linear
    found = explain(model, path, id, shown=3)
    one, other = (found.evidence[found.evidence["label"] == label] for label in found.labels)
    wanted = [row for pair in zip(one.iloc, other.iloc, strict=False) for row in pair]
    assert len(wanted) >= 4
    shown = alignments(model, found, 4)
    assert [name for name, _ in shown] == [row["member"] for row in wanted[:4]]
    for (_, alignment), row in zip(shown, wanted, strict=False):
        assert alignment.score == row["score"]
        assert alignment.identical / len(alignment.marks) == row["identity"]
        assert (alignment.first_start, alignment.second_start) == (
            row["query_start"],
            row["member_start"],
        )
    assert (found.table["normalised"].iloc[:-1] <= 1).all()


def test_the_evidence_is_that_of_classify_and_comes_first(linear):
    model, path, id = linear
    pieces = []
    list(classify_batches(model, path, Options(on_evidence=pieces.append)))
    table = pieces[0].table
    own = table[table["query"] == id].reset_index(drop=True)
    found = explain(model, path, id, shown=SHOWN)
    pd.testing.assert_frame_equal(found.evidence, own, check_exact=True)
    less = explain(model, path, id, shown=1).evidence
    first = own.groupby("of", sort=False).head(1).reset_index(drop=True)
    pd.testing.assert_frame_equal(less, first, check_exact=True)
    lines = explanation_text(found, 3).splitlines()
    for place, (of, label) in enumerate(zip(("predicted", "runner-up"), found.labels, strict=True)):
        begin = lines.index(f"nearest members of {label} ({of})")
        assert begin == 2 + place * (3 + (own["of"] == "predicted").sum())
        members = own["member"][own["of"] == of].tolist()
        end = begin + 2 + len(members)
        assert [line.split()[0] for line in lines[begin + 2 : end]] == members
    assert all(not line.startswith("decision ") for line in lines[:begin])


def test_a_decision_that_is_not_linear_says_so(tmp_path):
    model, *_ = model_of(tmp_path, learner="nearest", seed=5, changed=0.5)
    found = explain(model, tmp_path / "x.fasta", "b3")
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


@pytest.mark.parametrize("cascade", [True, False])
def test_it_says_why_an_object_is_rejected(tmp_path, cascade):
    model, _ = related_model(tmp_path, cascade)
    new = write_fasta(tmp_path / "new.fasta", families(7, each=20, changed=0.6))
    table = classify_file(model, new).set_index("id")
    whys = set()
    for id, row in table.drop_duplicates("reason").iterrows():
        found = explain(model, new, id)
        assert found.rejected == (row["reason"] != "") == (found.why != "")
        whys.add(found.why)
        (strange,) = found.told["relatives"].lines
        assert strange.startswith(f"{100 * row['p_value']:.2g} % of true members are as strange")
        if row["reason"] in ("unknown", "no relative"):
            best = f"its best alignment is with {row['nearest_record']}, "
            assert strange.endswith(f"; {best}E-value {row['record_evalue']:.2g}")
        assert {found.why, strange} <= {"", *explanation_text(found, 3).splitlines()}
    assert len(whys) == 4
