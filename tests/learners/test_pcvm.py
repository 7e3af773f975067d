"""Ny-PCVM against a naive dense EM on the N x N matrix."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import norm

from krein_problems import MIXTURES, mixture_rows, problem_of, sparse_functions
from kreinflow.learners.one_against_rest import fitted_classes
from kreinflow.learners.pcvm import PCVMLearner, _ProbitMachine

THRESHOLD = PCVMLearner.threshold


problem = partial(mixture_rows, n=90, noise=0.5)


class DenseEM:
    """The EM of the recipe with all N x n matrices written out; classes one at a time."""

    def __init__(self, Z, signs, positive, basis):
        K = (Z * signs) @ Z.T / np.abs(np.einsum("ij,j,ij->i", Z, signs, Z)).mean()
        self.y = np.where(positive, 1.0, -1.0)
        self.F = K[:, basis] * self.y[basis]
        self.active, self.w = np.arange(len(basis)), np.ones(len(basis))
        self.b = 5.0 * self.y.mean()
        self.started = False

    def f(self):
        return self.F[:, self.active] @ self.w + self.b

    def step(self):
        """One step; True if it dropped or pruned something."""
        y, before, first = self.y, len(self.active), not self.started
        if self.started:
            f = self.f()
            h = f + y * np.exp(norm.logpdf(f) - norm.logcdf(y * f))
        else:
            h, self.started = 5.0 * y, True
        while True:
            F, M = self.F[:, self.active], np.sqrt(2.0) * np.diag(self.w)
            inverse = np.linalg.inv(np.eye(len(M)) + M @ F.T @ F @ M)
            w = M @ inverse @ M @ F.T @ (h - self.b)
            if (w > 0).all():
                break
            self.active, self.w = self.active[w > 0], self.w[w > 0]
        self.active, self.w = self.active[w >= THRESHOLD], w[w >= THRESHOLD]
        t2 = 2.0 if first else 2.0 * self.b**2
        self.b = t2 / (1.0 + t2 * len(y)) * (h - self.F[:, self.active] @ self.w).sum()
        if abs(self.b) < THRESHOLD:
            self.b = 0.0
        return len(self.active) < before


def objective(dense, w, active, b):
    likelihood = norm.logcdf(dense.y * (dense.F[:, active] @ w + b)).sum()
    return likelihood - np.log(w).sum() / 2 - np.log(abs(b)) / 2


def solved(Z, signs, y, basis="all", rows=None, own=None, max_iter=500, **attributes):
    learner = PCVMLearner({"basis": basis, "max_iter": max_iter})
    vars(learner).update(attributes)
    return sparse_functions(learner, problem_of(Z, signs, y, basis=rows, own=own))


def after(steps, *arguments, **keywords):
    return solved(*arguments, max_iter=steps, tol=1e-12, **keywords)


@pytest.mark.parametrize("case", MIXTURES)
@pytest.mark.parametrize("basis", ["landmarks", "all"])  # all: n > r, the push-through form
def test_every_step_equals_the_dense_em(case, basis):
    Z, signs, y = problem(**MIXTURES[case])
    if case == "few columns":  # of which some are there twice
        Z, signs = np.hstack([Z, Z[:, :2]]), np.append(signs, signs[:2])
    n_classes = MIXTURES[case]["n_classes"]
    rows = np.arange(0, len(y), 5) if basis == "landmarks" else np.arange(len(y))
    dense = [DenseEM(Z, signs, y == c, rows) for c in fitted_classes(n_classes)]
    for steps in range(1, 16):
        found = after(steps, Z, signs, y, basis, rows, accelerate=False)
        f = Z @ found.coef + found.intercept
        for i, em in enumerate(dense):
            em.step()
            np.testing.assert_array_equal(found.active[i], rows[em.active])
            np.testing.assert_allclose(found.weights[i], em.w, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(found.intercept[i], em.b, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(f[:, i], em.f(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("case", ["unbalanced", "half of the signs negative"])
def test_the_objective_rises_between_prunings_with_acceleration_too(case):
    Z, signs, y = problem(**MIXTURES[case] | {"seed": 0})
    dense = [DenseEM(Z, signs, y == c, np.arange(len(y))) for c in range(3)]
    last, compared = {}, 0
    for steps in range(1, 45):
        found = after(steps, Z, signs, y)
        for c, (w, active, b) in enumerate(
            zip(found.weights, found.active, found.intercept, strict=True)
        ):
            value = objective(dense[c], w, active, b) if b else -np.inf
            if c in last and last[c][0] == len(w) and b:
                assert value > last[c][1] - 1e-9
                compared += 1
            last[c] = len(w), value
    assert compared > 25


def test_acceleration_reaches_the_optimum_in_fewer_steps():
    Z, signs, y = problem(n=200, r=15, n_classes=3, seed=4)
    y[::9] = (y[::9] + 1) % 3  # separable classes let the weights grow for ever, slowly
    rows = np.arange(0, 200, 8)
    plain, fast = (
        solved(Z, signs, y, "landmarks", rows, max_iter=20000, tol=1e-7, accelerate=accelerate)
        for accelerate in (False, True)
    )
    assert plain.converged.all()
    assert fast.converged.all()
    assert fast.n_iter.sum() < plain.n_iter.sum() / 2
    for c in range(3):
        np.testing.assert_array_equal(fast.active[c], plain.active[c])
        np.testing.assert_allclose(fast.weights[c], plain.weights[c], rtol=1e-3)
    np.testing.assert_allclose(fast.intercept, plain.intercept, rtol=1e-3)


@pytest.mark.parametrize(("last", "kept"), [(0.2, True), (THRESHOLD * 1.01, False)])
def test_extrapolation_that_would_prune_is_not_tried(last, kept):
    machine = _ProbitMachine.start(0, np.array([True, False]), 0.0, PCVMLearner({}))
    machine.history = [np.log([1.0, last * growth, 1.0]) for growth in (1.21, 1.1)]
    machine.w, machine.b = np.array([1.001, last]), 1.0
    machine.extrapolate(objective=-1.0)
    assert (machine.fallback is not None) == (machine.w[1] < last) == kept


def test_scale_is_the_mean_magnitude_of_the_true_self_similarities():
    Z, signs, y = problem(n_classes=2)
    own = np.random.default_rng(0).normal(size=len(y))
    found = solved(Z, signs, y, own=own)
    active = found.active[0]
    f = (Z * signs) @ Z[active].T @ (np.where(y[active] == 1, 1, -1) * found.weights[0])
    expected = f / np.abs(own).mean() + found.intercept[0]
    np.testing.assert_allclose((Z @ found.coef + found.intercept)[:, 0], expected, atol=1e-10)


def test_steps_over_more_rows_than_a_tile():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 4, 5000)
    Z = rng.normal(size=(5000, 10)) * 0.4 + rng.normal(size=(4, 10))[y]
    em = DenseEM(Z, np.ones(10), y == 2, np.arange(40))
    em.step()
    em.step()
    two = after(2, Z, np.ones(10), y, "landmarks", np.arange(40), accelerate=False)
    np.testing.assert_allclose(two.weights[2], em.w, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("labels", [[0, 1], [1, 0]])
def test_with_nothing_left_the_larger_class_is_predicted_whatever_its_label(labels):
    """The bias of classes of nearly one size is pruned as well."""
    y = np.repeat([0, 1], [31, 29])
    Z = 0.1 * np.random.default_rng(1).normal(size=(60, 1)) + 4.0 * y[:, None] - 2.0
    found = solved(Z, -np.ones(1), np.array(labels)[y])
    assert len(found.weights[0]) == 0
    assert found.intercept[0] == pytest.approx((-1) ** labels[0] * norm.ppf(29 / 60), rel=1e-12)


def test_converged_means_that_a_dense_step_changes_nothing():
    Z, signs, y = problem(n_classes=2)
    found = solved(Z, signs, y, max_iter=20000, tol=1e-9)
    em = DenseEM(Z, signs, y == 1, np.arange(len(y)))
    em.started, em.active = True, found.active[0]
    em.w, em.b = found.weights[0], found.intercept[0]
    em.step()
    np.testing.assert_allclose(em.w, found.weights[0], rtol=1e-7)
    np.testing.assert_allclose(em.b, found.intercept[0], rtol=1e-7)
