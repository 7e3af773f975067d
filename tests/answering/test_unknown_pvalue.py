"""Strangeness: ranks against plain counting, and p-values that keep what they promise."""

import numpy as np
import pytest

from kreinflow.answering.unknown_pvalue import (
    GATE,
    Strangeness,
    mean_of_largest,
    strange,
    unlike,
)


def drawn(rng, n, shift=0.0):
    """Two times three numbers of n objects that have something in common; some are equal."""
    common = rng.normal(size=(n, 1))
    first = common + rng.normal(size=(n, 3)) + shift
    return np.round(first, 1), np.round(0.5 * first + rng.normal(size=(n, 3)) + shift, 1)


def plain(calibrating, x):
    """The p-value of one object, counted in the bag of all."""
    bags = [np.vstack([c, own]) for c, own in zip(calibrating, x, strict=True)]

    def products(bag):
        ranks = [[sum(other >= value for other in column) for value in column] for column in bag.T]
        return np.prod(np.array(ranks, dtype=object), axis=0)

    of_landmarks, of_nearest = map(products, bags)
    n = len(of_landmarks)
    share = [sum(other <= q for other in of_landmarks) / n for q in of_landmarks]
    asks = [s <= GATE for s in share]
    if not asks[-1]:
        return share[-1], False
    stranger = [a and q <= of_nearest[-1] for a, q in zip(asks, of_nearest, strict=True)]
    return sum(stranger) / n, True


@pytest.mark.parametrize("n", [1, 3, 10, 57])
def test_p_values_are_those_of_plain_counting(n):
    rng = np.random.default_rng(n)
    calibrating, new = drawn(rng, n), drawn(rng, 40, 0.4)
    strangeness = Strangeness(*calibrating, false_alarms=0.05)
    p, asks = strangeness.p_values(*new), strangeness.asks(new[0])
    for i in range(40):
        expected, asked = plain(calibrating, [part[i] for part in new])
        assert p[i] == pytest.approx(expected, rel=1e-12)
        assert asks[i] == asked
    assert asks.any() == (n > 2)


def test_members_are_as_strange_as_it_is_said():
    """Over seeds: of exchangeable objects a share of alpha has a p-value of at most alpha."""
    levels = np.array([0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8])
    found = []
    for seed in range(1500):
        rng = np.random.default_rng([seed, 1])
        both = [part.reshape(-1, 3) for part in drawn(rng, 103)]
        calibrating, new = zip(*((part[:99], part[99:]) for part in both), strict=True)
        p = Strangeness(*calibrating, false_alarms=0.01).p_values(*new)
        found.append((p[:, None] <= levels).mean(axis=0))
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert (mean <= levels + 3 * error).all()
    assert (mean >= 0.8 * levels - 3 * error).all()


def test_strangers_have_small_p_values_and_the_gate_costs_no_power():
    rng = np.random.default_rng(0)
    calibrating, new = drawn(rng, 999), drawn(rng, 300, 4.0)
    strangeness = Strangeness(*calibrating, false_alarms=0.01)
    p = strangeness.p_values(*new)
    assert np.mean(p <= 0.01) > 0.9
    assert strangeness.asks(new[0]).mean() > 0.95
    assert strangeness.asks(calibrating[0]).mean() < GATE + 0.02


def test_a_p_value_depends_on_its_object_alone(monkeypatch):
    rng = np.random.default_rng(2)
    strangeness, new = Strangeness(*drawn(rng, 80), false_alarms=0.1), drawn(rng, 50)
    whole = strangeness.p_values(*new)
    for i in range(50):
        assert strangeness.p_values(*(part[[i]] for part in new)) == whole[i]
    monkeypatch.setattr("kreinflow.answering.unknown_pvalue._ROWS", 7)
    np.testing.assert_array_equal(strangeness.p_values(*new), whole)
    assert strangeness.p_values(*(part[:0] for part in new)).shape == (0,)


def test_means_are_of_those_there_are():
    values = np.array([[1.0, np.nan, 3.0, 2.0], [np.nan] * 4, [-5.0, np.nan, np.nan, np.nan]])
    assert mean_of_largest(values, 2, -20.0).tolist() == [2.5, -20.0, -5.0]
    assert mean_of_largest(np.empty((2, 0)), 3, -1.0).tolist() == [-1.0, -1.0]
    found = strange(values, -values, np.array([0.9, 0.5, 0.1]))
    assert found.tolist() == [[-2.0, 2.0, -0.9], [0.0, 20.0, -0.5], [5.0, -5.0, -0.1]]
    np.testing.assert_array_equal(unlike(values, -values), found[:, :2])
