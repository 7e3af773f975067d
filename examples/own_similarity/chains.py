"""Paired chains, such as CDR3a and CDR3b of T cell receptors, or heavy and light: summed scores.

Needs parasail. In a config, of a table with a column for each chain, where some cells are empty:

    source:
      type: objects
      objects: receptors.csv
      object_column: [cdr3a, cdr3b]
      score: {function: "chains:together", kind: similarity}
      labels: {table: receptors.csv, label_column: epitope}
"""

from functools import lru_cache

import numpy as np
import parasail

OPEN, EXTEND, MATRIX = 11, 1, parasail.blosum62


@lru_cache(maxsize=100_000)
def profile(chain):
    """Return what parasail aligns a chain by, and the root of its score with itself."""
    prepared = parasail.profile_create_sat(chain, MATRIX)
    alone = parasail.sw_striped_profile_sat(prepared, chain, OPEN, EXTEND).score
    return prepared, np.sqrt(alone)


def of_chains(x, y):
    """Return the normalised Smith-Waterman score of two chains, 0 if one is missing."""
    if not x or not y:
        return 0.0
    x, y = sorted((x, y))
    prepared, root = profile(x)
    return parasail.sw_striped_profile_sat(prepared, y, OPEN, EXTEND).score / root / profile(y)[1]


def together(a, b):
    """Return the sum of the scores of the chains that two receptors both have."""
    A, B = ([text.split("|") for text in side] for side in (a, b))
    return [[sum(map(of_chains, x, y)) for y in B] for x in A]
