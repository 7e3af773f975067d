"""The binomial distribution, without ``scipy.stats``, which takes a second to import."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrik, betaincinv, betaln, xlog1py, xlogy

from kreinflow.base.numerics import FloatArray


def quantile(level: float, n: ArrayLike, p: ArrayLike) -> FloatArray:
    """Return the smallest k with P(B <= k) >= level, for B binomial of n trials."""
    n, p = np.broadcast_arrays(np.asarray(n).astype(np.int64), np.asarray(p, dtype=np.float64))
    k = np.clip(np.ceil(bdtrik(level, n, p)), 0.0, n)
    k = np.where(np.isnan(k), np.where(p < 1.0, 0.0, n), k)  # where all k or none have that level
    below = np.maximum(k - 1.0, 0.0)
    return np.where(bdtr(below, n, p) >= level, below, k)


def upper_bound(k: ArrayLike, n: ArrayLike, level: float) -> FloatArray:
    """Return the p with P(B <= k) = level, for B binomial of n trials: the exact upper bound of p.

    It is 1 where all trials succeed, or there are none (Clopper and Pearson, Biometrika 26, 404-413
    (1934)).
    """
    k, n = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (k, n)))
    return np.where(k < n, betaincinv(k + 1.0, np.maximum(n - k, 1.0), 1.0 - level), 1.0)


def interval(k: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Return the exact interval of p by :func:`upper_bound`, half of the level on either side."""
    level, missed = (1.0 - confidence) / 2, np.subtract(n, k)
    return 1.0 - upper_bound(missed, n, level), upper_bound(k, n, level)


def probability(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> FloatArray:
    """Return P(B = k), for B binomial of n trials; it is 0 for k above n."""
    k, n, p = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (k, n, p)))
    hits = np.minimum(k, n)
    misses = n - hits
    ways = -betaln(misses + 1.0, hits + 1.0) - np.log1p(n)
    return np.where(k > n, 0.0, np.exp(ways + xlogy(hits, p) + xlog1py(misses, -p)))
