"""Moments against those of numpy."""

import numpy as np
import pytest

from krein_problems import labelled_rows
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.learners.moments import FewRows, Moments, covariance_about, least_squares_of


@pytest.mark.parametrize(("n", "n_classes"), [(60, 4), (5000, 4), (60, 2)])  # 5000: several tiles
def test_moments_are_those_of_numpy(n, n_classes):
    Z, _, y = labelled_rows(n, n_classes=n_classes)
    moments = Moments.of(Z + 1e3, y, n_classes)
    targets = np.where(y == np.arange(n_classes == 2, n_classes)[:, None], 1.0, -1.0)
    both = np.cov((Z + 1e3).T, targets, bias=True)
    np.testing.assert_allclose(moments.mean, (Z + 1e3).mean(axis=0))
    np.testing.assert_allclose(moments.covariance, both[:10, :10], atol=1e-11)
    np.testing.assert_allclose(moments.cross, both[:10, 10:], atol=1e-11)
    np.testing.assert_allclose(moments.target_means, targets.mean(axis=1), atol=1e-12)
    assert moments.scale == pytest.approx(np.diagonal(both)[:10].mean())


def test_a_covariance_of_weighted_rows_is_symmetric_and_that_of_numpy():
    rng = np.random.default_rng(0)
    Z, weights = rng.normal(size=(5000, 1100)) + 3, rng.random(5000)  # more than are held at once
    T = covariance_about(Z, Z.mean(axis=0), weights)
    about = Z - Z.mean(axis=0)
    np.testing.assert_allclose(T, (weights[:, None] * about).T @ about / 5000, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(T, T.T)
    with limited(threads=2):
        np.testing.assert_array_equal(covariance_about(Z, Z.mean(axis=0), weights), T)


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("n_classes", [2, 5])
def test_least_squares_of_few_rows_is_that_of_the_moments(n_classes, balanced):
    Z, _, y = labelled_rows(60, n_classes=n_classes)
    Z = np.hstack([Z, np.random.default_rng(1).normal(size=(60, 150))]) + 10.0
    moments, few = (kind.of(Z, y, n_classes, balanced) for kind in (Moments, FewRows))
    assert few.scale == pytest.approx(moments.scale)
    for penalties in (np.full(160, 1e-3), np.geomspace(1e-4, 10.0, 160)):
        for own, other in zip(*(of.least_squares(penalties) for of in (few, moments)), strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-8, atol=1e-11)
    assert isinstance(least_squares_of(Z, y, n_classes), FewRows)
    assert isinstance(least_squares_of(Z[:, :120], y, n_classes), Moments)
    with pytest.raises(InputError, match="a penalty of 0 is too small"):
        few.least_squares(np.zeros(160))


def test_rows_that_look_the_same_are_refused():
    with pytest.raises(InputError, match="all 99 training rows look the same"):
        FewRows.of(np.full((99, 300), 0.1), np.arange(99) % 2, 2)
    for value in (0.0, 0.1, float("nan")):  # 0.1 is not the mean of many 0.1
        with pytest.raises(InputError, match="all 99 training rows look the same"):
            Moments.of(np.full((99, 3), value), np.arange(99) % 2, 2)
