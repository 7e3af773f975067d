"""``kreinflow check``: what it says of an input, and that it refuses what the workflow would."""

import bz2
import lzma
from functools import partial

import pytest
import yaml

from flat_files import entry, write_flat_file
from small_inputs import (
    BY_HEADER,
    DNA,
    configuration,
    families,
    fasta_source,
    points,
    vectors_source,
    write_fasta,
    write_input,
    write_labels,
)

GOOD = families(1)


@pytest.fixture
def checked(tmp_path):
    """A function that gives a config to a command, which writes nothing: what it returns."""

    def check(command, config):
        path = tmp_path / "config.yaml"
        path.write_text(yaml.safe_dump({"data": str(tmp_path), **config}))
        before = sorted(tmp_path.rglob("*"))
        said = command("check", path)
        assert sorted(tmp_path.rglob("*")) == before
        return said

    return check


@pytest.fixture
def check(checked, run):
    """A function that checks a good config: all that is said."""

    def command(config):
        code, out, err = checked(run, config)
        assert code == 0, err
        return out + err

    return command


@pytest.fixture
def faulty(checked, refused):
    """A function that checks a config that is refused: the message."""
    return partial(checked, refused)


@pytest.mark.parametrize("labels", [BY_HEADER, {"table": "y.tsv"}])
def test_a_line_for_each_data_set(check, tmp_path, labels):
    write_fasta(tmp_path / "x.fasta", GOOD)
    write_labels(tmp_path / "y.tsv", GOOD)
    assert check(configuration(fasta_source(labels=labels))) == (
        "mine: 30 records (0 dropped), 30 distinct, 3 classes, 2 folds, 1 recipe: ready to run\n"
    )


@pytest.mark.parametrize("objects", ["similarity", {"name": "gaussian"}, {"name": "edit_distance"}])
def test_other_objects(check, tmp_path, objects):
    said = check(configuration(write_input(tmp_path, objects), "raw"))
    assert "30 records (0 dropped), 30 distinct, 3 classes" in said


def test_generated_data(check):
    ball = {"type": "generated", "generator": {"name": "ball"}, "kernel": {"name": "ball"}}
    said = check(configuration(ball, "raw"))
    assert "200 records (0 dropped), 200 distinct, 2 classes" in said


def test_what_is_left_out_is_counted(check, tmp_path):
    records = [
        *GOOD,
        *families(2, classes="d", each=3),
        ("long", "a", "M" * 500),
        ("odd", "a", "MK1V" * 10),
        ("new", "", "MKV" * 20),
    ]
    write_fasta(tmp_path / "x.fasta", records)
    write_labels(tmp_path / "y.tsv", records[:-1])
    drop = {"too_long": "drop", "illegal_residues": "drop", "max_length": 400}
    config = configuration(fasta_source(labels={"table": "y.tsv"}, unmatched="classify", **drop))
    config["datasets"]["mine"]["unknown"] = ["d"]
    said = check(config)
    why = "2 dropped: 1 too long, 1 illegal residues, 3 held out as unknown, 1 to be classified"
    assert f"30 records ({why}), 30 distinct" in said


def test_nucleotides_and_a_matrix_of_the_users(check, tmp_path):
    records = families(3, letters=DNA, changed=0.02)
    turn = str.maketrans("ACGT", "TGCA")
    turned = [(id, label, s.translate(turn)[::-1]) for id, label, s in records[:2]]
    write_fasta(tmp_path / "x.fna", [*turned, *records[2:]])
    (tmp_path / "mine.txt").write_text(
        "# match 3, mismatch -2\n   A  C  G  T\nA  3 -2 -2 -2\nC -2  3 -2 -2\nG -2 -2  3 -2\n"
        "T -2 -2 -2  3\n"
    )
    source = fasta_source("x.fna", molecule="nucleotide")
    scoring = {"matrix": "mine.txt", "gap_open": 5, "gap_extend": 2, "mode": "global"}
    said = check(configuration(source, "normalised", scoring=scoring))
    assert "mine: 30 records (0 dropped)" in said
    assert f"2 records look like the other strand of their class: {records[0][0]}, " in said


def test_classes_that_differ_in_case_are_told(check, tmp_path):
    write_fasta(tmp_path / "x.fasta", [*GOOD[2:], ("a0", "A", GOOD[0][2]), ("a1", "A", GOOD[1][2])])
    said = check(configuration(fasta_source()))
    assert "kreinflow: mine: the classes 'A' and 'a' differ in upper and lower case only" in said


