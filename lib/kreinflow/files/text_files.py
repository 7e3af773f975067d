"""Opening of the user's text files: plain or gzip, each fault with one clear message."""

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO

from kreinflow.base.errors import InputError
from kreinflow.base.wording import shortened

_UNSEEN = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f"  # control characters
    "\\u2028\\u2029\\ud800-\\udfff\\ufffe\\uffff"  # ends of lines, halves, what XML lacks
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # directions of text
    "\\u200b\\u2060\\ufeff]"  # spaces without a width
)


UNSEEN = "has a control character, or one that is not shown. Remove it."


def has_control(text: str) -> bool:
    """Return whether a text has control characters, or others that are not shown.

    Those that letters need (of Persian, Sinhala, Devanagari) do not count.
    """
    return not text.isprintable() and _UNSEEN.search(text) is not None


def refuse_control(what: str, texts: Iterable[str], places: Iterable[str]) -> None:
    """Refuse texts, each a ``what`` at its place, with characters that are obeyed or not shown."""
    for text, place in zip(texts, places, strict=True):
        if has_control(text):
            raise InputError(f"{place}: the {what} {shortened(text)!a} {UNSEEN}")


def check_results(folder: Path) -> None:
    """Refuse a folder of results that cannot be made or written."""
    nearest, fault = folder, ""
    try:
        nearest = next(path for path in (folder, *folder.parents) if path.exists())
        if not nearest.is_dir():
            fault = "is a file where a folder is expected"
        elif not os.access(nearest, os.W_OK | os.X_OK):
            fault = "cannot be written"
    except OSError as error:
        fault = f"cannot be used ({error.strerror})"
    if fault:
        raise InputError(f"results: {nearest}: {fault}. Set other 'results'.")


def check_file(path: Path) -> None:
    """Refuse a file that is missing, a folder, unreadable or empty."""
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
"""Standard input, for :func:`open_text`."""


def shown_name(path: Path) -> str:
    """Return what messages call a file, or standard input."""
    return "standard input" if path == STANDARD_INPUT else str(path)


@contextmanager
def open_text(path: Path, errors: str = "strict") -> Iterator[TextIO]:
    """Open a text file, plain or gzip (told by its first bytes), as UTF-8 with any line ends.

    An InputError says if it is missing, empty, a truncated gzip file, or not UTF-8 text.
    """
    name = shown_name(path)
    if path != STANDARD_INPUT:
        check_file(path)
    elif sys.stdin is None:
        raise InputError("standard input: is closed. Name a file.")
    try:
        standard = path == STANDARD_INPUT
        with open(sys.stdin.fileno() if standard else path, "rb", closefd=not standard) as raw:
            packed = raw.peek(2).startswith(b"\x1f\x8b")
            binary: IO[bytes] = gzip.GzipFile(fileobj=raw) if packed else raw  # type: ignore[assignment]
            with io.TextIOWrapper(binary, encoding="utf-8-sig", errors=errors) as text:
                yield text
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(
            f"{name}: truncated or damaged gzip file ({error}). Copy or download it again."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: not UTF-8 text (byte {error.object[error.start]:#04x}), plain or packed with "
            "gzip. Save it as such text and give it again."
        ) from error
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror or error}).") from error


def plain_files(path: Path) -> list[Path]:
    """Return the file, or all files of a folder in order of name."""
    return sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]


def name_endings(path: Path) -> tuple[str, str]:
    """Return the name without endings, and the ending without ``.gz``, in lower case.

    Examples
    --------
    >>> name_endings(Path("folder/Globins.fasta.gz"))
    ('Globins', '.fasta')
    """
    inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return inner.stem, inner.suffix.lower()
