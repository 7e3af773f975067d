"""Against the determinants of all subsets."""

from itertools import combinations

import numpy as np
import pytest

from kreinflow.landmarks.pivoting import AdaptivePivoting
from landmarks.made_up import indefinite_kernel, keys_of, sketch_of

K = indefinite_kernel(8, 5, 3, seed=7, decay=0.8)
SETS = list(combinations(range(8), 3))


def determinants(V):
    return np.array([np.linalg.det(V[list(S)]) ** 2 for S in SETS])


@pytest.mark.usefixtures("many_draws")
def test_sets_are_drawn_by_their_squared_determinant():
    sketch = sketch_of(K)
    expected = determinants(sketch.eigenvectors[:, :3])
    assert expected.sum() == pytest.approx(1)  # Cauchy-Binet
    shares = dict.fromkeys(SETS, 0.0)
    draws = 20_000
    for seed in range(draws):
        chosen = AdaptivePivoting({"budget": 3}).choose(sketch, 3, keys_of(8, seed=seed))
        shares[tuple(sorted(chosen.tolist()))] += 1 / draws
    np.testing.assert_allclose(list(shares.values()), expected, atol=4 * np.sqrt(0.25 / draws))


def test_the_expected_error_is_k_plus_one_times_the_best():
    """Exactly, by the determinants: the identity that the class gives."""
    sketch = sketch_of(K)
    V = sketch.eigenvectors[:, :3]
    expected = 0.0
    for S, probability in zip(SETS, determinants(V), strict=True):
        J = list(S)
        oblique = K[:, J] @ np.linalg.inv(V[J]).T @ V.T
        expected += probability * np.linalg.norm(K - oblique) ** 2
    best = np.sum(sketch.eigenvalues[3:] ** 2)
    assert expected == pytest.approx(4 * best, rel=1e-9)


def test_the_mean_error_keeps_the_bound():
    """Of the projection onto the columns, which errs less than the oblique one."""
    kernel = indefinite_kernel(60, 30, 15, seed=8, decay=0.85)
    sketch = sketch_of(kernel)
    for k in (4, 10):
        errors = []
        for seed in range(60):
            J = AdaptivePivoting({"budget": k}).choose(sketch, k, keys_of(60, seed=seed))
            Q, _ = np.linalg.qr(kernel[:, J])
            errors.append(np.linalg.norm(kernel - Q @ (Q.T @ kernel)) ** 2)
        assert np.mean(errors) <= (k + 1) * np.sum(sketch.eigenvalues[k:] ** 2)
