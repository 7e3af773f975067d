"""FASTA files as data sets."""

import gzip
import hashlib

import pytest

from data_sets import LETTERS, load
from kreinflow.base.errors import InputError
from kreinflow.sequences.dataset import write_unlabelled
from kreinflow.sequences.sources.registry import make_source
from small_inputs import BY_HEADER, DNA, families, turned, write_fasta

TABLE = {"table": "l.tsv", "id_column": "id", "label_column": "label"}
FASTA = b">a1 A x\nMKVL\n>b1 B x\nACDE\n>a2 A y\nMKVLL\n>b2 B y\nACDEE\n>a3 A z\nMKVL\n"
LABELS = b"id\tlabel\na1\tA\na2\tA\na3\tA\nb1\tB\nb2\tB\n"


def fasta(**changes):
    return {"type": "fasta", "fasta": "x.fasta", "labels": TABLE} | changes


@pytest.fixture
def folder(tmp_path):
    add(tmp_path)
    return tmp_path


def add(folder, records=b"", labels=b""):
    (folder / "x.fasta").write_bytes(FASTA + records)
    (folder / "l.tsv").write_bytes(LABELS + labels)


def test_padded_rows_of_an_alignment(folder):
    add(folder, b">a4\n" + b"MKVLK" + b"-" * 50_000 + b"." * 9 + b"*\n", b"a4\tA\n")
    data = load(fasta(), folder)
    assert data.sequences[data.rows[data.ids.index("a4")]] == b"MKVLK"
    ends = {"- at the end": 50_000, ". at the end": 9, "* at the end": 1}
    assert data.statistics["substitutions"] == dict(sorted(ends.items()))


def test_labels_that_are_paths_in_one_column_or_several(folder):
    labels = b"id\tlabel\na1\tA. 1.-\na2\tA.1\na3\tA.1\nb1\tB.-\nb2\tB.-\n"
    (folder / "l.tsv").write_bytes(labels)
    data = load(fasta(), folder, separator=".")
    assert data.joined_labels == ["A.1", "B", "A.1", "B", "A.1"]
    with pytest.raises(InputError, match=r"levels: no label has the separator ';'; the first one"):
        load(fasta(), folder, separator=";")
    (folder / "l.tsv").write_bytes(labels.replace(b"B.-", b"B..1"))
    with pytest.raises(InputError, match=r"record b1: The label 'B..1' has an empty part"):
        load(fasta(), folder, separator=".")
    (folder / "l.tsv").write_bytes(b"id\tb\ta\na1\t1\tA\na2\t1\tA\na3\t1\tA\nb1\t\tA\nb2\t\tA\n")
    data = load(fasta(labels=TABLE | {"label_column": ["a", "b"]}), folder, separator="/")
    assert data.joined_labels == ["A/1", "A", "A/1", "A", "A/1"]
    with pytest.raises(InputError, match="column 'fold' is missing"):
        load(fasta(labels=TABLE | {"label_column": ["a", "fold"]}), folder, separator="/")


def test_labels_from_a_pattern(folder):
    by_pattern = fasta(labels={"pattern": r" (\w) "})
    data = load(by_pattern, folder)
    assert data.labels.tolist() == [0, 1, 0, 1, 0]
    assert data.statistics["files"] == {"x.fasta": hashlib.sha256(FASTA).hexdigest()}
    add(folder, b">c1\nMMMM\n")
    with pytest.raises(InputError, match=r"labels.pattern .*: no label for 1 of 6 ids: c1"):
        load(by_pattern, folder)
    data = load(by_pattern | {"unmatched": "drop"}, folder)
    assert data.statistics["dropped"] == {"no label": {"count": 1, "examples": ["c1"]}}


