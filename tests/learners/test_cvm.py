"""The core vector machine: scikit-learn's optimum, the ball, and core sets that cover."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from krein_problems import learned, mixture_rows
from kreinflow.base.errors import InputError
from kreinflow.learners.cvm import LinearRows, core_vector_path
from kreinflow.learners.one_against_rest import fitted_classes


def problem(n=300, noise=1.0, **shape):
    """Rows with lengths that differ, so that the diagonal of the kernel is not constant."""
    Z, signs, y = mixture_rows(n, noise, negative=0, **shape)
    return Z * np.random.default_rng(1).uniform(0.5, 2.0, size=(n, 1)), signs, y


def dual(Z, signs, y, n_classes, penalty, epsilon):
    """Return for each class that is fitted the dual weights a of all rows."""
    kernel = LinearRows(Z, signs)
    (solution,) = core_vector_path(kernel, y, n_classes, (penalty,), epsilon)
    assert solution.converged
    found = np.zeros((len(solution.expansions), len(y)))
    for a, expansion in zip(found, solution.expansions, strict=True):
        a[expansion.rows] = np.abs(expansion.coefficients) / np.abs(expansion.coefficients).sum()
    return found


def scaled(Z):
    return Z / np.sqrt((Z * Z).sum(axis=1).mean())


def optimum(Z, positive, penalty):
    """P* = min |w|^2 + b^2 + C sum of squared hinges, by scikit-learn; and its function."""
    X, y = scaled(Z), np.where(positive, 1.0, -1.0)
    machine = LinearSVC(C=penalty / 2, dual=False, tol=1e-12, max_iter=100000).fit(X, y)
    f = machine.decision_function(X)
    w, b = machine.coef_[0], machine.intercept_[0]
    return w @ w + b * b + penalty * (np.maximum(0, 1 - y * f) ** 2).sum(), f


CASES = {
    "overlapping": {},
    "separable": {"noise": 0.25},
    "unbalanced": {"share": [0.95, 0.05]},
    "more columns than rows": {"n": 60, "r": 100},
    "three classes": {"n_classes": 3},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("penalty", [0.3, 1000.0])
@pytest.mark.parametrize("epsilon", [1e-2, 1e-7])
def test_the_ball_covers_all_points_and_is_near_the_optimum_of_scikit_learn(case, penalty, epsilon):
    """With a margin rho of its own, the optimum of the dual eta - a'Ka is eta - 1/P*."""
    Z, signs, y = problem(**CASES[case])
    n_classes = y.max() + 1
    duals = dual(Z, signs, y, n_classes, penalty, epsilon)
    for c, a in zip(fitted_classes(n_classes), duals, strict=True):
        X, t = scaled(Z), np.where(y == c, 1.0, -1.0)
        K = (X @ X.T + 1) * np.outer(t, t) + np.eye(len(t)) / penalty
        eta = K.diagonal().max()
        squared_radius = eta - a @ K @ a
        best = eta - 1 / optimum(Z, y == c, penalty)[0]
        assert a.sum() == pytest.approx(1, abs=1e-12)
        distances = eta - 2 * K @ a + a @ K @ a
        assert np.sqrt(distances.max() / squared_radius) <= 1 + epsilon + 1e-12
        assert squared_radius <= best * (1 + 1e-10)
        assert best <= (1 + epsilon) ** 2 * squared_radius * (1 + 1e-10)


@pytest.mark.parametrize("case", CASES)
def test_small_epsilon_gives_the_function_of_scikit_learn(case):
    Z, signs, y = problem(**CASES[case])
    fitted = learned({"method": "cvm", "penalty": 10.0, "epsilon": 1e-10}, Z, signs, y)
    decisions = fitted.decision.decide(Z)
    for c in range(y.max() + 1):
        expected = optimum(Z, y == c, 10.0)[1]
        np.testing.assert_allclose(decisions[:, c], expected, atol=1e-5 * np.abs(expected).max())


def test_the_default_epsilon_is_fine_enough_where_labels_are_wrong():
    """That of the authors stops at the rows with wrong labels, which come first."""
    Z, signs, y = problem(n=4000, r=20, noise=0.5)
    t = np.where(np.random.default_rng(1).uniform(size=len(y)) < 0.25, 1 - y, y)
    decision = learned({"method": "cvm", "penalty": 1000.0}, Z, signs, t).decision
    w = decision.weights[:, 1] * np.sqrt((Z * Z).sum(axis=1).mean())
    losses = np.maximum(0, 1 - np.where(t == 1, 1, -1) * decision.decide(Z)[:, 1]) ** 2
    value = w @ w + decision.intercept[1] ** 2 + 1000.0 * losses.sum()
    assert value < 1.001 * optimum(Z, t == 1, 1000.0)[0]


@pytest.mark.parametrize("method", ["cvm", "svc"])
def test_negative_signs_and_rows_of_zeros_are_refused(method):
    settings = {"method": method, "penalty": 1.0}
    Z, signs, y = problem()
    with pytest.raises(InputError, match="all training rows are zero"):
        learned(settings, 0 * Z, signs, y)
    signs[3:5] = -1
    with pytest.raises(InputError, match="2 negative eigenvalues.* flip, clip, square or shift"):
        learned(settings, Z, signs, y)
