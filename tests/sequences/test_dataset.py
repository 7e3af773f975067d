"""Data sets on their way through files."""

import numpy as np
import pandas as pd
import pytest

from data_sets import assert_same_rows, content, dataset_of, load
from flipped_bits import count_refused, each_flip
from kreinflow.base.errors import InputError
from kreinflow.files.arrays import write_array
from kreinflow.files.json_files import write_json
from kreinflow.files.tables import write_table
from kreinflow.fitting.run import read_landmark_table
from kreinflow.landmarks.stage import read_candidates, read_union
from kreinflow.sequences.dataset import read_dataset, read_rows, write_dataset, write_rows
from kreinflow.sequences.payload import Matrix
from kreinflow.sequences.record_vectors import with_vectors
from small_inputs import fasta_source, matrix_source, vectors_source, write_fasta, write_vectors

X = np.array([[1.0, 2.0], [3.0, 4.5], [0.0, 1e-300], [7.0, 8.0]])
STRINGS = ["kitten", "sitting", "NA", 'a "quoted", one', "tab\tin it", "Ångström", "007", "#x"]
RECORDS = [("a", "'q", "MKVL"), ('"q', "'q", "MKVW"), ("NA", "NA", "MKVV"), ("n2", "NA", "MKVY")]
RECORDS += [("b", "'q", "MKVL"), ("c", "007", "WWWW")]


