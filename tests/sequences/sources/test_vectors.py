"""Vectors and strings as data sets."""

import hashlib

import numpy as np
import pytest

from data_sets import content, load
from kreinflow.base.errors import InputError

X = np.array([[1.0, 2.0], [3.0, 4.5], [-0.0, 1e-300], [1.0, 2.0], [0.0, 1e-300], [5.0, 6.0]])
LABELS = ["a", "b", "a", "a", "a", "b"]


def vectors(name="x.csv", **changes):
    kernel = {"name": "gaussian", "width": 2.0}
    labels = {"lines": "y.txt"}
    return {"type": "vectors", "vectors": name, "kernel": kernel, "labels": labels} | changes


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.csv").write_text("\n".join(f"{x!r},{y!r}" for x, y in X.tolist()))
    (tmp_path / "y.txt").write_text("\n".join(LABELS))
    return tmp_path


def test_identical_vectors_share_a_row_and_a_zero_has_no_sign(folder):
    dataset = load(vectors(), folder)
    assert dataset.ids == tuple("123456")
    assert dataset.rows.tolist() == [0, 1, 2, 0, 2, 3]
    np.testing.assert_array_equal(content(dataset.payload), X[[0, 1, 2, 5]])
    assert not np.signbit(content(dataset.payload)).any()
    assert dataset.kind == "similarity"
    assert dataset.payload.kernel_settings == {"name": "gaussian", "width": 2.0}
    assert dataset.digests[0] == hashlib.sha256(X[0].tobytes()).hexdigest()[:32]
    assert dataset.statistics["lengths"] == {}
    assert set(dataset.statistics["files"]) == {"x.csv", "y.txt"}


def test_identical_vectors_with_other_labels(folder):
    np.save(folder / "x.npy", np.vstack([X, [[7.0, 8.0]]]))
    (folder / "y.txt").write_text("\n".join(["a", "b", "a", "b", "a", "b", "a"]))
    assert load(vectors("x.npy"), folder).dropped == ("1", "4")
    with pytest.raises(InputError, match="'1' and '4' are the same vector with the labels 'a'"):
        load(vectors("x.npy", conflicting_labels="refuse"), folder)


def test_strings(folder):
    strings = ["kitten", "sitting", "Ångström", "kitten", "007", "tab\tin it"]
    (folder / "x.txt").write_text("\n".join(strings) + "\n")
    dataset = load(vectors("x.txt", kernel={"name": "edit_distance"}), folder)
    assert content(dataset.payload).tolist() == list(dict.fromkeys(strings))
    assert dataset.rows.tolist() == [0, 1, 2, 0, 3, 4]
    assert dataset.kind == "squared_dissimilarity"
    assert dataset.digests[2] == hashlib.sha256("Ångström".encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    ("name", "text", "kernel", "message"),
    [
        ("x.txt", "ab\n\ncd\n", "edit_distance", r"x\.txt, line 2: the string is empty"),
        ("x.csv", "1,2\n3,-4\n", "ball", r"x\.csv, row 2, column 2: -4 is negative"),
    ],
)
def test_faults_of_an_object(folder, name, text, kernel, message):
    (folder / name).write_text(text)
    with pytest.raises(InputError, match=message):
        load(vectors(name, kernel={"name": kernel}), folder)


@pytest.mark.parametrize("way", ["lines", "table"])
def test_several_labels_of_a_vector(folder, way):
    texts = ["a|b", "b", "a", "c", "a | c", "b|"]
    (folder / "y.txt").write_text("\n".join(texts))
    rows = [f"{i + 1}\t{text}\n" for i, text in enumerate(texts)]
    (folder / "y.tsv").write_text("id\tlabel\n" + "".join(rows))
    ways = {"lines": {"lines": "y.txt"}, "table": {"table": "y.tsv"}}
    columns = {"id_column": "id", "label_column": "label"}
    labels = {**ways[way], **columns, "multiple": "all", "separator": "|"}
    data = load(vectors(labels=labels, min_class_size=1), folder)
    assert data.joined_labels == ["a;b;c", "b", "a;c", "a;b;c", "a;c", "b"]
