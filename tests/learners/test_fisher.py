"""Ny-iKFD against the dense recipe of the paper, scikit-learn, and least squares."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from krein_problems import labelled_rows
from kreinflow.learners.fisher import SCATTERS, _solve, fisher_path


def problem(n, r, n_classes, **shape):
    return labelled_rows(n, r, n_classes, negative=r // 3, separation=1.5, **shape)


def fitted(Z, signs, y, n_classes, scatter="balanced", bias="midpoint", ridge=0.0):
    (functions,) = fisher_path(Z, signs, y, n_classes, scatter, bias, [ridge])
    return functions


def dense_ikfd(K, positive, K_new, shares=(1, 1)):
    """Recipe of schleif2018 (eq. 3, 15) on an N x N matrix: alpha = pinv(within)(mu+ - mu-).

    Returns the decisions, and the eigenvalues of ``within``, the largest first. They come from the
    singular values of the centred columns, as ``pinv(within)`` has errors of 1e-7 by rounding.
    """
    plus, minus = K[:, positive], K[:, ~positive]
    mu_plus, mu_minus = plus.mean(axis=1), minus.mean(axis=1)
    root = np.hstack(
        [
            np.sqrt(share / part.shape[1]) * (part - part.mean(axis=1, keepdims=True))
            for share, part in zip(shares, (plus, minus), strict=True)
        ]
    )
    vectors, roots, _ = np.linalg.svd(root)
    range_ = roots**2 > 1e-10 * roots[0] ** 2
    onto = vectors[:, range_] / roots[range_]
    alpha = onto @ (onto.T @ (mu_plus - mu_minus))
    return K_new @ alpha - alpha @ (mu_plus + mu_minus) / 2, roots**2


@pytest.mark.parametrize(
    ("n", "r", "smallest", "condition", "tolerance"),
    # `condition` bounds that of `within` on its range; the tolerance is a part of f's range.
    [
        (60, 12, 1e-2, 1e10, 1e-10),
        (60, 30, 0.3, 1e6, 1e-10),
        (40, 38, 0.5, 1e10, 1e-8),  # the most columns of a regular scatter
        (40, 39, 0.5, 1e9, 1e-9),
        (40, 40, 0.5, 1e9, 1e-9),  # m = N
        (40, 60, 0.5, 1e8, 1e-9),
    ],
)
@pytest.mark.parametrize("copies", [0, 2])  # columns that stand there twice
def test_equals_the_dense_recipe_up_to_m_equal_to_n_and_beyond(
    n, r, smallest, condition, tolerance, copies
):
    Z, signs, y = problem(n, r, 3, seed=r, smallest=smallest)
    new = problem(25, r, 3, seed=r + 100, smallest=smallest)[0]
    Z, new, signs = (np.hstack([part, part[..., :copies]]) for part in (Z, new, signs))
    K, K_new = (Z * signs) @ Z.T, (new * signs) @ Z.T
    fisher = fitted(Z, signs, y, 3)
    assert fisher.singular.any() == (r > n - 2 or copies > 0)
    decisions = fisher.decide(new)
    for c in range(3):
        expected, values = dense_ikfd(K, y == c, K_new)
        assert values[0] / values[min(r, n - 2) - 1] < condition
        assert np.abs(decisions[:, c] - expected).max() < tolerance * np.ptp(expected)


def weighted_least_squares(Z, positive, weights, penalty):
    """Targets +-1, free intercept, penalty on w only, by the normal equations."""
    weights = weights / weights.sum()
    target = np.where(positive, 1.0, -1.0)
    X = np.hstack([Z, np.ones((len(Z), 1))])
    P = np.diag(np.append(np.full(Z.shape[1], penalty), 0.0))
    solution = np.linalg.solve((X.T * weights) @ X + P, (X.T * weights) @ target)
    return solution[:-1], solution[-1]


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("scatter", SCATTERS)
@pytest.mark.parametrize("ridge", [0.0, 1e-2])
def test_least_squares_bias_is_exactly_least_squares(scatter, ridge, n_classes):
    Z, signs, y = problem(200, 8, n_classes)
    y[30:120] = 0  # unbalanced
    fisher = fitted(Z, signs, y, n_classes, scatter, "least_squares", ridge)
    penalty = ridge * np.trace(np.cov(Z.T, bias=True)) / 8
    for c in range(n_classes):
        positive = y == c
        weights = np.ones(len(y))
        if scatter == "balanced":
            weights = np.where(positive, 1 / positive.sum(), 1 / (~positive).sum())
        w, b = weighted_least_squares(Z, positive, weights, penalty)
        np.testing.assert_allclose(fisher.coef[:, c], w, rtol=1e-8, atol=1e-9 * np.abs(w).max())
        np.testing.assert_allclose(fisher.intercept[c], b, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("scatter", SCATTERS)
@pytest.mark.parametrize("bias", ["log_prior", "midpoint"])
def test_regular_scatter_is_linear_discriminant_analysis(scatter, bias):
    """The balanced scatter weighs both classes the same; that of the paper is a sum, not a mean."""
    Z, signs, y = problem(300, 8, 4)
    y[30:200] = 2
    decisions = fitted(Z, signs, y, 4, scatter, bias).decide(Z)
    for c in range(4):
        p = np.mean(y == c)
        shares = [0.5, 0.5] if scatter == "balanced" else [1 - p, p]
        lda = LinearDiscriminantAnalysis(solver="lsqr", priors=shares).fit(Z, y == c)
        expected = lda.decision_function(Z) - np.log(shares[1] / shares[0])
        if bias == "log_prior":
            expected += np.log(p / (1 - p))
        elif scatter == "balanced":
            expected /= 2
        np.testing.assert_allclose(decisions[:, c], expected, atol=1e-9)


@pytest.mark.parametrize("r", [29, 45])  # with 29 of 30 the total scatter is regular
def test_pooled_singular_equals_the_pseudo_inverse_class_by_class(r):
    Z, signs, y = problem(30, r, 3, smallest=0.5)
    fisher = fitted(Z, signs, y, 3, "pooled", "midpoint")
    assert fisher.singular.any()
    K = (Z * signs) @ Z.T
    for c in range(3):
        p = np.mean(y == c)
        expected, _ = dense_ikfd(K, y == c, K, shares=(p, 1 - p))
        found = fisher.decide(Z)[:, c]
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.ptp(expected))


def test_what_counts_as_singular():
    B = np.arange(6.0).reshape(3, 2)
    regular = np.diag([1.0, 1e-8, 1e-16]) + 1e-9 * np.diag([0, 1e-9, 0])  # badly scaled alone
    regular[0, 1] = regular[1, 0] = 0.5e-4
    np.testing.assert_allclose(_solve(regular, B), np.linalg.solve(regular, B), rtol=1e-9)
    near = np.eye(3)
    for gap, singular in ((1e-8, False), (1e-11, True), (1e-14, True), (0.0, True), (-1e-3, True)):
        near[0, 1] = near[1, 0] = 1 - gap
        assert (_solve(near, B) is None) == singular
    for zero in range(3):
        assert _solve(np.diag(np.arange(3) != zero).astype(float), B) is None
    assert _solve(np.full((3, 3), np.nan), B) is None


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scatter", SCATTERS)
@pytest.mark.parametrize(("n", "r"), [(200, 8), (30, 45)])
def test_each_ridge_of_a_path_is_fitted_as_if_alone(n, r, scatter, n_classes):
    """Also where 0 is among them, which alone needs the pseudo-inverse if columns abound."""
    Z, signs, y = problem(n, r, n_classes)
    ridges = [1e-2, 0.0, 1.0, 1e-4]
    path = fisher_path(Z, signs, y, n_classes, scatter, "least_squares", ridges)
    for ridge, found in zip(ridges, path, strict=True):
        assert found.singular.any() == (r > n and ridge == 0)
        alone = fitted(Z, signs, y, n_classes, scatter, "least_squares", ridge)
        np.testing.assert_array_equal(found.coef, alone.coef)
        np.testing.assert_array_equal(found.intercept, alone.intercept)


def test_more_rows_than_a_tile_and_a_far_origin():
    Z, signs, y = problem(5000, 6, 3)
    near = fitted(Z, signs, y, 3)
    far = fitted(Z + 1e4, signs, y, 3)
    np.testing.assert_allclose(far.decide(Z + 1e4), near.decide(Z), atol=1e-5)
    assert (near.decide(Z).argmax(axis=1) == y).mean() > 0.9
