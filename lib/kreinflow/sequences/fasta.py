"""Reading FASTA, plain or gzip, and refusing what is not quite FASTA."""

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kreinflow.errors import InputError
from kreinflow.sequences.files import has_control, open_text, shown_name

FASTA_ENDINGS = (".fasta", ".fa", ".faa", ".fna", ".ffn", ".fas", ".mpfa", ".seq", ".txt")


class FastaRecord(NamedTuple):
    """One record as it stands in the file."""

    id: str
    header: str
    residues: bytes
    place: str
    """File, record number and line, for messages."""
    fault: str | None = None
    """What makes it no record that can be used, and what to do; then it has no residues."""

    @property
    def named(self) -> str:
        """Return its place and its id, if it has one, for messages."""
        return f"{self.place}, {self.id}" if self.id else self.place


def read_fasta(path: Path) -> Iterator[FastaRecord]:
    """Yield the records of a FASTA file, plain or gzip.

    The id is the first word of the header. Blank lines, Windows line ends, spaces inside
    sequences, a byte order mark and a missing last line end are harmless.

    Raises
    ------
    InputError
        If the file is missing, empty, truncated or not FASTA, or a record has no id, no
        residues, or characters that are not text. The message names file, record and line.
    """
    for record in read_any_fasta(path):
        if record.fault is not None:
            raise InputError(f"{record.named}: {record.fault}")
        yield record


def read_any_fasta(path: Path) -> Iterator[FastaRecord]:
    """Yield the records as :func:`read_fasta` does, but those at fault too, with their fault.

    Raises
    ------
    InputError
        If the file is missing, empty, truncated or not FASTA.
    """
    from Bio.SeqIO.FastaIO import SimpleFastaParser  # slow to import

    name = shown_name(path)
    with open_text(path, errors="surrogateescape") as file:
        starts: deque[int] = deque()
        number = 0
        for number, (title, residues) in enumerate(
            SimpleFastaParser(_numbered(file, name, starts)), start=1
        ):
            place = f"{name}, record {number} (line {starts.popleft()})"
            header = title.strip()
            readable = header.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            id = readable.split(maxsplit=1)[0] if header else ""
            fault = _fault(id, readable == header, residues)
            if has_control(id):
                id = repr(id)[1:-1]
            kept = b"" if fault else residues.encode("ascii")
            yield FastaRecord(id, readable, kept, place, fault)
        if not number:
            raise InputError(f"{name}: holds no records. Give the right file.")


def _fault(id: str, is_text: bool, residues: str) -> str | None:
    if not id:
        return "has no id. Write one behind the '>'."
    if not is_text:
        return "its header is not UTF-8 text. Save the file as UTF-8."
    if has_control(id):
        return "its id has a control character. Remove it."
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
        for line in _numbered(file, str(path), deque()):
            if line.strip():
                return
    raise InputError(f"{path}: holds no records. Give the right file.")


def _numbered(lines: Iterable[str], name: str, starts: deque[int]) -> Iterator[str]:
    """Pass lines on, checking the first one and noting where records start."""
    begun = False
    for number, line in enumerate(lines, start=1):
        if line.startswith(">"):
            starts.append(number)
            begun = True
        elif not begun and line.strip():
            shown = repr(line.strip()[:30].encode("utf-8", "surrogateescape"))[1:]
            raise InputError(
                f"{name}, line {number}: not FASTA, a record starts with '>' but this line "
                f"with {shown}. Give a FASTA file."
            )
        yield line
