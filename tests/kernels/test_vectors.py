"""Kernels of vectors against scikit-learn, scipy, and what they are the limit of."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist
from scipy.special import erf
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from kreinflow.kernels.registry import KERNELS, make_kernel


def gaussian(X, Y, width):
    return rbf_kernel(X, Y, gamma=1 / (2 * width**2))


FORMULAS = {
    "linear": lambda X, Y: X @ Y.T,
    "polynomial": lambda X, Y, degree, constant: polynomial_kernel(X, Y, degree, 1, constant),
    "sigmoid": sigmoid_kernel,
    "gaussian": gaussian,
    "difference_of_gaussians": lambda X, Y, plus, less: gaussian(X, Y, plus) - gaussian(X, Y, less),
    "gaussian_combination": lambda X, Y, plus, more, less: (
        gaussian(X, Y, plus) + gaussian(X, Y, more) - gaussian(X, Y, less)
    ),
    "epanechnikov": lambda X, Y, width, p: np.maximum(0, 1 - (cdist(X, Y) / width) ** 2) ** p,
    "multiquadric": lambda X, Y, width, constant: np.hypot(cdist(X, Y) / width, constant),
    "thin_plate_spline": lambda X, Y, width, p: (
        (cdist(X, Y) / width) ** (2 * p) * np.log((cdist(X, Y) / width) ** 2)
    ),
    "pseudo_euclidean": lambda X, Y, p: X * np.where(np.arange(4) < p, 1.0, -1.0) @ Y.T,
}
CASES = [
    ("linear", ()),
    *(("polynomial", (degree, 0.5)) for degree in (1, 2, 5)),
    ("sigmoid", (0.3, -0.7)),
    ("gaussian", (0.7,)),
    ("difference_of_gaussians", (0.7, 1.9)),
    ("gaussian_combination", (0.7, 3.0, 1.9)),
    *(("epanechnikov", (2.0, power)) for power in (1, 2, 4)),
    ("multiquadric", (2.0, 0.5)),
    *(("thin_plate_spline", (2.0, power)) for power in (1, 2)),
    *(("pseudo_euclidean", (positive,)) for positive in (0, 1, 3, 4)),
]
"""The values of settings are in the order of the schema."""


@pytest.fixture
def pair():
    random = np.random.default_rng(4)
    return random.standard_normal((40, 4)), random.standard_normal((25, 4))


@pytest.mark.parametrize(("name", "values"), CASES)
def test_columns_are_those_of_the_formula(pair, name, values):
    settings = dict(zip(KERNELS[name].settings_schema, values, strict=True))
    found = make_kernel({"name": name, **settings}).columns(*pair)
    np.testing.assert_allclose(found, FORMULAS[name](*pair, *values), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(
    ("settings", "positive"),
    [
        *(({"name": "pseudo_euclidean", "positive": p}, (p, 4 - p)) for p in (0, 1, 3, 4)),
        ({"name": "multiquadric", "width": 2.0, "constant": 0.5}, (1, 39)),
        ({"name": "elm"}, (40, 0)),
    ],
)
def test_the_signature_is_the_one_of_the_definition(pair, settings, positive):
    X, _ = pair
    values = np.linalg.eigvalsh(make_kernel(settings).columns(X, X))
    assert (np.sum(values > 1e-10), np.sum(values < -1e-10)) == positive


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
    assert not kernel.diagonal(X).any()
