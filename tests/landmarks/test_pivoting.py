"""Leverage scores and pivots against dense matrices and the determinants of all subsets."""

from itertools import combinations

import numpy as np
import pytest

from kreinflow.landmarks import pivoting
from kreinflow.landmarks.pivoting import (
    AdaptivePivoting,
    LeverageScores,
    random_pivots,
    ridge_leverage_scores,
)
from landmarks.made_up import flip, indefinite_kernel, keys_of, sketch_of


def test_pivots_follow_the_diagonal_of_the_dense_schur_complement(monkeypatch):
    """The residuals of each step, against K - K_S K_SS^-1 K_S'."""

    K = flip(indefinite_kernel(30, 8, 4, seed=2))
    seen = []

    def watched(rates, free, keys, draw):
        seen.append(rates.copy())
        return original(rates, free, keys, draw)

    original = pivoting.draw_row
    monkeypatch.setattr(pivoting, "draw_row", watched)
    F = sketch_of(K).flipped
    pivots = random_pivots(F, 12, keys_of(30))
    for step, residuals in enumerate(seen):
        S = pivots[:step]
        schur = K - K[:, S] @ np.linalg.pinv(K[np.ix_(S, S)]) @ K[S]
        np.testing.assert_allclose(residuals, np.diag(schur), atol=1e-9 * K.max())


def test_nearly_dependent_rows_are_told_apart_from_noise():
    """Eigenvalues over eight decades: the pivots still span what they can."""
    rng = np.random.default_rng(5)
    F = np.linalg.qr(rng.standard_normal((60, 9)))[0] * 10.0 ** -np.arange(0.0, 4.5, 0.5)
    pivots = random_pivots(F, 9, keys_of(60))
    assert np.linalg.matrix_rank(F[pivots] / np.linalg.norm(F, axis=0)) == 9


@pytest.mark.usefixtures("many_draws")
def test_beyond_the_rank_rows_are_drawn_uniformly():
    F = np.zeros((6, 2))
    F[1], F[4] = [1.0, 0.0], [0.0, 1.0]
    thirds = []
    for seed in range(1500):
        pivots = random_pivots(F, 6, keys_of(6, seed=seed))
        assert set(pivots[:2].tolist()) == {1, 4}
        assert sorted(pivots.tolist()) == list(range(6))
        thirds.append(pivots[2])
    shares = np.bincount(thirds, minlength=6)[[0, 2, 3, 5]] / 1500
    np.testing.assert_allclose(shares, 0.25, atol=4 * np.sqrt(0.25 / 1500))


K = indefinite_kernel(8, 5, 3, seed=7, decay=0.8)
SETS = list(combinations(range(8), 3))


def determinants(V):
    return np.array([np.linalg.det(V[list(S)]) ** 2 for S in SETS])


@pytest.mark.usefixtures("many_draws")
def test_sets_are_drawn_by_their_squared_determinant():
    sketch = sketch_of(K)
    expected = determinants(sketch.eigenpairs[1][:, :3])
    assert expected.sum() == pytest.approx(1)  # Cauchy-Binet
    shares = dict.fromkeys(SETS, 0.0)
    draws = 3_000
    for seed in range(draws):
        chosen = AdaptivePivoting({"budget": 3}).choose(sketch, 3, keys_of(8, seed=seed))
        shares[tuple(sorted(chosen.tolist()))] += 1 / draws
    np.testing.assert_allclose(list(shares.values()), expected, atol=4 * np.sqrt(0.25 / draws))


def test_the_expected_error_is_k_plus_one_times_the_best():
    """Exactly, by the determinants: the identity that the class gives."""
    sketch = sketch_of(K)
    V = sketch.eigenpairs[1][:, :3]
    expected = 0.0
    for S, probability in zip(SETS, determinants(V), strict=True):
        J = list(S)
        oblique = K[:, J] @ np.linalg.inv(V[J]).T @ V.T
        expected += probability * np.linalg.norm(K - oblique) ** 2
    best = np.sum(sketch.eigenpairs[0][3:] ** 2)
    assert expected == pytest.approx(4 * best, rel=1e-9)


@pytest.mark.parametrize("count", [3, 10, 17])
def test_scores_of_the_whole_matrix_are_the_dense_ones(count):
    K = indefinite_kernel(50, 12, 8, seed=1, decay=0.9)
    sketch = sketch_of(K)
    scores = ridge_leverage_scores(*sketch.eigenpairs, count)
    assert scores.sum() == pytest.approx(count)  # the effective dimension
    H = flip(K)
    low, high = 0.0, np.trace(H)
    for _ in range(200):  # the ridge, found another way
        ridge = (low + high) / 2
        dense = np.diag(H @ np.linalg.inv(H + ridge * np.eye(50)))
        low, high = (ridge, high) if dense.sum() > count else (low, ridge)
    np.testing.assert_allclose(scores, dense, atol=1e-8)


def test_without_a_ridge_they_are_the_squared_norms_of_the_eigenvectors():
    K = indefinite_kernel(50, 6, 4, seed=2)
    sketch = sketch_of(K)
    scores = ridge_leverage_scores(*sketch.eigenpairs, 10)
    np.testing.assert_allclose(scores, np.diag(K @ np.linalg.pinv(K, rcond=1e-9)), atol=1e-8)
    np.testing.assert_array_equal(scores, ridge_leverage_scores(*sketch.eigenpairs, 30))


def test_rows_are_drawn_by_their_scores():
    K = indefinite_kernel(6, 3, 2, seed=4)
    sketch = sketch_of(K)
    selector = LeverageScores({"budget": 1})
    draws = 2000
    shares = np.zeros(6)
    for seed in range(draws):
        shares[selector.choose(sketch, 1, keys_of(6, seed=seed))] += 1 / draws
    scores = ridge_leverage_scores(*sketch.eigenpairs, 1)
    np.testing.assert_allclose(shares, scores, atol=4 * np.sqrt(0.25 / draws))
