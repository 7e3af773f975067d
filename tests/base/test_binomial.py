"""The binomial distribution against scipy.stats."""

import numpy as np
import pytest
from scipy.stats import binom

from kreinflow.base.binomial import probability, quantile


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
