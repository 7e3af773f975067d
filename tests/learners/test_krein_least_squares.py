"""Krein LSM and VC-LSM against normal equations, the paper's dense form, and certificates."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import hadamard

from krein_problems import (
    embedding_of,
    indefinite_kernel,
    labelled_rows,
    learned,
    scale_of,
    weighted,
)
from kreinflow.base.errors import InputError
from kreinflow.learners.krein_least_squares import on_sphere
from kreinflow.learners.registry import make_learner

PENALTIES = [(1.0, 1.0), (1e-2, 1.0), (1.0, 1e-4), (1e-6, 1e-3), (1e-8, 1e-8)]


def least_squares(plus, minus, Z, signs, y):
    settings = {"method": "krein_lsm", "lambda_plus": plus, "lambda_minus": minus}
    return learned(settings, Z, signs, y).decision


def constrained(plus, minus, variance, Z, signs, y):
    settings = {"lambda_plus": plus, "lambda_minus": minus, "variance": variance}
    return learned({"method": "krein_vc_lsm", **settings}, Z, signs, y).decision


def dense_moments(Z, target):
    """T and q of the covariances."""
    both = np.cov(Z.T, target, bias=True)
    return both[:-1, :-1], both[:-1, -1]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(("plus", "minus"), PENALTIES)
def test_least_squares_satisfies_the_normal_equations(plus, minus, n_classes):
    Z, signs, y = labelled_rows(n_classes=n_classes)
    decision = least_squares(plus, minus, Z, signs, y)
    X = np.hstack([Z, np.ones((len(Z), 1))])
    penalty = np.zeros((11, 11))
    penalty[:10, :10] = len(Z) * weighted(Z, signs, plus, minus)
    for c in range(n_classes):
        u = np.append(decision.weights[:, c], decision.intercept[c])
        right = X.T @ np.where(y == c, 1.0, -1.0)
        np.testing.assert_allclose((X.T @ X + penalty) @ u, right, atol=1e-10 * len(Z))


def at_absolute_penalties(Z, signs, y, plus, minus):
    """The decision at penalties that do not follow the scale of Z."""
    return least_squares(plus / scale_of(Z), minus / scale_of(Z), Z, signs, y)


@pytest.mark.parametrize(("plus", "minus"), [(0.1, 0.1), (0.02, 3.0), (2.0, 1e-3)])
def test_on_the_eigen_factor_it_is_the_dense_form_of_the_paper(plus, minus):
    K, K_new, y = indefinite_kernel(60, seed=1)
    target = np.where(y == 1, 1.0, -1.0)
    landmarks = np.arange(0, 60, 4)
    embedding = embedding_of(K, "none", landmarks)
    Z, signs = embedding.transform(K[:, landmarks]), embedding.signs
    Z_new = embedding.transform(K_new[:, landmarks])
    decision = at_absolute_penalties(Z, signs, y, plus, minus)
    # alpha = (H + n Lambda)^-1 P (y - b), with H = U |D| U', P = U S U', Lambda in the basis U
    D, U = np.linalg.eigh(K)
    D[np.abs(D) < 1e-9 * np.abs(D).max()] = 0.0
    H, P = (U * np.abs(D)) @ U.T, (U * np.sign(D)) @ U.T
    Lam = (U * np.where(D < 0, minus, plus)) @ U.T
    b = decision.intercept[1]
    alpha = np.linalg.solve(H + len(y) * Lam, P @ (target - b))
    scale = np.abs(target).sum()
    np.testing.assert_allclose(decision.decide(Z)[:, 1], K @ alpha + b, atol=1e-11)
    np.testing.assert_allclose(decision.decide(Z_new)[:, 1], K_new @ alpha + b, atol=1e-9)
    assert abs((K @ alpha + b - target).sum()) < 1e-11 * scale  # the intercept is free


def test_equal_penalties_are_ridge_regression_on_the_flipped_landmark_matrix():
    """On the factor of the landmarks flip W, which is another kernel than K~ flipped."""
    K, K_new, y = indefinite_kernel(60, seed=1)
    landmarks, target = np.arange(0, 60, 4), np.where(y == 1, 1.0, -1.0)
    values, vectors = np.linalg.eigh(K[np.ix_(landmarks, landmarks)])
    kept = np.abs(values) > 1e-9 * np.abs(values).max()
    columns = (vectors[:, kept] / np.abs(values[kept])) @ vectors[:, kept].T @ K[landmarks]
    kernel, new = K[:, landmarks] @ columns, K_new[:, landmarks] @ columns
    embedding = embedding_of(K, "landmark_basis", landmarks)
    decision = at_absolute_penalties(
        embedding.transform(K[:, landmarks]), embedding.signs, y, 0.1, 0.1
    )
    found = decision.decide(embedding.transform(K_new[:, landmarks]))[:, 1]
    centre = np.eye(60) - 1 / 60
    matrix = centre @ kernel @ centre + 60 * 0.1 * np.eye(60)
    alpha = centre @ np.linalg.solve(matrix, centre @ target)
    expected = (new - kernel.mean(axis=0)) @ alpha + target.mean()
    np.testing.assert_allclose(found, expected, atol=1e-9)


# --- the constraint of variance -----------------------------------------------------------------


def certify(plus, minus, variance, Z, signs, y):
    """A stationary point on a sphere is the global optimum just if its matrix is semidefinite."""
    decision = constrained(plus, minus, variance, Z, signs, y)
    Lam, f = weighted(Z, signs, plus, minus), decision.decide(Z)
    for c in range(y.max() + 1):
        target = np.where(y == c, 1.0, -1.0)
        assert f[:, c].var() == pytest.approx(variance * target.var(), rel=1e-9)
        assert f[:, c].mean() == pytest.approx(target.mean(), abs=1e-10)
        T, q = dense_moments(Z, target)
        w = decision.weights[:, c]
        Tw = T @ w
        mu = Tw @ (q - Lam @ w) / (Tw @ Tw)  # the least squares solution of (Lam + mu T) w = q
        matrix = Lam + mu * T
        np.testing.assert_allclose(matrix @ w, q, atol=1e-9 * np.abs(q).max())
        assert np.linalg.eigvalsh(matrix)[0] > -1e-10 * np.abs(matrix).max()


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("variance", [0.3, 1.0])
@pytest.mark.parametrize(("plus", "minus"), PENALTIES)
def test_variance_stationarity_and_a_certificate_of_the_global_optimum(
    plus, minus, variance, n_classes
):
    certify(plus, minus, variance, *labelled_rows(n_classes=n_classes))


@pytest.mark.parametrize(("n", "r"), [(80, 8), (20, 30)])
def test_centring_that_lowers_the_rank_leaves_the_optimum_over_all_weights(n, r):
    """The pseudo-inverse form of the paper's E confines w to the span of the centred rows."""
    Z, signs, y = labelled_rows(n, r, 2, negative=3)
    # Two columns of other signs that differ by a constant: centred, they are the same.
    Z = np.hstack([Z, Z[:, :1] + 5.0])
    certify(1e-1, 1e-3, 1.0, Z, np.append(signs, -signs[0]), y)


