"""The command line: what it checks, what it classifies, and how it refuses."""

import bz2
import gzip
import json
import lzma
import os
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy
import scipy.io
import yaml

from flat_files import entry, write_flat_file
from kreinflow.classify.classification import COLUMNS
from kreinflow.cli import main
from small_inputs import (
    DNA,
    configuration,
    families,
    matrix_of,
    points,
    trained_model,
    write_fasta,
    write_labels,
    write_matrix,
)

BY_HEADER = {"pattern": r"family=(\w+);"}
KINDS = ("similarity", "dissimilarity", "squared_dissimilarity")


def fasta_source(name="x.fasta", labels=None, **more):
    return {"type": "fasta", "fasta": name, "labels": labels or BY_HEADER, **more}


@pytest.fixture
def run(capsys):
    """A function that runs the command in this process: exit code, standard output, error."""

    def command(*arguments):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out
        return code, said.out, said.err

    return command


@pytest.fixture
def check(run, tmp_path):
    """A function that writes a config and checks it; it asserts that nothing was written."""

    def command(config):
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump({"data": str(tmp_path), **config}))
        before = sorted(tmp_path.rglob("*"))
        code, out, err = run("check", path)
        assert sorted(tmp_path.rglob("*")) == before
        assert code in (0, 2)
        if code == 2:
            assert out == ""
            assert err.count("\n") == 1, "one message"
            assert err.startswith("kreinflow input error: ")
        return code, out + err

    return command


def refused(check, config):
    code, message = check(config)
    assert code == 2, message
    return message


# check: what is right


def test_check_of_sequences(check, tmp_path):
    records = families(1)
    write_fasta(tmp_path / "x.fasta", records)
    write_labels(tmp_path / "y.tsv", records)
    for labels in (BY_HEADER, {"table": "y.tsv"}):
        assert check(configuration(fasta_source(labels=labels))) == (
            0,
            "mine: 30 records (0 dropped), 30 distinct, 3 classes, 2 folds, 1 recipe: "
            "ready to run\n",
        )


def test_check_of_gzip_a_list_and_a_folder(check, tmp_path):
    records = families(1)
    write_fasta(tmp_path / "one.fa.gz", records[:15])
    write_fasta(tmp_path / "two.faa", records[15:])
    code, said = check(configuration(fasta_source(["one.fa.gz", "two.faa"])))
    assert code == 0
    assert "30 records (0 dropped), 30 distinct, 3 classes" in said
    for label in "abc":
        ending = "fasta.gz" if label == "b" else "fasta"
        write_fasta(tmp_path / "all" / f"{label}.{ending}", [r for r in records if r[1] == label])
    code, said = check(configuration(fasta_source("all", {"from_file_names": True})))
    assert code == 0
    assert "30 records (0 dropped), 30 distinct, 3 classes" in said


def test_check_of_a_flat_file(check, tmp_path):
    records = families(1, classes=("PF00009", "PF00069"))
    entries = [entry(f"P{i:05}", r[2], pfam=[r[1]]) for i, r in enumerate(records)]
    entries.append(entry("Q00001", records[0][2][3:], pfam=["PF00009"], flags="Fragment"))
    write_flat_file(tmp_path / "x.dat.gz", entries)
    source = {"type": "swissprot", "swissprot": "x.dat.gz", "labels": {"from": "pfam"}}
    code, said = check(configuration(source))
    assert code == 0
    assert "20 records (1 dropped: 1 fragment), 20 distinct, 2 classes" in said
    message = refused(check, configuration(source | {"labels": {"from": "interpro"}}))
    assert "x.dat.gz: none of 21 entries has an InterPro cross-reference" in message


def test_check_counts_what_is_dropped_by_request(check, tmp_path):
    records = [
        *families(1),
        *families(2, classes="d", each=3),
        ("twin", "a", families(1)[0][2]),  # the sequence of a0: kept, and counted once
        ("x1", "a", "MKV" * 20),
        ("x2", "b", "MKV" * 20),  # identical, with another label
        ("long", "a", "M" * 500),
        ("odd", "a", "MK1V" * 10),
    ]
    write_fasta(tmp_path / "x.fasta", records)
    write_labels(tmp_path / "y.tsv", [*records[:-1], ("nowhere", "a", "")])
    source = fasta_source(
        labels={"table": "y.tsv"},
        min_class_size=4,
        max_length=400,
        too_long="drop",
        illegal_residues="drop",
        unmatched="drop",
    )
    code, said = check(configuration(source))
    assert code == 0
    # 3 of class d, x1 and x2, long, odd, and the label of nowhere
    why = (
        "1 too long, 1 illegal residues, 1 label without sequence, "
        "2 identical sequences with different labels, 3 small class"
    )
    assert f"31 records (8 dropped: {why}), 30 distinct, 3 classes" in said


def test_check_counts_what_is_held_out_and_what_has_no_label(check, tmp_path):
    records = [*families(1), *families(2, classes="d", each=3), ("new", "", "MKV" * 20)]
    write_fasta(tmp_path / "x.fasta", records)
    write_labels(tmp_path / "y.tsv", records[:-1])
    source = fasta_source(labels={"table": "y.tsv"}, unmatched="classify")
    config = configuration(source)
    config["datasets"]["mine"]["unknown"] = ["d"]
    code, said = check(config)
    assert code == 0, said
    assert "30 records (0 dropped, 3 held out as unknown, 1 to be classified), 30 distinct" in said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["npy", "csv", "csv.gz", "tsv", "mat"])
def test_check_of_a_matrix(check, tmp_path, kind, ending):
    X, labels = points(1)
    K = matrix_of(kind, X, X)
    path = tmp_path / f"k.{ending}"
    ids = [f"o{i}" for i in range(len(X))]
    if ending == "npy":
        np.save(path, K)
    elif ending == "mat":
        scipy.io.savemat(path, {"K": K})
    else:
        write_matrix(path, K, ids)
    (tmp_path / "y.txt").write_text("\n".join(labels))
    source = {"type": "matrix", "matrix": path.name, "kind": kind, "labels": {"lines": "y.txt"}}
    code, said = check(configuration(source, "raw"))
    assert (code, "30 records (0 dropped), 30 distinct, 3 classes" in said) == (0, True), said


def test_check_of_nucleotides_groups_and_matrix_files(check, tmp_path):
    records = families(3, letters=DNA, changed=0.02)
    write_fasta(tmp_path / "x.fna", records)
    source = fasta_source("x.fna", molecule="nucleotide")
    scoring = {"matrix": "nuc44", "gap_open": 10, "gap_extend": 1, "mode": "semiglobal"}
    assert check(configuration(source, "normalised", scoring=scoring))[0] == 0
    turn = str.maketrans("ACGT", "TGCA")
    turned = [(id, label, s.translate(turn)[::-1]) for id, label, s in records[:2]]
    write_fasta(tmp_path / "x.fna", [*turned, *records[2:]])
    _, said = check(configuration(source, "normalised", scoring=scoring))
    assert f"2 records look like the other strand of their class: {records[0][0]}, " in said
    write_fasta(tmp_path / "x.fna", records)
    # Each family is one group of near-identical sequences: no two folds can share it.
    groups = {"method": "grouped", "k": 2, "identity": 0.8}
    message = refused(check, configuration(source, "normalised", scoring=scoring, folds=groups))
    assert "3 of 3 classes have fewer groups of sequences that must share a fold" in message
    groups["identity"] = 1.0
    assert check(configuration(source, "normalised", scoring=scoring, folds=groups))[0] == 0

    (tmp_path / "mine.txt").write_text(
        "# match 3, mismatch -2\n   A  C  G  T\nA  3 -2 -2 -2\nC -2  3 -2 -2\nG -2 -2  3 -2\n"
        "T -2 -2 -2  3\n"
    )
    scoring = {"matrix": "mine.txt", "gap_open": 5, "gap_extend": 2, "mode": "global"}
    assert check(configuration(source, "normalised", scoring=scoring))[0] == 0
    message = refused(check, configuration(source, "log", scoring=scoring))
    assert "global alignments can score below 0" in message


