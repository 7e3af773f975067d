"""The reject threshold: below which probability a prediction is flagged as doubtful."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr

from kreinflow.numerics import FloatArray, IntArray

NOTHING_ACCEPTED = float(np.nextafter(1.0, 2.0))
"""The threshold that flags all predictions, those that are rounded to 1 too."""


@dataclass(frozen=True)
class RejectRule:
    """How the threshold is chosen: by the errors among what is accepted, or by its share.

    Parameters
    ----------
    error : float or None
        See :func:`reject_threshold`. It is not looked at if there is a coverage.
    coverage : float, optional
        See :func:`coverage_threshold`.
    confidence : float or None
        Goes with the error.

    Raises
    ------
    ValueError
        If there is no coverage, and no error or no confidence.
    """

    error: float | None
    coverage: float | None = None
    confidence: float | None = 0.9

    def __post_init__(self) -> None:
        if self.coverage is None and (self.error is None or self.confidence is None):
            raise ValueError("the threshold needs an error and a confidence, or a coverage")

    @property
    def stated(self) -> dict[str, float | None]:
        """What the model file says of it."""
        if self.coverage is not None:
            return {"coverage": self.coverage}
        return {"error": self.error, "confidence": self.confidence}

    def threshold(self, probabilities: FloatArray, y: IntArray) -> float:
        """Return the smallest top probability to accept."""
        if self.coverage is not None:
            return coverage_threshold(probabilities, self.coverage)
        assert self.error is not None
        assert self.confidence is not None
        return reject_threshold(probabilities, y, self.error, self.confidence)

    def unkept(self, threshold: float) -> str | None:
        """Return what to say if the threshold accepts nothing, as no error can be promised."""
        if self.coverage is not None or threshold < NOTHING_ACCEPTED:
            return None
        assert self.error is not None
        assert self.confidence is not None
        least = [records_needed(self.error, self.confidence, wrong) for wrong in (0, 1)]
        return (
            f"no threshold can promise at most {100 * self.error:g} % errors with "
            f"{100 * self.confidence:g} % confidence, so all predictions are flagged as doubtful. "
            f"It takes {least[0]:,} records on the inner folds if none of them is "
            f"predicted wrong, {least[1]:,} if one is. Use more records, raise reject_error, or "
            "give reject_coverage in its place, which promises nothing"
        )


def reject_threshold(
    probabilities: FloatArray, y: IntArray, error: float = 0.01, confidence: float = 0.9
) -> float:
    r"""Return the smallest top probability to accept so that the error rate stays in bounds.

    A prediction is accepted if its top probability is at least the threshold. For new objects, the
    error rate among the accepted exceeds ``error`` with a probability of at most
    1 - ``confidence``. The rows are walked through from the surest down. At n rows, k of them
    wrong, the Clopper-Pearson upper bound of the error rate is at most :math:`\epsilon` if

    .. math:: P(B \le k) \le 1 - confidence, \qquad B \sim Binomial(n, \epsilon).

    The walk starts at the smallest n where this can hold (:func:`records_needed`), ends before the
    first n where it does not, and the threshold is the top probability of the last row before. Rows
    of equal top probability are accepted together.

    Parameters
    ----------
    probabilities : ndarray of shape (N, n_classes)
        Of inner out-of-fold predictions.
    y : ndarray of shape (N,)
        True class codes.
    error : float
        The tolerated share of wrong rows among the accepted, :math:`\epsilon`.
    confidence : float
        Above 0, below 1.

    Returns
    -------
    float
        The smallest top probability if all rows can be accepted; :data:`NOTHING_ACCEPTED` if none
        can. It is never below the least certain of these rows: what is less certain than all that
        was measured is rejected, even where nothing measured was wrong.

    Notes
    -----
    This is fixed-sequence testing [1]_. The order of the tests is fixed before the rows are seen,
    and the walk ends at the first bound [2]_ that fails. So no level is spent on the many tests:
    the promise is broken only if the first test of a rate above :math:`\epsilon` passes. Any single
    bound, read at a threshold that was picked among many, would be too small.

    The level is exact for rows that are independent and like the new objects, if surer predictions
    are wrong no more often: the error rate r(t) among objects with a top probability of at least t
    does not grow with t. Proof: let t* be where r crosses :math:`\epsilon`, and M the number of
    rows above it. The first test that must not pass has n > M. Given M, each row above t* is wrong
    with probability :math:`\epsilon`, each one below with that at least, so k is stochastically
    not below B. The probabilities need not be calibrated: their order alone counts.

    References
    ----------
    .. [1] Angelopoulos, A. N., Bates, S., Candès, E. J., Jordan, M. I., Lei, L.: Learn then test:
       calibrating predictive algorithms to achieve risk control. arXiv:2110.01052 (2021).
    .. [2] Clopper, C. J., Pearson, E. S.: The use of confidence or fiducial limits illustrated in
       the case of the binomial. Biometrika 26, 404-413 (1934).
    """
    top = probabilities.max(axis=1)
    order = np.argsort(-top, kind="stable")
    sorted_top = top[order]
    wrong = np.cumsum((np.argmax(probabilities, axis=1) != y)[order])
    last_of_equals = np.append(sorted_top[1:] < sorted_top[:-1], True)
    ends = np.flatnonzero(last_of_equals)
    ends = ends[ends + 1 >= records_needed(error, confidence)]
    passed = _passes(wrong[ends], ends + 1, error, confidence)
    accepted = ends[np.logical_and.accumulate(passed)]
    return float(sorted_top[accepted[-1]]) if len(accepted) else NOTHING_ACCEPTED


def records_needed(error: float, confidence: float, wrong: int = 0) -> int:
    """Return how many records, so many of them wrong, bound the error rate by ``error``."""
    # Of none wrong: (1 - error)^n <= 1 - confidence. With more wrong it takes more records.
    low, high = 0, max(1, int(np.log1p(-confidence) / np.log1p(-error)))
    while not _passes(wrong, high, error, confidence):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        passes = _passes(wrong, middle, error, confidence)
        low, high = (low, middle) if passes else (middle, high)
    return high


def _passes(wrong: Any, n: Any, error: float, confidence: float) -> Any:
    """Return whether so many wrong among n bound the error rate, at this confidence."""
    return bdtr(wrong, n, error) <= (1.0 - confidence) * (1.0 + 1e-9)  # up to rounding


def coverage_threshold(probabilities: FloatArray, coverage: float) -> float:
    """Return the largest top probability to accept so that a share of the rows is accepted.

    A prediction is accepted if its top probability is at least the threshold: that of the row
    number ceil(coverage N), the surest first. Rows of equal top probability are accepted together,
    so the share may be larger.

    Parameters
    ----------
    probabilities : ndarray of shape (N, n_classes)
        Of inner out-of-fold predictions.
    coverage : float
        Above 0, at most 1.
    """
    top = np.sort(probabilities.max(axis=1))
    # 0.07 x 100 is a little more than 7.
    accepted = max(1, int(np.ceil(coverage * len(top) - 1e-9)))
    return float(top[-accepted])
