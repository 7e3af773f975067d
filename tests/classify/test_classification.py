"""Classifying new sequences with a model: in all modes, with as few alignments as it says."""

import itertools
import re
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import parasail
import pytest
from rapidfuzz.distance import Levenshtein

from kreinflow.base.numerics import limited
from kreinflow.classify import classification, new_objects
from kreinflow.classify.classification import (
    COLUMNS,
    LEVEL_COLUMNS,
    classify_batches,
    classify_file,
    likeliest_two,
    promise_text,
)
from kreinflow.classify.explanation import explain
from kreinflow.classify.explanation_text import explanation_text
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options
from kreinflow.sequences.fasta import read_any_fasta
from sequence_pairs import Counting
from small_inputs import (
    DNA,
    PROTEIN,
    configuration,
    families,
    fasta_source,
    model_of,
    trained_model,
    write_fasta,
)

SUBSTITUTIONS = "   A  C  G  T\nA  3 -2 -2 -2\nC -2  3 -2 -2\nG -2 -2  3 -2\nT -2 -2 -2  3\n"


@pytest.mark.parametrize(
    ("letters", "transform", "scoring"),
    [
        (PROTEIN, "log", {}),
        (PROTEIN, "raw", {"matrix": "PAM120", "gap_open": 12, "gap_extend": 2}),
        (PROTEIN, "normalised", {"mode": "global"}),
        (PROTEIN, "evalue", {}),
        (DNA, "log", {"matrix": "dnafull", "gap_open": 10}),
        (DNA, "normalised", {"matrix": "nuc44", "gap_open": 10, "mode": "semiglobal"}),
        (DNA, "normalised", {"matrix": "mine.txt", "gap_open": 5, "mode": "global"}),
    ],
)
def test_the_probabilities_are_those_of_the_library(tmp_path, letters, transform, scoring):
    records = families(5, letters=letters, changed=0.2)
    write_fasta(tmp_path / "x.fasta", records)
    (tmp_path / "mine.txt").write_text(SUBSTITUTIONS)
    source = fasta_source(molecule="nucleotide" if letters == DNA else "protein")
    config = configuration(source, transform, scoring=scoring)
    model, dataset, probabilities = trained_model(config, tmp_path)
    assert np.mean(probabilities.argmax(axis=1) == dataset.labels) > 0.9
    (tmp_path / "mine.txt").unlink()  # the model has all that it needs
    table = classify_file(model, tmp_path / "x.fasta", Options(threads=2))
    assert tuple(table.columns) == COLUMNS
    assert table["id"].tolist() == [r[0] for r in records]
    np.testing.assert_array_equal(table["probability"], probabilities.max(axis=1))


def test_answers_go_down_the_tree_as_far_as_they_are_sure(tmp_path):
    classes = ("a.1", "a.2", "b.1", "b.2", "b")
    records = families(5, classes, each=24, changed=0.65)
    write_fasta(tmp_path / "x.fasta", records)
    source = fasta_source(labels={"pattern": r"family=([\w.]+);"})
    levels = {"separator": ".", "back_off": 0.8, "learn": "leaves"}
    model, _, probabilities = trained_model(configuration(source, levels=levels), tmp_path)
    table = classify_file(model, tmp_path / "x.fasta")
    assert tuple(table.columns) == (*COLUMNS[:-1], *LEVEL_COLUMNS, "problem")
    own = model.classifier.levels
    assert (own.thresholds >= 0.8).all()
    nodes = own.nodes(probabilities)
    assert table["node"].tolist() == [own.tree.nodes[node] for node in nodes.node]
    assert table["level"].tolist() == nodes.level.tolist()
    np.testing.assert_array_equal(table["node_probability"], nodes.probability)
    assert {0, 1, 2} == set(table["level"])

    for level in (0, 1, 2):
        row = table[table["level"] == level].iloc[0]
        found = explain(model, tmp_path / "x.fasta", row["id"])
        second = explanation_text(found, 1).splitlines()[1]
        named = f"node {row['node']}, " if level else "no node is sure enough: "
        assert second == f"{named}level {level}, probability {row['node_probability']:.6g}"

    model.save(tmp_path / "m.safetensors")
    pd.testing.assert_frame_equal(
        classify_file(Model.load(tmp_path / "m.safetensors"), tmp_path / "x.fasta"), table
    )


@pytest.mark.parametrize(("transform", "needed"), [("log", 1), ("raw", 0)])
def test_m_alignments_a_sequence_and_one_with_itself(tmp_path, monkeypatch, transform, needed):
    """Raw scores need no self-score for the decision; the table shows normalised ones too."""
    model, *_ = model_of(tmp_path, transform=transform, seed=5)
    m, counting = len(model.landmark_ids), Counting()
    monkeypatch.setattr(new_objects, "self_scores", counting.self_scores)
    new = write_fasta(tmp_path / "new.fasta", families(6)[:7])
    table = classify_file(model, new, Options(backend=counting))
    assert (counting.others, counting.alone, counting.most) == (7 * m, 7, 1)
    assert model.about["training"]["alignments_per_query"] == m + needed
    assert table["alignments"].tolist() == [m + needed] * 7


