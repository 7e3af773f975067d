"""Sequences that ask for some others each: against parasail, and what a backend is asked for."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from kreinflow.alignment import backends, batches, loops, pair_lists
from kreinflow.alignment.backends import BACKENDS, align_pair_lists
from kreinflow.alignment.engine import NOT_ALIGNED, pack
from pair_list_kinds import KINDS, lists_in
from sequence_pairs import AMINO_ACIDS, parasail_scores, scheme_of

SCHEME = scheme_of()


def families(rng, count, length, changed):
    """Return sequences of 5 families."""
    ancestors = rng.choice(AMINO_ACIDS, (5, length))
    made = []
    for family in rng.integers(0, 5, count):
        child = ancestors[family].copy()
        places = rng.random(length) < changed
        child[places] = rng.choice(AMINO_ACIDS, np.count_nonzero(places))
        made.append(child[: rng.integers(length // 2, length + 1)].tobytes())
    return made


class Noting:
    """A backend that notes the pairs it is asked for, and how large the rectangles are."""

    def __init__(self, backend):
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


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("seed", range(20))
def test_each_distinct_pair_is_aligned_once_and_scores_what_parasail_says(name, seed, monkeypatch):
    rng = np.random.default_rng([72, seed])
    changed, length = (0.2, 180) if seed % 2 else (0.9, 40)
    sequences = families(rng, 60, length, changed)
    monkeypatch.setattr(backends, "_MOST_CELLS", int(rng.choice([50, 400, 10_000])))
    monkeypatch.setattr(backends, "_MOST_ROWS", int(rng.choice([1, 7, 1024])))
    if seed % 3 == 0:  # leave nothing to parasail
        monkeypatch.setattr(backends, "_FEWEST_STEPS", 0)
        monkeypatch.setattr(batches, "COLUMN_STEPS", 1e9)
    rows = rng.integers(0, 60, rng.integers(20, 50))  # some ask twice, and ask each other
    asked = rng.integers(0, 60, (rows.size, rng.integers(1, 30)))  # and some themselves
    asked[rng.random(asked.shape) < rng.random()] = -1
    expected = np.full(asked.shape, NOT_ALIGNED, dtype=np.int32)
    r, c = np.nonzero(asked >= 0)
    expected[r, c] = parasail_scores(sequences, rows[r], asked[r, c], SCHEME)
    assert (expected.max() > 255) == (changed < 0.5)
    noting = Noting(BACKENDS[name])
    ours = align_pair_lists(pack(sequences, SCHEME, 1 + seed % 2), rows, asked, noting)
    assert ours.dtype == np.int32
    assert np.array_equal(ours, expected)
    assert set(noting.pairs) == asked_pairs(rows, asked)
    assert set(noting.pairs.values()) <= {1}


each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


def noted_pairs(monkeypatch):
    """Note the pairs of lists that parasail aligns; the list may be cleared."""
    noted = []
    real = pair_lists.align_pairs

    def align(packed, left, right):
        noted.extend(zip(left.tolist(), right.tolist(), strict=True))
        return real(packed, left, right)

    monkeypatch.setattr(pair_lists, "align_pairs", align)
    return noted


def asked_lists(rng, count):
    """Return rows and what they ask for: some ask twice, and for each other, and themselves."""
    rows = rng.integers(0, count, rng.integers(1, count))
    asked = rng.integers(0, count, (rows.size, rng.integers(1, 70)))
    asked[rng.random(asked.shape) < rng.random()] = -1
    return rows, asked


@each_kind
@pytest.mark.parametrize("seed", range(8))
def test_lists_in_lanes_score_what_parasail_says_whatever_the_threads(kind, seed, monkeypatch):
    rng = np.random.default_rng([76, seed])
    sequences = families(rng, 90, int(rng.choice([30, 180, 500])), rng.choice([0.1, 0.4, 0.9]))
    sequences += [s[: rng.integers(1, 40)] for s in sequences[:20]]
    rows, asked = asked_lists(rng, len(sequences))
    expected = np.full(asked.shape, NOT_ALIGNED, dtype=np.int32)
    r, c = np.nonzero(asked >= 0)
    expected[r, c] = parasail_scores(sequences, rows[r], asked[r, c], SCHEME)
    by_parasail = noted_pairs(monkeypatch)
    with lists_in(kind):
        for threads in (1, 2, 3):
            packed = pack(sequences, SCHEME, threads)
            assert np.array_equal(align_pair_lists(packed, rows, asked, BACKENDS["auto"]), expected)
    assert not by_parasail


DEAR = scheme_of("blosum62", 11, 1, factor=9)


@cache
def long_sequences():
    """Sequences of some thousand residues, and all their scores by parasail for both schemes."""
    rng = np.random.default_rng(77)
    long = rng.choice(AMINO_ACIDS, 8_000)
    sequences = [long.tobytes(), long[500:7_500].tobytes(), *families(rng, 30, 200, 0.5)]
    sequences += [long[k : k + 4_000].tobytes() for k in range(5)]
    every = np.indices((37, 37)).reshape(2, -1)
    return sequences, [parasail_scores(sequences, *every, scheme) for scheme in (SCHEME, DEAR)]


@each_kind
def test_long_sequences_and_scores_beyond_16_bits_are_left_to_parasail(kind, monkeypatch):
    sequences, (expected, of_dear) = long_sequences()
    asked = np.tile(np.arange(37), (37, 1))
    left = noted_pairs(monkeypatch)
    with lists_in(kind):
        packed = pack(sequences, SCHEME, 2)
        ours = align_pair_lists(packed, np.arange(37), asked, BACKENDS["auto"])
        assert np.array_equal(ours.ravel(), expected)
        assert {min(pair) for pair in left} == {0, 1}
        assert len(left) == 37 + 36
        left.clear()
        ours = align_pair_lists(pack(sequences, DEAR, 2), np.arange(37), asked, BACKENDS["auto"])
    assert np.array_equal(ours.ravel(), of_dear)
    assert len(left) == 37 + 36 + 15, "4,000 residues in common score more than 32,767"


@each_kind
@pytest.mark.parametrize("per_list", [10, 20, 32, 64])
def test_lists_fill_vectors_and_each_pair_has_a_lane_of_its_own(kind, per_list, monkeypatch):
    rng = np.random.default_rng(78)
    sequences = [rng.choice(AMINO_ACIDS, 100).tobytes() for _ in range(300)]
    noted = []
    real = loops.align_vectors

    def noting(tables, packed, pairs, ranges, vectors, scores):
        noted.extend((tables[0][2], pairs, *ranges[vector]) for vector in range(*vectors))
        return real(tables, packed, pairs, ranges, vectors, scores)

    monkeypatch.setattr(loops, "align_vectors", noting)
    left = np.repeat(np.arange(100), per_list)
    right = np.concatenate([100 + rng.permutation(200)[:per_list] for _ in range(100)])
    with lists_in(kind):
        packed = pack(sequences, SCHEME)
        tables = pair_lists.table_schemes(packed)
        pair_lists.align_lists(packed, left, right, tables)
    done = []
    for lanes, (queries, records, lane, slot), begin, end in noted:
        part = slice(begin, end)
        assert np.unique(lane[part]).size == end - begin
        assert lane[part].max() < lanes
        assert np.unique(np.stack([queries[part], slot[part]]), axis=1).shape[1] <= 6
        if kind[1] == "shuffle":
            assert np.array_equal(slot[part], lane[part] // 16)
        done += zip(queries[part].tolist(), records[part].tolist(), strict=True)
    assert len(done) == len(set(done)) == left.size
    full = left.size / sum(lanes for lanes, *_ in noted)
    assert full > (0.95 if per_list > 20 else 0.75 if kind[1] == "permute" else 0.6)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (3, 0), (3, 4)])
def test_nothing_asked_is_nothing_aligned(shape):
    rows, asked = np.arange(shape[0]), np.full(shape, -1)
    scores = align_pair_lists(pack([b"A"] * 3, SCHEME, 2), rows, asked, backend=None)
    assert np.array_equal(scores, np.full(shape, NOT_ALIGNED))


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


@each_kind
@pytest.mark.parametrize("per_list", [2, 30])
def test_short_lists_begin_with_16_bits_where_8_have_no_more_slots(kind, per_list, monkeypatch):
    rng, began, real = np.random.default_rng(79), [], pair_lists._align

    def noting(scheme, packed, letters, queries, records):
        began.extend([scheme.lanes.code.bits] * bool(queries.size))
        return real(scheme, packed, letters, queries, records)

    monkeypatch.setattr(pair_lists, "_align", noting)
    sequences = [rng.choice(AMINO_ACIDS, 100).tobytes() for _ in range(300)]
    left, right = np.repeat(np.arange(100), per_list), 100 + np.arange(100 * per_list) % 200
    with lists_in(kind):
        packed = pack(sequences, SCHEME)
        pair_lists.align_lists(packed, left, right, pair_lists.table_schemes(packed))
    assert began == [16 if per_list == 2 and kind[1] == "permute" else 8]
