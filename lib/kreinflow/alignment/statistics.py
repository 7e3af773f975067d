"""Statistics of local alignment scores: lambda and K, from which an E-value is made."""

import math

import numpy as np
import scipy

from kreinflow.alignment.scoring import ScoringScheme, SubstitutionMatrix, load_substitution_matrix
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray

# Amino-acid frequencies of Robinson & Robinson, PNAS 88:8880 (1991), in thousandths.
_ROBINSON = {
    "A": 78.05, "R": 51.29, "N": 44.87, "D": 53.64, "C": 19.25, "Q": 42.64, "E": 62.95,
    "G": 73.77, "H": 21.99, "I": 51.42, "L": 90.19, "K": 57.44, "M": 22.43, "F": 38.56,
    "P": 52.03, "S": 71.20, "T": 58.41, "W": 13.30, "Y": 32.16, "V": 64.41,
}  # fmt: skip

# Gapped lambda and K of local alignments, by (open, extend) in BLAST's convention, where n residues
# cost open + n * extend. From NCBI's blast_stat.c (public domain; Altschul & Gish, Methods Enzymol.
# 266:460 (1996)). BLOSUM80 is left out: NCBI's is in half bits, parasail's in thirds.
_PUBLISHED: dict[str, dict[tuple[int, int], tuple[float, float]]] = {
    "blosum50": {
        (13, 3): (0.212, 0.063), (12, 3): (0.206, 0.055), (11, 3): (0.197, 0.042),
        (10, 3): (0.186, 0.031), (9, 3): (0.172, 0.022), (16, 2): (0.215, 0.066),
        (15, 2): (0.210, 0.058), (14, 2): (0.202, 0.045), (13, 2): (0.193, 0.035),
        (12, 2): (0.181, 0.025), (19, 1): (0.212, 0.057), (18, 1): (0.207, 0.050),
        (17, 1): (0.198, 0.037), (16, 1): (0.186, 0.025), (15, 1): (0.171, 0.015),
    },
    "blosum62": {
        (11, 2): (0.297, 0.082), (10, 2): (0.291, 0.075), (9, 2): (0.279, 0.058),
        (8, 2): (0.264, 0.045), (7, 2): (0.239, 0.027), (6, 2): (0.201, 0.012),
        (13, 1): (0.292, 0.071), (12, 1): (0.283, 0.059), (11, 1): (0.267, 0.041),
        (10, 1): (0.243, 0.024), (9, 1): (0.206, 0.010),
    },
    "pam30": {
        (7, 2): (0.305, 0.15), (6, 2): (0.287, 0.11), (5, 2): (0.264, 0.079),
        (10, 1): (0.309, 0.15), (9, 1): (0.294, 0.11), (8, 1): (0.270, 0.072),
    },
    "pam70": {
        (8, 2): (0.301, 0.12), (7, 2): (0.286, 0.093), (6, 2): (0.264, 0.064),
        (11, 1): (0.305, 0.12), (10, 1): (0.291, 0.091), (9, 1): (0.270, 0.060),
    },
}  # fmt: skip


def _background(matrix: SubstitutionMatrix) -> tuple[list[int], FloatArray]:
    """Return the rows of the standard letters and their frequencies."""
    letters = set(matrix.alphabet)
    if letters >= set(_ROBINSON):
        frequencies = _ROBINSON
    elif letters >= set("ACGT") or letters >= set("ACGU"):
        frequencies = dict.fromkeys("ACGT" if "T" in letters else "ACGU", 0.25)
    else:
        raise InputError(
            f"transform evalue: substitution matrix {matrix.name} has neither all amino acids nor "
            "all nucleotides, so lambda and K cannot be computed. Give both, or use log."
        )
    values = np.array(list(frequencies.values()))
    return [matrix.alphabet.index(letter) for letter in frequencies], values / values.sum()


def ungapped_constants(matrix: SubstitutionMatrix) -> tuple[float, float]:
    r"""Return lambda and K of ungapped local alignments (Karlin & Altschul).

    :math:`\lambda > 0` solves :math:`\sum_{ab} p_a p_b e^{\lambda s_{ab}} = 1`. With the scores a
    lattice of span d, :math:`H = \lambda \sum_s s\,p(s) e^{\lambda s}` and :math:`S_k` the sum of k
    scores drawn by p,

    .. math:: K = \frac{d \lambda e^{-2\sigma}}{H (1 - e^{-\lambda d})}, \quad
              \sigma = \sum_{k \ge 1} \frac{1}{k}
              \left( E[e^{\lambda S_k}; S_k < 0] + P(S_k \ge 0) \right).

    They are per unit of score; amino acids have the background of Robinson & Robinson, nucleotides
    a uniform one. An InputError says where local scores have no such statistics: a letter of both
    alphabets is missing, no score is positive, or the mean score is not negative.

    References
    ----------
    S. Karlin and S. F. Altschul, PNAS 87:2264 (1990), eqs. 4 and 5.
    """
    rows, p = _background(matrix)
    scores = matrix.scores[np.ix_(rows, rows)].astype(int)
    weights = np.outer(p, p)
    mean = float((weights * scores).sum())
    if mean >= 0 or scores.max() <= 0:
        raise InputError(
            f"transform evalue: substitution matrix {matrix.name} has mean score {mean:.3f} and "
            f"largest score {scores.max()}; lambda needs a negative mean and a positive score. "
            "Give lambda and K, or use log."
        )
    span = math.gcd(*(int(score) for score in scores.ravel()))
    lattice = scores // span
    low, high = int(lattice.min()), int(lattice.max())
    probability = np.bincount((lattice - low).ravel(), weights=weights.ravel())
    values = np.arange(low, high + 1)

    def excess(rate: float) -> float:
        return float(probability @ np.exp(rate * values)) - 1.0

    # The excess falls from 0 and then rises: at log(1 / p(high)) / high it is above 0 for certain.
    upper = -math.log(probability[-1]) / high
    lower = upper
    while excess(lower) >= 0:
        lower /= 2
    rate = float(scipy.optimize.brentq(excess, lower, upper, xtol=1e-15, rtol=1e-14))
    entropy = rate * float(probability @ (values * np.exp(rate * values)))
    sigma, term, k, total = 0.0, 1.0, 0, np.ones(1)
    while term > 1e-12:
        k += 1
        total = np.convolve(total, probability)
        sums = np.arange(k * low, k * high + 1)
        term = float(total @ np.exp(rate * np.minimum(sums, 0))) / k
        sigma += term
    K = rate * math.exp(-2 * sigma) / (entropy * -math.expm1(-rate))
    return rate / span, K


def local_statistics(scheme: ScoringScheme) -> tuple[float, float, str]:
    """Return lambda, K and where they are from: published and gapped, else computed."""
    # parasail's open + (n - 1) * extend is BLAST's (open - extend) + n * extend.
    gaps = (scheme.gap_open - scheme.gap_extend, scheme.gap_extend)
    matrix = scheme.matrix
    published = _PUBLISHED.get(matrix.name, {}).get(gaps)
    if published and scheme.mode == "local":
        theirs = load_substitution_matrix(matrix.name)
        if theirs.alphabet == matrix.alphabet and np.array_equal(theirs.scores, matrix.scores):
            text = f"published, gapped: {matrix.name}, {gaps[0]}/{gaps[1]} as BLAST counts gaps"
            return (*published, text)
    return (*ungapped_constants(matrix), "computed, ungapped")
