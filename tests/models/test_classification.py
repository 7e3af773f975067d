"""Classifying new sequences with a model: in all modes, with as few alignments as it says."""

import numpy as np
import pytest

from kreinflow.alignment.engine import align_pairs
from kreinflow.errors import InputError
from kreinflow.models.classification import COLUMNS, classify_file
from small_inputs import DNA, PROTEIN, configuration, families, trained_model, write_fasta

SOURCE = {"type": "fasta", "fasta": "x.fasta", "labels": {"pattern": r"family=(\w+);"}}
SUBSTITUTIONS = "   A  C  G  T\nA  3 -2 -2 -2\nC -2  3 -2 -2\nG -2 -2  3 -2\nT -2 -2 -2  3\n"


@pytest.mark.parametrize(
    ("letters", "transform", "scoring"),
    [
        (PROTEIN, "log", {}),
        (PROTEIN, "raw", {"matrix": "PAM120", "gap_open": 12, "gap_extend": 2}),
        (PROTEIN, "normalised", {"mode": "global"}),
        (PROTEIN, "evalue", {}),
        (DNA, "log", {"matrix": "dnafull", "gap_open": 10}),
        (DNA, "sqrt", {"matrix": "nuc44", "gap_open": 10, "mode": "semiglobal"}),
        (DNA, "normalised", {"matrix": "mine.txt", "gap_open": 5, "mode": "global"}),
    ],
)
def test_the_probabilities_are_those_of_the_library(tmp_path, letters, transform, scoring):
    records = families(5, letters=letters, changed=0.2)
    write_fasta(tmp_path / "x.fasta", records)
    (tmp_path / "mine.txt").write_text(SUBSTITUTIONS)
    source = SOURCE | {"molecule": "nucleotide" if letters == DNA else "protein"}
    config = configuration(source, transform, scoring=scoring)
    model, dataset, probabilities = trained_model(config, tmp_path)
    assert np.mean(probabilities.argmax(axis=1) == dataset.labels) > 0.9
    (tmp_path / "mine.txt").unlink()  # the model has all that it needs
    table = classify_file(model, tmp_path / "x.fasta", threads=2)
    assert tuple(table.columns) == COLUMNS
    assert table["id"].tolist() == [r[0] for r in records]
    np.testing.assert_array_equal(table["probability"], probabilities.max(axis=1))


def test_m_alignments_a_sequence_and_one_with_itself(tmp_path):
    write_fasta(tmp_path / "x.fasta", families(5))
    new = write_fasta(tmp_path / "new.fasta", families(6)[:7])
    done = []

    def counting(packed, left, right, scheme, threads):
        done.extend(zip(left.tolist(), right.tolist(), strict=True))
        return align_pairs(packed, left, right, scheme, threads)

    for transform, more in (("log", 1), ("raw", 0)):
        model, *_ = trained_model(configuration(SOURCE, transform), tmp_path)
        done.clear()
        classify_file(model, new, backend=counting)
        m = len(model.landmark_ids)
        assert len(done) == len(set(done)) == 7 * (m + more)
        assert model.about["training"]["alignments_per_query"] == m + more


def test_tiles_do_not_matter_and_progress_is_told(tmp_path, monkeypatch):
    import kreinflow.models.classification as module

    records = families(5)
    write_fasta(tmp_path / "x.fasta", records)
    model, *_ = trained_model(configuration(SOURCE), tmp_path)
    whole = classify_file(model, tmp_path / "x.fasta")
    monkeypatch.setattr(
        module, "tiles", lambda n: (slice(a, min(a + 7, n)) for a in range(0, n, 7))
    )
    told = []
    parts = classify_file(model, tmp_path / "x.fasta", progress=lambda *done: told.append(done))
    assert parts.equals(whole)
    assert told == [(7, 30), (14, 30), (21, 30), (28, 30), (30, 30)]
    write_fasta(tmp_path / "x.fasta", [*records, ("bad", "a", "XX")])
    with pytest.raises(InputError, match=r"x\.fasta, record 31, bad: scores 0 with itself"):
        classify_file(model, tmp_path / "x.fasta")


def test_letters_are_treated_as_in_training(tmp_path):
    records = families(5)
    write_fasta(tmp_path / "x.fasta", records)
    model, *_ = trained_model(configuration(SOURCE), tmp_path)
    plain = records[3][2].replace("C", "U", 1)
    write_fasta(
        tmp_path / "new.fasta",
        [("plain", "a", records[3][2]), ("lower", "a", plain.lower()), ("stop", "a", plain + "*")],
    )
    table = classify_file(model, tmp_path / "new.fasta")
    assert table["probability"].nunique() == 1
    assert table["label"].nunique() == 1
