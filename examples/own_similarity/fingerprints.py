"""Molecules as SMILES: the Tanimoto similarity of fingerprints of scikit-fingerprints.

Needs scikit-fingerprints. In a config:
score: {function: "fingerprints:tanimoto", kind: similarity, self: 1}
"""

from functools import lru_cache

import numpy as np
from skfp.distances import bulk_tanimoto_binary_similarity
from skfp.fingerprints import ECFPFingerprint

FINGERPRINT = ECFPFingerprint()  # or MACCSFingerprint(), AtomPairFingerprint(), ...


@lru_cache(maxsize=100_000)
def fingerprint(smiles):
    """Return the bits of a molecule; landmarks are asked for again and again."""
    return FINGERPRINT.transform([smiles])[0]


def tanimoto(a, b):
    """Return the share of bits in common among those that one of two molecules has."""
    A, B = (np.array([fingerprint(smiles) for smiles in side]) for side in (a, b))
    return bulk_tanimoto_binary_similarity(A, B)
