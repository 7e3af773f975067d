"""UniProtKB flat files (Swiss-Prot, TrEMBL), one entry after the other."""

import re
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from kreinflow.base.errors import InputError
from kreinflow.base.wording import shortened
from kreinflow.sequences.text_files import open_text

LABEL_SOURCES = ("prosite", "pfam", "interpro", "ec", "keyword")

_DATABASES = {"prosite": "PROSITE", "pfam": "Pfam", "interpro": "InterPro"}
_NEEDED = frozenset(("ID", "AC", "DE", "OS", "OX", "DR", "KW", "SQ", "  ", "//"))
"""The lines that are read. References, comments and features are most of a file, and where its
format changes over the years."""


class Entry(NamedTuple):
    """The wanted parts of one entry: its first accession, each label once, NCBI's taxonomy number.

    ``place`` is file, entry number and line, for messages.
    """

    id: str
    residues: bytes
    labels: tuple[str, ...]
    fragment: bool
    organism: str
    taxonomy: str
    place: str


def read_swissprot(path: Path, way: Mapping[str, Any], unequal: bool = False) -> Iterator[Entry]:
    """Yield the entries of a UniProtKB flat file, plain or gzip, without holding more than one.

    A cross-reference to PROSITE whose status is ``UNKNOWN`` is no label. An EC number that is not
    known to the wanted level (``3.6.5.-``) is none either, unless numbers may be ``unequal``: then
    it is the label ``3.6.5``.

    ``way`` is the part ``labels`` of the source: ``from`` (one of :data:`LABEL_SOURCES`),
    ``levels`` of EC numbers, and ``classes``: the labels that count, or None for all. An InputError
    names file, entry and line.
    """
    from Bio import SwissProt

    wanted = None if way["classes"] is None else frozenset(way["classes"])
    for place, text in _entries(path):
        try:
            record = SwissProt.read(StringIO(text))
        except (ValueError, AssertionError, IndexError) as error:
            why = " ".join(str(error).split())[:200]
            raise InputError(
                f"{place}: not an entry of UniProtKB ({why}). Give a UniProtKB flat file, whole."
            ) from error
        id, fault = record.accessions[0] if record.accessions else "", ""
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", id):
            fault = f": {shortened(id)!a} is no accession (line AC) of letters and digits alone."
        elif record.sequence_length != len(record.sequence):
            fault = (
                f", {id}: has {len(record.sequence)} residues, its line ID says "
                f"{record.sequence_length}."
            )
        if fault:
            raise InputError(f"{place}{fault} Copy or download the file again.")
        labels = _labels(record, way["from"], way["levels"], unequal)
        yield Entry(
            id=id,
            residues=record.sequence.encode("ascii"),
            labels=tuple(label for label in labels if wanted is None or label in wanted),
            fragment=re.search(r"\bFlags: .*\bFragments?;", record.description) is not None,
            organism=record.organism.rstrip("."),
            taxonomy=record.taxonomy_id[0] if record.taxonomy_id else "",
            place=place,
        )


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the place of each entry, and those of its lines that are needed."""
    count, place, kept = 0, "", list[str]()
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if not place and not line.strip():
                continue
            if not place and not line.startswith("ID"):
                raise InputError(
                    f"{path}, line {number}: not a UniProtKB flat file, an entry starts with 'ID' "
                    f"but this line with {line.strip()[:30]!r}. Give a .dat file of UniProtKB."
                )
            if not place:
                count, kept = count + 1, []
                place = f"{path}, entry {count} (line {number})"
            if line[:2] in _NEEDED:
                kept.append(line)
            if line.startswith("//"):
                yield place, "".join(kept)
                place = ""
    if place:
        raise InputError(f"{place}: the file ends inside this entry (no line '//'). Copy it again.")


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
