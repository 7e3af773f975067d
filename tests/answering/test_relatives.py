"""Relatives: what is said of each object, against plain sums over dense scores."""

from collections import Counter
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import softmax

from answering.cascades import Problem
from kreinflow.answering import nearest_records
from kreinflow.answering import relatives as module
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.answering.query_and_answers import EVERY_LEVEL, NOBODY, REASONS, Answers
from kreinflow.answering.relatives import NoRelative, Relatives, overwhelming
from kreinflow.answering.unknown_pvalue import Strangeness

FEW, NEAR, FAR = 2, 4, 9


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Few of the nearest records: there are 40."""
    monkeypatch.setattr(module, "FEW", FEW)
    monkeypatch.setattr(module, "NEAREST", NEAR)
    monkeypatch.setattr(module, "MORE", FAR)
    monkeypatch.setattr(nearest_records, "SEEDS_FIRST", 3)


def plain(problem, i, q):
    """A(x) of one object: its records, normalised scores and -ln E."""
    records, query = problem.cascade.records, problem.query
    known = sorted({j for j in problem.landmarks.tolist() if j >= 0})
    around = known + [j for j in problem.order(i)[:q] if j not in known]
    constants = problem.cascade.evidence.constants
    likeness, gains = [], []
    for j in around:
        s = float(problem.S[i, j])
        likeness.append(s / np.sqrt(query.self_scores[i] * records.self_scores[j]))
        space = constants["K"] * query.lengths[i] * records.lengths[j]
        gains.append(-np.log(space * np.exp(-constants["lambda"] * s)))
    return np.array(around), np.array(likeness), np.array(gains)


def mean(values, k):
    return np.sort(values)[::-1][:k].mean()


@cache
def sums(seed, seeds_first):
    """A problem, what a model says of its objects, T and what strangeness rests on, all plain.

    They depend on ``nearest_records.SEEDS_FIRST``, which tests change.
    """
    problem = Problem(seed=seed, n=60)
    first = softmax(problem.query.decisions, axis=1)
    last = softmax(1.5 * problem.query.decisions, axis=1)
    T = {q: [mean(plain(problem, i, q)[2], 3) for i in range(60)] for q in (0, FEW, NEAR, FAR)}
    of = {}
    for q, p in ((0, first), (NEAR, last)):
        parts = [plain(problem, i, q) for i in range(60)]
        of[q] = np.array(
            [[-mean(n, 5), -mean(e, 5), -p[i].max()] for i, (_, n, e) in enumerate(parts)]
        )
    return problem, first, last, T, of


def made_up(seed=0, **settings):
    """Objects, relatives with thresholds that part them, and what a model says of them."""
    problem, first, last, T, of = sums(seed, nearest_records.SEEDS_FIRST)
    rng = np.random.default_rng(seed)
    calibrating = [of[q][:40] + 0.01 * rng.normal(size=(40, 3)) for q in (0, NEAR)]
    values = {
        "null": NoRelative(float(np.quantile(T[NEAR], 0.3)), float(np.quantile(T[FAR], 0.15))),
        "strangeness": Strangeness(*calibrating, false_alarms=0.2),
        "sure_threshold": 0.45,
        **settings,
    }
    relatives = Relatives(problem.cascade.records, problem.cascade.evidence, **values)
    return SimpleNamespace(problem=problem, relatives=relatives, first=first, last=last, T=T, of=of)


def answered(it, places=slice(None)):
    query, table = it.problem.some(places)
    before = Answers.of_first(it.last[places], 0.6)
    before = replace(before, first=it.first[places].max(axis=1))
    query = replace(query, ask=ScoreCache(query.ask, len(it.relatives.records)))
    return it.relatives.answer(query, it.relatives.before_cascade(query, before)), table


@pytest.mark.parametrize("sure", [0.45, None])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_is_what_plain_sums_say(seed, sure):
    it = made_up(seed, sure_threshold=sure)
    found, table = answered(it)
    relatives, problem = it.relatives, it.problem
    p = relatives.strangeness.p_values(it.of[0], it.of[NEAR])
    np.testing.assert_array_equal(found.p_value, p)
    asks = relatives.strangeness.asks(it.of[0])
    codes, null = relatives.records.classes, relatives.null
    known = {j for j in problem.landmarks.tolist() if j >= 0}
    reasons, seen = set(), set()
    for i in range(60):
        label, top = it.last[i].argmax(), it.last[i].max()
        around, _, gains = plain(problem, i, NEAR)
        goes = asks[i] or (sure and top < 0.9) or it.T[FEW][i] <= null.near
        further = goes and it.T[NEAR][i] <= null.near
        q = FAR if further else NEAR if goes else FEW if it.T[0][i] <= null.near else 0
        seen.add(q)
        own, others = gains[codes[around] == label], gains[codes[around] != label]
        best = max(own, default=-np.inf)
        hit = best >= np.log(1e10) and best - max(others, default=-np.inf) >= np.log(1e3)
        unsure = top < 0.9 and not hit if sure else top < 0.6
        reason = "unsure" if unsure else ""
        reason = "unknown" if p[i] <= 0.2 else reason
        best = plain(problem, i, FAR)[2].max()
        alone = further and it.T[FAR][i] <= null.far and best < np.log(1e10)
        reason = "no relative" if alone else reason
        assert found.reason[i] == reason
        reasons.add(reason)
        aligned = set(plain(problem, i, q)[0]) if q else set()
        # The landmarks' scores are known.
        assert set(np.flatnonzero(table.asked[i])) == aligned - known
        if not q:
            assert found.nearest[i] == NOBODY
            continue
        around, _, gains = plain(problem, i, q)
        fits = np.ones(len(around), dtype=bool)
        if reason in ("", "unsure"):
            fits = codes[around] == label
        if fits.any():
            best = np.isclose(gains, gains[fits].max(), rtol=1e-12) & fits
            assert found.nearest[i] in around[best]
            assert found.nearest_score[i] == problem.S[i, found.nearest[i]]
    assert reasons == set(REASONS)
    assert seen >= ({NEAR, FAR} if sure else {FEW, NEAR, FAR})
    assert table.asked.max() == 1, "a pair was asked for twice"


@pytest.mark.parametrize("seed", range(3))
def test_an_object_is_answered_as_deep_as_it_is_like_a_record(seed):
    """By plain sums: the likeliest node on each level of its way has a record that is like it."""
    without, _ = answered(made_up(seed))
    unknown, alone = (without.reason == reason for reason in REASONS[2:])
    it = made_up(seed)
    paths = [(code % 2, 2 + code, 20 + code if code else -1) for code in range(it.last.shape[1])]
    codes, likeness = it.relatives.records.classes, np.full((60, 3), -np.inf)
    for i, p in enumerate(it.last):
        around, alike, _ = plain(it.problem, i, FEW)
        for level in range(3):
            sums = Counter()
            for path, own in zip(paths, p, strict=True):
                sums[path[level]] += own
            del sums[-1]
            node = max(sums, key=sums.get)
            mine = [paths[code][level] == node for code in codes[around]]
            likeness[i, level] = alike[mine].max(initial=-np.inf)
    needed = np.nanquantile(np.where(likeness > -np.inf, likeness, np.nan), [0.4, 0.2, 0.6])
    found, table = answered(made_up(seed, needed=needed, paths=np.array(paths)))
    for i in range(60):
        levels = 0
        while levels < (2 if unknown[i] else 3) and likeness[i, levels] > needed[levels]:
            levels += 1
        assert found.deepest[i] == (0 if alone[i] else levels)
    assert set(found.deepest) == {0, 1, 2, 3}
    known = [j for j in it.problem.landmarks.tolist() if j >= 0]
    for i in range(60):
        nearest = set(plain(it.problem, i, FEW)[0]) - set(known)
        assert nearest <= set(np.flatnonzero(table.asked[i]))
    assert table.asked.max() == 1, "a pair was asked for twice"
    # Nothing else changes. What has no relative is told nothing in any case.
    np.testing.assert_array_equal(without.deepest, np.where(alone, 0, EVERY_LEVEL))
    for name in set(Answers.__dataclass_fields__) - {"deepest"}:
        np.testing.assert_array_equal(getattr(found, name), getattr(without, name))
    none, _ = answered(made_up(seed, needed=np.full(1, np.inf), paths=np.array(paths)))
    assert not none.deepest.any()


def test_limits_of_levels_need_the_nodes_of_classes():
    """Else a file that lost an array would set no limit, in silence."""
    given = vars(made_up(0).relatives) | {"null": None, "needed": np.ones(2)}
    assert Relatives.restored(**{**given, "paths": np.zeros((3, 2), dtype=int)}).needed.all()
    with pytest.raises(ValueError, match="lack the nodes"):
        Relatives.restored(**given)


def test_what_has_an_evalue_of_1e_10_has_a_relative():
    """Whatever the others say, and among the far ones too."""
    it = made_up(2, null=NoRelative(np.inf, np.inf), strangeness=None)
    found, _ = answered(it)
    near, far = (
        np.array([plain(it.problem, i, q)[2].max() >= np.log(1e10) for i in range(60)])
        for q in (NEAR, FAR)
    )
    np.testing.assert_array_equal(found.reason == "no relative", ~far)
    assert 0 < near.sum() < far.sum() < 60


def test_what_is_not_asked_for_is_not_told():
    it = made_up(2, null=None, strangeness=None, sure_threshold=None)
    found, table = answered(it)
    assert np.isnan(found.p_value).all()
    assert set(found.reason) == {"", "unsure"}
    np.testing.assert_array_equal(found.rejected, it.last.max(axis=1) < 0.6)
    assert not table.asked.any()


def test_an_overwhelming_hit_is_no_doubt():
    classes = np.array([0, 1, 1])
    around = np.array([[0, 1, 2]])
    for gains, label, expected in (
        ([25.0, 5.0, 3.0], 0, True),
        ([23.1, 5.0, 3.0], 0, True),
        ([22.9, 5.0, 3.0], 0, False),  # E above 1e-10
        ([25.0, 19.0, 3.0], 0, False),  # not a thousand times
        ([25.0, 5.0, 3.0], 1, False),
        ([np.nan, 5.0, 30.0], 1, True),
        ([np.nan] * 3, 1, False),
    ):
        assert (overwhelming(classes, around, np.array([gains])) == label) == [expected]
    alone = np.array([[0, NOBODY, NOBODY]])
    assert overwhelming(classes, alone, np.array([[25.0, 5.0, 5.0]])) == [0]
    equal, none = np.array([[25.0, 25.0, 3.0]]), around[:, :0]
    assert overwhelming(classes, none, equal[:, :0]) == [NOBODY]
    assert overwhelming(classes, around, equal) == [NOBODY]
