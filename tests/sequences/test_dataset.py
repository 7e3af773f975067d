import gzip
import hashlib
import os
import time
from pathlib import Path

import numpy as np
import pytest

from kreinflow.errors import InputError
from kreinflow.sequences.dataset import check_source, load_dataset, read_dataset, write_dataset

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX*"
TABLE = {"table": "l.tsv", "id_column": "id", "label_column": "label"}
FASTA = b">a1 A x\nMKVL\n>b1 B x\nACDE\n>a2 A y\nMKVLL\n>b2 B y\nACDEE\n>a3 A z\nMKVL\n"
LABELS = b"id\tlabel\na1\tA\na2\tA\na3\tA\nb1\tB\nb2\tB\n"


def source(**changes):
    return {
        "type": "fasta",
        "fasta": "x.fasta",
        "labels": TABLE,
        "molecule": "protein",
        "illegal_residues": "refuse",
        "unmatched": "refuse",
        "conflicting_labels": "drop",
        "max_length": 40000,
        "too_long": "refuse",
        "min_class_size": 2,
    } | changes


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.fasta").write_bytes(FASTA)
    (tmp_path / "l.tsv").write_bytes(LABELS)
    return tmp_path


def load(folder, **changes):
    return load_dataset(source(**changes), folder, LETTERS, seed=1)


def add(folder, fasta=b"", labels=b""):
    (folder / "x.fasta").write_bytes(FASTA + fasta)
    (folder / "l.tsv").write_bytes(LABELS + labels)


def test_identical_sequences_share_a_row(folder):
    data = load(folder)
    assert data.ids == ("a1", "b1", "a2", "b2", "a3")
    assert data.classes == ("A", "B")
    assert data.labels.tolist() == [0, 1, 0, 1, 0]
    assert data.rows.tolist() == [0, 1, 2, 3, 0]
    assert data.sequences == (b"MKVL", b"ACDE", b"MKVLL", b"ACDEE")
    assert data.digests[0] == hashlib.sha256(b"MKVL").hexdigest()[:32]
    assert data.lengths.tolist() == [4, 4, 5, 5]
    assert data.statistics == {
        "records_read": 5,
        "records_kept": 5,
        "distinct": 4,
        "dropped": {},
        "substitutions": {},
        "class_sizes": {"A": 3, "B": 2},
        "lengths": {
            "minimum": 4.0,
            "lower_quartile": 4.0,
            "median": 4.5,
            "upper_quartile": 5.0,
            "maximum": 5.0,
            "mean": 4.5,
        },
        "asymmetry": None,
        "files": {
            "x.fasta": hashlib.sha256(FASTA).hexdigest(),
            "l.tsv": hashlib.sha256(LABELS).hexdigest(),
        },
    }


def same(a, b):
    assert (a.ids, a.classes, a.digests, a.sequences, a.kind, a.statistics, a.dropped) == (
        (b.ids, b.classes, b.digests, b.sequences, b.kind, b.statistics, b.dropped)
    )
    np.testing.assert_array_equal(a.labels, b.labels)
    np.testing.assert_array_equal(a.rows, b.rows)


def test_written_and_read_again(folder):
    add(folder, b'>NA\nMKVV\n>"q\nMKVW\n>n2\nMKVY\n>c\nWWWW\n', b"NA\tNA\nn2\tNA\n'q\tA\nc\t007\n")
    (folder / "l.tsv").write_bytes((folder / "l.tsv").read_bytes().replace(b"'q", b'"""q"'))
    data = load(folder)
    assert data.ids[5:] == ("NA", '"q', "n2")
    assert data.dropped == ("c",)
    write_dataset(folder / "out", data)
    same(read_dataset(folder / "out"), data)
    files = {p.name: p.read_bytes() for p in (folder / "out").iterdir()}
    assert set(files) == {"records.tsv", "distinct.tsv", "summary.json"}
    write_dataset(folder / "out", read_dataset(folder / "out"))
    assert files == {p.name: p.read_bytes() for p in (folder / "out").iterdir()}


