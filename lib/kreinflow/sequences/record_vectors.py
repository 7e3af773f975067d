"""Vectors of records: what a user knows of them beside their scores, such as embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.late import pandas as pd
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.wording import abridged, plural
from kreinflow.files.provenance import file_sha256
from kreinflow.sequences.collapse import examples
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.matrix_files import LARGEST_ENTRY, read_matrix
from kreinflow.sequences.text_files import check_file, name_endings

ENDINGS = (".csv", ".tsv")


@dataclass(frozen=True, eq=False)
class RecordVectors:
    """A table of vectors: ``values`` of shape (n_ids, n_numbers), from the file ``path``."""

    path: Path
    ids: tuple[str, ...]
    values: FloatArray

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.values.shape[1])

    @cached_property
    def _index(self) -> pd.Index[str]:
        return pd.Index(self.ids)

    def places(self, ids: Sequence[str]) -> IntArray:
        """Return the row of each id in the table, -1 where it has none."""
        return self._index.get_indexer(pd.Index([*ids]))


def check_vectors_file(path: Path) -> None:
    """Refuse a file that cannot hold vectors by id, by its name and first byte alone."""
    if name_endings(path)[1] not in ENDINGS:
        raise InputError(
            f"{path}: vectors by id are a table with the ids in the first column. Name it .tsv or "
            ".csv (or these with .gz)."
        )
    check_file(path)


def read_record_vectors(path: Path, width: int | None = None) -> RecordVectors:
    """Read a ``.tsv[.gz]`` or ``.csv[.gz]`` table: an id, then the numbers of its vector.

    ``width`` is the numbers of a vector that a model was trained on. An InputError refuses a table
    of another width, one without ids, and an entry that is not finite or too large.
    """
    check_vectors_file(path)
    read = read_matrix(path, square=False)
    if read.ids is None:
        raise InputError(
            f"{path}: its first column has numbers where the ids of the records are expected. If "
            "these numbers are the ids, call the column id in a header."
        )
    values = np.asarray(read.values, dtype=np.float64)
    found = values.shape[1]
    if width is not None and found != width:
        raise InputError(
            f"{path}: has {plural(found, 'column')} of numbers where the vectors of the model "
            f"have {width}. Give the numbers that the model was trained on, in the same order."
        )
    wrong = np.argwhere(~(np.abs(values) <= LARGEST_ENTRY))
    if len(wrong):
        row, column = wrong[0].tolist()
        raise InputError(
            f"{path}, row {row + 1} ({read.ids[row]}), column {column + 2}: "
            f"{values[row, column]:.6g} is not a finite number, or above {LARGEST_ENTRY:g} in "
            "size. Correct it."
        )
    return RecordVectors(path, read.ids, values)


def with_vectors(dataset: Dataset, path: Path) -> Dataset:
    """Return the data set with the vectors of a table.

    Records of one distinct row, or of identical ones, share the vector of the first of them. The
    ``statistics`` get the key ``vectors``: ``columns``, and ``differ``, the records whose own
    vector is another. Ids of the table that are no record are left out; a record without a vector
    is refused.
    """
    read = read_record_vectors(path)
    places = read.places(dataset.ids)
    missing = [dataset.ids[record] for record in np.flatnonzero(places < 0)]
    if missing:
        raise InputError(
            f"{path}: has no vector for {len(missing)} of the {plural(len(places), 'record')}: "
            f"{abridged(missing)}. Add them, or remove the records."
        )
    _, first = np.unique(dataset.rows, return_index=True)
    shared = places[first[dataset.first_identical]]  # identical rows are trained as one
    vectors = read.values[shared]
    others = np.flatnonzero(places != shared[dataset.rows])
    same = (read.values[places[others]] == vectors[dataset.rows[others]]).all(axis=1)
    differ = examples([dataset.ids[record] for record in others[~same]])
    files = dataset.statistics.get("files", {}) | {path.name: file_sha256(path)}
    found = dataset.with_statistics(vectors={"columns": read.width, "differ": differ}, files=files)
    return replace(found, vectors=vectors)


def shared_vectors(dataset: Dataset) -> str:
    """Return a line on the vectors of a data set, and on records that share another record's."""
    said = dataset.statistics["vectors"]
    text = f"vectors of {plural(said['columns'], 'number')}"
    if differ := said["differ"]["count"]:
        text += (
            f"; {plural(differ, 'record')} identical to an earlier one, whose other vector stands "
            f"for both: {abridged(said['differ']['examples'])}"
        )
    return text
