"""No reader holds more than one record of the user's file, however long that is."""

import os

import numpy as np
import pytest
import scipy.io

from memory_peaks import peak_of, write_bomb

MOST = 60
"""Megabytes. What is refused would take 128 to 2,000."""

MIB = 1 << 20
SOURCES = "from kreinflow.sequences.sources.registry import make_source"
READERS = """
from kreinflow.sequences.fasta import read_any_fasta, read_fasta, check_begin
from kreinflow.sequences.labels import read_lines, read_pairs
from kreinflow.sequences.user_tables import check_columns
from kreinflow.sequences.matrix_files import read_matrix
from kreinflow.sequences.swissprot import read_swissprot
from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.config.configuration import read_configuration
import Bio.SwissProt, scipy.io
"""
WAY = "{'from': 'pfam', 'levels': 4, 'classes': None}"
BEGIN = "ID   A_HUMAN   Reviewed;   1000 AA.\nAC   P00001;\n"
PAIRS = "read_pairs(path, 'id', 'label')"
SQUARE = "read_matrix(path)"

BOMBS = {
    "fasta, one line": (
        "x.fasta.gz",
        [(">a one\n", 1), ("MKVL" * (MIB // 4), 200)],
        "for record in read_fasta(path, 40000): assert record.more; break",
        "",
    ),
    "fasta, the record after it": (
        "x.fasta.gz",
        [(">a one\n", 1), ("MKVL" * (MIB // 4), 200), ("\n>b\nMKV\n", 1)],
        "assert [r.residues for r in read_fasta(path, 40000)][1:] == [b'MKV']",
        "",
    ),
    "fasta, header, classify": (
        "x.fasta.gz",
        [(">a ", 1), ("Name " * (MIB // 5), 200), ("\nMKV\n>b\nMKV\n", 1)],
        "assert [r.residues for r in read_any_fasta(path)] == [b'', b'MKV']",
        "",
    ),
    "fasta, no header": (
        "x.fasta.gz",
        [("M" * MIB, 200)],
        "check_begin(path)",
        "x.fasta.gz, line 1: not FASTA",
    ),
    "labels, one line": (
        "x.tsv.gz",
        [("id\tlabel\na\t", 1), ("b" * MIB, 200)],
        PAIRS,
        "x.tsv.gz, line 2: has more than",
    ),
    "labels, quoted lines": (
        "x.csv.gz",
        [("id,label\na,b\n", 1), ('"\n",' * MIB, 60)],
        PAIRS,
        "x.csv.gz, line ",
    ),
    "fasta, white space": (
        "x.fasta.gz",
        [(">a one\nMKV", 1), ("\t" * MIB, 200), ("\n>b\nMKV\n", 1)],
        "assert [r.residues for r in read_fasta(path, 40000)] == [b'MKV', b'MKV']",
        "",
    ),
    "lines, one": (
        "y.txt.gz",
        [("a\n", 1), ("b" * MIB, 200)],
        "read_lines(path)",
        "y.txt.gz, line 2: has more than",
    ),
    "matrix, rows": (
        "k.csv.gz",
        [("0,1\n" * MIB, 200)],
        SQUARE,
        "k.csv.gz: has 3 rows and 2 columns",
    ),
    "vectors, rows": (
        "k.csv.gz",
        [("0,1,2,3,4,5,6,7,8,9\n" * MIB, 40)],
        "read_matrix(path, square=False, rows=10)",
        "k.csv.gz: has more than 10 rows",
    ),
    "flat file, sequence": (
        "x.dat.gz",
        [
            (f"{BEGIN}SQ   SEQUENCE   3 AA;  1 MW;  0 CRC64;\n", 1),
            ((f"     {'MKVLAMKVLA ' * 6}\n") * (MIB // 72), 200),
        ],
        f"for entry in read_swissprot(path, {WAY}, 40000): assert entry.more; break",
        "",
    ),
    "flat file, one line": (
        "x.dat.gz",
        [(f"{BEGIN}DE   ", 1), ("Name " * (MIB // 5), 200)],
        f"list(read_swissprot(path, {WAY}))",
        "x.dat.gz, line 3: has more than",
    ),
    "flat file, references": (
        "x.dat.gz",
        [(BEGIN, 1), ("DR   Pfam; PF00009; A_name; 1.\n" * (MIB // 32), 200)],
        f"list(read_swissprot(path, {WAY}))",
        "x.dat.gz, entry 1 (line 1): has more than",
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_gzip_bomb_is_refused_while_it_is_read(tmp_path, name):
    file, parts, code, message = BOMBS[name]
    path = write_bomb(tmp_path / file, *parts)
    assert path.stat().st_size < 5_000_000
    megabytes, said = peak_of(READERS, f"path = Path({str(path)!r})\n{code}")
    assert bool(said) == bool(message), said
    assert said.startswith(f"{tmp_path}/{message}" if message else ""), said
    assert megabytes < (ROW if name.startswith("labels") else MOST)


ROW = 1000
"""Megabytes that the longest row of a table may take, in fields of text."""


def test_the_longest_row_of_a_matrix(tmp_path):
    path = write_bomb(tmp_path / "k.csv.gz", ("12," * MIB, 300))
    megabytes, said = peak_of(READERS, f"read_matrix(Path({str(path)!r}))")
    assert said.startswith(f"{path}, line 1: has more than 33,554,432 characters")
    assert megabytes < ROW


@pytest.mark.parametrize(
    ("name", "sign", "last", "code", "message"),
    [
        ("x.tsv.gz", "\t", "id\tlabel", PAIRS, "has no line below its header"),
        ("k.csv.gz", ",", "12", SQUARE, "has 1 row and "),
    ],
)
def test_the_memory_of_the_longest_row(tmp_path, name, sign, last, code, message):
    path = write_bomb(tmp_path / name, (f"12{sign}" * MIB, 10), (f"{last}\n", 1))
    megabytes, said = peak_of(READERS, f"path = Path({str(path)!r})\n{code}")
    assert message in said
    assert megabytes < ROW


def test_a_square_matrix_that_no_machine_holds_is_refused_at_its_first_row(tmp_path):
    path = write_bomb(tmp_path / "k.csv.gz", ("0," * MIB + "0\n", 2))
    megabytes, said = peak_of(READERS, f"read_matrix(Path({str(path)!r}))")
    assert "a square matrix of 1,048,577 columns takes 8,796 GB of memory" in said
    assert megabytes < ROW


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("check_begin(path)", "line 1: not FASTA"),
        ("list(read_any_fasta(path))", "line 1: not FASTA"),
        ("read_lines(path)", "line 1: has more than"),
        (f"list(read_swissprot(path, {WAY}))", "line 1: has more than"),
        ("read_configuration(path)", "has more than"),
        ("load_substitution_matrix(path)", "neither one of parasail's nor a file"),
    ],
)
def test_a_file_without_an_end_is_refused(code, message):
    megabytes, said = peak_of(READERS, f"path = Path('/dev/zero')\n{code}")
    assert message in said
    assert "/dev/zero" in said
    assert megabytes < MOST


def sparse_npy(path, shape, dtype="<f8", version=(1, 0), header=None):
    """Write the beginning of an array; the numbers are a hole in the file."""
    described = header or {"descr": dtype, "fortran_order": False, "shape": shape}
    with path.open("wb") as file:
        writer = np.lib.format.write_array_header_1_0
        writer(file, described)
        file.truncate(file.tell() + int(np.prod(shape)) * np.dtype(dtype).itemsize)
    return path


@pytest.mark.parametrize(
    ("shape", "dtype", "call", "message"),
    [
        ((20000, 20001), "<i1", "read_matrix(path)", "has 20000 rows and 20001 columns"),
        ((10000, 10000), "<c16", "read_matrix(path)", "holds complex128 of 2 dimensions"),
        ((20000, 20000), "<f4", "read_matrix(path, rows=30)", "has more than 30 rows"),
        ((200, 2000000), "<i1", "read_matrix(path, square=False, rows=30)", "more than 30 rows"),
        ((200000000,), "<f8", "read_matrix(path)", "holds float64 of 1 dimensions"),
    ],
)
def test_the_shape_of_an_array_is_checked_before_its_numbers_are_read(
    tmp_path, shape, dtype, call, message
):
    path = sparse_npy(tmp_path / "k.npy", shape, dtype)
    megabytes, said = peak_of(READERS, f"path = Path({str(path)!r})\n{call}")
    assert said.startswith(f"{path}: ")
    assert message in said
    assert megabytes < MOST


def test_the_header_of_an_array_is_not_read_if_it_is_too_long(tmp_path):
    path = tmp_path / "k.npy"
    with path.open("wb") as file:
        file.write(b"\x93NUMPY\x02\x00" + (2_000_000_000).to_bytes(4, "little"))
        file.truncate(2_100_000_000)
    megabytes, said = peak_of(READERS, f"read_matrix(Path({str(path)!r}))")
    assert said.startswith(f"{path}: truncated, not a .npy file")
    assert megabytes < MOST


PACKED = 300
"""Megabytes: scipy unpacks 131,072 bytes of a ``.mat`` file at once, a thousandfold at most."""


def test_of_a_mat_file_only_the_matrix_that_is_wanted_is_read(tmp_path):
    path = tmp_path / "k.mat"
    matrices = {"k": np.eye(3), "big": np.zeros((7000, 7001))}
    scipy.io.savemat(path, matrices, do_compression=True)
    call = f"read_matrix(Path({str(path)!r}), "
    megabytes, said = peak_of(READERS, f"assert {call}'k').values.shape == (3, 3)")
    assert said == ""
    assert megabytes < PACKED
    megabytes, said = peak_of(READERS, f"{call}'big')")
    assert "has 7000 rows and 7001 columns" in said
    assert megabytes < PACKED


@pytest.mark.parametrize("way", ["refuse", "drop"])
def test_a_record_of_a_data_set_is_refused_or_dropped_while_it_is_read(tmp_path, way):
    """What `max_length` and `too_long` promise, for the sources as a whole."""
    few = "".join(f">{c}{i} family={c};\n{'MKVL' * (i + 2)}{c}\n" for c in "ACD" for i in range(4))
    path = write_bomb(
        tmp_path / "x.fasta.gz", (f"{few}>long family=A;\n", 1), ("MKVL" * (MIB // 4), 200)
    )
    settings = {
        "type": "fasta", "fasta": "x.fasta.gz", "labels": {"pattern": r"family=(\w)"},
        "molecule": "protein", "illegal_residues": "refuse", "unmatched": "refuse",
        "conflicting_labels": "drop", "max_length": 40000, "too_long": way, "min_class_size": 2,
    }  # fmt: skip
    code = (
        f"source = make_source({settings!r}, Path({str(tmp_path)!r}))\n"
        "data = source.load('ARNDCQEGHILKMFPSTWYV', 1)\n"
        "assert len(data.ids) == 12 and data.dropped == ('long',)"
    )
    megabytes, said = peak_of(f"{SOURCES}\nimport Bio", code)
    refusal = (
        f"{path}, record 13 (line 25), long: has more residues than max_length = 40000. "
        "Raise it, or set 'too_long: drop'."
    )
    assert said == ("" if way == "drop" else refusal)
    assert megabytes < MOST
