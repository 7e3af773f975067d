"""The score store: every score that was ever wanted, aligned once and kept.

One folder for each scoring scheme (named by its digest) holds one folder for each block of rows,
with append-only segments. A segment names its sequences by their digests, so that data sets,
folds, selectors and numbers of blocks may change and whatever was aligned is still found. The
pair is unordered: the score of (i, j) is that of (j, i), and one of the two is kept.
"""

import fcntl
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from kreinflow.alignment.engine import Backend, align_pairs, pack
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.artifacts import read_arrays, write_arrays
from kreinflow.errors import InputError, KreinflowError
from kreinflow.numerics import IntArray, tiles
from kreinflow.tall import release

Progress = Callable[[int, int], None]

_KIND = "kreinflow scores 1"
_SECONDS_PER_SEGMENT = 10.0  # what a SIGKILL can cost at most
_CELLS_PER_CALL = 3_000_000_000  # a thread's: about a third of a second, between looks at the clock
_BYTES_PER_PAIR = 40  # of memory while a panel is aligned: its indices, mask, cells and score


def not_aligned(dtype: DTypeLike) -> int:
    """Return the integer that stands for a pair without a score: the smallest of the type."""
    return int(np.iinfo(np.dtype(dtype)).min)


def block_of(digest: str, blocks: int) -> int:
    """Return the block of rows that a sequence belongs to, by its digest alone.

    Examples
    --------
    >>> block_of("00000000000000ff", 7)
    3
    """
    return int(digest[:16], 16) % blocks


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


