"""Reading FASTA, plain or gzip, and refusing what is not quite FASTA."""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TextIO

from kreinflow.base.errors import InputError
from kreinflow.sequences.files import (
    LONGEST_LINE,
    UNSEEN,
    has_control,
    open_text,
    shortened,
    shown_name,
)

FASTA_ENDINGS = (".fasta", ".fa", ".faa", ".fna", ".ffn", ".fas", ".mpfa", ".seq", ".txt")

LONGEST = 1_000_000
"""Residues of the longest sequence that is ever aligned."""

_BLOCK = 1 << 16  # characters of a line that are looked at together
_SIGNS = "*-."  # stops and gaps: at the end they are no residues
_NOTHING: Mapping[str, int] = MappingProxyType({})


class FastaRecord(NamedTuple):
    """One record as it stands in the file."""

    id: str
    header: str
    residues: bytes
    file: str
    """What messages call the file."""
    number: int
    """Of the record, from 1."""
    line: int
    """Where it begins, from 1."""
    fault: str | None = None
    """What makes it no record that can be used, and what to do; then it has no residues."""
    more: bool = False
    """Whether it has more residues than may be held; these are the first of them."""
    beyond: Mapping[str, int] = _NOTHING
    """How many stops and gaps follow at the end, by sign, where there are too many to be held."""

    @property
    def place(self) -> str:
        """Return file, record number and line, for messages."""
        return f"{self.file}, record {self.number} (line {self.line})"

    @property
    def named(self) -> str:
        """Return its place and its id, if it has one, for messages."""
        return f"{self.place}, {self.id}" if self.id else self.place


def read_fasta(path: Path, longest: int = LONGEST) -> Iterator[FastaRecord]:
    """Yield the records of a FASTA file, plain or gzip.

    The id is the first word of the header. Blank lines, Windows line ends, spaces inside
    sequences, a byte order mark and a missing last line end are harmless.

    Parameters
    ----------
    path : Path
    longest : int
        A longer sequence is cut a little behind so many residues (:attr:`FastaRecord.more`), and
        yielded before the rest of it is read: no more is ever held of a record. Stops and gaps at
        its end do not make it longer (:attr:`FastaRecord.beyond`).

    Raises
    ------
    InputError
        If the file is missing, empty, truncated or not FASTA, or a record has no id, no
        residues, a header without an end, or characters that are not text. The message names
        file, record and line.
    """
    for record in read_any_fasta(path, longest):
        if record.fault is not None:
            raise InputError(f"{record.named}: {record.fault}")
        yield record


def read_any_fasta(path: Path, longest: int = LONGEST) -> Iterator[FastaRecord]:
    """Yield the records as :func:`read_fasta` does, but those at fault too, with their fault.

    Raises
    ------
    InputError
        If the file is missing, empty, truncated or not FASTA.
    """
    name = shown_name(path)
    with open_text(path, errors="surrogateescape") as file:
        number = 0
        for number, (line, title, residues, whole, beyond) in enumerate(
            _records(file, name, longest), start=1
        ):
            header = readable = title[1:].strip()
            if not header.isascii():
                readable = header.encode("utf-8", "surrogateescape").decode(
                    "utf-8", "backslashreplace"
                )
            id = readable.split(maxsplit=1)[0] if header else ""
            more = not whole and bool(residues)
            fault = _fault(id, readable == header, residues)
            if not whole and not residues:
                id = shortened(id)
                fault = f"its header has more than {LONGEST_LINE:,} characters. Shorten it."
            if fault and has_control(id):
                id = ascii(id)[1:-1]
            kept = b"" if fault else residues.encode("ascii")
            yield FastaRecord(id, readable, kept, name, number, line, fault, more, beyond)
        if not number:
            raise InputError(f"{name}: holds no records. Give the right file.")


class _Residues:
    """The residues of a record, of which no more are held than may be.

    Parameters
    ----------
    most : int
        Characters that are held, and residues that a record may have.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self.begin()

    def begin(self) -> None:
        """Begin the next record."""
        self.held = ""
        self.beyond = _NOTHING
        """Stops and gaps at the end that are not held, by sign."""

    def add(self, text: str) -> bool:
        """Add some that follow; return whether there are more residues now than there may be."""
        room = self._most - len(self.held)
        if len(text) <= room:
            self.held += text
            return False
        inner = len(text.rstrip(_SIGNS))
        if inner and (self.beyond or inner > room):
            self.held += text[: room + 1]
            return True  # the signs so far are not at the end
        self.held += text[:room]
        counts = {sign: self.beyond.get(sign, 0) + text.count(sign, room) for sign in _SIGNS}
        self.beyond = {sign: count for sign, count in counts.items() if count}
        return False


def _records(
    file: TextIO, name: str, longest: int
) -> Iterator[tuple[int, str, str, bool, Mapping[str, int]]]:
    """Yield the line, the header and the residues of each record, and whether that is all of it.

    Last comes how many stops and gaps follow at the end that are not held. What is too long is
    yielded at once, without residues if it is the header; the rest of it is passed over when the
    next record is asked for.
    """
    most = longest + _BLOCK
    start, title, space, residues = 0, "", "", _Residues(most)
    number, begins, waiting, in_header = 1, True, False, False
    for piece in _pieces(file):
        text = piece
        if begins and piece.startswith(">"):
            if waiting:
                yield start, title, residues.held, True, residues.beyond
            start, title, space = number, "", ""
            residues.begin()
            waiting = in_header = True
        elif not start and not piece.isspace():
            begin = piece.lstrip()
            number += piece.count("\n", 0, len(piece) - len(begin))
            raise _not_fasta(name, number, (begin + file.readline(LONGEST_LINE)).split("\n")[0])
        if in_header:
            end = piece.find("\n") + 1
            in_header, text = not end, piece[end:] if end else ""
            if waiting:
                title += piece[:end] if end else piece
                if len(title) > LONGEST_LINE:
                    yield start, title, "", False, _NOTHING
                    waiting = False
        # With one residue behind more white space than that, it would be too long.
        if waiting and (len(space) <= most or "\n" in text or not text.isspace()):
            text, space = _without_space(space + text)
            if residues.add(text):
                yield start, title, residues.held, False, _NOTHING
                waiting = False
        begins = piece.endswith("\n")
        number += piece.count("\n")
    if waiting:
        yield start, title, residues.held, True, residues.beyond


def _pieces(file: TextIO) -> Iterator[str]:
    """Yield a text in pieces. One ends with each block, and before each record that begins."""
    for block in iter(partial(file.read, _BLOCK), ""):
        start = 0
        while stop := block.find("\n>", start) + 1:
            yield block[start:stop]
            start = stop
        yield block[start:]


def _without_space(text: str) -> tuple[str, str]:
    """Return lines without spaces, ends, and white space before these; and that of an open end."""
    plain = text.replace("\n", "").replace(" ", "")
    if plain.isalpha():  # no other white space
        return plain, ""
    lines = text.split("\n")
    kept = [line.rstrip() for line in lines]
    return "".join(kept).replace(" ", ""), lines[-1][len(kept[-1]) :].replace(" ", "")


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
    """Refuse a file that cannot be read or does not begin as FASTA, by its first lines alone.

    Raises
    ------
    InputError
    """
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