def test_foreign_artifacts_are_refused(folder):
    write_dataset(folder / "out", load(folder))
    distinct = folder / "out" / "distinct.tsv"
    distinct.write_text("".join(distinct.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(InputError, match="do not belong together"):
        read_dataset(folder / "out")
    distinct.write_text(distinct.read_text()[:-3])
    with pytest.raises(InputError, match=r"distinct.tsv: truncated"):
        read_dataset(folder / "out")
    write_dataset(folder / "out", load(folder))
    (folder / "out" / "summary.json").write_text("{}")
    with pytest.raises(InputError, match=r"summary.json: not the summary of a data set"):
        read_dataset(folder / "out")


def test_labels_from_a_pattern(folder):
    assert load(folder, labels={"pattern": r" (\w) "}).labels.tolist() == [0, 1, 0, 1, 0]
    add(folder, b">c1\nMMMM\n")
    with pytest.raises(InputError, match=r"labels.pattern .*: no label for 1 of 6 ids: c1"):
        load(folder, labels={"pattern": r" (\w) "})
    data = load(folder, labels={"pattern": r" (\w) "}, unmatched="drop")
    assert data.statistics["dropped"] == {"no label": {"count": 1, "examples": ["c1"]}}


def test_labels_from_names_of_files(tmp_path):
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "B.fa.gz").write_bytes(gzip.compress(b">b1\nACDE\n>b2\nACDF\n"))
    (tmp_path / "classes" / "A.v2.fasta").write_bytes(b">a1\nMKVL\n>a2\nMKVV\n")
    (tmp_path / "classes" / "readme.md").write_text("not a FASTA")
    files = source(fasta="classes", labels={"from_file_names": True})
    check_source(files, tmp_path)
    data = load_dataset(files, tmp_path, LETTERS, 1)
    assert data.classes == ("A.v2", "B")
    assert data.ids == ("a1", "a2", "b1", "b2")
    several = files | {"fasta": ["classes/B.fa.gz", "classes/A.v2.fasta"]}
    assert load_dataset(several, tmp_path, LETTERS, 1).ids == ("b1", "b2", "a1", "a2")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: has no FASTA file"):
        check_source(files | {"fasta": "empty"}, tmp_path)


def test_substitutions_are_counted(folder):
    add(folder, b">u\nmuuO*\n", b"u\tA\n")
    data = load(folder)
    assert data.sequences[-1] == b"MCCK"
    assert data.statistics["substitutions"] == {"* at the end": 1, "O to K": 1, "U to C": 2}


@pytest.mark.parametrize(
    ("fasta", "labels", "changes", "message"),
    [
        (
            b">a1\nMM\n",
            b"",
            {},
            r"x.fasta, record 6 \(line 11\): id 'a1' stands twice, first in .*record 1 \(line 1\)",
        ),
        (b">c\nMM\n", b"", {}, r"l.tsv: no label for 1 of 6 ids: c"),
        (b"", b"c\tA\n", {}, r"l.tsv: no sequence for 1 of 6 labels: c"),
        (b">c\nMK?L\n", b"c\tA\n", {}, r"record 6 \(line 11\), c: residue 3 is '\?'"),
        (b">c\nM-K\n", b"c\tA\n", {}, r"c: residue 2 is '-'"),
        (b">c\n***\n", b"c\tA\n", {}, r"c: has no residues but stops or gaps"),
        (b"", b"", {"max_length": 4}, r"record 3 .*, a2: has 5 residues, more than max_length = 4"),
        (
            b">c\nMKVL\n",
            b"c\tB\n",
            {"conflicting_labels": "refuse"},
            r"'a1' and 'c' are the same sequence with the labels 'A' and 'B'",
        ),
        (b"", b"", {"min_class_size": 9}, r"0 classes left .*min_class_size: A, B"),
        (b"", b"", {"fasta": "none.fasta"}, r"none.fasta: no such file"),
    ],
)
def test_each_fault_has_its_message(folder, fasta, labels, changes, message):
    add(folder, fasta, labels)
    with pytest.raises(InputError, match=message):
        load(folder, **changes)


def test_nucleotides_that_are_called_proteins_are_refused(folder):
    pieces = [b"ACGT" * 80 + b"C" * i + b"N" for i in range(1, 6)]
    lines = [b">%s%d\n%s\n" % (b"ab"[i % 2 : i % 2 + 1], i, s) for i, s in enumerate(pieces)]
    (folder / "x.fasta").write_bytes(b"".join(lines))
    found = {"pattern": "^([ab])"}
    with pytest.raises(InputError, match=r"x.fasta: all residues are A, C, G, T or N, but the mol"):
        load(folder, labels=found)
    assert len(load(folder, labels=found, molecule="nucleotide").ids) == 5
    (folder / "x.fasta").write_bytes(b"".join(lines) + b">a9\nMKV\n")
    assert len(load(folder, labels=found).ids) == 6


def test_nucleotides_on_the_other_strand_are_counted_in_known_classes_alone(folder):
    import random

    drawn, lines = random.Random(1), []
    turn = bytes.maketrans(b"ACGT", b"TGCA")
    for label in "abc":
        first = drawn.choices("ACGT", k=200)
        for copy in range(6):
            other = [drawn.choice("ACGT") if drawn.random() < 0.05 else x for x in first]
            residues = "".join(other).encode()
            if (label, copy) in {("a", 2), ("c", 5)}:
                residues = residues.translate(turn)[::-1]
            lines.append(b">%s%d\n%s\n" % (label.encode(), copy, residues))
    (folder / "x.fasta").write_bytes(b"".join(lines))
    found = {"labels": {"pattern": "^([abc])"}, "molecule": "nucleotide"}
    assert load(folder, **found).statistics["other_strand"] == {
        "count": 2,
        "examples": ["a2", "c5"],
    }
    held = load_dataset(source(**found), folder, LETTERS, 1, unknown=["c"])
    assert held.statistics["other_strand"] == {"count": 1, "examples": ["a2"]}


def test_one_class_only(folder):
    (folder / "l.tsv").write_bytes(LABELS.replace(b"B", b"A"))
    with pytest.raises(InputError, match=r"1 class left \(A\)"):
        load(folder)


def test_reasons_of_what_is_dropped(folder):
    add(
        folder,
        b">a4\nMKVY\n>i\nMK?\n>o\nMMMMMMMM\n>u\nMW\n>c\nMKVL\n>s\nWWW\n",
        b"a4\tA\ni\tA\no\tA\nc\tB\ns\tS\nnone\tA\n",
    )
    data = load(folder, illegal_residues="drop", too_long="drop", max_length=7, unmatched="drop")
    assert data.ids == ("b1", "a2", "b2", "a4")
    assert {reason: d["examples"] for reason, d in data.statistics["dropped"].items()} == {
        "illegal residues": ["i"],
        "too long": ["o"],
        "no label": ["u"],
        "label without sequence": ["none"],
        "identical sequences with different labels": ["a1", "a3", "c"],
        "small class": ["s"],
    }
    assert data.statistics["records_read"] == 11
    assert sorted(data.dropped) == sorted(["i", "o", "u", "none", "a1", "a3", "c", "s"])


def test_class_size_counts_distinct_sequences(folder):
    add(folder, b">s1\nWWW\n>s2\nWWW\n", b"s1\tS\ns2\tS\n")
    data = load(folder)
    assert "S" not in data.classes
    assert data.statistics["dropped"]["small class"] == {"count": 2, "examples": ["s1", "s2"]}


def test_only_some_examples_are_listed(folder):
    add(folder, b"".join(b">s%d\nWW?\n" % i for i in range(30)))
    listed = load(folder, unmatched="drop", illegal_residues="drop").statistics["dropped"]
    assert listed["illegal residues"]["count"] == 30
    assert len(listed["illegal residues"]["examples"]) == 20


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fasta": "none.fasta"}, "none.fasta: no such file"),
        ({"fasta": "empty.fasta"}, "empty.fasta: is empty"),
        ({"fasta": "l.tsv"}, "l.tsv, line 1: not FASTA"),
        ({"fasta": ["x.fasta", "none.fasta"]}, "none.fasta: no such file"),
        ({"labels": TABLE | {"table": "none.tsv"}}, "none.tsv: no such file"),
        ({"labels": TABLE | {"label_column": "family"}}, "column 'family' is missing"),
        ({"labels": TABLE | {"table": "x.fasta"}}, "ending '.fasta' is not one of a table"),
        ({"labels": {"pattern": "("}}, "not a regular expression"),
    ],
)
def test_the_cheap_check_gives_the_same_message(folder, changes, message):
    (folder / "empty.fasta").touch()
    check_source(source(), folder)
    with pytest.raises(InputError, match=message):
        check_source(source(**changes), folder)
    with pytest.raises(InputError, match=message):
        load(folder, **changes)


