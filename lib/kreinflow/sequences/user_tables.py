"""Tables of the user, TSV or CSV: columns by name, and each fault by file and line."""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import chain
from pathlib import Path
from typing import TextIO

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, plural
from kreinflow.sequences.text_files import (
    bounded_lines,
    name_endings,
    open_text,
    refuse_control,
    too_long,
)

_ENDINGS = {".tsv": "\t", ".tab": "\t", ".txt": "\t", ".csv": ","}

LONGEST_ROW = 1 << 25
"""Characters of a row of a table, which may have many columns."""

DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon"}
"""The names of the signs that separate the columns of a table."""


class Table:
    """An open table: the names of its columns, and its rows."""

    def __init__(self, path: Path, file: TextIO, delimiter: str) -> None:
        delimiter, self._rows = table_rows(file, str(path), delimiter)
        self._path, self._delimiter = path, DELIMITERS[delimiter]
        self.names = [name.strip() for name in next(self._rows, (1, []))[1]]
        while self.names and not self.names[-1]:
            self.names.pop()

    def place(self, column: str) -> int:
        """Return the place of a column; refuse one that is missing or stands twice."""
        names, path = self.names, self._path
        if names.count(column) == 1:
            return names.index(column)
        if column in names:
            raise InputError(f"{path}: column {column!r} stands twice. Rename one of them.")
        close = [name for name in names if name.lower() == column.lower()]
        close += get_close_matches(column, names, n=1)
        shown = [" ".join(name.split()) for name in names]  # a quoted one may have a line end
        hint = f"did you mean {close[0]!r}?" if close else f"it has {abridged(shown)}."
        if len(names) == 1 and not close:
            hint += f" Are its fields separated by a {self._delimiter}?"
        raise InputError(f"{path}: column {column!r} is missing; {hint}")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line and fields of rows that are not empty; refuse another number of fields."""
        width = len(self.names)
        for line, fields in self._rows:
            if not any(field.strip() for field in fields):
                continue
            if len(fields) < width or any(field.strip() for field in fields[width:]):
                raise InputError(
                    f"{self._path}, line {line}: has {plural(len(fields), 'field')}, the header "
                    f"{width}. Fields are separated by a {self._delimiter}, empty ones too; a text "
                    "that holds one stands in quotation marks."
                )
            yield line, fields


@contextmanager
def open_table(path: Path) -> Iterator[Table]:
    """Open a table; the ending of its name tells the delimiter."""
    ending = name_endings(path)[1]
    if ending not in _ENDINGS:
        raise InputError(
            f"{path}: the ending {ending!r} is not one of a table. "
            f"Name it {', '.join(_ENDINGS)} (or these with .gz)."
        )
    with open_text(path) as file:
        yield Table(path, file, _ENDINGS[ending])


def check_columns(path: Path, *columns: str) -> None:
    """Refuse a table that cannot be read or lacks a column, by its first line alone."""
    with open_table(path) as table:
        for column in columns:
            table.place(column)


def read_columns(
    path: Path, columns: Sequence[str], skip_empty: bool = False, separator: str = ""
) -> Iterator[tuple[int, str, str]]:
    """Yield line number and text of two named columns of a TSV or CSV file, as the texts they are.

    With ``skip_empty`` a line whose second column is empty is left out. More columns than two are
    the levels of a path, which stands for the second one: their texts with the separator between
    them. Empty ones at the end of a path are left out.
    An InputError names the line that has other fields than the header, an empty text, characters
    that are not shown, or a separator in a part of a path.
    """
    with open_table(path) as table:
        places = [table.place(column) for column in columns]
        for line, fields in table.rows():
            first, *parts = (fields[number].strip() for number in places)
            if skip_empty and not any(parts):
                continue
            while len(parts) > 1 and not parts[-1]:
                parts.pop()
            for column, value in zip(columns, (first, *parts), strict=False):
                if not value:
                    raise InputError(
                        f"{path}, line {line}: the {column!r} is empty. "
                        "Fill it in or remove the line."
                    )
                refuse_control(column, [value], [f"{path}, line {line}"])
            if len(places) > 2 and (inside := [part for part in parts if separator in part]):
                raise InputError(
                    f"{path}, line {line}: {inside[0]!r} has {separator!r} in it, which separates "
                    "the levels. Give 'levels.separator' a text that is in no label."
                )
            yield line, first, separator.join(parts)


def read_user_table(path: Path) -> tuple[list[str], list[tuple[str, ...]]]:
    """Return the names of all columns of a TSV or CSV file, and its rows, as the texts they are."""
    with open_table(path) as table:
        width = len(table.names)
        return table.names, [tuple(map(str.strip, fields[:width])) for _, fields in table.rows()]


def table_rows(
    file: TextIO, place: str, delimiter: str
) -> tuple[str, Iterator[tuple[int, list[str]]]]:
    """Return the delimiter of a table, and its rows: the number of the (last) line, and the fields.

    The delimiter given is that of the file's ending. A comma becomes a semicolon if the first line
    has semicolons and no comma outside quotation marks: spreadsheets write such a CSV in many
    countries. An InputError refuses what is no table, or a row of more than :data:`LONGEST_ROW`
    characters, in several lines if a field is quoted.
    """
    held = 0

    def lines() -> Iterator[str]:
        nonlocal held
        for number, line in enumerate(bounded_lines(file, place, LONGEST_ROW), start=1):
            held += len(line)
            if held > LONGEST_ROW:
                raise too_long(f"{place}, line {number}", LONGEST_ROW)
            yield line

    def rows() -> Iterator[tuple[int, list[str]]]:
        nonlocal held
        try:
            for fields in reader:
                held = 0
                yield reader.line_num, fields
        except csv.Error as error:
            raise InputError(
                f"{place}, line {reader.line_num}: not a table ({error}). Is a quotation mark "
                "opened and not closed, or the file damaged?"
            ) from error

    rest = lines()
    head = next(rest, "")
    if delimiter == "," and ";" in head and "," not in re.sub('"[^"]*("|$)', "", head):
        delimiter = ";"
    reader = csv.reader(chain([head] if head else [], rest), delimiter=delimiter, strict=True)
    return delimiter, rows()
