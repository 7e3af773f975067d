"""Tables come back with all digits; what is truncated or holds something else is refused."""

import gzip

import numpy as np
import pandas as pd
import pytest

from flipped_bits import count_refused
from kreinflow.base.errors import InputError
from kreinflow.files.tables import (
    read_measures,
    read_plain_columns,
    read_table,
    write_table,
)


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz"])
def test_tables_come_back_with_all_digits(tmp_path, name):
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {"id": ["NA", "1e5", "nan"], "x": rng.normal(size=3) * 10.0 ** rng.integers(-200, 200, 3)}
    )
    path = tmp_path / name
    write_table(path, table)
    first = path.read_bytes()
    back = read_table(path, ["id", "x"], text=["id"])
    assert back["id"].tolist() == ["NA", "1e5", "nan"]
    assert (back["x"].to_numpy() == table["x"].to_numpy()).all()
    write_table(path, back)
    assert path.read_bytes() == first


def test_truncated_tables_and_missing_columns_are_refused(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("id\tx\na\t1\n")
    with pytest.raises(InputError, match="column 'label' is missing"):
        read_table(path, ["id", "label"])
    path.write_text("id\tx\na\t1\nb\t2")
    with pytest.raises(InputError, match="truncated"):
        read_table(path, ["id"])
    packed = gzip.compress(b"id\tx\na\t1\n" * 50)
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(packed[:-9])
    with pytest.raises(InputError, match="truncated or not gzip"):
        read_table(path, ["id"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a\t1\t0.5", None),
        ("a\t1", "not a table"),
        ("a\t\t0.5", "not a table"),
        ("a\t1.5\t0.5", "not a table"),
        ("a\t10000000000000000000\t0.5", "not a table"),
        ("a\t\u0663\t0.5", "not a table"),
        ("a\t1\t", "not a table"),
        ("a\t1\t0.5.1", "not a table"),
        ("a\t1\t1e999", "column 'x' holds a number that is not finite"),
        ("a\t1\t-inf", "column 'x' holds a number that is not finite"),
    ],
)
def test_columns_of_numbers_hold_numbers(tmp_path, line, message):
    path = tmp_path / "t.tsv"
    path.write_text(f"id\trow\tx\nb\t2\t1.0\n{line}\n", encoding="utf-8")

    def read():
        return read_table(path, ["id"], ["id"], ["row"], ["x"])

    if message is None:
        assert read().dtypes[["row", "x"]].tolist() == [np.int64, np.float64]
        return
    with pytest.raises(InputError, match=f"t.tsv: {message}.*Delete it and run again"):
        read()


def test_tables_whose_lines_are_longer_than_the_header_are_refused(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("row\tx\n1\t2\t3\n4\t5\t6\n")
    with pytest.raises(InputError, match="t.tsv: not a table.*Length of header"):
        read_table(path, ["row"])
    path.write_text("row\n4\n")
    for missing in ({"whole": ["x"]}, {"finite": ["x"]}):
        with pytest.raises(InputError, match="t.tsv: column 'x' is missing"):
            read_table(path, ["row"], **missing)


@pytest.mark.parametrize("cell", ["", "True", "False", "3", "1e-5", "inf", "-0.25"])
def test_measures_are_numbers_or_yes_and_no_or_nothing(tmp_path, cell):
    path = tmp_path / "t.tsv"
    path.write_text(f"recipe\tx\na\t1\nTrue\t{cell}\n")
    table = read_measures(path, ["x"], ["recipe"])
    assert table["recipe"].tolist() == ["a", "True"]
    for wrong in ("Tsue", "0,5", "1\x1b[31m", "\u0663x", "--1"):
        path.write_text(f"recipe\tx\na\t{cell}\nb\t{wrong}\nc\t\n")
        with pytest.raises(InputError, match="t.tsv: '.*' in column 'x' is no number. Delete it"):
            read_measures(path, ["x"], ["recipe"])


def test_every_flip_of_a_bit_in_a_packed_table_gives_the_table_or_a_refusal(tmp_path):
    path = tmp_path / "t.tsv.gz"
    table = pd.DataFrame({"id": ["a", "b"], "x": [1, 2]})
    write_table(path, table)
    bits = 8 * len(path.read_bytes())

    def read(path):
        assert read_table(path, ["id", "x"], ["id"])["x"].tolist() == [1, 2]

    # Of the header's ten bytes, those that say nothing of the content may change.
    assert bits - 80 <= count_refused(path, read, flips=bits) < bits


def test_plain_columns_are_those_of_the_table(tmp_path):
    path = tmp_path / "t.tsv"
    table = pd.DataFrame({"digest": ["00", "1e5"], "length": [2, 3], "sequence": ["NA", "MKV"]})
    write_table(path, table)
    columns = read_plain_columns(path, ["sequence", "digest"])
    assert columns == [[b"NA", b"MKV"], [b"00", b"1e5"]]
    write_table(path, table[:0])
    assert read_plain_columns(path, ["digest"]) == [[]]
    for text, message in (
        ("digest\tsequence\n00\tMKV", "truncated"),
        ("digest\tlength\n00\t3\n", "column 'sequence' is missing"),
        ("digest\tsequence\n00\tMKV\n01\n", "different numbers of columns"),
        ("digest\tsequence\n00\tMKV\t1\n01\n02\tMKL\n", "different numbers of columns"),
        ("digest\tsequence", "truncated"),
        ("", "column 'digest' is missing"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_plain_columns(path, ["digest", "sequence"])
