"""The core vector machine: scikit-learn's optimum, the ball, and core sets that cover."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from kreinflow.errors import InputError
from kreinflow.landmarks.meb import minimum_enclosing_ball
from kreinflow.learners.cvm import (
    CoreVectorMachine,
    GramCore,
    LinearRows,
    _line_search,
    core_vector_path,
    minimise_squared_hinge,
)


def problem(n=300, r=12, n_classes=2, share=None, distance=1.0, seed=0):
    """Rows with lengths that differ, so that the diagonal of the kernel is not constant."""
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, size=n, p=share)
    y[:n_classes] = np.arange(n_classes)
    Z = rng.normal(size=(n, r)) + distance * rng.normal(size=(n_classes, r))[y]
    return Z * rng.uniform(0.5, 2.0, size=(n, 1)), np.ones(r), y


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
    "separable": {"distance": 4.0},
    "unbalanced": {"share": [0.95, 0.05]},
    "more columns than rows": {"n": 60, "r": 100},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("penalty", [0.3, 10.0, 1000.0])
@pytest.mark.parametrize("epsilon", [1e-2, 1e-4, 1e-7])
def test_radius_is_near_the_optimum_of_scikit_learn(case, penalty, epsilon):
    """With a margin rho of its own, the optimum of the dual eta - a'Ka is eta - 1/P*."""
    Z, signs, y = problem(**CASES[case])
    machine = CoreVectorMachine(penalty, epsilon).fit(Z, signs, y, 2)
    eta = (scaled(Z) ** 2).sum(axis=1).max() + 1 + 1 / penalty
    best = eta - 1 / optimum(Z, y == 1, penalty)[0]
    assert machine.converged_.all()
    assert machine.squared_radii_[1] <= best * (1 + 1e-10)
    assert best <= (1 + epsilon) ** 2 * machine.squared_radii_[1] * (1 + 1e-10)


@pytest.mark.parametrize("case", CASES)
def test_small_epsilon_gives_the_function_of_scikit_learn(case):
    Z, signs, y = problem(**CASES[case])
    machine = CoreVectorMachine(10.0, 1e-10).fit(Z, signs, y, 2)
    expected = optimum(Z, y == 1, 10.0)[1]
    decisions = machine.decision_function(Z)
    np.testing.assert_allclose(decisions[:, 1], expected, atol=1e-5 * np.abs(expected).max())
    np.testing.assert_array_equal(decisions[:, 0], -decisions[:, 1])


def test_the_default_epsilon_is_fine_enough_where_labels_are_wrong():
    """That of the authors stops at the rows with wrong labels, which come first."""
    Z, signs, y = problem(n=4000, r=20, distance=2.0)
    t = np.where(np.random.default_rng(1).uniform(size=len(y)) < 0.25, 1 - y, y)
    best = optimum(Z, t == 1, 1000.0)[0]
    values = {}
    for epsilon in (1e-9, 1e-6):
        machine = CoreVectorMachine(1000.0, epsilon).fit(Z, signs, t, 2)
        f = machine.decision_function(Z)[:, 1]
        w = machine.coef_[:, 1] * np.sqrt((Z * Z).sum(axis=1).mean())
        losses = np.maximum(0, 1 - np.where(t == 1, 1, -1) * f) ** 2
        values[epsilon] = w @ w + machine.intercept_[1] ** 2 + 1000.0 * losses.sum()
    assert values[1e-9] < 1.001 * best
    assert values[1e-6] > 1.05 * best
    assert CoreVectorMachine().epsilon == 1e-9


def dense_kernel(Z, y, penalty):
    X, t = scaled(Z), np.where(y == 1, 1.0, -1.0)
    return (X @ X.T + 1) * np.outer(t, t) + np.eye(len(t)) / penalty


