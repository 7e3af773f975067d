"""The backends that the config can name, and the pairs by which they are held against parasail."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.engine import (
    NOT_ALIGNED,
    PackedSequences,
    align_pairs,
    align_rectangle,
)
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.errors import KreinflowError
from kreinflow.numerics import IntArray
from kreinflow.randomness import stream

BACKENDS = ("auto", "parasail")

_SAMPLE = 1_000  # pairs, or all


class Backend(Protocol):
    """What :func:`~kreinflow.alignment.engine.align_rectangle` is, and may take its place.

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
        """Return the scores of rows with columns."""


def backend_named(name: str) -> Backend:
    """Return the backend "auto", the fastest that is exact, or "parasail", the measure of all."""
    return align_rectangle


class Agreement:
    """A sample of pairs that are scored by parasail too.

    Parameters
    ----------
    sequences : PackedSequences
    left, right : ndarray of int
        Numbers of the sequences of each pair: of its row, and of its column.
    scheme : ScoringScheme
    threads : int

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
    ) -> None:
        self._left, self._right = left, right
        pairs = right.astype(np.int32), left.astype(np.int32)  # columns are fewer, and get profiles
        self._expected = align_pairs(sequences, *pairs, scheme, threads)
        self.agreed = 0

    def check(self, rows: IntArray, columns: IntArray, scores: NDArray[np.int32]) -> None:
        """Compare the scores of a rectangle, as a backend returns them.

        Raises
        ------
        KreinflowError
            If one is not what parasail says.
        """
        if not rows.size or not columns.size:
            return
        r, c = _places(rows, self._left), _places(columns, self._right)
        here = np.flatnonzero((r >= 0) & (c >= 0))
        found = scores[r[here], c[here]]
        here, found = here[found != NOT_ALIGNED], found[found != NOT_ALIGNED]
        wrong = np.flatnonzero(found != self._expected[here])
        if wrong.size:
            pair = here[wrong[0]]
            raise KreinflowError(
                f"sequences {self._left[pair] + 1} and {self._right[pair] + 1} score "
                f"{found[wrong[0]]}, by parasail {self._expected[pair]}. Use the alignment backend "
                "parasail, and please report this with the name of the processor."
            )
        self.agreed += here.size


def _places(numbers: IntArray, wanted: IntArray) -> IntArray:
    """Return where each wanted number stands in an array of different ones, -1 for nowhere."""
    order = np.argsort(numbers)
    places = order[np.minimum(np.searchsorted(numbers, wanted, sorter=order), numbers.size - 1)]
    return np.where(numbers[places] == wanted, places, -1)


def drawn_pairs(masks: Sequence[NDArray[np.bool_]], seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return rows and columns of some pairs of each mask, 1,000 together or all."""
    of_rows = [np.count_nonzero(mask, axis=1) for mask in masks]
    ends = np.cumsum([0, *(counts.sum() for counts in of_rows)])
    total = int(ends[-1])
    picked = np.sort(
        stream(seed, "pairs that parasail scores too").choice(
            total, min(total, _SAMPLE), replace=False
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


def checked(backend: Backend, seed: int = 0) -> Backend:
    """Return a backend that holds 1,000 pairs of each call, or all, against parasail."""
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
        [(r, c)] = drawn_pairs([wanted], seed)
        agreement = Agreement(sequences, rows[r], columns[c], scheme, threads)
        scores = backend(sequences, rows, columns, scheme, threads, mask)
        agreement.check(rows, columns, scores)
        return scores

    return align
