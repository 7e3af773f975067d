"""Strings: one less the share of letters that must be inserted, deleted or replaced.

Needs rapidfuzz. In a config: score: {function: "strings:similarity", kind: similarity, self: 1}
"""

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein


def similarity(a, b):
    """Return the normalised Levenshtein similarity of two lists of strings."""
    return process.cdist(a, b, scorer=Levenshtein.normalized_similarity, dtype=np.float64)
