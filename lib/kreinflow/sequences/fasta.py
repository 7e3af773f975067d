"""Reading FASTA, plain or gzip, and refusing what is not quite FASTA."""

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from Bio.SeqIO.FastaIO import SimpleFastaParser

from kreinflow.errors import InputError
from kreinflow.sequences.files import open_text

FASTA_ENDINGS = (".fasta", ".fa", ".faa", ".fna", ".ffn", ".fas", ".mpfa", ".seq", ".txt")


class FastaRecord(NamedTuple):
    """One record as it stands in the file."""

    id: str
    header: str
    residues: bytes
    place: str
    """File, record number and line, for messages."""


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
    with open_text(path, errors="surrogateescape") as file:
        starts: deque[int] = deque()
        number = 0
        for number, (title, residues) in enumerate(
            SimpleFastaParser(_numbered(file, path, starts)), start=1
        ):
            place = f"{path}, record {number} (line {starts.popleft()})"
            header = title.strip()
            if not header:
                raise InputError(f"{place}: has no id. Write one behind the '>'.")
            id = header.split(maxsplit=1)[0]
            if not header.isascii():
                _check_text(header, f"{place}, header")
            if not residues:
                raise InputError(f"{place}, {id}: has no residues. Add them or remove the record.")
            if not residues.isascii():
                position = next(i for i, c in enumerate(residues, start=1) if not c.isascii())
                raise InputError(
                    f"{place}, {id}: residue {position} is not an ASCII letter. "
                    "Is this file damaged, or saved as something else than plain text?"
                )
            yield FastaRecord(id, header, residues.encode("ascii"), place)
        if not number:
            raise InputError(f"{path}: holds no records. Give the right file.")


def check_begin(path: Path) -> None:
    """Refuse a file that cannot be read or does not begin as FASTA, by its first lines alone.

    Raises
    ------
    InputError
    """
    with open_text(path, errors="surrogateescape") as file:
        for line in _numbered(file, path, deque()):
            if line.strip():
                return
    raise InputError(f"{path}: holds no records. Give the right file.")


def _numbered(lines: Iterable[str], path: Path, starts: deque[int]) -> Iterator[str]:
    """Pass lines on, checking the first one and noting where records start."""
    begun = False
    for number, line in enumerate(lines, start=1):
        if line.startswith(">"):
            starts.append(number)
            begun = True
        elif not begun and line.strip():
            shown = line.strip()[:30].encode("utf-8", "backslashreplace").decode()
            raise InputError(
                f"{path}, line {number}: not FASTA, a record starts with '>' but this line "
                f"with {shown!r}. Give a FASTA file."
            )
        yield line


def _check_text(text: str, place: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{place}: is not UTF-8 text. Save the file as UTF-8.") from error
