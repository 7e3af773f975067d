"""Segments of the score store: files of scores that are written once and never changed.

One folder for each scoring scheme (named by its digest) holds one folder for each block of rows,
with its segments. A segment names its sequences by their digests, so that data sets, folds,
selectors and numbers of blocks may change and whatever was aligned is still found.
"""

import fcntl
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kreinflow.alignment.engine import missing, not_aligned
from kreinflow.alignment.scorer import Scorer
from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.base.numerics import IntArray
from kreinflow.files.arrays import read_arrays, write_arrays

KIND = "kreinflow scores 2"
_SECONDS_PER_SEGMENT = 10.0  # what a SIGKILL can cost at most


def block_of(digest: str, blocks: int) -> int:
    """Return the block of rows that a sequence belongs to, by its digest alone."""
    return int(digest[:16], 16) % blocks


class DigestTable:
    """The numbers of sequences by their digests, a ``table`` of bytes.

    Looked up in a sorted array: a dictionary of a million digests misses the processor's cache. A
    KreinflowError if two begin with the same 16 digits.
    """

    def __init__(self, digests: Sequence[str]) -> None:
        raw = np.frombuffer(bytes.fromhex("".join(digests)), dtype=np.uint8)
        self.table = raw.reshape(len(digests), len(digests[0]) // 2 if digests else 8)
        words = self._first_words(self.table)
        self._order = np.argsort(words, kind="stable")
        self._words = words[self._order]
        if (self._words[1:] == self._words[:-1]).any():
            raise KreinflowError("score store: two sequences have digests that begin alike.")
        self._rank = np.empty_like(self._order)
        self._rank[self._order] = np.arange(len(digests))
        self._bit = self.table[:, 0] >> 7

    @staticmethod
    def _first_words(table: NDArray[np.uint8]) -> NDArray[np.uint64]:
        return np.ascontiguousarray(table[:, :8]).view(">u8").ravel().astype(np.uint64)

    def numbers(self, table: NDArray[np.uint8]) -> IntArray:
        """Return the number of each digest of a table, -1 for those of other sequences."""
        found = np.full(len(table), -1, dtype=np.int64)
        if table.shape[1] != self.table.shape[1] or not self._words.size:
            return found
        words = self._first_words(table)
        order = np.argsort(words)
        place = np.searchsorted(self._words, words[order])
        number = self._order[np.minimum(place, self._words.size - 1)]
        same = (self.table[number] == table[order]).all(axis=1)
        found[order[same]] = number[same]
        return found

    def aligned_as_given(self, i: IntArray, j: IntArray) -> NDArray[np.bool_]:
        """Return whether (i, j) and not (j, i) is aligned where both are wanted: half of them."""
        first: NDArray[np.bool_] = (self._rank[i] < self._rank[j]) ^ (self._bit[i] != self._bit[j])
        return first


def as_type(scores: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Return scores in 16 or 32 bits, with what stands for a pair without a score in them.

    Those that are no integers have one type.
    """
    if scores.dtype == dtype:
        return scores
    changed = scores.astype(dtype)
    changed[missing(scores)] = not_aligned(dtype)
    return changed


def read_segment(path: Path, scheme: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a segment; ``scheme`` is the digest of the scoring scheme.

    They are rows, columns and self_rows: digests, uint8 of shape (k, n_bytes); panels, (n_panels,
    4): the first row, the row after the last, and the same of the columns; scores, of all panels
    one after the other; self_scores; again: how many of its pairs were asked for again, to check
    them, where the score is the user's. An InputError names a segment that is damaged or foreign.
    """
    dataset = path.parent.parent.parent.parent
    advice = (
        f"Delete it and the folder {dataset}/alignment, and run again: only its alignments are "
        "computed again."
    )
    header, arrays = read_arrays(path, KIND, advice)
    if header["scheme"] != scheme:
        raise InputError(f"{path}: damaged or of another store. {advice}")
    return {**arrays, "again": np.array(header.get("again", 0))}


def asked_for(store: Path, scheme: str) -> dict[str, int]:
    """Return how many pairs and objects alone the segments of a store have, and pairs asked again.

    So often the user's own score was asked for them, but for what a kill has lost.
    """
    told = {"pairs": 0, "alone": 0, "again": 0}
    for path in sorted(store.glob("*/segment_*.safetensors")):
        arrays = read_segment(path, scheme)
        told["pairs"] += int(np.count_nonzero(~missing(arrays["scores"])))
        told["alone"] += len(arrays["self_rows"])
        told["again"] += int(arrays["again"])
    return told


@contextmanager
def writing(home: Path) -> Iterator[None]:
    """Hold a block's folder: one writer at a time; the system lets go when the process dies."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        lock = (home / ".lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError as error:
        raise KreinflowError(
            f"{home}: cannot be written or locked ({error.strerror}). Name another results folder."
        ) from error
    with lock:
        for leftover in home.glob(".*.part"):  # of a writer that was killed
            leftover.unlink(missing_ok=True)
        yield


class SegmentWriter:
    """Collects scores, and writes a segment of a folder after ``most_pending`` of them."""

    def __init__(
        self, home: Path, scorer: Scorer, table: NDArray[np.uint8], most_pending: int
    ) -> None:
        self._home, self._scorer, self._table, self._agreed = home, scorer, table, scorer.agreed
        self._most_pending = most_pending
        self._last_segment = time.monotonic()
        names = [path.name for path in home.glob("segment_*.safetensors")]
        self._next = max((int(name.split("_")[1].split(".")[0]) for name in names), default=0) + 1
        self._panels: list[tuple[IntArray, IntArray, NDArray[Any]]] = []
        self._alone: list[tuple[IntArray, NDArray[Any]]] = []
        self._pending = 0

    @property
    def due(self) -> bool:
        """Whether so much time has passed that what is there should be written."""
        return time.monotonic() - self._last_segment >= _SECONDS_PER_SEGMENT

    def add_panel(self, rows: IntArray, columns: IntArray, panel: NDArray[Any]) -> None:
        """Take the scores of rows x columns, those that are there; the panel is not copied.

        Integers are kept in 16 bits where all fit: half the memory and the disk.
        """
        there = ~missing(panel)
        r, c = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
        if r.size < rows.size or c.size < columns.size:
            rows, columns, panel = rows[r], columns[c], panel[np.ix_(r, c)]
            there = ~missing(panel)
        if panel.size:
            kept = panel
            if panel.dtype.kind == "i":
                largest = max(panel.max(), -int(panel.min(where=there, initial=0)))
                kept = as_type(panel, np.int16) if largest < 2**15 else panel
            self._panels.append((rows, columns, kept))
            self._pending += panel.size
        if self._pending >= self._most_pending:
            self.flush()

    def add_self_scores(self, rows: IntArray, scores: NDArray[Any]) -> None:
        """Take the scores of objects with themselves."""
        self._alone.append((rows, scores))

    def flush(self) -> None:
        """Write what is pending as one segment."""
        self._last_segment = time.monotonic()
        if not self._panels and not self._alone:
            return
        panels = [panel for _, _, panel in self._panels]
        dtype = np.result_type(np.int16, *panels)
        scores = np.concatenate(
            [np.empty(0, dtype), *(as_type(panel, dtype).ravel() for panel in panels)]
        )
        bounds = np.zeros((len(self._panels), 4), dtype=np.int64)
        bounds[:, 1] = np.cumsum([rows.size for rows, _, _ in self._panels])
        bounds[:, 3] = np.cumsum([columns.size for _, columns, _ in self._panels])
        bounds[1:, 0], bounds[1:, 2] = bounds[:-1, 1], bounds[:-1, 3]

        def digests(numbers: Iterable[IntArray]) -> NDArray[np.uint8]:
            return np.concatenate([self._table[:0], *(self._table[some] for some in numbers)])

        arrays = {
            "rows": digests(rows for rows, _, _ in self._panels),
            "columns": digests(columns for _, columns, _ in self._panels),
            "panels": bounds,
            "scores": scores,
            "self_rows": digests(rows for rows, _ in self._alone),
            "self_scores": np.concatenate(
                [np.empty(0, np.int32), *(scores for _, scores in self._alone)]
            ),
        }
        path = self._home / f"segment_{self._next:06d}.safetensors"
        header: dict[str, Any] = {"scheme": self._scorer.digest}
        if again := self._scorer.agreed - self._agreed:
            header["again"] = again
        write_arrays(path, KIND, header, arrays)
        self._next, self._agreed = self._next + 1, self._scorer.agreed
        self._panels, self._alone, self._pending = [], [], 0
