"""``kreinflow classify``: the table, the records at fault, and what is read."""

import io
from dataclasses import replace

import pandas as pd
import pytest

from kreinflow.alignment import backends
from kreinflow.classify.classification import COLUMNS, classify_file
from kreinflow.commands.classify import BACKENDS
from kreinflow.models.classifier import LandmarkClassifier
from kreinflow.numerics import current_limits
from kreinflow.schema import schema
from models.cascades import cascade_model
from small_inputs import families, write_fasta


def test_the_table_is_that_of_the_library(classified, trained, tmp_path):
    assert classified(trained.path, trained.fasta, "-o", tmp_path / "out.tsv") == ""
    table = pd.read_csv(tmp_path / "out.tsv", sep="\t", keep_default_na=False)
    expected = classify_file(trained.model, trained.fasta)
    expected = expected.astype(object).where(expected.notna(), "")
    pd.testing.assert_frame_equal(table, expected, check_exact=True, check_dtype=False)


def test_a_record_does_not_depend_on_the_others_threads_or_backend(classified, trained, tmp_path):
    outputs = [
        classified(trained.path, trained.fasta, "--threads", threads, "--backend", backend)
        for threads, backend in ((1, "parasail"), (3, "parasail"), (2, "auto"))
    ]
    assert outputs[0] == outputs[1] == outputs[2]
    lines = outputs[0].splitlines()
    for place in (0, 17, 29):
        alone = write_fasta(tmp_path / "alone.fasta", [trained.records[place]])
        assert classified(trained.path, alone).splitlines() == [lines[0], lines[place + 1]]


def test_the_backends_are_those_of_the_library_and_of_the_config():
    keys = schema()["properties"]["alignment"]["properties"]
    assert list(BACKENDS) == list(backends.BACKENDS) == keys["backend"]["enum"]


def test_a_model_of_other_alignments_than_local_ones(classified, trained, tmp_path):
    path = tmp_path / "global.safetensors"
    replace(trained.model, scheme=replace(trained.model.scheme, mode="global")).save(path)
    by_default = classified(path, trained.fasta)
    assert by_default != classified(trained.path, trained.fasta)
    for backend in BACKENDS:
        assert classified(path, trained.fasta, "--backend", backend) == by_default


def test_the_landmarks_are_listed(classified, trained):
    labels = {id: label for id, label, _ in trained.records}
    lines = [f"{id}\t{labels[id]}" for id in trained.model.landmark_ids]
    assert classified(trained.path, "--landmarks").splitlines() == ["id\tlabel", *lines]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">q1 x\nMKV\n>q2\nMK1V\n", "new.fasta, record 2 (line 3), q2: residue 3 is '1'"),
        (">q1\n***\n", "new.fasta, record 1 (line 1), q1: has no residues"),
        (">q1\nMKV\n>q2\nXXX\n", "record 2 (line 3), q2: scores 0 with itself, too little"),
    ],
)
def test_a_bad_record_is_told_and_loses_no_other(run, refused, trained, tmp_path, text, message):
    new = tmp_path / "new.fasta"
    new.write_text(text)
    assert message in refused("classify", trained.path, new, "--strict", "-o", tmp_path / "o.tsv")
    assert list(tmp_path.iterdir()) == [new], "nothing is left behind"
    code, out, err = run("classify", trained.path, new)
    said, last = err.splitlines()
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0
    assert message in said
    assert f"{len(rows) - 2} classified, " in last
    assert last.endswith("; 1 not classified")
    (bad,) = [row for row in rows[1:] if row[-1]]
    assert bad[1:-1] == [""] * (len(COLUMNS) - 2)
    assert bad[-1] in message + said
    # The others are what they are without it.
    good = "".join(f">{row[0]}\nMKV\n" for row in rows[1:] if not row[-1])
    if good:
        new.write_text(good)
        alone = run("classify", trained.path, new)[1].splitlines()
        assert alone == ["\t".join(row) for row in rows if not row[-1] or row is rows[0]]


def test_of_many_bad_records_the_first_are_told(run, trained, tmp_path):
    (tmp_path / "empty.fa").write_text("".join(f">e{i}\n" for i in range(100)))
    code, out, err = run("classify", trained.path, tmp_path / "empty.fa")
    assert code == 0
    assert out.count("has no residues") == 100
    assert err.count("has no residues") == 20
    *_, more, last = err.splitlines()
    assert more == "kreinflow: more are not classified: see the column 'problem'."
    assert last.endswith("; 100 not classified")


