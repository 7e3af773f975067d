"""Objects in front of the records, against plain sums over dense scores."""

import numpy as np
import pytest
from scipy.special import log_softmax

from answering.cascades import Problem
from kreinflow.answering.cascade import logit, nearest_features, pair_features
from kreinflow.answering.query_and_answers import NOBODY


def test_the_features_of_nearest_records():
    rng = np.random.default_rng(0)
    decisions = rng.normal(size=(30, 4))
    classes, evidence = rng.integers(-1, 4, (30, 6)), rng.random((30, 6))
    classes[3] = NOBODY
    found = nearest_features(decisions, classes, evidence)
    assert found.shape == (30, 4, 4)
    for i in range(30):
        asked = classes[i] >= 0
        for c in range(4):
            own = evidence[i][classes[i] == c]
            share = len(own) / max(1, asked.sum())
            mean = own.mean() if len(own) else 0.0
            expected = [decisions[i, c], max(own, default=0.0), mean, share]
            np.testing.assert_allclose(found[i, c], expected, rtol=1e-12)


def test_the_features_of_pairs_have_no_infinite_logarithm():
    found = pair_features(np.array([[1.0, 0.0]]), np.array([[2.0, -2.0]]))
    assert found[0].tolist() == [[0.0, 2.0], [np.log(1e-12), -2.0]]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_conditional_logit(count):
    rng = np.random.default_rng(count)
    features, weights = 5 * rng.normal(size=(20, 4, count)), rng.normal(size=count)
    found = logit(features, weights)
    np.testing.assert_allclose(np.log(found), log_softmax(features @ weights, axis=1), atol=1e-12)
    np.testing.assert_array_equal(logit(features[7:8], weights), found[7:8])


@pytest.mark.parametrize("evidence", ["evalue", "normalised"])
def test_the_nearest_are_asked(evidence):
    problem = Problem(1, evidence=evidence)
    scores, table = problem.scores()
    places = np.array([3, 0, 11, 24])
    scores.rank(places, 6)
    codes, landmarks = problem.cascade.records.classes, set(problem.landmarks.tolist())
    for q in (2, 6):
        features, alignments = scores.nearest(places, q)
        for row, place in enumerate(places.tolist()):
            asked, said = problem.order(place)[:q], problem.evidence(place)
            assert alignments[row] == len(set(asked) - landmarks)
            for c in range(5):
                own = [said[j] for j in asked if codes[j] == c]
                mean = np.mean(own) if own else 0.0
                expected = [problem.query.decisions[place, c], max(own, default=0), mean]
                np.testing.assert_allclose(features[row, c], [*expected, len(own) / q], rtol=1e-12)
    assert table.asked.max() == 1, "the second step asks what the first did not"
    assert not table.asked[:, problem.landmarks[:-1]].any(), "these scores are known"
    assert table.asked[places].sum() == table.asked.sum() == alignments.sum()


def test_there_may_be_fewer_records_than_are_asked_for():
    problem = Problem(2, steps=(2, 99))
    scores, _ = problem.scores()
    scores.rank(np.arange(5), 99)
    features, alignments = scores.nearest(np.arange(5), 99)
    assert alignments.tolist() == [35] * 5
    np.testing.assert_allclose(features[:, :, 3], np.tile(0.2, (5, 5)), rtol=1e-12)


def test_members_vote():
    problem = Problem(3)
    scores, table = problem.scores()
    places = np.arange(25)
    scores.rank(places, 6)
    scores.nearest(places, 6)
    before = np.random.default_rng(0).dirichlet(np.ones(5), size=25)
    machines = problem.cascade.machines
    votes, alignments, voting = scores.votes(places, before, machines, 2, 6)
    known = {tuple(pair) for pair in machines.pairs.tolist()}
    codes = problem.cascade.records.classes
    assert 0 < voting.sum() < 25
    for i in range(25):
        two = tuple(sorted(np.argsort(-before[i])[:2].tolist()))
        assert voting[i] == (two in known)
        asked = set(problem.order(i)[:6])
        asked |= set(np.flatnonzero(np.isin(codes, two)).tolist()) if voting[i] else set()
        assert alignments[i] == len(asked - set(problem.landmarks.tolist()))
        assert np.flatnonzero(votes[i]).tolist() == (list(two) if voting[i] else [])
        assert votes[i].sum() == 0
    assert table.asked.max() == 1
    assert table.asked.sum() == alignments.sum()


def test_the_best_record_of_a_class():
    problem = Problem(4)
    scores, _ = problem.scores()
    places = np.arange(25)
    scores.rank(places, 6)
    scores.nearest(places, 6)
    before = np.random.default_rng(0).dirichlet(np.ones(5), size=25)
    *_, voting = scores.votes(places, before, problem.cascade.machines, 3, 6)
    codes, none = problem.cascade.records.classes, 0
    for label in range(5):
        for members in (False, True):
            labels = np.full(25, label)
            asked = scores.asked(places, 6, members)
            found = scores.best(places, labels, asked, scores.evidence)
            for i, (best, score) in enumerate(zip(*found, strict=True)):
                asked = set(problem.order(i)[:6])
                if members and voting[i]:
                    top = np.argsort(-before[i])[:3]
                    for pair in problem.cascade.machines.pairs:
                        if np.isin(pair, top).all():
                            asked |= set(np.flatnonzero(np.isin(codes, pair)).tolist())
                said = problem.evidence(i)
                own = sorted(j for j in asked if codes[j] == label)
                if not own:
                    none += 1
                    assert best == NOBODY
                    assert np.isnan(score)
                    continue
                assert best == max(own, key=lambda j, said=said: (round(said[j], 12), -j))
                assert score == problem.S[i, best]
    assert none


def test_the_nearest_besides_those_of_its_own_code():
    problem = Problem()
    codes = problem.cascade.records.classes
    scores, _ = problem.scores()
    own = np.arange(25) % 5
    scores.rank(np.arange(25), 7, (own, codes))
    found = scores.around(np.arange(25), 7)[:, 5:]
    known = set(problem.landmarks.tolist())
    for i in range(25):
        others = [j for j in problem.order(i) if codes[j] != own[i]][:7]
        assert found[i].tolist() == [NOBODY if j in known else j for j in others]
    same = np.zeros(40, dtype=int)
    scores.rank(np.arange(25), 7, (np.zeros(25, dtype=int), same))
    assert (scores.around(np.arange(25), 7)[:, 5:] == NOBODY).all()
