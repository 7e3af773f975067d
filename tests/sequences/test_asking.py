import itertools

import numpy as np
import pytest

from kreinflow.alignment.store import ScoreStore
from kreinflow.base.errors import InputError
from kreinflow.kernels.function import FunctionKernel
from kreinflow.sequences.asking import CHECKED, Asking
from kreinflow.sequences.payload import digest
from kreinflow.sequences.scores import AskedScores
from own_scores import Counting

X = np.random.default_rng(2).normal(size=60)
IDS = [f"o{i}" for i in range(60)]
DIGESTS = [digest(x.tobytes()) for x in X]


def product(a, b):
    return np.multiply.outer(a, b)


def difference(a, b):
    return np.subtract.outer(a, b)


def asking(call, **settings):
    return Asking(X, FunctionKernel({"function": "own:f", **settings}, call), IDS)


@pytest.mark.parametrize(
    ("function", "kind"), [(product, "similarity"), (difference, "asymmetric")]
)
@pytest.mark.parametrize("blocks", [1, 3])
def test_the_store_asks_for_each_pair_once(function, kind, blocks, tmp_path):
    every, few = np.arange(60), np.array([3, 5, 17, 40])
    rectangles = [(every, few), (few, every), (every[:9], every[4:20])]
    counting = Counting(function)
    agreed = 0
    for block in range(blocks):
        scorer = asking(counting, kind=kind, batch=7)
        report = ScoreStore(tmp_path, scorer, DIGESTS).fill(rectangles, block, blocks)
        agreed += report.agreed
        assert scorer.asked == report.aligned + report.self_scores + report.agreed
    wanted = {(i, j) for rows, columns in rectangles for i in rows for j in columns if i != j}
    if kind == "similarity":
        wanted = {tuple(sorted(pair)) for pair in wanted}
    assert len(counting.pairs) == len(wanted) + 60 + agreed
    assert 0 < agreed <= blocks * CHECKED * (1 if kind == "asymmetric" else 2)
    store = ScoreStore(tmp_path, asking(None, kind=kind), DIGESTS)
    for rows, columns in rectangles:
        out = np.empty((rows.size, columns.size))
        store.gather_into(out, rows, columns)
        np.testing.assert_array_equal(out, function(X[rows], X[columns]))
    again = asking(counting, kind=kind)
    before = len(counting.pairs)
    assert ScoreStore(tmp_path, again, DIGESTS).fill(rectangles).aligned == 0
    assert len(counting.pairs) == before
    other = ScoreStore(tmp_path, asking(counting, kind=kind, version="2"), DIGESTS)
    assert other.fill([(every, few)]).reused == 0


@pytest.mark.parametrize(
    ("function", "kind"), [(product, "similarity"), (difference, "asymmetric")]
)
def test_in_memory_each_pair_is_asked_for_once(function, kind):
    counting, rng = Counting(function), np.random.default_rng(4)
    scores = AskedScores(asking(counting, kind=kind))
    wanted = set()
    for _ in range(6):
        rows, columns = rng.permutation(60)[:20], rng.permutation(60)[:6]
        np.testing.assert_array_equal(
            scores.rectangle(rows, columns), function(X[rows], X[columns])
        )
        wanted |= {(i, j) for i in rows for j in columns if i != j}
    if kind == "similarity":
        wanted = {tuple(sorted(pair)) for pair in wanted}
    agreed = scores.asking.agreed
    assert scores.asking.asked == len(wanted) + 60 + agreed
    assert len(counting.pairs) == scores.asking.asked
    np.testing.assert_array_equal(scores.self_scores(), np.diagonal(function(X, X)))


def test_what_is_known_alone_is_not_asked_for():
    counting = Counting(product)
    scores = AskedScores(asking(counting), np.arange(58.0))
    assert counting.pairs == [(x, x) for x in X[58:]]
    assert scores.self_scores()[:58].tolist() == list(range(58))


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (difference, "similarity", r"the score of o\d+ with o\d+ is .* of o\d+ with o\d+. If it"),
        (None, "dissimilarity", "the second time. A pair must have one number"),
        (None, "asymmetric", "the second time. A pair must have one number"),
    ],
)
def test_another_answer_is_refused(function, kind, message):
    calls = itertools.count()

    def other(a, b):
        return product(np.abs(a), np.abs(b)) + next(calls)

    rows = np.arange(30)
    with pytest.raises(InputError, match=message):
        asking(function or other, kind=kind).score(rows, rows + 30, np.ones((30, 30), dtype=bool))


def test_rounding_is_no_other_answer():
    def rounding(a, b):
        return product(a, b) * (1 + 1e-12 * len(a))

    scorer = asking(rounding)
    scorer.score(np.arange(30), np.arange(30, 60), np.ones((30, 30), dtype=bool))
    assert scorer.agreed == 2 * CHECKED