def test_labels_from_names_of_files(tmp_path):
    (tmp_path / "classes").mkdir()
    (tmp_path / "classes" / "B.fa.gz").write_bytes(gzip.compress(b">b1\nACDE\n>b2\nACDF\n"))
    (tmp_path / "classes" / "A.v2.fasta").write_bytes(b">a1\nMKVL\n>a2\nMKVV\n")
    (tmp_path / "classes" / "readme.md").write_text("not a FASTA")
    files = fasta(fasta="classes", labels={"from_file_names": True})
    data = load(files, tmp_path)
    assert data.classes == ("A.v2", "B")
    assert data.ids == ("a1", "a2", "b1", "b2")
    assert list(data.statistics["files"]) == ["A.v2.fasta", "B.fa.gz"]
    # A file of another kind that comes or goes is reason to look again.
    names = [path.name for path in make_source(files, tmp_path).files()]
    assert names == ["A.v2.fasta", "B.fa.gz", "readme.md"]
    several = files | {"fasta": ["classes/B.fa.gz", "classes/A.v2.fasta"]}
    assert load(several, tmp_path).ids == ("b1", "b2", "a1", "a2")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: has no FASTA file"):
        make_source(files | {"fasta": "empty"}, tmp_path).check()


@pytest.mark.parametrize(
    ("records", "labels", "message"),
    [
        (b">a1\nMM\n", b"", r"record 6 \(line 11\): id 'a1' stands twice, first in .* 1 \("),
        (b"", b"c\tA\n", r"l.tsv: no sequence for 1 of 6 labels: c"),
        (b">c\nMM\n", b"", r"l.tsv: no label for 1 of 6 ids: c"),
        (b">c\nMK?L\n", b"c\tA\n", r"record 6 \(line 11\), c: residue 3 is '\?'"),
        (b">c\n***\n", b"c\tA\n", r"c: has no residues but stops or gaps"),
        (b">c\nMKMKMK\n", b"c\tA\n", r"c: has 6 residues, more than max_length = 5.*_long: drop"),
        (b">c\nMK\n", b"c\n", r"l.tsv, line 7: has 1 field, the header 2"),
    ],
)
def test_each_fault_has_its_message(folder, records, labels, message):
    add(folder, records, labels)
    with pytest.raises(InputError, match=message):
        load(fasta(max_length=5), folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fasta": "l.tsv"}, "l.tsv, line 1: not FASTA"),
        ({"fasta": ["x.fasta", "none.fasta"]}, "none.fasta: no such file"),
        ({"labels": TABLE | {"label_column": "family"}}, "column 'family' is missing"),
        ({"labels": {"pattern": "("}}, "not a regular expression"),
    ],
)
def test_the_cheap_check_gives_the_same_message(folder, changes, message):
    source = make_source(fasta(**changes), folder)
    with pytest.raises(InputError, match=message):
        source.check()
    with pytest.raises(InputError, match=message):
        source.load(LETTERS, 1)


def test_reasons_of_what_is_dropped(folder):
    labels = b"a4\tA\ni\tA\no\tA\ns\tS\nnone\tA\n"
    add(folder, b">a4\nMKVY\n>i\nMK?\n>o\nMMMMMMMM\n>u\nMW\n>s\nWWW\n", labels)
    drop = dict.fromkeys(("illegal_residues", "too_long", "unmatched"), "drop")
    data = load(fasta(max_length=7, **drop), folder)
    assert data.ids == ("a1", "b1", "a2", "b2", "a3", "a4")
    assert {reason: d["examples"] for reason, d in data.statistics["dropped"].items()} == {
        "illegal residues": ["i"],
        "too long": ["o"],
        "no label": ["u"],
        "label without sequence": ["none"],
        "small class": ["s"],
    }
    assert data.statistics["records_read"] == 10
    assert sorted(data.dropped) == sorted(["i", "o", "u", "none", "s"])


def test_records_without_a_label_are_kept_to_be_classified(folder):
    add(folder, b">new1 x\nmkvv*\n>new2\nACDE\n>new3\nAC\n", b"new2\t\nnobody\tA\n")
    data = load(fasta(unmatched="classify"), folder)
    assert data.unlabelled == (("new1", b"MKVV"), ("new2", b"ACDE"), ("new3", b"AC"))
    assert data.ids == ("a1", "b1", "a2", "b2", "a3")  # as without them
    assert data.sequences == (b"MKVL", b"ACDE", b"MKVLL", b"ACDEE")
    assert data.statistics["unlabelled"] == 3
    assert data.dropped == ("nobody", "new1", "new2", "new3")
    write_unlabelled(folder / "new.fasta", data)
    assert (folder / "new.fasta").read_text() == ">new1\nMKVV\n>new2\nACDE\n>new3\nAC\n"


