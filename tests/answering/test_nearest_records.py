"""Objects in front of the records, against plain sums over dense scores."""

from dataclasses import replace

import numpy as np
import pytest

from answering.cascades import Problem
from kreinflow.answering import nearest_records
from kreinflow.answering.cascade import nearest_features, pair_features, seed_features
from kreinflow.answering.nearest_records import BY_SEEDS, by_seeds, closeness, closeness_besides
from kreinflow.answering.query_and_answers import NOBODY
from kreinflow.views.objects import Viewed

PROBLEM = Problem()


def test_the_features_of_nearest_records():
    rng = np.random.default_rng(0)
    classes, evidence = rng.integers(-1, 4, (30, 6)), rng.random((30, 6))
    classes[3] = NOBODY
    near = rng.integers(0, 5, 30)
    found = nearest_features(classes, evidence, 4, near)
    assert found.shape == (30, 4, 3)
    for i in range(30):
        for c in range(4):
            own = evidence[i][classes[i] == c]
            share = len(own) / max(1, near[i])
            mean = own.mean() if len(own) else 0.0
            expected = [max(own, default=0.0), mean, share]
            np.testing.assert_allclose(found[i, c], expected, rtol=1e-12)


@pytest.mark.parametrize("q", [3, 14])
def test_the_features_of_seeds(q):
    rng = np.random.default_rng(q)
    decisions, classes = rng.normal(size=(30, 5)), rng.integers(5, size=(30, q))
    scores = -np.sort(-rng.integers(-20, 50, (30, q)).clip(0), axis=1)
    classes[scores == 0] = NOBODY
    found = seed_features(decisions, classes, scores)
    for i in range(30):
        for c in range(5):
            best = max(scores[i][classes[i] == c], default=scores[i].min())
            expected = [decisions[i, c], np.log(1 + best), np.mean(classes[i][:10] == c)]
            np.testing.assert_allclose(found[i, c], expected, rtol=1e-12)


def test_the_features_of_pairs_have_no_infinite_logarithm():
    found = pair_features(np.array([[1.0, 0.0]]), np.array([[2.0, -2.0]]))
    assert found[0].tolist() == [[0.0, 2.0], [np.log(1e-12), -2.0]]


def naive_closeness(records, query, g):
    """Of pairs of objects with all records, -1 for what is not looked at."""
    residues, found = sum(records.lengths.tolist()), []
    for i, row in enumerate(g.tolist()):
        of_protein = set("".join(records.seeds.groups)) - set("ACGTU")
        rate, K = (0.3176, 0.1337) if of_protein else (np.log(3) / 3, 1 / 3)
        chance = max(0, np.log(K * query.lengths[i] * residues) / rate - 18)
        own, shares = query.self_scores[i], []
        for score, theirs in zip(row, records.self_scores.tolist(), strict=True):
            scale = np.sqrt(own * theirs) if score >= 0 else own
            shares.append((max(score, 0) - chance) / max(scale, 1))
        found.append(np.mean(sorted(shares)[-5:]))
    return found


def seed_scores_besides(problem, own, codes, most=99):
    """The scores of the first records that are not of an object's own code, -1 of others."""
    g = np.full((len(own), len(codes)), -1.0)
    for i, code in enumerate(own):
        order, scores = problem.besides(i, np.flatnonzero(codes == code).tolist())
        for j in [j for j in order if codes[j] != code][:most]:
            g[i, j] = scores[j]
    return g


def test_closeness_is_the_mean_of_the_five_closest():
    problem = Problem(4)
    records, query = problem.cascade.records, replace(problem.query, self_scores=np.arange(25.0))
    found = by_seeds(records, query, BY_SEEDS)
    codes = records.classes
    own = np.arange(25) % 5
    g = np.full((25, 40), -1.0)
    for i, (near, scores) in enumerate(found):
        g[i, near[near >= 0]] = scores[near >= 0]
    assert (g > 0).any(axis=1).sum() > 20
    expected = naive_closeness(records, query, g)
    np.testing.assert_allclose(closeness(records, query, found), expected, rtol=1e-12)
    parts = [closeness(records, query.take(part), found[part]) for part in np.arange(25)[:, None]]
    assert np.concatenate(parts).tolist() == closeness(records, query, found).tolist()
    expected = naive_closeness(records, query, seed_scores_besides(problem, own, codes))
    besides = closeness_besides(records, query, own, codes)
    np.testing.assert_allclose(besides, expected, rtol=1e-12)


