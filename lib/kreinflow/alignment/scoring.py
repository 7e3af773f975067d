"""What determines the score of two sequences: substitution matrix, gap penalties and mode.

The gap convention is parasail's: a gap of n residues costs ``gap_open + (n - 1) * gap_extend``.
BLAST writes open + n * extend, so its "11/1" is 12/1 here (and 11/1 here is its "10/1").
"""

import difflib
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import parasail
from numpy.typing import ArrayLike, NDArray

from kreinflow.base.errors import InputError

ALIGNMENT_VERSION = 1
"""Raised when the engine changes in a way that could change a score."""

MODES = {"local": "sw", "global": "nw", "semiglobal": "sg"}
"""The modes, and what the names of parasail's functions for them begin with."""

PARASAIL_VERSION = f"{parasail.__version__}/{'.'.join(str(part) for part in parasail.version())}"
"""Version of parasail's Python package and of its C library."""

_LARGEST_ENTRY = 10_000  # of a matrix or a gap: leaves 32 bits room for any sequence accepted


def by_parasail(backend: str, mode: str) -> bool:
    """Return whether parasail makes all alignments: it is named, or the mode is not local."""
    return backend == "parasail" or mode != "local"


@dataclass(frozen=True, eq=False)
class SubstitutionMatrix:
    """A symmetric table of integer scores for pairs of letters, upper case, in the order of rows.

    An InputError says why a table is none.
    """

    name: str
    alphabet: str
    scores: NDArray[np.int32]

    def __post_init__(self) -> None:
        letters = self.alphabet
        single = letters.isascii() and letters.isprintable() and letters == letters.upper()
        square = self.scores.shape == (len(letters), len(letters))
        if not letters or not single or not square or len(set(letters)) != len(letters):
            raise InputError(
                f"substitution matrix {self.name}: the letters {letters!r} must be different "
                "single characters in upper case, with one row and one column each."
            )
        if np.abs(self.scores.astype(np.int64)).max() > _LARGEST_ENTRY:
            raise InputError(
                f"substitution matrix {self.name}: a score exceeds {_LARGEST_ENTRY}. Scale it down."
            )
        if not np.array_equal(self.scores, self.scores.T):
            i, j = np.argwhere(self.scores != self.scores.T)[0]
            raise InputError(
                f"substitution matrix {self.name}: not symmetric, {self.alphabet[i]} against "
                f"{self.alphabet[j]} is {self.scores[i, j]} one way and {self.scores[j, i]} the "
                "other. A similarity needs a symmetric matrix."
            )

    def by_character(self, values: ArrayLike, other: int = 0) -> NDArray[np.int64]:
        """Return the value of each of the 256 characters: of a letter its own, else ``other``."""
        table = np.full(256, other, dtype=np.int64)
        table[np.frombuffer(self.alphabet.encode(), dtype=np.uint8)] = values
        return table


def _built_in_names() -> list[str]:
    return [name for name in vars(parasail) if re.fullmatch(r"(blosum|pam|dna|nuc)\w+", name)]


def _built_in(name: str) -> SubstitutionMatrix:
    table = getattr(parasail, name)
    letter_of: dict[int, str] = {}
    for code in range(128):
        letter = chr(code)
        if letter.isalpha() and letter.isupper():
            letter_of.setdefault(int(table.mapper[code]), letter)
    last = int(table.mapper[ord("*")])  # where parasail sends each character it does not know
    letter_of[last] = "*"
    alphabet = "".join(letter_of[i] for i in range(table.size))
    return SubstitutionMatrix(name, alphabet, np.array(table.matrix, dtype=np.int32))


def _from_file(path: Path) -> SubstitutionMatrix:
    try:
        text = path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a substitution matrix ({error}).") from error
    lines = [
        (number, fields)
        for number, line in enumerate(text.splitlines(), start=1)
        if (fields := line.upper().split("#")[0].split())
    ]
    alphabet = lines[0][1] if lines else []
    if not alphabet or max(map(len, alphabet)) > 1:
        raise InputError(
            f"{path}: no substitution matrix in the NCBI format, whose first line names the "
            "columns, one letter each. Give the right file."
        )
    rows: dict[str, list[int]] = {}
    for number, (letter, *values) in lines[1:]:
        integers = all(re.fullmatch(r"[+-]?[0-9]{1,9}", value) for value in values)
        if letter not in alphabet or letter in rows or len(values) != len(alphabet) or not integers:
            raise InputError(
                f"{path}, line {number}: a row must be one letter of the first line, not given "
                f"before, and {len(alphabet)} integers."
            )
        rows[letter] = [int(value) for value in values]
    if missing := [letter for letter in alphabet if letter not in rows]:
        raise InputError(f"{path}: no row for {missing[0]}.")
    scores = np.array([rows[letter] for letter in alphabet], dtype=np.int32)
    return SubstitutionMatrix(path.name, "".join(alphabet), scores)


