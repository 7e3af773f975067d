"""The data set: canonical, checked, and with each distinct object once; its files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.late import pandas as pd
from kreinflow.base.numerics import IntArray
from kreinflow.base.wording import abridged
from kreinflow.files.arrays import open_array, write_array
from kreinflow.files.atomic import write_text
from kreinflow.files.json_files import read_json, write_json
from kreinflow.files.tables import check_listed, checksums_of, read_table, write_table
from kreinflow.sequences.labels import SEPARATOR
from kreinflow.sequences.payload import DISTINCT_FILE, Matrix, Payload, Sequences, read_payload

P = TypeVar("P", bound=Payload)
_TABLES = ("records.tsv", DISTINCT_FILE)
ORGANISM = ("taxonomy", "organism")
"""The columns that a UniProtKB flat file has, and UniProt's FASTA headers."""
VIEW_FILE = "view.npy"
"""The user's vector of each distinct row, if the data set has them."""


@dataclass(frozen=True)
class Dataset:
    """Labelled objects, checked. Identical ones share a distinct row, except in a matrix.

    Of each record, (n_records,): ``ids`` in the order of the input; ``labels``, its class as a
    place in the sorted ``classes``, of several the rarest; ``rows``, its distinct row, numbered by
    first appearance; ``memberships`` (n_records, n_classes) if records may have several labels;
    ``paths``, its whole label, if it may be learned at a node above (``small: parent``);
    ``organisms`` by ``taxonomy`` (NCBI's number) and ``organism``, where the input has them.

    Of each distinct row: ``digests``, see
    :meth:`~kreinflow.sequences.payload.Payload.digests`; its object in the ``payload``; ``vectors``
    (n_distinct, n_numbers), see :mod:`kreinflow.sequences.record_vectors`.

    ``statistics`` are of :meth:`~kreinflow.sequences.sources.source.Source.load`; ``dropped`` the
    ids of all records that were dropped, held out or left to be classified by request;
    ``unlabelled`` id and residues of those without a label that are to be classified, which
    :func:`write_dataset` leaves out.
    """

    ids: tuple[str, ...]
    labels: NDArray[np.intp]
    classes: tuple[str, ...]
    rows: NDArray[np.int64]
    digests: tuple[str, ...]
    payload: Payload
    statistics: dict[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    unlabelled: tuple[tuple[str, bytes], ...] = ()
    organisms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    vectors: NDArray[np.float64] | None = None
    memberships: NDArray[np.bool_] | None = None
    paths: tuple[str, ...] | None = None

    @cached_property
    def first_identical(self) -> NDArray[np.int64]:
        """The first row with the object of each distinct row: a matrix may hold one twice."""
        _, first, same = np.unique(self.digests, return_index=True, return_inverse=True)
        return first[same].astype(np.int64)

    @property
    def kind(self) -> str:
        """See :class:`kreinflow.sequences.payload.Payload`."""
        return self.payload.kind

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Residues of each distinct row; 0 if they are not aligned."""
        return self.payload.lengths

    @property
    def sequences(self) -> tuple[bytes, ...]:
        """Residues of each distinct row; TypeError if they are not aligned."""
        return self.payload_as(Sequences).residues

    @property
    def matrix(self) -> NDArray[np.floating]:
        """Matrix of shape (n_distinct, n_distinct); TypeError if none was given."""
        return self.payload_as(Matrix).values

    @cached_property
    def row_labels(self) -> list[str]:
        """The class of each distinct row: all its records have the same one."""
        code_of = dict(zip(self.rows.tolist(), self.labels.tolist(), strict=True))
        return [self.classes[code_of[row]] for row in range(len(self.digests))]

    @property
    def joined_labels(self) -> list[str]:
        """All labels of each record in the order of the classes, with a semicolon between."""
        if self.memberships is None:
            return [self.classes[code] for code in self.labels]
        names = np.array(self.classes, dtype=object)
        return [SEPARATOR.join(names[own]) for own in self.memberships]

    def payload_as(self, wanted: type[P]) -> P:
        """Return the payload as the type that the caller needs; TypeError if it is another."""
        if not isinstance(self.payload, wanted):
            found = type(self.payload).__name__
            raise TypeError(f"the data set holds {found}, not {wanted.__name__}")
        return self.payload

    def first_id(self, row: int) -> str:
        """Return the id of the first record of a distinct row, for messages."""
        return self.ids[int(np.flatnonzero(self.rows == row)[0])]

    @property
    def first_ids(self) -> list[str]:
        """The id of the first record of each distinct row."""
        first = np.unique(self.rows, return_index=True)[1]
        return [self.ids[record] for record in first.tolist()]

    def that_may_be_landmarks(self, rows: IntArray) -> IntArray:
        """Return those of some distinct rows that have a score with all others."""
        complete = self.payload.complete
        return rows if complete is None else rows[complete[rows]]

    def with_statistics(self, **more: Any) -> Self:
        """Return the data set with further statistics."""
        return replace(self, statistics=self.statistics | more)


def is_unknown(dataset: Dataset, unknown: Sequence[str]) -> NDArray[np.bool_]:
    """Return the mask of the records whose class is held out.

    An InputError says that there is no such class, or fewer than two others, or several labels.
    """
    if dataset.memberships is not None:
        raise InputError("unknown: records with several labels cannot be held out by class.")
    missing = [name for name in unknown if name not in dataset.classes]
    if missing:
        raise InputError(
            f"unknown: the data have no class {missing[0]!r}; after min_class_size they have "
            f"{abridged(list(dataset.classes), 20)}."
        )
    if len(dataset.classes) - len(unknown) < 2:
        raise InputError(
            f"unknown: of {len(dataset.classes)} classes {len(unknown)} are held out. "
            "At least two have to be left to learn."
        )
    mask: NDArray[np.bool_] = np.isin(dataset.classes, unknown)[dataset.labels]
    return mask


def without_unknown(dataset: Dataset, unknown: Sequence[str]) -> Dataset:
    """Return the data set as if the classes held out were not in the input, rows numbered anew.

    Its ``statistics`` also have ``unknown`` (class to records), its ``dropped`` their ids.
    """
    if not unknown:
        return dataset
    held = is_unknown(dataset, unknown)

    def left(values: Sequence[str]) -> tuple[str, ...]:
        return tuple(np.array(values, dtype=object)[~held])

    rows, numbers = np.unique(dataset.rows[~held], return_inverse=True)
    classes = tuple(name for name in dataset.classes if name not in unknown)
    codes = np.cumsum(~np.isin(dataset.classes, unknown)) - 1
    payload, sizes = dataset.payload.take(rows), dataset.statistics["class_sizes"]
    ids = left(dataset.ids)
    return replace(
        dataset,
        ids=ids,
        labels=codes[dataset.labels[~held]],
        classes=classes,
        rows=numbers.astype(np.int64),
        digests=tuple(dataset.digests[row] for row in rows.tolist()),
        payload=payload,
        statistics=dataset.statistics
        | {
            "records_kept": len(ids),
            "distinct": len(rows),
            "class_sizes": {name: sizes[name] for name in classes},
            "lengths": payload.length_quantiles(),
            "unknown": {name: sizes[name] for name in unknown},
        },
        dropped=(*dataset.dropped, *(dataset.ids[i] for i in np.flatnonzero(held).tolist())),
        organisms={name: left(values) for name, values in dataset.organisms.items()},
        vectors=None if dataset.vectors is None else dataset.vectors[rows],
        paths=None if dataset.paths is None else left(dataset.paths),
    )


def write_dataset(folder: Path, dataset: Dataset) -> None:
    """Write the files of a data set, as docs/files.md describes them."""
    labels = [dataset.classes[code] for code in dataset.labels]
    records = {"id": dataset.ids, "label": labels, "row": dataset.rows}
    if dataset.memberships is not None:
        records["labels"] = dataset.joined_labels
    if dataset.paths is not None:
        records["path"] = dataset.paths
    write_table(folder / "records.tsv", pd.DataFrame({**records, **dataset.organisms}))
    texts = dataset.payload.texts()
    distinct = {"digest": dataset.digests, "length": dataset.lengths, "sequence": texts}
    if dataset.payload.complete is not None:
        distinct["complete"] = dataset.payload.complete.astype(np.int64)
    write_table(folder / DISTINCT_FILE, pd.DataFrame(distinct))
    for file, values in dataset.payload.arrays().items():
        write_array(folder / file, values)
    if dataset.vectors is not None:
        write_array(folder / VIEW_FILE, dataset.vectors)
    write_json(
        folder / "summary.json",
        {
            "kind": dataset.kind,
            "kernel": dataset.payload.kernel_settings,
            "checksums": checksums_of(folder / name for name in _TABLES),
            "classes": list(dataset.classes),
            "statistics": dataset.statistics,
            "dropped_ids": list(dataset.dropped),
        },
    )


def write_unlabelled(path: Path, dataset: Dataset) -> None:
    """Write the records without a label that are to be classified, as FASTA."""
    lines = [f">{id}\n{residues.decode('ascii')}\n" for id, residues in dataset.unlabelled]
    write_text(path, "".join(lines))


def read_dataset(folder: Path) -> Dataset:
    """Read what :func:`write_dataset` wrote; numbers are read-only memory maps.

    An InputError says which file is missing, damaged or does not fit the others.
    """
    summary = read_json(folder / "summary.json")
    if "checksums" not in summary:
        raise InputError(
            f"{folder / 'summary.json'}: not the summary of a data set. "
            "Delete the folder and run again."
        )
    for name in _TABLES:
        check_listed(folder / name, summary, "summary.json")
    needed, text = ("id", "label", "row"), ("id", "label", "labels", "path", *ORGANISM)
    records = read_table(folder / "records.tsv", needed, text)
    digests, payload = read_payload(folder, summary)
    classes, vectors, memberships = tuple(summary["classes"]), None, None
    advice = f"Delete the folder {folder} and run again."
    if "vectors" in summary["statistics"]:
        vectors = open_array(folder / VIEW_FILE, 2, advice)
    if "labels" in records:
        own = records["labels"].str.split(SEPARATOR)
        codes = pd.Index(classes).get_indexer(pd.Index(own.explode()))
        memberships = np.zeros((len(own), len(classes)), dtype=np.bool_)
        memberships[np.repeat(np.arange(len(own)), own.map(len)), codes] = True
    n = len(digests)
    if len(payload) != n or (vectors is not None and len(vectors) != n):
        raise InputError(f"{folder}: its tables and its numbers do not belong together. {advice}")
    return Dataset(
        ids=tuple(records["id"].tolist()),
        labels=pd.Index(classes).get_indexer(pd.Index(records["label"])),
        classes=classes,
        rows=records["row"].to_numpy(np.int64),
        digests=digests,
        payload=payload,
        statistics=summary["statistics"],
        dropped=tuple(summary["dropped_ids"]),
        organisms={name: tuple(records[name]) for name in ORGANISM if name in records},
        vectors=vectors,
        memberships=memberships,
        paths=tuple(records["path"]) if "path" in records else None,
    )


def write_rows(path: str | os.PathLike[str], table: pd.DataFrame, dataset: Dataset) -> None:
    """Write a table with the column row, and beside it the digest of each row.

    The number alone could be that of a row of any other data set.
    """
    write_table(path, table.assign(digest=[dataset.digests[row] for row in table["row"]]))


def read_rows(
    path: str | os.PathLike[str], dataset: Dataset, columns: Sequence[str] = ()
) -> pd.DataFrame:
    """Read a table of :func:`write_rows`.

    ``columns`` must be there beside row and digest. A ``class`` is that of the row, or empty. An
    InputError names a line whose row, digest or class is not of the data set, or stands twice.
    """
    table = read_table(path, ["digest", *columns], ["class", "digest"], whole=["row"])
    rows = table["row"]
    sound = table["digest"] == rows.map(dict(enumerate(dataset.digests)))
    if "class" in columns:
        known = table["class"] == rows.map(dict(enumerate(dataset.row_labels)))
        sound &= known | (table["class"] == "")
    sound &= ~table.duplicated(["row", *({"class"} & {*columns})])
    if not sound.all():
        line = int(np.argmin(sound))
        raise InputError(
            f"{path}: line {line + 2} (row {rows[line]}) is damaged, or of another data set. "
            "Delete it and run again."
        )
    return table