def test_the_ball_covers_all_points_of_the_dense_kernel():
    Z, signs, y = problem()
    K = dense_kernel(Z, y, 5.0)
    eta = K.diagonal().max()
    excess = []
    for epsilon in (1e-2, 1e-4, 1e-6):
        machine = CoreVectorMachine(5.0, epsilon).fit(Z, signs, y, 2)
        a = np.zeros(len(y))
        a[machine.support_[1]] = machine.weights_[1]
        assert a.min() >= 0
        assert a.sum() == pytest.approx(1, abs=1e-12)
        assert machine.squared_radii_[1] == pytest.approx(eta - a @ K @ a, rel=1e-12)
        distances = eta - 2 * K @ a + a @ K @ a
        ratio = np.sqrt(distances.max() / machine.squared_radii_[1])
        assert ratio <= 1 + epsilon + 1e-12
        excess.append(ratio - 1)
    assert excess[0] > 1e-4  # a core set of its own: not just the optimum
    assert len(CoreVectorMachine(5.0, 1e-2).fit(Z, signs, y, 2).support_[1]) < len(y) / 4


def test_of_a_constant_diagonal_it_is_the_minimum_enclosing_ball():
    Z, signs, y = problem(n=80)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    t = np.where(y == 1, 1.0, -1.0)
    points = np.hstack([Z * t[:, None], t[:, None], np.eye(len(y)) / np.sqrt(5.0)])
    ball = minimum_enclosing_ball(points, 1e-9)
    machine = CoreVectorMachine(5.0, 1e-9).fit(Z, signs, y, 2)
    assert machine.squared_radii_[1] == pytest.approx(ball.radius**2, rel=1e-8)
    weights = np.zeros(len(y))
    weights[machine.support_[1]] = machine.weights_[1]
    np.testing.assert_allclose(weights, ball.weights, atol=1e-7)


def test_support_vectors_of_all_classes_have_margins_on_one_scale():
    """y f = 1 - beta/C at the support, beta = a P; all others are beyond 1 but for epsilon."""
    Z, signs, y = problem(n_classes=3)
    machine = CoreVectorMachine(10.0, 1e-9).fit(Z, signs, y, 3)
    f = machine.decision_function(Z)
    for c in range(3):
        margins = np.where(y == c, 1, -1) * f[:, c]
        best = optimum(Z, y == c, 10.0)[0]
        support, a = machine.support_[c], machine.weights_[c]
        np.testing.assert_allclose(margins[support], 1 - a * best / 10.0, atol=1e-5)
        assert np.delete(margins, support).min() > 1 - 1e-5


def test_classes_do_not_know_of_each_other():
    Z, signs, y = problem(n_classes=4)
    together = CoreVectorMachine(10.0).fit(Z, signs, y, 4)
    for c in range(4):
        alone = CoreVectorMachine(10.0).fit(Z, signs, (y == c).astype(int), 2)
        np.testing.assert_array_equal(together.support_[c], alone.support_[1])
        np.testing.assert_allclose(together.coef_[:, c], alone.coef_[:, 1], rtol=1e-9, atol=1e-12)


def test_a_path_of_penalties_ends_where_single_fits_do():
    Z, signs, y = problem(n_classes=3)
    penalties = (0.1, 10.0, 1000.0, 1.0)
    path = core_vector_path(LinearRows(Z, signs), y, 3, penalties, 1e-9)
    for penalty, solution in zip(penalties, path, strict=True):
        alone = CoreVectorMachine(penalty, 1e-9).fit(Z, signs, y, 3)
        np.testing.assert_allclose(solution.squared_radii, alone.squared_radii_, rtol=1e-8)
        for ours, theirs in zip(solution.support, alone.support_, strict=True):
            assert len(np.setxor1d(ours, theirs)) <= 2


def test_scale_does_not_matter():
    Z, signs, y = problem()
    one = CoreVectorMachine(3.0).fit(Z, signs, y, 2)
    other = CoreVectorMachine(3.0).fit(1e4 * Z, signs, y, 2)
    np.testing.assert_array_equal(one.support_[1], other.support_[1])
    np.testing.assert_allclose(
        other.decision_function(1e4 * Z), one.decision_function(Z), rtol=1e-9, atol=1e-12
    )


