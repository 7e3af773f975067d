"""Reading FASTA, FASTQ and GenBank, plain or gzip, and tables of sequences.

What is not quite one of these is refused.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from kreinflow.base.errors import InputError
from kreinflow.files.text_files import UNSEEN, has_control, open_text, shown_name
from kreinflow.sequences.formats import Found, Lines, fastq_records, genbank_records
from kreinflow.sequences.user_tables import Column, read_columns

FASTA_ENDINGS = (
    *(".fasta", ".fa", ".faa", ".fna", ".ffn", ".fas", ".mpfa", ".seq", ".txt"),
    *(".fastq", ".fq", ".gb", ".gbk", ".gbff", ".genbank", ".gp", ".gpff"),
)

LONGEST = 1_000_000
"""Residues of the longest sequence that is ever aligned."""


class FastaRecord(NamedTuple):
    """One record of a file; ``number`` and ``line``, where it begins, count from 1.

    One that cannot be used has a ``fault`` (why, and what to do) and no residues.
    """

    id: str
    header: str
    residues: bytes
    file: str
    number: int
    line: int
    fault: str | None = None

    @property
    def place(self) -> str:
        """File, record number and line, for messages."""
        return f"{self.file}, record {self.number} (line {self.line})"

    @property
    def named(self) -> str:
        """Its place and its id, if it has one, for messages."""
        return f"{self.place}, {self.id}" if self.id else self.place


def read_fasta(path: Path) -> Iterator[FastaRecord]:
    """Yield the records of a file, plain or gzip; refuse the first that is at fault.

    It is FASTA, FASTQ (whose qualities are not read) or GenBank (whose
    header then has ``[organism=...]``, ``[lineage=...]`` and qualifiers), by its first line. The id
    is the first word of the header. Blank lines, Windows line ends, spaces inside sequences,
    a byte order mark and a missing last line end are harmless.
    """
    return refusing(read_any_fasta(path))


def refusing(records: Iterable[FastaRecord]) -> Iterator[FastaRecord]:
    """Yield records; refuse the first that is at fault."""
    for record in records:
        if record.fault is not None:
            raise InputError(f"{record.named}: {record.fault}")
        yield record


def read_any_fasta(path: Path) -> Iterator[FastaRecord]:
    """Yield the records as :func:`read_fasta` does, but those at fault too, with their fault."""
    name, number = shown_name(path), 0
    with open_text(path, errors="surrogateescape") as file:
        lines = enumerate(file, start=1)
        first = next((line for line in lines if not line[1].isspace()), (1, "\n"))
        signs = {"@": fastq_records, "LOCUS": genbank_records}
        read = next((signs[sign] for sign in signs if first[1].startswith(sign)), _records)
        records = read(chain([first], lines), name)
        for number, (line, title, residues) in enumerate(records, start=1):
            header = title[1:].strip()
            shown = header.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            id = shown.split(maxsplit=1)[0] if header else ""
            fault = _fault(id, shown == header, residues)
            if fault and has_control(id):
                id = ascii(id)[1:-1]
            kept = b"" if fault else residues.encode("ascii")
            yield FastaRecord(id, shown, kept, name, number, line, fault)
    if not number:
        raise InputError(f"{name}: holds no records. Give the right file.")


class Columns(NamedTuple):
    """Columns of a table: of the ids, None if rows are numbered from 1, and of the sequences."""

    ids: Column | None
    sequences: Column


def read_any(path: Path, columns: Columns | None) -> Iterator[FastaRecord]:
    """Yield the records of a table by its columns, else of FASTA; those at fault too.

    The header of a row is its id.
    """
    if columns is None:
        yield from read_any_fasta(path)
        return
    for number, (line, id, text) in enumerate(read_columns(path, columns), 1):
        residues = "".join(text.split())
        spaced = "its id has a space. Write it without, or set 'ids: numbers'."
        fault = spaced if " " in id else _fault(id, True, residues)
        kept = b"" if fault else residues.encode("ascii")
        yield FastaRecord(id, id, kept, str(path), number, line, fault)


def _records(lines: Lines, name: str) -> Found:
    """Yield line, header and residues of each record."""
    start, title, parts = 0, "", list[str]()
    for number, line in lines:
        if line.startswith(">"):
            if start:
                yield start, title, "".join(parts)
            start, title, parts = number, line, []
        elif start:
            parts.append(line.rstrip().replace(" ", ""))
        elif not line.isspace():
            shown = repr(line.strip()[:30].encode("utf-8", "surrogateescape"))[1:]
            raise InputError(
                f"{name}, line {number}: not FASTA, a record starts with '>' but this line with "
                f"{shown}. Give a FASTA file."
            )
    if start:
        yield start, title, "".join(parts)


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
