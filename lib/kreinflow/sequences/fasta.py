"""Reading FASTA, plain or gzip, and refusing what is not quite FASTA."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple, TextIO

from kreinflow.base.errors import InputError
from kreinflow.base.wording import shortened
from kreinflow.sequences.text_files import LONGEST_LINE, UNSEEN, has_control, open_text, shown_name

FASTA_ENDINGS = (".fasta", ".fa", ".faa", ".fna", ".ffn", ".fas", ".mpfa", ".seq", ".txt")

LONGEST = 1_000_000
"""Residues of the longest sequence that is ever aligned."""

_BLOCK = 1 << 16  # characters of a line that are looked at together


class FastaRecord(NamedTuple):
    """One record of a file; ``number`` and ``line``, where it begins, count from 1.

    One that cannot be used has a ``fault`` (why, and what to do) and no residues. One that has
    ``more`` residues than may be held has the first of them.
    """

    id: str
    header: str
    residues: bytes
    file: str
    number: int
    line: int
    fault: str | None = None
    more: bool = False

    @property
    def place(self) -> str:
        """Return file, record number and line, for messages."""
        return f"{self.file}, record {self.number} (line {self.line})"

    @property
    def named(self) -> str:
        """Return its place and its id, if it has one, for messages."""
        return f"{self.place}, {self.id}" if self.id else self.place


def read_fasta(path: Path, longest: int = LONGEST) -> Iterator[FastaRecord]:
    """Yield the records of a FASTA file, plain or gzip; refuse the first that is at fault.

    The id is the first word of the header. Blank lines, Windows line ends, spaces inside sequences,
    a byte order mark and a missing last line end are harmless. A sequence longer than ``longest``
    is cut a little behind so many residues (:attr:`FastaRecord.more`), and yielded before the rest
    of it is read: no more is ever held of a record.
    """
    for record in read_any_fasta(path, longest):
        if record.fault is not None:
            raise InputError(f"{record.named}: {record.fault}")
        yield record


def read_any_fasta(path: Path, longest: int = LONGEST) -> Iterator[FastaRecord]:
    """Yield the records as :func:`read_fasta` does, but those at fault too, with their fault."""
    name = shown_name(path)
    with open_text(path, errors="surrogateescape") as file:
        number = 0
        for number, (line, title, residues, more) in enumerate(
            _records(file, name, longest), start=1
        ):
            header = readable = title[1:].strip()
            if not header.isascii():
                encoded = header.encode("utf-8", "surrogateescape")
                readable = encoded.decode("utf-8", "backslashreplace")
            id = readable.split(maxsplit=1)[0] if header else ""
            fault = _fault(id, readable == header, residues)
            if len(title) > LONGEST_LINE:
                id = shortened(id)
                fault = f"its header has more than {LONGEST_LINE:,} characters. Shorten it."
            if fault and has_control(id):
                id = ascii(id)[1:-1]
            kept = b"" if fault else residues.encode("ascii")
            yield FastaRecord(id, readable, kept, name, number, line, fault, more)
        if not number:
            raise InputError(f"{name}: holds no records. Give the right file.")


def _records(file: TextIO, name: str, longest: int) -> Iterator[tuple[int, str, str, bool]]:
    """Yield line, header and residues of each record, and whether it has more residues.

    A record whose header or sequence is too long is yielded at once; the rest is passed over.
    """
    number, start, title, held, waiting = 1, 0, "", 0, False
    begins, in_header = True, False
    parts: list[str] = []
    for piece in iter(partial(file.readline, _BLOCK), ""):
        if begins and piece.startswith(">"):
            if waiting:
                yield start, title, "".join(parts), False
            start, title, parts, held, waiting, in_header = number, "", [], 0, True, True
        elif not start and not piece.isspace():
            raise _not_fasta(name, number, piece)
        begins = piece.endswith("\n")
        number += begins
        if in_header and waiting:
            title += piece
            if len(title) > LONGEST_LINE:
                yield start, title, "", False
                waiting = False
        elif waiting and (text := piece.rstrip().replace(" ", "")):
            parts.append(text)
            held += len(text)
            if held > longest + _BLOCK:
                yield start, title, "".join(parts), True
                waiting = False
        in_header &= not begins
    if waiting:
        yield start, title, "".join(parts), False


def _fault(id: str, is_text: bool, residues: str) -> str | None:
    if not id:
        return "has no id. Write one behind the '>'."
    if not is_text:
        return "its header is not UTF-8 text. Save the file as UTF-8."
    if has_control(id):
        return f"its id {UNSEEN}"
    if not residues:
        return "has no residues. Add them or remove the record."
    if not residues.isascii():
        position = next(i for i, c in enumerate(residues, start=1) if not c.isascii())
        return (
            f"residue {position} is not an ASCII letter. "
            "Is this file damaged, or saved as something else than plain text?"
        )
    return None


def check_begin(path: Path) -> None:
    """Refuse a file that cannot be read or does not begin as FASTA, by its first lines alone."""
    with open_text(path, errors="surrogateescape") as file:
        for number, piece in enumerate(iter(partial(file.readline, _BLOCK), ""), start=1):
            if piece.startswith(">"):
                return
            if piece.strip():
                raise _not_fasta(str(path), number, piece)
    raise InputError(f"{path}: holds no records. Give the right file.")


def _not_fasta(name: str, number: int, line: str) -> InputError:
    shown = repr(line.strip()[:30].encode("utf-8", "surrogateescape"))[1:]
    return InputError(
        f"{name}, line {number}: not FASTA, a record starts with '>' but this line with {shown}. "
        "Give a FASTA file."
    )