K = np.array([[3.0, 1, 0, 0], [1, 3, 0, 0], [0, 0, 3, 1], [0, 0, 1, 3]])


def matrix_source(**changes):
    return {
        "type": "matrix",
        "matrix": "m.csv",
        "kind": "similarity",
        "labels": {"lines": "l.txt"},
        "variable": None,
        "symmetry_tolerance": 1e-6,
        "min_class_size": 2,
    } | changes


@pytest.fixture
def matrix_folder(tmp_path):
    np.savetxt(tmp_path / "m.csv", K, delimiter=",")
    (tmp_path / "l.txt").write_text("1\n2\n1\n2\n")
    (tmp_path / "l.tsv").write_text("id\tlabel\nw\t1\nx\t2\ny\t1\nz\t2\n")
    return tmp_path


def test_matrix(matrix_folder):
    check_source(matrix_source(), matrix_folder)
    data = load_dataset(matrix_source(), matrix_folder, None, 1)
    assert (data.ids, data.classes) == (("1", "2", "3", "4"), ("1", "2"))
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.sequences is None
    assert data.digests[1] == hashlib.sha256(b"2").hexdigest()[:32]
    np.testing.assert_array_equal(data.matrix, K)
    write_dataset(matrix_folder / "out", data)
    again = read_dataset(matrix_folder / "out")
    same(again, data)
    np.testing.assert_array_equal(again.matrix, K)


