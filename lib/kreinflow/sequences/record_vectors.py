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
from kreinflow.sequences.matrix_files import check_numbers_file, read_vectors


@dataclass(frozen=True, eq=False)
class RecordVectors:
    """A table of vectors: ``values`` of shape (n_ids, n_numbers), from the file ``path``."""

    path: Path
    ids: tuple[str, ...]
    values: FloatArray

    @cached_property
    def _index(self) -> pd.Index[str]:
        return pd.Index(self.ids)

    def places(self, ids: Sequence[str]) -> IntArray:
        """Return the row of each id in the table, -1 where it has none."""
        return self._index.get_indexer(pd.Index([*ids]))


def check_vectors_file(path: Path) -> None:
    """Refuse a file that cannot hold vectors by id, by its name and first byte alone."""
    check_numbers_file(path, (".csv", ".tsv"))


def read_record_vectors(path: Path, width: int | None = None) -> RecordVectors:
    """Read a ``.tsv[.gz]`` or ``.csv[.gz]`` table: an id, then the numbers of its vector.

    See :func:`~kreinflow.sequences.matrix_files.read_vectors`; a table without ids is refused too.
    """
    check_vectors_file(path)
    read = read_vectors(path, width=width)
    if read.ids is None:
        raise InputError(
            f"{path}: its first column has numbers where the ids of the records are expected. If "
            "these numbers are the ids, call the column id in a header."
        )
    return RecordVectors(path, read.ids, read.values)


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
    found = dataset.with_statistics(
        vectors={"columns": vectors.shape[1], "differ": differ}, files=files
    )
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
