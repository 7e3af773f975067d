"""The backend "auto": local alignments of batches of sequences by the kernel, the rest by parasail.

Sequences of about one length share a batch, so that its lanes end together; the batch is aligned
with all landmarks before the next one is made. Either side of a rectangle may lie in the lanes.
What would leave most lanes empty, and what no lane can hold, is left to parasail.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment import engine
from kreinflow.alignment.engine import (
    NOT_ALIGNED,
    PackedSequences,
    align_pairs,
    in_threads,
    letter_codes,
)
from kreinflow.alignment.kernel import LETTERS, Kernel, kernel, lanes_here
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.numerics import FloatArray, IntArray

_LONGEST = 10_000
"""Residues of a sequence that lies in a lane, or is aligned with a batch. A profile takes 32 x 64
bytes for each, 20 MB for a thread, and in those of longer proteins are few lanes."""

_PROFILE_STEPS = 50.0
"""Of the profile of a batch for each column. A step is what the kernel takes for a letter of a
landmark and a column of the batch, 1.6 ns for 64 lanes (benchmarks/results.md)."""

_COLUMN_STEPS, _RESIDUE_STEPS = 10.0, 0.05
"""Of parasail for each column of a pair, and for each letter of the landmark beside it, where there
are 64 lanes."""

_SHARED = 0.75
"""Share of a batch's sequences that must be wanted for a landmark; else they get a batch anew."""

_LEAST_STEPS = 1_000_000
"""Of a piece of work, 1 or 2 ms: short against any run, long against what it costs to hand it out."""


@dataclass(frozen=True, eq=False)
class _Aligner:
    """The kernel of so many bits for a list of sequences under a scoring scheme.

    ``numbers`` are what :func:`kreinflow.alignment.lanes.align_batches` takes as ``kernel``.
    """

    kernel: Kernel
    numbers: NDArray[np.int64]
    matrix: NDArray[np.uint8]
    codes: NDArray[np.uint8]
    sequences: PackedSequences
    threads: int

    @property
    def pair_steps(self) -> FloatArray:
        """Return parasail's steps for each column of a pair, by the number of its landmark."""
        lengths, lanes = self.sequences.lengths, self.kernel.lanes
        return (_COLUMN_STEPS + _RESIDUE_STEPS * lengths) * (64 / lanes)


@dataclass(frozen=True, eq=False)
class _Batches:
    """Batches, as ranges of members and of landmarks: (number of a sequence, place in the scores).

    ``ranges`` is of shape (2, n_batches, 2).
    """

    members: IntArray
    landmarks: IntArray
    ranges: IntArray


def _aligners(
    sequences: PackedSequences, scheme: ScoringScheme, threads: int
) -> list[_Aligner]:
    """Return the kernels that are exact for the scheme up to some score: of 8 bits, of 16."""
    codes = letter_codes(sequences, scheme.matrix)
    letters = np.flatnonzero(sequences.present)
    if scheme.mode != "local" or letters.size > LETTERS:
        return []
    table = scheme.matrix.scores[np.ix_(codes[letters], codes[letters])].astype(np.int64)
    worst, best = max(0, -int(table.min())), max(0, int(table.max()))
    number_of = np.zeros(256, dtype=np.uint8)
    number_of[letters] = np.arange(letters.size)
    found = []
    for bits in (8, 16):
        lowest, highest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        zero = lowest + max(worst, scheme.gap_extend)
        limit = highest - best
        if limit - zero < 2 ** (bits - 2):  # most scores would overflow
            continue
        matrix = np.full((letters.size + 1, LETTERS), -worst, dtype=f"int{bits}")
        matrix[: letters.size, : letters.size] = table
        gap_open = min(scheme.gap_open, highest - zero)  # where no gap pays, none does at more
        made = kernel(lanes_here() * 8 // bits, bits)
        numbers = [
            *(made.profile, made.align, made.lanes, bits, letters.size),
            *(zero, gap_open, scheme.gap_extend, limit),
        ]
        codes_here = number_of[sequences.letters]
        found.append(
            _Aligner(
                made,
                np.array(numbers, dtype=np.int64),
                matrix.view(np.uint8),
                codes_here,
                sequences,
                threads,
            )
        )
    return found


def align_rectangle(
    sequences: PackedSequences,
    rows: IntArray,
    columns: IntArray,
    scheme: ScoringScheme,
    threads: int,
    mask: NDArray[np.bool_] | None = None,
) -> NDArray[np.int32]:
    """Return the scores of rows with columns: what :func:`engine.align_rectangle` returns.

    8 bits are tried first, then 16 for the pairs that overflow, then parasail.

    Parameters
    ----------
    sequences : PackedSequences
        Of letters of the matrix, nothing else.
    rows, columns : ndarray of int
        Numbers of sequences.
    scheme : ScoringScheme
        All alignments that are not local are parasail's, and so are those of more than 32
        different letters, or of entries that leave no room in 16 bits.
    threads : int
    mask : ndarray of shape (n_rows, n_columns), bool, optional
        The pairs that are wanted, all if it is left out.

    Returns
    -------
    ndarray of shape (n_rows, n_columns), int32
        :data:`~kreinflow.alignment.engine.NOT_ALIGNED` for pairs that are not wanted.

    Raises
    ------
    InputError
        If a sequence has a letter that the matrix does not know.
    KreinflowError
        If a score exceeds even 32 bits.

    Notes
    -----
    Each batch costs a step for each column of its longest sequence and each letter of its
    landmarks, whatever lanes are empty; so the cheaper side lies in the lanes, and of each batch
    the longest sequences go to parasail if that saves more than it costs.

    References
    ----------
    T. Rognes, "Faster Smith-Waterman database searches with inter-sequence SIMD parallelisation",
    BMC Bioinformatics 12:221 (2011).
    """
    aligners = _aligners(sequences, scheme, threads) if rows.size and columns.size else []
    if not aligners:
        return engine.align_rectangle(sequences, rows, columns, scheme, threads, mask)
    lengths = sequences.lengths
    sides = [
        np.stack([numbers, np.arange(numbers.size)]).astype(np.int64) for numbers in (rows, columns)
    ]
    scores = np.full((rows.size, columns.size), NOT_ALIGNED, dtype=np.int32)
    wanted = np.ones(scores.shape, dtype=bool) if mask is None else mask
    by_length = [side[:, np.argsort(-lengths[side[0]], kind="stable")] for side in sides]
    short = [side[:, lengths[side[0]] <= _LONGEST] for side in by_length]
    ...
    return scores
