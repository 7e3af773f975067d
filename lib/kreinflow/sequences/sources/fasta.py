"""FASTA, with labels from a table, the headers, or the names of files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.settings import SettingsSchema, flag, one_of, optional_text
from kreinflow.base.wording import abridged
from kreinflow.files.text_files import name_endings, plain_files
from kreinflow.sequences.collapse import SourceRecords, examples
from kreinflow.sequences.fasta import (
    FASTA_ENDINGS,
    Columns,
    FastaRecord,
    read_any,
    read_any_fasta,
    refusing,
)
from kreinflow.sequences.headers import known_by, organism
from kreinflow.sequences.labels import HeaderPattern, check_matched, several_labels
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.simulation import LETTERS
from kreinflow.sequences.sources.clean import ILLEGAL_RESIDUES, LENGTH_LIMIT, CleanRecords
from kreinflow.sequences.sources.source import (
    MIN_CLASS_SIZE,
    Source,
    conflicting_labels,
    labels_schema,
)
from kreinflow.sequences.strands import on_other_strand, turned
from kreinflow.sequences.user_tables import check_columns


class FastaSource(Source):
    """One or several FASTA files, or a folder of them; or a table with a column of sequences.

    The statistics also have, where records without a label are to be classified, ``unlabelled``
    (their number), and of nucleotides ``other_strand``: ``count`` and ``examples`` of records
    by :func:`~kreinflow.sequences.strands.on_other_strand`, and whether these were ``turned``.
    """

    type = "fasta"
    aligned = True
    path_key = "fasta"
    label_ways = ("table", "pattern", "from_file_names")
    settings_schema: ClassVar[SettingsSchema] = {
        "fasta": {
            "description": "FASTA file (plain or gzip), a list of them, or a folder with one a "
            "class",
            "type": ["string", "array"],
            "items": {"type": "string"},
            "minItems": 1,
            "minLength": 1,
        },
        "labels": labels_schema(
            {"table": optional_text("TSV or CSV (commas or semicolons) with the labels")},
            "exactly one of table, pattern and from_file_names",
            {
                "pattern": optional_text(
                    "regular expression with one group, searched in the whole header"
                ),
                "from_file_names": flag("one FASTA a class: the label is the name of the file"),
            },
        ),
        "sequence_column": {
            "description": "column of the sequences where the file is a table and no FASTA, or its "
            "number; labels.id_column has the ids",
            "type": ["string", "integer", "null"],
            "minimum": 1,
            "default": None,
        },
        "ids": one_of(
            "names",
            "numbers",
            about="the first word of each header, or numbers from 1: for headers without ids",
        ),
        "molecule": one_of("protein", "nucleotide", about="protein or nucleotide"),
        "strand": one_of(
            "auto",
            "given",
            about="auto: nucleotides that stand on the other strand than those like them are "
            "turned; given: all are taken as they stand",
        ),
        **ILLEGAL_RESIDUES,
        "unmatched": one_of(
            "refuse",
            "drop",
            "classify",
            about="ids without a label and labels without a sequence; classify: the former by the "
            "final model, the latter are dropped",
        ),
        **conflicting_labels("sequences"),
        **LENGTH_LIMIT,
        **MIN_CLASS_SIZE,
    }

    def faults(self) -> Iterator[tuple[str, str]]:
        yield from super().faults()
        if self.several and self.settings["labels"].get("from_file_names"):
            why = "the name of a file is one label. Give a table or a pattern, or leave it out."
            yield "labels.multiple", why

    def check(self) -> None:
        column = self.settings["sequence_column"]
        for path in self.fasta_files():
            if column is None:
                next(read_any_fasta(path))
            else:
                check_columns(path, self._id_column, column)
        if pattern := self.settings["labels"].get("pattern"):
            HeaderPattern(pattern)
        super().check()

    def read(self, alphabet: str | None, seed: int) -> SourceRecords:
        settings = self.settings
        clean = CleanRecords(settings, alphabet, settings["molecule"])
        labels, statistics = self._labels(clean), {}
        unlabelled = tuple((id, s) for id, s in clean.kept.items() if id not in labels)
        if settings["unmatched"] == "classify":
            statistics["unlabelled"] = len(unlabelled)
        else:
            clean.drops["no label"] += [id for id, _ in unlabelled]
            unlabelled = ()
        clean.drops["label without sequence"] += [id for id in labels if id not in clean.places]
        files = dict.fromkeys([*self.fasta_files(), *self._label_files.values()])
        records = clean.labelled(labels, list(files))
        self._refuse_nucleotides(records.payload.contents(records.ids), set(alphabet or ""))
        return replace(records, unlabelled=unlabelled, statistics=statistics)

    def oriented(
        self, records: SourceRecords, alphabet: str | None, unknown: Sequence[str]
    ) -> SourceRecords:
        if self.settings["molecule"] != "nucleotide":
            return records
        given = list(records.payload.contents(records.ids))
        known = np.array([label not in unknown for label in records.labels], dtype=np.bool_)
        oriented, rows = turned(given, on_other_strand(given, known), alphabet or "")
        told = {**examples([records.ids[row] for row in rows if known[row]])}
        told["turned"] = self.settings["strand"] == "auto"
        payload = Sequences(tuple(oriented if told["turned"] else given))
        return replace(
            records, payload=payload, statistics={**records.statistics, "other_strand": told}
        )

    def fasta_files(self) -> list[Path]:
        """Return the FASTA files: one, several, or all of a folder in order of name."""
        named = self.settings["fasta"]
        paths: list[Path] = []
        for name in [named] if isinstance(named, str) else named:
            path = self.data_folder / name
            files = plain_files(path)
            if path.is_dir():
                files = [
                    f for f in files if f.name[0] != "." and name_endings(f)[1] in FASTA_ENDINGS
                ]
            if not files:
                raise InputError(
                    f"{path}: has no FASTA file. Files must end in {', '.join(FASTA_ENDINGS)} "
                    "(or these with .gz)."
                )
            paths += files
        return paths

    def records(self) -> Iterator[tuple[Path, FastaRecord]]:
        """Yield file and record, one after the other; refuse the first that is at fault."""
        column, numbers = self.settings["sequence_column"], self.settings["ids"] == "numbers"
        count = 0
        for path in self.fasta_files():
            columns = Columns(self._id_column, column) if column else None
            for record in refusing(read_any(path, columns)):
                count += 1
                yield path, record._replace(id=str(count)) if numbers else record

    def _labels(self, clean: CleanRecords) -> dict[str, str]:
        settings, way = self.settings, self.settings["labels"]
        table = self._label_files.get("table")
        pattern = HeaderPattern(way["pattern"]) if way.get("pattern") else None
        labels: dict[str, str] = {}
        if table:
            labels = self._read_pairs(table, settings["unmatched"] == "classify")
        for path, record in self.records():
            clean.note(record.id, record.place)
            if not table:
                label = pattern.label(record.header) if pattern else name_endings(path)[0]
                if label and self.several:
                    label = several_labels(label, way["separator"], record.place)
                if label:
                    labels[record.id] = label
            clean.add(record.id, record.residues, organism(record.header))
        if table:
            labels = known_by(clean.places, labels, str(table))
        if settings["unmatched"] == "refuse":
            files = abridged([str(path) for path in self.fasta_files()], 1)
            where = f"{table}" if table else f"{files}: labels.pattern {way.get('pattern')!r}"
            check_matched(clean.places, labels, where)
        return labels

    def _refuse_nucleotides(self, sequences: Sequence[bytes], letters: set[str]) -> None:
        """Refuse what is no protein beyond doubt: thousands of residues of five kinds."""
        if self.settings["molecule"] != "protein" or not set(LETTERS) <= letters:
            return
        if sum(map(len, sequences)) < 1000 or any(set(s) - set(b"ACGTUN") for s in sequences):
            return
        raise InputError(
            f"{self.fasta_files()[0]}: all residues are A, C, G, T or N, but the molecule is "
            "protein. Set 'source.molecule' to nucleotide."
        )
