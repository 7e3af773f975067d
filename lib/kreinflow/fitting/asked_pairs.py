"""Pairs of objects whose score is the user's own: asked for when they are needed, and kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kreinflow.alignment.scorer import Scorer
from kreinflow.alignment.segments import DigestTable, SegmentWriter, read_segment, writing
from kreinflow.alignment.store import ScoreStore
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.kernels.asked import shared_lists
from kreinflow.sequences.asking import Asking
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.scores import scorer_of

_MOST_PENDING = 1 << 20  # pairs of a segment


class AskedPairs(ScoreCache):
    """The scores of distinct rows with each other; no pair is asked for twice, by whatever job.

    What the store has is taken from there. Other pairs stand in a folder beside its blocks: one job
    at a time asks for some, after it has read those of the others. ``aligned`` counts the pairs
    that this job wanted, so it does not depend on what others have asked before.
    """

    def __init__(self, folder: Path, scorer: Scorer, digests: tuple[str, ...]) -> None:
        super().__init__(self._wanted, len(digests), symmetric=True)
        self._store = ScoreStore(folder, scorer, digests)
        self._scorer, self._digests = scorer, DigestTable(digests)
        self._home, self._seen = self._store.folder / "pairs", set[Path]()
        self._kept = ScoreCache(self._score, len(digests), symmetric=True)

    def said(self) -> str:
        """Return how many pairs were wanted, and how often the user's code was asked."""
        told = f"; {self._scorer.said()}" if isinstance(self._scorer, Asking) else ""
        return f"{self.aligned:,} pairs of records were looked at{told}"

    def among(self, digests: Sequence[str]) -> ScoreCache:
        """Return the scores of some distinct rows with each other, by their places among these."""
        rows = self._digests.numbers(DigestTable(digests).table)
        return ScoreCache(self.of_rows(rows, rows), len(rows), symmetric=True)

    def _wanted(self, rows: IntArray, others: IntArray) -> FloatArray:
        r, c = np.nonzero(others >= 0)
        pairs = rows[r], others[r, c]
        with writing(self._home):
            for path in sorted(self._home.glob("segment_*.safetensors")):
                if path not in self._seen:
                    self._take_in(path)
            stored = self._store.of_pairs(*pairs)
            there = ~np.isnan(stored)
            self._kept.know_pairs(pairs[0][there], pairs[1][there], stored[there])
            return self._kept(rows, others)

    def _take_in(self, path: Path) -> None:
        """Learn the pairs of a segment."""
        arrays = read_segment(path, self._scorer.digest)
        rows, columns = (self._digests.numbers(arrays[side]) for side in ("rows", "columns"))
        panels = arrays["panels"].tolist()
        widths = [np.full(r1 - r0, c1 - c0) for r0, r1, c0, c1 in panels]
        rows = np.repeat(rows, np.concatenate(widths))
        columns = np.concatenate([np.tile(columns[c0:c1], r1 - r0) for r0, r1, c0, c1 in panels])
        ours = (rows >= 0) & (columns >= 0) & ~np.isnan(arrays["scores"])
        self._kept.know_pairs(rows[ours], columns[ours], arrays["scores"][ours])
        self._seen.add(path)

    def _score(self, rows: IntArray, others: IntArray) -> FloatArray:
        """Ask for the pairs, and write them."""
        writer = SegmentWriter(self._home, self._scorer, self._digests.table, _MOST_PENDING)
        out = np.full(others.shape, np.nan)
        by_pairs = isinstance(self._scorer, Asking) and self._scorer.kernel.by_pairs
        for own, asked, places, mask in shared_lists(others, by_pairs):
            row = rows[own]
            found = self._scorer.score(row, asked, mask)
            out.ravel()[places] = found[mask]
            writer.add_panel(row, asked, found)
            if writer.due:
                writer.flush()
        writer.flush()
        return out


def asked_pairs(dataset: Dataset, asked: Mapping[str, Any], data: str, folder: Path) -> AskedPairs:
    """Return the scores of the rows of a data set, by ``asked`` of its source.

    ``folder`` has the score stores; functions are found in the folder ``data`` too.
    """
    scorer = scorer_of(dataset, None, asked=asked, data=Path(data))
    assert scorer is not None, "objects, and nothing that compares them"
    return AskedPairs(folder, scorer, dataset.digests)