def test_check_of_the_users_folds(check, tmp_path):
    records = families(1)
    write_fasta(tmp_path / "x.fasta", records)
    rows = [f"{r[0]},{'test' if i % 5 == 0 else 'train'}" for i, r in enumerate(records)]
    (tmp_path / "f.csv").write_text("\n".join(["id,fold", *rows]))
    folds = {"method": "table", "table": "f.csv"}
    code, said = check(configuration(fasta_source(), folds=folds))
    assert (code, "1 fold," in said) == (0, True)
    for table, message in (
        (["id,fold", *rows[1:]], "f.csv: no fold for 1 of 30 ids: a0."),
        (["id,fold", *rows, "stranger,test"], "f.csv: 1 ids are not in the data: stranger."),
        (["id,part", *rows], "f.csv: column 'fold' is missing"),
        (["id,fold", *rows, rows[0]], "f.csv, line 32: id 'a0' stands twice, first in line 2."),
        (
            ["id,fold", *[f"{r[0]},{'test' if r[1] == 'a' else 'train'}" for r in records]],
            "f.csv: all of class 'a' is in fold 'test'",
        ),
    ):
        (tmp_path / "f.csv").write_text("\n".join(table))
        assert message in refused(check, configuration(fasta_source(), folds=folds))


def test_check_of_the_data_folder_on_the_command_line(run, tmp_path):
    write_fasta(tmp_path / "elsewhere" / "x.fasta", families(1))
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(configuration(fasta_source())))
    assert run("check", tmp_path / "c.yaml", "--data", tmp_path / "elsewhere")[0] == 0
    code, _, err = run("check", tmp_path / "c.yaml", "--data", tmp_path)
    assert code == 2
    assert f"{tmp_path}/x.fasta: no such file" in err


# check: bad input


GOOD = families(1)


def _fasta(records):
    return "".join(f">{i} family={label};\n{s}\n" for i, label, s in records).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "x.fasta: no such file."),
        (b"", "x.fasta: is empty."),
        (b"\n\n", "x.fasta: holds no records."),
        (b"id,label\na,b\n", "x.fasta, line 1: not FASTA"),
        (b"\x89PNG\r\n\x1a\n\x00\xff", r"x.fasta, line 1: not FASTA"),
        (_fasta(GOOD).decode().encode("utf-16"), "x.fasta: is UTF-16 text. Save it as UTF-8"),
        (bz2.compress(_fasta(GOOD)), "x.fasta: is packed with bzip2. Unpack it"),
        (lzma.compress(_fasta(GOOD)), "x.fasta: is packed with xz. Unpack it"),
        (b"PK\x03\x04" + _fasta(GOOD), "x.fasta: is a zip archive"),
        (
            b"\xe9\x1b\n" + _fasta(GOOD),
            r"record starts with '>' but this line with '\xe9",
        ),
        (_fasta([*GOOD, ("e\0", "a", "MKV")]), r"(line 61), e\x00: its id has a control character"),
        (gzip.compress(_fasta(GOOD))[:-30], "x.fasta: truncated or damaged gzip file"),
        (_fasta([*GOOD, GOOD[0]]), "record 31 (line 61): id 'a0' stands twice, first in"),
        (_fasta([*GOOD, ("e", "a", "")]), "x.fasta, record 31 (line 61), e: has no residues."),
        (_fasta([*GOOD, ("e", "a", "**")]), "x.fasta, record 31 (line 61), e: has no residues"),
        (_fasta([*GOOD, ("e", "a", "MK*V")]), "record 31 (line 61), e: residue 3 is '*'"),
        (_fasta([*GOOD, ("e", "a", "MK-V")]), "record 31 (line 61), e: residue 3 is '-'"),
        (_fasta([*GOOD, ("e", "a", "MKVé")]), "record 31 (line 61), e: residue 4 is not an ASCII"),
        (_fasta([*GOOD, ("e", "a", "M" * 401)]), "e: has 401 residues, more than max_length"),
        (_fasta([*GOOD, ("e", "", "MKV")]), "no label for 1 of 31 ids: e."),
        (_fasta(GOOD) + b">\nMKV\n", "x.fasta, record 31 (line 61): has no id."),
        (_fasta(GOOD[:10]), "the data have 1 class left (a). At least two"),
        (_fasta(GOOD[:21]), "the data have 2 classes left (a, b"),  # of c only one: dropped
        (_fasta(GOOD[:22]), "class 'c' has 2 different records"),
        (_fasta([*GOOD, ("e", "a", "XXX")]), "e: its 3 residues score 0 with themselves"),
    ],
)
def test_bad_fasta(check, tmp_path, content, message):
    if content is not None:
        (tmp_path / "x.fasta").write_bytes(content)
    config = configuration(fasta_source(max_length=400), folds={"k": 3})
    if "2 classes left" in message:  # no fault: a class below min_class_size is dropped
        code, said = check(config)
        assert (code, "(1 dropped: 1 small class), 20 distinct, 2 classes" in said) == (0, True)
        return
    assert message in refused(check, config)


