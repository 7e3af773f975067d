"""Tables of the user, TSV or CSV: columns by name, and each fault by file and line."""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, plural
from kreinflow.files.text_files import name_endings, open_text, refuse_control

_ENDINGS = dict.fromkeys((".tsv", ".tab", ".txt", ".tax", ".taxonomy"), "\t") | {".csv": ","}
_DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon"}

YES, NO = frozenset(("1", "1.0", "true", "yes")), frozenset(("0", "0.0", "false", "no", ""))
"""What columns have that say whether a record has a label, their name; in lower case."""

NONE = "none"
"""The label of a record for which no such column says yes."""

Column = str | int
"""The name of a column; or its number, from 1, in a table whose first line names none."""


@contextmanager
def open_rows(
    path: Path, delimiters: str = ""
) -> Iterator[tuple[str, Iterator[tuple[int, list[str]]]]]:
    """Open a table: the name of what separates its fields, and number and fields of each row.

    The number is that of a row's last line: a quoted field may have several. The ending of the
    file's name tells the delimiter. If the first line lacks it outside quotation marks, it is the
    first of other ``delimiters`` that this line has, of a CSV the semicolon at least: spreadsheets
    write it so in many countries.
    """
    ending = name_endings(path)[1]
    if ending not in _ENDINGS:
        raise InputError(
            f"{path}: the ending {ending!r} is not one of a table. "
            f"Name it {', '.join(_ENDINGS)} (or these with .gz)."
        )
    with open_text(path) as file:
        head, delimiter = next(file, ""), _ENDINGS[ending]
        plain = re.sub('"[^"]*("|$)', "", head)
        others = delimiters or (";" if delimiter == "," else "")
        delimiter = next((d for d in (delimiter, *others) if d in plain), delimiter)
        reader = csv.reader(chain([head], file), delimiter=delimiter, strict=True)
        try:
            yield _DELIMITERS[delimiter], ((reader.line_num, fields) for fields in reader)
        except csv.Error as error:
            raise InputError(
                f"{path}, line {reader.line_num}: not a table ({error}). Is a quotation mark "
                "opened and not closed, or the file damaged?"
            ) from error


@dataclass
class Table:
    """An open table: the names of its columns, if it has a header, and its rows."""

    path: Path
    delimiter: str
    names: list[str]
    numbered: Iterator[tuple[int, list[str]]]
    header: bool

    def place(self, column: Column) -> int:
        """Return the place of a column; refuse one that is missing or stands twice."""
        names, path = self.names, self.path
        if isinstance(column, int) and column <= len(names):
            return column - 1
        if isinstance(column, int) or not self.header:
            raise InputError(
                f"{path}: column {column!r} is none of its {len(names)}. Where one column is named "
                "by a number, from 1, the table has no header, and all are."
            )
        if names.count(column) == 1:
            return names.index(column)
        if column in names:
            raise InputError(f"{path}: column {column!r} stands twice. Rename one of them.")
        close = [name for name in names if name.lower() == column.lower()]
        close += get_close_matches(column, names, n=1)
        shown = [" ".join(name.split()) for name in names]  # a quoted one may have a line end
        hint = f"did you mean {close[0]!r}?" if close else f"it has {abridged(shown)}."
        if len(names) == 1 and not close:
            hint += f" Are its fields separated by a {self.delimiter}?"
        raise InputError(f"{path}: column {column!r} is missing; {hint}")

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yield line and texts of rows that are not empty; refuse another number of fields."""
        width = len(self.names)
        for line, row in self.numbered:
            fields = [field.strip() for field in row]
            if not any(fields):
                continue
            if len(fields) < width or any(fields[width:]):
                of = "header" if self.header else "first line"
                raise InputError(
                    f"{self.path}, line {line}: has {plural(len(fields), 'field')}, the {of} "
                    f"{width}. Fields are separated by a {self.delimiter}, empty ones too; a text "
                    "that holds one stands in quotation marks."
                )
            yield line, fields[:width]


@contextmanager
def open_table(path: Path, header: bool = True) -> Iterator[Table]:
    """Open a table, of which the first line has the names of the columns or is a row."""
    with open_rows(path, "\t;,") as (delimiter, numbered):
        first = next(numbered, (1, []))
        names = [name.strip() for name in first[1]]
        while header and names and not names[-1]:
            names.pop()
        yield Table(
            path, delimiter, names, numbered if header else chain([first], numbered), header
        )


@contextmanager
def open_columns(path: Path, columns: Sequence[Column | None]) -> Iterator[tuple[Table, list[int]]]:
    """Open a table that has some columns: the table, and the places of those that are no None.

    It has no header if one of them is a number.
    """
    with open_table(path, not any(isinstance(column, int) for column in columns)) as table:
        yield table, [table.place(column) for column in columns if column is not None]


def check_columns(path: Path, *columns: Column | None) -> None:
    """Refuse a table that cannot be read or lacks a column, by its first line alone."""
    with open_columns(path, columns):
        pass


def read_columns(
    path: Path,
    columns: Sequence[Column | None],
    skip_empty: bool = False,
    separator: str = "",
    indicators: bool = False,
) -> Iterator[tuple[int, str, str]]:
    """Yield line number and texts of two named columns of a TSV or CSV file.

    In place of a first column that is None stand numbers of rows, from 1. With ``skip_empty`` a
    line whose second column is empty is left out. More columns than two are the levels of a path,
    which stands for the second one: their texts with the separator between them, but for empty ones
    at the end. As ``indicators`` they say by 1 and 0 which of their names are labels. An InputError
    names the line of an empty text, of characters that are not shown, of a separator in a part of a
    path, or of an indicator that is neither.
    """
    with open_columns(path, columns) as (table, places):
        for number, (line, fields) in enumerate(table.rows(), 1):
            texts = [fields[place] for place in places]
            first, *parts = texts if columns[0] is not None else (str(number), *texts)
            if skip_empty and not any(parts):
                continue
            if indicators:
                parts = _labels_said(f"{path}, line {line}", columns[1:], parts)
            while len(parts) > 1 and not parts[-1]:
                parts.pop()
            for column, value in zip(columns, (first, *parts), strict=False):
                if not value:
                    raise InputError(
                        f"{path}, line {line}: the column {column!r} is empty. "
                        "Fill it in or remove the line."
                    )
                refuse_control(f"{column}", [value], [f"{path}, line {line}"])
            inside = [part for part in parts if separator in part] if not indicators else []
            if inside and len(columns) > 2:
                raise InputError(
                    f"{path}, line {line}: {inside[0]!r} has {separator!r} in it, which separates "
                    "the levels. Give 'levels.separator' a text that is in no label."
                )
            yield line, first, separator.join(parts)


def _labels_said(place: str, columns: Sequence[Column | None], values: Sequence[str]) -> list[str]:
    """Return the names of the columns that say yes, :data:`NONE` if none does."""
    said = [(str(column), value.casefold()) for column, value in zip(columns, values, strict=True)]
    for name, value in said:
        if value not in YES | NO:
            raise InputError(
                f"{place}: the column {name!r} is {value!r}, and not 0 or 1 as where each column "
                "is a label. If they are levels, give 'levels'."
            )
    return [name for name, value in said if value in YES] or [NONE]


def read_user_table(path: Path, header: bool = True) -> tuple[list[Column], list[tuple[str, ...]]]:
    """Return all columns of a TSV or CSV file, and its rows, as the texts they are."""
    with open_table(path, header) as table:
        names: list[Column] = [*(table.names if header else range(1, len(table.names) + 1))]
        return names, [tuple(fields) for _, fields in table.rows()]
