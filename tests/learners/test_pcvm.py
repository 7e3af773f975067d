"""Ny-PCVM against a naive dense EM on the N x N matrix."""

import warnings
from functools import partial

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from krein_problems import mixture_rows
from kreinflow.errors import InputError
from kreinflow.learners.pcvm import NystroemPCVM, PCVMLearner, _Machine

THRESHOLD = 1e-3


problem = partial(mixture_rows, n=90, noise=0.5)


class DenseEM:
    """The EM of the recipe with all N x n matrices written out; classes one at a time."""

    def __init__(self, Z, signs, positive, basis):
        K = (Z * signs) @ Z.T / np.abs(np.einsum("ij,j,ij->i", Z, signs, Z)).mean()
        self.y = np.where(positive, 1.0, -1.0)
        self.F = K[:, basis] * self.y[basis]
        self.active, self.w, self.b = np.arange(len(basis)), np.ones(len(basis)), 1.0
        self.started = False

    def f(self):
        return self.F[:, self.active] @ self.w + self.b

    def step(self):
        """One step; True if it dropped or pruned something."""
        y, before = self.y, len(self.active)
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
        t2 = 2.0 * self.b**2
        self.b = t2 / (1.0 + t2 * len(y)) * (h - self.F[:, self.active] @ self.w).sum()
        if abs(self.b) < THRESHOLD:
            self.b = 0.0
        return len(self.active) < before


def objective(dense, w, active, b):
    likelihood = norm.logcdf(dense.y * (dense.F[:, active] @ w + b)).sum()
    return likelihood - np.log(w).sum() / 2 - np.log(abs(b)) / 2


def floored_objective(dense, w, active, b, e=1e-6):
    """L_e, comparable across prunings: all weights count, the pruned ones as 0."""
    everything = np.zeros(dense.F.shape[1])
    everything[active] = w
    likelihood = norm.logcdf(dense.y * (dense.F[:, active] @ w + b)).sum()
    return likelihood - np.log(everything**2 + e).sum() / 4 - np.log(b**2 + e) / 4


