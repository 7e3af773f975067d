"""Krein SH-SVM against scikit-learn's LinearSVC, and its own optimality conditions."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from krein_problems import labelled_rows, learned, scale_of, weighted
from kreinflow.learners.decisions import LinearDecision
from kreinflow.learners.krein_svm import _NewtonPath, _Rows

PENALTIES = [(1.0, 1.0), (10.0, 1e-2), (1e-2, 1.0), (1e-4, 1e-2), (1e-8, 1e-8)]


def gradient(decision, c, Z, y, Lam):
    """That of the mean loss of a class, penalties included; the last is of the free intercept."""
    w, target = decision.weights[:, c], np.where(y == c, 1.0, -1.0)
    hinge = np.maximum(0.0, 1.0 - target * (Z @ w + decision.intercept[c]))
    pull = -2.0 * hinge * target / len(Z)
    return np.append(Z.T @ pull + 2.0 * Lam @ w, pull.sum())


def machine(plus, minus, Z, signs, y):
    settings = {"method": "krein_sh_svm", "lambda_plus": plus, "lambda_minus": minus}
    return learned(settings, Z, signs, y)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("penalty", [1.0, 1e-2, 1e-4])
def test_equal_penalties_are_the_squared_hinge_of_liblinear(penalty, n_classes):
    Z, signs, y = labelled_rows(n_classes=n_classes)
    f = machine(penalty, penalty, Z, signs, y).decision.decide(Z)
    for c in range(n_classes):
        other = LinearSVC(
            C=1.0 / (2.0 * len(Z) * penalty * scale_of(Z)),
            loss="squared_hinge",
            dual=False,
            tol=1e-11,
            max_iter=100_000,
            intercept_scaling=1e3,  # it penalises the intercept, divided by this
        ).fit(Z - Z.mean(axis=0), np.where(y == c, 1, -1))
        expected = other.decision_function(Z - Z.mean(axis=0))
        np.testing.assert_allclose(f[:, c], expected, atol=1e-5)


@pytest.mark.parametrize(("n", "n_classes"), [(120, 2), (120, 3), (5000, 5)])
@pytest.mark.parametrize(("plus", "minus"), PENALTIES)
def test_it_is_the_optimum(plus, minus, n, n_classes):
    """The objective is convex, so a gradient of zero proves it."""
    Z, signs, y = labelled_rows(n, n_classes=n_classes, separation=0.6)
    if n == 5000:  # more rows than a tile, and classes of very unequal size
        y[100:4500] = 0
    fitted = machine(plus, minus, Z, signs, y)
    assert fitted.converged
    Lam = weighted(Z, signs, plus, minus)
    zero = LinearDecision(np.zeros((10, n_classes)), np.zeros(n_classes))
    for c in range(n_classes):
        scale = np.abs(gradient(zero, c, Z, y, Lam)).max()
        found = gradient(fitted.decision, c, Z, y, Lam)
        np.testing.assert_allclose(found, 0.0, atol=1e-13 * scale)


def test_rows_that_everything_separates_far_from_the_origin_too():
    """With more columns than rows the first step already meets all targets."""
    y, wide = np.arange(60) % 2, np.random.default_rng(3).normal(size=(60, 80))
    near, far = (machine(1e-8, 1e-8, wide + at, np.ones(80), y) for at in (0.0, 1e4))
    assert near.converged
    f = near.decision.decide(wide)
    assert (f[:, 1] * np.where(y == 1, 1, -1)).min() > 1 - 1e-4
    np.testing.assert_allclose(far.decision.decide(wide + 1e4), f, atol=1e-5)


def test_a_start_where_no_row_is_active_finds_the_same_optimum():
    Z, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    rows, everything = _Rows(Z, np.zeros(1)), np.ones(4, dtype=bool)
    ends = []
    for u in (np.zeros(2), np.array([50.0, 1.0])):  # the second meets all targets by far
        one = _NewtonPath(rows, y, everything, rows.gram(everything), u)
        (end,) = one.follow(1.0, [np.full(1, 0.1)])
        assert end.converged
        ends.append(end.u)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-14)


def test_small_penalties_take_few_steps_by_way_of_larger_ones():
    Z, signs, y = labelled_rows(400, 60, 2, negative=20, separation=1.5)
    fitted = machine(1e-7, 1e-7, Z, signs, y)
    assert fitted.converged
    assert fitted.iterations < 60  # straight from zero: 168
