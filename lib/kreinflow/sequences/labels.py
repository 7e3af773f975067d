"""Labels: from a table, from the headers, or from the names of files."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged
from kreinflow.files.text_files import open_text
from kreinflow.sequences.user_tables import Column, read_columns

SEPARATOR = ";"
"""Between the labels of a record, where it may have several."""


def refuse_lookalikes(labels: Iterable[str]) -> None:
    """Refuse labels that differ in what the eye cannot see: they would be classes of their own.

    That is white space, characters that are not shown, or whether an accent is stored with its
    letter or behind it (Unicode's normal form C).
    """
    seen = {"": ""}  # none is all characters that are not shown
    for label in dict.fromkeys(labels):
        shown = "".join(c for c in label if unicodedata.category(c) != "Cf")
        other = seen.setdefault(" ".join(unicodedata.normalize("NFC", shown).split()), label)
        if other != label:
            raise InputError(
                f"the labels {other!a} and {label!a} look the same. Write them alike: "
                "spaces, characters that are not shown, accents."
            )


def differ_in_case(labels: Iterable[str]) -> list[tuple[str, str]]:
    """Return pairs of labels that differ in nothing but upper and lower case.

    Examples
    --------
    >>> differ_in_case(["kinase", "globin", "Kinase"])
    [('kinase', 'Kinase')]
    """
    seen: dict[str, str] = {}
    pairs = [(seen.setdefault(label.casefold(), label), label) for label in dict.fromkeys(labels)]
    return [(first, second) for first, second in pairs if first != second]


def label_columns(columns: Column | Sequence[Column]) -> list[Column]:
    """Return the columns of a table that a label is made of: one, or one for each level."""
    return [columns] if isinstance(columns, (str, int)) else list(columns)


def read_pairs(
    path: Path,
    id_column: Column | None,
    value_column: Column | Sequence[Column],
    skip_empty: bool = False,
    separator: str | None = None,
    several: bool = False,
) -> dict[str, str]:
    """Return the value of each id in a TSV or CSV file, in the order of the file.

    Several columns are the parts of a path if there is a ``separator``; see :func:`read_columns`.
    Else each says by 0 or 1 whether a record has its name as a label. With
    ``several`` an id may have several lines, and a line several labels: they are joined. Without an
    ``id_column`` the ids are the numbers of the rows, from 1.
    """
    found: dict[str, str] = {}
    lines: dict[str, int] = {}
    columns = (id_column, *label_columns(value_column))
    each = isinstance(value_column, list) and (several or separator is None)
    separator = SEPARATOR if each or separator is None else separator
    between = "" if several and not each else separator
    for line, id, value in read_columns(path, columns, skip_empty, between, each):
        place = f"{path}, line {line}"
        if each and not several and SEPARATOR in value:
            raise InputError(f"{place}: has the labels {value}. Set 'labels.multiple: all'.")
        if several:
            value = several_labels(value, separator, place)
        if several and id in found:
            value = several_labels(f"{found[id]}{SEPARATOR}{value}", SEPARATOR, place)
        elif id in found:
            raise InputError(
                f"{place}: id {id!r} stands twice, first in line {lines[id]}. Remove one of them."
            )
        found[id], lines[id] = value, line
    if not found:
        raise InputError(f"{path}: has no line below its header. Give the right file.")
    return found


def several_labels(text: str, separator: str, place: str) -> str:
    """Return the labels of a text, with a separator between them, joined; empty ones are none.

    Examples
    --------
    >>> several_labels("membrane | kinase|", "|", "labels.tsv, line 2")
    'kinase;membrane'
    """
    labels = [label for part in text.split(separator) if (label := part.strip())]
    if not labels:
        raise InputError(f"{place}: has no label but {text!r}. Fill it in or remove it.")
    for label in labels:
        if SEPARATOR in label:
            raise InputError(
                f"{place}: the label {label!r} holds {SEPARATOR!r}, which stands between the "
                "labels of a record in all results. Write the label without it, or set "
                "'labels.separator' to it."
            )
    return join_labels(labels)


def join_labels(labels: Iterable[str]) -> str:
    """Return labels as one text: sorted, each once, with :data:`SEPARATOR` between."""
    return SEPARATOR.join(sorted(set(labels)))


def read_lines(path: Path, what: str = "label") -> list[str]:
    """Return the texts of a file with one a line, which messages call a ``what``.

    Blank lines at the end are left out, others refused.
    """
    with open_text(path) as file:
        texts = [line.strip() for line in file]
    while texts and not texts[-1]:
        texts.pop()
    if not texts:
        raise InputError(f"{path}: is empty. Give the right file.")
    if "" in texts:
        raise InputError(f"{path}, line {texts.index('') + 1}: the {what} is empty. Fill it in.")
    return texts


class HeaderPattern:
    r"""A regular expression that finds the label in a FASTA header.

    It has exactly one group, or a group named ``label``, and is searched in the whole header.

    Examples
    --------
    >>> HeaderPattern(r"GN=(\w+)").label("P1 kinase GN=abl")
    'abl'
    """

    def __init__(self, pattern: str) -> None:
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise InputError(
                f"labels.pattern {pattern!r}: not a regular expression ({error})."
            ) from error
        named = "label" in self._pattern.groupindex
        if not named and self._pattern.groups != 1:
            raise InputError(
                f"labels.pattern {pattern!r}: has {self._pattern.groups} groups. Put parentheses "
                "around the label only, or name its group (?P<label>...)."
            )
        self._group: str | int = "label" if named else 1

    def label(self, header: str) -> str | None:
        """Return the label in a header, or None if there is none (or an empty one)."""
        match = self._pattern.search(header)
        found: str | None = match.group(self._group) if match else None
        return (found or "").strip() or None


def check_matched(
    ids: Iterable[str],
    labels: Mapping[str, str],
    place: str,
    what: str = "sequence",
    may_drop: bool = True,
    has: str = "label",
) -> None:
    """Refuse ids without a label and labels without the object that has that id.

    Messages name the ``place`` of the labels, ``what`` has them, the label as ``has``, and, if it
    ``may_drop``, the option to.
    """
    ids = list(ids)
    missing = [id for id in ids if id not in labels]
    known = set(ids)
    left = [id for id in labels if id not in known]
    if not missing and not left:
        return
    option = ", or set 'unmatched' to drop or to classify them" if may_drop else ""
    if missing:
        fault = f"no {has} for {len(missing)} of {len(ids)} ids: {abridged(missing)}"
        if left:
            fault += f"; it has others, such as {abridged(left, 3)}"
    else:
        fault = f"no {what} for {len(left)} of {len(labels)} {has}s: {abridged(left)}"
    raise InputError(f"{place}: {fault}. Add or remove them, or write the ids alike{option}.")
