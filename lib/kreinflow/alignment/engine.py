"""libparasail's C functions, called from a compiled loop without the interpreter, in threads."""

import ctypes
import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeVar

import numpy as np
import parasail
from numpy.typing import DTypeLike, NDArray

from kreinflow.alignment.scoring import (
    MODES,
    ScoringScheme,
    SubstitutionMatrix,
    sums_over_letters,
)
from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.base.numerics import IntArray, worth_compiling

P = TypeVar("P")
R = TypeVar("R")
Mask = NDArray[np.bool_]
Scores = NDArray[np.int32]

_LEAST_CELLS = 10_000_000  # of a piece, 1 or 2 ms: short against any run, long against its cost

_PROFILE_COST = 4.0  # of a profile, in columns of the matrix for each residue it is made of

COLUMN_STEPS, RESIDUE_STEPS = 10.0, 0.05
"""What parasail takes for each column of a pair, and for each letter of the other in it: in steps
of the vector code of :mod:`kreinflow.alignment.batches` with 64 lanes, 1.6 ns."""


def not_aligned(dtype: DTypeLike) -> Any:
    """Return what stands for a pair without a score: the smallest integer of the type, or NaN."""
    kind = np.dtype(dtype)
    return np.nan if kind.kind == "f" else int(np.iinfo(kind).min)


def missing(scores: NDArray[Any]) -> Mask:
    """Return which pairs have no score."""
    no_number = scores.dtype.kind == "f"
    return np.asarray(np.isnan(scores) if no_number else scores == not_aligned(scores.dtype))


NOT_ALIGNED: int = not_aligned(np.int32)
"""The same among the scores that a backend returns."""


@dataclass(frozen=True, eq=False)
class PackedSequences:
    """Sequences one after the other in one array, and how they are aligned.

    Sequence i is ``letters[offsets[i]:offsets[i + 1]]``. Scores do not depend on ``threads``.
    """

    letters: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    scheme: ScoringScheme
    threads: int

    def __getitem__(self, number: int) -> NDArray[np.uint8]:
        return self.letters[self.offsets[number] : self.offsets[number + 1]]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """The number of residues of each sequence."""
        return np.diff(self.offsets)

    @cached_property
    def present(self) -> Mask:
        """Which of the 256 characters occur."""
        found = np.zeros(256, dtype=bool)
        found[self.letters] = True  # np.bincount would copy all letters as 64-bit integers
        return found

    @cached_property
    def codes(self) -> NDArray[np.intc]:
        """The row of the matrix that each of the 256 characters has, -1 for none.

        An InputError names a letter of a sequence that the matrix does not know.
        """
        matrix = self.scheme.matrix
        codes = matrix.by_character(np.arange(len(matrix.alphabet)), -1).astype(np.intc)
        if (codes[self.present] < 0).any():
            where = int(np.flatnonzero(codes[self.letters] < 0)[0])
            number = int(np.searchsorted(self.offsets, where, side="right"))
            raise InputError(
                f"sequence {number}: the letter {chr(self.letters[where])!r} at position "
                f"{where - int(self.offsets[number - 1]) + 1} is not in the substitution matrix "
                f"{matrix.name}. Replace it or choose another matrix."
            )
        return codes

    @property
    def native(self) -> parasail.Matrix:
        """The substitution matrix as parasail has it."""
        matrix, _ = self.scheme.matrix, self.codes
        return native_matrix(matrix)


def native_matrix(matrix: SubstitutionMatrix) -> parasail.Matrix:
    """Return a substitution matrix as parasail has it; it takes any letter."""
    return _native(matrix.alphabet, matrix.scores.astype(np.int32).tobytes())


@lru_cache(maxsize=8)  # made slowly, entry by entry; no part of an object that may be pickled
def _native(alphabet: str, scores: bytes) -> parasail.Matrix:
    native = parasail.matrix_create(alphabet, 0, 0, case_sensitive=True)
    for place, score in enumerate(np.frombuffer(scores, dtype=np.int32).tolist()):
        native[divmod(place, len(alphabet))] = score
    return native


def pack(sequences: Sequence[bytes], scheme: ScoringScheme, threads: int = 1) -> PackedSequences:
    """Put sequences into one array; an InputError if one is empty."""
    lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
    if lengths.size and lengths.min() == 0:
        raise InputError(f"sequence {int(lengths.argmin()) + 1} is empty. Leave it out.")
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    letters = np.frombuffer(b"".join(sequences), dtype=np.uint8)
    return PackedSequences(letters, offsets, scheme, threads)


