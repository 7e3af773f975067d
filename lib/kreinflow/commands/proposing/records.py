"""What the records of FASTA files are: the molecule, letters that are unusual, lengths."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kreinflow.alignment.alphabet import ResidueAlphabet
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import IntArray
from kreinflow.base.wording import abridged, plural
from kreinflow.sequences.fasta import read_fasta

_BASES = b"ACGTUN"
_OF_BASES = 0.9
_SHORT = 20


@dataclass(frozen=True)
class FastaFound:
    """The records of FASTA files, looked at.

    Parameters
    ----------
    ids, headers : tuple of str
    molecule : {"protein", "DNA", "RNA"}
    lengths : ndarray of shape (n,)
    illegal : tuple of str
        Ids of records with letters that the substitution matrix lacks.
    letters : str
        These letters.
    long : tuple of str
        Ids of the records that are longer than the limit.
    short : tuple of str
        Ids of those of few residues.
    foreign : tuple of str
        Ids of those that look like nucleotides among proteins.
    """

    ids: tuple[str, ...]
    headers: tuple[str, ...]
    molecule: str
    lengths: IntArray
    illegal: tuple[str, ...]
    letters: str
    long: tuple[str, ...]
    short: tuple[str, ...]
    foreign: tuple[str, ...]

    @property
    def nucleotide(self) -> bool:
        """Whether it is DNA or RNA."""
        return self.molecule != "protein"


def look_at_records(
    paths: Sequence[Path], longest: int, protein: str, nucleotide: str
) -> FastaFound:
    """Read all records of FASTA files and tell what they are.

    Parameters
    ----------
    paths : sequence of Path
    longest : int
        Residues that a record may have.
    protein, nucleotide : str
        Letters of the substitution matrix of each.

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
        advice = (
            "This is an alignment: remove its gaps and give the sequences."
            if set(signs) <= set("-.")
            else "Is this the right file?"
        )
        raise InputError(
            f"{paths[0]}: {len(wrong)} of {plural(len(records), 'record')} have {signs!r} among "
            f"their residues, such as {abridged([*wrong], 2)}. {advice}"
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
        short=tuple(r.id for r, n in zip(records, lengths, strict=True) if n < _SHORT),
        foreign=tuple(
            record.id
            for record, residues in zip(records, cleaned, strict=True)
            if alphabet.are_nucleotides(residues)
        ),
    )
