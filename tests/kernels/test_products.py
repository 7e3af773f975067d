"""Kernels of inner products against scikit-learn and against what they are the limit of."""

import numpy as np
import pytest
from scipy.special import erf
from sklearn.metrics.pairwise import polynomial_kernel, sigmoid_kernel

from kreinflow.kernels.registry import make_kernel


@pytest.fixture
def pair():
    random = np.random.default_rng(3)
    return random.standard_normal((30, 4)), random.standard_normal((20, 4))


def test_linear_and_polynomial(pair):
    X, Y = pair
    np.testing.assert_allclose(make_kernel({"name": "linear"}).columns(X, Y), X @ Y.T, atol=1e-14)
    for degree in (1, 2, 5):
        kernel = make_kernel({"name": "polynomial", "degree": degree, "constant": 0.5})
        expected = polynomial_kernel(X, Y, degree=degree, gamma=1, coef0=0.5)
        np.testing.assert_allclose(kernel.columns(X, Y), expected, rtol=1e-11, atol=1e-13)


def test_sigmoid(pair):
    X, Y = pair
    kernel = make_kernel({"name": "sigmoid", "slope": 0.3, "offset": -0.7})
    expected = sigmoid_kernel(X, Y, gamma=0.3, coef0=-0.7)
    np.testing.assert_allclose(kernel.columns(X, Y), expected, atol=1e-14)


def test_elm_is_the_mean_over_random_networks(pair):
    X, Y = (part[:3] for part in pair)
    deviation, units = 0.8, 400_000
    weights = deviation * np.random.default_rng(5).standard_normal((5, units))

    def hidden(points):
        return erf(np.column_stack([np.ones(len(points)), points]) @ weights)

    # A product of two erf lies in [-1, 1]: the mean of 400,000 has a standard error below 0.0016.
    mean = hidden(X) @ hidden(Y).T / units
    kernel = make_kernel({"name": "elm", "deviation": deviation})
    np.testing.assert_allclose(kernel.columns(X, Y), mean, atol=0.006)


def test_elm_by_default_is_the_angle_between_the_vectors_with_a_one_before(pair):
    X, Y = pair
    kernel = make_kernel({"name": "elm"})
    A, B = (np.column_stack([np.ones(len(points)), points]) for points in pair)
    cosines = A @ B.T / np.linalg.norm(A, axis=1)[:, None] / np.linalg.norm(B, axis=1)
    np.testing.assert_allclose(kernel.columns(X, Y), 1 - 2 / np.pi * np.arccos(cosines), atol=1e-13)
    np.testing.assert_allclose(kernel.diagonal(X), 1, atol=1e-15)
    assert np.linalg.eigvalsh(kernel.columns(X, X))[0] > 0


@pytest.mark.parametrize("positive", [0, 1, 3, 4])
def test_pseudo_euclidean_has_the_signature_that_was_asked_for(pair, positive):
    X, Y = pair
    kernel = make_kernel({"name": "pseudo_euclidean", "positive": positive})
    J = np.diag([1.0] * positive + [-1.0] * (4 - positive))
    np.testing.assert_allclose(kernel.columns(X, Y), X @ J @ Y.T, atol=1e-14)
    values = np.linalg.eigvalsh(kernel.columns(X, X))
    assert (np.sum(values > 1e-10), np.sum(values < -1e-10)) == (positive, 4 - positive)