def test_closeness_without_some_is_by_the_first_of_the_others(monkeypatch):
    problem = Problem(4)
    records, query, codes = problem.cascade.records, problem.query, np.arange(40) // 2
    whole = closeness_besides(records, query, np.full(25, 99), codes)
    assert whole.tolist() == closeness(records, query, by_seeds(records, query, 40)).tolist()
    monkeypatch.setattr(nearest_records, "BY_SEEDS", 3)
    monkeypatch.setattr(nearest_records, "_RANKED", 10)  # object by object
    first = by_seeds(records, query, 1)[:, 0, 0]
    found = closeness_besides(records, query, codes[first], codes)
    g = seed_scores_besides(problem, codes[first], codes, most=3)
    np.testing.assert_allclose(found, naive_closeness(records, query, g), rtol=1e-12)


def test_what_is_no_more_alike_than_chance_is_below_0_and_less_so_the_longer_it_is():
    problem = Problem(4)
    records, none = problem.cascade.records, np.full((3, 2, 9), NOBODY)
    none[:, 1] = 0
    query = problem.query.take(np.arange(3))
    query = replace(query, lengths=np.array([30, 100, 300]), self_scores=np.array([150, 500, 1500]))
    found = closeness(records, query, none)
    assert (found < 0).all()
    assert (np.diff(found) > 0).all()
    assert closeness(replace(records, seeds=None), query, none).tolist() == [0, 0, 0]


def test_there_may_be_fewer_records_than_are_asked_for():
    problem = Problem(2, steps=(2, 99))
    scores, _ = problem.scores()
    scores.rank(np.arange(5), 99)
    features, alignments = scores.nearest(np.arange(5), 99)
    assert alignments.tolist() == [35] * 5
    np.testing.assert_allclose(features[:, :, 5], np.tile(0.2, (5, 5)), rtol=1e-12)


@pytest.mark.parametrize("first", [0, 3, 10])
@pytest.mark.parametrize("most", [1, 3, 4, 11, 20, 32, 33, 40, 99])
def test_candidates_are_those_of_most_seeds_and_then_near_ones_in_turn(first, most, monkeypatch):
    monkeypatch.setattr(nearest_records, "SEEDS_FIRST", first)
    scores, table = PROBLEM.scores()
    for places in (np.array([7, 3]), np.arange(12)):
        scores.rank(places, most)
        expected = [PROBLEM.order(i)[:most] for i in places]
        assert scores.ranked(places, most).tolist() == expected
    assert not table.asked.any()


def test_what_has_no_hit_is_no_candidate_by_seeds():
    """The order of the records says nothing of an object without seeds."""
    problem = Problem(3)
    query = problem.query.objects.sequences
    problem.query = replace(problem.query, objects=Viewed((b"W", *query[1:])))
    scores, _ = problem.scores()
    for most in (4, 20):
        scores.rank(np.arange(25), most)
        assert scores.ranked(np.arange(25), most)[0].tolist() == problem.near(0)[:most]
    features = scores.first(np.arange(25))
    assert (features[0, :, 1:] == 0).all()
    assert (features[1:, :, 1].max(axis=1) > 0).all()


@pytest.mark.parametrize("first", [3, 10])
def test_the_nearest_besides_those_of_its_own_code(first, monkeypatch):
    monkeypatch.setattr(nearest_records, "SEEDS_FIRST", first)
    problem, codes = PROBLEM, PROBLEM.cascade.records.classes
    scores, _ = problem.scores()
    own = np.arange(25) % 5
    scores.rank(np.arange(25), 7, (own, codes))
    found = scores.around(np.arange(25), 7)[:, 5:]
    known = set(problem.landmarks.tolist())
    for i in range(25):
        others = problem.order(i, np.flatnonzero(codes == own[i]).tolist())[:7]
        assert found[i].tolist() == [NOBODY if j in known else j for j in others]
    same = np.zeros(40, dtype=int)
    scores.rank(np.arange(25), 7, (np.zeros(25, dtype=int), same))
    assert (scores.around(np.arange(25), 7)[:, 5:] == NOBODY).all()
