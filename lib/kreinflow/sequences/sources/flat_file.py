"""UniProtKB flat files (Swiss-Prot, TrEMBL), with labels from their cross-references."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from kreinflow.base.errors import InputError
from kreinflow.base.settings import SettingsSchema
from kreinflow.base.wording import plural
from kreinflow.sequences.collapse import SourceRecords
from kreinflow.sequences.download import check_checksum
from kreinflow.sequences.labels import join_labels
from kreinflow.sequences.sources.clean import ILLEGAL_RESIDUES, LENGTH_LIMIT, CleanRecords
from kreinflow.sequences.sources.source import (
    MIN_CLASS_SIZE,
    Source,
    choice,
    conflicting_labels,
    number,
    optional_text,
    text,
)
from kreinflow.sequences.swissprot import LABEL_SOURCES, Entry, read_swissprot


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
                "from": {"description": "what the labels are", "enum": list(LABEL_SOURCES)},
                "levels": number(
                    "ec: levels of the EC number that make the label; less known numbers are none, "
                    "unless the data set has levels",
                    1,
                    4,
                    4,
                ),
                "multiple": choice(
                    "entries with several labels: dropped and counted, in the class of the first, "
                    "or each label is learned against the rest",
                    "drop",
                    "first",
                    "all",
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
        "fragments": choice("entries flagged as fragments", "drop", "keep"),
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
            next(self._entries(), None)

    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        path, download, way = self.path, self.settings["download"], self.settings["labels"]
        if download is not None:
            if not path.exists():
                raise InputError(
                    f"{path}: not there yet. `snakemake dataset` downloads it, or copy it there."
                )
            check_checksum(path, download)
        clean = CleanRecords(self.settings, alphabet, "protein")
        labels, several = self._labels(clean)
        records = clean.labelled(labels, [path])
        if len(clean.drops["no label"]) == len(clean.places):
            raise InputError(
                f"{path}: none of {plural(len(clean.places), 'entry', 'entries')} has a label from "
                f"{way['from']} that counts. Take other labels, or levels, or classes, or give "
                "another file."
            )
        release = None if download is None else download["release"]
        return replace(records, statistics={"several_labels": several, "release": release})

    def _entries(self) -> Iterator[Entry]:
        unequal = self.separator is not None
        return read_swissprot(self.path, self.settings["labels"], unequal)

    def _labels(self, clean: CleanRecords) -> tuple[dict[str, str], int]:
        """Read all entries; return the label of each that has one, and how many had several."""
        settings, way = self.settings, self.settings["labels"]
        labels: dict[str, str] = {}
        several = 0
        for entry in self._entries():
            clean.note(entry.id, entry.place)
            several += len(entry.labels) > 1
            if not entry.labels:
                clean.drops["no label"].append(entry.id)
            elif entry.fragment and settings["fragments"] == "drop":
                clean.drops["fragment"].append(entry.id)
            elif len(entry.labels) > 1 and way["multiple"] == "drop":
                clean.drops["several labels"].append(entry.id)
            else:
                labels[entry.id] = join_labels(entry.labels if self.several else entry.labels[:1])
                clean.add(entry.id, entry.residues, (entry.taxonomy, entry.organism))
        return labels, several
