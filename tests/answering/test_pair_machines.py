"""Machines of two classes: the weighted ridge regression that they are, and what they decide."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from kreinflow.answering.cascade import PairMachines
from kreinflow.fitting.fit_cascade import RIDGE, fit_machine


def two_classes(seed, n, p):
    rng = np.random.default_rng(seed)
    first = rng.random(n) < 0.2
    first[:2] = True, False
    return rng.normal(size=(n, p)) + 1.5 * first[:, None] + rng.normal(size=p), first


@pytest.mark.parametrize("shape", [(40, 7), (12, 60), (2, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_the_machine_is_weighted_ridge_regression(seed, shape):
    """Both classes weigh as much, however many records they have."""
    X, first = two_classes(seed, *shape)
    w, b = fit_machine(X, first)
    v = len(X) / 2 / np.where(first, first.sum(), (~first).sum())
    centred = X - np.average(X, axis=0, weights=v)
    ridge = Ridge(alpha=RIDGE * (centred**2).sum(axis=1).mean(), solver="cholesky")
    theirs = ridge.fit(X, np.where(first, 1.0, -1.0), sample_weight=v)
    np.testing.assert_allclose(w, theirs.coef_, rtol=1e-8, atol=1e-11)
    assert b == pytest.approx(theirs.intercept_, rel=1e-8, abs=1e-11)


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, 1 / 3, -0.7, 1e9])
@pytest.mark.parametrize("n", [3, 6, 70])
def test_records_that_are_all_alike_tell_nothing(value, n):
    """Also where their mean is rounded."""
    w, b = fit_machine(np.full((n, 4), value), np.arange(n) < n // 3)
    assert np.abs(w).max() == 0
    assert b == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("n", [1, 30, 8193, 20_000])
def test_a_decision_depends_on_its_row_alone(n):
    """Whatever the size of the batch, and the order in which it lies in memory."""
    rng = np.random.default_rng(n)
    weights = rng.normal(size=n), rng.normal(size=(1, 9)), np.array([0.1])
    made, ends = PairMachines(np.array([[0, 1]]), *weights), np.array([0, n])
    S, U = rng.normal(size=(30, n)), rng.normal(size=(30, 9))
    found = made.decide(0, ends, S, U)
    for part in (slice(3, 4), slice(7, 20)):
        for order in "CF":
            some = (np.array(array[part], order=order) for array in (S, U))
            np.testing.assert_array_equal(made.decide(0, ends, *some), found[part])


@pytest.mark.parametrize("likeliest", [2, 3, 4, 9])
def test_the_contests_are_those_of_the_likeliest_classes(likeliest):
    made = PairMachines(np.array([[0, 1], [0, 3], [2, 3]]), *np.zeros((3, 3)))
    P = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    P[0] = 0.25  # the first of equal ones
    known = {tuple(pair): number for number, pair in enumerate(made.pairs.tolist())}
    found = made.contests(P, likeliest)
    for p, own in zip(P, found, strict=True):
        top = sorted(range(4), key=lambda c, p=p: (-p[c], c))[:likeliest]
        expected = {known[pair] for pair in combinations(sorted(top), 2) if pair in known}
        assert set(own[own >= 0].tolist()) == expected
        assert (own >= 0).sum() == len(expected), "each machine once"
