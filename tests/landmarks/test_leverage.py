import numpy as np
import pytest

from kreinflow.landmarks.leverage import LeverageScores, ridge_leverage_scores
from landmarks.made_up import flip, indefinite_kernel, keys_of, sketch_of


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


def test_a_scaled_kernel_has_the_same_scores():
    K = indefinite_kernel(40, 12, 5, seed=3)
    small, own, large = (
        ridge_leverage_scores(*sketch_of(scale * K).eigenpairs, 6) for scale in (1e-12, 1.0, 1e12)
    )
    np.testing.assert_allclose(small, own, atol=1e-9)
    np.testing.assert_allclose(large, own, atol=1e-9)


def test_rows_are_drawn_by_their_scores():
    K = indefinite_kernel(6, 3, 2, seed=4)
    sketch = sketch_of(K)
    selector = LeverageScores({"budget": 1})
    draws = 8000
    shares = np.zeros(6)
    for seed in range(draws):
        shares[selector.choose(sketch, 1, keys_of(6, seed=seed))] += 1 / draws
    scores = ridge_leverage_scores(*sketch.eigenpairs, 1)
    np.testing.assert_allclose(shares, scores, atol=4 * np.sqrt(0.25 / draws))
