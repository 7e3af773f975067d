"""A table beside the data: which column has the ids, and which could have the labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, plural, shortened
from kreinflow.commands.proposing.labels import Candidate
from kreinflow.sequences.headers import short_forms
from kreinflow.sequences.user_tables import read_user_table

_NAMED = ("id", "ids", "accession", "entry", "name", "identifier")


@dataclass(frozen=True)
class LabelsTable:
    """A table of labels, looked at.

    Parameters
    ----------
    path : Path
    id_column : str
    lines : int
        Below its header.
    matched : int
        Lines of a record.
    candidates : list of Candidate
        The other columns that could be labels, the most plausible first.
    others : list of Candidate
        The other columns.
    """

    path: Path
    id_column: str
    lines: int
    matched: int
    candidates: list[Candidate]
    others: list[Candidate]


def is_called_id(name: str) -> bool:
    """Return whether a column has the name of one of ids."""
    return name.casefold() in _NAMED


def look_at_table(path: Path, ids: Sequence[str]) -> LabelsTable:
    """Find the column of the ids in a table, and what its other columns could be.

    A value is an id if it is that of a record, or a short form of it, or the other way round, as
    for :func:`~kreinflow.sequences.headers.known_by`.

    Parameters
    ----------
    path : Path
    ids : sequence of str
        Of the records.

    Raises
    ------
    InputError
        If it is no table, a column stands twice, none has ids, or none could be labels.
    """
    names, rows = read_user_table(path)
    if not rows:
        raise InputError(f"{path}: has no line below its header. Give the right file.")
    records = dict(zip(ids, ids, strict=True))
    of_form: dict[str, list[str]] = {}
    for id in ids:
        for form in short_forms(id):
            of_form.setdefault(form, []).append(id)

    def meant(value: str) -> list[str]:
        if value in records:
            return [value]
        found = of_form.get(value, [])
        return found or [form for form in short_forms(value) if form in records]

    if twice := [name for name in dict.fromkeys(names) if name and names.count(name) > 1]:
        raise InputError(f"{path}: column {twice[0]!r} stands twice. Rename one of them.")
    named = [place for place, name in enumerate(names) if name]
    columns = {place: [meant(row[place]) for row in rows] for place in named}
    counts = {place: len({id for own in columns[place] for id in own}) for place in named}
    best = max(named, key=lambda place: (counts[place], is_called_id(names[place])), default=None)
    if best is not None and meant(names[best]):
        raise InputError(
            f"{path}: its first line has no names of columns, but a record. Write a line above it "
            "that names the columns, such as id and label."
        )
    if best is None or not counts[best]:
        raise _no_ids(path, names, rows, ids)
    texts: dict[int, dict[str, list[str]]] = {place: {} for place in named if place != best}
    for own, row in zip(columns[best], rows, strict=True):
        for place, found in texts.items():
            if row[place]:
                for id in own:
                    found.setdefault(id, []).append(row[place])
    every = [Candidate(names[place], found) for place, found in texts.items()]
    candidates = sorted((one for one in every if one.usable()), key=Candidate.rank)
    if not candidates:
        shown = [f"{one.name!r} ({plural(len(one.sizes), 'text')})" for one in every]
        raise InputError(
            f"{path}: no column could be the labels of the {plural(len(ids), 'record')}: two "
            f"classes of two records are needed at least. Beside the ids ({names[best]!r}) it has "
            f"{abridged(shown, 8) or 'no column'}. Give a table with a column of labels."
        )
    matched = sum(map(bool, columns[best]))
    others = [one for one in every if one not in candidates]
    return LabelsTable(path, names[best], len(rows), matched, candidates, others)


def _no_ids(
    path: Path, names: Sequence[str], rows: Sequence[Sequence[str]], ids: Sequence[str]
) -> InputError:
    """Return what to raise where no column has ids: how they look on both sides."""
    shown = [
        f"{name!r} has {abridged([repr(shortened(row[place])) for row in rows[:3]])}"
        for place, name in sorted(  # ids differ from line to line
            enumerate(names), key=lambda entry: -len({row[entry[0]] for row in rows})
        )
    ]
    return InputError(
        f"{path}: no column has the ids of the records. These are "
        f"{abridged([repr(shortened(id)) for id in ids[:3]])}; in the table {abridged(shown, 4)}."
        " Write the ids as the first words of the FASTA headers have them, or give the right file."
    )
