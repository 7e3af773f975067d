"""Evidence: the nearest members of classes, as a dense search over all of them finds them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import parasail
import pytest

from answering.cascades import cascade_model, related_model, with_cascade
from chimeras import model_of_several
from kreinflow.alignment import traceback
from kreinflow.classify import evidence, new_objects
from kreinflow.classify.classification import classify_batches
from kreinflow.classify.evidence import EVIDENCE_COLUMNS
from kreinflow.classify.explanation import explain
from kreinflow.classify.explanation_text import alignments, explanation_text
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options
from kreinflow.sequences.payload import digest
from small_inputs import (
    configuration,
    families,
    fasta_source,
    model_of,
    trained_model,
    write_fasta,
)

NEW = families(10, each=8, changed=0.7)


def found_by(model, path, **more):
    """The evidence for all records of a file, as one table, and how many alignments it cost."""
    pieces = []
    table = pd.concat(classify_batches(model, path, Options(on_evidence=pieces.append, **more)))
    whole = pd.concat([piece.table for piece in pieces], ignore_index=True)
    return whole, sum(piece.alignments for piece in pieces), table.reset_index(drop=True)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A model with a cascade and relatives, its data set, and a file of new sequences."""
    folder = tmp_path_factory.mktemp("asked")
    return *related_model(folder), write_fasta(folder / "new.fasta", NEW)


def scores_of(residues, others):
    """Those of one sequence with others, by parasail's own function, one pair after the other."""
    return [
        parasail.sw_striped_32(residues, other, 11, 1, parasail.blosum62).score for other in others
    ]


def dense(model, dataset, residues):
    """All records, with their class, E-value and score for a new sequence; smallest E first."""
    others = [s.decode() for s in dataset.sequences]
    constants = model.classifier.relatives.evidence.constants
    rows = [
        (constants["K"] * len(residues) * len(other) * np.exp(-constants["lambda"] * s), s, place)
        for place, (other, s) in enumerate(zip(others, scores_of(residues, others), strict=True))
    ]
    return [
        (dataset.row_labels[place], model.record_ids[place], evalue, s, others[place])
        for evalue, s, place in sorted(rows, key=lambda row: (row[0], row[2]))
    ]


def test_it_is_what_a_search_over_all_members_finds(asked):
    """The classes have ten records each, so all of them are candidates."""
    model, dataset, new = asked
    table, alignments, predictions = found_by(model, new)
    assert tuple(table.columns) == EVIDENCE_COLUMNS
    landmarks = set(model.landmark_ids)
    rows = iter(table.to_dict("records"))
    constants = model.classifier.relatives.evidence.constants
    cost = others = 0
    for (id, _, residues), said in zip(NEW, predictions.to_dict("records"), strict=True):
        everyone = dense(model, dataset, residues)
        asked_about = [("predicted", said["label"]), ("runner-up", said["runner_up"])]
        if said["record_label"] not in {"", said["label"], said["runner_up"]}:
            asked_about.append(("other", said["record_label"]))
            others += 1
        for of, label in asked_about:
            own = [member for member in everyone if member[0] == label]
            if of == "other":
                own = [member for member in own if member[1] == said["nearest_record"]]
                assert own[0][2] == pytest.approx(said["record_evalue"], rel=1e-12)
            else:
                cost += len({name for _, name, *_ in own} - landmarks)
            for _, name, evalue, score, other in own[: evidence.SHOWN]:
                row = next(rows)
                assert (row["query"], row["label"], row["of"]) == (id, label, of)
                assert (row["member"], row["score"]) == (name, score)
                assert row["kind"] == ("landmark" if name in landmarks else "record")
                assert row["evalue"] == pytest.approx(evalue, rel=1e-12)
                bits = (constants["lambda"] * score - np.log(constants["K"])) / np.log(2)
                assert row["bits"] == pytest.approx(bits, rel=1e-12)
                # A local alignment is the best global one of what it spans.
                ours = residues[row["query_start"] - 1 : row["query_end"]]
                theirs = other[row["member_start"] - 1 : row["member_end"]]
                best = parasail.nw_stats_striped_32(ours, theirs, 11, 1, parasail.blosum62)
                assert best.score == score
                assert max(len(ours), len(theirs)) <= row["columns"] <= len(ours) + len(theirs)
                assert round(row["identity"] * row["columns"], 9) <= min(len(ours), len(theirs))
                if len(ours) == len(theirs) == row["columns"]:
                    equal = sum(a == b for a, b in zip(ours, theirs, strict=True))
                    assert row["identity"] == equal / row["columns"]
    assert next(rows, None) is None
    assert alignments == cost
    assert others == 4


