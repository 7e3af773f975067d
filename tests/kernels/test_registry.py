"""What all kernels promise: entries that know their two objects alone, and a true diagonal."""

import re

import numpy as np
import pytest

from kreinflow.kernels import pairs
from kreinflow.kernels.registry import KERNELS, known_kernel, make_kernel

SPECTRA = {"name": "spectral_information_divergence"}
SETTINGS = {"pseudo_euclidean": {"positive": 2}, "polynomial": {"degree": 3}}


@pytest.fixture(params=KERNELS)
def kernel(request):
    return make_kernel({"name": request.param, **SETTINGS.get(request.param, {})})


def objects(kernel, n, seed=0):
    """Objects that each kernel can compare, some of them twice."""
    random = np.random.default_rng(seed)
    if kernel.strings:
        found = ["".join(random.choice(list("abc"), random.integers(0, 12))) for _ in range(n)]
        return np.array(found, dtype=object)
    X = random.random((n, 5))
    X[n // 2] = X[0]
    return X


def test_an_entry_depends_on_its_two_objects_alone(kernel, monkeypatch):
    monkeypatch.setattr(pairs, "BLOCK", 1000)
    X, Y = objects(kernel, 61), objects(kernel, 57, seed=1)
    K = kernel.columns(X, Y)
    assert K.shape == (61, 57)
    assert K.dtype == np.float64
    assert np.isfinite(K).all()
    np.testing.assert_array_equal(kernel.columns(Y, X), K.T)
    for rows, columns in (
        (slice(5, 6), slice(9, 10)),
        (slice(60, 61), slice(28, 29)),
        (slice(59, 61), slice(None, None, 3)),
    ):
        np.testing.assert_array_equal(kernel.columns(X[rows], Y[columns]), K[rows, columns])
    np.testing.assert_array_equal(kernel.columns(np.asfortranarray(X), Y), K)
    assert kernel.columns(X[:0], Y).shape == (0, 57)


def test_the_diagonal_is_that_of_the_columns_and_zero_of_dissimilarities(kernel):
    X = objects(kernel, 70)
    D = kernel.columns(X, X)
    np.testing.assert_array_equal(kernel.diagonal(X), np.diagonal(D))
    if kernel.kind == "squared_dissimilarity":
        assert (D >= 0).all()
        assert not np.diagonal(D).any()


def test_defaults_are_filled_in_and_good_objects_have_no_fault(kernel):
    assert known_kernel({"name": kernel.name, **kernel.settings}).settings == kernel.settings
    assert kernel.describe().strip(". ") == kernel.describe()
    assert kernel.first_fault(objects(kernel, 9)) is None


@pytest.mark.parametrize(
    ("settings", "least"),
    [
        ({"name": "difference_of_gaussians"}, 0.5 - 1e-12),
        ({"name": "gaussian_combination"}, 0.05),
        ({"name": "epanechnikov", "width": 3.0}, 0.05),
        ({"name": "multiquadric"}, 0.05),
        ({"name": "thin_plate_spline"}, 0.5 - 1e-12),
        ({"name": "sigmoid"}, 0.05),
    ],
)
def test_the_indefinite_kernels_are_indefinite(settings, least):
    X = np.random.default_rng(6).standard_normal((120, 2))
    values = np.linalg.eigvalsh(make_kernel(settings).columns(X, X))
    fraction = -values[values < 0].sum() / np.abs(values).sum()
    assert least <= fraction <= 0.51 or settings["name"] == "multiquadric"
    assert values[-1] > 1e-3
    assert values[0] < -1e-3


@pytest.mark.parametrize(
    ("settings", "X", "message"),
    [
        ({"name": "ball"}, [[1, 2, 0.5], [1, 2, -0.5]], "row 2, column 3: -0.5 is negative."),
        (SPECTRA, [[1, 2], [1, -3.5]], "row 2, column 2: -3.5 is negative. A spectrum"),
        (SPECTRA, [[1, 0], [0, 0]], "row 2: is 0 everywhere"),
        ({"name": "pseudo_euclidean", "positive": 3}, [[1, 1]], ".*has 2 coord.* positive = 3"),
    ],
)
def test_objects_that_a_kernel_cannot_compare(settings, X, message):
    assert re.match(message, make_kernel(settings).first_fault(np.array(X)))


@pytest.mark.parametrize(
    "settings",
    [
        {"name": "polynomial", "degree": 2.0},
        {"name": "epanechnikov", "power": True},
        {"name": "dynamic_time_warping", "window": 3.0},
        {"name": "dynamic_time_warping", "window": 10**30},
        {"name": "gaussian", "width": "1"},
        {"name": "gaussian", "length": 1.0},
        {"name": "pseudo_euclidean"},
        {"name": "os.system"},
    ],
)
def test_settings_of_a_file_are_checked(settings):
    with pytest.raises(ValueError, match="kernel"):
        known_kernel(settings)
