"""Filling of the score store: which pairs a block aligns, and the aligning."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.engine import Backend, PackedSequences
from kreinflow.alignment.progress import Progress
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.alignment.segments import DigestTable, SegmentWriter, not_aligned
from kreinflow.numerics import IntArray

_CELLS_PER_CALL = 3_000_000_000  # a thread's: about a third of a second, between looks at the clock

Rectangle = tuple[IntArray, IntArray]
"""Numbers of sequences, those of the rows and of the columns, all with all."""


@dataclass(frozen=True)
class FillReport:
    """What one call of :meth:`ScoreStore.fill` did for its block.

    Attributes
    ----------
    aligned : int
        Pairs of different sequences aligned now.
    self_scores : int
        Sequences aligned with themselves now.
    reused : int
        Pairs of different sequences that the store had already.
    cells : int
        Products of the lengths of the pairs, and the squares of those alone: the cells of the
        dynamic programming matrices, of which those of self-scores are seldom filled.
    seconds : float
    """

    aligned: int
    self_scores: int
    reused: int
    cells: int
    seconds: float


def own_pairs(
    digests: DigestTable, wanted: Sequence[Rectangle], number: int, rows: IntArray
) -> NDArray[np.bool_]:
    """Return which pairs of rectangle ``number`` are aligned for it and for no other.

    ``rows`` are those of its rows that belong to the block; the mask is of shape (n_rows,
    n_columns). ``wanted`` are all rectangles of the call, which all blocks know.
    """
    columns = wanted[number][1]
    mask: NDArray[np.bool_] = rows[:, None] != columns[None, :]
    in_rows, in_columns = np.zeros((2, len(digests.table)), dtype=bool)
    for other, (other_rows, other_columns) in enumerate(wanted):
        in_rows[other_rows], in_columns[other_columns] = True, True
        if other < number:  # the same pair, the same way round: the first rectangle has it
            r, c = np.flatnonzero(in_rows[rows]), np.flatnonzero(in_columns[columns])
            mask[np.ix_(r, c)] = False
        # the same pair, the other way round: the rule from the digests decides
        r, c = np.flatnonzero(in_columns[rows]), np.flatnonzero(in_rows[columns])
        if r.size and c.size:
            i, j = rows[r][:, None], columns[c][None, :]
            mask[np.ix_(r, c)] &= digests.aligned_as_given(i, j)
        in_rows[other_rows], in_columns[other_columns] = False, False
    return mask


@dataclass(eq=False)
class Filling:
    """Aligns, counts, and hands the scores to the writer of segments.

    ``total`` is the number of cells that will be filled, for the progress.
    """

    sequences: PackedSequences
    scheme: ScoringScheme
    backend: Backend
    threads: int
    segments: SegmentWriter
    progress: Progress | None
    total: int
    cells: int = 0
    aligned: int = 0
    _last_report: float = 0.0

    def _align(self, left: IntArray, right: IntArray) -> Iterator[tuple[slice, NDArray[np.int32]]]:
        """Align pairs a few at a time, and look at the clock between."""
        done = np.cumsum(self.sequences.lengths[left] * self.sequences.lengths[right])
        start = 0
        while start < left.size:
            before = int(done[start - 1]) if start else 0
            limit = before + _CELLS_PER_CALL * self.threads
            stop = max(int(np.searchsorted(done, limit)), start + 1)
            part = slice(start, stop)
            a, b = left[part].astype(np.int32), right[part].astype(np.int32)
            yield part, self.backend(self.sequences, a, b, self.scheme, self.threads)
            self.cells += int(done[stop - 1]) - before
            start = stop
            now = time.monotonic()
            if self.progress and (now - self._last_report >= 1.0 or self.cells >= self.total):
                self._last_report = now
                self.progress(self.cells, self.total)

    def align_self(self, rows: IntArray) -> None:
        """Align sequences with themselves."""
        for part, scores in self._align(rows, rows):
            self.segments.add_self_scores(rows[part], scores)
            if self.segments.due:
                self.segments.flush()

    def align_panel(self, rows: IntArray, columns: IntArray, mask: NDArray[np.bool_]) -> None:
        """Align the pairs of the mask. The side that repeats more often gets the profile."""
        if rows.size >= columns.size:
            to_column, to_row = np.nonzero(mask.T)
            left, right = columns[to_column], rows[to_row]
        else:
            to_row, to_column = np.nonzero(mask)
            left, right = rows[to_row], columns[to_column]
        panel = np.full(mask.shape, not_aligned(np.int32), dtype=np.int32)
        for part, scores in self._align(left, right):
            panel[to_row[part], to_column[part]] = scores
            self.aligned += scores.size
            if self.segments.due:
                self.segments.add_panel(rows, columns, panel)
                self.segments.flush()
                panel[...] = not_aligned(np.int32)
        self.segments.add_panel(rows, columns, panel)
