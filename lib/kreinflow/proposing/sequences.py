"""What FASTA files and the labels beside them hold, as the source that reads them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kreinflow.errors import InputError
from kreinflow.proposing.headers import is_guess, look_at_headers
from kreinflow.proposing.labels import Candidate, separator_of_levels
from kreinflow.proposing.records import FastaFound, look_at_records
from kreinflow.proposing.source import SourceFound
from kreinflow.proposing.tables import LabelsTable, look_at_table
from kreinflow.proposing.writing import Noted, scalar
from kreinflow.sequences.files import counted, first_few, name_endings, open_text
from kreinflow.sequences.labels import HeaderPattern
from kreinflow.sequences.sources.fasta import FastaSource

_FLAT_FILE = "ID   "


def look_at_fasta(inputs: Sequence[str], labels: str | None) -> SourceFound:
    """Look at FASTA files and their labels.

    Parameters
    ----------
    inputs : sequence of str
        A file, several, or a folder.
    labels : str or None
        The table of labels. None: they are in the headers, or each of several files is a class.

    Raises
    ------
    InputError
    """
    from kreinflow.alignment.scoring import load_substitution_matrix  # loads parasail

    named = inputs[0] if len(inputs) == 1 else list(inputs)
    reader = FastaSource({"fasta": named, "labels": {}}, Path())
    files = reader.fasta_files()
    _refuse_flat_file(files[0])
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
    source.found.append(f"{said} in {first_few([str(path) for path in files], 3)}.")
    source.settings["fasta"] = Noted(named, said)
    if labels is not None:
        table = look_at_table(Path(labels), records.ids, records.headers)
        source.settings["labels"] = _labels_of_table(table, labels, records, source)
    elif len(files) > 1:
        classes = sorted({name_endings(path)[0] for path in files})
        note = f"{counted(len(classes), 'class', 'classes')}: {first_few(classes, 8)}"
        source.settings["labels"] = {"from_file_names": Noted(True, note)}
        source.found.append(f"labels: each file is a class, {note}.")
    else:
        source.settings["labels"] = _labels_of_headers(records, str(files[0]), source)
    if records.nucleotide:
        note = f"{records.molecule}, by its letters; scored by nuc44, gaps 16 and 4"
        source.settings["molecule"] = Noted("nucleotide", note)
    _tell_of_residues(records, longest, source)
    return source


def _refuse_flat_file(path: Path) -> None:
    with open_text(path, errors="replace") as file:
        if file.read(len(_FLAT_FILE)) == _FLAT_FILE:
            raise InputError(
                f"{path}: is a flat file of UniProtKB. The section UniProtKB of docs/own-fasta.md "
                "has a config for it (type: swissprot)."
            )


def _labels_of_table(
    table: LabelsTable, name: str, records: FastaFound, source: SourceFound
) -> dict[str, Any]:
    chosen, *further = table.candidates
    without = len(records.ids) - sum(id in chosen.texts for id in records.ids)
    lost = table.lines - table.matched
    note = f"{table.matched:,} of its {table.lines:,} lines are of a record"
    settings: dict[str, Any] = {"table": name, "id_column": Noted(table.id_column, note)}
    source.found.append(f"ids: the column {table.id_column!r} of {name}, {note}.")
    about = _about(chosen, further, source, f"the column {chosen.name!r} of {name}")
    settings["label_column"] = Noted(chosen.name, about)
    settings |= _several(chosen, source)
    if above := next((one for one in further if chosen.is_below(one)), None):
        letters = "".join([*chosen.sizes, *above.sizes])
        sign = next((sign for sign in "/>|:" if sign not in letters), "::")
        settings["more"] = Noted(
            None,
            f"Each class has one {above.name!r}. For answers at that level too, where it is not "
            f"sure of the class: label_column: {scalar([above.name, chosen.name])}, and beside the "
            f"source levels: {{separator: {scalar(sign)}}}.",
        )
    if lost:
        source.advice.append(
            f"{counted(lost, 'line')} of {name} {'are' if lost > 1 else 'is'} of no record of the "
            "FASTA and left out."
        )
    _unmatched(without, lost, source)
    _tell_of_folds([*further, *table.others], len(records.ids), source)
    return settings


def _tell_of_folds(columns: Sequence[Candidate], records: int, source: SourceFound) -> None:
    """Say how to make folds of columns that look like it."""
    for one in columns:
        if one.is_of_folds() and len(one.sizes) > 1:
            source.more.append(
                f"The column {one.name!r} looks like folds of your own. To test on these: "
                "{method: table, table: TABLE} with the columns id and fold."
            )
        elif one.is_of_groups() and 1 < len(one.sizes) < records == len(one.texts):
            source.more.append(
                f"To test on records of another {one.name!r} ({len(one.sizes)} of them) than was "
                f"learned from: {{method: grouped, column: {scalar(one.name)}}}."
            )


def _labels_of_headers(records: FastaFound, place: str, source: SourceFound) -> dict[str, Any]:
    chosen, *further = look_at_headers(records.ids, records.headers, place)
    label = HeaderPattern(chosen.pattern).label
    texts = {
        id: [text]
        for id, header in zip(records.ids, records.headers, strict=True)
        if (text := label(header)) is not None
    }
    chosen = replace(chosen, texts=texts)
    about = _about(chosen, further, source, f"in the headers, {chosen.name!r}")
    settings = {"pattern": Noted(chosen.pattern, f"{chosen.name}: {about}")}
    settings |= _several(chosen, source)
    if is_guess(chosen):
        source.advice.append(
            f"The labels are a guess: {chosen.name}, such as {first_few([*chosen.sizes], 3)}. If "
            "they are others, give a table with --labels."
        )
    _unmatched(sum(id not in texts for id in records.ids), 0, source)
    return settings


def _about(chosen: Candidate, further: Sequence[Candidate], source: SourceFound, where: str) -> str:
    """Tell of the labels that were chosen, and return what stands beside them."""
    sizes = sorted(chosen.sizes.values())
    if chosen.separator is not None:
        about = f"{counted(len(sizes), 'label')}, several a record"
    else:
        span = f"{sizes[0]:,} to {sizes[-1]:,}" if sizes[0] < sizes[-1] else f"{sizes[0]:,}"
        about = f"{counted(len(sizes), 'class', 'classes')} of {span} records"
        levels = separator_of_levels(list(chosen.sizes))
        if levels is not None:
            source.levels = Noted(
                {"separator": levels}, "labels are paths: answered as far down as is sure"
            )
            source.found.append(f"labels are paths, with {levels!r} between their levels.")
    if further:
        others = first_few([one.described for one in further], 6)
        source.found.append(f"labels: {where}, {about}. Others could be: {others}.")
        about += f"; others could be {others}"
    else:
        source.found.append(f"labels: {where}, {about}.")
    if missing := chosen.missing():
        count = sum(chosen.sizes[text] for text in missing)
        source.advice.append(
            f"{counted(count, 'record has', 'records have')} a label that may say that there is "
            f"none: {', '.join(map(repr, missing))}. It is a class as any other. If it is none, "
            "leave the field empty."
        )
    return about


def _several(chosen: Candidate, source: SourceFound) -> dict[str, Any]:
    separator = chosen.separator
    if separator is None:
        return {}
    records = sum(len(set(own)) > 1 or separator in own[0] for own in chosen.texts.values())
    source.found.append(f"{counted(records, 'record has', 'records have')} several labels.")
    note = "each label is learned against the records that lack it"
    return {"multiple": Noted("all", note), "separator": separator}


def _unmatched(without: int, lost: int, source: SourceFound) -> None:
    if without:
        note = f"{counted(without, 'record has', 'records have')} no label: the final model labels"
        note += " it" if without == 1 else " them"
        source.settings["unmatched"] = Noted("classify", note)
        source.found.append(f"{note}.")
    elif lost:
        source.settings["unmatched"] = Noted("drop", f"{counted(lost, 'label')} of no record")


def _tell_of_residues(records: FastaFound, longest: int, source: SourceFound) -> None:
    """Say what to do with records that cannot be aligned, and tell of unusual ones."""
    n = len(records.illegal)
    if n:
        note = f"{counted(n, 'record has', 'records have')} {records.letters!r} among the residues"
        source.settings["illegal_residues"] = Noted("drop", note)
        source.advice.append(
            f"{note}, which cannot be scored, and {'is' if n == 1 else 'are'} dropped: "
            f"{first_few(list(records.illegal))}."
        )
    n = len(records.long)
    if n:
        note = (
            f"{counted(n, 'record is', 'records are')} longer than max_length, {longest} residues"
        )
        source.settings["too_long"] = Noted("drop", note)
        source.advice.append(f"{note}, and dropped: {first_few(list(records.long))}.")
    for ids, what in (
        (records.short, "fewer than 20 residues, which say little"),
        (records.foreign, "nothing but the letters of nucleotides"),
    ):
        if ids:
            has = counted(len(ids), "record has", "records have")
            source.advice.append(f"{has} {what}: {first_few(list(ids))}.")