def test_explain_shows_a_member_of_another_class_that_it_names(asked):
    model, _, new = asked
    found = explain(model, new, "b3")
    assert (
        found.told["relatives"].lines[0].endswith("; its best alignment is with a9, E-value 0.036")
    )
    assert found.labels == ("c", "b")
    assert found.evidence["of"].unique().tolist() == ["predicted", "runner-up", "other"]
    lines = explanation_text(found, 3).splitlines()
    begin = lines.index("nearest member of another class, a (other)")
    assert lines[begin + 2].split()[:3] == ["a9", "landmark", "0.036"]
    assert lines.index("nearest members of b (runner-up)") < begin
    first = found.evidence.groupby("of", sort=False)["member"].first()
    shown = alignments(model, found, 3)
    assert [name for name, _ in shown] == ["a9", first["predicted"], first["runner-up"]]
    assert shown[0][1].score == found.evidence["score"].iloc[-1]


def nearest_places(model, new, label, q):
    """The records of a class that are nearest to each object, by all distances."""
    (batch,) = new_objects.score_new(model, new)
    classifier, records = model.classifier, model.classifier.records
    u = classifier.landmark_rows(batch)
    words = records.index.words
    of_records = words.features(records.index.objects.sequences).toarray()
    of_objects = words.features(batch.sequences).toarray()
    U = records.index.scores.astype(float)
    d = 3.0 * ((u.astype(np.float32).astype(float)[:, None] - U) ** 2).sum(axis=2)
    d += ((of_objects[:, None] - of_records) ** 2).sum(axis=2)
    d[:, records.classes != classifier.classes.index(label)] = np.inf
    return np.argsort(d, axis=1, kind="stable")[:, :q]


def test_members_of_several_lengths_stand_in_the_order_of_e_values(tmp_path):
    records = [
        (id, label, residues[: 30 + 7 * (int(id[1:]) % 5)])
        for id, label, residues in families(7, changed=0.6)
    ]
    write_fasta(tmp_path / "x.fasta", records)
    model, dataset, _ = trained_model(configuration(fasta_source()), tmp_path)
    model = with_cascade(model, dataset)
    table, *_ = found_by(model, write_fasta(tmp_path / "new.fasta", NEW))
    groups = [own for _, own in table.groupby(["query", "of"])]
    assert all(own["evalue"].is_monotonic_increasing for own in groups)
    assert not all(own["score"].is_monotonic_decreasing for own in groups)


@pytest.mark.parametrize("few", [1, 3])
def test_of_many_members_the_nearest_the_landmarks_and_the_named_one_are_looked_at(
    asked, monkeypatch, few
):
    model, dataset, new = asked
    monkeypatch.setattr(evidence, "CANDIDATES", few)
    monkeypatch.setattr("kreinflow.classify.classification.SHOWN", few)
    table, _, predictions = found_by(model, new)
    near = {label: nearest_places(model, new, label, few) for label in dataset.classes}
    named = 0
    for row, said in predictions.iterrows():
        everyone = dense(model, dataset, NEW[row][2])
        for of, label in (("predicted", said["label"]), ("runner-up", said["runner_up"])):
            own = table[(table["query"] == said["id"]) & (table["of"] == of)]
            looked = {model.record_ids[place] for place in near[label][row]}
            looked |= {*model.landmark_ids}
            named += said["nearest_record"] not in {"", *looked} and of == "predicted"
            looked |= {said["nearest_record"]}
            wanted = [name for mine, name, *_ in everyone if mine == label and name in looked]
            assert own["member"].tolist() == wanted[:few]
            if said["record_label"] == label:
                assert own["evalue"].iloc[0] <= said["record_evalue"]
    assert few > 1 or named > 0


def test_records_that_are_apart_leave_the_landmarks_to_speak(tmp_path):
    model, _ = cascade_model(tmp_path)
    new = write_fasta(tmp_path / "new.fasta", NEW[::4])
    digests = tuple(digest(residues) for residues in model.record_residues)
    replace(model, record_digests=digests).save(tmp_path / "apart.safetensors")
    table, alignments, _ = found_by(Model.load(tmp_path / "apart.safetensors"), new)
    assert set(table["kind"]) == {"landmark"}
    assert alignments == 0
    assert table["evalue"].notna().all()
    everyone, more, _ = found_by(
        Model.load(tmp_path / "apart.safetensors", [tmp_path / "x.fasta"]), new
    )
    assert more > 0
    assert set(everyone["kind"]) == {"landmark", "record"}
    pd.testing.assert_frame_equal(everyone, found_by(model, new)[0], check_exact=True)


def test_a_model_without_e_values_ranks_by_score(tmp_path):
    model, dataset, _ = model_of(tmp_path, seed=5, changed=0.5)
    new = write_fasta(tmp_path / "new.fasta", NEW[::4])
    table, alignments, predictions = found_by(model, new)
    assert alignments == 0
    assert table[["evalue", "bits"]].isna().all(axis=None)
    for said in predictions.itertuples():
        residues = next(r for id, _, r in NEW if id == said.id)
        for of, label in (("predicted", said.label), ("runner-up", said.runner_up)):
            own = table[(table["query"] == said.id) & (table["of"] == of)]
            landmarks = [
                s.decode()
                for s, mine in zip(model.landmarks, model.landmark_labels, strict=True)
                if mine == label
            ]
            wanted = sorted(scores_of(residues, landmarks), reverse=True)
            assert own["score"].tolist() == wanted[: evidence.SHOWN]
    assert found_by(with_cascade(model, dataset), new)[0]["evalue"].notna().all()