def test_each_record_of_a_batch_has_its_own_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(new_objects, "LONGEST", 100)
    model, *_ = model_of(tmp_path, seed=5)
    fine = families(5)[3][2]
    records = {
        "one": (fine, ""),
        "illegal": ("MKV1L", "residue 4 is '1', which the substitution matrix blosum62 lacks."),
        "gap": ("MK-VL", "residue 3 is '-', which the substitution matrix blosum62 lacks."),
        "nothing": ("", "has no residues. Add them or remove the record."),
        "stops": ("**-", "has no residues. Remove the record."),
        "bases": ("ACGT" * 13, "has no residues but A, C, G, T and N, and the model is one of pro"),
        "accent": ("M\u00e4", "residue 2 is not an ASCII letter."),
        "poor": ("XX", "scores 0 with itself, too little to compare it (transform log)."),
        "long": ("MKVLA" * 30, "has more than 100 residues. Cut it, or remove it."),
        "two": (fine.replace("C", "U", 1).lower() + "*", ""),
    }
    new = write_fasta(tmp_path / "new.fasta", [(id, "", s) for id, (s, _) in records.items()])
    messages = []
    table = classify_file(model, new, Options(on_fault=messages.append))
    assert table["id"].tolist() == list(records)
    for problem, (_, expected) in zip(table["problem"], records.values(), strict=True):
        assert problem.startswith(expected) if expected else not problem
    places = [f"{new}, record {n} (line {2 * n - 1}), {id}: " for n, id in enumerate(records, 1)]
    assert messages == [p + f for p, f in zip(places, table["problem"], strict=True) if f]
    first, last = (table.drop(columns="id").iloc[place] for place in (0, -1))
    assert first.equals(last)


def test_the_first_of_equal_classes_is_taken():
    """The two likeliest classes are those of a stable sort."""
    p = np.array(list(itertools.product([0.0, 0.5, 1.0], repeat=4)))
    before = p.copy()
    np.testing.assert_array_equal(
        np.transpose(likeliest_two(p)), np.argsort(-before, axis=1, kind="stable")[:, :2]
    )
    np.testing.assert_array_equal(p, before)


def test_sequences_are_read_as_they_are_needed(tmp_path, monkeypatch):
    model, *_ = model_of(tmp_path, seed=5)
    read = []

    def counted(path, columns):
        for record in read_any_fasta(path):
            read.append(record.id)
            yield record

    monkeypatch.setattr(new_objects, "read_any", counted)
    monkeypatch.setattr(new_objects, "_RECORDS", 4)
    done = 0
    for batch in classify_batches(model, tmp_path / "x.fasta"):
        done += len(batch)
        assert len(read) == done
    assert done == 30


def test_what_may_be_a_user_s_function_is_asked_by_one_thread(tmp_path, monkeypatch):
    threads = []

    def score(*given):
        threads.append(threading.get_ident())
        yield from new_objects.score_new(*given)

    monkeypatch.setattr(classification, "score_new", score)
    for objects, name in (("sequences", "x.fasta"), ({"name": "linear"}, "x.npy")):
        folder = tmp_path / name
        folder.mkdir()
        model, *_ = model_of(folder, objects)
        with limited(2):
            classify_file(model, folder / name)
    sequences, measured = threads
    assert measured == threading.get_ident() != sequences


