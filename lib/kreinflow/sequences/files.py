"""Opening of the user's text files: plain or gzip, each fault with one clear message."""

import csv
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TextIO

from kreinflow.base.errors import InputError

_UNSEEN = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f"  # control characters
    "\\u2028\\u2029\\ud800-\\udfff\\ufffe\\uffff"  # ends of lines, halves, what XML lacks
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # directions of text
    "\\u200b\\u2060\\ufeff]"  # spaces without a width
)


def has_control(text: str) -> bool:
    r"""Return whether a text has control characters, or others that are not shown.

    A terminal obeys the former and tables lose them. The latter turn the direction of what stands
    around them, or are spaces without a width: two texts look alike and differ. Parts of names of
    files that are no UTF-8, ends of lines of Unicode, and the two characters that XML lacks count
    too. Characters without a width that letters need (Persian, Sinhala, Devanagari) do not.

    Examples
    --------
    >>> has_control("sp|P12345|AATM_RABIT"), has_control("a\0b"), has_control("a\u202eb")
    (False, True, True)
    >>> has_control("\u0646\u06cc\u200c\u0645")
    False
    """
    return not text.isprintable() and _UNSEEN.search(text) is not None


def refuse_control(what: str, texts: Iterable[str], places: Iterable[str]) -> None:
    """Refuse characters that are obeyed or not shown, in texts for tables and figures.

    Parameters
    ----------
    what : str
        What the texts are, for the message.
    texts, places : iterable of str
        Each text, and where it stands.

    Raises
    ------
    InputError
        Naming the first.
    """
    for text, place in zip(texts, places, strict=True):
        if has_control(text):
            raise InputError(f"{place}: the {what} {shortened(text)!a} {UNSEEN}")


UNSEEN = "has a control character, or one that is not shown. Remove it."


def shortened(text: str) -> str:
    """Return a text, or its first 60 characters, for messages."""
    return text if len(text) <= 60 else f"{text[:60]}..."


_LONGEST = 2000
"""Bytes of the path of a folder of results: with the longest names in it, and written as Snakemake
writes them for its records, a third longer, it stays below the 4,096 of a system."""


def check_results(folder: Path) -> None:
    """Refuse a folder of results that cannot be made or written.

    Raises
    ------
    InputError
    """
    if len(os.fsencode(folder.absolute())) > _LONGEST:
        raise InputError(
            f"results: {folder}: is a path of more than {_LONGEST} bytes. Set other 'results'."
        )
    try:
        nearest = next(path for path in (folder, *folder.parents) if path.exists())
    except OSError as error:
        raise InputError(
            f"results: {folder}: cannot be used ({error.strerror}). Set other 'results'."
        ) from error
    if not nearest.is_dir():
        raise InputError(
            f"results: {nearest}: is a file where a folder is expected. Set other 'results'."
        )
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise InputError(f"results: {nearest}: cannot be written. Set other 'results'.")


def check_file(path: Path) -> None:
    """Refuse a file that is missing, a folder, unreadable or empty.

    Raises
    ------
    InputError
    """
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a folder where a file is expected. Name the file.")
        if not path.exists():
            raise InputError(
                f"{path}: no such file. Check the path; in a config, relative ones start at 'data'."
            )
        if path.is_fifo():  # what is read of it is gone
            return
        with path.open("rb") as file:
            if not file.read(1):
                raise InputError(f"{path}: is empty. Give the right file.")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error


STANDARD_INPUT = Path("-")
"""What :func:`open_text` takes for standard input."""


_OTHERS = {
    b"\xff\xfe": "is UTF-16 text. Save it as UTF-8 and give it again.",
    b"\xfe\xff": "is UTF-16 text. Save it as UTF-8 and give it again.",
    **{
        b"BZh%d1AY" % level: "is packed with bzip2. Unpack it, or pack it with gzip."
        for level in range(1, 10)
    },
    b"\xfd7zXZ": "is packed with xz. Unpack it, or pack it with gzip.",
    b"\x28\xb5\x2f\xfd": "is packed with zstd. Unpack it, or pack it with gzip.",
    b"PK\x03\x04": "is a zip archive, as spreadsheets are. Give text, plain or packed with gzip.",
}
"""What is told by its first bytes, and refused by name."""


def shown_name(path: Path) -> str:
    """Return what messages call a file, or standard input."""
    return "standard input" if path == STANDARD_INPUT else str(path)