def test_the_core_problem_is_solved_exactly_whichever_way():
    """beta = C max(0, 1 - margin) is the condition of optimality; rows or their Gram matrix."""
    for n, r in ((200, 10), (50, 80)):
        Z, signs, y = problem(n=n, r=r)
        t = np.where(y == 1, 1.0, -1.0)
        rows = LinearRows(Z, signs).core(np.arange(n), t)
        gram = GramCore(dense_kernel(Z, y, np.inf))
        start = np.random.default_rng(1).uniform(size=n)
        for penalty in (0.1, 100.0):
            betas = minimise_squared_hinge(rows, np.zeros(n), penalty)
            margins = gram.margins(betas)
            expected = penalty * np.maximum(0, 1 - margins)
            np.testing.assert_allclose(betas, expected, atol=1e-9 * betas.max())
            again = minimise_squared_hinge(gram, start, penalty)
            np.testing.assert_allclose(betas, again, atol=1e-9 * betas.max())


def test_line_search_is_exact():
    rng = np.random.default_rng(2)
    for _ in range(20):
        margins, slope = rng.normal(1.0, 1.0, size=30), rng.normal(size=30)
        linear, curvature = rng.normal(), rng.uniform(0.1, 5.0)

        def objective(t, m=margins, s=slope, a=linear, b=curvature):
            return a * t + b * t * t / 2 + 3.0 / 2 * (np.maximum(0, 1 - m - t * s) ** 2).sum()

        if objective(1e-9) > objective(0.0):
            slope, linear = -slope, -linear

            def objective(t, m=margins, s=slope, a=linear, b=curvature):
                return a * t + b * t * t / 2 + 3.0 / 2 * (np.maximum(0, 1 - m - t * s) ** 2).sum()

        best = minimize_scalar(objective, bounds=(0, 100), options={"xatol": 1e-12}).x
        length = _line_search(margins, slope, linear, curvature, 3.0)
        assert length == pytest.approx(best, abs=1e-6)


def test_negative_signs_are_refused_and_said_how_to_correct():
    Z, signs, y = problem()
    signs[3:5] = -1
    with pytest.raises(InputError, match="2 negative eigenvalues.* flip, clip, square or shift"):
        CoreVectorMachine().fit(Z, signs, y, 2)


def test_a_full_core_set_warns_and_says_so():
    Z, signs, y = problem(n_classes=3)
    kernel = LinearRows(Z, signs)
    kernel.limit = 5
    with pytest.warns(ConvergenceWarning, match=r"3 of 3 classes are full \(5 rows\)"):
        (solution,) = core_vector_path(kernel, y, 3, (1.0,), 1e-6)
    assert not solution.converged.any()
    assert all(len(support) <= 5 for support in solution.support)


def test_other_bad_input_is_refused():
    Z, signs, y = problem()
    with pytest.raises(InputError, match=r"classes \[2\] of 3"):
        CoreVectorMachine().fit(Z, signs, y, 3)
    with pytest.raises(InputError, match="penalty: 0"):
        CoreVectorMachine(0)
    with pytest.raises(InputError, match="epsilon: 1.0 is not between"):
        CoreVectorMachine(epsilon=1.0)
    with pytest.raises(InputError, match="all training rows are zero"):
        CoreVectorMachine().fit(0 * Z, signs, y, 2)
    with pytest.raises(InputError, match=r"penalty: 1e\+09 is not .* at most 1e\+08"):
        CoreVectorMachine(1e9)


def test_same_bytes_whatever_the_number_of_threads_over_more_rows_than_a_tile():
    Z, signs, y = problem(n=5000, r=40, n_classes=3, seed=3)

    def bytes_of(threads):
        with threadpool_limits(threads):
            return CoreVectorMachine(10.0).fit(Z, signs, y, 3).coef_.tobytes()

    assert bytes_of(1) == bytes_of(2)
