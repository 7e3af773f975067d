"""Vectors of records: what a user knows of them beside their scores, such as embeddings."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, plural
from kreinflow.files.provenance import file_sha256
from kreinflow.sequences.collapse import examples
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.matrix_files import read_record_vectors


def with_vectors(dataset: Dataset, path: Path) -> Dataset:
    """Return the data set with the vectors of a table.

    Identical records share the vector of the first of them. The ``statistics`` get the key
    ``vectors``: ``columns``, and ``differ``, the records whose own vector is another. Further ids
    of the table are left out; a record without a vector is refused.
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
