"""The folds of a run by their names: the records that are learned from, and those tested."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.late import pandas as pd
from kreinflow.base.wording import abridged
from kreinflow.files.tables import read_table
from kreinflow.sequences.dataset import Dataset

ALL = "all"
"""The fold whose training part is everything: the final model's."""

NEVER_TESTED = -1

LEFT, LEFT_SHARE, LEAST_SHARE = 20, 0.25, 0.2
"""A class has lost its records in a fold that leaves fewer to learn from than the first two say, or
than the last one."""


def fold_name(repeat: int, fold: int) -> str:
    """Return the name of a fold, as it stands in paths, such as ``r0f3``."""
    return f"r{repeat}f{fold}"


def is_fold_name(name: str) -> bool:
    """Return whether a text is the name of a fold, :data:`ALL` included."""
    return re.fullmatch(rf"{ALL}|r\d+f\d+", name) is not None


def fold_numbers(name: str) -> tuple[int, int]:
    """Return repeat and fold of a name; those of :data:`ALL` are -1."""
    if name == ALL:
        return -1, -1
    repeat, fold = name.removeprefix("r").split("f")
    return int(repeat), int(fold)


@dataclass(frozen=True, eq=False)
class Partition:
    """The fold of each record in each repeat, (n_repeats, n_records), or :data:`NEVER_TESTED`.

    Records of one group, of ``groups`` (n_records,), share a fold.
    """

    groups: NDArray[np.int64]
    folds: NDArray[np.int64]

    @property
    def names(self) -> list[str]:
        """The names of all folds that are tested, repeat by repeat."""
        return [
            fold_name(repeat, int(fold))
            for repeat, folds in enumerate(self.folds)
            for fold in np.unique(folds[folds != NEVER_TESTED])
        ]

    def testing(self, name: str) -> NDArray[np.bool_]:
        """Return the mask of the records that the fold tests: none of :data:`ALL`."""
        if name == ALL:
            return np.zeros(self.groups.shape, dtype=bool)
        repeat, fold = fold_numbers(name)
        tested: NDArray[np.bool_] = self.folds[repeat] == fold
        return tested

    def training(self, name: str) -> NDArray[np.bool_]:
        """Return the mask of the records that the fold learns from."""
        return ~self.testing(name)


def partition_of(table: pd.DataFrame, dataset: Dataset, name: str = "folds") -> Partition:
    """Return the partition of a table of folds, which messages call ``name``.

    An InputError refuses a table of other records, or one that splits a row or a group.
    """
    return _partition(table, dataset.ids, dataset.rows, name)


def _partition(
    table: pd.DataFrame, ids: Sequence[str], rows: NDArray[np.int64], name: str
) -> Partition:
    n = len(ids)
    repeats = len(table) // n if n else 0
    if (
        repeats
        and table["id"].tolist() == list(ids) * repeats
        and np.array_equal(table["repeat"], np.repeat(np.arange(repeats), n))
    ):
        groups, folds = (table[c].to_numpy(np.int64).reshape(repeats, n) for c in ("group", "fold"))
        whole = all(_is_constant(values, groups[0]) for values in (*groups, *folds))
        if whole and _is_constant(groups[0], rows):
            return Partition(groups[0], folds)
    raise InputError(f"{name}: not the folds of this data set. Delete it and run again.")


def _is_constant(values: NDArray[np.int64], units: NDArray[np.int64]) -> bool:
    """Return whether all records of a unit have one value."""
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    return bool((values[first][unit] == values).all())


def lost_classes(dataset: Dataset, partition: Partition) -> str:
    """Return a few sentences on folds that leave a class few records; empty if there are none.

    These are fewer than :data:`LEFT` and :data:`LEFT_SHARE` of the class, or :data:`LEAST_SHARE`.
    """
    has = dataset.memberships
    if has is None:
        has = dataset.labels[:, None] == np.arange(len(dataset.classes))
    found, sizes = [], has.sum(axis=0)
    for name in partition.names:
        left = has[partition.training(name)].sum(axis=0)
        few = (left < LEFT) & (left < LEFT_SHARE * sizes)
        lost = np.flatnonzero(few | (left < LEAST_SHARE * sizes))
        found += [(left[c], f"{left[c]} of {sizes[c]} {dataset.classes[c]} ({name})") for c in lost]
    if not found:
        return ""
    return (
        "Some folds leave a class few of its records to learn from: "
        f"{abridged([text for _, text in sorted(found)])}. What is measured there says little of a "
        "model of all records. Make smaller groups (a higher identity), or collect more records of "
        "these classes."
    )


def read_groups(path: str | os.PathLike[str]) -> pd.Series[int]:
    """Read the group of each record, by its id, from a table of folds; refuse a damaged one."""
    table = _read(path)
    ids = pd.Index(table["id"][table["repeat"] == 0])
    return pd.Series(_partition(table, ids, np.arange(len(ids)), str(path)).groups, index=ids)


def read_partition(path: str | os.PathLike[str], dataset: Dataset) -> Partition:
    """Read the table of folds of a data set; see :func:`partition_of`."""
    return partition_of(_read(path), dataset, str(path))


def _read(path: str | os.PathLike[str]) -> pd.DataFrame:
    return read_table(path, ["id"], ["id"], whole=["group", "repeat", "fold"])
