"""Scores that are asked for: each pair once, and what is known is not asked."""

import numpy as np
import pytest

from answering.cascades import Table
from kreinflow.answering import nearest_records as module
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.answering.query_and_answers import NOBODY


def tables(seed, n=12, records=20, symmetric=False):
    S = np.random.default_rng(seed).integers(0, 10**6, (n, records))
    return np.minimum(S, S.T) if symmetric else S


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_queries", [None, 12])
def test_each_pair_is_asked_once_and_no_other(seed, n_queries):
    rng = np.random.default_rng(seed)
    log = Table(tables(seed))
    asked = ScoreCache(log, 20, n_queries=n_queries)
    wanted = np.zeros(log.S.shape, dtype=bool)
    for _ in range(8):
        queries = rng.permutation(12)[: rng.integers(0, 13)]
        records = rng.integers(-1, 20, (len(queries), rng.integers(0, 9)))  # some stand twice
        found = asked(queries, records)
        for i, row in zip(queries, records, strict=True):
            wanted[i, row[row >= 0]] = True
        expected = np.where(records >= 0, log.S[queries[:, None], records], np.nan)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(log.asked, wanted)
        assert asked.aligned == wanted.sum()


@pytest.mark.parametrize("n_queries", [None, 12])
def test_what_was_aligned_elsewhere_is_not_asked(n_queries):
    log = Table(tables(3))
    asked = ScoreCache(log, 20, n_queries=n_queries)
    asked.know(np.array([2, 5]), np.array([7, 1, 3]), log.S[np.ix_([2, 5], [7, 1, 3])])
    found = asked(np.array([5, 2]), np.array([[1, 3, 4], [NOBODY, 7, 7]]))
    np.testing.assert_array_equal(found, [log.S[5, [1, 3, 4]], [np.nan, *log.S[2, [7, 7]]]])
    assert log.asked.sum() == asked.aligned == 1
    assert log.asked[5, 4] == 1


@pytest.mark.parametrize("symmetric", [False, True])
def test_what_is_known_elsewhere_is_not_asked(symmetric):
    """Nor kept: it is looked up again."""
    S = tables(5, 20, 20, symmetric=True)
    log = Table(S)
    asked = ScoreCache(
        log, 20, symmetric, lambda i, j: np.where((j % 3 == 0) & (j >= 0), S[i[:, None], j], np.nan)
    )
    queries = np.arange(20)
    records = np.random.default_rng(2).integers(-1, 20, (20, 6))
    for _ in range(2):
        expected = np.where(records >= 0, S[queries[:, None], records], np.nan)
        np.testing.assert_array_equal(asked(queries, records), expected)
    assert not log.asked[:, ::3].any()
    assert asked.aligned == log.asked.sum() > 0


@pytest.mark.parametrize("table", [0, 1 << 21])
def test_a_pair_of_one_set_has_no_direction(table, monkeypatch):
    monkeypatch.setattr(module, "_TABLE", table)
    log = Table(tables(4, 15, 15, symmetric=True))
    asked = ScoreCache(log, 15, symmetric=True)
    everyone = np.tile(np.arange(15), (6, 1))
    first = asked(np.arange(6), everyone)
    np.testing.assert_array_equal(first, log.S[:6])
    assert asked.aligned == log.asked.sum()
    both = log.asked + log.asked.T
    for known in range(10):
        again = asked(np.array([known]), np.arange(6)[None, :])
        np.testing.assert_array_equal(again, log.S[[known], :6])
    assert asked.aligned == log.asked.sum()
    assert (both[np.triu_indices(15, 1)] <= 2).all()


def test_what_is_kept_is_not_copied_for_each_question(monkeypatch):
    copied = []
    insert = np.insert
    monkeypatch.setattr(np, "insert", lambda *given: copied.append(len(given[0])) or insert(*given))
    monkeypatch.setattr(module, "_SMALL", 0)
    S = np.random.default_rng(0).integers(0, 10**6, (400, 100))
    asked = ScoreCache(Table(S), 100)
    everyone = np.arange(100)[None, :]
    for query in range(400):
        np.testing.assert_array_equal(asked(np.array([query]), everyone)[0], S[query])
    assert asked.aligned == 40_000
    assert 0 < sum(copied) < 20 * asked.aligned, "400 times as often"
    for query in range(400):
        np.testing.assert_array_equal(asked(np.array([query]), everyone)[0], S[query])
    assert asked.aligned == 40_000
