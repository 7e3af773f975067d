"""The backends that the config can name, and the pairs by which they are held against parasail."""

import math
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.batches import align_in_batches
from kreinflow.alignment.engine import PackedSequences, align_pairs, align_rectangle
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.errors import KreinflowError
from kreinflow.base.numerics import IntArray
from kreinflow.base.random_streams import stream

SAMPLE = 1_000  # pairs, or all
_SHOWN = 40  # residues of a sequence in a message


class Backend(Protocol):
    """A function that scores the sequences of rows with those of columns.

    All backends return the same scores, those of ``parasail.sw_striped_32`` (``nw_``, ``sg_``):
    they are not part of a scoring scheme, and a score store is read and filled by any of them.
    """

    def __call__(
        self,
        sequences: PackedSequences,
        rows: IntArray,
        columns: IntArray,
        scheme: ScoringScheme,
        threads: int,
        mask: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int32]:
        """Return the scores of rows with columns.

        Parameters
        ----------
        sequences : PackedSequences
            Of letters of the matrix, nothing else.
        rows, columns : ndarray of int
            Numbers of sequences.
        scheme : ScoringScheme
        threads : int
            Scores do not depend on it.
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
        """


BACKENDS: Mapping[str, Backend] = {"auto": align_in_batches, "parasail": align_rectangle}
"""By name: the fastest that is exact, which is the default, and the measure of all."""


def backend_named(name: str) -> Backend:
    """Return the backend that the config names."""
    return BACKENDS[name]


class Agreement:
    """A sample of pairs that are scored by parasail too.

    Parameters
    ----------
    sequences : PackedSequences
    left, right : ndarray of int
        Numbers of the sequences of each pair: of its row, and of its column.
    scheme : ScoringScheme
    threads : int
    advice : str
        What to do if one differs, a sentence.

    Attributes
    ----------
    agreed : int
        Pairs that have been checked so far.
    """

    def __init__(
        self,
        sequences: PackedSequences,
        left: IntArray,
        right: IntArray,
        scheme: ScoringScheme,
        threads: int,
        advice: str = "",
    ) -> None:
        self._sequences, self._left, self._right = sequences, left, right
        self._advice = advice
        pairs = right.astype(np.int32), left.astype(np.int32)  # columns are fewer, and get profiles
        self._expected = align_pairs(sequences, *pairs, scheme, threads)
        self.agreed = 0

    def check(
        self,
        rows: IntArray,
        columns: IntArray,
        mask: NDArray[np.bool_],
        scores: NDArray[np.int32],
    ) -> None:
        """Compare the pairs of a rectangle that are in the sample; no row or column stands twice.

        Raises
        ------
        KreinflowError
            As :meth:`compare`.
        """
        r, c = _places(rows, self._left), _places(columns, self._right)
        here = np.flatnonzero((r >= 0) & (c >= 0))
        here = here[mask[r[here], c[here]]]
        self.compare(here, scores[r[here], c[here]])

    def compare(self, pairs: IntArray, scores: NDArray[np.int32]) -> None:
        """Compare the scores of some pairs of the sample.

        Raises
        ------
        KreinflowError
            If one is not what parasail says.
        """
        wrong = np.flatnonzero(scores != self._expected[pairs])
        if wrong.size:
            pair = pairs[wrong[0]]
            a, b = (_shown(self._sequences, side[pair]) for side in (self._left, self._right))
            raise KreinflowError(
                f"the sequences {a} and {b} score {scores[wrong[0]]}, by parasail "
                f"{self._expected[pair]}. This is a fault of kreinflow on this processor. Please "
                f"report it with both sequences and the processor's name. {self._advice}".rstrip()
            )
        self.agreed += pairs.size


def _shown(sequences: PackedSequences, number: int) -> str:
    start, stop = sequences.offsets[number : number + 2]
    first = sequences.letters[start : min(stop, start + _SHOWN)].tobytes().decode("ascii")
    return first if stop - start <= _SHOWN else f"{first}... ({stop - start} residues)"


def _places(numbers: IntArray, wanted: IntArray) -> IntArray:
    """Return where each wanted number stands in an array of different ones, -1 for nowhere."""
    order = np.argsort(numbers)
    places = order[np.minimum(np.searchsorted(numbers, wanted, sorter=order), numbers.size - 1)]
    return np.where(numbers[places] == wanted, places, -1)


def drawn_pairs(
    masks: Sequence[NDArray[np.bool_]], seed: int, size: int
) -> list[tuple[IntArray, IntArray]]:
    """Return rows and columns of some pairs of each mask, ``size`` together or all."""
    of_rows = [np.count_nonzero(mask, axis=1) for mask in masks]
    ends = np.cumsum([0, *(counts.sum() for counts in of_rows)])
    total = int(ends[-1])
    picked = np.sort(
        stream(seed, "pairs that parasail scores too").choice(
            total, min(total, size), replace=False
        )
        if total
        else np.empty(0, dtype=np.int64)
    )
    pairs: list[tuple[IntArray, IntArray]] = []
    for mask, counts, start, stop in zip(masks, of_rows, ends[:-1], ends[1:], strict=True):
        inside = picked[(picked >= start) & (picked < stop)] - start
        row_ends = np.cumsum(counts)
        rows = np.searchsorted(row_ends, inside, side="right")
        rank = inside - (row_ends[rows] - counts[rows])
        columns = [np.flatnonzero(mask[r])[k] for r, k in zip(rows, rank, strict=True)]
        pairs.append((rows, np.array(columns, dtype=np.int64)))
    return pairs


def checked(backend: Backend, share: float = 1.0, advice: str = "") -> Backend:
    """Return a backend that holds some pairs of each call against parasail.

    They are 1,000, or this share of all, if that is fewer, and one at least. ``advice`` is what to
    do if one differs, a sentence.
    """
    if backend is align_rectangle:
        return backend

    def align(
        sequences: PackedSequences,
        rows: IntArray,
        columns: IntArray,
        scheme: ScoringScheme,
        threads: int,
        mask: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int32]:
        wanted = np.ones((rows.size, columns.size), dtype=bool) if mask is None else mask
        size = min(SAMPLE, math.ceil(share * np.count_nonzero(wanted)))
        [(r, c)] = drawn_pairs([wanted], 0, size)
        agreement = Agreement(sequences, rows[r], columns[c], scheme, threads, advice)
        scores = backend(sequences, rows, columns, scheme, threads, mask)
        agreement.compare(np.arange(r.size), scores[r, c])
        return scores

    return align