def test_bad_labels(check, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    config = configuration(fasta_source(labels={"table": "y.tsv"}))
    path = tmp_path / "y.tsv"
    assert f"{path}: no such file." in refused(check, config)
    for records, message in (
        (GOOD[1:], "y.tsv: no label for 1 of 30 ids: a0."),
        ([*GOOD, ("z", "a", "")], "y.tsv: no sequence for 1 of 31 labels: z."),
        ([*GOOD, GOOD[3]], "y.tsv, line 32: id 'a3' stands twice, first in line 5."),
        ([*GOOD[1:], ("a0", "", "")], "y.tsv, line 31: the 'label' is empty."),
        (
            [*GOOD[1:], ("a0", "\x1b[31mred", "")],
            r"y.tsv, line 31: the 'label' has a control character: \x1b[31mred",
        ),
        ([('"a0', "a", ""), *GOOD[1:]], "Is a quotation mark opened and not closed"),
    ):
        write_labels(path, records)
        assert message in refused(check, config)
    write_labels(path, [*GOOD[2:], ("a0", "a\u00a0b", ""), ("a1", "a b", "")])
    assert r"the labels 'a\xa0b' and 'a b' look the same" in refused(check, config)
    write_labels(path, [*GOOD[2:], ("a0", "A", ""), ("a1", "A", "")])
    code, said = check(config)
    assert code == 0, said
    assert "the classes 'A' and 'a' differ in upper and lower case only" in said
    path.write_text("id\tlable\na0\ta\n")
    assert "column 'label' is missing; did you mean 'lable'?" in refused(check, config)
    bad = configuration(fasta_source(labels={"pattern": "family=("}))
    assert "labels.pattern 'family=(': not a regular expression" in refused(check, bad)


def test_control_characters_in_ids_and_labels_of_any_input(check, tmp_path):
    write_fasta(tmp_path / "x.fasta", [*GOOD, ("e", "a\x01b", "MKV" * 20)])
    pattern = configuration(fasta_source(labels={"pattern": "family=([^;]*);"}))
    expected = (
        r"x.fasta, record 31 (line 61): the label 'a\x01b' has a control character. Remove it."
    )
    assert expected in refused(check, pattern)

    for label in "abc":
        name = {"a": "a\x02", "c": "c\uffff"}.get(label, label)
        write_fasta(tmp_path / "all" / f"{name}.fasta", [r for r in GOOD if r[1] == label])
    files = configuration(fasta_source("all", {"from_file_names": True}))
    assert r"record 1 (line 1): the label 'a\x02' has a control" in refused(check, files)
    (tmp_path / "all" / "a\x02.fasta").rename(tmp_path / "all" / "a.fasta")
    assert r"record 1 (line 1): the label 'c\uffff' has a control" in refused(check, files)

    entries = [
        entry(f"P{i:05}", r[2], pfam=[f"PF{r[1]}" + "\x03" * (i == 4)]) for i, r in enumerate(GOOD)
    ]
    write_flat_file(tmp_path / "x.dat", entries)
    flat = {"type": "swissprot", "swissprot": "x.dat", "labels": {"from": "pfam"}}
    message = refused(check, configuration(flat))
    assert "x.dat, entry 5" in message
    assert r"the label 'PFa\x03' has a control character" in message

    X, labels = points(1)
    ids = [f"o{i}" for i in range(len(X))]
    matrix = {"type": "matrix", "matrix": "k.csv", "kind": "similarity"}
    matrix["labels"] = {"lines": "y.txt"}
    write_matrix(tmp_path / "k.csv", matrix_of("similarity", X, X), ids)
    (tmp_path / "y.txt").write_text("\n".join([*labels[:6], "a\x04", *labels[7:]]))
    message = refused(check, configuration(matrix, "raw"))
    assert r"y.txt, line 7: the label 'a\x04' has a control character" in message
    (tmp_path / "y.txt").write_text("\n".join(labels))
    write_matrix(tmp_path / "k.csv", matrix_of("similarity", X, X), ["o\x05", *ids[1:]])
    message = refused(check, configuration(matrix, "raw"))
    assert r"k.csv, row 1: the id 'o\x05' has a control character" in message


def test_identical_sequences_with_other_labels_refused_on_request(check, tmp_path):
    write_fasta(tmp_path / "x.fasta", [*GOOD, ("twin", "b", GOOD[0][2])])
    said = refused(check, configuration(fasta_source(conflicting_labels="refuse")))
    assert "'a0' and 'twin' are the same sequence with the labels 'a' and 'b'." in said


def _changed(K, i, j, value, both=True):
    K = K.copy()
    K[i, j] = value
    if both:
        K[j, i] = value
    return K


D = matrix_of("dissimilarity", *[points(1)[0]] * 2)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (None, "k.npy: no such file."),
        (b"", "k.npy: is empty."),
        (b"\x93NUMPY nothing", "k.npy: truncated, not a .npy file"),
        (D[:, :-1], "k.npy: has 30 rows and 29 columns. A square matrix is expected"),
        (D.ravel(), "k.npy: an array of 2 dimensions is expected"),
        (_changed(D, 3, 7, 9.0, both=False), "not symmetric, 9 at row 4, column 8 but"),
        (_changed(D, 3, 7, np.nan), "k.npy, row 4, column 8: nan is not a finite number."),
        (_changed(D, 3, 7, np.inf), "k.npy, row 4, column 8: inf is not a finite number."),
        (_changed(D, 3, 7, -1.0), "k.npy, row 4, column 8: -1 is a negative dissimilarity."),
        (_changed(D, 3, 3, 1.0), "row 4, column 4: the dissimilarity of an object with itself"),
        (D[:29, :29], "y.txt: has 30 labels, but k.npy has 29 rows."),
    ],
)
def test_bad_matrix(check, tmp_path, matrix, message):
    if isinstance(matrix, bytes):
        (tmp_path / "k.npy").write_bytes(matrix)
    elif matrix is not None:
        np.save(tmp_path / "k.npy", matrix)
    labels = points(1)[1][: 29 if "29 columns" in message and len(D) == 29 else 30]
    (tmp_path / "y.txt").write_text("\n".join(labels))
    source = {
        "type": "matrix",
        "matrix": "k.npy",
        "kind": "dissimilarity",
        "labels": {"lines": "y.txt"},
    }
    assert message in refused(check, configuration(source, "raw"))


def vectors_source(name="x.csv", kernel=None, **more):
    kernel = kernel or {"name": "gaussian"}
    return {
        "type": "vectors",
        "vectors": name,
        "kernel": kernel,
        "labels": {"lines": "y.txt"},
        **more,
    }


@pytest.mark.parametrize("ending", ["npy", "csv", "csv.gz", "tsv", "mat"])
def test_check_of_vectors(check, tmp_path, ending):
    X, labels = points(1)
    path = tmp_path / f"x.{ending}"
    if ending == "npy":
        np.save(path, X)
    elif ending == "mat":
        scipy.io.savemat(path, {"X": X})
    else:
        write_matrix(path, X, [f"o{i}" for i in range(len(X))], ["height", "width"])
    (tmp_path / "y.txt").write_text("\n".join(labels))
    code, said = check(configuration(vectors_source(path.name), "raw"))
    assert (code, "30 records (0 dropped), 30 distinct, 3 classes" in said) == (0, True), said


def test_check_of_strings_and_of_generated_data(check, tmp_path):
    records = families(1)
    (tmp_path / "x.txt").write_text("\n".join(s for _, _, s in [*records, records[0]]))
    (tmp_path / "y.txt").write_text("\n".join(label for _, label, _ in [*records, records[0]]))
    code, said = check(configuration(vectors_source("x.txt", {"name": "edit_distance"}), "raw"))
    assert (code, "31 records (0 dropped), 30 distinct, 3 classes" in said) == (0, True), said
    ball = {"type": "generated", "generator": {"name": "ball"}, "kernel": {"name": "ball"}}
    code, said = check(configuration(ball, "raw"))
    assert (code, "200 records (0 dropped), 200 distinct, 2 classes" in said) == (0, True), said


SPECTRA = {"name": "spectral_information_divergence"}