def test_nucleotides_that_are_called_proteins_are_refused(folder):
    pieces = [b"ACGT" * 80 + b"C" * i + b"N" for i in range(1, 6)]
    lines = [b">%s%d\n%s\n" % (b"ab"[i % 2 : i % 2 + 1], i, s) for i, s in enumerate(pieces)]
    (folder / "x.fasta").write_bytes(b"".join(lines))
    found = fasta(labels={"pattern": "^([ab])"})
    with pytest.raises(InputError, match=r"x.fasta: all residues are A, C, G, T or N, but the mol"):
        load(found, folder)
    assert len(load(found | {"molecule": "nucleotide"}, folder).ids) == 5
    (folder / "x.fasta").write_bytes(b"".join(lines) + b">a9\nMKV\n")
    assert len(load(found, folder).ids) == 6


def test_nucleotides_on_the_other_strand_are_turned(folder):
    """Before identical ones are collapsed; and as if classes to be held out were not there."""
    records = families(1, each=6, letters=DNA, length=200, changed=0.05)
    records[1] = ("a1", "a", records[0][2])
    write_fasta(folder / "x.fasta", [turned(r) if r[0] in ("a1", "c5") else r for r in records])
    found = fasta(labels=BY_HEADER, molecule="nucleotide")
    data = load(found, folder)
    other = {"count": 2, "examples": ["a1", "c5"], "turned": True}
    assert data.statistics["other_strand"] == other
    assert [data.sequences[row].decode() for row in data.rows] == [s for *_, s in records]
    assert data.rows[0] == data.rows[1]
    given = load(found | {"strand": "given"}, folder)
    assert given.statistics["other_strand"] == other | {"turned": False}
    assert given.sequences[1].decode() == turned(records[1])[2]
    held = load(found, folder, unknown=["c"])
    assert held.statistics["other_strand"] == {"count": 1, "examples": ["a1"], "turned": True}
    assert held.sequences[:11] == data.sequences[:11]


def test_a_record_with_a_letter_without_a_complement_is_not_turned(folder):
    records = families(1, each=6, letters=DNA, length=200, changed=0.05)
    id, label, residues = turned(records[1])
    records[1] = (id, label, residues[:100] + "R" + residues[101:])  # its complement is Y
    write_fasta(folder / "x.fasta", records)
    source = make_source(fasta(labels=BY_HEADER, molecule="nucleotide"), folder)
    assert source.load("ACGTRY", 1).statistics["other_strand"]["examples"] == [id]
    data = source.load("ACGTR", 1)
    assert data.statistics["other_strand"]["count"] == 0
    assert data.sequences[1].decode() == records[1][2]


def all_labels(**labels):
    way = {"multiple": "all", "separator": ";", **labels}
    return fasta(labels=way, min_class_size=1)


def test_several_labels_from_a_table_or_a_header(folder):
    (folder / "l.tsv").write_bytes(LABELS + b"a1\tB\nb2\tA; B\n")
    expected = {"a1": "A;B", "b1": "B", "a2": "A", "b2": "A;B", "a3": "A;B"}  # a3 is a1
    data = load(all_labels(**TABLE), folder)
    assert dict(zip(data.ids, data.joined_labels, strict=True)) == expected
    long = FASTA.replace(b">a1", b">sp|P12345|A_B")
    (folder / "x.fasta").write_bytes(long)
    (folder / "l.tsv").write_bytes(LABELS.replace(b"a1\t", b"P12345\t") + b"P12345\tB\nb2\tA\n")
    data = load(all_labels(**TABLE), folder)
    assert data.joined_labels == list(expected.values())
    headers = FASTA.replace(b"a1 A", b"a1 A|B").replace(b"b2 B", b"b2 B|A")
    (folder / "x.fasta").write_bytes(headers)
    data = load(all_labels(pattern=r" ([AB|]+) ", separator="|"), folder)
    assert data.joined_labels == list(expected.values())
    with pytest.raises(InputError, match=r"l.tsv, line 7: id 'P12345' stands twice"):
        load(fasta(), folder)


