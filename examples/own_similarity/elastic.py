"""Time series, also of unequal length: elastic distances of aeon, such as MSM, TWE, ERP or DTW.

Needs aeon. In a config: score: {function: "elastic:distance", kind: dissimilarity}, with series of
one length as rows of a .npy, or "elastic:of_texts" for texts of numbers with spaces between.
"""

import numpy as np
from aeon.distances import pairwise_distance

METHOD = {"method": "msm", "c": 1.0}  # move, split, merge (Stefan et al. 2013)


def distance(a, b):
    """Return the elastic distances of two lists of series of one channel."""
    a, b = ([np.asarray(x, dtype=float).reshape(1, -1) for x in side] for side in (a, b))
    return pairwise_distance(a, b, **METHOD)


def of_texts(a, b):
    """Return the same of texts, such as lines of a file."""
    return distance(*([np.array(text.split(), dtype=float) for text in side] for side in (a, b)))
