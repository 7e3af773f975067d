"""Krein SH-SVM against scikit-learn's LinearSVC, L-BFGS, and its own optimality conditions."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from krein_problems import labelled_rows, learner_problem
from kreinflow.errors import InputError
from kreinflow.learners.krein_svm import (
    KreinSquaredHinge,
    KreinSquaredHingeLearner,
    _Machine,
    _Rows,
)

PENALTIES = [(1.0, 1.0), (10.0, 1e-2), (1e-2, 1.0), (1e-4, 1e-2), (1e-8, 1e-8)]


def objective(u, Z, target, Lam):
    """The mean loss and its gradient, penalties included; the last of u is free."""
    hinge = np.maximum(0.0, 1.0 - target * (Z @ u[:-1] + u[-1]))
    pull = -2.0 * hinge * target / len(Z)
    value = hinge @ hinge / len(Z) + u[:-1] @ Lam @ u[:-1]
    return value, np.append(Z.T @ pull + 2.0 * Lam @ u[:-1], pull.sum())


def lam(machine, signs):
    return machine.scale_ * np.diag(np.where(signs > 0, machine.lambda_plus, machine.lambda_minus))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("penalty", [1.0, 1e-2, 1e-4])
def test_equal_penalties_are_the_squared_hinge_of_liblinear(penalty, n_classes):
    Z, signs, y = labelled_rows(n_classes=n_classes)
    machine = KreinSquaredHinge(penalty, penalty).fit(Z, signs, y, n_classes)
    for c in range(n_classes):
        other = LinearSVC(
            C=1.0 / (2.0 * len(Z) * penalty * machine.scale_),
            loss="squared_hinge",
            dual=False,
            tol=1e-11,
            max_iter=100_000,
            intercept_scaling=1e3,  # it penalises the intercept, divided by this
        ).fit(Z - Z.mean(axis=0), np.where(y == c, 1, -1))
        expected = other.decision_function(Z - Z.mean(axis=0))
        np.testing.assert_allclose(machine.decision_function(Z)[:, c], expected, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("plus", "minus"), PENALTIES)
def test_it_is_the_optimum(plus, minus, n_classes):
    """The objective is convex, so a gradient of zero proves it; L-BFGS finds nothing better."""
    Z, signs, y = labelled_rows(n_classes=n_classes, separation=0.6)
    machine = KreinSquaredHinge(plus, minus).fit(Z, signs, y, n_classes)
    assert machine.converged_.all()
    Lam = lam(machine, signs)
    for c in range(n_classes):
        target = np.where(y == c, 1.0, -1.0)
        u = np.append(machine.coef_[:, c], machine.intercept_[c])
        value, gradient = objective(u, Z, target, Lam)
        scale = np.abs(objective(np.zeros(11), Z, target, Lam)[1]).max()
        np.testing.assert_allclose(gradient, 0.0, atol=1e-13 * scale)
        found = minimize(
            objective,
            np.zeros(11),
            (Z, target, Lam),
            "L-BFGS-B",
            jac=True,
            options={"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-12},
        )
        assert value <= found.fun * (1 + 1e-14)
        assert value == pytest.approx(found.fun, rel=1e-8)


def test_rows_that_nothing_separates_and_rows_that_everything_does():
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    noise = KreinSquaredHinge(1e-8, 1e-8).fit(rng.normal(size=(60, 4)), np.ones(4), y, 2)
    assert noise.converged_.all()
    # With more columns than rows the first step already meets all targets.
    wide = rng.normal(size=(60, 80))
    machine = KreinSquaredHinge(1e-8, 1e-8).fit(wide, np.ones(80), y, 2)
    assert machine.converged_.all()
    margins = machine.decision_function(wide)[:, 1] * np.where(y == 1, 1, -1)
    assert margins.min() > 1 - 1e-4
    far = machine.decision_function(wide)
    shifted = KreinSquaredHinge(1e-8, 1e-8).fit(wide + 1e4, np.ones(80), y, 2)
    np.testing.assert_allclose(shifted.decision_function(wide + 1e4), far, atol=1e-5)


def test_a_start_where_no_row_is_active_finds_the_same_optimum():
    Z, y = np.array([[-2.0], [-1.0], [1.0], [3.0]]), np.array([-1.0, -1.0, 1.0, 1.0])
    rows, everything = _Rows(Z, np.zeros(1)), np.ones(4, dtype=bool)
    ends = []
    for u in (np.zeros(2), np.array([50.0, 1.0])):  # the second meets all targets by far
        machine = _Machine(rows, y, everything, rows.gram(everything), u)
        assert machine.follow(np.ones(1), np.full(1, 0.1), 20)[1]
        ends.append(machine.u)
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-14)


def test_more_rows_than_a_tile_and_classes_of_very_unequal_size():
    Z, signs, y = labelled_rows(5000, n_classes=5, separation=0.5)
    y[100:4500] = 0
    machine = KreinSquaredHinge(1e-3, 1e-5).fit(Z, signs, y, 5)
    assert machine.converged_.all()
    for c in range(5):
        u = np.append(machine.coef_[:, c], machine.intercept_[c])
        _, gradient = objective(u, Z, np.where(y == c, 1.0, -1.0), lam(machine, signs))
        np.testing.assert_allclose(gradient, 0.0, atol=1e-13)


def test_scale_of_the_kernel_and_order_of_two_classes_do_not_matter():
    Z, signs, y = labelled_rows(n_classes=2)
    one = KreinSquaredHinge(1e-2, 1e-4).fit(Z, signs, y, 2)
    np.testing.assert_array_equal(one.coef_[:, 0], -one.coef_[:, 1])
    np.testing.assert_array_equal(one.intercept_[0], -one.intercept_[1])
    assert len(one.n_iter_) == len(one.converged_) == 2
    f = one.decision_function(Z)
    small = KreinSquaredHinge(1e-2, 1e-4).fit(1e-5 * Z, signs, y, 2)
    np.testing.assert_allclose(small.decision_function(1e-5 * Z), f, atol=1e-9)
    other = KreinSquaredHinge(1e-2, 1e-4).fit(Z, signs, 1 - y, 2)
    np.testing.assert_allclose(other.decision_function(Z)[:, ::-1], f, atol=1e-9)
    assert (one.predict(Z) == y).mean() > 0.8


@pytest.mark.parametrize(("correction", "n_classes"), [("none", 2), ("flip", 3)])
def test_all_choices_at_once_are_the_machines_one_by_one(correction, n_classes):
    learner = KreinSquaredHingeLearner({})
    whole = learner_problem(n_classes=n_classes, correction=correction)
    problem, unseen = whole.on(np.arange(60)), whole.on(np.arange(60, 90))
    choices = learner.choices()
    assert len(choices) == 25
    for choice, fitted in zip(choices, learner.fit(problem, choices), strict=True):
        alone = KreinSquaredHinge(**choice).fit(problem.Z, problem.signs, problem.labels, n_classes)
        assert fitted.converged
        np.testing.assert_allclose(
            learner.decide(fitted, unseen), alone.decision_function(unseen.Z), rtol=1e-6, atol=1e-6
        )
    given = KreinSquaredHingeLearner({"lambda_plus": 0.1, "lambda_minus": 2})
    assert given.choices() == [{"lambda_plus": 0.1, "lambda_minus": 2}]
    assert "squared hinge" in given.describe()


def test_small_penalties_take_few_steps_by_way_of_larger_ones():
    Z, signs, y = labelled_rows(400, 60, 2, negative=20, separation=1.5)
    machine = KreinSquaredHinge(1e-7, 1e-7).fit(Z, signs, y, 2)
    assert machine.converged_.all()
    assert machine.n_iter_.max() < 60  # straight from zero: 168


def test_step_limit_warns_once_and_says_what_to_do():
    Z, signs, y = labelled_rows(n_classes=4)
    with pytest.warns(ConvergenceWarning, match="of 4 classes had not converged") as caught:
        machine = KreinSquaredHinge(1e-4, 1e-4, max_iter=1).fit(Z, signs, y, 4)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not machine.converged_.all()


def test_bad_input_is_refused():
    Z, signs, y = labelled_rows()
    with pytest.raises(InputError, match="lambda_plus: nan is not a positive number"):
        KreinSquaredHinge(float("nan"))
    with pytest.raises(InputError, match="max_iter: 0 steps"):
        KreinSquaredHinge(max_iter=0)
    with pytest.raises(InputError, match=r"classes \[3\] of 4"):
        KreinSquaredHinge().fit(Z, signs, y, 4)
