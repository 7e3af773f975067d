"""``kreinflow classify``: the table, the records at fault, and what is read."""

import gzip
import io
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from answering.cascades import cascade_model
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.label_sets import accepted
from kreinflow.base.numerics import current_limits
from kreinflow.classify import new_objects
from kreinflow.classify.classification import (
    COLUMNS,
    PROMISES,
    accepting,
    classify_batches,
    classify_file,
)
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options, score_new
from kreinflow.files.tables import table_text
from small_inputs import families, model_of, write_fasta


def test_the_table_is_that_of_the_library(classified, trained, tmp_path):
    assert classified(trained.path, trained.fasta, "-o", tmp_path / "out.tsv") == ""
    table = pd.read_csv(tmp_path / "out.tsv", sep="\t", keep_default_na=False)
    expected = classify_file(trained.model, trained.fasta)
    expected = expected.astype(object).where(expected.notna(), "")
    pd.testing.assert_frame_equal(table, expected, check_exact=True, check_dtype=False)


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
    assert "; 1 not classified; " in last
    (bad,) = [row for row in rows[1:] if row[-1]]
    assert bad[1:-1] == [""] * (len(COLUMNS) - 2)
    assert bad[-1] in message + said


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
    said = refused("classify", trained.path, trained.fasta, "--strand", "both")
    assert "the model is not one of nucleotides" in said


def table_of(text):
    return pd.read_csv(io.StringIO(text), sep="\t", keep_default_na=False, dtype=str)


@pytest.fixture(scope="module")
def unsure(tmp_path_factory):
    """A model that takes some of its held-out records for others."""
    folder = tmp_path_factory.mktemp("unsure")
    model, *_ = model_of(folder, seed=7, changed=0.75)
    model.save(folder / "model.safetensors")
    assert len(model.classifier.calibration.wrong) > 3
    return SimpleNamespace(path=folder / "model.safetensors", model=model)


@pytest.fixture
def doubtful(tmp_path):
    """New sequences, one of which cannot be classified."""
    records = families(7, each=12, changed=0.75)
    return write_fasta(tmp_path / "new.fasta", [*records[:20], ("bad", "a", "1"), *records[20:]])


def test_promises_are_those_of_the_calibration(classified, unsure, doubtful):
    plain = table_of(classified(unsure.path, doubtful))
    asked = ("--confidence", "0.8", "--errors", "0.2")
    table = table_of(classified(unsure.path, doubtful, *asked))
    assert list(table.columns) == [*COLUMNS[:-1], *PROMISES, "problem"]
    pd.testing.assert_frame_equal(table[list(COLUMNS)], plain)
    assert (table.loc[20, [*PROMISES]] == "").all()
    table = table.drop(index=20)
    (batch,) = score_new(unsure.model, doubtful)
    classifier = unsure.model.classifier
    p = classifier.predict_proba(batch)
    sets = classifier.calibration.sets(p, 0.8)
    for text, size, row, inside in zip(table["set"], table["set_size"], p, sets, strict=True):
        labels = text.split(";") if text else []
        assert len(labels) == int(size) == inside.sum()
        codes = [classifier.classes.index(label) for label in labels]
        assert inside[codes].all()
        assert (np.diff(row[codes]) <= 0).all()
    assert table["set_size"].nunique() > 2
    expected = classifier.calibration.p_values(p.max(axis=1))
    np.testing.assert_array_equal(table["error_p"].astype(float), expected)
    yes = (table["accepted"] == "yes").to_numpy()
    np.testing.assert_array_equal(yes, accepted(expected, 0.2))
    assert 0 < yes.sum() < len(yes)


def test_promises_wherever_the_table_goes(run, classified, unsure, doubtful, tmp_path):
    """In pieces, packed, from a stream; sets do not depend on other records, accepted do."""
    asked = ("--confidence", "0.8", "--errors", "0.2")
    code, whole, err = run("classify", unsure.path, doubtful, *asked)
    assert code == 0
    yes = (table_of(whole)["accepted"] == "yes").sum()
    assert f" of them rejected, {yes} accepted; 1 not classified; " in err
    classified(unsure.path, doubtful, *asked, "-o", tmp_path / "out.tsv.gz")
    assert gzip.decompress((tmp_path / "out.tsv.gz").read_bytes()).decode() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.fasta", "out.tsv.gz"]
    alone = write_fasta(tmp_path / "alone.fasta", [families(7, each=12, changed=0.75)[0]])
    row = table_of(classified(unsure.path, alone, *asked))
    columns = [name for name in row.columns if name != "accepted"]
    assert row[columns].loc[0].tolist() == table_of(whole)[columns].loc[0].tolist()