def test_hard_case_is_made_up_for_by_the_bottom_vector():
    # Orthogonal columns; the labels know nothing of the first, whose e is the smallest.
    H = hadamard(8)
    target = (H[:, 2] + H[:, 4] + H[:, 6] - 1) / 2
    Z = H[:, [1, 2, 4]] * [4.0, 1.0, 2.0] + 2.0
    T, q = dense_moments(Z, target)
    assert q[0] == 0
    w = constrained(1.0, 1.0, 1.0, Z, np.ones(3), (target > 0).astype(int)).weights[:, 1]
    variances, t = np.diagonal(T), scale_of(Z)
    np.testing.assert_allclose(w[1:], q[1:] / (t - t / variances[0] * variances[1:]))
    assert w @ T @ w == pytest.approx(target.var())
    assert abs(w[0]) > 0.1


@pytest.mark.parametrize("seed", range(20))
def test_secular_equation_from_easy_to_nearly_hard(seed):
    rng = np.random.default_rng(seed)
    gaps = np.cumsum(10.0 ** rng.uniform(-12, 3, 30))
    gaps -= gaps[0]
    c = rng.normal(size=30) * 10.0 ** rng.uniform(-9, 0, 30)
    c[: seed % 4] *= 10.0 ** rng.uniform(-30, -8)
    radius = 10.0 ** rng.uniform(-4, 4)
    gamma, shift = on_sphere(gaps, c, radius)
    assert shift > 0
    assert np.linalg.norm(gamma) == pytest.approx(radius, rel=1e-11)
    np.testing.assert_allclose((gaps + shift) * gamma, c, rtol=1e-13)


def test_secular_equation_without_a_root_and_with_a_double_bottom():
    gaps = np.array([0.0, 0.0, 2.0, 4.0])
    gamma, shift = on_sphere(gaps, np.array([0.0, 0.0, 1.0, 2.0]), 3.0)
    assert shift == 0
    np.testing.assert_allclose(gamma, [np.sqrt(9 - 0.5), 0, 0.5, 0.5])
    # The rest alone is longer than the radius: there is a root, though c_1 = 0.
    gamma, shift = on_sphere(gaps, np.array([0.0, 0.0, 1.0, 2.0]), 0.5)
    assert shift > 0
    np.testing.assert_allclose([gamma @ gamma, gamma[0]], [0.25, 0.0], atol=1e-12)
    gamma, shift = on_sphere(gaps, np.zeros(4), 2.0)
    np.testing.assert_array_equal(gamma, [2.0, 0, 0, 0])


# --- the learners -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "settings", "count"),
    [
        ("krein_lsm", {}, 25),
        ("krein_vc_lsm", {}, 25),
        ("krein_vc_lsm", {"variance": "inner"}, 27),
        ("krein_vc_lsm", {"lambda_plus": 1, "lambda_minus": 0.5, "variance": 2}, 1),
    ],
)
def test_pairs_are_tried_from_the_most_regularised(method, settings, count):
    choices = make_learner({"method": method, **settings}).choices()
    assert len(choices) == count
    products = [choice["lambda_plus"] * choice["lambda_minus"] for choice in choices]
    assert all(b <= a * (1 + 1e-9) for a, b in pairwise(products))
    assert choices[0]["lambda_plus"] == 1
    assert choices[0]["lambda_minus"] == settings.get("lambda_minus", 1)
    shares = [choice.get("variance", 1.0) for choice in choices[:3]]
    assert shares == sorted(shares)


def test_penalties_that_are_too_small_are_refused():
    Z, _, y = labelled_rows()
    with pytest.raises(InputError, match="penalty of 1e-30 is too small"):
        least_squares(1e-30, 1e-30, np.hstack([Z, Z]), np.ones(20), y)
