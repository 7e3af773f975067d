"""How the rectangles of a block are cut, and that all of it is aligned, counted and looked at."""

import itertools
import tracemalloc

import numpy as np
import pytest

from kreinflow.alignment import filling
from kreinflow.alignment.engine import NOT_ALIGNED, pack
from kreinflow.alignment.filling import Filling, _cut
from sequence_pairs import AMINO_ACIDS, Counting, drawn, rectangle, scheme_of

SCHEME = scheme_of()


def test_slices_hold_each_item_once_and_cost_no_more_than_they_may():
    rng = np.random.default_rng(71)
    for most, longest in itertools.product((1, 40, 1_000, 10**6), (None, 1, 7)):
        costs = rng.integers(1, 100, rng.integers(0, 300))
        slices = list(_cut(costs, most, longest))
        taken = [place for some in slices for place in range(costs.size)[some]]
        assert taken == list(range(costs.size))
        for some, following in itertools.zip_longest(slices, slices[1:]):
            size = some.stop - some.start
            assert size == 1 or costs[some].sum() <= most
            assert size <= (longest or size)
            if following is not None and size != longest:  # none is cut without need
                assert costs[some.start : some.stop + 1].sum() > most


class Segments:
    """What takes the place of the writer of segments; always due, or never."""

    def __init__(self, due=False):
        self.due, self.flushed, self.panels, self.alone = due, 0, [], []

    def add_panel(self, rows, columns, panel):
        self.panels.append((rows, columns, panel.copy()))

    def add_self_scores(self, rows, scores):
        self.alone.append((rows, scores))

    def flush(self):
        self.flushed += 1


class Tiles(Counting):
    """A backend that writes down its rectangles, and lets time pass."""

    def __init__(self, clock=None, seconds=0.0):
        super().__init__()
        self.tiles, self.clock, self.seconds = [], clock, seconds

    def __call__(self, packed, rows, columns, mask=None):
        self.tiles.append((rows, columns, mask))
        if self.clock:
            self.clock[0] += self.seconds
        return super().__call__(packed, rows, columns, mask)


def filling_of(packed, backend, segments, progress=None, total=0):
    return Filling(packed, backend, segments, progress, total)


SEQUENCES = drawn(np.random.default_rng(72), AMINO_ACIDS, 200, 1, 60)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("due", [True, False])
@pytest.mark.parametrize(("cells", "height"), [(10**10, 512), (20_000, 512), (20_000, 7), (1, 1)])
def test_tiles_hold_what_is_wanted_once_rows_of_one_length_together(
    monkeypatch, cells, height, due, threads
):
    monkeypatch.setattr(filling, "_CELLS_PER_CALL", cells)
    monkeypatch.setattr(filling, "_SECONDS_PER_CALL", 0.0)
    monkeypatch.setattr(filling, "_ROWS_PER_CALL", height)
    rng, packed = np.random.default_rng(73), pack(SEQUENCES, SCHEME, threads)
    lengths = packed.lengths
    rows, columns = rng.permutation(200)[:90], rng.permutation(200)[:15]
    mask = (rng.random((90, 15)) < 0.4) & (rows[:, None] != columns)
    mask[lengths[rows] == lengths[rows].max()] = False  # a tile of one row with nothing to do
    tiles, segments = Tiles(), Segments(due)
    fill = filling_of(packed, tiles, segments)
    fill.align_panel(rows, columns, mask)

    seen = np.zeros((200, 200), dtype=int)
    for r, c, wanted in tiles.tiles:
        assert wanted.shape == (r.size, c.size)
        assert wanted.any(), "no call for nothing"
        assert r.size <= height
        cost = int(lengths[r].sum() * lengths[c].sum())
        assert cost <= cells * threads or (r.size, c.size) == (1, 1)
        np.add.at(seen, np.ix_(r, c), wanted)
    expected = np.zeros_like(seen)
    expected[np.ix_(rows, columns)] = mask
    assert np.array_equal(seen, expected)
    spans = [(lengths[r].min(), lengths[r].max()) for r, _, _ in tiles.tiles]
    assert all(a[0] >= b[1] or a == b for a, b in itertools.pairwise(spans))

    together = np.full(mask.shape, NOT_ALIGNED)
    for r, c, panel in segments.panels:
        assert np.array_equal(r, rows)
        assert np.array_equal(c, columns)
        assert (together[panel != NOT_ALIGNED] == NOT_ALIGNED).all(), "none is written twice"
        together = np.maximum(together, panel)
    theirs = rectangle(SEQUENCES, rows, columns, SCHEME)
    assert np.array_equal(together, np.where(mask, theirs, NOT_ALIGNED))
    assert fill.aligned == tiles.others + tiles.alone == mask.sum()
    assert fill.cells == (np.outer(lengths[rows], lengths[columns]) * mask).sum()
    assert segments.flushed == (len(tiles.tiles) if due else 0)