def test_pieces_wait_until_all_are_read():
    p = np.array([0.01, 0.5, np.nan, 0.02, 0.04])
    reasons = np.array(["", "unsure", "", "", "no relative"], dtype=object)
    tables = [
        pd.DataFrame({"reason": reasons[part], "error_p": p[part], "problem": ""})
        for part in (slice(0, 2), slice(2, 2), slice(2, 5))
    ]
    done = []
    pieces = list(accepting(iter(tables), 0.05, done.append))
    assert [len(piece) for piece in pieces] == [2, 0, 3]
    assert done == [2, 2, 5]
    whole = pd.concat(pieces)
    assert whole["accepted"].tolist() == ["yes", "no", "", "yes", "no"]
    assert list(whole.columns) == ["reason", "error_p", "accepted", "problem"]
    assert list(accepting([], 0.05)) == []


def test_pieces_come_back_as_they_were(unsure, doubtful):
    """Numbers stay numbers, and odd ids are as they were."""
    asked = {"confidence": 0.8, "errors": 0.2, "on_fault": print}
    batch = pd.concat(classify_batches(unsure.model, doubtful, Options(**asked)), ignore_index=True)
    batch.loc[0, "id"] = 'tab\t, "quote", NA, \u00e4, \udc80'
    batch["odd"] = np.resize([np.inf, -0.0, 5e-324, 0.1 + 0.2, np.nan], len(batch))
    (piece,) = accepting([batch], 0.2)
    pd.testing.assert_frame_equal(piece.drop(columns="accepted"), batch, check_exact=True)
    for name, values in batch.items():
        kinds = [type(value) for value in values], [type(value) for value in piece[name]]
        assert kinds[0] == kinds[1], name
    assert np.signbit(piece["odd"]).tolist() == np.signbit(batch["odd"]).tolist()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--confidence", 95, "confidence: 95 is not between 0 and 1. Give a share, as 0.95."),
        ("--errors", 0, "errors: 0 is not between 0 and 1."),
        ("--confidence", 0.99, "confidence 0.99 take at least 99 training records that were"),
        ("--errors", 0.01, "errors of 0.01 takes at least 99 training records that were held out"),
    ],
)
def test_what_cannot_be_promised(refused, trained, tmp_path, option, value, message):
    out = tmp_path / "out.tsv"
    assert message in refused("classify", trained.path, trained.fasta, option, value, "-o", out)
    assert not out.exists()


@pytest.fixture
def apart(tmp_path):
    """A model file whose records are apart, the FASTA that has them, and new sequences."""
    model, _ = cascade_model(tmp_path, apart=True)
    model.save(tmp_path / "model.safetensors")
    new = write_fasta(tmp_path / "new.fasta", families(7, each=5, changed=0.6))
    return tmp_path / "model.safetensors", tmp_path / "x.fasta", new


def test_records_that_are_apart_are_given_beside_the_model(run, refused, apart):
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
    assert stages == [{"first"}, {"first", "nearest", "pairs"}]
    code, out, err = run("classify", model, new, "--confidence", 0.8)
    assert (code, out) == (2, "")
    assert "rest on the answers of the cascade" in err
    code, _, err = run("explain", model, new, "--id", "b3", "--records", records)
    assert code == 0
    assert "first stage alone" not in err
    assert "first stage alone" in run("explain", model, new, "--id", "b3")[2]
    said = refused("classify", model, new, "--records", records, "-o", records)
    assert "is what is read" in said


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
    given = "--threads", threads, "--backend", "parasail"
    classified(trained.path, trained.fasta, *given)
    assert set(seen) == {threads}


def test_vectors_are_given_beside_the_objects(run, classified, refused, lifted):
    path, fasta, vectors = lifted.path, lifted.fasta, lifted.vectors
    table = pd.read_csv(io.StringIO(classified(path, fasta, "--vectors", vectors)), sep="\t")
    assert len(table) == len(lifted.records)
    said = refused("classify", path, fasta, "--vectors", vectors, "-o", vectors)
    assert "is what is read" in said