@pytest.mark.parametrize("kind", ["similarity", "dissimilarity", "squared_dissimilarity"])
def test_of_a_matrix_the_nearest_landmarks_speak(tmp_path, kind):
    model, *_ = model_of(tmp_path, objects=kind)
    table, alignments, predictions = found_by(model, tmp_path / "k.csv")
    assert alignments == 0
    K = pd.read_csv(tmp_path / "k.csv", index_col=0)[list(model.landmark_ids)]
    assert (table[list(EVIDENCE_COLUMNS[8:])] == "").all(axis=None)
    for said in predictions.itertuples():
        for of, label in (("predicted", said.label), ("runner-up", said.runner_up)):
            own = table[(table["query"] == said.id) & (table["of"] == of)]
            values = K.loc[said.id][model.landmark_labels == label]
            values = values.sort_values(ascending="dis" in kind).head(evidence.SHOWN)
            np.testing.assert_allclose(own["score"], values, rtol=1e-12)
            assert sorted(own["member"]) == sorted(values.index)


@pytest.mark.parametrize("kind", ["similarity", "squared_dissimilarity"])
def test_of_a_matrix_the_nearest_landmark_may_be_of_a_third_class(tmp_path, kind):
    model, *_ = model_of(tmp_path, objects=kind)
    K = pd.read_csv(tmp_path / "k.csv", index_col=0)[list(model.landmark_ids)]
    rows = {}
    for one, other, landmark in product(K.index[::5], K.index[::5], K.columns):
        row = (K.loc[one] + K.loc[other]) / 2
        row[landmark] = 0.99 * row.min() if "dis" in kind else 1.01 * row.max()
        rows[f"{one}+{other}:{landmark}"] = row
    pd.DataFrame(rows).T.to_csv(tmp_path / "new.csv")
    table, _, predictions = found_by(model, tmp_path / "new.csv")
    apart = predictions["landmark_label"] != predictions["label"]
    named = predictions[apart & (predictions["landmark_label"] != predictions["runner_up"])]
    own = table[table["of"] == "other"]
    assert 0 < len(named) < len(predictions)
    for one, other in (("query", "id"), ("label", "landmark_label"), ("score", "landmark_score")):
        assert own[one].tolist() == named[other].tolist()
    assert own["member"].tolist() == named["nearest_landmark"].tolist()
    last = table.groupby("query", sort=False)["of"].last()
    assert (last[named["id"]] == "other").all()


def test_all_labels_of_an_object_are_asked_about(tmp_path):
    it = model_of_several(tmp_path)
    table, _, predictions = found_by(it.model, tmp_path / "x.fasta")
    seen = set()
    for said, p in zip(predictions.itertuples(), it.probabilities, strict=True):
        own = table[(table["query"] == said.id) & (table["of"] != "other")]
        own = own.drop_duplicates("label")
        labels = said.labels.split(";") if said.labels else []
        others = ["abc"[c] for c in np.argsort(-p, kind="stable") if "abc"[c] not in labels]
        wanted = [(label, "predicted") for label in labels]
        wanted += [(label, "runner-up") for label in others[:1]]
        assert list(zip(own["label"], own["of"], strict=True)) == wanted
        seen.add(len(labels))
    assert seen >= {1, 2}


def test_who_cannot_be_classified_or_traced(asked, tmp_path, monkeypatch):
    model, _, new = asked
    whole, *_ = found_by(model, new)
    bad = write_fasta(tmp_path / "bad.fasta", [*NEW[:3], ("bad", "a", "M1"), *NEW[3:]])
    told = []
    with_bad, *_ = found_by(model, bad, on_fault=told.append)
    assert len(told) == 1
    pd.testing.assert_frame_equal(with_bad, whole, check_exact=True)
    nobody = write_fasta(tmp_path / "nobody.fasta", [("bad", "a", "M1")])
    none, *_ = found_by(model, nobody, on_fault=told.append)
    assert (len(none), tuple(none.columns)) == (0, EVIDENCE_COLUMNS)
    monkeypatch.setattr(traceback, "LARGEST_TRACE", 3599)
    less, _, predictions = found_by(model, new)
    assert (less[list(EVIDENCE_COLUMNS[8:])] == "").all(axis=None)
    assert predictions["record_identity"].isna().all()
    assert (predictions["nearest_record"] != "").any()
    same = list(EVIDENCE_COLUMNS[:8])
    pd.testing.assert_frame_equal(less[same], whole[same], check_exact=True)
