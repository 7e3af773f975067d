"""The folds of a run by their names: the records that are learned from, and those tested."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.files.artifacts import read_table
from kreinflow.sequences.dataset import Dataset

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
"""The fold whose training part is everything: the final model's."""

NEVER_TESTED = -1


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
    found = re.fullmatch(r"r(\d+)f(\d+)", name)
    if not found:
        raise ValueError(f"{name!r} is not the name of a fold")
    return int(found[1]), int(found[2])


@dataclass(frozen=True, eq=False)
class Partition:
    """The fold of each record in each repeat.

    Parameters
    ----------
    groups : ndarray of shape (n_records,)
        Records of one group share a fold.
    folds : ndarray of shape (n_repeats, n_records)
        Fold of each record, or :data:`NEVER_TESTED`.
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


def partition_of(table: "pd.DataFrame", dataset: Dataset, name: str = "folds") -> Partition:
    """Return the partition that a table of folds describes; ``name`` is for messages.

    Raises
    ------
    InputError
        If it is not the table of these records, if records with one row have two groups, or those
        of a group two folds, or if the numbers of the folds have a gap.
    """
    n = len(dataset.ids)
    repeats = len(table) // n
    wrong = InputError(f"{name}: not the folds of this data set. Delete it and run again.")
    if (
        repeats == 0
        or table["id"].tolist() != list(dataset.ids) * repeats
        or not np.array_equal(table["repeat"], np.repeat(np.arange(repeats), n))
    ):
        raise wrong
    groups, folds = (table[c].to_numpy(np.int64).reshape(repeats, n) for c in ("group", "fold"))
    whole = _same_within(dataset.rows, groups[:1]) and _same_within(groups[0], [*groups, *folds])
    if not (whole and all(map(_no_gap, folds))):
        raise wrong
    return Partition(groups=groups[0], folds=folds)


def _same_within(units: NDArray[np.int64], columns: Iterable[NDArray[np.int64]]) -> bool:
    """Return whether all records of a unit have one value in each of some columns."""
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    return all((values[first][unit] == values).all() for values in columns)


def _no_gap(folds: NDArray[np.int64]) -> bool:
    """Return whether the folds are 0, 1 and so on, beside :data:`NEVER_TESTED`."""
    tested = np.unique(folds[folds != NEVER_TESTED])
    return [*tested] == [*range(len(tested))]


def read_groups(path: str | os.PathLike[str]) -> "pd.Series[int]":
    """Read the group of each record, by its id, from a table of folds; refuse a damaged one."""
    import pandas as pd  # slow to import

    table = read_table(path, ["id"], ["id"], whole=["group", "repeat", "fold"])
    repeats = [part for _, part in table.groupby("repeat")]
    groups = table["group"].to_numpy(np.int64)[: len(repeats[0])] if repeats else np.empty(0, int)
    ids = pd.Index(table["id"][: len(groups)])
    if not (
        len(ids)
        and ids.is_unique
        and all(
            np.array_equal(part["id"], ids)
            and np.array_equal(part["group"], groups)
            and _same_within(groups, [part["fold"].to_numpy(np.int64)])
            for part in repeats
        )
    ):
        raise InputError(f"{path}: not the folds of a data set. Delete it and run again.")
    return pd.Series(groups, index=ids)


def read_partition(path: str | os.PathLike[str], dataset: Dataset) -> Partition:
    """Read the table of folds of a data set; see :func:`partition_of`."""
    table = read_table(path, ["id"], ["id"], whole=["group", "repeat", "fold"])
    return partition_of(table, dataset, str(path))
