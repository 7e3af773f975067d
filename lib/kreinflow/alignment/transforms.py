r"""Score transforms: from the integers of an alignment to a similarity.

With :math:`\tilde s_{ij} = s_{ij} / \sqrt{s_{ii} s_{jj}}`:

===============  ===========================================================================
``raw``          :math:`s_{ij}`
``normalised``   :math:`\tilde s_{ij}`
``sqrt``         :math:`\sqrt{\tilde s_{ij}}`
``log``          :math:`\log(1 + a \tilde s_{ij}) / \log(1 + a)`
``evalue``       :math:`e_{ij} / \sqrt{e_{ii} e_{jj}}`,
                 :math:`e_{ij} = \max(0, \lambda s_{ij} - \ln(K n_i n_j))`, that is -ln E
===============  ===========================================================================

Each entry depends on its own pair alone, so that a row is the same to the last bit in whatever
block it is transformed.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreinflow.alignment.scoring import ScoringScheme, SubstitutionMatrix, load_substitution_matrix
from kreinflow.errors import InputError
from kreinflow.numerics import FloatArray

NAMES = ("raw", "normalised", "sqrt", "log", "evalue")

_CONSTANTS = {
    "raw": (),
    "normalised": (),
    "sqrt": (),
    "log": ("a",),
    "evalue": ("lambda", "K", "source"),
}

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

    Parameters
    ----------
    matrix : SubstitutionMatrix
        Amino acids get the background of Robinson & Robinson, nucleotides a uniform one.

    Returns
    -------
    (float, float)
        lambda (per unit of score) and K.

    Raises
    ------
    InputError
        If a letter of both alphabets is missing, no score is positive, or the mean score is not
        negative: then local scores have no such statistics.

    References
    ----------
    S. Karlin and S. F. Altschul, PNAS 87:2264 (1990), eqs. 4 and 5.
    """
    from scipy.optimize import brentq  # slow to import, and seldom needed

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
    rate = float(brentq(excess, lower, upper, xtol=1e-15, rtol=1e-14))
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


def _statistics(scheme: ScoringScheme) -> tuple[float, float, str]:
    """Return lambda, K and where they are from."""
    # parasail's open + (n - 1) * extend is BLAST's (open - extend) + n * extend.
    gaps = (scheme.gap_open - scheme.gap_extend, scheme.gap_extend)
    published = _PUBLISHED.get(scheme.matrix.name, {}).get(gaps)
    if published and scheme.mode == "local" and _is_built_in(scheme.matrix):
        text = f"published, gapped: {scheme.matrix.name}, {gaps[0]}/{gaps[1]} as BLAST counts gaps"
        return (*published, text)
    return (*ungapped_constants(scheme.matrix), "computed, ungapped")


def _is_built_in(matrix: SubstitutionMatrix) -> bool:
    theirs = load_substitution_matrix(matrix.name)  # only asked for names of the table above
    return theirs.alphabet == matrix.alphabet and np.array_equal(theirs.scores, matrix.scores)