def test_labels_of_a_matrix_are_matched_by_id(matrix_folder):
    ids = ["z", "y", "x", "w"]
    lines = [",".join(["", *ids])]
    lines += [",".join([id, *map(str, row)]) for id, row in zip(ids, K.tolist(), strict=True)]
    (matrix_folder / "m.csv").write_text("\n".join(lines))
    data = load_dataset(matrix_source(labels=TABLE), matrix_folder, None, 1)
    assert data.ids == ("z", "y", "x", "w")
    assert data.labels.tolist() == [1, 0, 1, 0]
    (matrix_folder / "l.tsv").write_text("id\tlabel\nw\t1\nx\t2\ny\t1\nq\t2\n")
    with pytest.raises(InputError, match=r"l.tsv: no label for 1 of 4 ids: z. Add them\.$"):
        load_dataset(matrix_source(labels=TABLE), matrix_folder, None, 1)


def test_ids_of_a_table_name_the_rows_of_a_bare_matrix(matrix_folder):
    data = load_dataset(matrix_source(labels=TABLE), matrix_folder, None, 1)
    assert data.ids == ("w", "x", "y", "z")


def test_dissimilarities_become_squared(matrix_folder):
    D = 3 - K
    np.savetxt(matrix_folder / "m.csv", D, delimiter=",")
    data = load_dataset(matrix_source(kind="dissimilarity"), matrix_folder, None, 1)
    assert data.kind == "squared_dissimilarity"
    np.testing.assert_array_equal(data.matrix, D**2)


def test_small_classes_of_a_matrix(matrix_folder):
    (matrix_folder / "l.txt").write_text("1\n2\n1\n3\n")
    with pytest.raises(InputError, match=r"1 class left .*min_class_size: 2, 3"):
        load_dataset(matrix_source(), matrix_folder, None, 1)
    M = np.pad(K, (0, 1), constant_values=0.5)
    M = (M + M.T) / 2
    np.savetxt(matrix_folder / "m.csv", M, delimiter=",")
    (matrix_folder / "l.txt").write_text("1\n2\n1\n2\n3\n")
    data = load_dataset(matrix_source(), matrix_folder, None, 1)
    np.testing.assert_array_equal(data.matrix, K)
    assert data.ids == ("1", "2", "3", "4")
    assert data.statistics["dropped"] == {"small class": {"count": 1, "examples": ["5"]}}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": {"lines": "short.txt"}}, r"short.txt: has 3 labels, but .*m.csv has 4 rows"),
        ({"labels": {"lines": "none.txt"}}, r"none.txt: no such file"),
        ({"matrix": "none.csv"}, r"none.csv: no such file"),
        ({"matrix": "l.xlsx"}, r"l.xlsx: the ending is not one of a table of numbers"),
    ],
)
def test_faults_of_a_matrix_source(matrix_folder, changes, message):
    (matrix_folder / "short.txt").write_text("1\n2\n1\n")
    with pytest.raises(InputError, match=message):
        load_dataset(matrix_source(**changes), matrix_folder, None, 1)