@pytest.mark.parametrize("name", ["new.fa", "new.fa.gz"])
def test_standard_input(classified, refused, trained, tmp_path, name, monkeypatch):
    new = write_fasta(tmp_path / name, trained.records)
    expected = classified(trained.path, new)
    with new.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert classified(trained.path, "-") == expected
    (tmp_path / "bad.fasta").write_text(">q\n1\n")
    with (tmp_path / "bad.fasta").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        message = refused("classify", trained.path, "-", "--strict")
    assert "standard input, record 1 (line 1), q: residue 1" in message


def test_what_classify_needs(refused, trained):
    assert "name the FASTA file, matrix or vectors" in refused("classify", trained.path)
    for option, value, message in (
        ("--threads", 0, "--threads 0: give at least 1"),
        ("--strand", "both", "the model is not one of nucleotides"),
    ):
        assert message in refused("classify", trained.path, trained.fasta, option, value)


@pytest.fixture
def apart(tmp_path):
    """A model file whose records are apart, the FASTA that has them, and new sequences."""
    model, _ = cascade_model(tmp_path, apart=True)
    model.save(tmp_path / "model.safetensors")
    new = write_fasta(tmp_path / "new.fasta", families(7, each=5, changed=0.6))
    return tmp_path / "model.safetensors", tmp_path / "x.fasta", new


def test_records_that_are_apart_are_given_beside_the_model(run, apart):
    model, records, new = apart
    code, first, err = run("classify", model, new)
    assert code == 0
    said = [line for line in err.splitlines() if "first stage alone answers" in line]
    assert len(said) == 1
    assert said[0].endswith("Give them with --records.")
    code, table, err = run("classify", model, new, "--records", records)
    assert code == 0
    assert "first stage alone" not in err
    stages = [set(pd.read_csv(io.StringIO(text), sep="\t")["stage"]) for text in (first, table)]
    assert stages == [{"first"}, {"nearest", "pairs"}]
    code, _, err = run("explain", model, new, "--id", "b3", "--records", records)
    assert code == 0
    assert "first stage alone" not in err
    assert "first stage alone" in run("explain", model, new, "--id", "b3")[2]


def test_records_may_stand_before_the_input_and_in_several_files(classified, apart, tmp_path):
    model, records, new = apart
    expected = classified(model, new, "--records", records)
    assert classified("--records", records, model, new) == expected
    known = families(7, changed=0.5)
    parts = [write_fasta(tmp_path / f"{i}.fasta", known[i::2]) for i in range(2)]
    given = [text for part in parts for text in ("--records", part)]
    assert classified(*given, model, new) == expected


@pytest.mark.parametrize("command", [["classify"], ["explain", "--id", "b3"]])
def test_standard_input_is_read_once(refused, apart, command):
    model, _, new = apart
    said = refused(*command, model, "-", "--records", "-")
    assert "standard input (-) can be read once. Name a file for the other input." in said
    assert "read once" in refused(*command, model, new, "--records", "-", "--records", "-")


@pytest.mark.parametrize("threads", [1, 3])
def test_all_that_is_computed_has_the_threads(classified, trained, monkeypatch, threads):
    seen, answer = [], LandmarkClassifier.answer

    def watched(*given):
        seen.append(current_limits().threads)
        return answer(*given)

    monkeypatch.setattr(LandmarkClassifier, "answer", watched)
    classified(trained.path, trained.fasta, "--threads", threads)
    assert set(seen) == {threads}


def test_records_that_are_not_those_of_the_model(refused, trained, apart, tmp_path):
    model, records, new = apart
    some = write_fasta(tmp_path / "some.fasta", families(7, changed=0.5)[2:])
    said = refused("classify", model, new, "--records", some)
    assert f"{some}: lacks 2 of the 30 training records of the model: a0, a1." in said
    said = refused("classify", trained.path, new, "--records", records)
    assert "--records: the model needs none, it asks no records. Leave it out." in said
    said = refused("classify", model, new, "--records", records, "-o", records)
    assert "is what is read" in said


def test_vectors_are_given_beside_the_objects(run, classified, refused, lifted):
    path, fasta, vectors = lifted.path, lifted.fasta, lifted.vectors
    table = pd.read_csv(io.StringIO(classified(path, fasta, "--vectors", vectors)), sep="\t")
    assert len(table) == len(lifted.records)
    assert "looks at vectors of 4 numbers" in refused("classify", path, fasta)
    said = refused("classify", path, fasta, "--vectors", vectors, "-o", vectors)
    assert "is what is read" in said