def test_the_users_folds(check, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    rows = [f"{r[0]},{'test' if i % 5 == 0 else 'train'}" for i, r in enumerate(GOOD)]
    (tmp_path / "f.csv").write_text("\n".join(["id,fold", *rows]))
    folds = {"method": "table", "table": "f.csv"}
    assert "1 fold," in check(configuration(fasta_source(), folds=folds))


def test_the_data_folder_on_the_command_line(run, refused, tmp_path):
    write_fasta(tmp_path / "elsewhere" / "x.fasta", GOOD)
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(configuration(fasta_source())))
    assert run("check", tmp_path / "c.yaml", "--data", tmp_path / "elsewhere")[0] == 0
    message = refused("check", tmp_path / "c.yaml", "--data", tmp_path)
    assert f"{tmp_path}/x.fasta: no such file" in message


def _fasta(records):
    return "".join(f">{i} family={label};\n{s}\n" for i, label, s in records).encode()


# Other faults of each kind of file are in tests/sequences, with the same messages.


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "x.fasta: no such file."),
        (_fasta(GOOD).decode().encode("utf-16"), "x.fasta: is UTF-16 text. Save it as UTF-8"),
        (bz2.compress(_fasta(GOOD)), "x.fasta: is packed with bzip2. Unpack it"),
        (lzma.compress(_fasta(GOOD)), "x.fasta: is packed with xz. Unpack it"),
        (b"PK\x03\x04" + _fasta(GOOD), "x.fasta: is a zip archive"),
        (b"\xe9\x1b\n" + _fasta(GOOD), r"record starts with '>' but this line with '\xe9"),
        (_fasta([*GOOD, ("e\0", "a", "MKV")]), r"(line 61), e\x00: its id has a control character"),
        (
            _fasta([*GOOD, ("e", "a\x01b", "MKV")]),
            r"record 31 (line 61): the label 'a\x01b' has a control character. Remove it.",
        ),
        (_fasta(GOOD[:22]), "class 'c' has 2 different records"),
        (_fasta([*GOOD, ("e", "a", "XXX")]), "e: its 3 residues score 0 with themselves"),
    ],
)
def test_bad_fasta(faulty, tmp_path, content, message):
    if content is not None:
        (tmp_path / "x.fasta").write_bytes(content)
    source = fasta_source(labels={"pattern": "family=([^;]*);"})
    assert message in faulty(configuration(source, folds={"k": 3}))


