"""Vectors and strings as data sets: what is read, collapsed, refused, and read again."""

import hashlib

import numpy as np
import pytest
import scipy.io

from kreinflow.errors import InputError
from kreinflow.kernels.generators import generate
from kreinflow.sequences.dataset import check_source, load_dataset, read_dataset, write_dataset
from small_inputs import write_matrix

X = np.array([[1.0, 2.0], [3.0, 4.5], [-0.0, 1e-300], [1.0, 2.0], [0.0, 1e-300], [5.0, 6.0]])
LABELS = ["a", "b", "a", "a", "a", "b"]


def source(name="x.csv", kernel=None, **changes):
    return {
        "type": "vectors",
        "vectors": name,
        "kernel": kernel or {"name": "gaussian", "width": 2.0},
        "labels": {"lines": "y.txt"},
        "variable": None,
        "conflicting_labels": "drop",
        "min_class_size": 2,
    } | changes


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.csv").write_text("\n".join(f"{x!r},{y!r}" for x, y in X.tolist()))
    (tmp_path / "y.txt").write_text("\n".join(LABELS))
    return tmp_path


def load(folder, part):
    check_source(part, folder)
    return load_dataset(part, folder, None, seed=1)


def assert_same(one, other):
    assert one.ids == other.ids
    assert one.classes == other.classes
    assert one.digests == other.digests
    assert (one.kind, one.kernel, one.dropped) == (other.kind, other.kernel, other.dropped)
    assert one.statistics == other.statistics
    np.testing.assert_array_equal(one.rows, other.rows)
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.objects, other.objects)
    assert one.sequences is None is other.sequences
    assert one.matrix is None is other.matrix


def test_identical_vectors_share_a_row_and_a_zero_has_no_sign(folder):
    dataset = load(folder, source())
    assert dataset.ids == tuple("123456")
    assert dataset.rows.tolist() == [0, 1, 2, 0, 2, 3]
    np.testing.assert_array_equal(dataset.objects, X[[0, 1, 2, 5]])
    assert not np.signbit(dataset.objects).any()
    assert dataset.kind == "similarity"
    assert dataset.kernel == {"name": "gaussian", "width": 2.0}
    first = hashlib.sha256(X[0].tobytes()).hexdigest()[:32]
    assert dataset.digests[0] == first
    assert dataset.statistics["distinct"] == 4
    assert dataset.statistics["lengths"] == {}
    assert set(dataset.statistics["files"]) == {"x.csv", "y.txt"}
    assert dataset.lengths.tolist() == [0] * 4


@pytest.mark.parametrize("name", ["x.npy", "x.mat", "x.tsv", "x.csv.gz"])
def test_every_ending_gives_the_same_vectors(folder, name):
    ids = [f"o{i}" for i in range(6)]
    if name == "x.npy":
        np.save(folder / name, X)
    elif name == "x.mat":
        scipy.io.savemat(folder / name, {"X": X, "Y": X[:3]})
    else:
        write_matrix(folder / name, X, ids, ["height", "width"])
    dataset = load(folder, source(name, variable="X"))
    assert dataset.ids == (tuple("123456") if name in ("x.npy", "x.mat") else tuple(ids))
    np.testing.assert_array_equal(dataset.objects, X[[0, 1, 2, 5]])


def test_one_feature_needs_no_header(folder):
    (folder / "x.csv").write_text("1.5\n2.5\n3\n4\n5\n6\n")
    assert load(folder, source()).objects[:, 0].tolist() == [1.5, 2.5, 3, 4, 5, 6]
    (folder / "x.csv").write_text("height\n1.5\n2.5\n3\n4\n5\n6\n")
    assert load(folder, source()).objects[:, 0].tolist() == [1.5, 2.5, 3, 4, 5, 6]


def test_labels_of_a_table_are_matched_by_id(folder):
    ids = [f"o{i}" for i in range(6)]
    write_matrix(folder / "x.csv", X, ids, ["height", "width"])
    lines = [f"{i},{label}" for i, label in zip(ids, LABELS, strict=True)]
    (folder / "y.csv").write_text("\n".join(["name,kind", *lines[::-1]]))
    labels = {"table": "y.csv", "id_column": "name", "label_column": "kind"}
    dataset = load(folder, source(labels=labels))
    assert [dataset.classes[code] for code in dataset.labels] == LABELS


def test_identical_vectors_with_other_labels(folder):
    np.save(folder / "x.npy", np.vstack([X, [[7.0, 8.0]]]))
    (folder / "y.txt").write_text("\n".join(["a", "b", "a", "b", "a", "b", "a"]))
    dataset = load(folder, source("x.npy"))
    assert dataset.dropped == ("1", "4")
    assert dataset.statistics["dropped"]["identical vectors with different labels"]["count"] == 2
    with pytest.raises(InputError, match="'1' and '4' are the same vector with the labels 'a'"):
        load(folder, source("x.npy", conflicting_labels="refuse"))


def test_small_classes_count_distinct_vectors(folder):
    values = np.vstack([X, [[7, 7], [8, 8]]])
    np.save(folder / "x.npy", values)
    (folder / "y.txt").write_text("\n".join(["a", "b", "c", "a", "c", "b", "c", "c"]))
    dataset = load(folder, source("x.npy"))
    assert dataset.classes == ("b", "c")
    assert dataset.dropped == ("1", "4")


STRINGS = ["kitten", "sitting", "NA", 'a "quoted", one', "tab\tin it", "Ångström", "007", "#x"]


@pytest.fixture
def strings(tmp_path):
    (tmp_path / "x.txt").write_text("\n".join([*STRINGS, "kitten"]) + "\n")
    (tmp_path / "y.txt").write_text("\n".join(["a", "b"] * 4 + ["a"]))
    return tmp_path


def test_strings(strings):
    dataset = load(strings, source("x.txt", {"name": "edit_distance"}))
    assert dataset.objects.tolist() == STRINGS
    assert dataset.rows.tolist() == [*range(8), 0]
    assert dataset.kind == "squared_dissimilarity"
    assert dataset.digests[5] == hashlib.sha256("Ångström".encode()).hexdigest()[:32]
    write_dataset(strings / "made", dataset)
    assert not (strings / "made" / "vectors.npy").exists()
    assert_same(read_dataset(strings / "made"), dataset)


def test_vectors_written_and_read_again(folder):
    dataset = load(folder, source())
    write_dataset(folder / "made", dataset)
    again = read_dataset(folder / "made")
    assert_same(again, dataset)
    assert isinstance(again.objects, np.memmap)
    np.save(folder / "made" / "vectors.npy", X[:3])
    with pytest.raises(InputError, match="do not belong together"):
        read_dataset(folder / "made")


def test_generated_data(tmp_path):
    part = {
        "type": "generated",
        "generator": {"name": "bananas", "objects": 50, "overlap": 0.1},
        "kernel": {"name": "elm", "deviation": 1e10},
        "min_class_size": 2,
    }
    dataset = load(tmp_path, part)
    data = generate(part["generator"], 1)
    np.testing.assert_array_equal(dataset.objects, data.vectors)
    assert tuple(dataset.row_labels) == data.labels
    assert dataset.ids == tuple(str(i) for i in range(1, 51))
    assert dataset.statistics["files"] == {}
    assert not np.array_equal(load_dataset(part, tmp_path, None, 2).objects, data.vectors)
    part["kernel"] = {"name": "pseudo_euclidean", "positive": 3}
    with pytest.raises(InputError, match="generator bananas, row 1: has 2 coordinates, fewer"):
        load(tmp_path, part)
