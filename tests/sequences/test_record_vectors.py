"""Vectors of records: found by their ids, one for each distinct row, refused where they lack."""

import gzip

import numpy as np
import pytest

from data_sets import load
from kreinflow.base.errors import InputError
from kreinflow.files.provenance import file_sha256
from kreinflow.sequences.dataset import without_unknown
from kreinflow.sequences.matrix_files import read_record_vectors
from kreinflow.sequences.record_vectors import shared_vectors, with_vectors
from small_inputs import families, fasta_source, matrix_source, write_fasta, write_matrix

RECORDS = families(3, each=4)
IDS = [id for id, _, _ in RECORDS]


def table(path, rows, header="id\tx\ty\n"):
    text = header + "".join("\t".join(map(str, row)) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


@pytest.fixture
def dataset(tmp_path):
    """Twelve records of which the second has the sequence of the first."""
    records = list(RECORDS)
    records[1] = (*records[1][:2], records[0][2])
    write_fasta(tmp_path / "x.fasta", records)
    return load(fasta_source(), tmp_path)


def test_each_distinct_row_has_the_vector_of_its_first_record(dataset, tmp_path):
    rows = [(id, i, -i / 3) for i, id in enumerate(IDS)]
    order = np.random.default_rng(1).permutation(len(rows))
    path = table(tmp_path / "v.tsv.gz", [("other", 7, 7), *(rows[i] for i in order)])
    found = with_vectors(dataset, path)
    first = {row: i for i, row in reversed(list(enumerate(dataset.rows.tolist())))}
    wanted = [[first[row], -first[row] / 3] for row in range(len(dataset.digests))]
    np.testing.assert_array_equal(found.vectors, wanted)
    assert found.statistics["vectors"]["differ"] == {"count": 1, "examples": [IDS[1]]}
    assert found.statistics["files"]["v.tsv.gz"] == file_sha256(path)
    assert shared_vectors(found).endswith(f"other vector stands for both: {IDS[1]}")
    rows[1] = (IDS[1], *rows[0][1:])  # twins that agree are nothing to tell
    alike = with_vectors(dataset, table(tmp_path / "v.tsv", rows))
    assert shared_vectors(alike) == "vectors of 2 numbers"
    np.testing.assert_array_equal(without_unknown(found, ["a"]).vectors, found.vectors[-8:])


def test_identical_rows_of_a_matrix_are_one_object_with_one_vector(tmp_path):
    K = np.exp(-np.abs(np.subtract.outer([0, 0, 1, 5, 6, 7], [0, 0, 1, 5, 6, 7])))
    write_matrix(tmp_path / "k.csv", K, list("pqrstu"))
    (tmp_path / "y.txt").write_text("a\na\na\nb\nb\nb\n")
    found = with_vectors(
        load(matrix_source(), tmp_path),
        table(tmp_path / "v.tsv", [(id, ord(id), 0) for id in "utsrqp"]),
    )
    assert found.vectors[:, 0].tolist() == [ord(id) for id in "pprstu"]
    assert found.statistics["vectors"]["differ"] == {"count": 1, "examples": ["q"]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(id, 1, 2) for id in IDS[2:]], f"no vector for 2 of the 12 records: {IDS[0]}, {IDS[1]}"),
        ([(IDS[0], 1, 2), (IDS[0], 1, 2)], f"'{IDS[0]}' of row 2 is empty or stands twice"),
        ([(IDS[0], 1, 2), (IDS[1], 1, "nan")], rf"row 2 \({IDS[1]}\), column 3: nan is not a fin"),
        ([(IDS[0], 1e70, 2)], "column 2: 1e\\+70 is not a finite number, or above 1e\\+60"),
    ],
)
def test_tables_that_are_refused(dataset, tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        with_vectors(dataset, table(tmp_path / "v.tsv", rows))


def test_numbers_are_ids_under_a_header_alone_and_files_that_are_refused(tmp_path):
    read = read_record_vectors(table(tmp_path / "v.tsv", [(12, 1, 2), (7, 3, 4)]))
    assert read.ids == ("12", "7")
    path = table(tmp_path / "v.tsv", [(1, 2, 3), (4, 5, 6)], header="")
    for file, width, message in (
        (tmp_path / "v.npy", None, "v.npy: the ending is not .*Name it .csv, .tsv"),
        (path, None, "call the column id in a header"),
        (path, 4, "has 3 columns of numbers where the model's vectors have 4"),
    ):
        with pytest.raises(InputError, match=message):
            read_record_vectors(file, width)
