"""The score store: every score of a pair, computed once and kept in segments."""

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.engine import missing, not_aligned
from kreinflow.alignment.filling import (
    Filling,
    FillReport,
    Holders,
    Rectangle,
    cells_of,
    own_pairs,
)
from kreinflow.alignment.progress import Progress
from kreinflow.alignment.scorer import Scorer
from kreinflow.alignment.segments import (
    DigestTable,
    SegmentWriter,
    as_type,
    block_of,
    read_segment,
    writing,
)
from kreinflow.base.errors import KreinflowError
from kreinflow.base.numerics import IntArray, tiles
from kreinflow.base.tiled_matrix import release

_ROWS_TOGETHER = 2048  # so that many are of about one length
_BYTES_PER_PAIR = 40  # of memory while a panel is aligned: masks, indices, scores and copies


_Masked = tuple[IntArray, IntArray, NDArray[np.bool_]]
"""Rows and columns, and which of their pairs are wanted."""


@dataclass(frozen=True, eq=False)
class _Panel:
    """A rectangle of a segment, with numbers of sequences, -1 for those of other data sets."""

    path: Path
    start: int  # of its scores in those of the segment
    rows: IntArray
    columns: IntArray


class ScoreStore:
    """The scores of one list of distinct objects; ``folder`` has the stores of all scorers."""

    def __init__(self, folder: Path, scorer: Scorer, digests: Sequence[str]) -> None:
        self.folder = Path(folder) / scorer.digest[:16]
        self._scorer = scorer
        self._digests = digests
        self._known_digests = DigestTable(digests)
        self._panels: list[_Panel] = []
        self._holders = Holders([], len(digests))
        self._self = np.full(len(digests), not_aligned(scorer.dtype), dtype=scorer.dtype)
        self._seen: set[Path] = set()
        self._open: tuple[Path, NDArray[Any]] | None = None
        self.refresh()

    def refresh(self) -> None:
        """Read the segments that other processes have written since."""
        new = {*self.folder.glob("block_*/segment_*.safetensors")} - self._seen
        for path in sorted(new):
            self._take_in(path)
        if new:
            sides = [(panel.rows, panel.columns) for panel in self._panels]
            self._holders = Holders(sides, len(self._digests))

    def _take_in(self, path: Path) -> None:
        arrays = read_segment(path, self._scorer.digest)
        numbers = self._known_digests.numbers
        rows, columns = numbers(arrays["rows"]), numbers(arrays["columns"])
        start = 0
        for r0, r1, c0, c1 in arrays["panels"].tolist():
            panel = _Panel(path, start, rows[r0:r1], columns[c0:c1])
            if (panel.rows >= 0).any() and (panel.columns >= 0).any():
                self._panels.append(panel)
            start += (r1 - r0) * (c1 - c0)
        ours = numbers(arrays["self_rows"])
        self._self[ours[ours >= 0]] = arrays["self_scores"][ours >= 0]
        self._seen.add(path)

    def _scores_of(self, panel: _Panel) -> NDArray[Any]:
        if self._open is None or self._open[0] != panel.path:
            self._open = (panel.path, read_segment(panel.path, self._scorer.digest)["scores"])
        size = panel.rows.size * panel.columns.size
        flat = self._open[1][panel.start : panel.start + size]
        return flat.reshape(panel.rows.size, panel.columns.size)

    def _holding(self, objects: IntArray) -> Iterator[_Panel]:
        """Return the panels that have any of the objects on either side, in their order."""
        return map(self._panels.__getitem__, self._holders.of(objects))

    def _known(
        self, rows: IntArray, columns: IntArray
    ) -> Iterator[tuple[IntArray, IntArray, NDArray[Any]]]:
        """Yield the parts of rows x columns that are stored: two lists of positions, scores."""
        n = len(self._digests)
        wanted_row, wanted_column = np.zeros((2, n), dtype=bool)
        wanted_row[rows], wanted_column[columns] = True, True
        where = np.full(n, -1, dtype=np.int64)
        for panel in self._holding(rows):
            for transposed in (False,) if self._scorer.ordered else (False, True):
                along, across = panel.rows, panel.columns
                if transposed:
                    along, across = across, along
                # -1 reads the last entry of the map; the sign is checked beside it
                if not (wanted_row[along] & (along >= 0)).any():
                    continue
                if not (wanted_column[across] & (across >= 0)).any():
                    continue
                positions = []
                for ours, theirs in ((rows, along), (columns, across)):
                    here = np.flatnonzero(theirs >= 0)
                    where[theirs[here]] = here
                    found = where[ours]
                    where[theirs[here]] = -1
                    positions.append((np.flatnonzero(found >= 0), found[found >= 0]))
                (to_row, from_row), (to_column, from_column) = positions
                scores = self._scores_of(panel)
                scores = scores.T if transposed else scores
                yield to_row, to_column, scores[_as_slice(from_row)][:, _as_slice(from_column)]
        self._open = None

    def self_scores(self, rows: IntArray) -> NDArray[Any]:
        """Return the score of each object with itself; a KreinflowError if one is missing."""
        scores = self._self[rows]
        lacking = np.flatnonzero(missing(scores))
        if lacking.size:
            self._refuse(rows[lacking[0]], rows[lacking[0]])
        return scores

    def of_pairs(self, left: IntArray, right: IntArray) -> NDArray[Any]:
        """Return the scores of single pairs; of those that are not stored what says so."""
        self.refresh()
        out = np.where(left == right, self._self[left], not_aligned(self._self.dtype))
        where = np.full((2, len(self._digests)), -1, dtype=np.int64)
        for panel in self._holding(left):
            sides = panel.rows, panel.columns
            for turned in (False,) if self._scorer.ordered else (False, True):
                where[...] = -1
                for place, theirs in zip(where, sides, strict=True):
                    place[theirs[theirs >= 0]] = np.flatnonzero(theirs >= 0)
                pair = (right, left) if turned else (left, right)
                row, column = (place[own] for place, own in zip(where, pair, strict=True))
                there = np.flatnonzero((row >= 0) & (column >= 0) & missing(out))
                if there.size:
                    scores = self._scores_of(panel)[row[there], column[there]]
                    out[there] = as_type(scores, out.dtype)
        self._open = None
        return out

    def _refuse(self, i: int, j: int) -> None:
        raise KreinflowError(
            f"{self.folder}: the score of the sequences with the digests {self._digests[i]} and "
            f"{self._digests[j]} is missing. Delete the folder "
            f"{self.folder.parent.parent}/alignment and run again."
        )

    def gather_into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        """Write the scores of rows x columns, numbers of sequences, into ``out``.

        One segment after the other is spread over ``out``, which may be a memory map: integers of
        16 or 32 bits, or floats as the store has them. A KreinflowError names a pair that is not in
        the store, or a score that does not fit.
        """
        self.refresh()
        rows, columns = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        absent = not_aligned(out.dtype)
        for tile in tiles(len(rows)):
            out[tile] = absent
            release(out)
        for to_row, to_column, scores in self._known(rows, columns):
            if out.dtype != scores.dtype:
                if out.dtype.itemsize < scores.dtype.itemsize:
                    self._refuse_larger(scores[~missing(scores)], out.dtype)
                scores = as_type(scores, out.dtype)
            # Rows are written whole, which is several times as fast, and the few with a hole
            # again: another segment may have filled it.
            holes = np.flatnonzero(missing(scores).any(axis=1))
            hollow = np.ix_(to_row[holes], to_column)
            before = out[hollow]
            among = _as_slice(to_column)
            whole = (to_row, among) if isinstance(among, slice) else np.ix_(to_row, among)
            out[whole] = scores
            out[hollow] = np.where(missing(scores[holes]), before, scores[holes])
            release(out)
        wanted = np.zeros(len(self._digests), dtype=bool)
        wanted[columns] = ~missing(self._self[columns])
        for i in np.flatnonzero(wanted[rows]):
            self._refuse_larger(self._self[rows[i : i + 1]], out.dtype)
            out[i, columns == rows[i]] = self._self[rows[i]]
        for tile in tiles(len(rows)):
            lacking = missing(out[tile])
            if lacking.any():
                i, j = np.argwhere(lacking)[0]
                self._refuse(rows[tile.start + i], columns[j])
            release(out)

    def _refuse_larger(self, scores: NDArray[Any], dtype: np.dtype[Any]) -> None:
        if dtype.kind == "f":  # as those of the store
            return
        if np.abs(scores.astype(np.int64)).max(initial=0) > np.iinfo(dtype).max:
            raise KreinflowError(f"{self.folder}: a score does not fit {dtype}.")

    def fill(
        self,
        rectangles: Sequence[Rectangle],
        block: int = 0,
        blocks: int = 1,
        threads: int = 1,
        memory_mb: int = 1000,
        progress: Progress | None = None,
        seed: int = 0,
    ) -> FillReport:
        """See to it that the pairs of one block are in the store, and the self-scores of its rows.

        A pair (i, j) belongs to the block of its row i. Where a call wants both (i, j) and (j, i),
        which are one pair unless the scorer has them ordered, a rule from the two digests names the
        one that is scored, evenly. So the blocks of a call share no pair and may be filled at the
        same time by different processes. Calls with other rectangles find what is there when they
        start: run them one after the other.

        All blocks of a call get the same rectangles, which may overlap. ``memory_mb`` bounds pieces
        and threads. ``seed`` draws the pairs that are scored twice: of alignments by parasail too,
        1,000 or all. A KreinflowError if the disk is full, or a score is not parasail's; what was
        written stays.
        """
        begin = time.monotonic()
        own = np.array([block_of(digest, blocks) == block for digest in self._digests], dtype=bool)
        wanted = [
            (np.unique(np.asarray(rows, np.int64)), np.unique(np.asarray(columns, np.int64)))
            for rows, columns in rectangles
        ]
        lengths = self._scorer.lengths
        # half of the memory, for numbers that were not measured
        scorer, room = self._scorer.within(threads, memory_mb * 500_000)
        pairs_at_once = min(max(room // _BYTES_PER_PAIR, 10_000), 4_000_000)
        home = self.folder / f"block_{block + 1}_of_{blocks}"
        with writing(home):
            self.refresh()
            todo, reused = self._missing(wanted, own)
            alone = np.unique(np.concatenate([[], *(rows for rows, _ in wanted)])).astype(np.int64)
            alone = alone[own[alone] & missing(self._self[alone])]
            cells = int((lengths[alone] ** 2).sum()) + sum(
                cells_of(lengths[rows], mask, lengths[columns]) for rows, columns, mask in todo
            )
            advice = (
                f"Delete the folders {self.folder} and {self.folder.parent.parent}/alignment: "
                "other scores may be wrong too. "
            )
            pairs = sum(int(np.count_nonzero(mask)) for _, _, mask in todo)
            scorer = scorer.checking(pairs, seed, advice)
            table, at_most = self._known_digests.table, 2 * pairs_at_once
            segments = SegmentWriter(home, self._scorer, table, at_most)
            filling = Filling(scorer, segments, progress, cells)
            filling.score_alone(alone)
            for rows, columns, mask in todo:
                height = max(pairs_at_once // columns.size, min(rows.size, _ROWS_TOGETHER))
                width = max(pairs_at_once // height, 1)
                for top, left in itertools.product(
                    range(0, rows.size, height), range(0, columns.size, width)
                ):
                    r, c = slice(top, top + height), slice(left, left + width)
                    filling.score_panel(rows[r], columns[c], mask[r, c])
            segments.flush()
        self.refresh()
        return FillReport(
            filling.aligned,
            int(alone.size),
            reused,
            filling.cells,
            scorer.agreed,
            time.monotonic() - begin,
        )

    def _missing(
        self, wanted: Sequence[Rectangle], own: NDArray[np.bool_]
    ) -> tuple[list[_Masked], int]:
        """Return what is not stored of rectangles, with masks, and how many pairs are stored."""
        todo, reused, holders = [], 0, Holders(wanted, len(self._digests))
        for number, (rows, columns) in enumerate(wanted):
            rows = rows[own[rows]]
            others = holders.of(rows)
            mask = own_pairs(
                self._known_digests, wanted, number, rows, others, self._scorer.ordered
            )
            pairs = np.count_nonzero(mask)
            for to_row, to_column, scores in self._known(rows, columns):
                mask[np.ix_(to_row, to_column)] &= missing(scores)
            left = np.count_nonzero(mask)
            reused += int(pairs - left)
            if left:
                todo.append((rows, columns, mask))
        return todo, reused


def _as_slice(positions: IntArray) -> slice | IntArray:
    """Return neighbouring positions as a slice, whose rows are copied whole; others as given."""
    if positions.size and (np.diff(positions) == 1).all():
        return slice(int(positions[0]), int(positions[-1]) + 1)
    return positions
