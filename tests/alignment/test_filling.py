"""How the rectangles of a block are cut, and that all of it is aligned, counted and looked at."""

import itertools
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from kreinflow.alignment import filling
from kreinflow.alignment.engine import NOT_ALIGNED, align_rectangle, pack
from kreinflow.alignment.filling import Filling, Holders, _cut
from kreinflow.alignment.scorer import Aligner
from sequence_pairs import AMINO_ACIDS, drawn, rectangle, scheme_of

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


class Segments(list):
    """What takes the place of the writer of segments: the panels. It is always due, or never."""

    def __init__(self, due=False):
        self.due, self.flushed = due, 0

    def add_panel(self, rows, columns, panel):
        self.append(panel.copy())

    def flush(self):
        self.flushed += 1


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
    tiles, segments = [], Segments(due)

    def backend(packed, r, c, wanted):
        tiles.append((lengths[r].max(), lengths[r].min(), wanted.sum()))
        assert wanted.any(), "no call for nothing"
        assert r.size <= height
        cost = int(lengths[r].sum() * lengths[c].sum())
        assert cost <= cells * threads or (r.size, c.size) == (1, 1)
        return align_rectangle(packed, r, c, wanted)

    fill = Filling(Aligner(packed, backend), segments, None, 0)
    fill.score_panel(rows, columns, mask)
    most, least, count = np.transpose(tiles)
    assert ((least[:-1] >= most[1:]) | ((most[:-1] == most[1:]) & (least[:-1] == least[1:]))).all()
    assert segments.flushed == (len(tiles) if due else 0)
    written = sum(np.count_nonzero(panel != NOT_ALIGNED) for panel in segments)
    assert fill.aligned == count.sum() == written == mask.sum()
    assert fill.cells == (np.outer(lengths[rows], lengths[columns]) * mask).sum()
    theirs = rectangle(SEQUENCES, rows, columns, SCHEME)
    assert np.array_equal(np.maximum.reduce(segments), np.where(mask, theirs, NOT_ALIGNED))


def test_the_memory_is_that_of_the_panel():
    """Of a panel of 3,000 x 400 pairs: its mask is given, its scores are made."""
    sequences = drawn(np.random.default_rng(75), AMINO_ACIDS, 3_400, 4, 9)
    packed, rows, columns = pack(sequences, SCHEME), np.arange(3_000), np.arange(3_000, 3_400)
    mask = np.random.default_rng(76).random((3_000, 400)) < 0.5
    kept = []
    segments = SimpleNamespace(due=False, add_panel=lambda rows, columns, panel: kept.append(panel))

    def instant(packed, rows, columns, mask=None):
        return np.where(mask, np.int32(1), np.int32(NOT_ALIGNED))

    tracemalloc.start()
    try:
        Filling(Aligner(packed, instant), segments, None, 0).score_panel(rows, columns, mask)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.array_equal(kept[0] == 1, mask)
    # The panel, and of 512 of its rows the wanted as numbers, and their scores.
    assert most < 4 * mask.size + 512 * 400 * 24


def test_calls_grow_to_half_a_second_and_progress_is_told_each_second(monkeypatch):
    """A backend of known speed stands in for the kernel."""
    monkeypatch.setattr(filling, "_CELLS_PER_CALL", 1_000_000)
    clock, calls, heard = [1_000.0], [], []
    monkeypatch.setattr(filling.time, "monotonic", lambda: clock[0])

    def steady(sequences, rows, columns, mask=None):
        calls.append(int(sequences.lengths[rows].sum() * sequences.lengths[columns].sum()))
        clock[0] += calls[-1] / 20e6  # seconds
        return np.ones((rows.size, columns.size), dtype=np.int32)

    def hear(done, total):
        heard.append((clock[0], done, total))

    packed = pack(drawn(np.random.default_rng(73), AMINO_ACIDS, 600, 190, 210), SCHEME)
    rows, columns = np.arange(500), np.arange(500, 600)
    total = int(packed.lengths[rows].sum() * packed.lengths[columns].sum())
    fill = Filling(Aligner(packed, steady), Segments(), hear, total)
    fill.score_panel(rows, columns, np.ones((500, 100), dtype=bool))
    assert calls[0] < 2_000_000
    assert 8e6 < max(calls) < 12e6 + 500 * 210**2
    assert sum(calls) == fill.cells == total
    when, done, of = np.transpose(heard)
    assert (done[-1], set(of)) == (total, {total})
    assert (np.diff(done) > 0).all()
    waits = np.diff(when[:-1])
    assert waits.min() >= 1.0
    assert waits.max() < 1.0 + max(calls) / 20e6
    assert len(waits) > 50


def test_holders_are_the_sets_that_have_an_object():
    rng = np.random.default_rng(0)
    sets = [(rng.integers(-1, 40, 3), rng.integers(-1, 40, 2)) for _ in range(30)]
    holders = Holders(sets, 40)
    for size in (0, 1, 7):
        objects = rng.permutation(40)[:size]
        plain = [k for k, sides in enumerate(sets) if {*objects} & {*np.concatenate(sides)}]
        assert holders.of(objects) == plain
    assert Holders([], 40).of(np.arange(40)) == []
