"""Labelled records that a model is to learn: reading them, and putting them behind the old ones."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from kreinflow.base.errors import InputError, named
from kreinflow.base.hierarchy import paths_of
from kreinflow.base.numerics import FloatArray
from kreinflow.base.wording import abridged, plural
from kreinflow.classify.learned_file import Learned
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import clean_sequences, vectors_to_look_at
from kreinflow.files.text_files import refuse_control
from kreinflow.sequences.collapse import SourceRecords, collapse
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.fasta import Columns
from kreinflow.sequences.headers import known_by
from kreinflow.sequences.labels import check_matched, read_pairs
from kreinflow.sequences.matrix_files import read_objects
from kreinflow.sequences.payload import Compared, Payload, Sequences
from kreinflow.sequences.strands import on_other_strand, turned


@dataclass(frozen=True, eq=False)
class NewRecords:
    """Labelled objects that a model is to learn."""

    ids: Sequence[str]
    labels: Sequence[str]
    payload: Payload  # what they hold, a row for each record
    vectors: FloatArray | None = None  # (n, n_numbers): for a model that looks at them
    separator: str | None = None  # of labels that are paths


def read_new(
    model: Model,
    learned: Learned,
    path: Path,
    labels: Path,
    vectors: Path | None = None,
    columns: Columns | None = None,
) -> NewRecords:
    """Read the records that a model is to learn.

    ``path`` is FASTA, or vectors or strings as for ``kreinflow classify``, or a table of sequences
    in ``columns``; ``labels`` a table, maybe the same, with the columns that the table of the
    training had, else id and label; ``vectors`` one by id. An
    InputError says that a file cannot be read or does not fit the model, an id stands twice, an id
    has no label or a label no object, or the model has levels and a label is no path.
    """
    levels, payload = model.classifier.levels, learned.dataset.payload
    separator = None if levels is None else levels.separator
    of_ids, of_labels = learned.settings["columns"]
    given = read_pairs(labels, of_ids, of_labels, separator=separator)
    if isinstance(payload, Compared):
        strings = payload.kernel.strings
        width = None if strings else payload.objects.shape[1]
        kernel = payload.kernel.at(path, learned.dataset.ids)
        read = read_objects(path, kernel, width=width)
        ids = list(read.ids or given)
        if len(ids) != len(read.values):
            raise InputError(
                f"{path}: has {plural(len(read.values), 'row')} without ids, and the labels are "
                f"{len(ids)}. Give one label for each row, in their order."
            )
        objects = read.values if strings else read.values + 0.0  # -0.0 is 0.0
        new: Payload = replace(payload, objects=objects, kernel=kernel)
    else:
        places: dict[str, str] = {}
        residues = []
        for record, cleaned in clean_sequences(model, path, columns):
            if record.id in places:
                raise InputError(
                    f"{record.named}: the id stands twice, first in {places[record.id]}. Rename or "
                    "remove one of them."
                )
            places[record.id] = record.place
            residues.append(cleaned)
        ids, new = list(places), Sequences(tuple(residues))
    found = known_by(ids, given, str(labels))
    check_matched(ids, found, str(labels), payload.what, may_drop=False)
    refuse_control("label", found.values(), (f"{labels}, {id}" for id in found))
    names = [found[id] for id in ids]
    if separator is not None:
        with named(str(labels)):
            names = paths_of(ids, names, separator)
    width = None if learned.dataset.vectors is None else learned.dataset.vectors.shape[1]
    table = vectors_to_look_at(width, vectors, "records")
    if table is None:
        return NewRecords(ids, names, new, separator=separator)
    rows = table.places(ids)
    if missing := [ids[place] for place in np.flatnonzero(rows < 0).tolist()]:
        raise InputError(
            f"{vectors}: has no vector for {len(missing)} of the {plural(len(ids), 'record')}: "
            f"{abridged(missing)}. Add them, or remove the records."
        )
    return NewRecords(ids, names, new, np.asarray(table.values[rows]), separator)


def on_one_strand(learned: Learned, new: NewRecords, letters: str) -> tuple[NewRecords, list[str]]:
    """Return new nucleotide sequences on the strand of those like them, and the ids of the turned.

    The learned ones stay, and lead. See :func:`~kreinflow.sequences.strands.on_other_strand`;
    ``letters`` are those of the substitution matrix.
    """
    assert isinstance(new.payload, Sequences), "objects that have no strand"
    old, residues = learned.dataset.sequences, new.payload.residues
    meant = on_other_strand([*old, *residues], leading=len(old))[len(old) :]
    oriented, rows = turned(residues, meant, letters)
    return replace(new, payload=Sequences(tuple(oriented))), [new.ids[row] for row in rows]


def with_new(learned: Learned, new: NewRecords) -> tuple[Dataset, tuple[str, ...]]:
    """Return the data set with the new records behind the others, and the classes that are new.

    Where small classes are learned at their parents, a new record is of the class of its label if
    that is known or large enough, else of the next node above of which one of both is true; those
    that the model has learned stay in their classes.

    An InputError if an id is there already, an object is there with another label, or a new class
    has too few records.
    """
    old = learned.dataset
    if twice := sorted(set(new.ids) & set(old.ids)):
        raise InputError(
            f"{len(twice)} of {len(new.ids)} ids are those of records that the model has learned: "
            f"{abridged(twice)}. Rename them, or take them out."
        )
    known, payload = old.payload.take(old.rows), new.payload
    if isinstance(known, Sequences) and isinstance(payload, Sequences):
        both: Payload = Sequences(known.residues + payload.residues)
    else:
        assert isinstance(known, Compared), "rows of a matrix"
        assert isinstance(payload, Compared), "objects of another kind"
        both = replace(known, objects=np.concatenate([known.objects, payload.objects]))
    known_labels, least = old.joined_labels, max(2, learned.settings["min_class_size"])
    ids = [*old.ids, *new.ids]
    records = SourceRecords(ids, [*known_labels, *new.labels], both, read=len(ids))
    if old.paths is None:
        dataset = collapse(records, "refuse", 1, ())
    else:
        dataset = collapse(records, "drop", least, (), new.separator, old.classes)
        _refuse_moved(dataset, ids, known_labels, least)
        dataset = replace(dataset, paths=(*old.paths, *new.labels))
    if old.vectors is not None and new.vectors is not None:
        first = np.unique(dataset.rows, return_index=True)[1]
        vectors = np.concatenate([old.vectors[old.rows], new.vectors])[first]
        dataset = replace(dataset, vectors=vectors)
    fresh = tuple(label for label in dataset.classes if label not in old.classes)
    sizes = pd.Series(dataset.row_labels).value_counts()
    for label in fresh:
        if old.paths is None and sizes[label] < least:
            raise InputError(
                f"the class {label!r} is new and has {plural(int(sizes[label]), 'record')} "
                f"without identical ones. It needs at least {least} to be learned. Add more, or "
                "take it out."
            )
    return dataset, fresh


def _refuse_moved(dataset: Dataset, ids: Sequence[str], known: Sequence[str], least: int) -> None:
    """Refuse new records that are at no node, or for which a learned one would change its class."""
    if lost := sorted({*ids} - {*dataset.ids}):
        raise InputError(
            f"{plural(len(lost), 'record')} can be learned at no node: {abridged(lost)}. Either "
            "the same object has labels that have no part in common, or the first part of the "
            f"label is new and has fewer than {least} records without identical ones. Add more, or "
            "take them out."
        )
    moved = [id for id, a, b in zip(ids, known, dataset.joined_labels, strict=False) if a != b]
    if moved:
        raise InputError(
            f"{abridged(moved)}: learned before, with an object that a new record has with a label "
            "elsewhere in the tree. Correct the label, or take the new record out."
        )
