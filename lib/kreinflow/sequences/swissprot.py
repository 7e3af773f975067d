"""UniProtKB flat files (Swiss-Prot, TrEMBL), one entry after the other."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from kreinflow.base.errors import InputError
from kreinflow.base.wording import shortened
from kreinflow.sequences.fasta import LONGEST
from kreinflow.sequences.text_files import bounded_lines, open_text, too_long

LABEL_SOURCES = ("prosite", "pfam", "interpro", "ec", "keyword")

_DATABASES = {"prosite": "PROSITE", "pfam": "Pfam", "interpro": "InterPro"}
_NEEDED = frozenset(("ID", "AC", "DE", "OS", "OX", "DR", "KW", "SQ", "  ", "//"))
"""The lines that are read. References, comments and features are most of a file, and where its
format changes over the years."""
_LARGEST = 1 << 22  # characters of these lines of an entry, beside its residues
_BLOCK = 1 << 16  # residues that are read beyond the longest sequence


class Entry(NamedTuple):
    """The wanted parts of one entry: its first accession, each label once, NCBI's taxonomy number.

    ``place`` is file, entry number and line, for messages; ``more`` tells that it has more residues
    than may be held: these are the first of them.
    """

    id: str
    residues: bytes
    labels: tuple[str, ...]
    fragment: bool
    organism: str
    taxonomy: str
    place: str
    more: bool


def read_swissprot(
    path: Path, way: Mapping[str, Any], longest: int = LONGEST, unequal: bool = False
) -> Iterator[Entry]:
    """Yield the entries of a UniProtKB flat file, plain or gzip, without holding more than one.

    A cross-reference to PROSITE whose status is ``UNKNOWN`` is no label. An EC number that is not
    known to the wanted level (``3.6.5.-``) is none either, unless numbers may be ``unequal``: then
    it is the label ``3.6.5``.

    ``way`` is the part ``labels`` of the source: ``from`` (one of :data:`LABEL_SOURCES`),
    ``levels`` of EC numbers, and ``classes``: the labels that count, or None for all. A sequence
    longer than ``longest`` is cut a little behind so many residues (:attr:`Entry.more`). An
    InputError names file, entry and line.
    """
    from Bio import SwissProt

    wanted = None if way["classes"] is None else frozenset(way["classes"])
    with open_text(path) as file:
        lines = _Lines(file, path, longest)
        records = SwissProt.parse(lines)
        while True:
            try:
                record = next(records, None)
            except (ValueError, AssertionError, IndexError) as error:
                why = " ".join(str(error).split())[:200]
                fault = f"not an entry of UniProtKB ({why}). Give a UniProtKB flat file, whole."
                if "end of stream" in why:
                    fault = "the file ends inside this entry (no line '//'). Copy it again."
                raise InputError(f"{lines.place()}: {fault}") from error
            if record is None:
                return
            place, id = lines.place(), record.accessions[0] if record.accessions else ""
            if not re.fullmatch(r"[A-Za-z0-9_.-]+", id):
                raise InputError(
                    f"{place}: {shortened(id)!a} is no accession (line AC): it needs letters and "
                    "digits, and no others. Copy or download the file again."
                )
            if record.sequence_length != len(record.sequence) and not lines.more:
                raise InputError(
                    f"{place}, {id}: has {len(record.sequence)} residues, its line ID says "
                    f"{record.sequence_length}. Copy or download the file again."
                )
            labels = _labels(record, way["from"], way["levels"], unequal)
            yield Entry(
                id=id,
                residues=record.sequence.encode("ascii"),
                labels=tuple(label for label in labels if wanted is None or label in wanted),
                fragment=re.search(r"\bFlags: .*\bFragments?;", record.description) is not None,
                organism=record.organism.rstrip("."),
                taxonomy=record.taxonomy_id[0] if record.taxonomy_id else "",
                place=place,
                more=lines.more,
            )


def check_flat_file(path: Path) -> None:
    """Refuse a file that cannot be read or does not begin as UniProtKB, by its first line alone."""
    with open_text(path) as file:
        next(iter(_Lines(file, path)), None)


class _Lines:
    """The lines of a flat file that are needed, as Biopython wants them, and where it is."""

    def __init__(self, file: TextIO, path: Path, longest: int = LONGEST) -> None:
        self._path, self._most = path, longest + _BLOCK
        self._entry, self._start = 0, 1
        self.more = False
        self._lines = self._needed(file)

    def place(self) -> str:
        return f"{self._path}, entry {max(self._entry, 1)} (line {self._start})"

    def read(self, size: int) -> str:
        """Return no characters: Biopython asks for that, to see whether they are text."""
        return ""

    def __iter__(self) -> Iterator[str]:
        return self._lines

    def __next__(self) -> str:
        return next(self._lines)

    def _needed(self, file: TextIO) -> Iterator[str]:
        held = residues = 0
        for number, line in enumerate(bounded_lines(file, str(self._path)), start=1):
            key = line[:2]
            if key == "ID":
                self._entry += 1
                self._start = number
                held, residues, self.more = 0, 0, False
            elif not self._entry:
                if not line.strip():
                    continue
                raise InputError(
                    f"{self._path}, line {number}: not a UniProtKB flat file, an entry starts with "
                    f"'ID' but this line with {line.strip()[:30]!r}. Give a .dat file of UniProtKB."
                )
            if key not in _NEEDED or self.more:
                continue
            yield line
            if key == "  ":
                residues += len(line) - line.count(" ")
                if residues > self._most:
                    self.more = True
                    yield "//\n"
            else:
                held += len(line)
                if held > _LARGEST:
                    raise too_long(self.place(), _LARGEST)


def _labels(record: Any, source: str, levels: int, unequal: bool) -> list[str]:
    if source in _DATABASES:
        found = [
            reference[1]
            for reference in record.cross_references
            if reference[0] == _DATABASES[source]
            and not (source == "prosite" and reference[-1].startswith("UNKNOWN"))
        ]
    elif source == "keyword":
        found = [keyword for keyword in record.keywords if keyword]
    else:
        found = []
        for number in re.findall(r"\bEC=([\w.-]+)", record.description):
            parts = number.split(".")[:levels]
            while unequal and parts and parts[-1] == "-":
                parts.pop()
            if (unequal or len(parts) == levels) and parts and "-" not in parts:
                found.append(".".join(parts))
    return list(dict.fromkeys(found))
