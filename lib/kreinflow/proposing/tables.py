"""A table beside the data: which column has the ids, and which could have the labels."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from kreinflow.errors import InputError
from kreinflow.proposing.labels import Candidate
from kreinflow.sequences.files import counted, first_few, shortened
from kreinflow.sequences.headers import short_forms
from kreinflow.sequences.labels import read_table

NAMED = ("id", "ids", "accession", "entry", "name", "identifier")
"""Names of a column that has ids."""


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


def look_at_table(path: Path, ids: Sequence[str], headers: Sequence[str] = ()) -> LabelsTable:
    """Find the column of the ids in a table, and what its other columns could be.

    A value is an id if it is that of a record, or a short form of it, or the other way round, as
    for :func:`~kreinflow.sequences.headers.known_by`.

    Parameters
    ----------
    path : Path
    ids : sequence of str
        Of the records.
    headers : sequence of str
        Of the records, for messages.

    Raises
    ------
    InputError
        If it is no table, no column has ids, or none could be labels.
    """
    names, rows = read_table(path)
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

    once = [place for place, name in enumerate(names) if name and names.count(name) == 1]
    columns = {place: [meant(row[place]) for row in rows] for place in once}
    counts = {place: len({id for own in columns[place] for id in own}) for place in once}
    best = max(
        once, key=lambda place: (counts[place], names[place].casefold() in NAMED), default=None
    )
    if best is not None and meant(names[best]):
        raise InputError(
            f"{path}: its first line has no names of columns, but a record. Write a line above it "
            "that names the columns, such as id and label."
        )
    if best is None or not counts[best]:
        raise _no_ids(path, names, rows, ids, headers)
    texts: dict[int, dict[str, list[str]]] = {place: {} for place in once if place != best}
    for own, row in zip(columns[best], rows, strict=True):
        for place, found in texts.items():
            if row[place]:
                for id in own:
                    found.setdefault(id, []).append(row[place])
    every = [Candidate(names[place], found) for place, found in texts.items()]
    candidates = sorted((one for one in every if one.usable()), key=Candidate.rank)
    if not candidates:
        twice = [repr(name) for name in dict.fromkeys(names) if name and names.count(name) > 1]
        if twice:
            hint = f"More than one is called {first_few(twice)}: rename them."
        else:
            hint = "Give a table with a column of labels."
        shown = [f"{one.name!r} ({counted(len(one.sizes), 'text')})" for one in every]
        raise InputError(
            f"{path}: no column could be the labels of the {counted(len(ids), 'record')}: two "
            f"classes of two records are needed at least. Beside the ids ({names[best]!r}) it has "
            f"{first_few(shown, 8) or 'no column'}. {hint}"
        )
    matched = sum(map(bool, columns[best]))
    others = [one for one in every if one not in candidates]
    return LabelsTable(path, names[best], len(rows), matched, candidates, others)


def _no_ids(
    path: Path,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    ids: Sequence[str],
    headers: Collection[str],
) -> InputError:
    """Return what to raise where no column has ids: how they look on both sides."""
    whole = {header for header in headers if " " in header}
    for place, name in enumerate(names):
        if any(row[place] in whole for row in rows):
            return InputError(
                f"{path}: the column {name!r} has whole headers. The id of a record is the first "
                "word of its header: cut the texts behind it."
            )
    shown = [
        f"{name!r} has {first_few([repr(shortened(row[place])) for row in rows[:3]])}"
        for place, name in sorted(  # ids differ from line to line
            enumerate(names), key=lambda entry: -len({row[entry[0]] for row in rows})
        )
    ]
    return InputError(
        f"{path}: no column has the ids of the records. These are "
        f"{first_few([repr(shortened(id)) for id in ids[:3]])}; in the table {first_few(shown, 4)}."
        " Write the ids as the first words of the FASTA headers have them, or give the right file."
    )
