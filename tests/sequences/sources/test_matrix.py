"""Matrices as data sets."""

import hashlib

import numpy as np
import pytest

from data_sets import load
from kreinflow.base.errors import InputError
from kreinflow.sequences.folds import assign_folds
from small_inputs import write_matrix

TABLE = {"table": "l.tsv", "id_column": "name", "label_column": "kind"}
K = np.array([[3.0, 1, 0, 0], [1, 3, 0, 0], [0, 0, 3, 1], [0, 0, 1, 3]])


def matrix(**changes):
    return {"type": "matrix", "matrix": "m.csv", "labels": {"lines": "l.txt"}} | changes


@pytest.fixture
def folder(tmp_path):
    np.savetxt(tmp_path / "m.csv", K, delimiter=",")
    (tmp_path / "l.txt").write_text("1\n2\n1\n2\n")
    (tmp_path / "l.tsv").write_text("name\tkind\nw\t1\nx\t2\ny\t1\nz\t2\n")
    return tmp_path


def test_rows_without_ids_are_numbered_and_named_by_what_they_hold(folder):
    data = load(matrix(), folder)
    assert (data.ids, data.classes) == (("1", "2", "3", "4"), ("1", "2"))
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.kind == "similarity"
    shares = np.append(np.round(K[0] / 3, 6), 0.0)  # and the logarithm of the largest one
    numbers = np.sort(shares).tobytes()
    assert data.digests[0] == hashlib.sha256(numbers).hexdigest()[:32]
    assert len(set(data.digests)) == 4  # the same numbers, in other columns
    assert data.statistics["asymmetry"] == 0
    assert set(data.statistics["files"]) == {"m.csv", "l.txt"}


@pytest.mark.parametrize("unit", [1e-9 / 3, 10.0, 1000.0, 3.0, 1e-7])
def test_rows_without_ids_keep_their_names_in_another_order_and_unit(folder, unit):
    """Also of few decimals: half a millionth is rounded to either side, if nothing is done."""
    X = np.random.default_rng(2).normal(size=(4, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    values = np.round(X @ X.T, 5) + 5e-7 * (1 - np.eye(4))
    order, found = [2, 0, 3, 1], []
    for rows, factor in ((np.arange(4), 1.0), (order, unit)):
        np.savetxt(folder / "m.csv", factor * values[np.ix_(rows, rows)], delimiter=",")
        found.append(load(matrix(), folder).digests)
    assert found[1] == tuple(found[0][row] for row in order)


def test_rows_with_ids_keep_their_folds_in_another_order(folder):
    """Identical ones too, and where the ids are numbers."""
    values = np.random.default_rng(1).normal(size=(15, 4))
    values = (values @ values.T)[np.ix_([*range(15), 3, 3, 7], [*range(15), 3, 3, 7])]
    ids = [str(i + 1) for i in range(18)]
    names = []
    for order in (np.arange(18), np.random.default_rng(2).permutation(18)):
        np.savetxt(folder / "m.csv", values[np.ix_(order, order)], delimiter=",")
        lines = [f"{ids[i]}\t{'ab'[i % 2]}\n" for i in order]
        (folder / "l.tsv").write_text("name\tkind\n" + "".join(lines))
        data = load(matrix(labels=TABLE), folder)
        names.append(dict(zip(data.ids, data.digests, strict=True)))
    assert names[0] == names[1]
    assert len(set(names[0].values())) == 15


@pytest.mark.parametrize("ids", [True, False])
def test_identical_rows_share_their_folds(folder, ids):
    """Those that differ by rounding alone too; a multiple of an object is another one."""
    X = np.random.default_rng(1).normal(size=(12, 5))
    X[11] = 2 * X[10]
    twice = np.tile(np.arange(12), 2)
    values = (X @ X.T)[np.ix_(twice, twice)]
    values *= 1 + 1e-14 * np.random.default_rng(2).normal(size=values.shape)
    if ids:
        write_matrix(folder / "m.csv", values, [f"o{i}" for i in range(24)])
    else:
        np.savetxt(folder / "m.csv", values, delimiter=",")
    (folder / "l.txt").write_text("\n".join("ab"[i // 3 % 2] for i in twice))
    data = load(matrix(), folder)
    assert data.rows.tolist() == list(range(24))
    assert data.first_identical.tolist() == twice.tolist()
    table = assign_folds({"method": "stratified", "k": 3, "repeats": 1}, data, 1, folder)
    folds = table["fold"].to_numpy()
    np.testing.assert_array_equal(folds[:12], folds[12:])
    assert set(folds) == {0, 1, 2}


def test_labels_are_matched_by_id(folder):
    assert load(matrix(labels=TABLE), folder).ids == ("w", "x", "y", "z")  # of a bare matrix
    write_matrix(folder / "m.csv", K, ["z", "y", "x", "w"])
    data = load(matrix(labels=TABLE), folder)
    assert data.ids == ("z", "y", "x", "w")
    assert data.labels.tolist() == [1, 0, 1, 0]
    (folder / "l.tsv").write_text("name\tkind\nw\t1\nx\t2\ny\t1\nq\t2\n")
    with pytest.raises(InputError, match=r"l.tsv: no label for 1 of 4 ids: z"):
        load(matrix(labels=TABLE), folder)


def test_similarities_with_a_direction(folder):
    M = K + np.triu(np.ones((4, 4)), 1)
    np.savetxt(folder / "m.csv", M, delimiter=",")
    data = load(matrix(kind="asymmetric"), folder)
    assert (data.kind, data.statistics["asymmetry"]) == ("asymmetric", 1 / 3)
    np.testing.assert_array_equal(data.matrix, M)


def test_faults(folder):
    write_matrix(folder / "odd.csv", K, ["o\x05", "x", "y", "z"])
    for lines, changes, message in (
        ("1\n2\n1\n", {}, r"l.txt: has 3 labels, but m.csv has 4 rows"),
        ("1\n2\na\x04\n1\n", {}, r"l.txt, line 3: the label 'a\\x04' has a control char"),
        ("1\n2\n1\n2\n", {"matrix": "odd.csv"}, r"odd.csv, row 1: the id 'o\\x05' has a control"),
        ("1\n", {"labels": {"lines": "none.txt"}}, r"none.txt: no such file"),
    ):
        (folder / "l.txt").write_text(lines)
        with pytest.raises(InputError, match=message):
            load(matrix(**changes), folder)
