"""The reject threshold: below which probability a prediction is flagged as doubtful."""

from dataclasses import dataclass

import numpy as np

from kreinflow.numerics import FloatArray, IntArray


@dataclass(frozen=True)
class RejectRule:
    """How the threshold is chosen: by the errors among what is accepted, or by its share.

    Parameters
    ----------
    error : float or None
        See :func:`reject_threshold`. It is not looked at if there is a coverage.
    coverage : float, optional
        See :func:`coverage_threshold`.

    Raises
    ------
    ValueError
        If neither is given.
    """

    error: float | None
    coverage: float | None = None

    def __post_init__(self) -> None:
        if self.error is None and self.coverage is None:
            raise ValueError("the threshold needs an error or a coverage")

    @property
    def stated(self) -> dict[str, float | None]:
        """What the model file says of it."""
        if self.coverage is not None:
            return {"coverage": self.coverage}
        return {"error": self.error}

    def threshold(self, probabilities: FloatArray, y: IntArray) -> float:
        """Return the smallest top probability to accept."""
        if self.coverage is not None:
            return coverage_threshold(probabilities, self.coverage)
        assert self.error is not None
        return reject_threshold(probabilities, y, self.error)


def reject_threshold(probabilities: FloatArray, y: IntArray, error: float = 0.01) -> float:
    """Return the smallest top probability to accept so that the error rate stays in bounds.

    A prediction is accepted if its top probability is at least the threshold. Of all thresholds
    at which the accepted rows have an error rate of at most ``error``, the smallest is returned:
    it accepts the most rows. Rows of equal top probability are accepted together. It is never below
    the least certain of these rows: what is less certain than all that was measured is rejected,
    even where nothing measured was wrong.

    Parameters
    ----------
    probabilities : ndarray of shape (N, n_classes)
        Of inner out-of-fold predictions.
    y : ndarray of shape (N,)
        True class codes.
    error : float
        The tolerated share of wrong rows among the accepted.

    Returns
    -------
    float
        The smallest top probability if all rows can be accepted; 1 if none can (what rounds to 1 is
        then still accepted).
    """
    top = probabilities.max(axis=1)
    wrong = np.argmax(probabilities, axis=1) != y
    order = np.argsort(-top, kind="stable")
    sorted_top = top[order]
    rates = np.cumsum(wrong[order]) / np.arange(1, len(top) + 1)
    last_of_equals = np.append(sorted_top[1:] < sorted_top[:-1], True)
    allowed = np.flatnonzero(last_of_equals & (rates <= error))
    if len(allowed) == 0:
        return 1.0
    return float(sorted_top[allowed[-1]])


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
