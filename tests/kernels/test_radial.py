"""Kernels of distances against scikit-learn, the plain formula, and what makes them indefinite."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import rbf_kernel

from kreinflow.kernels.registry import make_kernel


@pytest.fixture
def pair():
    random = np.random.default_rng(4)
    return random.standard_normal((40, 3)), random.standard_normal((25, 3))


def test_gaussians(pair):
    X, Y = pair

    def gaussian(width):
        return rbf_kernel(X, Y, gamma=1 / (2 * width**2))

    def columns(**settings):
        return make_kernel(settings).columns(X, Y)

    found = columns(name="gaussian", width=0.7)
    np.testing.assert_allclose(found, gaussian(0.7), rtol=1e-12)
    found = columns(name="difference_of_gaussians", width=0.7, subtracted_width=1.9)
    np.testing.assert_allclose(found, gaussian(0.7) - gaussian(1.9), atol=1e-14)
    found = columns(name="gaussian_combination", width=0.7, second_width=3.0, subtracted_width=1.9)
    np.testing.assert_allclose(found, gaussian(0.7) + gaussian(3.0) - gaussian(1.9), atol=1e-14)


@pytest.mark.parametrize("power", [1, 2, 4])
def test_epanechnikov(pair, power):
    X, Y = pair
    kernel = make_kernel({"name": "epanechnikov", "width": 2.0, "power": power})
    inside = np.maximum(0, 1 - (cdist(X, Y) / 2) ** 2)
    np.testing.assert_allclose(kernel.columns(X, Y), inside**power, atol=1e-14)
    assert (kernel.columns(X, Y) == 0).any()


def test_multiquadric(pair):
    X, Y = pair
    kernel = make_kernel({"name": "multiquadric", "width": 2.0, "constant": 0.5})
    np.testing.assert_allclose(kernel.columns(X, Y), np.hypot(cdist(X, Y) / 2, 0.5), rtol=1e-13)
    values = np.linalg.eigvalsh(kernel.columns(X, X))
    assert (values[-1] > 0, np.sum(values < 0)) == (True, len(X) - 1)


@pytest.mark.parametrize("power", [1, 2])
def test_thin_plate_spline(pair, power):
    X, Y = pair
    kernel = make_kernel({"name": "thin_plate_spline", "width": 2.0, "power": power})
    r = cdist(X, Y) / 2
    np.testing.assert_allclose(kernel.columns(X, Y), r ** (2 * power) * np.log(r**2), rtol=1e-11)
    assert not kernel.diagonal(X).any()


def test_thin_plate_spline_interpolates_as_scipy_does(pair):
    """With a polynomial of degree 1 the spline through points is that of scipy."""
    X, Y = pair
    values, kernel = np.sin(X).sum(axis=1), make_kernel({"name": "thin_plate_spline"})
    A, B = (np.column_stack([np.ones(len(part)), part]) for part in pair)
    n, k = A.shape
    system = np.block([[kernel.columns(X, X), A], [A.T, np.zeros((k, k))]])
    weights = np.linalg.solve(system, np.concatenate([values, np.zeros(k)]))
    found = kernel.columns(Y, X) @ weights[:n] + B @ weights[n:]
    expected = RBFInterpolator(X, values, kernel="thin_plate_spline", degree=1)(Y)
    np.testing.assert_allclose(found, expected, atol=1e-10)
