"""The binomial distribution against scipy.stats."""

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from kreinflow.base.binomial import interval, probability, quantile, upper_bound


@pytest.mark.parametrize("p", [0.0, 0.01, 0.2, 0.85, 1.0])
@pytest.mark.parametrize("level", [1e-5, 0.003, 0.025, 0.1, 0.5, 0.975, 1.0 - 1e-14])
def test_quantiles_are_those_of_scipy(level, p):
    n = np.arange(1, 700)
    np.testing.assert_array_equal(quantile(level, n, p), binom.ppf(level, n, p))


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.01, 0.2, 0.5, 0.85, 1.0 - 1e-9, 1.0])
@pytest.mark.parametrize("n", [1, 2, 7, 50, 999, 20_000])
def test_probabilities_are_those_of_scipy(n, p):
    k = np.unique(np.linspace(0, n + 1, 1500).astype(np.int64))
    expected = binom.pmf(k, n, p)
    told = expected > 1e-290
    np.testing.assert_allclose(probability(k, n, p)[told], expected[told], rtol=1e-10)
    assert (probability(k, n, p)[~told] <= 2e-290).all()


@pytest.mark.parametrize("n", [1, 3, 20, 999])
def test_bounds_and_intervals_are_those_of_scipy(n):
    k = np.unique(np.linspace(0, n, 12).astype(np.int64))
    for level in (0.001, 0.025, 0.1):
        tests = [binomtest(int(count), n, alternative="less") for count in k]
        bounds = [test.proportion_ci(1 - level, "exact").high for test in tests]
        np.testing.assert_allclose(upper_bound(k, n, level), bounds, rtol=1e-9)
        inside = k < n
        np.testing.assert_allclose(binom.cdf(k, n, bounds)[inside], level, rtol=1e-6)
    exact = [binomtest(int(count), n).proportion_ci(0.9, "exact") for count in k]
    np.testing.assert_allclose(np.transpose(interval(k, n, 0.9)), exact, rtol=1e-9, atol=1e-12)


def test_of_no_trial_nothing_is_known():
    assert upper_bound(0, 0, 0.05) == 1.0
    assert tuple(map(float, interval(0, 0))) == (0.0, 1.0)