def _variant(scheme: ScoringScheme) -> tuple[str, str]:
    """Return the kind and width of parasail's functions that are exact under a scheme.

    Two limits of parasail 2.6: the striped functions are wrong where opening costs no more than
    extending, so these schemes take the slower prefix-scan functions; and the 8-bit ones overflow
    unnoticed where an entry and the gap together exceed 8 bits, so these take 32 bits at once.
    """
    largest = int(np.abs(scheme.matrix.scores).max())
    exact_in_8_bits = scheme.gap_open > scheme.gap_extend and largest + scheme.gap_open <= 100
    kind = "striped" if scheme.gap_open > scheme.gap_extend else "scan"
    return kind, "sat" if exact_in_8_bits else "32"


def _addresses(scheme: ScoringScheme) -> NDArray[np.int64]:
    kind, width = _variant(scheme)
    prefix = f"parasail_{MODES[scheme.mode]}_{kind}_profile_"
    names = (
        f"parasail_profile_create_{width}",
        prefix + width,
        "parasail_profile_free",
        "parasail_result_get_score",
        "parasail_result_is_saturated",
        "parasail_result_free",
    )
    library = parasail._lib  # the one it found and loaded, wherever that was
    found = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names]
    return np.array(found, dtype=np.int64)


def align_pairs(sequences: PackedSequences, left: Scores, right: Scores) -> Scores:
    """Return the score of each pair, given by numbers of sequences, all int32.

    Scores are those of ``parasail.sw_striped_32`` (``nw_``, ``sg_``). 8 bits are tried first, then
    16, then 32; a KreinflowError tells of a score that exceeds even these, an InputError of a
    letter that the matrix does not know. A query profile is made for each sequence of ``left``,
    and for those of ``right`` that are the longer one in enough pairs: put the side that repeats
    more often on the left.

    J. Daily, "Parasail: SIMD C library for global, semi-global, and local pairwise sequence
    alignments", BMC Bioinformatics 17:81 (2016); M. Farrar, "Striped Smith-Waterman speeds database
    searches six times over other SIMD implementations", Bioinformatics 23:156 (2007).
    """
    native, scheme, lengths = sequences.native, sequences.scheme, sequences.lengths
    if not left.size:
        return np.empty(0, dtype=np.int32)
    if not worth_compiling(20 * left.size + float(lengths[left] @ lengths[right]) / 1000):
        return _align_few(sequences, left, right)
    loops = compiled_loops()
    left, right, places = longer_first(lengths, left, right, _PROFILE_COST)
    ordered = np.empty(left.size, dtype=np.int32)
    gaps = np.int32(scheme.gap_open), np.int32(scheme.gap_extend)
    address = ctypes.cast(native.pointer, ctypes.c_void_p).value
    with_what = _addresses(scheme), address, *gaps
    # By cells: pieces of equal numbers of pairs, sorted by length, would hold very unequal work.
    ends = piece_ends(lengths[left] * lengths[right], sequences.threads, _LEAST_CELLS)

    def work(piece: tuple[int, int]) -> int:
        packed = sequences.letters, sequences.offsets
        return int(loops.align_piece(with_what, packed, (left, right), piece, ordered))

    pieces = list(itertools.pairwise([0, *ends]))
    _refuse_saturated(sum(in_threads(work, pieces, sequences.threads)))
    scores = np.empty_like(ordered)
    scores[places] = ordered
    return scores


def compiled_loops() -> Any:
    """Return the module of the compiled loops."""
    from kreinflow.alignment import loops  # numba, which loads slowly

    return loops


def longer_first(
    lengths: NDArray[np.int64], left: Scores, right: Scores, cost: float
) -> tuple[Scores, Scores, NDArray[np.intp]]:
    """Give the profile to the longer sequence of a pair, where that pays for the profile.

    A sequence of ``right`` gets one if the columns that it saves, over all pairs in which it is the
    longer one, exceed ``cost`` times its length. Returns the pairs by the number of the sequence
    with the profile, and their places among the pairs given.
    """
    difference = np.maximum(lengths[right] - lengths[left], 0)
    saved = np.bincount(right, difference, minlength=lengths.size)
    swapped = (difference > 0) & (saved > cost * lengths)[right]
    with_profile = np.where(swapped, right, left)
    places = np.argsort(with_profile, kind="stable")
    return with_profile[places], np.where(swapped, left, right)[places], places


