"""Tables of distinct rows, each with its digest: a number alone would say any other row as well."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import IntArray
from kreinflow.files.artifacts import read_table, write_table
from kreinflow.sequences.dataset import Dataset

if TYPE_CHECKING:
    import pandas as pd


def write_rows(path: str | os.PathLike[str], table: "pd.DataFrame", dataset: Dataset) -> None:
    """Write a table with the column row, and beside it the digest of each row."""
    write_table(path, table.assign(digest=[dataset.digests[row] for row in table["row"]]))


def read_rows(
    path: str | os.PathLike[str], dataset: Dataset, columns: Sequence[str] = ()
) -> "pd.DataFrame":
    """Read a table of :func:`write_rows`.

    Parameters
    ----------
    path : path
    dataset : Dataset
    columns : sequence of str
        Columns that must be there beside row and digest. A ``class`` is that of the row, or empty.

    Raises
    ------
    InputError
        If a line has a row that the data set does not have, another digest or class than the data
        set has for it, or stands twice.
    """
    table = read_table(path, ["digest", *columns], ["class", "digest"], whole=["row"])
    rows = table["row"].to_numpy()
    there = (rows >= 0) & (rows < len(dataset.digests))
    sound = there & (table["digest"] == _at(dataset.digests, rows, there)).to_numpy()
    if "class" in columns:
        known = (table["class"] == _at(dataset.row_labels, rows, there)).to_numpy()
        sound &= known | (table["class"] == "").to_numpy()
    sound &= ~table.duplicated(["row", *({"class"} & {*columns})]).to_numpy()
    if not sound.all():
        line = int(np.argmin(sound))
        raise InputError(
            f"{path}: line {line + 2} (row {rows[line]}) is damaged, or of another data set. "
            "Delete it and run again."
        )
    return table


def _at(texts: Sequence[str], rows: IntArray, there: NDArray[np.bool_]) -> list[str]:
    return [texts[row] if ok else "" for row, ok in zip(rows.tolist(), there.tolist(), strict=True)]
