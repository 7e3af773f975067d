"""The data set: canonical, checked, and with each distinct object once; how it is kept in files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.files.artifacts import (
    open_array,
    read_json,
    read_table,
    write_array,
    write_json,
    write_table,
    write_text,
)
from kreinflow.files.checksums import file_checksum
from kreinflow.sequences.labels import SEPARATOR
from kreinflow.sequences.payload import DISTINCT_FILE, Matrix, Payload, Sequences, payload_type

if TYPE_CHECKING:
    import pandas as pd

P = TypeVar("P", bound=Payload)
_TABLES = ("records.tsv", DISTINCT_FILE)
VIEW_FILE = "view.npy"
"""The user's vector of each distinct row, if the data set has them."""


@dataclass(frozen=True)
class Dataset:
    """Labelled objects, checked. Identical ones share a distinct row, except in a matrix."""

    ids: tuple[str, ...]
    """Of each record, in the order of the input."""
    labels: NDArray[np.intp]
    """Class of each record: a place in ``classes``."""
    classes: tuple[str, ...]
    """Sorted."""
    rows: NDArray[np.int64]
    """Distinct row of each record; rows are numbered by first appearance."""
    digests: tuple[str, ...]
    """Of each distinct row: first 32 hexadecimal digits of the sha256 of its residues, of the bytes
    of its vector or string, or, for a matrix, of the least id with such a row; without ids, of the
    sorted numbers of the row, see :func:`~kreinflow.sequences.payload.row_digests`."""
    payload: Payload
    """What the distinct rows hold."""
    statistics: dict[str, Any] = field(default_factory=dict)
    """What the report says about the data; see :meth:`~kreinflow.sequences.sources.source.Source.\
load`."""
    dropped: tuple[str, ...] = ()
    """Ids of all records that were dropped, held out or left to be classified by request."""
    unlabelled: tuple[tuple[str, bytes], ...] = ()
    """Id and residues of the records without a label that are to be classified. They are not among
    what :func:`write_dataset` writes."""
    organisms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of each record, where the input says it: ``taxonomy`` (NCBI's number) and ``organism``."""
    vectors: NDArray[np.float64] | None = None
    """Of shape (distinct rows, numbers): what the user knows of each row beside its scores; see
    :mod:`kreinflow.sequences.record_vectors`."""
    memberships: NDArray[np.bool_] | None = None
    """Of shape (records, classes), of records with several labels: which of the classes each record
    has. Its place in ``labels`` is the rarest of them. None: each record has one class."""

    @cached_property
    def first_alike(self) -> NDArray[np.int64]:
        """The first row with the object of each distinct row: a matrix may hold one twice."""
        _, first, same = np.unique(self.digests, return_index=True, return_inverse=True)
        return first[same].astype(np.int64)

    @property
    def kind(self) -> str:
        """See :attr:`kreinflow.sequences.payload.Payload.kind`."""
        return self.payload.kind

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Residues of each distinct row; 0 if they are not aligned."""
        return self.payload.lengths

    @property
    def sequences(self) -> tuple[bytes, ...]:
        """Of each distinct row. Raises TypeError if they are not aligned."""
        return self.payload_as(Sequences).residues

    @property
    def matrix(self) -> NDArray[np.floating]:
        """Of shape (distinct rows, distinct rows). Raises TypeError if none was given."""
        return self.payload_as(Matrix).values

    @cached_property
    def row_labels(self) -> list[str]:
        """The class of each distinct row: all its records have the same one."""
        labels = [""] * len(self.digests)
        for row, code in zip(self.rows.tolist(), self.labels.tolist(), strict=True):
            labels[row] = self.classes[code]
        return labels

    @property
    def joined_labels(self) -> list[str]:
        """All labels of each record in the order of the classes, with a semicolon between."""
        if self.memberships is None:
            return [self.classes[code] for code in self.labels]
        names = np.array(self.classes, dtype=object)
        return [SEPARATOR.join(names[own]) for own in self.memberships]

    def payload_as(self, wanted: type[P]) -> P:
        """Return what the distinct rows hold, as the type that the caller needs.

        Raises
        ------
        TypeError
            If it is another one.
        """
        if not isinstance(self.payload, wanted):
            found = type(self.payload).__name__
            raise TypeError(f"the data set holds {found}, not {wanted.__name__}")
        return self.payload

    def first_id(self, row: int) -> str:
        """Return the id of the first record of a distinct row, for messages."""
        return self.ids[int(np.flatnonzero(self.rows == row)[0])]

    def with_statistics(self, **more: Any) -> Self:
        """Return the data set with further statistics."""
        return replace(self, statistics=self.statistics | more)


def write_dataset(folder: Path, dataset: Dataset) -> None:
    """Write ``records.tsv``, ``distinct.tsv``, ``summary.json`` and the numbers, if there are any.

    ``records.tsv`` has the columns id, label and row, of records with several labels also labels
    (all of them, with a semicolon between), and taxonomy and organism where the input says them of
    all records; ``distinct.tsv`` has digest, length and sequence, one line for each
    row: the sequence, or with length 0 the string or nothing. The numbers are ``matrix.npy`` or
    ``vectors.npy``, those of a view ``view.npy``. The summary has the checksums of the tables.
    """
    import pandas as pd  # slow to import

    write_table(
        folder / "records.tsv",
        pd.DataFrame(
            {
                "id": dataset.ids,
                "label": [dataset.classes[code] for code in dataset.labels],
                "row": dataset.rows,
                **({} if dataset.memberships is None else {"labels": dataset.joined_labels}),
                **dataset.organisms,
            }
        ),
    )
    write_table(
        folder / DISTINCT_FILE,
        pd.DataFrame(
            {
                "digest": dataset.digests,
                "length": dataset.lengths,
                "sequence": dataset.payload.texts(),
            }
        ),
    )
    for file, values in dataset.payload.arrays().items():
        write_array(folder / file, values)
    if dataset.vectors is not None:
        write_array(folder / VIEW_FILE, dataset.vectors)
    write_json(
        folder / "summary.json",
        {
            "kind": dataset.kind,
            "kernel": dataset.payload.kernel_settings,
            "checksums": {name: file_checksum(folder / name) for name in _TABLES},
            "classes": list(dataset.classes),
            "statistics": dataset.statistics,
            "dropped_ids": list(dataset.dropped),
        },
    )


def write_unlabelled(path: Path, dataset: Dataset) -> None:
    """Write the records without a label that are to be classified, as FASTA."""
    lines = [f">{id}\n{residues.decode('ascii')}\n" for id, residues in dataset.unlabelled]
    write_text(path, "".join(lines))


def _covers(numbers: NDArray[np.integer], count: int) -> bool:
    """Return whether the numbers are all of 0 to count - 1, each at least once."""
    return (
        len(numbers) >= count > 0
        and int(numbers.min()) >= 0
        and int(numbers.max()) < count
        and bool((np.bincount(numbers, minlength=count) > 0).all())
    )


def _check_table(path: Path, checksum: str) -> None:
    try:
        found = file_checksum(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    if found != checksum:
        raise InputError(
            f"{path}: damaged or of another data set, it does not match its checksum in "
            "summary.json. Delete it and run again."
        )


def read_dataset(folder: Path) -> Dataset:
    """Read what :func:`write_dataset` wrote; numbers are read-only memory maps.

    Raises
    ------
    InputError
        If a file is missing, damaged or does not fit the others.
    """
    summary = read_json(folder / "summary.json")
    expected = {"kind", "kernel", "checksums", "classes", "statistics", "dropped_ids"}
    if not expected <= summary.keys():
        raise InputError(
            f"{folder / 'summary.json'}: not the summary of a data set. "
            "Delete the folder and run again."
        )
    for name in _TABLES:
        _check_table(folder / name, summary["checksums"][name])
    several = ["labels"] if "several" in summary["statistics"] else []
    records = read_table(
        folder / "records.tsv",
        ("id", "label", "row", *several),
        text=("id", "label", "labels", "taxonomy", "organism"),
    )
    digests, payload = payload_type(summary).read(folder, summary)
    classes, vectors = tuple(summary["classes"]), None
    if "vectors" in summary["statistics"]:
        advice = f"Delete the folder {folder} and run again."
        vectors = open_array(folder / VIEW_FILE, 2, advice)
    rows = records["row"].to_numpy()
    labels = _codes(records["label"], classes)
    memberships = _memberships(records["labels"], classes) if several else None
    if memberships is None:
        labelled = not several and _covers(labels, len(classes))
    else:
        labelled = bool(
            (labels >= 0).all()
            and memberships.any(axis=0).all()
            and memberships[np.arange(len(labels)), labels].all()
        )
    fits = (
        labelled
        and rows.dtype.kind == "i"
        and _covers(rows, len(digests))
        and payload.fits(len(digests))
        and (vectors is None or len(vectors) == len(digests))
    )
    if not fits:
        raise InputError(
            f"{folder}: records, distinct rows and summary do not belong together. "
            "Delete the folder and run again."
        )
    return Dataset(
        ids=tuple(records["id"].tolist()),
        labels=labels,
        classes=classes,
        rows=rows.astype(np.int64),
        digests=digests,
        payload=payload,
        statistics=summary["statistics"],
        dropped=tuple(summary["dropped_ids"]),
        organisms={
            name: tuple(records[name]) for name in ("taxonomy", "organism") if name in records
        },
        vectors=vectors,
        memberships=memberships,
    )


def _codes(labels: Iterable[str], classes: tuple[str, ...]) -> NDArray[np.int64]:
    """Return the place of each label among the classes, -1 of one that is none of them."""
    import pandas as pd  # slow to import

    return pd.Index(classes).get_indexer(pd.Index([*labels]))


def _memberships(texts: "pd.Series[str]", classes: tuple[str, ...]) -> NDArray[np.bool_] | None:
    """Return which classes each record has; None if one is none of them."""
    labels = [text.split(SEPARATOR) for text in texts]
    codes = _codes((label for own in labels for label in own), classes)
    if (codes < 0).any():
        return None
    memberships = np.zeros((len(labels), len(classes)), dtype=np.bool_)
    memberships[np.repeat(np.arange(len(labels)), [len(own) for own in labels]), codes] = True
    return memberships