def test_a_record_of_several_paths_has_all_nodes_above_them(tmp_path):
    """A path that one record has is removed, and the record stays at the node above."""
    labels = {
        "a1": "1.1.1.1; 2.7.1.2",
        "a2": "1.1.1.1;2.7.1.-",
        "b1": "1.1.1.3",
        "b2": "2.7.1.2",
        "b3": "2.7.4.9",
        "c1": "3.1.1.1",
        "c2": "3.1.1.1",
    }
    write_fasta(tmp_path / "x.fasta", [(id, "", "MKV" + "A" * i) for i, id in enumerate(labels)])
    (tmp_path / "l.tsv").write_text("id\tec\n" + "".join(f"{a}\t{b}\n" for a, b in labels.items()))
    way = {"table": "l.tsv", "label_column": "ec", "id_column": "id"}
    way |= {"multiple": "all", "separator": ";"}
    source = make_source(fasta(labels=way, min_class_size=2), tmp_path, ".")
    data = source.load(LETTERS, 1)
    ec1, ec2 = ["1", "1.1", "1.1.1"], ["2", "2.7", "2.7.1"]
    expected = {
        "a1": [*ec1, "1.1.1.1", *ec2, "2.7.1.2"],
        "a2": [*ec1, "1.1.1.1", *ec2],
        "b1": ec1,
        "b2": [*ec2, "2.7.1.2"],
        "b3": ["2", "2.7"],
        **{id: ["3", "3.1", "3.1.1", "3.1.1.1"] for id in ("c1", "c2")},
    }
    assert dict(zip(data.ids, data.joined_labels, strict=True)) == {
        id: ";".join(own) for id, own in expected.items()
    }
    (tmp_path / "l.tsv").write_text("id\tec\na1\t1..1\n" + "".join(f"{i}\t1.2\n" for i in labels))
    with pytest.raises(InputError, match=r"l.tsv: record a1: The label '1..1' has an empty part"):
        source.load(LETTERS, 1)


def test_labels_that_cannot_be_several(folder):
    add(folder, b">c x;|y z\nMKV\n")
    with pytest.raises(InputError, match=r"record 6 \(line 11\): the label 'x;' holds ';'"):
        load(all_labels(pattern=r" (\S+) ", separator="|"), folder)
    ((key, why),) = make_source(all_labels(from_file_names=True), folder).faults()
    assert (key, why.partition(".")[0]) == ("labels.multiple", "the name of a file is one label")


def test_a_table_of_sequences(tmp_path):
    rows = "peptide,name,kind\nMKVL,p1,A\nMK VV,p2,A\nacde,p3,B\nACDF,p4,B\n"
    (tmp_path / "t.csv").write_text(rows)
    labels = {"table": "t.csv", "id_column": "name", "label_column": "kind"}
    named = fasta(fasta="t.csv", sequence_column="peptide", labels=labels)
    data = load(named, tmp_path)
    assert (data.ids, data.joined_labels) == (("p1", "p2", "p3", "p4"), ["A", "A", "B", "B"])
    assert data.sequences == (b"MKVL", b"MKVV", b"ACDE", b"ACDF")
    assert list(data.statistics["files"]) == ["t.csv"]
    numbered = named | {"ids": "numbers"}
    data = load(numbered, tmp_path)
    assert (data.ids, data.joined_labels) == (("1", "2", "3", "4"), ["A", "A", "B", "B"])
    without = named | {"sequence_column": 1, "labels": labels | {"id_column": 2, "label_column": 3}}
    (tmp_path / "t.csv").write_text(rows.partition("\n")[2])
    assert load(without, tmp_path).sequences == data.sequences
    (tmp_path / "t.csv").write_text(f"{rows}MKVL,p5\n")
    with pytest.raises(InputError, match="t.csv, line 6: has 2 fields, the header 3"):
        load(named, tmp_path)
    (tmp_path / "t.csv").write_text(rows.replace("p2", "p 2"))
    with pytest.raises(InputError, match=r"line 3\), p 2: its id has a space. Write it without"):
        load(named, tmp_path)
    with pytest.raises(InputError, match="t.csv: column 'seq' is missing"):
        make_source(named | {"sequence_column": "seq"}, tmp_path).check()


def test_several_columns_of_labels_have_no_levels(tmp_path):
    labels = {"table": "l.tsv", "id_column": "id", "label_column": ["a", "b"], "multiple": "all"}
    faults = dict(make_source(fasta(labels=labels), tmp_path, ";").faults())
    assert faults == {
        "labels.label_column": "of several labels in columns none has levels. Leave out one of the "
        "two."
    }
    assert not dict(make_source(fasta(labels=labels), tmp_path).faults())