@contextmanager
def open_text(path: Path, errors: str = "strict") -> Iterator[TextIO]:
    """Open a text file, plain or gzip (told by its first bytes), as UTF-8 with any line ends.

    A byte order mark is skipped.

    Parameters
    ----------
    path : Path
        :data:`STANDARD_INPUT` for standard input; it is read once and to its end.
    errors : str
        What to do with bytes that are not UTF-8, as in :func:`open`.

    Raises
    ------
    InputError
        If the file is missing, empty, a truncated gzip file, or not UTF-8 text.
    """
    name = shown_name(path)
    if path != STANDARD_INPUT:
        check_file(path)
    try:
        with _binary(path) as raw:
            begin = raw.peek(8)
            if (other := next((o for o in _OTHERS if begin.startswith(o)), None)) is not None:
                raise InputError(f"{name}: {_OTHERS[other]}")
            packed = begin.startswith(b"\x1f\x8b")
            binary: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            with io.TextIOWrapper(binary, encoding="utf-8-sig", errors=errors) as text:
                yield text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{name}: truncated or damaged gzip file ({error}). Copy or download it again."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: not UTF-8 text (byte {error.object[error.start]:#04x}). "
            "Save it as UTF-8 and give it again."
        ) from error
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error}).") from error


LONGEST_LINE = 1 << 20
"""Characters of a line that are held, where nothing else is said."""

LONGEST_ROW = 1 << 25
"""Characters of a row of a table, which may have many columns."""


DELIMITERS = {"\t": "tab", ",": "comma", ";": "semicolon"}
"""What may separate the columns of a table, in words."""


def bounded_lines(file: TextIO, place: str, longest: int = LONGEST_LINE) -> Iterator[str]:
    """Yield the lines of an open file, holding no more of one than may be.

    Parameters
    ----------
    file : text stream
    place : str
        What messages call it.
    longest : int
        Characters of the longest line, its end included.

    Raises
    ------
    InputError
        If a line is longer. It is not read to its end.
    """
    for number, line in enumerate(iter(partial(file.readline, longest + 1), ""), start=1):
        if len(line) > longest:
            raise too_long(f"{place}, line {number}", longest)
        yield line


def too_long(place: str, longest: int) -> InputError:
    """Return what to raise for a line, or an entry, that has too many characters."""
    return InputError(
        f"{place}: has more than {longest:,} characters, which no such file has. "
        "Is this the right file, and is it whole?"
    )


def table_rows(
    file: TextIO, place: str, delimiter: str
) -> tuple[str, Iterator[tuple[int, list[str]]]]:
    """Return the delimiter of a table, and an iterator over its rows.

    Each row is the number of its (last) line and its fields. It has at most :data:`LONGEST_ROW`
    characters, in several lines if a field is quoted.

    Parameters
    ----------
    file : text stream
    place : str
        What messages call it.
    delimiter : str
        That of the file's ending. A comma becomes a semicolon if the first line has semicolons and
        no comma outside quotation marks: spreadsheets write such a CSV in many countries.

    Raises
    ------
    InputError
        If it is not a table, or a row is longer.
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


def _binary(path: Path) -> io.BufferedReader:
    if path != STANDARD_INPUT:
        return path.open("rb")
    if sys.stdin is None:
        raise InputError("standard input: is closed. Name a file.")
    return open(sys.stdin.fileno(), "rb", closefd=False)


def name_endings(path: Path) -> tuple[str, str]:
    """Return the name without endings, and the ending without ``.gz``, in lower case.

    Examples
    --------
    >>> name_endings(Path("folder/Globins.fasta.gz"))
    ('Globins', '.fasta')
    """
    inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return inner.stem, inner.suffix.lower()


def counted(n: int, one: str, many: str | None = None) -> str:
    """Return a number and what it counts; the plural is the singular with an s, if not given.

    Examples
    --------
    >>> counted(1, "row"), counted(0, "class", "classes")
    ('1 row', '0 classes')
    """
    return f"{n} {one if n == 1 else many or one + 's'}"


def first_few(items: list[str], limit: int = 5) -> str:
    """Return the first few items as text, and how many more there are.

    Examples
    --------
    >>> first_few(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    shown = ", ".join(items[:limit])
    return f"{shown} and {len(items) - limit} more" if len(items) > limit else shown
