"""The folds of a run on their way through a file: what no split can be is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from data_sets import dataset_of
from flipped_bits import count_refused
from kreinflow.base.errors import InputError
from kreinflow.files.tables import write_table
from kreinflow.sequences.partition import Partition, lost_classes, read_groups, read_partition
from kreinflow.sequences.payload import Matrix

N = 12
DATASET = dataset_of(np.arange(N) % 2, Matrix(np.eye(N), kind="similarity"))
GROUPS = np.arange(N) // 2
FOLDS = np.array([GROUPS % 3, np.where(GROUPS == 0, -1, (GROUPS + 1) % 2)])


def folds():
    parts = [
        pd.DataFrame({"id": DATASET.ids, "group": GROUPS, "repeat": repeat, "fold": part})
        for repeat, part in enumerate(FOLDS)
    ]
    return pd.concat(parts, ignore_index=True)


def test_folds_come_back(tmp_path):
    write_table(tmp_path / "folds.tsv", folds())
    partition = read_partition(tmp_path / "folds.tsv", DATASET)
    np.testing.assert_array_equal(partition.groups, GROUPS)
    np.testing.assert_array_equal(partition.folds, FOLDS)
    groups = read_groups(tmp_path / "folds.tsv")
    assert groups.index.tolist() == list(DATASET.ids)
    np.testing.assert_array_equal(groups, GROUPS)


@pytest.mark.parametrize("read", [read_groups, lambda path: read_partition(path, DATASET)])
@pytest.mark.parametrize(
    ("line", "column", "value"),
    [
        (0, "id", "another"),
        (3, "group", 0),
        (3 + N, "group", 7),
        (3, "repeat", 1),
        (-1, "repeat", 10**12),
        (3, "fold", 2),
        (slice(0, N - 1), "repeat", 2),
        (slice(0, None), "repeat", 0),
    ],
)
def test_what_no_split_can_be_is_refused(tmp_path, read, line, column, value):
    table = folds()
    table.loc[table.index[line], column] = value
    for damaged in (table, table[:0]):
        write_table(tmp_path / "folds.tsv", damaged)
        with pytest.raises(InputError, match="folds.tsv: not the folds of this data set. Delete"):
            read(tmp_path / "folds.tsv")


def test_flips_of_single_bits_are_read_or_refused(tmp_path):
    write_table(tmp_path / "folds.tsv", folds())
    assert count_refused(tmp_path / "folds.tsv", lambda path: read_partition(path, DATASET)) > 380


def of_two_folds(size, left, labels):
    """x has so many records and y 40; fold 0 leaves so many of x to learn from, fold 1 the rest."""
    codes = np.repeat([0, 1], [size, 40])
    folds = np.append((np.arange(size) < left).astype(int), np.arange(40) % 2)
    dataset = dataset_of(codes, Matrix(np.eye(size + 40), kind="similarity"))
    if labels == "several":
        has = np.stack([codes == 0, np.ones(len(codes), dtype=bool)], axis=1)
        dataset = replace(dataset, memberships=has)
    return dataset, Partition(np.arange(size + 40), folds[None])


@pytest.mark.parametrize("labels", ["one", "several"])
@pytest.mark.parametrize(
    ("size", "left", "lost"),
    [
        *((80, 2, True), (9, 2, True), (8, 2, False), (77, 19, True), (81, 20, False)),
        *((76, 19, False), (1000, 199, True), (1000, 200, False)),
    ],
)
def test_a_class_that_a_fold_leaves_few_records_is_named(size, left, lost, labels):
    said = lost_classes(*of_two_folds(size, left, labels))
    assert (f"few of its records to learn from: {left} of {size} x (r0f0)" in said) == lost
    assert bool(said) == lost


def test_the_folds_that_leave_fewest_are_named_first():
    dataset, once = of_two_folds(80, 9, "one")
    again = np.where(once.folds[0] == 0, 1, 0)  # repeat 1 has the folds the other way round
    again[0] = 1
    said = lost_classes(dataset, replace(once, folds=np.array([once.folds[0], again])))
    assert "learn from: 8 of 80 x (r1f1), 9 of 80 x (r0f0). " in said
