"""Moments against those of numpy."""

import numpy as np
import pytest

from krein_problems import labelled_rows
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.learners.moments import Moments, covariance_about


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


def test_rows_that_look_the_same_are_refused():
    for value in (0.0, 0.1, float("nan")):  # 0.1 is not the mean of many 0.1
        with pytest.raises(InputError, match="all 99 training rows look the same"):
            Moments.of(np.full((99, 3), value), np.arange(99) % 2, 2)