@dataclass(frozen=True)
class ScoreTransform:
    """A score transform with its constants; see the table of this module.

    Attributes
    ----------
    name : str
    constants : mapping
        ``a`` of ``log``; ``lambda``, ``K`` and their ``source`` of ``evalue``.
    """

    name: str
    constants: Mapping[str, Any] = field(default_factory=dict)

    def apply(
        self,
        scores: NDArray[Any],
        row_self: ArrayLike,
        column_self: ArrayLike,
        row_lengths: ArrayLike,
        column_lengths: ArrayLike,
        numbers: tuple[NDArray[np.integer], NDArray[np.integer]] | None = None,
    ) -> FloatArray:
        """Return the similarities of a block of scores.

        Parameters
        ----------
        scores : ndarray of shape (n, m), integers
        row_self, column_self : ndarray of shape (n,) and (m,)
            Score of each sequence with itself.
        row_lengths, column_lengths : ndarray of shape (n,) and (m,)
            Residues of each sequence.
        numbers : tuple of ndarray of shape (n,) and (m,), optional
            Rows of the data set that these rows and columns are, for messages.

        Returns
        -------
        ndarray of shape (n, m)

        Raises
        ------
        InputError
            If a score is negative and the transform is neither raw nor normalised, or a self-score
            does not allow to normalise by it.
        """
        s = np.array(scores, dtype=np.float64, order="C")
        if self.name == "raw":
            return s
        rows, columns = numbers if numbers is not None else (None, None)
        row_scale = self._scale(row_self, row_lengths, "row", rows)
        column_scale = self._scale(column_self, column_lengths, "column", columns)
        if self.name == "evalue":
            self._refuse_negative(s, numbers)
            n = np.asarray(row_lengths, dtype=np.float64)[:, None]
            m = np.asarray(column_lengths, dtype=np.float64)[None, :]
            s = np.maximum(
                0.0, self.constants["lambda"] * s - np.log(self.constants["K"] * (n * m))
            )
        s /= np.sqrt(row_scale[:, None] * column_scale[None, :])
        if self.name in ("sqrt", "log"):
            self._refuse_negative(s, numbers)
            if self.name == "sqrt":
                return np.sqrt(s)
            a = self.constants["a"]
            return np.asarray(np.log1p(a * s) / math.log1p(a))
        return s

    @property
    def takes_negative(self) -> bool:
        """Whether scores below 0 can be transformed."""
        return self.name in ("raw", "normalised")

    def _refuse_negative(
        self, s: FloatArray, numbers: tuple[NDArray[np.integer], NDArray[np.integer]] | None
    ) -> None:
        if s.size and s.min() < 0:
            i, j = np.argwhere(s < 0)[0]
            pair = f"row {i + 1} and column {j + 1}"
            if numbers is not None:
                pair = f"rows {numbers[0][i]} and {numbers[1][j]} of the data set (records.tsv)"
            raise InputError(
                f"transform {self.name}: the score of {pair} is negative, as scores of global and "
                "semiglobal alignments can be. Use raw or normalised, or local alignment."
            )

    def _scale(
        self,
        self_scores: ArrayLike,
        lengths: ArrayLike,
        side: str,
        numbers: NDArray[np.integer] | None = None,
    ) -> FloatArray:
        """Return what is divided by: self-scores, or their -ln E."""
        scale = self._divisor(self_scores, lengths)
        wrong = np.flatnonzero(scale <= 0)
        if wrong.size:
            number = int(wrong[0])
            place = f"{side} {number + 1}"
            if numbers is not None:
                place = f"row {numbers[number]} of the data set (records.tsv)"
            raise InputError(
                f"transform {self.name}: the sequence of {place} scores "
                f"{np.asarray(self_scores)[number]} with itself "
                f"({np.asarray(lengths)[number]} residues), too little to divide by. Leave out "
                "sequences this short or of low information, or use raw."
            )
        return scale

    def _divisor(self, self_scores: ArrayLike, lengths: ArrayLike) -> FloatArray:
        scale = np.asarray(self_scores, dtype=np.float64)
        if self.name == "evalue":
            n = np.asarray(lengths, dtype=np.float64)
            scale = self.constants["lambda"] * scale - np.log(self.constants["K"] * (n * n))
        return scale

    def unusable(self, self_scores: ArrayLike, lengths: ArrayLike) -> NDArray[np.int64]:
        """Return the places of the sequences whose self-score cannot be divided by."""
        if self.name == "raw":
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self._divisor(self_scores, lengths) <= 0)

    def first_unusable(self, self_scores: ArrayLike, lengths: ArrayLike) -> int | None:
        """Return the first of :meth:`unusable`, or None."""
        wrong = self.unusable(self_scores, lengths)
        return int(wrong[0]) if wrong.size else None

    def self_similarity(self, self_scores: ArrayLike, lengths: ArrayLike) -> FloatArray:
        """Return the similarity of each sequence with itself: one, except for ``raw``.

        Raises
        ------
        InputError
            If a self-score does not allow to normalise by it.
        """
        if self.name == "raw":
            return np.array(self_scores, dtype=np.float64)
        return np.ones_like(self._scale(self_scores, lengths, "row"))

    def to_dict(self) -> dict[str, Any]:
        """Return the transform as an object that JSON can hold."""
        return {"name": self.name, "constants": dict(self.constants)}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "ScoreTransform":
        """Return the transform that :meth:`to_dict` wrote.

        Raises
        ------
        InputError
            If the name or a constant is missing, unknown or out of range.
        """
        try:
            name, constants = content["name"], dict(content["constants"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"transform: damaged or not kreinflow's ({error!r}).") from error
        return _checked(name, constants)


def _checked(name: Any, constants: Mapping[str, Any]) -> ScoreTransform:
    if name not in NAMES:
        raise InputError(f"transform: {name!r} is not one of {', '.join(NAMES)}.")
    if set(constants) != set(_CONSTANTS[name]):
        raise InputError(
            f"transform {name}: its constants are {', '.join(_CONSTANTS[name]) or 'none'}; "
            f"given are {', '.join(sorted(constants)) or 'none'}."
        )
    for key, value in constants.items():
        if key == "source":
            continue
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value <= 0:
            raise InputError(f"transform {name}: {key} is {value!r}. Give a positive number.")
    return ScoreTransform(name, dict(constants))


def make_transform(
    name: str, scheme: ScoringScheme | None = None, **constants: float
) -> ScoreTransform:
    """Return the transform of this name, with all its constants.

    Parameters
    ----------
    name : {"raw", "normalised", "sqrt", "log", "evalue"}
    scheme : ScoringScheme, optional
        Where ``evalue`` takes lambda and K from: the published gapped values if its matrix and
        gaps have some, otherwise the computed ungapped ones. The constants say which.
    **constants : float
        ``a`` of ``log`` (20 unless told), ``lambda`` and ``K`` of ``evalue``.

    Raises
    ------
    InputError
        If the name or a constant is wrong, or lambda and K can be had from nowhere.

    Examples
    --------
    >>> make_transform("log").constants
    {'a': 20.0}
    """
    given: dict[str, Any] = dict(constants)
    if name == "log":
        given = {"a": 20.0} | given
    if name == "evalue" and given:
        given["source"] = "given"
    elif name == "evalue":
        if scheme is None:
            raise InputError("transform evalue: give lambda and K, or a scoring scheme.")
        rate, K, source = _statistics(scheme)
        given = {"lambda": rate, "K": K, "source": source}
    return _checked(name, given)
