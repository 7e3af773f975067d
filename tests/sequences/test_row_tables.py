"""Tables of distinct rows: what cannot be is refused, and the digest finds other numbers too."""

import numpy as np
import pandas as pd
import pytest

from data_sets import dataset_of
from flipped_bits import count_refused
from kreinflow.base.errors import InputError
from kreinflow.files.artifacts import write_table
from kreinflow.fitting.run import read_landmark_table
from kreinflow.landmarks.stage import read_candidates, read_union
from kreinflow.sequences.dataset import read_rows, write_rows
from kreinflow.sequences.payload import Matrix

DATASET = dataset_of(np.arange(12) % 2, Matrix(np.eye(12), kind="similarity"))
TABLE = pd.DataFrame({"row": [3, 4, 8], "class": [DATASET.row_labels[row] for row in (3, 4, 8)]})


@pytest.fixture
def path(tmp_path):
    write_rows(tmp_path / "rows.tsv", TABLE, DATASET)
    return tmp_path / "rows.tsv"


def test_rows_come_back_with_their_digests(path):
    table = read_rows(path, DATASET, ["class"])
    assert table[["row", "class"]].equals(TABLE.astype(table[["row", "class"]].dtypes))
    assert table["digest"].tolist() == [DATASET.digests[row] for row in TABLE["row"]]
    write_rows(path, TABLE[:0], DATASET)
    assert read_rows(path, DATASET, ["class"]).empty


@pytest.mark.parametrize(
    ("column", "value"),
    [("row", 5), ("row", 12), ("row", -4), ("row", 4), ("digest", "0" * 32), ("class", "c9")],
    ids=["another", "too large", "negative", "twice", "digest", "class"],
)
def test_a_row_that_cannot_be_is_refused(path, column, value):
    table = read_rows(path, DATASET, ["class"])
    table.loc[2, column] = value
    write_table(path, table)
    with pytest.raises(InputError, match=r"rows.tsv: line 4 \(row -?\d+\) is damaged.*Delete it"):
        read_rows(path, DATASET, ["class"])


@pytest.mark.parametrize("cell", ["", "4r", "1.5", "9" * 30, "nan", "\u0664"])
def test_a_row_that_is_no_number_is_refused(path, cell):
    path.write_text(path.read_text().replace("\n4\t", f"\n{cell}\t"))
    with pytest.raises(InputError, match="rows.tsv: not a table"):
        read_rows(path, DATASET)


def test_a_row_may_stand_in_a_class_and_in_the_sketch_but_not_twice_in_one(path):
    twice = pd.DataFrame({"class": ["", DATASET.row_labels[3]], "row": [3, 3]})
    write_rows(path, twice, DATASET)
    assert {name: rows.tolist() for name, rows in read_candidates(path, DATASET).items()} == {
        "": [3],
        DATASET.row_labels[3]: [3],
    }
    write_rows(path, pd.concat([twice, twice[1:]]), DATASET)
    with pytest.raises(InputError, match="line 4"):
        read_candidates(path, DATASET)


def test_flips_of_single_bits_give_the_same_rows_or_a_refusal(path):
    measures = TABLE.assign(weight=[0.25, 0.5, np.nan], radius=0.5, reached=True)

    def same(rows):
        assert rows.tolist() == TABLE["row"].tolist()

    write_rows(path, measures, DATASET)
    assert count_refused(path, lambda p: same(read_landmark_table(p, DATASET)["row"])) > 200
    write_rows(path, TABLE, DATASET)
    assert count_refused(path, lambda p: same(read_union([p], DATASET))) > 250

    def same_candidates(found):
        assert sorted(row for rows in found.values() for row in rows) == TABLE["row"].tolist()

    assert count_refused(path, lambda p: same_candidates(read_candidates(p, DATASET))) > 250
