"""Pairs that a cascade asks a score of the user's for: each once, by whatever job."""

import threading
from typing import ClassVar

import numpy as np
import pytest

from kreinflow.alignment import segments
from kreinflow.alignment.store import ScoreStore
from kreinflow.base.errors import InputError
from kreinflow.fitting.asked_pairs import AskedPairs
from kreinflow.kernels.function import FunctionKernel
from kreinflow.sequences.asking import CHECKED, Asking
from kreinflow.sequences.payload import digest
from own_scores import Counting

X = np.random.default_rng(3).normal(size=50)
IDS = [f"o{i}" for i in range(50)]
DIGESTS = tuple(digest(x.tobytes()) for x in X)
KINDS = [
    ("similarity", np.multiply.outer),
    ("dissimilarity", lambda a, b: abs(np.subtract.outer(a, b))),
]


def scorer_of(call, kind="similarity"):
    return Asking(X, FunctionKernel({"function": "own:f", "kind": kind}, call), IDS)


def lists(seed, rows=8, width=12):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 50, rows), rng.integers(-1, 50, (rows, width))


def expected(kind, rows, others):
    S = X[rows][:, None] * X[others]
    if kind == "dissimilarity":
        S = (X[rows][:, None] - X[others]) ** 2
    return np.where(others >= 0, S, np.nan)


@pytest.mark.parametrize(("kind", "function"), KINDS)
def test_no_pair_is_asked_for_twice(kind, function, tmp_path):
    few, every, columns = np.array([4, 9, 20]), np.arange(50), Counting(function)
    ScoreStore(tmp_path, scorer_of(columns, kind), DIGESTS).fill([(every, few)])
    counting, wanted, again = Counting(function), set(), 0
    for job in range(3):
        scorer = scorer_of(counting, kind)
        pairs = AskedPairs(tmp_path, scorer, DIGESTS)
        own = set()
        for seed in range(job, job + 3):  # most are those of the job before
            rows, others = lists(seed)
            np.testing.assert_allclose(pairs(rows, others), expected(kind, rows, others))
            own |= {
                frozenset((i, j))
                for i, row in zip(rows.tolist(), others.tolist(), strict=True)
                for j in row
                if j >= 0
            }
        assert pairs.aligned == len(own)
        wanted |= own
        again += scorer.agreed
        assert f"asked for {scorer.asked:,} pairs" in pairs.said()
    fresh = {pair for pair in wanted if len(pair) == 2 and not pair & set(few.tolist())}
    asked = [frozenset((float(x), float(y))) for x, y in counting.pairs]
    assert {frozenset(map(float, X[list(pair)])) for pair in fresh} == set(asked)
    assert len(asked) == len(fresh) + again
    assert 0 < again <= 3 * 2 * CHECKED


class Listed(FunctionKernel):
    """A score that takes any pairs in one call."""

    by_pairs = True
    calls: ClassVar = []

    def values(self, X, Y, place, wanted):
        self.calls.append([(X[i], Y[j]) for i, j in np.argwhere(wanted)])
        return np.where(wanted, np.multiply.outer(X, Y), np.nan)


def test_what_takes_any_pairs_is_asked_for_lists_at_once(tmp_path):
    rows, others = lists(7)
    for job in range(2):
        kernel = Listed({"function": "own:f"}, np.multiply.outer)
        scorer = Asking(X, kernel, IDS)
        pairs = AskedPairs(tmp_path, scorer, DIGESTS)
        expected_scores = expected("similarity", rows, others)
        np.testing.assert_array_equal(pairs(rows, others), expected_scores)
        assert scorer.asked == sum(map(len, Listed.calls))
        assert len(Listed.calls) == (2 if job == 0 else 0)  # those that are checked are the second
        asked = [frozenset(pair) for pair in Listed.calls[0]] if job == 0 else []
        assert len(set(asked)) == len(asked)
        Listed.calls.clear()


def test_what_was_written_before_a_kill_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(segments, "_SECONDS_PER_SEGMENT", 0)
    counting = Counting(np.multiply.outer)

    def dies(a, b):
        if len(counting.pairs) > 30:
            raise KeyboardInterrupt
        return counting(a, b)

    rows, others = lists(5)
    with pytest.raises(KeyboardInterrupt):
        AskedPairs(tmp_path, scorer_of(dies), DIGESTS)(rows, others)
    before = len(counting.pairs)
    scorer = scorer_of(counting)
    found = AskedPairs(tmp_path, scorer, DIGESTS)(rows, others)
    np.testing.assert_array_equal(found, expected("similarity", rows, others))
    every = [frozenset(map(float, pair)) for pair in counting.pairs]
    twice = len(every) - len(set(every))
    assert before > 30
    assert twice <= 4 * CHECKED + 12  # those that were checked, and the row that it died in


def test_jobs_at_the_same_time_share_what_they_ask_for(tmp_path):
    counting, rows = Counting(np.multiply.outer), np.arange(20)
    others = np.tile(np.arange(20, 50), (20, 1))
    jobs = [AskedPairs(tmp_path, scorer_of(counting), DIGESTS) for _ in range(4)]
    threads = [threading.Thread(target=job, args=(rows, others)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counting.pairs) == 600 + sum(job._scorer.agreed for job in jobs)
    for job in jobs:
        np.testing.assert_array_equal(job(rows, others), np.multiply.outer(X[:20], X[20:]))


def test_a_score_that_changes_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    pairs = AskedPairs(tmp_path, scorer_of(lambda a, b: rng.random((len(a), len(b)))), DIGESTS)
    with pytest.raises(InputError, match="A pair must have one number"):
        pairs(*lists(1))
