"""Mass spectra as "precursor mz:intensity mz:intensity ...": the modified cosine of matchms.

Needs matchms. In a config: score: {function: "spectra:modified_cosine", kind: similarity, self: 1}
"""

from functools import lru_cache

import numpy as np
from matchms import Spectrum
from matchms.filtering import normalize_intensities
from matchms.similarity import ModifiedCosineGreedy

SCORE = ModifiedCosineGreedy(tolerance=0.02)


@lru_cache(maxsize=100_000)
def spectrum(text):
    """Return the spectrum of a text, its peaks in order."""
    precursor, *peaks = text.split()
    mz, intensities = np.array(sorted(tuple(map(float, peak.split(":"))) for peak in peaks)).T
    found = Spectrum(mz, intensities, metadata={"precursor_mz": float(precursor)})
    return normalize_intensities(found)


def modified_cosine(a, b):
    """Return the cosine of peaks, those that differ as the precursors do among them."""
    A, B = ([spectrum(text) for text in side] for side in (a, b))
    return [[SCORE.pair(x, y)["score"].item() for y in B] for x in A]
