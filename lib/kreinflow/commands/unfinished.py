"""Outputs that several starts make: what is done stands in a file of its own until all is done."""

import fcntl
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from kreinflow.base.errors import InputError, unwritable

ENDING = ".unfinished"
"""The end of the file's name, behind that of the output."""


class Unfinished:
    """The pieces of outputs that are done: whether there are any, their number of records, texts.

    The file has a line for each: the CRC-32 of the rest as eight digits, and JSON. The first says
    what the work is ``about``, each other one has the number of records of a piece and the text of
    each output. The first line that is damaged, and all behind it, is cut off.
    """

    def __init__(self, file: BinaryIO, path: Path, about: Mapping[str, str]) -> None:
        self._file, self._path, self._about = file, path, about
        self.records = end = 0
        for line in file:
            if (content := _content(line)) is None:
                break
            if end == 0:
                self._check(content)
            else:
                self.records += content[0]
            end += len(line)
        file.truncate(end)
        file.seek(end)
        self.begun = end > 0

    def _check(self, content: Mapping[str, str]) -> None:
        names = sorted({name for name, _ in content.items() ^ self._about.items()})
        if names:
            raise InputError(
                f"{self._path}: was begun with another {', '.join(names)}. Give what it was begun "
                "with, or delete it to begin anew."
            )

    def add(self, records: int, texts: Sequence[str]) -> None:
        """Add a piece of so many records."""
        piece: list[Any] = [records, *texts]
        try:
            for part in [piece] if self.begun else [self._about, piece]:
                line = json.dumps(part).encode()
                self._file.write(b"%08x %b\n" % (zlib.crc32(line), line))
            self._file.flush()
        except OSError as error:
            raise unwritable(self._path, error) from error
        self.begun = True
        self.records += records

    def write_to(self, writes: Sequence[Callable[[str], object]]) -> None:
        """Write all pieces, each output by its own function."""
        self._file.seek(0)
        next(self._file, None)  # what it is about
        for line in self._file:
            for write, text in zip(writes, _content(line)[1:], strict=True):
                write(text)


@contextmanager
def unfinished(output: str, about: Mapping[str, str]) -> Iterator[Unfinished]:
    """Yield what is done of an output, kept beside it until the block ends well.

    An InputError if it was begun about something else, another process is at work on it, or it
    cannot be written.
    """
    path = Path(os.path.realpath(output) + ENDING)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}).") from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"{path}: another process is at work on it. Wait for it.") from error
        file.seek(0)
        kept = Unfinished(file, path, about)
        try:
            yield kept
        except BaseException:
            if not kept.begun:
                path.unlink()
            raise
        path.unlink()


def _content(line: bytes) -> Any:
    """Return what a line says; None if it is not whole."""
    crc, text = line[:8], line[9:-1]
    return json.loads(text) if line[-1:] == b"\n" and crc == b"%08x" % zlib.crc32(text) else None
