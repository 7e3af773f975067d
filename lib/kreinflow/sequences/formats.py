"""FASTQ and GenBank, as the headers and residues that FASTA would have."""

import re
import warnings
from collections.abc import Iterator
from io import StringIO
from itertools import takewhile

from kreinflow.base.errors import InputError

Lines = Iterator[tuple[int, str]]
"""Lines of a file, each with its number from 1."""

Found = Iterator[tuple[int, str, str]]
"""Line, header behind a sign, and residues of each record."""


def fastq_records(lines: Lines, name: str) -> Found:
    """Yield the records of FASTQ, in four lines or wrapped; qualities are counted alone."""
    for number, title in lines:
        if title.isspace():
            continue
        before_plus = takewhile(lambda numbered: numbered[1][0] != "+", lines)
        residues, told = "".join(text.strip() for _, text in before_plus), 0
        while told < len(residues) and (more := next(lines, None)):
            told += len(more[1].strip())
        if title[0] != "@" or told != len(residues):
            raise InputError(
                f"{name}, line {number}: not a whole record of FASTQ (@ and the id, residues, +, "
                "as many qualities). Copy the file again."
            )
        yield number, title, residues


def genbank_records(lines: Lines, name: str) -> Found:
    """Yield the entries of GenBank.

    Their headers have the id, the definition, and as ``[organism=...]`` the organism, its
    ``lineage`` with ``;`` between, and each qualifier that has one value in the whole entry.
    """
    entry, start = list[str](), 0
    for number, line in lines:
        if entry or not line.isspace():
            start = start if entry else number
            entry.append(line)
        if line.startswith("//"):
            yield start, *_entry("".join(entry), f"{name}, line {start}")
            entry = []
    if entry:
        raise InputError(f"{name}, line {start}: the file ends inside this entry. Copy it again.")


def _entry(text: str, place: str) -> tuple[str, str]:
    from Bio import SeqIO

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            record = SeqIO.read(StringIO(text), "genbank")
        residues = str(record.seq) if record.seq.defined else ""
    except (ValueError, AssertionError, LookupError, TypeError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"{place}: not an entry of GenBank ({why}). Copy it again.") from error
    said = re.match(r"LOCUS\s+\S+\s+(\d+) ", text)
    if residues and said and int(said[1]) != len(residues):
        raise InputError(
            f"{place}: has {len(residues)} residues, its line LOCUS says {said[1]}. Copy it again."
        )
    organism = record.annotations.get("organism", "")
    lineage = ";".join([*record.annotations.get("taxonomy", []), organism])
    known = {"organism": {organism}, "lineage": {lineage}}
    for feature in record.features:
        for key, values in feature.qualifiers.items():
            if key not in ("translation", "organism"):
                known.setdefault(key, set()).update(values)
    single = [(key, *values) for key, values in known.items() if len(values) == 1]
    parts = [f"[{key}={re.sub(r'[][]', ' ', value)}]" for key, value in single if value]
    return f">{' '.join([record.id, record.description, *parts])}", residues
