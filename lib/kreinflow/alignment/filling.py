"""Filling of the score store: which pairs a block scores, and the scoring."""

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kreinflow.alignment.engine import Mask, not_aligned
from kreinflow.alignment.progress import Progress, tell_aligned
from kreinflow.alignment.scorer import Scorer
from kreinflow.alignment.segments import DigestTable, SegmentWriter
from kreinflow.base.numerics import IntArray

_CELLS_PER_CALL = 1_000_000_000  # of a thread at first, and at least: a tenth of a second or less
_SECONDS_PER_CALL = 0.5  # later on, between looks at the clock
_ROWS_PER_CALL = 512  # of about one length: several batches for each thread

Rectangle = tuple[IntArray, IntArray]
"""Numbers of sequences, those of the rows and of the columns, all with all."""


@dataclass(frozen=True)
class FillReport:
    """What one call of :meth:`ScoreStore.fill` did; ``agreed`` are those that were checked."""

    aligned: int
    self_scores: int
    reused: int
    cells: int
    agreed: int
    seconds: float


class Holders:
    """Sets of objects, and which of them hold some: a glance at each would be slow for many."""

    def __init__(self, sets: Sequence[tuple[IntArray, IntArray]], n: int) -> None:
        """Take two sides of each set: numbers below n, and -1 for what is no object."""
        self._objects = np.concatenate([np.empty(0, np.int64), *itertools.chain(*sets)])
        self._sets = np.repeat(np.arange(len(sets)), [a.size + b.size for a, b in sets])
        self._n = n

    def of(self, objects: IntArray) -> list[int]:
        """Return the numbers of the sets that hold any of the objects, in order."""
        wanted = np.zeros(self._n + 1, dtype=bool)  # the last stands for -1
        wanted[objects] = True
        found: list[int] = np.unique(self._sets[wanted[self._objects]]).tolist()
        return found


def own_pairs(
    digests: DigestTable,
    wanted: Sequence[Rectangle],
    number: int,
    rows: IntArray,
    others: Sequence[int],
    ordered: bool = False,
) -> Mask:
    """Return which pairs of a rectangle, with ``rows`` of the block, are scored for no other.

    ``others``: the numbers of the rectangles that have an object of it.
    """
    columns = wanted[number][1]
    mask: Mask = rows[:, None] != columns[None, :]
    in_rows, in_columns = np.zeros((2, len(digests.table)), dtype=bool)
    for other in others:
        other_rows, other_columns = wanted[other]
        in_rows[other_rows], in_columns[other_columns] = True, True
        if other < number:  # the same pair, the same way round: the first rectangle has it
            r, c = np.flatnonzero(in_rows[rows]), np.flatnonzero(in_columns[columns])
            mask[np.ix_(r, c)] = False
        # the same pair, the other way round: the rule from the digests decides
        r, c = np.flatnonzero(in_columns[rows]), np.flatnonzero(in_rows[columns])
        if r.size and c.size and not ordered:
            i, j = rows[r][:, None], columns[c][None, :]
            mask[np.ix_(r, c)] &= digests.aligned_as_given(i, j)
        in_rows[other_rows], in_columns[other_columns] = False, False
    return mask


def cells_of(rows: IntArray, mask: Mask, columns: IntArray) -> int:
    """Return the sum of the products of lengths, of the pairs of the mask."""
    across, total = columns.astype(np.float64), 0.0  # of integers, exact below 2^53
    for start in range(0, len(mask), 64):  # so few that the mask as numbers is small
        part = slice(start, start + 64)
        total += float(rows[part] @ (mask[part] @ across))
    return int(total)


@dataclass(eq=False)
class Filling:
    """Scores, counts, and hands the scores to the writer of segments; ``total`` are all cells."""

    scorer: Scorer
    segments: SegmentWriter
    progress: Progress | None
    total: int
    cells: int = 0
    aligned: int = 0
    _told: int = 0
    _last_report: float = 0.0

    def __post_init__(self) -> None:
        least = self.scorer.cells_per_call or _CELLS_PER_CALL * self.scorer.threads
        self._at_once = self._least = least

    def _done(self, cells: int) -> None:
        self.cells += cells
        now = time.monotonic()
        if self.progress and (now - self._last_report >= 1.0 or self.cells >= self.total):
            self._last_report = now
            tell_aligned(self.aligned - self._told)
            self._told = self.aligned
            self.progress(self.cells, self.total)

    def score_alone(self, rows: IntArray) -> None:
        """Score objects with themselves."""
        lengths = self.scorer.lengths[rows]
        for part in _cut(lengths * lengths, self._at_once):
            scores = self.scorer.alone(rows[part])
            self.segments.add_self_scores(rows[part], scores)
            self._done(int((lengths[part] ** 2).sum()))
            if self.segments.due:
                self.segments.flush()

    def score_panel(self, rows: IntArray, columns: IntArray, mask: Mask) -> None:
        """Score the pairs of the mask, rows of about one length together."""
        lengths, none = self.scorer.lengths, not_aligned(self.scorer.dtype)
        by_length = np.argsort(-lengths[rows], kind="stable")
        panel = np.full(mask.shape, none, dtype=self.scorer.dtype)
        longest = int(lengths[columns].max())
        for some in _cut(lengths[rows[by_length]] * longest, self._at_once, _ROWS_PER_CALL):
            r = by_length[some]
            for c in _cut(lengths[columns] * int(lengths[rows[r]].sum()), self._at_once):
                wanted = mask[r, c]
                if not wanted.any():
                    continue
                begin = time.monotonic()
                panel[r, c] = self.scorer.score(rows[r], columns[c], wanted)
                self.aligned += int(np.count_nonzero(wanted))
                cells = cells_of(lengths[rows[r]], wanted, lengths[columns[c]])
                in_time = cells / (time.monotonic() - begin + 1e-9) * _SECONDS_PER_CALL
                self._at_once = max(self._least, int(in_time))
                self._done(cells)
                if self.segments.due:
                    self.segments.add_panel(rows, columns, panel)
                    self.segments.flush()
                    panel[...] = none
        self.segments.add_panel(rows, columns, panel)


def _cut(costs: IntArray, most: int, longest: int | None = None) -> Iterator[slice]:
    """Cut a list into slices of a cost of ``most`` at most, and of one item at least."""
    done = np.cumsum(costs)
    start = 0
    while start < costs.size:
        before = int(done[start - 1]) if start else 0
        stop = max(int(np.searchsorted(done, before + most, side="right")), start + 1)
        stop = min(stop, start + longest) if longest else stop
        yield slice(start, stop)
        start = stop