def test_evidence_is_written_beside_the_predictions(run, apart, tmp_path, monkeypatch):
    path, records, new = apart
    asked = "classify", path, new, "--records", records
    code, plain, _ = run(*asked)
    assert code == 0
    pieces = []
    model = Model.load(path, [records])
    list(classify_batches(model, new, Options(on_evidence=pieces.append)))
    (piece,) = pieces
    expected = table_text(piece.table)
    for name, threads in (("e.tsv", 1), ("e.tsv.gz", 3)):
        monkeypatch.setattr(new_objects, "_RECORDS", 4 * threads)
        code, out, err = run(*asked, "--evidence", tmp_path / name, "--threads", threads)
        assert (code, out) == (0, plain)
        said = f"kreinflow: evidence: {len(piece.table)} rows, {piece.alignments} more alignments"
        assert said in err.splitlines()
    assert (tmp_path / "e.tsv").read_text() == expected
    assert gzip.decompress((tmp_path / "e.tsv.gz").read_bytes()).decode() == expected
    code, out, _ = run(*asked, "-o", tmp_path / "out.tsv", "--evidence", "-", "--errors", "0.2")
    assert (code, out) == (0, expected)
    assert len(table_of((tmp_path / "out.tsv").read_text())) == 15


@pytest.mark.parametrize("names", [("x.tsv", "x.tsv"), ("-", "-"), (None, "/dev/stdout")])
def test_evidence_and_predictions_are_not_one_file(refused, trained, tmp_path, names, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output, evidence = names
    given = () if output is None else ("-o", output)
    said = refused("classify", trained.path, trained.fasta, *given, "--evidence", evidence)
    assert "two of these are one file. Give other names." in said
    assert not list(tmp_path.iterdir())


def test_one_record_is_classified_without_the_compiler(trained, tmp_path):
    (tmp_path / "one.fasta").write_text(f">one\n{trained.records[0][2]}\n")
    main = "from kreinflow.commands.main import main; main(sys.argv[1:])"
    code = f"import sys; {main}; print(*sys.modules)"
    done = subprocess.run(
        [
            *(sys.executable, "-c", code, "classify", trained.path, tmp_path / "one.fasta"),
            *("-o", tmp_path / "one.tsv"),
        ],
        capture_output=True,
        text=True,
    )
    assert "1 classified" in done.stderr
    assert {"numba", "sklearn", "scipy.stats"}.isdisjoint(done.stdout.split())


def test_other_formats_go_where_the_table_goes(classified, refused, apart, tmp_path):
    path, records, new = apart
    asked = path, new, "--records", records
    table = table_of(classified(*asked))
    taxa = classified(*asked, "--format", "qiime")
    assert taxa.splitlines()[0] == "Feature ID\tTaxon\tConfidence"
    assert table_of(taxa)["Feature ID"].tolist() == table["id"].tolist()
    hits = classified(*asked, "--format", "blast6")
    queries = [line.split("\t")[0] for line in hits.splitlines()]
    assert list(dict.fromkeys(queries)) == table["id"].tolist()
    for name, whole in (("qiime", taxa), ("blast6", hits)):
        parts = [classified(*asked, "--format", name, "--shard", f"{k}/3") for k in (1, 2, 3)]
        assert "".join(parts) == whole
        said = refused("classify", *asked, "--format", name, "--confidence", "0.8")
        assert f"--confidence: --format {name} has no column for it. Use tsv." in said
    said = refused("classify", *asked, "--format", "blast6", "--evidence", tmp_path / "e.tsv")
    assert "--format blast6 writes it, to -o." in said


def test_a_table_of_sequences(classified, refused, run, trained, tmp_path):
    """It is FASTA in another form: the same rows, also in parts, with a fault in its row."""
    expected = classified(trained.path, trained.fasta)
    lines = "".join(f"{label},{id},{s}\n" for id, label, s in trained.records)
    (table := tmp_path / "new.csv").write_text(f"Family,Entry,Sequence\n{lines}")
    assert classified(trained.path, table) == expected
    found = "".join(classified(trained.path, table, "--shard", f"{k}/3") for k in (1, 2, 3))
    assert found == expected
    id = trained.records[0][0]
    from_table, from_fasta = (
        run("explain", trained.path, f, "--id", id) for f in (table, trained.fasta)
    )
    assert from_table == from_fasta
    table.write_text(f"Family,Entry,Sequence\n{lines}a,bad,MKV1\n")
    code, out, err = run("classify", trained.path, table)
    assert code == 0
    assert out.startswith(expected)
    assert f"record {len(trained.records) + 1} (line {len(trained.records) + 2}), bad" in err
    table.write_text("a,b\n1,2\n3,4\n")
    said = refused("classify", trained.path, table)
    assert "new.csv: no column has sequences. Give a table that has one, or FASTA." in said
    twice = "".join(f"{id},{s},{s}\n" for id, _, s in trained.records)
    table.write_text(f"id,Sequence,CDR3\n{twice}")
    said = refused("classify", trained.path, table)
    assert "several columns have sequences, 'Sequence' and 'CDR3', and a record has one." in said
