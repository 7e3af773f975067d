"""Moments against those of numpy."""

import numpy as np
import pytest

from krein_problems import labelled_rows
from kreinflow.errors import InputError
from kreinflow.learners.moments import Moments


@pytest.mark.parametrize("n", [60, 5000])  # more rows than a tile
def test_moments_are_those_of_numpy(n):
    Z, _, y = labelled_rows(n, n_classes=4)
    moments = Moments.of(Z + 1e3, y, 4)
    both = np.cov((Z + 1e3).T, np.where(y == np.arange(4)[:, None], 1.0, -1.0), bias=True)
    np.testing.assert_allclose(moments.mean, (Z + 1e3).mean(axis=0))
    np.testing.assert_allclose(moments.covariance, both[:10, :10], atol=1e-11)
    np.testing.assert_allclose(moments.cross, both[:10, 10:], atol=1e-11)
    np.testing.assert_allclose(1 - moments.target_means**2, np.diagonal(both)[10:])
    assert moments.scale == pytest.approx(np.diagonal(both)[:10].mean())


def test_of_two_classes_they_are_those_of_the_second():
    Z, _, y = labelled_rows(n_classes=2)
    moments = Moments.of(Z, y, 2)
    np.testing.assert_allclose(moments.target_means, [2 * y.mean() - 1])
    np.testing.assert_allclose(moments.cross[:, 0], 2 * np.cov(Z.T, y, bias=True)[:-1, -1])


def test_what_cannot_be_learned_is_refused():
    with pytest.raises(InputError, match=r"classes \[1\] of 3 have no training rows"):
        Moments.of(np.eye(3), np.array([0, 2, 2]), 3)
    for value in (0.0, 0.1, float("nan")):  # 0.1 is not the mean of many 0.1
        with pytest.raises(InputError, match="all 99 training rows look the same"):
            Moments.of(np.full((99, 3), value), np.arange(99) % 2, 2)