def after(steps, Z, signs, y, n_classes, basis, rows=None, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return NystroemPCVM(basis, THRESHOLD, tol=1e-12, max_iter=steps, **settings).fit(
            Z, signs, y, n_classes, basis_rows=rows
        )


CASES = {
    "two classes": {"n_classes": 2},
    "four classes": {"n_classes": 4},
    "unbalanced": {"n_classes": 3, "share": [0.06, 0.04, 0.9]},
    "half of the signs negative": {"n_classes": 3, "negative": 6},
    "positive definite": {"n_classes": 2, "negative": 0},
    "more columns than rows": {"n": 40, "r": 60, "n_classes": 2, "negative": 20},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("basis", ["landmarks", "all"])  # all: n > r, the push-through form
def test_every_step_equals_the_dense_em(case, basis):
    Z, signs, y = problem(**CASES[case])
    n_classes = CASES[case]["n_classes"]
    rows = np.arange(0, len(y), 5) if basis == "landmarks" else np.arange(len(y))
    classes = range(1, 2) if n_classes == 2 else range(n_classes)
    dense = {c: DenseEM(Z, signs, y == c, rows) for c in classes}
    for steps in range(1, 16):
        machine = after(steps, Z, signs, y, n_classes, basis, rows, accelerate=False)
        decisions = machine.decision_function(Z)
        for c, em in dense.items():
            em.step()
            np.testing.assert_array_equal(machine.active_[c], rows[em.active])
            np.testing.assert_allclose(machine.weights_[c], em.w, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(machine.intercept_[c], em.b, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(decisions[:, c], em.f(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("case", ["four classes", "unbalanced", "half of the signs negative"])
def test_objective_rises_between_prunings_and_its_floored_form_across(case, accelerate):
    Z, signs, y = problem(**CASES[case])
    n_classes = CASES[case]["n_classes"]
    rows = np.arange(len(y))
    dense = [DenseEM(Z, signs, y == c, rows) for c in range(n_classes)]
    last, compared = {}, 0
    for steps in range(1, 60):
        machine = after(steps, Z, signs, y, n_classes, "all", accelerate=accelerate)
        for c in range(n_classes):
            state = machine.weights_[c], machine.active_[c], machine.intercept_[c]
            floored = floored_objective(dense[c], *state)
            value = objective(dense[c], *state) if state[2] else -np.inf
            if c in last:
                size, old, old_floored = last[c]
                assert floored > old_floored - 1e-9
                if size == len(state[0]) and state[2]:
                    assert value > old - 1e-9
                    compared += 1
            last[c] = len(state[0]), value, floored
    assert compared > 30


def test_acceleration_reaches_the_optimum_in_fewer_steps():
    Z, signs, y = problem(n=200, r=15, n_classes=3, seed=4)
    y[::9] = (y[::9] + 1) % 3  # separable classes let the weights grow for ever, slowly
    rows = np.arange(0, 200, 8)
    plain, fast = (
        NystroemPCVM(tol=1e-7, max_iter=20000, accelerate=accelerate).fit(
            Z, signs, y, 3, basis_rows=rows
        )
        for accelerate in (False, True)
    )
    assert plain.converged_.all()
    assert fast.converged_.all()
    assert fast.n_iter_.sum() < plain.n_iter_.sum() / 2
    for c in range(3):
        np.testing.assert_array_equal(fast.active_[c], plain.active_[c])
        np.testing.assert_allclose(fast.weights_[c], plain.weights_[c], rtol=1e-3)
    np.testing.assert_allclose(fast.intercept_, plain.intercept_, rtol=1e-3)


@pytest.mark.parametrize(("last", "kept"), [(0.2, True), (THRESHOLD * 1.01, False)])
def test_extrapolation_that_would_prune_is_not_tried(last, kept):
    machine = _Machine.start(0, np.array([True, False]), NystroemPCVM(threshold=THRESHOLD))
    theta = [np.log([1.0, start, 1.0]) for start in (last * 1.21, last * 1.1)]
    machine.history, machine.w, machine.b = theta, np.array([1.001, last]), 1.0
    machine.extrapolate(objective=-1.0)
    assert (machine.fallback is not None) == kept
    assert (machine.w[1] < last) == kept


def test_converged_means_that_a_dense_step_changes_nothing():
    Z, signs, y = problem(n_classes=2)
    machine = NystroemPCVM("all", tol=1e-9, max_iter=20000).fit(Z, signs, y, 2)
    em = DenseEM(Z, signs, y == 1, np.arange(len(y)))
    em.started, em.active = True, machine.active_[1]
    em.w, em.b = machine.weights_[1], machine.intercept_[1]
    em.step()
    np.testing.assert_allclose(em.w, machine.weights_[1], rtol=1e-7)
    np.testing.assert_allclose(em.b, machine.intercept_[1], rtol=1e-7)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_scale_of_the_kernel_does_not_matter(scale):
    Z, signs, y = problem(n_classes=3)
    one = NystroemPCVM("all").fit(Z, signs, y, 3)
    other = NystroemPCVM("all").fit(Z * np.sqrt(scale), signs, y, 3)
    assert other.kernel_scale_ == pytest.approx(one.kernel_scale_ * scale)
    np.testing.assert_array_equal(other.n_iter_, one.n_iter_)
    for c in range(3):
        np.testing.assert_array_equal(other.active_[c], one.active_[c])
        np.testing.assert_allclose(other.weights_[c], one.weights_[c], rtol=1e-6)
    np.testing.assert_allclose(
        other.decision_function(Z * np.sqrt(scale)), one.decision_function(Z), rtol=1e-6, atol=1e-8
    )


def test_scale_of_a_kernel_whose_diagonal_is_zero():
    Z, signs, y = problem(n_classes=2)
    basis = np.array([0, 5, 11])
    machine = NystroemPCVM().fit(Z, signs, y, 2, basis, self_similarities=np.zeros(len(y)))
    K = (Z * signs) @ Z[basis].T
    assert machine.kernel_scale_ == pytest.approx(np.sqrt(np.mean(K**2)), rel=1e-12)


def test_scale_is_the_mean_magnitude_of_the_true_self_similarities():
    Z, signs, y = problem(n_classes=2)
    own = np.random.default_rng(0).normal(size=len(y))
    machine = NystroemPCVM("all").fit(Z, signs, y, 2, self_similarities=own)
    assert machine.kernel_scale_ == np.abs(own).mean()
    f = (
        (Z * signs)
        @ Z[machine.active_[1]].T
        @ (np.where(y[machine.active_[1]] == 1, 1, -1) * machine.weights_[1])
    )
    expected = f / np.abs(own).mean() + machine.intercept_[1]
    np.testing.assert_allclose(machine.decision_function(Z)[:, 1], expected, atol=1e-10)


def test_accurate_and_the_same_over_more_rows_than_a_tile():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 4, 5000)
    Z = rng.normal(size=(5000, 10)) * 0.4 + rng.normal(size=(4, 10))[y]
    machine = NystroemPCVM().fit(Z, np.ones(10), y, 4, basis_rows=np.arange(40))
    again = NystroemPCVM().fit(Z, np.ones(10), y, 4, basis_rows=np.arange(40))
    assert (machine.predict(Z) == y).mean() > 0.95
    assert machine.coef_.tobytes() == again.coef_.tobytes()
    em = DenseEM(Z, np.ones(10), y == 2, np.arange(40))
    em.step()
    em.step()
    two = after(2, Z, np.ones(10), y, 4, "landmarks", np.arange(40), accelerate=False)
    np.testing.assert_allclose(two.weights_[2], em.w, rtol=1e-8)


def test_labels_that_say_nothing_end_well():
    rng = np.random.default_rng(6)
    Z, y = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    machine = NystroemPCVM("all", max_iter=3000).fit(Z, np.ones(5), y, 2)
    assert machine.converged_.all()
    assert np.isfinite(machine.decision_function(Z)).all()


def test_dependent_columns_and_repeated_rows():
    Z, signs, y = problem(n_classes=3)
    Z, signs, y = np.hstack([Z, Z[:, :2]]), np.append(signs, signs[:2]), np.append(y, y)
    Z = np.vstack([Z, Z])
    machine = after(8, Z, signs, y, 3, "all", accelerate=False)
    em = DenseEM(Z, signs, y == 2, np.arange(len(y)))
    for _ in range(8):
        em.step()
    np.testing.assert_allclose(machine.decision_function(Z)[:, 2], em.f(), rtol=1e-7, atol=1e-7)


def test_bad_input_is_refused():
    Z, signs, y = problem(n_classes=3)
    with pytest.raises(InputError, match="must be positive"):
        NystroemPCVM(tol=0.0)
    with pytest.raises(InputError, match="all similarities are zero"):
        NystroemPCVM("all").fit(Z * 0, signs, y, 3)


def test_functions_at_all_records_are_held_in_memory_and_the_workflow_knows():
    assert PCVMLearner({}).by_tiles
    assert not PCVMLearner({"basis": "all"}).by_tiles
