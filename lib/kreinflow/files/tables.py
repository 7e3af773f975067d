"""Tables (TSV, plain or gzip): written with all digits, and checked when they are read."""

from __future__ import annotations

import gzip
import io
import os
import warnings
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.late import pandas as pd
from kreinflow.files.atomic import AGAIN, read_bytes, write_bytes
from kreinflow.files.checksums import file_checksum
from kreinflow.files.json_files import write_json


def write_table(path: str | os.PathLike[str], table: pd.DataFrame) -> None:
    """Write a TSV (gzip if the name ends in ``.gz``), floats with all their digits, atomically."""
    data = table_text(table).encode()
    if str(path).endswith(".gz"):
        # Digits hardly get smaller above 4, which takes half the time of 6.
        data = gzip.compress(data, compresslevel=4, mtime=0)
    write_bytes(path, data)


def write_listed(
    listing: str | os.PathLike[str],
    tables: Mapping[str, pd.DataFrame],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Write tables by their paths, and into the JSON file ``listing`` their checksums.

    They are there under ``checksums``, by the names of the files, beside ``more``. See
    :func:`check_listed`.
    """
    for path, table in tables.items():
        write_table(path, table)
    write_json(listing, {**(more or {}), "checksums": checksums_of(tables)})


def checksums_of(paths: Iterable[str | os.PathLike[str]]) -> dict[str, str]:
    """Return the checksums of files, by their names."""
    return {Path(path).name: file_checksum(path) for path in paths}


def check_listed(path: str | os.PathLike[str], listing: Mapping[str, Any], name: str) -> None:
    """Compare a file with its checksum in a ``listing`` that was read from the file ``name``.

    An InputError if it does not match, has none there, or cannot be read.
    """
    try:
        found = file_checksum(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    if found != listing.get("checksums", {}).get(Path(path).name):
        raise InputError(
            f"{path}: damaged or of another run, it does not match its checksum in {name}. {AGAIN}"
        )


def table_text(table: pd.DataFrame, header: bool = True, separator: str = "\t") -> str:
    """Return a table as the text of a TSV, floats with all their digits."""
    text: str = table.to_csv(sep=separator, index=False, header=header, lineterminator="\n")
    return text


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str],
    text: Sequence[str] = (),
    whole: Sequence[str] = (),
    finite: Sequence[str] = (),
) -> pd.DataFrame:
    """Read a TSV written by :func:`write_table`, in which ``columns`` must be there.

    Those of ``text`` are read as text whatever they hold (``NA`` is a label too); those of
    ``whole`` and ``finite`` must be there and hold such a number in each row. An InputError if the
    file is missing, truncated, lacks a column or holds something else in one.
    """
    data = read_bytes(path)
    if str(path).endswith(".gz"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise InputError(f"{path}: truncated or not gzip ({error}). {AGAIN}") from error
    _refuse_open_end(path, data)
    types: dict[str, type] = dict.fromkeys(text, str) | dict.fromkeys(whole, np.int64)
    types |= dict.fromkeys(finite, np.float64)
    try:
        with np.errstate(invalid="ignore"), warnings.catch_warnings():
            # Numbers too large for 64 bits are refused, and lines longer than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                io.BytesIO(data),
                sep="\t",
                lineterminator="\n",
                index_col=False,
                dtype=types,
                keep_default_na=False,
                na_values={},
            )
    except (ValueError, OverflowError, pd.errors.ParserWarning) as error:
        raise InputError(f"{path}: not a table ({str(error).strip()}). {AGAIN}") from error
    _refuse_missing(path, [*columns, *whole, *finite], table.columns)
    for name in finite:
        if not np.isfinite(table[name]).all():
            raise InputError(f"{path}: column {name!r} holds a number that is not finite. {AGAIN}")
    return table


def read_measures(
    path: str | os.PathLike[str], columns: Sequence[str], text: Sequence[str]
) -> pd.DataFrame:
    """Read a table in which all columns but those of ``text`` hold numbers, or yes and no.

    A cell may be empty. For the rest see :func:`read_table`.
    """
    table = read_table(path, columns, text)
    mixed = table.select_dtypes(exclude=["number", "bool"])
    for name in mixed.columns.difference(list(text)):
        cells = table[name].astype(str)
        known = cells.isin(["", "True", "False"]) | pd.to_numeric(cells, errors="coerce").notna()
        if not known.all():
            raise InputError(
                f"{path}: {cells[~known].iloc[0]!r} in column {name!r} is no number. {AGAIN}"
            )
    return table


def read_plain_columns(path: str | os.PathLike[str], columns: Sequence[str]) -> list[list[bytes]]:
    """Read columns of a TSV in which no entry is quoted, as bytes.

    For a million sequences pandas would take several times the time and memory. An InputError if
    the file is missing, truncated, lacks a column or has a line of another width.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    with file:
        header = file.readline()
        _refuse_open_end(path, header)
        names = header.decode("utf-8", "replace").rstrip("\n").split("\t")
        _refuse_missing(path, columns, names)
        places = [names.index(name) for name in columns]
        found: list[list[bytes]] = [[] for _ in columns]
        for line in file:
            _refuse_open_end(path, line)
            cells = line[:-1].split(b"\t")
            if len(cells) != len(names):
                raise InputError(
                    f"{path}: not a table (lines have different numbers of columns). {AGAIN}"
                )
            for column, place in zip(found, places, strict=True):
                column.append(cells[place])
    return found


def _refuse_open_end(path: str | os.PathLike[str], data: bytes) -> None:
    if data and not data.endswith(b"\n"):
        raise InputError(f"{path}: truncated, its last line has no end. {AGAIN}")


def _refuse_missing(
    path: str | os.PathLike[str], columns: Sequence[str], present: Collection[str]
) -> None:
    for name in columns:
        if name not in present:
            raise InputError(f"{path}: column {name!r} is missing. {AGAIN}")