def load_substitution_matrix(
    name_or_path: str | os.PathLike[str], data_folder: Path = Path(".")
) -> SubstitutionMatrix:
    """Return one of parasail's matrices by its name in any case, or read one from a file.

    A file is in the NCBI format (comments after ``#``, a line of letters, then a row for each
    letter); a relative path starts in ``data_folder``. An InputError tells the nearest name, or
    what is wrong with the file.

    Examples
    --------
    >>> matrix = load_substitution_matrix("BLOSUM62")
    >>> matrix.alphabet[:4], int(matrix.scores[0, 0])
    ('ARND', 4)
    """
    name = os.fspath(name_or_path)
    if name.lower() in _built_in_names():
        return _built_in(name.lower())
    path = data_folder / name
    if path.is_file():
        return _from_file(path)
    nearest = difflib.get_close_matches(name.lower(), _built_in_names(), n=1, cutoff=0.0)[0]
    raise InputError(
        f"substitution matrix {name!r}: neither one of parasail's nor a file ({path}). "
        f"Did you mean {nearest!r}?"
    )


@dataclass(frozen=True, eq=False)
class ScoringScheme:
    """All that determines the score of a pair.

    A gap of n residues costs ``gap_open + (n - 1) * gap_extend``, 0 <= gap_extend <= gap_open. The
    mode is "local" (Smith-Waterman), "global" (Needleman-Wunsch), or "semiglobal": global with the
    gaps at all four ends free. What aligned the pair does not belong to it: the scores of all
    backends are those of this version of parasail. An InputError names a penalty or mode that is
    out of range.
    """

    matrix: SubstitutionMatrix
    gap_open: int = 11
    gap_extend: int = 1
    mode: str = "local"

    def __post_init__(self) -> None:
        for name, value in (("gap_open", self.gap_open), ("gap_extend", self.gap_extend)):
            if type(value) is not int or not 0 <= value <= _LARGEST_ENTRY:
                raise InputError(
                    f"{name}: {value!r} is not an integer between 0 and {_LARGEST_ENTRY}. "
                    "Give a cost such as 11."
                )
        if self.gap_open < self.gap_extend:
            raise InputError(
                f"gap_open: {self.gap_open} is less than gap_extend, {self.gap_extend}. Opening a "
                "gap must cost at least as much as extending it."
            )
        if self.mode not in MODES:
            raise InputError(f"mode: {self.mode!r} is not one of {', '.join(MODES)}.")

    @cached_property
    def digest(self) -> str:
        """Return the sha256 of all that determines a score (the matrix's name does not)."""
        content = self.to_dict()
        del content["matrix"]["name"]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the scheme as a self-contained object that JSON can hold."""
        return {
            "matrix": {
                "name": self.matrix.name,
                "alphabet": self.matrix.alphabet,
                "scores": self.matrix.scores.tolist(),
            },
            "gap_open": self.gap_open,
            "gap_extend": self.gap_extend,
            "mode": self.mode,
            "parasail": PARASAIL_VERSION,
            "alignment_version": ALIGNMENT_VERSION,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ScoringScheme":
        """Return the scheme that :meth:`to_dict` wrote, under whatever parasail is installed.

        An InputError if another alignment version wrote it.
        """
        version, table = content["alignment_version"], content["matrix"]
        if version != ALIGNMENT_VERSION:
            raise InputError(
                f"scoring scheme: of alignment version {version!r}, this is version "
                f"{ALIGNMENT_VERSION}. Use the version of kreinflow that wrote it."
            )
        scores = np.array(table["scores"], dtype=np.int32)
        matrix = SubstitutionMatrix(table["name"], table["alphabet"], scores)
        return cls(matrix, content["gap_open"], content["gap_extend"], content["mode"])

    def score_bound(self, sequences: Sequence[bytes]) -> int:
        """Return a number that no score of two of these sequences exceeds in magnitude.

        A pair scores at most what the lesser of the two would gain if each of its letters met its
        best partner. In the global modes it scores at least minus the cost of two gaps that hold
        all letters. An InputError if the bound exceeds 32 bits.
        """
        best = self.matrix.by_character(np.maximum(self.matrix.scores.max(axis=1), 0))
        gain = int(sums_over_letters(sequences, best).max(initial=0))
        longest = max((len(s) for s in sequences), default=0)
        loss = 2 * (self.gap_open + longest * self.gap_extend) if self.mode != "local" else 0
        bound = max(gain, loss)
        if bound >= 2**30:
            raise InputError(
                f"scores up to {bound} of a sequence of {longest} residues do not fit 32 bits. "
                "Scale the substitution matrix down or leave the sequence out."
            )
        return bound


def sums_over_letters(sequences: Sequence[bytes], values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each sequence the sum of the values of its letters, given for each byte."""
    parts = [np.empty(0, dtype=np.int64)]
    for start in range(0, len(sequences), 1_000):
        batch = sequences[start : start + 1_000]
        sums = np.append(0, np.cumsum(values[np.frombuffer(b"".join(batch), dtype=np.uint8)]))
        ends = np.cumsum([len(sequence) for sequence in batch])
        parts.append(np.diff(sums[ends], prepend=0))
    return np.concatenate(parts)