def test_bad_labels(faulty, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    config = configuration(fasta_source(labels={"table": "y.tsv"}))
    write_labels(tmp_path / "y.tsv", [*GOOD[1:], ("a0", "\x1b[31mred", "")])
    expected = r"y.tsv, line 31: the 'label' has a control character: \x1b[31mred"
    assert expected in faulty(config)
    write_labels(tmp_path / "y.tsv", [('"a0', "a", ""), *GOOD[1:]])
    assert "Is a quotation mark opened and not closed" in faulty(config)
    write_labels(tmp_path / "y.tsv", [*GOOD[2:], ("a0", "a\u00a0b", ""), ("a1", "a b", "")])
    assert r"the labels 'a\xa0b' and 'a b' look the same" in faulty(config)


def test_control_characters_in_other_files(faulty, tmp_path):
    for name, label in (("a\x02", "a"), ("b", "b"), ("c\uffff", "c")):
        write_fasta(tmp_path / "all" / f"{name}.fasta", [r for r in GOOD if r[1] == label])
    files = configuration(fasta_source("all", {"from_file_names": True}))
    assert r"record 1 (line 1): the label 'a\x02' has a control" in faulty(files)
    (tmp_path / "all" / "a\x02.fasta").rename(tmp_path / "all" / "a.fasta")
    assert r"record 1 (line 1): the label 'c\uffff' has a control" in faulty(files)

    entries = [
        entry(f"P{i:05}", r[2], pfam=[f"PF{r[1]}" + "\x03" * (i == 4)]) for i, r in enumerate(GOOD)
    ]
    write_flat_file(tmp_path / "x.dat", entries)
    flat = {"type": "swissprot", "swissprot": "x.dat", "labels": {"from": "pfam"}}
    message = faulty(configuration(flat))
    assert "x.dat, entry 5" in message
    assert r"the label 'PFa\x03' has a control character" in message

    matrix = configuration(write_input(tmp_path, "similarity"), "raw")
    labels = (tmp_path / "y.txt").read_text().split()
    (tmp_path / "y.txt").write_text("\n".join([*labels[:6], "a\x04", *labels[7:]]))
    assert r"y.txt, line 7: the label 'a\x04' has a control character" in faulty(matrix)
    (tmp_path / "y.txt").write_text("\n".join(labels))
    table = (tmp_path / "k.csv").read_text().replace("o0", "o\x05")
    (tmp_path / "k.csv").write_text(table)
    assert r"k.csv, row 1: the id 'o\x05' has a control character" in faulty(matrix)


SPECTRA = {"name": "spectral_information_divergence"}
STRINGS = {"name": "edit_distance"}


@pytest.mark.parametrize(
    ("name", "content", "kernel", "message"),
    [
        ("x.csv", "a,b\n", None, "x.csv: has a header, but no rows."),
        ("x.csv", "1,2\n3,nan\n", None, "x.csv, row 2, column 2: nan is not a finite number."),
        ("x.csv", "1,2\n3,4\n", None, "y.txt: has 30 labels, but x.csv has 2 rows."),
        ("x.txt", "1 2\n", None, "x.txt: the ending is not one of a table of numbers"),
        ("x.csv", "1,2\n3,4\n", STRINGS, "compares strings. Give a .txt file"),
        ("x.txt", "ab\n\ncd\n", STRINGS, "x.txt, line 2: the string is empty."),
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
    ],
)
def test_bad_vectors(faulty, tmp_path, name, content, kernel, message):
    (tmp_path / name).write_text(content)
    (tmp_path / "y.txt").write_text("\n".join(points(1)[1]))
    assert message in faulty(configuration(vectors_source(name, kernel), "raw"))


UNIFORM = {"method": "uniform"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"selectors": {"meb": UNIFORM | {"budget": 16}}},
            "selectors.meb.budget: 16 landmarks are more than the 15",
        ),
        (
            {"selectors": {"meb": UNIFORM | {"budget": {"rank": 9}}}},
            "selectors.meb.budget: 25 landmarks are more than the 15",
        ),
        (
            {
                "selectors": {
                    "meb": UNIFORM | {"budget": "other"},
                    "other": {"method": "meb", "transform": "log"},
                },
                "transform": "normalised",
                "scoring": {"mode": "global", "gap_open": 11},
            },
            "the transform log of selector 'other' cannot take",
        ),
        ({"scoring": {"matrix": "BLOSUM26"}}, "'BLOSUM26'"),
        ({"scoring": {"matrix": "BLOSUM26"}}, "Did you mean 'blosum65'?"),
        ({"classify": {"new": {"dataset": "mine", "input": "new.fasta"}}}, "new.fasta: no such"),
    ],
)
def test_bad_settings(faulty, tmp_path, changes, message):
    write_fasta(tmp_path / "x.fasta", GOOD)
    assert message in faulty(configuration(fasta_source(), **changes))


def test_a_table_of_landmarks_that_folds_leave_empty(faulty, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    (tmp_path / "l.tsv").write_text("id\na0\nb0\n")
    given = {"meb": {"method": "given", "table": "l.tsv"}}
    message = faulty(configuration(fasta_source(), selectors=given))
    assert "of the 2 landmarks. Name more of them" in message


@pytest.mark.parametrize("text", ["a: &x [*x]\n", "a: " + "[" * 1500])
def test_a_config_without_an_end(refused, tmp_path, text):
    (tmp_path / "config.yaml").write_text(text)
    message = refused("check", tmp_path / "config.yaml")
    assert "config.yaml: a part holds itself, or is nested too deeply" in message


def test_results_that_cannot_be_a_folder(faulty, tmp_path):
    write_fasta(tmp_path / "x.fasta", GOOD)
    for results, message in (
        ("x.fasta", "x.fasta: is a file where a folder is expected"),
        ("x.fasta/deeper", "x.fasta: is a file where a folder is expected"),
        ("x" * 300, "cannot be used (File name too long). Set other 'results'."),
    ):
        assert message in faulty(configuration(fasta_source(), results=str(tmp_path / results)))