@pytest.mark.parametrize(
    ("name", "content", "kernel", "message"),
    [
        ("x.csv", None, None, "x.csv: no such file."),
        ("x.csv", "", None, "x.csv: is empty."),
        ("x.csv", "a,b\n", None, "x.csv: has a header, but no rows."),
        ("x.csv", "1,2\n3,4,5\n", None, "x.csv, row 1: has 2 fields, others have 3."),
        ("x.csv", "1,2\n3,four\n", None, "x.csv, row 2, column 2: 'four' is not a number."),
        ("x.csv", "1,2\n3,nan\n", None, "x.csv, row 2, column 2: nan is not a finite number."),
        ("x.csv", "a,1\na,2\n", None, "x.csv: id 'a' of row 2 stands twice, first at 1."),
        ("x.csv", "1,2\n3,4\n", None, "y.txt: has 30 labels, but x.csv has 2 rows."),
        ("x.txt", "1 2\n", None, "x.txt: the ending is not one of a table of numbers"),
        ("x.csv", "1,2\n3,4\n", {"name": "edit_distance"}, "compares strings. Give a .txt file"),
        ("x.txt", "ab\n\ncd\n", {"name": "edit_distance"}, "x.txt, line 2: the string is empty."),
        ("x.csv", "1,2\n3,-4\n", {"name": "ball"}, "x.csv, row 2, column 2: -4 is negative. The"),
        ("x.csv", "1\n2\n", {"name": "ball"}, "x.csv, row 1: has 1 column. A ball is its centre"),
        ("x.csv", "1,2\n-3,4\n", SPECTRA, "x.csv, row 2, column 1: -3 is negative. A spectrum"),
        ("x.csv", "1,2\n0,0\n", SPECTRA, "x.csv, row 2: is 0 everywhere."),
        (
            "x.csv",
            "1,2\n3,4\n",
            {"name": "pseudo_euclidean", "positive": 3},
            "x.csv, row 1: has 2 coordinates, fewer than positive = 3",
        ),
        ("x.npy", b"\x93NUMPY nothing", None, "x.npy: truncated, not a .npy file"),
        ("x.npy", np.array([["a"]]), None, "x.npy: holds <U1 where real numbers are expected."),
        ("x.npy", np.zeros(30), None, "x.npy: an array of 2 dimensions is expected"),
    ],
)
def test_bad_vectors(check, tmp_path, name, content, kernel, message):
    path = tmp_path / name
    if isinstance(content, np.ndarray):
        np.save(path, content)
    elif content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "y.txt").write_text("\n".join(points(1)[1]))
    assert message in refused(check, configuration(vectors_source(name, kernel), "raw"))


