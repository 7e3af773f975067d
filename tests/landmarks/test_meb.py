import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from kreinflow.landmarks.meb import minimum_enclosing_ball


def reference_squared_radius(F):
    """The dual by scipy's SLSQP, an oracle for few points."""
    F = F - F.mean(axis=0)
    scale = np.abs(F).max()
    K = (F / scale) @ (F / scale).T
    k, n = np.diag(K), len(F)
    result = minimize(
        lambda a: a @ K @ a - a @ k,
        np.full(n, 1 / n),
        jac=lambda a: 2 * K @ a - k,
        bounds=[(0, 1)] * n,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": lambda a: np.ones(n)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return -result.fun * scale**2


def check_optimal(F, ball, epsilon):
    distances = np.linalg.norm(F - ball.centre, axis=1)
    scale = np.abs(F - F[0]).max()
    assert ball.reached
    assert distances.max() <= ball.radius * (1 + epsilon) + 1e-9 * scale
    assert ball.weights.min() >= 0
    assert ball.weights.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(ball.weights @ F, ball.centre, atol=1e-9 * np.abs(F).max())
    # Dual optimality on the core: its support lies on the sphere.
    np.testing.assert_allclose(
        distances[ball.weights > 1e-6] ** 2, ball.radius**2, atol=1e-9 * scale**2
    )
    centred = F - F[0]
    K = centred @ centred.T
    dual = ball.weights @ np.diag(K) - ball.weights @ K @ ball.weights
    assert dual == pytest.approx(ball.radius**2, abs=1e-9 * scale**2)


def anywhere(rng):
    n, d = rng.integers(3, 26), rng.integers(1, 12)
    return rng.standard_normal((n, d)) + rng.standard_normal(d) * 3


def on_a_lattice(rng):
    """More points than dimensions allow: affinely dependent without rounding."""
    return rng.integers(-8, 9, (15, rng.integers(1, 4))).astype(float)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("points", [anywhere, on_a_lattice])
def test_ball_equals_a_quadratic_programme(points, seed):
    F = points(np.random.default_rng(seed))
    ball = minimum_enclosing_ball(F, epsilon=0)
    check_optimal(F, ball, 0)
    assert ball.radius**2 == pytest.approx(reference_squared_radius(F), rel=1e-9)


GRID = np.array(list(itertools.product(range(4), repeat=2)), dtype=float)
CUBE = np.array(list(itertools.product([-1.0, 1.0], repeat=5)))


@pytest.mark.parametrize(
    ("F", "radius"),
    [
        (np.array([[0.0], [3.0]]), 1.5),
        (np.array([[0.0], [1.0], [5.0], [2.0]]), 2.5),  # the third is in the others' span
        (np.arange(7.0)[:, None] * [3, 4], 15.0),  # collinear
        (GRID, np.sqrt(4.5)),  # four corners on one circle
        (CUBE, np.sqrt(5.0)),  # 32 on one sphere
        (np.eye(9), np.sqrt(8 / 9)),  # a regular simplex: all are support
        (np.repeat(CUBE, 3, axis=0), np.sqrt(5.0)),  # each three times
        (CUBE + 1e6, np.sqrt(5.0)),  # far from the origin
        (CUBE * 1e-9, np.sqrt(5.0) * 1e-9),
        (CUBE * 1e9, np.sqrt(5.0) * 1e9),
    ],
)
def test_degenerate_points(F, radius):
    ball = minimum_enclosing_ball(F, epsilon=0)
    check_optimal(F, ball, 0)
    assert ball.radius == pytest.approx(radius, rel=1e-9)
    assert len(ball.support) >= 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_core_set_covers_all_within_epsilon(seed, epsilon):
    F = np.random.default_rng(seed).standard_normal((700, 60))
    ball = minimum_enclosing_ball(F, epsilon)
    check_optimal(F, ball, epsilon)
    exact = minimum_enclosing_ball(F, 0)
    assert ball.radius <= exact.radius <= ball.radius * (1 + epsilon)
    assert np.array_equal(ball.support, np.flatnonzero(ball.weights > 1e-6))
    assert len(ball.support) <= len(ball.core) <= 2 / epsilon + 2


def test_points_nearly_on_one_sphere():
    rng = np.random.default_rng(1)
    F = rng.standard_normal((60, 3))
    F *= (1 + 1e-7 * rng.random(60))[:, None] / np.linalg.norm(F, axis=1)[:, None]
    check_optimal(F, minimum_enclosing_ball(F, epsilon=0), 0)


def test_one_point_and_points_that_coincide():
    one = minimum_enclosing_ball(np.array([[2.0, 3.0]]))
    assert (one.radius, one.support.tolist(), one.reached) == (0.0, [0], True)
    same = minimum_enclosing_ball(np.full((5, 3), 0.1))
    assert (same.radius, same.support.tolist(), same.reached) == (0.0, [0, 1], True)
    assert same.centre.tolist() == [0.1, 0.1, 0.1]