class ProgressPrinter:
    """Prints what :meth:`ScoreStore.fill` reports, a line every few seconds at most.

    Parameters
    ----------
    stream : text stream
    label : str
        What a line starts with, for example ``"alignment demo block 1/4"``.
    seconds : float
        At least so long between two lines.
    """

    def __init__(self, stream: TextIO, label: str, seconds: float = 5.0) -> None:
        self._stream = stream
        self._label = label
        self._seconds = seconds
        self._start = self._last = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Take note that ``done`` of ``total`` cells are filled."""
        now = time.monotonic()
        if now - self._last < self._seconds and done < total:
            return
        self._last = now
        elapsed = max(now - self._start, 1e-9)
        left = elapsed * (total - done) / max(done, 1)
        print(
            f"{self._label}: {100 * done // max(total, 1)} %, {done / elapsed / 1e9:.1f} GCUPS, "
            f"{left:.0f} s left",
            file=self._stream,
            flush=True,
        )


@dataclass(frozen=True, eq=False)
class _Panel:
    """A rectangle of a segment: what it covers of the sequences at hand.

    ``rows`` and ``columns`` hold their numbers, or -1 for sequences of other data sets.
    """

    path: Path
    start: int  # of its scores in those of the segment
    rows: IntArray
    columns: IntArray


class _DigestTable:
    """Finds the numbers of sequences by their digests.

    Many are looked up at once in a sorted array and in sorted order: a dictionary of a million
    digests is far larger than the processor's cache, and each question misses it.
    """

    def __init__(self, digests: Sequence[str]) -> None:
        width = max(max(map(len, digests), default=16) // 2, 1)
        try:
            raw = bytes.fromhex("".join(digests))
        except ValueError as error:
            raise KreinflowError(f"score store: a digest is not hexadecimal ({error}).") from error
        self.table = np.zeros((0, width), dtype=np.uint8)
        uneven = (
            width < 8
            or any(len(digest) != 2 * width for digest in digests)
            or len(raw) != width * len(digests)  # blanks between digits do not count
        )
        if not uneven:
            self.table = np.frombuffer(raw, dtype=np.uint8).reshape(len(digests), width)
        whole = self.table.view(f"S{width}").ravel()  # compared as bytes
        self.order = np.argsort(whole, kind="stable")
        if uneven or (whole[self.order[1:]] == whole[self.order[:-1]]).any():
            raise KreinflowError(
                "score store: give each sequence one digest, all different, of one length of at "
                "least 16 hexadecimal digits."
            )
        self._words = self._first_words(self.table)[self.order]

    @staticmethod
    def _first_words(table: NDArray[np.uint8]) -> NDArray[np.uint64]:
        return np.ascontiguousarray(table[:, :8]).view(">u8").ravel().astype(np.uint64)

    def numbers(self, table: NDArray[np.uint8]) -> IntArray:
        """Return the number of each digest of a table, -1 for those of other sequences."""
        found = np.full(len(table), -1, dtype=np.int64)
        if table.shape[1] != self.table.shape[1]:
            return found
        words = self._first_words(table)
        asked = np.argsort(words)
        place = np.searchsorted(self._words, words[asked])
        while asked.size:  # once, unless digests share their first 8 bytes
            there = place < self._words.size
            asked, place = asked[there], place[there]
            there = self._words[place] == words[asked]
            asked, place = asked[there], place[there]
            number = self.order[place]
            same = (self.table[number] == table[asked]).all(axis=1)
            found[asked[same]] = number[same]
            asked, place = asked[~same], place[~same] + 1
        return found


class ScoreStore:
    """The scores of one list of distinct sequences under one scoring scheme.

    Parameters
    ----------
    folder : path
        Where the stores of all schemes are.
    scheme : ScoringScheme
    sequences : sequence of bytes
        Distinct, cleaned: letters of the matrix only.
    digests : sequence of str
        The hexadecimal digest of each sequence, all of one length.
    backend : callable
        What aligns; see :func:`kreinflow.alignment.engine.align_pairs`.

    Raises
    ------
    InputError
        If a segment is truncated or foreign: it is named.
    KreinflowError
        If two digests are the same, or are not hexadecimal of one length.
    """

    def __init__(
        self,
        folder: Path,
        scheme: ScoringScheme,
        sequences: Sequence[bytes],
        digests: Sequence[str],
        backend: Backend = align_pairs,
    ) -> None:
        self.folder = Path(folder) / scheme.digest[:16]
        self.scheme = scheme
        self._backend = backend
        self._digests = list(digests)
        self._packed = pack(sequences)
        self._lengths = self._packed.lengths
        self._known_digests = _DigestTable(digests)
        # For the rule of who aligns a pair: the order of the digests, and one bit of each.
        self._rank = np.empty(len(digests), dtype=np.int64)
        self._rank[self._known_digests.order] = np.arange(len(digests))
        self._bit = self._known_digests.table[:, 0] >> 7
        self._panels: list[_Panel] = []
        self._self: IntArray = np.full(len(digests), not_aligned(np.int32), dtype=np.int64)
        self._seen: set[Path] = set()
        self._open: tuple[Path, NDArray[Any]] | None = None
        self.refresh()

    # ---- reading -------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Take in the segments that other processes have written since."""
        for path in sorted(self.folder.glob("block_*/segment_*.safetensors")):
            if path not in self._seen:
                self._take_in(path)

    def _read(self, path: Path) -> dict[str, NDArray[Any]]:
        header, arrays = read_arrays(path, _KIND)
        damaged = InputError(f"{path}: damaged or of another store. Delete it and run again.")
        try:
            if header["scheme"] != self.scheme.digest:
                raise damaged
            panels, scores = arrays["panels"], arrays["scores"]
            tables = {name: arrays[name] for name in ("rows", "columns", "self_rows")}
            sizes = {name: table.shape[0] for name, table in tables.items()}
            areas = (panels[:, 1] - panels[:, 0]) * (panels[:, 3] - panels[:, 2])
            sound = (
                all(table.ndim == 2 and table.dtype == np.uint8 for table in tables.values())
                and panels.dtype == np.int64
                and panels.shape[1] == 4
                and (panels >= 0).all()
                and (panels[:, 0] <= panels[:, 1]).all()
                and (panels[:, 2] <= panels[:, 3]).all()
                and (panels[:, 1] <= sizes["rows"]).all()
                and (panels[:, 3] <= sizes["columns"]).all()
                and scores.shape == (areas.sum(),)
                and scores.dtype in (np.int16, np.int32)
                and arrays["self_scores"].shape == (sizes["self_rows"],)
            )
        except (KeyError, TypeError, IndexError) as error:
            raise damaged from error
        if not sound:
            raise damaged
        return arrays

    def _take_in(self, path: Path) -> None:
        arrays = self._read(path)
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
            self._open = (panel.path, self._read(panel.path)["scores"])
        size = panel.rows.size * panel.columns.size
        flat = self._open[1][panel.start : panel.start + size]
        return flat.reshape(panel.rows.size, panel.columns.size)

    def _known(
        self, rows: IntArray, columns: IntArray
    ) -> Iterator[tuple[IntArray, IntArray, NDArray[Any]]]:
        """Yield the parts of rows x columns that are stored: two lists of positions, scores."""
        n = len(self._digests)
        wanted_row, wanted_column = np.zeros((2, n), dtype=bool)
        wanted_row[rows], wanted_column[columns] = True, True
        where = np.full(n, -1, dtype=np.int64)
        for panel in self._panels:
            for transposed in (False, True):
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

    def self_scores(self, rows: IntArray) -> IntArray:
        """Return the score of each sequence with itself.

        Raises
        ------
        KreinflowError
            If one is not in the store.
        """
        scores = self._self[rows]
        missing = np.flatnonzero(scores == not_aligned(np.int32))
        if missing.size:
            self._refuse(rows[missing[0]], rows[missing[0]])
        return scores

    def _refuse(self, i: int, j: int) -> None:
        raise KreinflowError(
            f"{self.folder}: the score of the sequences with the digests {self._digests[i]} and "
            f"{self._digests[j]} is missing. Delete the folder "
            f"{self.folder.parent.parent}/alignment and run again."
        )

    def gather(
        self, rows: IntArray, columns: IntArray, out_dtype: DTypeLike = np.int32
    ) -> NDArray[Any]:
        """Return the scores of rows x columns, from the store alone.

        Parameters
        ----------
        rows, columns : ndarray of int
            Numbers of sequences, in any order, repeated or not.
        out_dtype : int16 or int32

        Returns
        -------
        ndarray of shape (n_rows, n_columns)

        Raises
        ------
        KreinflowError
            If a pair is not in the store (it is named), or a score does not fit ``out_dtype``.
        """
        out = np.empty((len(rows), len(columns)), dtype=out_dtype)
        self.gather_into(out, rows, columns)
        return out

    def gather_into(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        """Write the scores of rows x columns into ``out``, which may be a memory map.

        One segment after the other is read and spread over ``out``: apart from it, the memory
        needed is that of a segment, whatever the number of rows. Raises like :meth:`gather`.
        """
        self.refresh()
        rows, columns = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        self._gather(out, rows, columns)
        for tile in tiles(len(rows)):
            missing = out[tile] == not_aligned(out.dtype)
            if missing.any():
                i, j = np.argwhere(missing)[0]
                self._refuse(rows[tile.start + i], columns[j])
            release(out)

    def _gather(self, out: NDArray[Any], rows: IntArray, columns: IntArray) -> None:
        absent, largest = not_aligned(out.dtype), int(np.iinfo(out.dtype).max)
        for tile in tiles(len(rows)):
            out[tile] = absent
            release(out)

        def fits(scores: NDArray[Any]) -> bool:
            return bool(scores.size == 0 or np.abs(scores.astype(np.int64)).max() <= largest)

        for to_row, to_column, scores in self._known(rows, columns):
            if out.dtype != scores.dtype:
                there = scores != not_aligned(scores.dtype)
                if out.dtype.itemsize < scores.dtype.itemsize and not fits(scores[there]):
                    raise KreinflowError(f"{self.folder}: a score does not fit {out.dtype}.")
                scores = np.where(there, scores.astype(out.dtype), out.dtype.type(absent))
            # Rows are written whole, which is several times as fast, and the few with a hole
            # again: another segment may have filled it.
            holes = np.unique(np.flatnonzero(scores == absent) // max(to_column.size, 1))
            hollow = np.ix_(to_row[holes], to_column)
            before = out[hollow]
            among = _as_slice(to_column)
            whole = (to_row, among) if isinstance(among, slice) else np.ix_(to_row, among)
            out[whole] = scores
            out[hollow] = np.where(scores[holes] == absent, before, scores[holes])
            release(out)
        wanted = np.zeros(len(self._digests), dtype=bool)
        wanted[columns] = self._self[columns] != not_aligned(np.int32)
        for i in np.flatnonzero(wanted[rows]):
            same = np.flatnonzero(columns == rows[i])
            if not fits(self._self[rows[i : i + 1]]):
                raise KreinflowError(f"{self.folder}: a score does not fit {out.dtype}.")
            out[i, same] = self._self[rows[i]]

    # ---- writing -------------------------------------------------------------------------------

    def fill(
        self,
        rectangles: Sequence[tuple[IntArray, IntArray]],
        block: int = 0,
        blocks: int = 1,
        threads: int = 1,
        memory_mb: int = 1000,
        progress: Progress | None = None,
    ) -> FillReport:
        """See to it that the pairs of one block are in the store, and the self-scores of its rows.

        A pair (i, j) belongs to the block of its row i. Where a call wants both (i, j) and (j, i),
        a rule from the two digests names the one that is aligned, evenly. So the blocks of a call
        share no pair and may be filled at the same time by different processes. Calls with
        other rectangles find what is there when they start: run them one after the other.

        Parameters
        ----------
        rectangles : sequence of (rows, columns)
            Numbers of sequences; rectangles may overlap. All blocks of a call get the same list.
        block, blocks : int
            Fill block number ``block``, from 0, of ``blocks``.
        threads : int
        memory_mb : int
            Bounds the size of the pieces that are aligned and written.
        progress : callable, optional
            Called with (cells done, cells in all) about every second.

        Returns
        -------
        FillReport

        Raises
        ------
        InputError
            If a sequence has a letter that the matrix does not know.
        KreinflowError
            If the disk is full. What was written before stays.
        """
        begin = time.monotonic()
        own = np.array([block_of(digest, blocks) == block for digest in self._digests], dtype=bool)
        wanted: list[tuple[IntArray, IntArray]] = [
            (np.unique(np.asarray(rows, np.int64)), np.unique(np.asarray(columns, np.int64)))
            for rows, columns in rectangles
        ]
        pairs_at_once = min(max(memory_mb * 1_000_000 // (2 * _BYTES_PER_PAIR), 10_000), 4_000_000)
        with _writing(self.folder / f"block_{block + 1}_of_{blocks}") as home:
            self.refresh()
            reused = 0
            todo: list[tuple[IntArray, IntArray, NDArray[np.bool_]]] = []
            for number, (rows, columns) in enumerate(wanted):
                rows = rows[own[rows]]
                mask = self._own_pairs(wanted, number, rows, columns)
                asked = np.count_nonzero(mask)
                for to_row, to_column, scores in self._known(rows, columns):
                    place = np.ix_(to_row, to_column)
                    mask[place] &= scores == not_aligned(scores.dtype)
                left = np.count_nonzero(mask)
                reused += int(asked - left)
                if left:
                    todo.append((rows, columns, mask))
            alone = np.unique(np.concatenate([[], *(rows for rows, _ in wanted)])).astype(np.int64)
            alone = alone[own[alone] & (self._self[alone] == not_aligned(np.int32))]
            writer = _Writer(self, home, threads, 2 * pairs_at_once, progress)
            writer.total = int((self._lengths[alone] ** 2).sum()) + sum(
                int(self._lengths[rows] @ np.where(mask[:, c], self._lengths[columns[c]], 0))
                for rows, columns, mask in todo
                for c in range(columns.size)
            )
            writer.align_self(alone)
            for rows, columns, mask in todo:
                height = max(pairs_at_once // columns.size, 1)
                for start in range(0, rows.size, height):
                    part = slice(start, start + height)
                    writer.align_panel(rows[part], columns, mask[part])
            writer.flush()
        self.refresh()
        return FillReport(
            aligned=writer.aligned,
            self_scores=int(alone.size),
            reused=reused,
            cells=writer.cells,
            seconds=time.monotonic() - begin,
        )

    def _own_pairs(
        self,
        wanted: Sequence[tuple[IntArray, IntArray]],
        number: int,
        rows: IntArray,
        columns: IntArray,
    ) -> NDArray[np.bool_]:
        """Return which pairs of rectangle ``number`` are aligned for it and for no other."""
        n = len(self._digests)
        mask: NDArray[np.bool_] = rows[:, None] != columns[None, :]
        in_rows, in_columns = np.zeros((2, n), dtype=bool)
        for other, (other_rows, other_columns) in enumerate(wanted):
            in_rows[other_rows], in_columns[other_columns] = True, True
            if other < number:  # the same pair, the same way round: the first rectangle has it
                r, c = np.flatnonzero(in_rows[rows]), np.flatnonzero(in_columns[columns])
                mask[np.ix_(r, c)] = False
            # the same pair, the other way round: the rule from the digests decides
            r, c = np.flatnonzero(in_columns[rows]), np.flatnonzero(in_rows[columns])
            if r.size and c.size:
                i, j = rows[r][:, None], columns[c][None, :]
                first = self._rank[i] < self._rank[j]
                mask[np.ix_(r, c)] &= first ^ (self._bit[i] != self._bit[j])
            in_rows[other_rows], in_columns[other_columns] = False, False
        return mask


def _as_slice(positions: IntArray) -> slice | IntArray:
    """Return neighbouring positions as a slice, whose rows are copied whole; others as given."""
    if positions.size and (np.diff(positions) == 1).all():
        return slice(int(positions[0]), int(positions[-1]) + 1)
    return positions


@contextmanager
def _writing(home: Path) -> Iterator[Path]:
    """Hold a block's folder: one writer at a time; the kernel lets go when the process dies."""
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
        yield home


class _Writer:
    """Aligns, counts, and writes a segment every few seconds."""

    def __init__(
        self,
        store: ScoreStore,
        home: Path,
        threads: int,
        most_pending: int,
        progress: Progress | None,
    ) -> None:
        self._store = store
        self._home = home
        self._threads = threads
        self._most_pending = most_pending
        self._progress = progress
        self._last_segment = time.monotonic()
        self._last_report = 0.0
        names = [path.name for path in home.glob("segment_*.safetensors")]
        self._next = max((int(name.split("_")[1].split(".")[0]) for name in names), default=0) + 1
        self._panels: list[tuple[IntArray, IntArray, NDArray[np.int32]]] = []
        self._alone: list[tuple[IntArray, NDArray[np.int32]]] = []
        self._pending = 0
        self.total = self.cells = self.aligned = 0

    def _align(self, left: IntArray, right: IntArray) -> Iterator[tuple[slice, NDArray[np.int32]]]:
        """Align pairs a few at a time, and look at the clock between."""
        store = self._store
        done = np.cumsum(store._lengths[left] * store._lengths[right])
        start = 0
        while start < left.size:
            before = int(done[start - 1]) if start else 0
            limit = before + _CELLS_PER_CALL * self._threads
            stop = max(int(np.searchsorted(done, limit)), start + 1)
            part = slice(start, stop)
            yield (
                part,
                store._backend(
                    store._packed,
                    left[part].astype(np.int32),
                    right[part].astype(np.int32),
                    store.scheme,
                    self._threads,
                ),
            )
            self.cells += int(done[stop - 1]) - before
            start = stop
            now = time.monotonic()
            if self._progress and (now - self._last_report >= 1.0 or self.cells >= self.total):
                self._last_report = now
                self._progress(self.cells, self.total)

    def align_self(self, rows: IntArray) -> None:
        for part, scores in self._align(rows, rows):
            self._alone.append((rows[part], scores))
            if time.monotonic() - self._last_segment >= _SECONDS_PER_SEGMENT:
                self.flush()

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
            if time.monotonic() - self._last_segment >= _SECONDS_PER_SEGMENT:
                self._keep(rows, columns, panel)
                self.flush()
                panel[...] = not_aligned(np.int32)
        self._keep(rows, columns, panel)
        if self._pending >= self._most_pending:  # a segment stays small enough to read at once
            self.flush()

    def _keep(self, rows: IntArray, columns: IntArray, panel: NDArray[np.int32]) -> None:
        there = panel != not_aligned(np.int32)
        r, c = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
        if r.size:
            self._panels.append((rows[r], columns[c], panel[np.ix_(r, c)]))
            self._pending += r.size * c.size

    def flush(self) -> None:
        """Write what is pending as one segment."""
        self._last_segment = time.monotonic()
        if not self._panels and not self._alone:
            return
        # In 16 bits where all fit: half the disk, and the sentinel of 32 bits becomes that of 16.
        scores = np.concatenate(
            [np.empty(0, np.int32), *(panel.ravel() for _, _, panel in self._panels)]
        )
        absent = scores == not_aligned(np.int32)
        if np.abs(scores[~absent].astype(np.int64)).max(initial=0) < 2**15:
            scores = np.where(absent, not_aligned(np.int16), scores).astype(np.int16)
        bounds = np.zeros((len(self._panels), 4), dtype=np.int64)
        bounds[:, 1] = np.cumsum([rows.size for rows, _, _ in self._panels])
        bounds[:, 3] = np.cumsum([columns.size for _, columns, _ in self._panels])
        bounds[1:, 0], bounds[1:, 2] = bounds[:-1, 1], bounds[:-1, 3]
        none = np.empty(0, dtype=np.int64)
        table = self._store._known_digests.table
        write_arrays(
            self._home / f"segment_{self._next:06d}.safetensors",
            _KIND,
            {"scheme": self._store.scheme.digest},
            {
                "rows": table[np.concatenate([none, *(rows for rows, _, _ in self._panels)])],
                "columns": table[np.concatenate([none, *(cols for _, cols, _ in self._panels)])],
                "panels": bounds,
                "scores": scores,
                "self_rows": table[np.concatenate([none, *(rows for rows, _ in self._alone)])],
                "self_scores": np.concatenate(
                    [np.empty(0, np.int32), *(scores for _, scores in self._alone)]
                ),
            },
        )
        self._next += 1
        self._panels, self._alone, self._pending = [], [], 0
