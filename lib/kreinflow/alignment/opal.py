"""The second backend: one query against many targets at once, by the library Opal.

Opal puts a different target into each lane of a vector register, where parasail spreads one
alignment over all lanes. With short sequences it is the faster way. The longest targets come first,
so that the lanes, each of which takes the next target when it is done, run dry at the same time.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
import pyopal
from numpy.typing import NDArray
from scoring_matrices import ScoringMatrix

from kreinflow.alignment import engine
from kreinflow.alignment.engine import PackedSequences, in_threads, letter_codes
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.errors import InputError, KreinflowError

_FEWEST_TARGETS = 32  # of a query: fewer leave lanes empty, and parasail aligns them
_CELLS = 100_000_000  # of a piece, 10 to 20 ms: short against any run, long against its cost
_LEAST_TARGETS = 512  # of a piece all the same, so that the lanes stay full
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # all that pyopal's alphabets may have

_score = attrgetter("score")


def align_pairs(
    sequences: PackedSequences,
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    scheme: ScoringScheme,
    threads: int,
) -> NDArray[np.int32]:
    """Return the score of each pair: what :func:`kreinflow.alignment.engine.align_pairs` returns.

    Matrix, gap convention (a gap of n residues costs ``gap_open + (n - 1) * gap_extend``) and
    scores are the same: 8 bits are tried first, then 16, then 32, for those that overflow.

    Parameters
    ----------
    sequences, left, right, threads
        As there. Equal numbers of ``left`` that follow each other are one query; those with few
        targets, such as the pairs of sequences with themselves, are left to parasail.
    scheme : ScoringScheme
        Of mode "local".

    Returns
    -------
    ndarray of shape (n_pairs,), int32

    Raises
    ------
    ValueError
        If the mode is not local.
    InputError
        If a sequence has a letter that the matrix does not know, or they have more than 26.
    KreinflowError
        If a score exceeds even 32 bits.

    References
    ----------
    T. Rognes, "Faster Smith-Waterman database searches with inter-sequence SIMD parallelisation",
    BMC Bioinformatics 12:221 (2011).
    M. Šošić, "Opal", https://github.com/Martinsos/opal; M. Larralde, "PyOpal",
    https://github.com/althonos/pyopal.
    """
    if scheme.mode != "local":  # the others overflow without a word (Opal's header), or crash
        raise ValueError(f"pyopal aligns in mode local, not {scheme.mode}.")
    scores = np.empty(left.size, dtype=np.int32)
    if not left.size:
        return scores
    starts = np.concatenate([[0], np.flatnonzero(left[1:] != left[:-1]) + 1])
    sizes = np.diff(starts, append=left.size)
    few = np.repeat(sizes < _FEWEST_TARGETS, sizes)
    scores[few] = engine.align_pairs(sequences, left[few], right[few], scheme, threads)
    if few.all():
        return scores
    targets = np.unique(right[~few])
    letters, aligner = _aligner(sequences, scheme)

    def sequence(number: int) -> bytes:
        return letters[sequences.offsets[number] : sequences.offsets[number + 1]].tobytes()

    # The database refuses what is not a letter of its alphabet; all are by now.
    database = pyopal.Database([sequence(number) for number in targets], aligner.alphabet)

    def work(pairs: NDArray[np.int64]) -> None:
        part = database.extract(np.searchsorted(targets, right[pairs]).tolist())
        try:
            # "buckets", pyopal's own choice, leaks memory at each overflow (0.7.3).
            hits = aligner.align(sequence(left[pairs[0]]), part, overflow="simple")
        except OverflowError as error:
            raise KreinflowError(
                "a score exceeds 32 bits. Scale the substitution matrix down."
            ) from error
        scores[pairs] = np.fromiter(map(_score, hits), np.int32, pairs.size)

    runs = zip(starts.tolist(), sizes.tolist(), strict=True)
    long_runs = [np.arange(a, a + n) for a, n in runs if n >= _FEWEST_TARGETS]
    pieces = [piece for run in long_runs for piece in _pieces(sequences.lengths, left, right, run)]
    in_threads(work, pieces, threads)
    return scores


def _pieces(
    lengths: NDArray[np.int64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    run: NDArray[np.int64],
) -> Iterator[NDArray[np.int64]]:
    """Cut the pairs of one query into pieces, those of the longest targets first."""
    ordered = run[np.argsort(-lengths[right[run]], kind="stable")]
    cells = np.cumsum(lengths[left[run[0]]] * lengths[right[ordered]])
    start = 0
    while start < run.size:
        before = int(cells[start - 1]) if start else 0
        stop = int(np.searchsorted(cells, before + _CELLS))
        stop = max(stop, start + _LEAST_TARGETS)
        yield ordered[start:stop]
        start = stop


def _aligner(sequences: PackedSequences, scheme: ScoringScheme) -> tuple[NDArray[np.uint8], Any]:
    """Return the sequences in letters of pyopal's, and its aligner for them.

    Opal prepares a column of scores for each letter of the alphabet at each residue of a target:
    letters that do not occur are left out.
    """
    codes = letter_codes(sequences, scheme.matrix)[sequences.present]
    if codes.size > len(_LETTERS):
        raise InputError(
            f"the sequences have {codes.size} different letters, the alignment backend pyopal "
            f"knows {len(_LETTERS)}. Use the backend parasail."
        )
    alphabet = _LETTERS[: codes.size]
    translation = np.zeros(256, dtype=np.uint8)
    translation[sequences.present] = np.frombuffer(alphabet.encode(), dtype=np.uint8)
    table = scheme.matrix.scores[np.ix_(codes, codes)].astype(float).tolist()
    aligner = pyopal.Aligner(
        ScoringMatrix(table, alphabet), gap_open=scheme.gap_open, gap_extend=scheme.gap_extend
    )
    return translation[sequences.letters], aligner
