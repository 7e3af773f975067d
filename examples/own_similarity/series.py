"""Time series, also of unequal length: dynamic time warping in a band, compiled by numba.

Needs numba. In a config: score: {function: "series:distance", kind: dissimilarity}, with series of
one length as rows of a .npy, or "series:of_texts" for texts of numbers with spaces between.
"""

import numpy as np
from numba import njit

BAND = 0.1  # of the longer series: how far two matched points may lie apart, beside the difference


@njit(cache=True)
def _warped(x, y, band):
    before, row = np.full(len(y) + 1, np.inf), np.full(len(y) + 1, np.inf)
    before[0] = 0.0
    for i in range(len(x)):
        first, last = max(0, i - band), min(len(y), i + band + 1)
        row[first] = np.inf
        for j in range(first, last):
            least = min(before[j], before[j + 1], row[j])
            row[j + 1] = (x[i] - y[j]) ** 2 + least
        before, row = row, before
        row[first : last + 1] = np.inf
    return np.sqrt(before[len(y)])


def distance(a, b):
    """Return the root of the least sum of squares along a warping path (Sakoe, Chiba 1978)."""
    out = np.empty((len(a), len(b)))
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            band = int(BAND * max(len(x), len(y))) + abs(len(x) - len(y))
            out[i, j] = _warped(x, y, band)
    return out


def of_texts(a, b):
    """Return the same of texts, such as lines of a file."""
    return distance(*([np.array(text.split(), dtype=float) for text in side] for side in (a, b)))
