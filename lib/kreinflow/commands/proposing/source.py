"""What is found where data are read: settings of the source, and what to say of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, plural, shortened
from kreinflow.commands.proposing.labels import Candidate, indicators, separator_of_levels
from kreinflow.commands.proposing.writing import Noted
from kreinflow.sequences.headers import short_forms
from kreinflow.sequences.labels import SEPARATOR
from kreinflow.sequences.user_tables import Column, read_user_table

_NAMED = {"id", "ids", "accession", "entry", "name", "identifier", "seqid"}
_SHOWN = 6


@dataclass
class SourceFound:
    """The parts ``source`` and ``levels`` of the config; what to tell, and what looks wrong."""

    settings: dict[str, Any]
    levels: Noted | None = None
    found: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class LabelsTable:
    """A table of labels: its lines below the header, and those that are ``matched`` to a record.

    ``candidates`` are the other columns that could be labels, the most plausible first.
    """

    id_column: Column | None
    lines: int
    matched: int
    candidates: list[Candidate]


def is_called_id(name: Column) -> bool:
    """Return whether a column has the name of one of ids: one, or with an id at its end."""
    name = str(name).casefold()
    return name in _NAMED or re.split(r"[\W_]+", name)[-1] == "id"


def look_at_table(path: Path, ids: Sequence[str], header: bool = True) -> LabelsTable:
    """Find the column of the ids in a table, and what its other columns could be.

    A value is an id if it is that of a record, or a short form of it, or the other way round, as
    for :func:`~kreinflow.sequences.headers.known_by`. If the first line has a record or a value
    that others have, it is no header.
    """
    names, rows = read_user_table(path, header)
    if not rows:
        raise InputError(f"{path}: has no line below its header. Give the right file.")
    known, of_form = set(ids), dict[str, list[str]]()
    for id in ids:
        for form in short_forms(id):
            of_form.setdefault(form, []).append(id)

    def meant(value: str) -> list[str]:
        if value in known:
            return [value]
        return of_form.get(value) or [form for form in short_forms(value) if form in known]

    named = [place for place, name in enumerate(names) if name]
    columns = {place: [meant(row[place]) for row in rows] for place in named}
    counts = {place: len({id for own in columns[place] for id in own}) for place in named}
    best = max(named, key=lambda place: (counts[place], is_called_id(names[place])), default=None)
    first = [(str(names[place]), {row[place] for row in rows}) for place in named]
    no_header = best is not None and (
        meant(str(names[best])) or any(name in values for name, values in first)
    )
    if header and no_header:
        return look_at_table(path, ids, header=False)
    if best is None or not counts[best]:
        raise InputError(
            f"{path}: no column has the ids of the records. These are {abridged(list(ids), 3)}; "
            f"the table has {', '.join(map(shortened, rows[0]))}. Write the ids as the first words "
            "of the FASTA headers have them, or give the right file."
        )
    return _labels_table(path, names, rows, columns[best], names[best])


def look_at_columns(
    path: Path, header: bool, id_column: Column | None, sequence_column: Column
) -> LabelsTable:
    """Find which columns of a table of sequences could be labels, as :func:`look_at_table` does.

    The ids are in a column, or numbers of the rows from 1.
    """
    names, rows = read_user_table(path, header)
    own = None if id_column is None else names.index(id_column)
    ids = [[str(number) if own is None else row[own]] for number, row in enumerate(rows, 1)]
    shown = ["" if name == sequence_column else name for name in names]  # it has no labels
    return _labels_table(path, shown, rows, ids, id_column)


def _labels_table(
    path: Path, names: list[Column], rows: Any, ids: list[list[str]], id_column: Column | None
) -> LabelsTable:
    """Return the columns with a name that could be labels, of rows that are of some ids each."""
    columns = []
    for place, column in enumerate(names):
        texts: dict[str, list[str]] = {}
        for own, row in zip(ids, rows, strict=True):
            for id in own if row[place] else ():
                texts.setdefault(id, []).append(row[place])
        name = column if isinstance(column, str) else f"column {column}"
        columns += (
            [Candidate(name, texts, column)] if name and texts and column != id_column else []
        )
    candidates = [one for one in [*columns, *indicators(columns)] if one.usable()]
    if not candidates:
        beside = "beside the sequences" if id_column is None else f"beside the ids ({id_column!r})"
        raise InputError(
            f"{path}: {beside} no column could be the labels: two classes of two records are "
            "needed at least. Give a table with a column of labels."
        )
    matched = sum(map(bool, ids))
    return LabelsTable(id_column, len(rows), matched, sorted(candidates, key=Candidate.rank))


def labels_of_table(table: LabelsTable, name: str, source: SourceFound) -> dict[str, Any]:
    """Return the settings of the labels in a table, and tell ``source`` what it has."""
    chosen, *further = table.candidates
    note = f"{table.matched:,} of its {table.lines:,} lines are of a record"
    if isinstance(table.id_column, int):
        note += "; columns have numbers, as its first line names none"
    settings: dict[str, Any] = {"table": name}
    if table.id_column is not None:
        source.found.append(f"ids: the column {table.id_column!r} of {name}, {note}.")
        settings["id_column"] = Noted(table.id_column, note)
    where = f"the column {chosen.where!r} of {name}"
    about, several = tell_of_labels(chosen, further, where, source)
    return settings | {"label_column": Noted(chosen.where, about), **several}


def tell_of_labels(
    chosen: Candidate, further: Sequence[Candidate], where: str, source: SourceFound
) -> tuple[str, dict[str, Any]]:
    """Tell of the labels that were chosen, and of others that could be.

    Returned is what to note beside them, and the settings that they need.
    """
    sizes = sorted(chosen.sizes.values())
    several: dict[str, Any] = {}
    levels = chosen.ranks or separator_of_levels(list(chosen.sizes))
    if chosen.ranks:
        counts = ", ".join(f"{len(rank):,}" for rank in chosen.taxa)
        about = f"{len(sizes):,} lineages, with {counts} taxa"
    elif chosen.separator is not None:
        about = f"{plural(len(sizes), 'label')}, several a record"
        note = "each label is learned against the records that lack it"
        several = {"multiple": Noted("all", note), "separator": chosen.separator}
        levels = None if levels == SEPARATOR else levels
        source.advice.append(
            f"Records have several labels, with {chosen.separator!r} between them or in lines of "
            f"their own. If that is one label, remove 'multiple' and 'separator' from the "
            "config."
        )
    else:
        span = f"{sizes[0]:,} to {sizes[-1]:,}" if sizes[0] < sizes[-1] else f"{sizes[0]:,}"
        about = f"{plural(len(sizes), 'class', 'classes')} of {span} records"
    if levels:
        how = (
            "a record has all nodes above its labels too"
            if several
            else "answered as far as is sure"
        )
        source.levels = Noted({"separator": levels}, f"labels are paths: {how}")
        source.found.append(f"labels are paths, with {levels!r} between their levels.")
    source.found.append(f"labels: {where}, {about}.")
    source.found += [f"or {one.name} ({one.many}): {one.line}" for one in further[:_SHOWN]]
    if not (chosen.is_named or chosen.ranks) and (further or chosen.key == "pattern"):
        source.advice.append(
            f"The labels are a guess: {where}, such as {abridged([*chosen.sizes], 3)}. If they are "
            "others, give a table that has them with --labels, or name its column in the config."
        )
    others = abridged([f"{one.line} ({one.many})" for one in further], _SHOWN)
    return f"{about}; or {others}" if further else about, several