def piece_ends(costs: IntArray, threads: int, least: int) -> list[int]:
    """Cut a list by costs: large pieces first, small ones last for an even end."""
    until, ends, done = np.cumsum(costs), [0], 0
    while ends[-1] < until.size:
        size = max((int(until[-1]) - done) // (8 * threads), least)
        ends.append(min(int(np.searchsorted(until, done + size)) + 1, until.size))
        done = int(until[ends[-1] - 1])
    return ends[1:]


def _align_few(sequences: PackedSequences, left: Scores, right: Scores) -> Scores:
    """Return what :func:`align_pairs` does by parasail's Python functions, without numba."""
    scheme = sequences.scheme
    align = getattr(parasail, f"{MODES[scheme.mode]}_{'_'.join(_variant(scheme))}")
    texts = {k: sequences[k].tobytes().decode() for k in np.union1d(left, right).tolist()}
    how = scheme.gap_open, scheme.gap_extend, sequences.native
    results = [
        align(texts[a], texts[b], *how) for a, b in zip(left.tolist(), right.tolist(), strict=True)
    ]
    _refuse_saturated(sum(bool(result.saturated) for result in results))
    return np.array([result.score for result in results], dtype=np.int32)


def _refuse_saturated(saturated: int) -> None:
    if saturated:
        raise KreinflowError(
            f"{saturated} scores exceed 32 bits. Scale the substitution matrix down."
        )


def align_rectangle(
    sequences: PackedSequences, rows: IntArray, columns: IntArray, mask: Mask | None = None
) -> Scores:
    """Return the scores of rows with columns: the :class:`Backend` named ``parasail``."""
    mask = np.ones((rows.size, columns.size), dtype=bool) if mask is None else mask
    scores = np.full(mask.shape, NOT_ALIGNED, dtype=np.int32)
    if rows.size >= columns.size:  # the side that repeats more often gets the profile
        to_column, to_row = np.nonzero(mask.T)
        left, right = columns[to_column], rows[to_row]
    else:
        to_row, to_column = np.nonzero(mask)
        left, right = rows[to_row], columns[to_column]
    pairs = left.astype(np.int32), right.astype(np.int32)
    scores[to_row, to_column] = align_pairs(sequences, *pairs)
    return scores


def parasail_steps(
    lengths: IntArray, rows: IntArray, columns: IntArray, mask: Mask | None
) -> float:
    """Return what parasail takes for a rectangle, in steps."""
    of_rows, of_columns = float(lengths[rows].sum()), float(lengths[columns].sum())
    fewest = min(of_rows * columns.size, of_columns * rows.size)
    wanted = 1.0 if mask is None or not mask.size else np.count_nonzero(mask) / mask.size
    return wanted * (COLUMN_STEPS * fewest + RESIDUE_STEPS * of_rows * of_columns)


def self_scores(sequences: PackedSequences, numbers: IntArray) -> Scores:
    """Return the scores of some sequences, given by their numbers, with themselves, int32."""
    scores = diagonal_sums(sequences, numbers)
    unsure = np.flatnonzero(scores < 0)
    alone = np.asarray(numbers, dtype=np.int32)[unsure]
    scores[unsure] = align_pairs(sequences, alone, alone)
    return scores.astype(np.int32)


def diagonal_sums(sequences: PackedSequences, numbers: IntArray) -> NDArray[np.int64]:
    r"""Return the scores of sequences with themselves that need no alignment, -1 for the others.

    If :math:`M_{aa} \ge \max(0, \max_b M_{ab})` for all letters a of x, then
    :math:`s_{xx} = \sum_i M_{x_i x_i}` in all modes: the main diagonal is an alignment, and any
    other pairs each residue of x at most once, for at most what it scores with itself, less the
    gaps. X of BLOSUM62, which scores -1 with itself and 0 with A, is no such letter.

    A sum that exceeds 32 bits is -1, too.
    """
    matrix = sequences.scheme.matrix
    diagonal = np.diagonal(matrix.scores)
    worth = matrix.by_character(diagonal)
    unsure = matrix.by_character(diagonal < np.maximum(matrix.scores.max(axis=1), 0))
    own = [sequences[number].tobytes() for number in numbers.tolist()]
    sums = sums_over_letters(own, worth)
    sums[sums_over_letters(own, unsure) > 0] = -1
    sums[sums > np.iinfo(np.int32).max] = -1
    return sums


def in_threads(work: Callable[[P], R], pieces: Sequence[P], threads: int) -> list[R]:
    """Return what is made of each piece. After an interrupt or an error no further one is begun."""
    if min(threads, len(pieces)) < 2:
        return [work(piece) for piece in pieces]
    pool = ThreadPoolExecutor(min(threads, len(pieces)))
    try:
        return list(pool.map(work, pieces))
    finally:
        pool.shutdown(cancel_futures=True)