@pytest.mark.parametrize("transform", ["log", "raw", "evalue"])
def test_the_nearest_landmark_has_the_highest_normalised_score(tmp_path, transform):
    records = families(5)
    model, *_ = model_of(tmp_path, transform=transform, seed=5)
    table = classify_file(model, tmp_path / "x.fasta")

    def score(a, b):
        return parasail.sw_striped_32(a, b, 11, 1, parasail.blosum62).score

    for (id, _, sequence), row in zip(records, table.itertuples(), strict=True):
        scores = [
            score(sequence, s.decode())
            / np.sqrt(score(sequence, sequence) * score(s.decode(), s.decode()))
            for s in model.landmarks
        ]
        assert row.nearest_landmark == model.landmark_ids[int(np.argmax(scores))]
        assert row.landmark_score == pytest.approx(max(scores), rel=1e-14)
        if id in model.landmark_ids:
            assert (row.nearest_landmark, row.landmark_score) == (id, 1.0)
        assert row.landmark_label == row.nearest_landmark[0]


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ({"name": "gaussian", "width": 2.0}, lambda x, y: np.exp(-((x - y) ** 2).sum() / 8)),
        ({"name": "linear"}, lambda x, y: x @ y),
        # A squared dissimilarity of vectors (c, r): the gap between the balls.
        ({"name": "ball"}, lambda x, y: max(0, abs(x[0] - y[0]) - x[1] - y[1]) ** 2),
        ({"name": "edit_distance"}, None),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_the_nearest_landmark_of_a_kernel(tmp_path, kernel, expected):
    """The largest similarity, or the smallest dissimilarity, squared as the model has it."""
    model, dataset, _ = model_of(tmp_path, kernel)
    if expected is None:
        name, expected = "x.txt", lambda x, y: Levenshtein.distance(x, y) ** 2
        objects = (tmp_path / name).read_text().splitlines()
    else:
        name, objects = "x.npy", np.load(tmp_path / "x.npy")
    places = [dataset.ids.index(id) for id in model.landmark_ids]
    columns = np.array([[expected(x, objects[place]) for place in places] for x in objects])
    similar = kernel["name"] in ("gaussian", "linear")
    best = columns.max(axis=1) if similar else columns.min(axis=1)
    worst = columns.min(axis=1) if similar else columns.max(axis=1)
    assert (best != worst).mean() > 0.9
    table = classify_file(model, tmp_path / name)
    np.testing.assert_allclose(table["landmark_score"], best, rtol=1e-12)
    nearest = [model.landmark_ids.index(id) for id in table["nearest_landmark"]]
    np.testing.assert_allclose(columns[np.arange(len(columns)), nearest], best, rtol=1e-12)


def test_a_negative_score_is_a_fault_of_its_record(tmp_path):
    records = families(5, letters="ADEKL")
    write_fasta(tmp_path / "x.fasta", records)
    model, *_ = trained_model(configuration(fasta_source()), tmp_path)
    # The config refuses this transform for such alignments; a file from elsewhere may have both.
    model = replace(model, scheme=replace(model.scheme, mode="semiglobal"))
    new = write_fasta(tmp_path / "new.fasta", [("odd", "a", "W" * 60), records[0]])
    messages = []
    table = classify_file(model, new, Options(on_fault=messages.append))
    assert re.search(
        r"record 1 .line 1., odd: its score with the landmark \w+ is negative, which .* log",
        messages[0],
    )
    assert (len(messages), table["problem"][1]) == (1, "")


def test_decisions_that_overflow_are_no_prediction(tmp_path, monkeypatch):
    monkeypatch.setattr(new_objects, "_RECORDS", 4)  # so that batches are answered at once
    model, *_ = model_of(tmp_path)
    decision = model.classifier.decision
    large = replace(decision, intercept=np.full_like(decision.intercept, 1e308))
    classifier = replace(model.classifier, decision=large, temperature=0.01)
    faults = []
    model = replace(model, classifier=classifier)
    with limited(2):
        table = classify_file(model, tmp_path / "x.fasta", Options(on_fault=faults.append))
    assert "(line 1), a0: the model's decision for it is not finite" in faults[0]
    assert len(faults) == len(table) == table["problem"].str.contains("is not finite").sum()


def test_a_prediction_below_the_threshold_is_rejected(tmp_path):
    model, _, probabilities = model_of(tmp_path, seed=7, changed=0.45)
    best = probabilities.max(axis=1)
    threshold = float(np.sort(best)[10])  # one that occurs: accepted
    model = replace(model, classifier=replace(model.classifier, reject_threshold=threshold))
    flags = classify_file(model, tmp_path / "x.fasta")["reject"]
    assert flags.tolist() == np.where(best < threshold, "yes", "no").tolist()
    assert set(flags) == {"yes", "no"}


def test_the_promised_error_stands_beside_what_is_accepted(tmp_path):
    model, _, probabilities = model_of(tmp_path, seed=7, changed=0.45)
    best = probabilities.max(axis=1)
    threshold = float(np.sort(best)[10])

    def told(**about):
        of_rule = {"reject": {"error": 0.05, "confidence": 0.9}} | about
        own = replace(model.classifier, reject_threshold=threshold, about=of_rule)
        changed = replace(model, classifier=own)
        table = classify_file(changed, tmp_path / "x.fasta")
        assert (table["promised_error"].notna() <= (table["reject"] == "no")).all()
        return table.loc[table["reject"] == "no", "promised_error"].unique(), promise_text(changed)

    (share,), text = told(promise={"error": 0.123, "curve": []})
    assert share == 0.123
    assert text.startswith("of the accepted at most 12.3 % are wrong, with 90 % confidence: no")
    assert text.endswith("keeps the 5 % that were asked for")
    assert told(promise={"error": 0.05}) == (0.05, "")
    assert told() == (0.05, "")  # of an older version
    for nothing in (told(promise={"error": None}), told(reject={"coverage": 0.9})):
        assert np.isnan(nothing[0]).all()
        assert nothing[1] == ""