def made(kind, folder):
    """A small data set of each kind of payload, with odd ids, labels and strings."""
    if kind in ("sequences", "with vectors"):
        write_fasta(folder / "x.fasta", RECORDS, header="{id} OS=A b OX=1 family={label};")
        data = load(fasta_source(labels={"pattern": "family=(.+);"}), folder)
        vectors = write_vectors(folder / "v.tsv", data.ids)
        return data if kind == "sequences" else with_vectors(data, vectors)
    if kind == "paths":
        labels = ["A.1", "A.2", "B.1", "B.1", "A.3", "A.2"]
        records = [(i, own, s) for (i, _, s), own in zip(RECORDS, labels, strict=True)]
        write_fasta(folder / "x.fasta", records, header="{id} family={label}")
        return load(fasta_source(labels={"pattern": "family=(.+)"}), folder, separator=".")
    if kind == "several":
        labels = ["p q;r", "p q", "r;NA", "r;p q", "p q;NA", "r"]
        records = [(i, own, s) for (i, _, s), own in zip(RECORDS, labels, strict=True)]
        write_fasta(folder / "x.fasta", records, header="{id} family={label}")
        labels = {"pattern": "family=(.+)", "multiple": "all", "separator": ";"}
        return load(fasta_source(labels=labels, min_class_size=1), folder)
    np.save(folder / "k.npy", X @ X.T)
    np.save(folder / "x.npy", X)
    (folder / "x.txt").write_text("\n".join(STRINGS))
    (folder / "y.txt").write_text("a\nb\n" * (len(STRINGS if kind == "strings" else X) // 2))
    sources = {
        "matrix": matrix_source(name="k.npy"),
        "vectors": vectors_source(kernel={"name": "gaussian", "width": 2.0}),
        "strings": vectors_source("x.txt", {"name": "edit_distance"}),
    }
    return load(sources[kind], folder)


ARRAYS = {"with vectors": "view.npy", "matrix": "matrix.npy", "vectors": "vectors.npy"}


@pytest.mark.parametrize("kind", [*ARRAYS, "sequences", "several", "strings", "paths"])
def test_written_and_read_again(tmp_path, kind):
    dataset, out, array = made(kind, tmp_path), tmp_path / "out", ARRAYS.get(kind)
    write_dataset(out, dataset)
    again = read_dataset(out)
    assert_same_rows(again, dataset)
    for name in ("ids", "statistics", "dropped", "organisms", "paths"):
        assert getattr(again, name) == getattr(dataset, name)
    assert (dataset.memberships is not None) == (kind == "several")
    np.testing.assert_array_equal(again.memberships, dataset.memberships)
    assert (dataset.vectors is not None) == (kind == "with vectors")
    np.testing.assert_array_equal(again.vectors, dataset.vectors)
    files = {p.name: p.read_bytes() for p in out.iterdir()}
    assert set(files) == {"records.tsv", "distinct.tsv", "summary.json"} | ({array} - {None})
    write_dataset(out, again)
    assert files == {p.name: p.read_bytes() for p in out.iterdir()}
    if kind == "sequences":
        assert (dataset.ids[1], dataset.dropped) == ('"q', ("c",))
        assert dataset.organisms["organism"] == ("A b",) * 5
    if kind == "paths":  # the first and the last but one are one sequence, with no other at A
        assert dataset.paths == ("A.1", "A.2", "B.1", "B.1", "A.3", "A.2")
        assert dataset.joined_labels == ["A", "A.2", "B.1", "B.1", "A", "A.2"]
        assert dataset.statistics["rolled_up"] == {"count": 2, "examples": ["a", "b"]}
        assert dataset.statistics["levels"] == {"labels": [0, 6], "learned": [2, 4]}
    if kind == "strings":
        assert content(again.payload).tolist() == STRINGS
    if array:
        numbers = content(again.payload) if again.vectors is None else again.vectors
        assert isinstance(numbers, np.memmap)
        write_array(out / array, np.load(out / array)[:3])
        with pytest.raises(InputError, match="do not belong together"):
            read_dataset(out)


@pytest.mark.parametrize("kind", ["sequences", "matrix"])
def test_a_flipped_bit_in_any_file_is_refused_and_the_file_named(tmp_path, kind):
    out = tmp_path / "out"
    write_dataset(out, made(kind, tmp_path))
    for path in sorted(out.iterdir()):
        whole = path.rename(tmp_path / path.name)
        for damaged in each_flip(whole, every=7):
            damaged.rename(path)
            with pytest.raises(InputError) as caught:
                read_dataset(out)
            path.rename(damaged)
            assert str(caught.value).startswith(f"{path}: ")
            what = f"the folder {out}" if path.suffix == ".npy" else "it"
            assert f"Delete {what} and run again" in str(caught.value)
        whole.rename(path)
    read_dataset(out)


def test_foreign_artifacts_are_refused(tmp_path):
    dataset = made("sequences", tmp_path)
    with pytest.raises(TypeError, match="holds Sequences, not Matrix"):
        _ = dataset.matrix
    write_dataset(tmp_path, dataset)
    (tmp_path / "distinct.tsv").unlink()
    with pytest.raises(InputError, match=r"distinct.tsv: cannot be read"):
        read_dataset(tmp_path)
    write_json(tmp_path / "summary.json", {})
    with pytest.raises(InputError, match=r"summary.json: not the summary of a data set"):
        read_dataset(tmp_path)


TWELVE = dataset_of(np.arange(12) % 2, Matrix(np.eye(12), kind="similarity"))
TABLE = pd.DataFrame({"row": [3, 4, 8], "class": [TWELVE.row_labels[row] for row in (3, 4, 8)]})


@pytest.fixture
def path(tmp_path):
    write_rows(tmp_path / "rows.tsv", TABLE, TWELVE)
    return tmp_path / "rows.tsv"


def test_rows_come_back_with_their_digests(path):
    table = read_rows(path, TWELVE, ["class"])
    assert table[["row", "class"]].equals(TABLE.astype(table[["row", "class"]].dtypes))
    assert table["digest"].tolist() == [TWELVE.digests[row] for row in TABLE["row"]]


@pytest.mark.parametrize(
    ("column", "value"),
    [("row", 5), ("row", 12), ("row", -4), ("row", 4), ("digest", "0" * 32), ("class", "c9")],
    ids=["another", "too large", "negative", "twice", "digest", "class"],
)
def test_a_row_that_cannot_be_is_refused(path, column, value):
    table = read_rows(path, TWELVE, ["class"])
    table.loc[2, column] = value
    write_table(path, table)
    with pytest.raises(InputError, match=r"rows.tsv: line 4 \(row -?\d+\) is damaged.*Delete it"):
        read_rows(path, TWELVE, ["class"])


def test_a_row_may_stand_in_a_class_and_in_the_sketch_but_not_twice_in_one(path):
    twice = pd.DataFrame({"class": ["", TWELVE.row_labels[3]], "row": [3, 3]})
    write_rows(path, twice, TWELVE)
    found = {name: rows.tolist() for name, rows in read_candidates(path, TWELVE).items()}
    assert found == {"": [3], TWELVE.row_labels[3]: [3]}
    write_rows(path, pd.concat([twice, twice[1:]]), TWELVE)
    with pytest.raises(InputError, match="line 4"):
        read_candidates(path, TWELVE)


def test_flips_of_single_bits_give_the_same_rows_or_a_refusal(path):
    measures = TABLE.assign(weight=[0.25, 0.5, np.nan], radius=0.5, reached=True)

    def same(rows):
        assert rows.tolist() == TABLE["row"].tolist()

    write_rows(path, measures, TWELVE)
    assert count_refused(path, lambda p: same(read_landmark_table(p, TWELVE)["row"])) > 200
    write_rows(path, TABLE, TWELVE)
    assert count_refused(path, lambda p: same(read_union([p], TWELVE))) > 250

    def same_candidates(found):
        assert sorted(row for rows in found.values() for row in rows) == TABLE["row"].tolist()

    assert count_refused(path, lambda p: same_candidates(read_candidates(p, TWELVE))) > 250
