"""Classifying with a cascade: who is asked, and what the table says of it."""

import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import parasail
import pytest

from answering.cascades import cascade_model, related_model
from kreinflow.alignment.backends import SAMPLE, backend_named
from kreinflow.alignment.statistics import local_statistics
from kreinflow.answering.label_sets import Calibration
from kreinflow.answering.query_and_answers import NOBODY
from kreinflow.base.errors import KreinflowError
from kreinflow.classify import new_objects
from kreinflow.classify.classification import classify_file, write_tables
from kreinflow.classify.explanation import explain
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options, score_new
from kreinflow.files.tables import table_text
from kreinflow.sequences.dataset import write_dataset
from sequence_pairs import Counting, rectangle, too_large
from small_inputs import families, write_fasta

NEW = families(7, each=20, changed=0.6)


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """A model with a cascade, its data set, and a file of new sequences."""
    folder = tmp_path_factory.mktemp("asked")
    return *cascade_model(folder), write_fasta(folder / "new.fasta", NEW)


def score(a, b):
    return parasail.sw_striped_32(a.decode(), b.decode(), 11, 1, parasail.blosum62).score


def test_the_table_says_who_answered_and_what_it_cost(asked):
    model, dataset, new = asked
    table = classify_file(model, new, Options(threads=2))
    (batch,) = score_new(model, new)
    m, sequences = len(model.landmark_ids), [s.encode() for *_, s in NEW]
    both, n = [*sequences, *dataset.sequences], len(NEW)
    S = rectangle(both, np.arange(n), np.arange(n, len(both)), model.scheme)
    answers = model.classifier.answer(replace(batch, ask=lambda i, j: S[i[:, None], j]))
    names = np.array(["first", "nearest", "pairs"])
    assert table["stage"].tolist() == names[answers.stage].tolist()
    assert set(table["stage"]) == set(names)
    assert table["alignments"].tolist() == (m + 1 + answers.alignments).tolist()
    top = answers.probabilities.max(axis=1)
    assert table["probability"].tolist() == top.tolist()
    assert table["reject"].tolist() == np.where(answers.rejected, "yes", "no").tolist()
    assert set(table["reject"]) == {"yes", "no"}
    lam, K, _ = local_statistics(model.scheme)
    labels = dict(zip(dataset.ids, dataset.labels, strict=True))
    for row, place in zip(table.itertuples(), answers.nearest.tolist(), strict=True):
        if place == NOBODY:
            assert row.stage == "first"
            assert row.nearest_record == ""
            assert np.isnan([row.record_evalue, row.record_identity]).all()
            continue
        record = dataset.sequences[place]
        query = sequences[row.Index]
        assert row.nearest_record == model.record_ids[place]
        assert dataset.classes[labels[row.nearest_record]] == row.label == row.record_label
        expected = K * len(query) * len(record) * np.exp(-lam * score(query, record))
        assert row.record_evalue == pytest.approx(expected, rel=1e-12)
        stats = parasail.sw_stats_striped_32(
            query.decode(), record.decode(), 11, 1, parasail.blosum62
        )
        # Of several best alignments the two may take different ones.
        assert row.record_identity == pytest.approx(stats.matches / stats.length, abs=0.1)


def test_what_is_farther_than_was_measured_is_beyond(asked, tmp_path):
    model, *_, new = asked
    assert set(classify_file(model, new)["beyond"]) == {""}
    (batch,) = score_new(model, new)
    own = model.classifier.answer(batch)
    rng, truth = np.random.default_rng(3), own.probabilities.argmax(axis=1)
    truth = np.where(rng.random(len(truth)) < 0.3, rng.integers(3, size=len(truth)), truth)
    calibration = Calibration.of(own.probabilities, truth)
    closer = own.closeness + np.ptp(own.closeness) / 2
    calibration = calibration.with_closeness(closer, own.probabilities, truth)
    classifier = model.classifier.with_parts(calibration=calibration)
    least = closer.min()
    measured = replace(model, classifier=classifier)
    measured.save(tmp_path / "model.safetensors")
    for same in (measured, Model.load(tmp_path / "model.safetensors")):
        table = classify_file(same, new, Options(confidence=0.9))
        assert table["beyond"].tolist() == np.where(own.closeness < least, "yes", "no").tolist()
        sets = calibration.sets(own.probabilities, 0.9, own.closeness)
        assert table["set_size"].tolist() == sets.sum(axis=1).tolist()
    beyond = int((table["beyond"] == "yes").sum())
    assert 0 < beyond < len(NEW)
    assert write_tables([table], [].append)["beyond"] == beyond
    for id, said in zip(table["id"], table["beyond"], strict=True):
        told = "\n".join(explain(measured, new, id).told["calibration"].lines)
        assert ("farther from the training records than 98 %" in told) == (said == "yes")


def test_evidence_that_is_no_evalue_has_none(tmp_path):
    model, _ = cascade_model(tmp_path, evidence="normalised", threshold=2.0)
    table = classify_file(model, write_fasta(tmp_path / "new.fasta", NEW[:5]))
    assert (table["nearest_record"] != "").all()
    assert table["record_evalue"].isna().all()
    assert table["record_identity"].notna().all()


@pytest.mark.parametrize("made", [cascade_model, related_model])
def test_each_pair_is_aligned_once_and_counted(made, tmp_path, monkeypatch):
    """Landmarks are records as well, and what is known of them is not asked again."""
    model, _ = made(tmp_path)
    new = write_fasta(tmp_path / "new.fasta", NEW[:25])
    counting = Counting()
    monkeypatch.setattr(new_objects, "self_scores", counting.self_scores)
    table = classify_file(model, new, Options(backend=counting))
    assert counting.most == 1
    assert counting.pairs.total() == table["alignments"].sum()
    assert len(set(table["alignments"])) > 2


class Wrong:
    """A backend that is wrong after some calls: of landmarks it is right."""

    def __init__(self, calls):
        self.calls = calls

    def __call__(self, *given):
        self.calls -= 1
        return (backend_named("auto") if self.calls >= 0 else too_large)(*given)


def test_scores_of_records_are_held_against_parasail(asked):
    model, _, new = asked
    assert SAMPLE == 1000
    with pytest.raises(KreinflowError, match=r"score \d+, by parasail \d+. This .* Use the align"):
        classify_file(model, new, Options(backend=Wrong(1)))


def test_the_workflow_takes_records_that_are_apart_from_its_data_set(tmp_path):
    model, dataset = cascade_model(tmp_path, apart=True)
    model.save(tmp_path / "model.safetensors")
    write_dataset(tmp_path / "dataset", dataset)
    new = write_fasta(tmp_path / "new.fasta", NEW)
    job = SimpleNamespace(
        log=[str(tmp_path / "log")],
        output=[str(tmp_path / "out.tsv")],
        input=SimpleNamespace(
            new=str(new),
            model=str(tmp_path / "model.safetensors"),
            vectors=[],
            records=str(tmp_path / "dataset" / "records.tsv"),
        ),
        params=SimpleNamespace(strand="given", backend="auto", asked=None, part="1-of-1"),
        resources=SimpleNamespace(learning_memory_mb=2048),
        threads=1,
    )
    script = Path(__file__).parents[2] / "scripts" / "classify.py"
    runpy.run_path(str(script), init_globals={"snakemake": job})
    assert (tmp_path / "out.tsv").read_text() == table_text(classify_file(model, new))
