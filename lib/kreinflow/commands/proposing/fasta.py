"""What FASTA files and the labels beside them hold, as the source that reads them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.base.errors import InputError
from kreinflow.base.wording import abridged, plural
from kreinflow.commands.proposing.labels import WHOLE, look_at_headers
from kreinflow.commands.proposing.source import (
    SourceFound,
    labels_of_table,
    look_at_columns,
    look_at_table,
    tell_of_labels,
)
from kreinflow.commands.proposing.tables import SequenceTable
from kreinflow.commands.proposing.writing import Noted
from kreinflow.files.text_files import name_endings, open_text
from kreinflow.sequences.fasta import FastaRecord
from kreinflow.sequences.sources.fasta import FastaSource

_BASES = b"ACGTUN"
_OF_BASES = 0.9


def look_at_fasta(
    inputs: Sequence[str], labels: str | None, table: SequenceTable | None
) -> SourceFound:
    """Look at FASTA files, a folder of them, or a table, and their labels, as for ``propose``.

    An InputError refuses files of which most records have letters that are no residues.
    """
    named = inputs[0] if len(inputs) == 1 else list(inputs)
    settings: dict[str, Any] = {"fasta": named, "labels": {}}
    if table is not None:
        settings["sequence_column"] = table.sequence_column
        settings["labels"] = {"id_column": table.id_column} if table.id_column else {}
        settings |= {} if table.id_column else {"ids": "numbers"}
    reader = FastaSource(settings, Path())
    files, longest = reader.fasta_files(), reader.settings["max_length"]
    records = [record for _, record in reader.records()]
    molecule, alphabet = _molecule(records)
    cleaned = [alphabet.clean(record.residues) for record in records]
    lengths = np.array([len(residues) for residues in cleaned], dtype=np.int64)
    long = [r.id for r, n in zip(records, lengths, strict=True) if n > longest]
    wrong = {
        record.id: found[1]
        for record, residues in zip(records, cleaned, strict=True)
        if (found := alphabet.illegal(residues)) is not None
    }
    signs = "".join(sorted(set(wrong.values())))
    if 2 * len(wrong) > len(records):
        raise InputError(
            f"{files[0]}: {len(wrong)} of {plural(len(records), 'record')} have {signs!r} among "
            f"their residues, such as {abridged([*wrong], 2)}. Remove the gaps of an alignment, or "
            "give another file."
        )
    source = SourceFound({"type": "fasta", **settings})
    least, median, most = np.quantile(lengths, (0, 0.5, 1)).astype(int).tolist()
    said = (
        f"{len(records):,} {molecule} sequences of {least:,} to {most:,} residues "
        f"(median {median:,})"
    )
    source.found.append(f"{said} in {abridged([str(path) for path in files], 3)}.")
    source.settings["fasta"] = Noted(named, said)
    if table is None and any(map(_has_qualities, files)):
        source.found.append("the qualities of FASTQ are not used.")
    beside, where = None, str(labels if table is None else named)
    if table is not None:
        beside = look_at_columns(Path(where), *table)
        source.found.append(f"the sequences are in the column {table.sequence_column!r}.")
    elif labels is not None:
        beside = look_at_table(Path(where), [record.id for record in records])
    if "ids" in settings:
        _number("no column has an id of its own in each row", source)
    if beside is not None:
        without = len(records) - len(beside.candidates[0].texts)
        _unmatched(without, beside.lines - beside.matched, source)
        source.settings["labels"] = labels_of_table(beside, where, source)
    elif len(files) > 1:
        classes = sorted({name_endings(path)[0] for path in files})
        note = f"{plural(len(classes), 'class', 'classes')}: {abridged(classes, 8)}"
        source.settings["labels"] = {"from_file_names": Noted(True, note)}
        source.found.append(f"labels: each file is a class, {note}.")
    else:
        source.settings["labels"] = _labels_of_headers(records, str(files[0]), source)
    if molecule != "protein":
        note = f"{molecule}, by its letters; scored by nuc44, gaps 16 and 4"
        source.settings["molecule"] = Noted("nucleotide", note)
    faults = {
        "illegal_residues": ([*wrong], f"{signs!r} among the residues"),
        "too_long": (long, f"more residues than max_length, {longest}"),
    }
    for key, (ids, why) in faults.items():
        note = f"{plural(len(ids), 'record')} with {why}"
        source.settings |= {key: Noted("drop", note)} if ids else {}
        source.advice += [f"{note}, dropped: {abridged(ids)}."] if ids else []
    return source


def _has_qualities(path: Path) -> bool:
    with open_text(path) as file:
        return file.read(1) == "@"


def _molecule(records: Sequence[FastaRecord]) -> tuple[str, ResidueAlphabet]:
    """Return what the letters say that records are, and the letters that can be scored then."""
    letters = np.zeros(256, dtype=np.int64)
    for record in records:
        letters += np.bincount(np.frombuffer(record.residues.upper(), np.uint8), minlength=256)
    every = letters[ord("A") : ord("Z") + 1].sum()
    protein = letters[list(_BASES)].sum() < _OF_BASES * max(every, 1)
    matrix, kind = ("BLOSUM62", "protein") if protein else ("nuc44", "nucleotide")
    base = "RNA" if letters[ord("U")] > letters[ord("T")] else "DNA"
    alphabet = ResidueAlphabet(load_substitution_matrix(matrix, Path()).alphabet, kind)
    return kind if protein else base, alphabet


def _labels_of_headers(
    records: Sequence[FastaRecord], place: str, source: SourceFound
) -> dict[str, Any]:
    ids, headers = zip(*((record.id, record.header) for record in records), strict=True)
    chosen, *further = look_at_headers(ids, headers, place)
    if chosen.where == WHOLE:
        _number("headers are lineages and have no ids", source)
    about, several = tell_of_labels(chosen, further, f"in the headers, {chosen.name!r}", source)
    _unmatched(len(records) - len(chosen.texts), 0, source)
    return {"pattern": Noted(chosen.where, f"{chosen.name}: {about}"), **several}


def _number(why: str, source: SourceFound) -> None:
    source.settings["ids"] = Noted("numbers", f"{why}: records are numbered from 1")
    source.found.append(f"{why}: records are numbered from 1.")


def _unmatched(without: int, lost: int, source: SourceFound) -> None:
    if without:
        note = f"{plural(without, 'record')} without a label: classified by the final model"
        source.settings["unmatched"] = Noted("classify", note)
        source.found.append(f"{note}.")
    elif lost:
        source.settings["unmatched"] = Noted("drop", f"{plural(lost, 'label')} of no record")
