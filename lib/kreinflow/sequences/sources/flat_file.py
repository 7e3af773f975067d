"""UniProtKB flat files (Swiss-Prot, TrEMBL), with labels from their cross-references."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, ClassVar

from kreinflow.base.errors import InputError
from kreinflow.base.settings import SettingsSchema, one_of, optional_text, text, whole_number
from kreinflow.base.wording import plural, shortened
from kreinflow.files.text_files import open_text
from kreinflow.sequences.collapse import SourceRecords
from kreinflow.sequences.download import check_checksum
from kreinflow.sequences.labels import join_labels
from kreinflow.sequences.sources.clean import ILLEGAL_RESIDUES, LENGTH_LIMIT, CleanRecords
from kreinflow.sequences.sources.source import MIN_CLASS_SIZE, Source, conflicting_labels

_NEEDED = frozenset(("ID", "AC", "DE", "OS", "OX", "DR", "KW", "SQ", "  ", "//"))
"""The lines that are read. References, comments and features are most of a file, and where its
format changes over the years."""


class FlatFileSource(Source):
    """A UniProtKB flat file, which may have to be downloaded.

    The statistics also have ``several_labels`` (entries with more than one) and ``release`` (as in
    the config, or None).
    """

    type = "swissprot"
    aligned = True
    path_key = "swissprot"
    memory_per_mb = 6  # read entry by entry, packed tightly, and little of it is kept
    settings_schema: ClassVar[SettingsSchema] = {
        "swissprot": text("UniProtKB flat file: .dat or .dat.gz"),
        "labels": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "from": {
                    "description": "what the labels are",
                    "enum": ["prosite", "pfam", "interpro", "ec", "keyword"],
                },
                "levels": whole_number(
                    "ec: levels of the EC number that make the label; less known numbers are none, "
                    "unless the data set has levels",
                    4,
                    4,
                ),
                "multiple": one_of(
                    "drop",
                    "first",
                    "all",
                    about="entries with several labels: dropped and counted, in the class of the "
                    "first, or each label is learned against the rest",
                ),
                "classes": {
                    "description": "the labels that count; null is all",
                    "type": ["array", "null"],
                    "items": {"type": "string"},
                    "minItems": 2,
                    "uniqueItems": True,
                    "default": None,
                },
            },
            "required": ["from"],
        },
        "fragments": one_of("drop", "keep", about="entries flagged as fragments"),
        "download": {
            "description": "where the file comes from if it is not there; null: nothing is "
            "downloaded",
            "type": ["object", "null"],
            "additionalProperties": False,
            "properties": {
                "url": text("http:// or https://"),
                "release": optional_text("of the database, for the report"),
                "sha256": optional_text("checksum of the file, 64 hexadecimal digits"),
                "md5": optional_text("or this one, 32 hexadecimal digits"),
            },
            "required": ["url"],
            "default": None,
        },
        **ILLEGAL_RESIDUES,
        **conflicting_labels("sequences"),
        **LENGTH_LIMIT,
        **MIN_CLASS_SIZE,
    }

    @property
    def path(self) -> Path:
        """The flat file."""
        return self.data_folder / str(self.settings["swissprot"])

    def downloads(self) -> dict[Path, Mapping[str, Any]]:
        download = self.settings["download"]
        return {self.path: download} if download else {}

    def faults(self) -> Iterator[tuple[str, str]]:
        download, source = self.settings["download"], self.settings["labels"]["from"]
        if self.separator is not None and source != "ec":
            yield "labels.from", f"labels from {source} have no levels. Take ec, or no levels."
        elif self.separator not in (None, "."):
            yield "labels.from", "the levels of EC numbers have the separator '.'."
        if download is None:
            return
        if not download["url"].startswith(("http://", "https://")):
            yield "download.url", f"{download['url']!r} is no http:// or https:// address."
        given = [name for name in ("sha256", "md5") if download[name]]
        if len(given) != 1:
            yield "download", "give exactly one of sha256 and md5."
        digits = {"sha256": 64, "md5": 32}
        for name in given:
            if not re.fullmatch(f"[0-9a-fA-F]{{{digits[name]}}}", download[name]):
                why = f"{download[name]!r} is not {digits[name]} hexadecimal digits."
                yield f"download.{name}", why

    def check(self) -> None:
        if self.path.exists() or self.settings["download"] is None:
            next(_entries(self.path), None)

    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        path, download, way = self.path, self.settings["download"], self.settings["labels"]
        if download is not None:
            if not path.exists():
                raise InputError(
                    f"{path}: not there yet. `snakemake dataset` downloads it, or copy it there."
                )
            check_checksum(path, download)
        clean = CleanRecords(self.settings, alphabet, "protein")
        wanted = None if way["classes"] is None else frozenset(way["classes"])
        labels, several = dict[str, str](), 0
        for place, record in _entries(path):
            id = record.accessions[0]
            clean.note(id, place)
            own = [x for x in self._labels_of(record) if wanted is None or x in wanted]
            several += len(own) > 1
            fragment = re.search(r"\bFlags: .*\bFragments?;", record.description)
            if not own:
                clean.drops["no label"].append(id)
            elif fragment and self.settings["fragments"] == "drop":
                clean.drops["fragment"].append(id)
            elif len(own) > 1 and way["multiple"] == "drop":
                clean.drops["several labels"].append(id)
            else:
                labels[id] = join_labels(own if self.several else own[:1])
                organism = [*record.taxonomy_id, ""][0], record.organism.rstrip(".")
                clean.add(id, record.sequence.encode("ascii"), organism)
        if len(clean.drops["no label"]) == len(clean.places):
            raise InputError(
                f"{path}: none of {plural(len(clean.places), 'entry', 'entries')} has a label from "
                f"{way['from']} that counts. Take other labels, or levels, or classes, or give "
                "another file."
            )
        release = None if download is None else download["release"]
        statistics = {"several_labels": several, "release": release}
        return replace(clean.labelled(labels, [path]), statistics=statistics)

    def _labels_of(self, record: Any) -> list[str]:
        """Return the labels of an entry, each once.

        A cross-reference to PROSITE whose status is ``UNKNOWN`` is no label. An EC number that is
        not known to the wanted level (``3.6.5.-``) is none either, unless the data set has levels:
        then it is the label ``3.6.5``.
        """
        way, unequal = self.settings["labels"], self.separator is not None
        found = []
        if way["from"] == "keyword":
            found = [keyword for keyword in record.keywords if keyword]
        elif way["from"] == "ec":
            for number in re.findall(r"\bEC=([\w.-]+)", record.description):
                parts = number.split(".")[: way["levels"]]
                while unequal and parts and parts[-1] == "-":
                    parts.pop()
                if (unequal or len(parts) == way["levels"]) and parts and "-" not in parts:
                    found.append(".".join(parts))
        else:
            for database, *more in record.cross_references:  # a damaged line has no more
                unknown = database == "PROSITE" and more and more[-1].startswith("UNKNOWN")
                if database.lower() == way["from"] and more and not unknown:
                    found.append(more[0])
        return list(dict.fromkeys(found))


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield place and record of each entry of a file, plain or gzip, and hold no more than one."""
    from Bio import SwissProt

    for place, lines in _lines(path):
        try:
            record = SwissProt.read(StringIO(lines))
        except (ValueError, AssertionError, IndexError) as error:
            why = " ".join(str(error).split())[:200]
            raise InputError(
                f"{place}: not an entry of UniProtKB ({why}). Give a UniProtKB flat file, whole."
            ) from error
        id, fault = [*record.accessions, ""][0], ""
        if not re.fullmatch(r"[A-Za-z0-9_.-]+", id):
            fault = f": {shortened(id)!a} is no accession (line AC) of letters and digits alone."
        elif record.sequence_length != len(record.sequence):
            fault = (
                f", {id}: has {len(record.sequence)} residues, its line ID says "
                f"{record.sequence_length}."
            )
        if fault:
            raise InputError(f"{place}{fault} Copy or download the file again.")
        yield place, record


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the place of each entry, and those of its lines that are needed."""
    count, place, kept = 0, "", list[str]()
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if not place:
                if not line.strip():
                    continue
                if not line.startswith("ID"):
                    raise InputError(
                        f"{path}, line {number}: not a UniProtKB flat file, an entry starts with "
                        f"'ID' but this line with {line.strip()[:30]!r}. Give a .dat file of "
                        "UniProtKB."
                    )
                count, kept = count + 1, []
                place = f"{path}, entry {count} (line {number})"
            if line[:2] in _NEEDED:
                kept.append(line)
            if line.startswith("//"):
                yield place, "".join(kept)
                place = ""
    if place:
        raise InputError(f"{place}: the file ends inside this entry (no line '//'). Copy it again.")
