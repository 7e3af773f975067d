"""What FASTA files and the labels beside them hold, as the source that reads them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.alignment.scoring import load_substitution_matrix
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import IntArray
from kreinflow.base.wording import abridged, plural
from kreinflow.commands.proposing.labels import look_at_headers
from kreinflow.commands.proposing.source import (
    SourceFound,
    labels_of_table,
    look_at_table,
    tell_of_labels,
)
from kreinflow.commands.proposing.writing import Noted
from kreinflow.sequences.fasta import read_fasta
from kreinflow.sequences.labels import HeaderPattern
from kreinflow.sequences.sources.fasta import FastaSource
from kreinflow.sequences.text_files import name_endings

_BASES = b"ACGTUN"
_OF_BASES = 0.9


@dataclass(frozen=True)
class FastaFound:
    """The records of FASTA files, looked at.

    ``illegal`` has the ids of records with ``letters`` that the substitution matrix lacks, ``long``
    those of records that are longer than the limit.
    """

    ids: tuple[str, ...]
    headers: tuple[str, ...]
    molecule: str
    lengths: IntArray
    illegal: tuple[str, ...]
    letters: str
    long: tuple[str, ...]


def look_at_records(
    paths: Sequence[Path], longest: int, protein: str, nucleotide: str
) -> FastaFound:
    """Read all records of FASTA files and tell what they are, by the letters of two matrices.

    Raises
    ------
    InputError
        As :func:`~kreinflow.sequences.fasta.read_fasta`, or if most records have letters that
        are no residues, or gaps.
    """
    records = [record for path in paths for record in read_fasta(path, longest)]
    letters = np.zeros(256, dtype=np.int64)
    for record in records:
        letters += np.bincount(np.frombuffer(record.residues.upper(), np.uint8), minlength=256)
    every = letters[ord("A") : ord("Z") + 1].sum()
    is_nucleotide = letters[list(_BASES)].sum() >= _OF_BASES * max(every, 1)
    kind = "nucleotide" if is_nucleotide else "protein"
    alphabet = ResidueAlphabet(nucleotide if is_nucleotide else protein, kind)
    cleaned = [alphabet.clean(record.residues) for record in records]
    lengths = np.array([len(residues) for residues in cleaned], dtype=np.int64)
    long = tuple(r.id for r, n in zip(records, lengths, strict=True) if r.more or n > longest)
    wrong = {
        record.id: found[1]
        for record, residues in zip(records, cleaned, strict=True)
        if (found := alphabet.illegal(residues)) is not None
    }
    if 2 * len(wrong) > len(records):
        signs = "".join(sorted(set(wrong.values())))
        raise InputError(
            f"{paths[0]}: {len(wrong)} of {plural(len(records), 'record')} have {signs!r} among "
            f"their residues, such as {abridged([*wrong], 2)}. Remove the gaps "
            "of an alignment, or give another file."
        )
    rna = letters[ord("U")] > letters[ord("T")]
    return FastaFound(
        ids=tuple(record.id for record in records),
        headers=tuple(record.header for record in records),
        molecule=("RNA" if rna else "DNA") if is_nucleotide else "protein",
        lengths=lengths,
        illegal=tuple(wrong),
        letters="".join(sorted(set(wrong.values()))),
        long=long,
    )


def look_at_fasta(inputs: Sequence[str], labels: str | None) -> SourceFound:
    """Look at FASTA files, or a folder of them, and their labels.

    Without a table ``labels`` they are in the headers, or each of several files is a class.
    """
    named = inputs[0] if len(inputs) == 1 else list(inputs)
    reader = FastaSource({"fasta": named, "labels": {}}, Path())
    files = reader.fasta_files()
    matrices = [load_substitution_matrix(name, Path()) for name in ("BLOSUM62", "nuc44")]
    letters = [matrix.alphabet for matrix in matrices]
    longest = reader.settings["max_length"]
    records = look_at_records(files, longest, *letters)
    source = SourceFound({"type": "fasta"})
    least, median, most = np.quantile(records.lengths, (0, 0.5, 1)).astype(int).tolist()
    said = (
        f"{len(records.ids):,} {records.molecule} sequences of {least:,} to {most:,} residues "
        f"(median {median:,})"
    )
    source.found.append(f"{said} in {abridged([str(path) for path in files], 3)}.")
    source.settings["fasta"] = Noted(named, said)
    if labels is not None:
        source.settings["labels"] = _labels_of_table(labels, records, source)
    elif len(files) > 1:
        classes = sorted({name_endings(path)[0] for path in files})
        note = f"{plural(len(classes), 'class', 'classes')}: {abridged(classes, 8)}"
        source.settings["labels"] = {"from_file_names": Noted(True, note)}
        source.found.append(f"labels: each file is a class, {note}.")
    else:
        source.settings["labels"] = _labels_of_headers(records, str(files[0]), source)
    if records.molecule != "protein":
        note = f"{records.molecule}, by its letters; scored by nuc44, gaps 16 and 4"
        source.settings["molecule"] = Noted("nucleotide", note)
    faults = {
        "illegal_residues": (records.illegal, f"{records.letters!r} among the residues"),
        "too_long": (records.long, f"more residues than max_length, {longest}"),
    }
    for key, (ids, why) in faults.items():
        if ids:
            note = f"{plural(len(ids), 'record')} with {why}"
            source.settings[key] = Noted("drop", note)
            source.advice.append(f"{note}, dropped: {abridged(list(ids))}.")
    return source


def _labels_of_table(name: str, records: FastaFound, source: SourceFound) -> dict[str, Any]:
    table = look_at_table(Path(name), records.ids)
    without = len(records.ids) - len(table.candidates[0].texts)
    _unmatched(without, table.lines - table.matched, source)
    return labels_of_table(table, name, source)


def _labels_of_headers(records: FastaFound, place: str, source: SourceFound) -> dict[str, Any]:
    chosen, *further = look_at_headers(records.ids, records.headers, place)
    label = HeaderPattern(chosen.pattern).label
    texts = {
        id: [text]
        for id, header in zip(records.ids, records.headers, strict=True)
        if (text := label(header)) is not None
    }
    chosen = replace(chosen, texts=texts)
    about, several = tell_of_labels(chosen, further, f"in the headers, {chosen.name!r}", source)
    _unmatched(len(records.ids) - len(texts), 0, source)
    return {"pattern": Noted(chosen.pattern, f"{chosen.name}: {about}"), **several}


def _unmatched(without: int, lost: int, source: SourceFound) -> None:
    if without:
        note = f"{plural(without, 'record')} without a label: classified by the final model"
        source.settings["unmatched"] = Noted("classify", note)
        source.found.append(f"{note}.")
    elif lost:
        source.settings["unmatched"] = Noted("drop", f"{plural(lost, 'label')} of no record")