def test_simulated(tmp_path):
    simulated = {"type": "simulated", "families": 3, "sequences": 30, "min_class_size": 2}
    check_source(simulated, tmp_path)
    data = load_dataset(simulated, tmp_path, LETTERS, seed=1)
    assert data.statistics["records_read"] == 30
    assert data.classes == ("family01", "family02", "family03")
    other = load_dataset(simulated, tmp_path, LETTERS, seed=2)
    assert other.digests != data.digests


def test_many_sequences_take_seconds(tmp_path):
    random = np.random.default_rng(1)
    text = random.choice(np.frombuffer(b"ACDEFGHIKLMNPQRSTVWYu", np.uint8), (20_000, 150))
    fasta = b"".join(b">s%d c%d\n%s\n" % (i, i % 9, row.tobytes()) for i, row in enumerate(text))
    (tmp_path / "x.fasta").write_bytes(fasta)
    start = time.process_time()
    data = load_dataset(source(labels={"pattern": r"c(\d)"}), tmp_path, LETTERS, 1)
    assert time.process_time() - start < 5
    assert data.statistics["substitutions"]["U to C"] == int((text == ord("u")).sum())


@pytest.mark.realdata
def test_real_data():
    if "KREINFLOW_DATA" not in os.environ:
        pytest.skip("KREINFLOW_DATA does not name the folder of pfam30_11k")
    folder = Path(os.environ["KREINFLOW_DATA"])
    files = source(fasta="pfam30_11k.fasta.gz", labels=TABLE | {"table": "pfam30_11k.tsv"})
    data = load_dataset(files, folder, LETTERS, 1)
    assert (len(data.ids), len(data.digests), len(data.classes)) == (10_988, 10_988, 30)
    assert data.statistics["lengths"]["median"] == 102
    protein = matrix_source(
        matrix="protein213_similarity.csv.gz", labels={"lines": "protein213_labels.txt"}
    )
    sizes = load_dataset(protein, folder, None, 1).statistics["class_sizes"]
    assert sorted(sizes.values()) == [30, 39, 72, 72]


def test_records_without_a_label_are_kept_to_be_classified(folder):
    add(folder, b">new1 x\nmkvv*\n>new2\nACDE\n>new3\nAC\n", b"new2\t\nnobody\tA\n")
    data = load(folder, unmatched="classify")
    assert data.unlabelled == (("new1", b"MKVV"), ("new2", b"ACDE"), ("new3", b"AC"))
    assert data.ids == ("a1", "b1", "a2", "b2", "a3")  # as without them
    assert data.sequences == (b"MKVL", b"ACDE", b"MKVLL", b"ACDEE")
    assert data.statistics["records_read"] == 8
    assert data.statistics["unlabelled"] == 3
    assert data.statistics["dropped"] == {
        "label without sequence": {"count": 1, "examples": ["nobody"]}
    }
    assert data.dropped == ("nobody", "new1", "new2", "new3")
    with pytest.raises(InputError, match=r"line 7: the 'label' is empty"):
        load(folder, unmatched="drop")


def test_headers_without_a_label_are_classified_too(folder):
    labels = {"pattern": r" (\w) "}
    add(folder, b">c1\nMMMM\n")
    dropped = load(folder, labels=labels, unmatched="drop")
    data = load(folder, labels=labels, unmatched="classify")
    assert data.ids == dropped.ids
    assert data.statistics["unlabelled"] == dropped.statistics["dropped"]["no label"]["count"]