def test_progress_is_told_each_second_and_at_the_end(monkeypatch):
    clock = [1_000.0]
    monkeypatch.setattr(filling.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(filling, "_CELLS_PER_CALL", 2_000)
    monkeypatch.setattr(filling, "_SECONDS_PER_CALL", 0.0)
    packed, heard = pack(SEQUENCES, SCHEME), []
    rows, columns = np.arange(40), np.arange(40, 50)
    mask = np.ones((40, 10), dtype=bool)
    total = int(packed.lengths[rows].sum() * packed.lengths[columns].sum())
    tiles = Tiles(clock, 0.3)
    fill = filling_of(
        packed,
        tiles,
        Segments(),
        progress=lambda done, of: heard.append((clock[0], done, of)),
        total=total,
    )
    fill.align_panel(rows, columns, mask)
    assert len(tiles.tiles) > 50
    assert heard[-1][1:] == (total, total)
    waits = np.diff([when for when, _, _ in heard[:-1]])
    assert waits.min() >= 1.0
    assert waits.max() < 1.3
    assert all(a[1] < b[1] for a, b in itertools.pairwise(heard))


def test_the_memory_is_that_of_the_panel():
    """Of a panel of 3,000 x 400 pairs: its mask is given, its scores are made."""
    sequences = drawn(np.random.default_rng(75), AMINO_ACIDS, 3_400, 4, 9)
    packed, rows, columns = pack(sequences, SCHEME), np.arange(3_000), np.arange(3_000, 3_400)
    mask = np.random.default_rng(76).random((3_000, 400)) < 0.5

    class Last(Segments):
        def add_panel(self, rows, columns, panel):
            self.panel = panel

    def instant(packed, rows, columns, mask=None):
        return np.where(mask, np.int32(1), np.int32(NOT_ALIGNED))

    tracemalloc.start()
    try:
        segments = Last()
        filling_of(packed, instant, segments).align_panel(rows, columns, mask)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(segments.panel == 1, mask)
    # The panel, and of 512 of its rows the wanted as numbers, and their scores.
    assert most < 4 * mask.size + 512 * 400 * 24


def test_calls_grow_to_half_a_second_and_no_more(monkeypatch):
    """The first is small; a backend of known speed stands in for the kernel."""
    monkeypatch.setattr(filling, "_CELLS_PER_CALL", 1_000_000)
    clock, calls = [0.0], []
    monkeypatch.setattr(filling.time, "monotonic", lambda: clock[0])

    def steady(sequences, rows, columns, mask=None):
        calls.append(int(sequences.lengths[rows].sum() * sequences.lengths[columns].sum()))
        clock[0] += calls[-1] / 20e6  # seconds
        return np.ones((rows.size, columns.size), dtype=np.int32)

    packed = pack(drawn(np.random.default_rng(73), AMINO_ACIDS, 600, 190, 210), SCHEME)
    it = filling_of(packed, steady, Segments())
    it.align_panel(np.arange(500), np.arange(500, 600), np.ones((500, 100), dtype=bool))
    assert calls[0] < 2_000_000
    assert 8e6 < max(calls) < 12e6 + 500 * 210**2
    assert sum(calls) == it.cells
