"""Tables that have sequences in a column, as papers publish data: what the columns are.

A column has sequences if half of its cells or more have a text, nearly all of these are letters of
one case, five or more in the mean, and most of them differ. One that is called so comes first. The
first line is a row if it is like the others: it has letters of sequences, and a text that another
row has.
"""

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kreinflow.base.errors import InputError
from kreinflow.commands.proposing.labels import is_called_labels
from kreinflow.commands.proposing.source import is_called_id
from kreinflow.sequences.user_tables import Column, open_table, read_user_table

_CALLED = re.compile(r"(?:^|[^a-z])(?:seq|peptide|protein|residues|cdr|aa$|dna|rna)", re.IGNORECASE)
_SEQUENCE = re.compile(r"[A-Z*-]+|[a-z*-]+")
_MEASURED = re.compile(r"[-+.\deE]+")
_ROWS = 1000
_SEQUENCES, _DIFFERENT, _MEAN = 0.9, 0.5, 5


class SequenceTable(NamedTuple):
    """The columns of sequences and of ids, None if no column has one id of its own in each row."""

    header: bool
    id_column: Column | None
    sequence_column: Column


def find_sequences(name: str) -> SequenceTable | None:
    """Return the columns of a table of sequences, or None if a file is none.

    An InputError if several columns have sequences and none or several are called so.
    """
    path, rows = Path(name), list[list[str]]()
    try:
        with open_table(path, header=False) as table:
            rows += (fields for _, fields in islice(table.rows(), _ROWS))
    except InputError:  # it is no table, or who reads it whole says what is wrong
        pass
    first, columns = rows[0] if rows else [], list(zip(*rows[1:], strict=True))
    found = [place for place, texts in enumerate(columns) if _are_sequences(first[place], texts)]
    called = [place for place in found if _CALLED.search(first[place])]
    if not found or len(first) < 2:
        return None
    if len(called or found) > 1:
        shown = " and ".join(repr(first[place]) for place in called or found)
        raise InputError(
            f"{path}: several columns have sequences, {shown}, and a record has one. Leave the "
            "others out, or name one in the config as 'sequence_column'. Chains that belong "
            "together are objects with a score of your own: examples/own_similarity/chains.py."
        )
    (own,) = called or found
    letters = set("".join(columns[own]))
    told = any(is_called_id(text) or is_called_labels(text) for text in first)
    alike = any(text in texts for text, texts in zip(first, columns, strict=True))
    header = bool(told or called or not alike or len(set(first[own]) - letters) > 1)
    names, whole = read_user_table(path, header)
    ids = []
    for place, column in enumerate(names):
        texts = [row[place] for row in whole]
        if place == own or len(set(texts)) < len(texts) or any(" " in t or not t for t in texts):
            continue
        if is_called_id(column) or not all(map(_MEASURED.fullmatch, texts)):
            ids.append((not is_called_id(column), place))
    return SequenceTable(header, names[min(ids)[1]] if ids else None, names[own])


def _are_sequences(name: str, texts: Sequence[str]) -> bool:
    filled = [text for text in texts if text]  # of two chains one may be missing
    good = [text for text in filled if _SEQUENCE.fullmatch(text)]
    n, different = len(good), len(set(good))
    like = sum(map(len, good)) >= _MEAN * n and different >= _DIFFERENT * n
    enough = n >= _SEQUENCES * len(filled) and 2 * len(filled) >= len(texts)
    return enough and (like or _CALLED.search(name) is not None)