def test_bad_settings(check, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    good = configuration(fasta_source())
    large = {**good, "selectors": {"meb": {"method": "uniform", "budget": 16}}}
    assert "selectors.meb.budget: 16 landmarks are more than the 15" in refused(check, large)
    ranks = {**good, "selectors": {"meb": {"method": "uniform", "budget": {"rank": 9}}}}
    assert "selectors.meb.budget: 25 landmarks are more than the 15" in refused(check, ranks)
    typo = {**good, "selector": good["selectors"]}
    assert "unknown key 'selector'; did you mean 'selectors'?" in refused(check, typo)
    odd = configuration(fasta_source(), scoring={"matrix": "BLOSUM26"})
    assert "substitution matrix 'BLOSUM26'" in refused(check, odd)
    assert "Did you mean 'blosum65'?" in refused(check, odd)
    many = configuration(fasta_source(), folds={"k": 11})
    assert "class 'a' has 10 different records" in refused(check, many)
    missing = {**good, "classify": {"new": {"dataset": "mine", "input": "new.fasta"}}}
    assert f"{tmp_path}/new.fasta: no such file." in refused(check, missing)
    matched = configuration(
        fasta_source(), "normalised", scoring={"mode": "global", "gap_open": 11}
    )
    matched["selectors"] = {
        "meb": {"method": "uniform", "budget": "other"},
        "other": {"method": "meb", "transform": "log"},
    }
    assert "the transform log of selector 'other' cannot take" in refused(check, matched)
    (tmp_path / "config.yaml").write_text("seed: [1\n")
    code = main(["check", str(tmp_path / "config.yaml")])
    assert code == 2


@pytest.mark.parametrize("text", ["a: &x [*x]\n", "a: " + "[" * 1500])
def test_a_config_without_an_end_is_refused(run, tmp_path, text):
    (tmp_path / "config.yaml").write_text(text)
    code, _, err = run("check", tmp_path / "config.yaml")
    assert (code, err.count("\n")) == (2, 1)
    assert "config.yaml: a part holds itself, or is nested too deeply" in err


def test_results_that_are_a_file_are_refused(check, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    for results in ("x.fasta", "x.fasta/deeper"):
        config = configuration(fasta_source(), results=str(tmp_path / results))
        assert "x.fasta: is a file where a folder is expected" in refused(check, config)


# classify: sequences


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model file, the data it was trained on, and their probabilities."""
    folder = tmp_path_factory.mktemp("trained")
    records = families(7, each=12, changed=0.45)
    write_fasta(folder / "x.fasta", records)
    config = configuration(fasta_source())
    model, _, probabilities = trained_model(config, folder)
    model.save(folder / "model.safetensors")
    return folder / "model.safetensors", model, records, probabilities


def classified(run, model, new, *arguments):
    code, out, err = run("classify", model, new, *arguments)
    assert code == 0, err
    return out


def test_classify_keeps_the_order_and_agrees_with_the_library(run, trained, tmp_path):
    path, model, records, probabilities = trained
    order = np.random.default_rng(0).permutation(len(records))
    new = write_fasta(tmp_path / "new.fa.gz", [records[i] for i in order])
    assert classified(run, path, new, "-o", tmp_path / "out.tsv") == ""
    table = pd.read_csv(tmp_path / "out.tsv", sep="\t")
    assert tuple(table.columns) == COLUMNS
    np.testing.assert_array_equal(
        table["margin"], table["probability"] - table["runner_up_probability"]
    )
    assert table["problem"].isna().all()
    assert table["id"].tolist() == [records[i][0] for i in order]
    expected = np.sort(probabilities[order], axis=1)
    np.testing.assert_array_equal(table["probability"], expected[:, -1])
    np.testing.assert_array_equal(table["runner_up_probability"], expected[:, -2])
    best = np.array(model.classifier.classes)[probabilities[order].argmax(axis=1)]
    assert table["label"].tolist() == best.tolist()
    assert (table["label"] != table["runner_up"]).all()


def test_a_record_does_not_depend_on_the_others_threads_or_backend(run, trained, tmp_path):
    path, _, records, _ = trained
    whole = write_fasta(tmp_path / "whole.fasta", records)
    outputs = []
    for name, threads, backend in (("1", 1, "parasail"), ("3", 3, "parasail"), ("o", 2, "pyopal")):
        options = ("--threads", threads, "--backend", backend, "-o", tmp_path / name)
        classified(run, path, whole, *options)
        outputs.append((tmp_path / name).read_bytes())
    assert outputs[0] == outputs[1] == outputs[2]
    lines = outputs[0].splitlines()
    for place in (0, 17, 35):
        alone = write_fasta(tmp_path / "alone.fasta", [records[place]])
        classified(run, path, alone, "-o", tmp_path / "alone.tsv")
        assert (tmp_path / "alone.tsv").read_bytes().splitlines() == [lines[0], lines[place + 1]]


def test_a_backend_that_cannot_align_as_the_model_does_is_refused(run, trained, tmp_path):
    from dataclasses import replace

    _, model, records, _ = trained
    path = tmp_path / "global.safetensors"
    replace(model, scheme=replace(model.scheme, mode="global")).save(path)
    new = write_fasta(tmp_path / "new.fasta", records)
    code, out, err = run("classify", path, new, "--backend", "pyopal")
    assert (code, out) == (2, "")
    assert "the model's alignments are global, which pyopal cannot make. Use parasail" in err


def test_the_reject_flag(run, trained, tmp_path):
    from dataclasses import replace

    _, model, records, probabilities = trained
    threshold = float(np.sort(probabilities.max(axis=1))[10])  # one that occurs: accepted
    strict = replace(model, classifier=replace(model.classifier, reject_threshold=threshold))
    strict.save(tmp_path / "strict.safetensors")
    new = write_fasta(tmp_path / "new.fasta", records)
    classified(run, tmp_path / "strict.safetensors", new, "-o", tmp_path / "out.tsv")
    flags = pd.read_csv(tmp_path / "out.tsv", sep="\t")["reject"]
    expected = np.where(probabilities.max(axis=1) < threshold, "yes", "no")
    assert flags.tolist() == expected.tolist()
    assert set(flags) == {"yes", "no"}


def test_classify_lists_the_landmarks(run, trained):
    path, model, records, _ = trained
    code, out, _ = run("classify", path, "--landmarks")
    labels = {i: label for i, label, _ in records}
    assert code == 0
    assert out.splitlines() == ["id\tlabel", *(f"{i}\t{labels[i]}" for i in model.landmark_ids)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (">q1 x\nMKV\n>q2\nMK1V\n", "new.fasta, record 2 (line 3), q2: residue 3 is '1'"),
        (">q1\nMKV\n>q2\n\n>q3\nMKV\n", "new.fasta, record 2 (line 3), q2: has no residues"),
        (">q1\n***\n", "new.fasta, record 1 (line 1), q1: has no residues"),
        (">q1\nMKV\n>q2\nXXX\n", "record 2 (line 3), q2: scores 0 with itself, too little"),
        (">q1\nMKV\n>\nMKV\n", "new.fasta, record 2 (line 3): has no id"),
    ],
)
def test_a_bad_record_is_told_and_loses_no_other(run, trained, tmp_path, text, message):
    new = tmp_path / "new.fasta"
    new.write_text(text)
    code, out, err = run("classify", trained[0], new, "--strict", "-o", tmp_path / "out.tsv")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert list(tmp_path.iterdir()) == [new], "nothing is left behind"
    code, out, err = run("classify", trained[0], new)
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
        alone = run("classify", trained[0], new)[1].splitlines()
        assert alone == ["\t".join(row) for row in rows if not row[-1] or row is rows[0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"MKV\n", "new.fasta, line 1: not FASTA"),
        (b"", "new.fasta: is empty"),
        (gzip.compress(_fasta(GOOD))[:-30], "new.fasta: truncated or damaged gzip file"),
    ],
)
def test_a_file_that_is_no_fasta_is_refused(run, trained, tmp_path, content, message):
    (tmp_path / "new.fasta").write_bytes(content)
    code, _, err = run("classify", trained[0], tmp_path / "new.fasta", "-o", tmp_path / "out.tsv")
    assert (code, err.count("\n")) == (2, 1)
    assert message in err
    assert not (tmp_path / "out.tsv").exists()


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(run, trained, tmp_path, packed, monkeypatch):
    path, _, records, _ = trained
    new = write_fasta(tmp_path / ("new.fa.gz" if packed else "new.fa"), records)
    expected = classified(run, path, new)
    with new.open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert classified(run, path, "-") == expected
    (tmp_path / "bad.fasta").write_text(">q\n1\n")
    with (tmp_path / "bad.fasta").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        code, _, err = run("classify", path, "-", "--strict")
        assert (code, "standard input, record 1 (line 1), q: residue 1" in err) == (2, True)


def test_where_the_table_can_be_written(run, trained, tmp_path):
    path, _, records, _ = trained
    new = write_fasta(tmp_path / "new.fasta", records[:3])
    expected = classified(run, path, new)
    (tmp_path / "kept.tsv").write_text("old")
    (tmp_path / "link.tsv").symlink_to("kept.tsv")
    classified(run, path, new, "-o", tmp_path / "link.tsv")
    assert (tmp_path / "link.tsv").is_symlink()
    assert (tmp_path / "kept.tsv").read_text() == expected
    classified(run, path, new, "-o", tmp_path / "folder" / "out.tsv.gz")
    assert gzip.decompress((tmp_path / "folder" / "out.tsv.gz").read_bytes()).decode() == expected
    classified(run, path, new, "-o", "/dev/null")
    assert Path("/dev/null").is_char_device()
    for bad, message in ((".", "is a folder"), (new / "out.tsv", "cannot be written")):
        code, out, err = run("classify", path, new, "-o", bad)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"-o {bad}: {message}" in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["schema", "inspect", "classify"])
def test_a_screen_that_cannot_be_written(trained, command):
    files = {"schema": [], "inspect": [trained[0]]}
    named = files.get(command, [trained[0], trained[0].with_name("x.fasta")])
    arguments = [sys.executable, "-m", "kreinflow.cli", command, *named]
    with open("/dev/full", "w") as full:
        done = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == (
        "kreinflow error: standard output, or a cache: could not be written (No space left on "
        "device). Free some space or write elsewhere, then run again."
    )
    assert "Traceback" not in done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(arguments, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == 0, "the reader has seen enough"
    assert "Error" not in done.stderr


def test_of_many_bad_records_the_first_are_told(run, trained, tmp_path):
    (tmp_path / "empty.fa").write_text("".join(f">e{i}\n" for i in range(100)))
    code, out, err = run("classify", trained[0], tmp_path / "empty.fa")
    assert code == 0
    assert out.count("has no residues") == 100
    assert err.count("has no residues") == 20
    *_, more, last = err.splitlines()
    assert more == "kreinflow: more are not classified: see the column 'problem'."
    assert last.endswith("; 100 not classified")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_half_written(trained, tmp_path, number):
    (tmp_path / "folder").mkdir()
    arguments = ["classify", trained[0], "-", "-o", tmp_path / "folder" / "x.tsv"]
    process = subprocess.Popen(
        [sys.executable, "-m", "kreinflow.cli", *arguments],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(">a\nMKV\n")  # more may come
    process.stdin.flush()
    for _ in range(600):
        if list((tmp_path / "folder").glob(".x.tsv.*.part")):
            break
        time.sleep(0.1)
    time.sleep(0.3)
    process.send_signal(number)
    said = process.communicate()[1]
    assert process.returncode == 128 + number
    assert said == "kreinflow: interrupted; nothing half-written is left.\n"
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_closed_streams(trained, closed):
    new = "-" if closed == "<&-" else trained[0].with_name("x.fasta")
    command = shlex.join([sys.executable, "-m", "kreinflow.cli", "classify", f"{trained[0]}"])
    done = subprocess.run(
        ["sh", "-c", f"{command} {new} {closed}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == (2 if closed == "<&-" else 0)
    if closed == "<&-":
        assert done.stderr == "kreinflow input error: standard input: is closed. Name a file.\n"
    elif closed == ">&-":
        assert done.stderr.startswith("kreinflow: 36 records: 36 classified")
    else:
        assert len(done.stdout.splitlines()) == 37


def test_names_that_are_too_long(run, check, trained, tmp_path):
    long = tmp_path / ("x" * 300)
    new = trained[0].with_name("x.fasta")
    for arguments in (
        ("classify", trained[0], long),
        ("classify", trained[0], new, "-o", long),
        ("export", trained[0], "--landmarks", long),
    ):
        code, _, err = run(*arguments)
        assert (code, err.count("\n")) == (2, 1)
        assert "(File name too long)" in err
    write_fasta(tmp_path / "x.fasta", GOOD)
    config = configuration(fasta_source(), results=f"{long}")
    assert "cannot be used (File name too long). Set other 'results'." in refused(check, config)


def test_nothing_is_written_over_what_is_read(run, trained, tmp_path):
    model = tmp_path / "model.safetensors"
    model.write_bytes(trained[0].read_bytes())
    new = write_fasta(tmp_path / "new.fasta", trained[2][:2])
    (tmp_path / "link.tsv").symlink_to(new)
    query = trained[2][0][0]
    for arguments in (
        ("classify", model, new, "-o", new),
        ("classify", model, new, "-o", tmp_path / "link.tsv"),
        ("classify", model, new, "-o", model),
        ("classify", model, "--landmarks", "-o", model),
        ("export", model, "--landmarks", model),
        ("explain", model, new, "--id", query, "-o", new),
    ):
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"{arguments[-1]}: is what is read. Name another file." in err
    assert model.read_bytes() == trained[0].read_bytes()
    assert new.read_text().startswith(">")


def test_what_classify_needs(run, trained, tmp_path):
    code, _, err = run("classify", trained[0])
    assert (code, "name the FASTA file, matrix or vectors" in err) == (2, True)
    code, _, err = run("classify", trained[0], tmp_path / "nowhere.fasta")
    assert (code, "nowhere.fasta: no such file" in err) == (2, True)
    new = write_fasta(tmp_path / "new.fasta", trained[2][:2])
    code, _, err = run("classify", trained[0], new, "--threads", 0)
    assert (code, "--threads 0: give at least 1" in err) == (2, True)
    code, _, err = run("classify", trained[0], new, "--strand", "both")
    assert (code, "the model is not one of nucleotides" in err) == (2, True)


# inspect, export, explain


def test_inspect(run, trained):
    path, model, records, _ = trained
    code, out, err = run("inspect", path)
    assert (code, err) == (0, "")
    for line in ("objects: sequences", f"records: {len(records)}", "  matrix: blosum62"):
        assert line in out.splitlines()
    code, out, _ = run("inspect", path, "--json")
    content = json.loads(out)
    assert (code, content["landmarks"]) == (0, len(model.landmark_ids))
    code, _, err = run("inspect", path.parent / "x.fasta")
    assert (code, "Give a model file that kreinflow wrote." in err) == (2, True)


def test_export(run, trained, tmp_path):
    path, model, _, _ = trained
    code, out, err = run("export", path, "--landmarks", tmp_path / "landmarks.fasta")
    assert (code, out, err) == (0, "", "")
    text = (tmp_path / "landmarks.fasta").read_text()
    assert text.count(">") == len(model.landmark_ids)
    assert model.landmarks[0].decode() in text
    # Each landmark is its own nearest landmark.
    table = classified(run, path, tmp_path / "landmarks.fasta").splitlines()[1:]
    for line, id in zip(table, model.landmark_ids, strict=True):
        assert line.split("\t")[7:9] == [id, "1.0"]
    for bad in (tmp_path, "/dev/null", path / "x.fasta"):
        code, out, err = run("export", path, "--landmarks", bad)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"--landmarks {bad}: " in err


def test_explain(run, trained, tmp_path):
    path, model, records, _ = trained
    new = write_fasta(tmp_path / "new.fasta.gz", records)
    code, out, err = run(
        *("explain", path, new, "--id", "b3", "--show", 2, "--alignment"),
        *("-o", tmp_path / "table.tsv"),
    )
    assert (code, err) == (0, "")
    table = pd.read_csv(tmp_path / "table.tsv", sep="\t")
    assert len(table) == len(model.landmark_ids) + 1
    lines = out.splitlines()
    assert lines[0].startswith("b3: b, probability ")
    assert f"... and {len(model.landmark_ids) - 2} more" in lines
    for landmark, score in table[["landmark", "score"]].head(2).itertuples(index=False):
        assert out.count(f"b3 and {landmark}: score {score:.0f}, ") == 1
    assert out.count(" columns identical (") == 2
    for more, message in (
        (("--id", "nobody"), f"{new}: none of its 36 records has the id 'nobody'"),
        (("--id", "b3", "--show", 0), "--show 0: give at least 1"),
        (("--id", "b3", "--threads", 0), "--threads 0: give at least 1"),
        (("--id", "b3", "-o", tmp_path), f"-o {tmp_path}: is a folder"),
    ):
        code, out, err = run("explain", path, new, *more)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err


# classify: damaged models


def tampered(path, target, change):
    """Write a copy of a model with a changed header, otherwise a file as it should be."""
    arrays = safetensors.numpy.load_file(path)
    with safetensors.safe_open(path, framework="numpy") as file:
        content = json.loads(file.metadata()["kreinflow"])
    change(content, arrays)
    target.write_bytes(safetensors.numpy.save(arrays, metadata={"kreinflow": json.dumps(content)}))


def _set(*keys, to):
    def change(content, arrays):
        part = content
        for key in keys[:-1]:
            part = part[key]
        part[keys[-1]] = to

    return change


def _array(name, function):
    def change(content, arrays):
        arrays[name] = function(arrays[name])

    return change


def _with_nan(weights):
    weights = weights.copy()
    weights[0, 0] = np.nan
    return weights


@pytest.mark.parametrize(
    "change",
    [
        _set("kind", to="kreinflow model 99"),
        _set("header", to=[]),
        _set("header", "scheme", to={}),
        _set("header", "scheme", "mode", to="sideways"),
        _set("header", "scheme", "alignment_version", to=99),
        _set("header", "scheme", "matrix", "alphabet", to="AC"),
        _set("header", "scheme", "gap_open", to=-1),
        _set("header", "scheme", to=None),
        _set("header", "molecule", to="plastic"),
        _set("header", "kernel", to={"name": "gaussian", "width": 1.0}),
        _set("header", "kernel", to="gaussian"),
        _set("header", "landmark_ids", 0, to="\x1b[31m"),
        _set("header", "classifier", "classes", to=["a", "b", "c\td"]),
        _set("header", "landmark_ids", to=["a"]),
        _set("header", "landmark_ids", to=None),
        _set("header", "classifier", "classes", to=["a", "a", "b"]),
        _set("header", "classifier", "classes", to=["a", "b"]),
        _set("header", "classifier", "kind", to="magic"),
        _set("header", "classifier", "temperature", to=0),
        _set("header", "classifier", "temperature", to="warm"),
        _set("header", "classifier", "reject_threshold", to=-1),
        _set("header", "classifier", "transform", to={"name": "log", "constants": {}}),
        _set("header", "classifier", "transform", to={"name": "exp", "constants": {}}),
        _set("header", "classifier", "centred", to=True),
        _array("weights", lambda w: w[:-1]),
        _array("weights", lambda w: w.astype(np.int64)),
        _array("weights", _with_nan),
        _array("landmark_classes", lambda c: c + 50),
        _array("landmark_classes", lambda c: np.array(c.sum())),
        _set("header", "classifier", "about", to={"x": float("nan")}),
        _array("landmark_ends", lambda e: e + 1),
        _array("landmark_ends", lambda e: e[:-1]),
        _array("landmark_ends", lambda e: e * 10**9),
        _array("landmark_residues", lambda r: r * 0 + ord("1")),
        _array("landmark_residues", lambda r: r.astype(np.float64)),
    ],
)
def test_a_tampered_model_is_refused(run, trained, tmp_path, change):
    path = tmp_path / "bad.safetensors"
    tampered(trained[0], path, lambda *parts: None)
    new = write_fasta(tmp_path / "new.fasta", trained[2][:2])
    assert run("classify", path, new)[0] == 0  # the copy itself is good
    tampered(trained[0], path, change)
    code, out, err = run("classify", path, new)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith(f"kreinflow input error: {path}: ")


def test_what_a_model_says_does_not_command_the_terminal(run, trained, tmp_path):
    said, model = "\x1b[31m\x9b1m\ud800", tmp_path / "m.safetensors"
    tampered(trained[0], model, _set("header", "about", "records", to=said))
    code, out, _ = run("inspect", model)
    assert code == 0
    assert r"records: \x1b[31m\x9b1m\ud800" in out
    code, out, _ = run("inspect", model, "--json")
    assert code == 0
    assert json.loads(out)["records"] == said


def test_explanations_that_overflow_are_refused_in_one_line(run, trained, tmp_path):
    model = tmp_path / "m.safetensors"
    tampered(trained[0], model, _array("weights", lambda w: w * 0 + 1e308))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, _, err = run("explain", model, trained[0].with_name("x.fasta"), "--id", "a0")
    assert (code, err.count("\n")) == (2, 1)
    assert "a0: the model's decision for it is not finite" in err


def test_decisions_that_overflow_are_no_prediction(run, trained, tmp_path):
    def change(content, arrays):
        arrays["intercept"] = np.full_like(arrays["intercept"], 1e308)
        content["header"]["classifier"]["temperature"] = 0.01

    tampered(trained[0], tmp_path / "large.safetensors", change)
    new = write_fasta(tmp_path / "new.fasta", trained[2][:2])
    code, out, err = run("classify", tmp_path / "large.safetensors", new, "--strict")
    assert (code, out) == (2, "")
    assert f"(line 1), {trained[2][0][0]}: the model's decision for it is not finite" in err
    code, out, err = run("classify", tmp_path / "large.safetensors", new)
    assert (code, err.count("not classified: ")) == (0, 2)
    assert out.count("is not finite") == 2


def test_truncated_and_foreign_models_are_refused(run, trained, tmp_path):
    data = trained[0].read_bytes()
    new = write_fasta(tmp_path / "new.fasta", trained[2][:2])
    path = tmp_path / "bad.safetensors"
    foreign = safetensors.numpy.save({"weights": np.zeros((2, 2))}, metadata={"format": "pt"})
    huge = (2**62).to_bytes(8, "little") + data[8:]
    for content in (b"", data[:4], data[:100], data[:-1], b"GIF89a" * 100, foreign, huge):
        path.write_bytes(content)
        code, out, err = run("classify", path, new)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert err.startswith(f"kreinflow input error: {path}: ")
        assert "Give a model file that kreinflow wrote." in err
        assert "Delete" not in err, "it may be anything of the user's"
    code, _, err = run("classify", tmp_path / "none.safetensors", new)
    assert (code, "none.safetensors: no such file" in err) == (2, True)
    code, _, err = run("classify", tmp_path, new)
    assert (code, f"{tmp_path}: is a folder. Give a model file" in err) == (2, True)


# classify: matrices


@pytest.fixture(params=KINDS)
def measured(request, tmp_path):
    """A model of a matrix, its landmarks' points, all points, and their probabilities."""
    kind = request.param
    X, labels = points(4)
    ids = [f"o{i}" for i in range(len(X))]
    write_matrix(tmp_path / "k.csv", matrix_of(kind, X, X), ids)
    (tmp_path / "y.csv").write_text(
        "id,label\n" + "".join(f"{i},{label}\n" for i, label in zip(ids, labels, strict=True))
    )
    source = {"type": "matrix", "matrix": "k.csv", "kind": kind, "labels": {"table": "y.csv"}}
    model, _, probabilities = trained_model(configuration(source, "raw"), tmp_path)
    model.save(tmp_path / "model.safetensors")
    chosen = [ids.index(i) for i in model.landmark_ids]
    return tmp_path, kind, model, X, ids, chosen, probabilities


def test_classify_a_matrix(run, measured):
    folder, kind, model, X, ids, chosen, probabilities = measured
    values = matrix_of(kind, X, X[chosen])
    best, second = np.sort(probabilities, axis=1).T[[-1, -2]]
    landmarks = list(model.landmark_ids)
    shuffled = np.random.default_rng(1).permutation(len(landmarks))
    write_matrix(folder / "named.csv", values, ids, landmarks)
    write_matrix(
        folder / "shuffled.tsv.gz", values[:, shuffled], ids, [landmarks[i] for i in shuffled]
    )
    np.save(folder / "plain.npy", values)
    # The training matrix itself has a column for each landmark, and others.
    for name in ("named.csv", "shuffled.tsv.gz", "plain.npy", "k.csv"):
        run("classify", folder / "model.safetensors", folder / name, "-o", folder / "out.tsv")
        table = pd.read_csv(folder / "out.tsv", sep="\t", dtype={"id": str})
        numbered = [str(i + 1) for i in range(len(ids))]
        assert table["id"].tolist() == (numbered if name == "plain.npy" else ids)
        np.testing.assert_allclose(table["probability"], best, rtol=1e-9)
        np.testing.assert_allclose(table["runner_up_probability"], second, rtol=1e-9, atol=1e-15)
        labels = np.array(model.classifier.classes)[probabilities.argmax(axis=1)]
        assert table["label"].tolist() == labels.tolist()


def test_classify_one_row(run, measured):
    folder, kind, _, X, _, chosen, probabilities = measured
    row = ",".join(repr(float(v)) for v in matrix_of(kind, X[4:5], X[chosen])[0])
    for text in (row + "\n", "q," + row + "\n"):
        (folder / "one.csv").write_text(text)
        code, out, err = run("classify", folder / "model.safetensors", folder / "one.csv")
        assert code == 0, err
        assert float(out.splitlines()[1].split("\t")[2]) == pytest.approx(
            probabilities[4].max(), rel=1e-5
        )


def test_bad_new_matrices(run, measured):
    folder, kind, model, X, ids, chosen, _ = measured
    values = matrix_of(kind, X, X[chosen])
    landmarks = list(model.landmark_ids)

    def message(name):
        code, out, err = run("classify", folder / "model.safetensors", folder / name)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert f"{folder / name}" in err
        return err

    np.save(folder / "narrow.npy", values[:, 1:])
    m = len(landmarks)
    assert f"has {m - 1} columns where the model has {m} landmarks" in message("narrow.npy")
    write_matrix(folder / "lacks.csv", values, ids, ["stranger", *landmarks[1:]])
    assert f"no column for 1 of the {m} landmarks of the model: {landmarks[0]}." in message(
        "lacks.csv"
    )
    write_matrix(folder / "twice.csv", values, ids, [landmarks[1], *landmarks[1:]])
    assert f"id {landmarks[1]!r} of column 2 stands twice" in message("twice.csv")
    bad = values.copy()
    bad[2, 1] = np.nan
    write_matrix(folder / "nan.csv", bad, ids, landmarks)
    assert "row 3" in message("nan.csv")
    np.save(folder / "nan.npy", bad)
    assert "row 3 (3), column 2: nan is not a finite number" in message("nan.npy")
    if kind != "similarity":
        bad[2, 1] = -1
        np.save(folder / "negative.npy", bad)
        assert f"row 3 (3), column 2: -1 is negative, which no {kind} is" in message("negative.npy")
    write_fasta(folder / "x.fasta", families(1))
    assert "the ending is not one of a table of numbers" in message("x.fasta")


def test_a_tampered_kind_of_matrix_is_refused(run, measured):
    folder = measured[0]
    tampered(
        folder / "model.safetensors",
        folder / "bad.safetensors",
        _set("header", "matrix_kind", to="gossip"),
    )
    code, _, err = run("classify", folder / "bad.safetensors", folder / "k.csv")
    assert (code, "its kind of matrix, 'gossip', is unknown" in err) == (2, True)
    tampered(
        folder / "model.safetensors",
        folder / "bad.safetensors",
        _set("header", "landmark_ids", to=["o1"]),
    )
    code, _, err = run("classify", folder / "bad.safetensors", folder / "k.csv")
    assert (code, "ids and landmarks differ in number" in err) == (2, True)


# classify: vectors and strings


COMPARED = {
    "gaussian": {"name": "gaussian", "width": 2.0},
    "pseudo_euclidean": {"name": "pseudo_euclidean", "positive": 1},
    "ball": {"name": "ball"},
    "edit_distance": {"name": "edit_distance"},
}


@pytest.fixture(params=COMPARED)
def compared(request, tmp_path):
    """A model of vectors or strings, the file it was trained on, and its probabilities."""
    kernel = COMPARED[request.param]
    X, labels = points(4)
    name = "x.npy"
    if request.param == "edit_distance":
        records = families(4)
        name, labels = "x.txt", [label for _, label, _ in records]
        (tmp_path / name).write_text("\n".join(s for _, _, s in records))
    else:
        np.save(tmp_path / name, np.abs(X))
    (tmp_path / "y.txt").write_text("\n".join(labels))
    model, _, probabilities = trained_model(
        configuration(vectors_source(name, kernel), "raw"), tmp_path
    )
    model.save(tmp_path / "model.safetensors")
    return tmp_path, name, model, probabilities


def test_classify_what_a_kernel_compares(run, compared):
    folder, name, model, probabilities = compared
    path, out = folder / "model.safetensors", folder / "out.tsv"
    classified(run, path, folder / name, "-o", out)
    table = pd.read_csv(out, sep="\t", dtype={"id": str})
    assert table["id"].tolist() == [str(i + 1) for i in range(len(probabilities))]
    np.testing.assert_array_equal(table["probability"], probabilities.max(axis=1))
    labels = np.array(model.classifier.classes)[probabilities.argmax(axis=1)]
    assert table["label"].tolist() == labels.tolist()
    # One alone has the same line, whatever file it comes in.
    if name == "x.txt":
        lines = (folder / name).read_text().splitlines()
        (folder / "one.txt").write_text(lines[17] + "\n")
        classified(run, path, folder / "one.txt", "-o", folder / "one.tsv")
    else:
        row = np.load(folder / name)[17]
        (folder / "one.csv").write_text(",x,y\nq," + ",".join(map(repr, row.tolist())))
        classified(run, path, folder / "one.csv", "-o", folder / "one.tsv")
    ours = (folder / "one.tsv").read_text().splitlines()[1].split("\t")
    assert ours[1:] == out.read_text().splitlines()[18].split("\t")[1:]


def test_a_model_of_vectors_is_written_and_read_again(compared):
    from kreinflow.classify.model_file import Model

    folder, _, model, _ = compared
    again = Model.load(folder / "model.safetensors")
    assert again.kernel == model.kernel == COMPARED[model.kernel["name"]]
    assert (again.scheme, again.matrix_kind, again.molecule) == (None, None, None)
    np.testing.assert_array_equal(again.landmarks, model.landmarks)
    assert again.landmark_ids == model.landmark_ids
    again.save(folder / "again.safetensors")
    first, second = (folder / f"{n}.safetensors" for n in ("model", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_new_objects_that_do_not_fit_the_model(run, compared):
    folder, name, _, _ = compared

    def message(new):
        code, out, err = run("classify", folder / "model.safetensors", folder / new)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        return err

    if name == "x.txt":
        write_matrix(folder / "x.csv", np.ones((2, 2)), ["q", "r"])
        assert "compares strings. Give a .txt file" in message("x.csv")
        return
    np.save(folder / "wide.npy", np.ones((2, 5)))
    assert "has 5 columns of numbers where the model's vectors have 2" in message("wide.npy")
    np.save(folder / "nan.npy", np.array([[1.0, 2.0], [np.nan, 1.0]]))
    assert "nan.npy, row 2, column 1: nan is not a finite number" in message("nan.npy")
    write_fasta(folder / "x.fasta", families(1))
    assert "the ending is not one of a table of numbers" in message("x.fasta")


@pytest.mark.parametrize(
    "change",
    [
        _set("header", "kernel", to={"name": "magic"}),
        _set("header", "kernel", to={"width": 2.0}),
        _set("header", "kernel", to={"name": "gaussian", "width": -1}),
        _set("header", "kernel", to={"name": "gaussian", "width": "wide"}),
        _set("header", "kernel", to={"name": "gaussian", "wide": 1}),
        _set("header", "kernel", to={"name": "pseudo_euclidean"}),
        _set("header", "kernel", to={"name": "pseudo_euclidean", "positive": 9}),
        _set("header", "kernel", to={"name": "edit_distance"}),
        _set("header", "kernel", to="gaussian"),
        _set("header", "kernel", to=None),
        _array("landmark_vectors", lambda v: v[:-1]),
        _array("landmark_vectors", lambda v: v[:, :0]),
        _array("landmark_vectors", lambda v: v.astype(np.float32)),
        _array("landmark_vectors", lambda v: v[:, 0]),
        _array("landmark_vectors", _with_nan),
    ],
)
@pytest.mark.parametrize("compared", ["gaussian"], indirect=True)
def test_a_tampered_model_of_vectors_is_refused(run, compared, change):
    folder, name, _, _ = compared
    path = folder / "bad.safetensors"
    tampered(folder / "model.safetensors", path, change)
    code, out, err = run("classify", path, folder / name)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert err.startswith(f"kreinflow input error: {path}: ")


def test_version(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith("kreinflow ")
