"""Machines of two classes: the weighted ridge regression that they are, and what they decide."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from kreinflow.answering.cascade import PairMachines
from kreinflow.fitting.fit_cascade import RIDGE, fit_machine


def two_classes(seed, n=40, p=7, share=0.2):
    rng = np.random.default_rng(seed)
    first = rng.random(n) < share
    first[:2] = True, False
    return rng.normal(size=(n, p)) + 1.5 * first[:, None] + rng.normal(size=p), first


def weights_of(first):
    n = len(first)
    return np.where(first, n / 2 / first.sum(), n / 2 / (~first).sum())


def penalty_of(X, first):
    centred = X - np.average(X, axis=0, weights=weights_of(first))
    return RIDGE * (centred**2).sum(axis=1).mean()


@pytest.mark.parametrize("shape", [(40, 7), (12, 60), (2, 3)])
@pytest.mark.parametrize("seed", range(3))
def test_the_machine_is_weighted_ridge_regression(seed, shape):
    """By the primal normal equations, and by scikit-learn's own."""
    X, first = two_classes(seed, *shape)
    w, b = fit_machine(X, first)
    v, y = weights_of(first), np.where(first, 1.0, -1.0)
    ridge = penalty_of(X, first)
    ones = np.column_stack([X, np.ones(len(X))])
    penalty = np.diag([ridge] * X.shape[1] + [0.0])
    primal = np.linalg.solve(ones.T @ (v[:, None] * ones) + penalty, ones.T @ (v * y))
    np.testing.assert_allclose(np.append(w, b), primal, rtol=1e-8, atol=1e-11)
    theirs = Ridge(alpha=ridge, solver="cholesky").fit(X, y, sample_weight=v)
    np.testing.assert_allclose(w, theirs.coef_, rtol=1e-8, atol=1e-11)
    assert b == pytest.approx(theirs.intercept_, rel=1e-8, abs=1e-11)


def test_the_other_label_first_turns_the_sign():
    X, first = two_classes(3)
    (w, b), (u, c) = fit_machine(X, first), fit_machine(X, ~first)
    np.testing.assert_allclose(w, -u, rtol=1e-12)
    assert b == pytest.approx(-c, rel=1e-12)


@pytest.mark.parametrize("times", [2, 10])
def test_neither_class_is_preferred_for_its_size(times):
    """The middle of two clouds decides, however often the records of one stand there."""
    X, first = two_classes(4, n=30, share=0.5)
    middle = (X[first].mean(axis=0) + X[~first].mean(axis=0)) / 2
    more = np.vstack([X, *[X[first]] * (times - 1)])
    w, b = fit_machine(more, np.append(first, np.ones(len(more) - len(X), bool)))
    assert middle @ w + b == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, 1.0, 1 / 3, -0.7, 1e9])
@pytest.mark.parametrize("n", [3, 6, 70])
def test_records_that_are_all_alike_tell_nothing(value, n):
    """Also where their mean is rounded."""
    w, b = fit_machine(np.full((n, 4), value), np.arange(n) < n // 3)
    assert np.abs(w).max() == 0
    assert b == pytest.approx(0, abs=1e-15)


def machines(seed=0, n_classes=4, m=5, pairs=None):
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.arange(25) % n_classes)
    pairs = np.array(pairs or list(combinations(range(n_classes), 2)))
    total, count = sum(int(np.isin(classes, pair).sum()) for pair in pairs), len(pairs)
    shapes = (total,), (count, m), (count,)
    made = PairMachines(pairs, *(rng.normal(size=shape) for shape in shapes))
    return made, classes, rng


def test_a_decision_is_the_sum_over_members_and_landmarks():
    made, classes, rng = machines()
    S, U = rng.normal(size=(6, len(classes))), rng.normal(size=(6, 5))
    ends, start = made.ends(classes), 0
    for pair, codes in enumerate(made.pairs):
        own = [i for i, code in enumerate(classes) if code in codes]
        assert made.members(classes, pair).tolist() == own
        w = made.pair_member_weights[start : start + len(own)]
        start += len(own)
        expected = S[:, own] @ w + U @ made.pair_landmark_weights[pair] + made.pair_intercepts[pair]
        found = made.decide(pair, ends, S[:, own], U)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert start == len(made.pair_member_weights)


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
    made, _, rng = machines(pairs=[(0, 1), (0, 3), (2, 3)])
    P = rng.dirichlet(np.ones(4), size=50)
    P[0] = 0.25  # the first of equal ones
    known = {tuple(pair): number for number, pair in enumerate(made.pairs.tolist())}
    found = made.contests(P, likeliest)
    for p, own in zip(P, found, strict=True):
        top = sorted(range(4), key=lambda c, p=p: (-p[c], c))[:likeliest]
        expected = {known[pair] for pair in combinations(sorted(top), 2) if pair in known}
        assert set(own[own >= 0].tolist()) == expected
        assert (own >= 0).sum() == len(expected), "each machine once"
