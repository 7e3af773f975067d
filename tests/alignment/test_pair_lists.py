"""Sequences that ask for some others each: against parasail, and what a backend is asked for."""

from collections import Counter

import numpy as np
import pytest

from kreinflow.alignment import backends, batches
from kreinflow.alignment.backends import BACKENDS, align_pair_lists, backend_named
from kreinflow.alignment.engine import NOT_ALIGNED, pack
from sequence_pairs import AMINO_ACIDS, parasail_scores, scheme_of

SCHEME = scheme_of()


def families(rng, count, length, changed):
    """Return sequences of 5 families, and the family of each."""
    ancestors = rng.choice(AMINO_ACIDS, (5, length))
    of = rng.integers(0, 5, count)
    made = []
    for family in of:
        child = ancestors[family].copy()
        places = rng.random(length) < changed
        child[places] = rng.choice(AMINO_ACIDS, np.count_nonzero(places))
        made.append(child[: rng.integers(length // 2, length + 1)].tobytes())
    return made, of


def expected(sequences, rows, asked):
    scores = np.full(asked.shape, NOT_ALIGNED, dtype=np.int32)
    r, c = np.nonzero(asked >= 0)
    scores[r, c] = parasail_scores(sequences, rows[r], asked[r, c], SCHEME)
    return scores


class Noting:
    """A backend that notes the pairs it is asked for, and how large the rectangles are."""

    def __init__(self, backend=BACKENDS["auto"]):
        self.pairs, self.cells, self.backend = Counter(), [], backend

    def __call__(self, packed, rows, columns, mask=None):
        assert np.unique(rows).size == rows.size
        assert np.unique(columns).size == columns.size
        r, c = np.nonzero(np.ones((rows.size, columns.size)) if mask is None else mask)
        low, high = np.minimum(rows[r], columns[c]), np.maximum(rows[r], columns[c])
        self.pairs.update(zip(low.tolist(), high.tolist(), strict=True))
        self.cells.append((rows.size, columns.size))
        return self.backend(packed, rows, columns, mask)


def asked_pairs(rows, asked):
    r, c = np.nonzero(asked >= 0)
    pairs = zip(rows[r].tolist(), asked[r, c].tolist(), strict=True)
    return {tuple(sorted(pair)) for pair in pairs}


def drawn_lists(rng, count, rows, q, missing=0.2):
    """Return lists with the same number twice, some of them of the rows themselves, and -1."""
    asked = rng.integers(0, count, (rows.size, q))
    asked[rng.random(asked.shape) < missing] = -1
    return asked


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("changed", [0.2, 0.9])
def test_scores_are_those_of_parasail_pair_by_pair(name, threads, changed, monkeypatch):
    rng = np.random.default_rng(71)
    sequences, _ = families(rng, 120, 180, changed)
    rows = rng.permutation(120)[:70]
    asked = drawn_lists(rng, 120, rows, 30)
    theirs, packed = expected(sequences, rows, asked), pack(sequences, SCHEME, threads)
    assert (np.count_nonzero(theirs > 255) > 100) == (changed < 0.5)
    for most_cells in (2**21, 300):
        monkeypatch.setattr(backends, "_MOST_CELLS", most_cells)
        ours = align_pair_lists(packed, rows, asked, backend_named(name))
        assert ours.dtype == np.int32
        assert np.array_equal(ours, theirs)
    monkeypatch.setattr(backends, "_FEWEST_STEPS", 0)
    monkeypatch.setattr(batches, "COLUMN_STEPS", 1e9)  # leave nothing to parasail
    ours = align_pair_lists(packed, rows, asked, backend_named(name))
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("seed", range(20))
def test_each_distinct_pair_is_aligned_once_and_no_other(seed, monkeypatch):
    rng = np.random.default_rng([72, seed])
    sequences, _ = families(rng, 60, 40, 0.5)
    monkeypatch.setattr(backends, "_MOST_CELLS", int(rng.choice([50, 400, 10_000])))
    monkeypatch.setattr(backends, "_MOST_ROWS", int(rng.choice([1, 7, 1024])))
    rows = rng.integers(0, 60, rng.integers(1, 50))  # some ask twice, and ask each other
    asked = drawn_lists(rng, 60, rows, int(rng.integers(1, 30)), rng.random())
    noting = Noting()
    ours = align_pair_lists(pack(sequences, SCHEME), rows, asked, noting)
    assert np.array_equal(ours, expected(sequences, rows, asked))
    assert set(noting.pairs) == asked_pairs(rows, asked)
    assert set(noting.pairs.values()) <= {1}


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (3, 0), (3, 4)])
def test_nothing_asked_is_nothing_aligned(shape):
    noting = Noting()
    rows, asked = np.arange(shape[0]), np.full(shape, -1)
    scores = align_pair_lists(pack([b"A"] * 3, SCHEME, 2), rows, asked, noting)
    assert scores.dtype == np.int32
    assert scores.shape == shape
    assert (scores == NOT_ALIGNED).all()
    assert not noting.cells


def test_rectangles_are_bounded_and_hold_those_that_ask_alike():
    rng = np.random.default_rng(75)
    sequences = [b"ACDEFGHIKL"] * 30_000
    family = rng.integers(0, 300, 30_000)
    members = [np.flatnonzero(family == f) for f in range(300)]
    rows = rng.permutation(30_000)[:20_000]
    asked = np.stack([rng.choice(members[family[row]], 20) for row in rows])
    noting = Noting(lambda packed, rows, columns, *_: np.zeros((rows.size, columns.size), np.int32))
    scores = align_pair_lists(pack(sequences, SCHEME), rows, asked, noting)
    assert (scores == 0).all()
    sizes = np.prod(noting.cells, axis=1)
    assert sizes.max() <= backends._MOST_CELLS
    # In the order given each rectangle would need 20,000 columns; families have 100.
    assert sizes.sum() < 60 * len(noting.pairs)
    assert set(noting.pairs) == asked_pairs(rows, asked)
