"""The reject threshold: below which probability a prediction is rejected; also of each level."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from kreinflow.answering.levels import NO_NODE, Levels
from kreinflow.answering.query_and_answers import NOTHING_ACCEPTED
from kreinflow.base.binomial import quantile, upper_bound
from kreinflow.base.numerics import FloatArray, IntArray

GRID = 200
"""Numbers of rows at which the errors are bounded: shares of the whole in steps of 0.5 %."""

CONFIDENCE = 0.9
"""Of a rule that states none, as one of a coverage."""

UNKEPT_ADVICE = (  # where nothing is accepted
    "Use more records, raise reject_error, or give reject_coverage in its place, which promises "
    "nothing about errors"
)

SHARES = (1.0, 0.9, 0.75, 0.5, 0.25)
"""Shares of the surest predictions whose errors are bounded together: :func:`promised_curve`."""

FEW, HALF = 0.1, 0.5
"""If a threshold accepts fewer than the first share, the surest second share may be accepted."""

_ROUNDING = 1.0 + 1e-9  # of probabilities that are compared

ABOVE_HALF = float(np.nextafter(0.5, 1.0))
"""The least threshold of a level: at most one of its nodes comes up to it."""


@dataclass(frozen=True)
class Promise:
    """A threshold, and the share of what it accepts that is wrong at most; None promises nothing.

    ``curve``: what could be promised with other thresholds, see :func:`promised_curve`.
    """

    threshold: float
    error: float | None = None
    curve: tuple[Mapping[str, float], ...] = ()

    @property
    def told(self) -> dict[str, Any]:
        """What the model file says of it."""
        return {"error": self.error, "curve": [dict(point) for point in self.curve]}


@dataclass(frozen=True)
class RejectRule:
    """How the threshold is chosen: by the errors among what is accepted, or by its share.

    One of ``error`` and ``coverage`` is there; a coverage goes before an error. ``otherwise``, half
    or nothing, is what is accepted where the error leaves fewer than :data:`FEW` of the rows.
    """

    error: float | None = None
    coverage: float | None = None
    confidence: float = CONFIDENCE
    otherwise: str = "half"

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> "RejectRule":
        """Return the rule of the keys ``reject_*``; those that are missing have defaults."""
        given = {field.name: config.get(f"reject_{field.name}") for field in fields(cls)}
        return cls(**{name: value for name, value in given.items() if value is not None})

    @property
    def stated(self) -> dict[str, Any]:
        """What the model file says of it."""
        if self.coverage is not None:
            return {"coverage": self.coverage}
        return {"error": self.error, "confidence": self.confidence, "otherwise": self.otherwise}

    def promise(self, probabilities: FloatArray, y: IntArray) -> Promise:
        """Return the smallest top probability to accept, and what is promised of it.

        That is the :func:`reject_threshold`. If it accepts fewer than :data:`FEW` of the rows, the
        surest :data:`HALF` is accepted with the error that :func:`promised_curve` bounds, if that
        is below the errors of naming the commonest class: labels that are noise are not accepted.
        A promise of either kind is broken with a probability of at most 1 - ``confidence``, that of
        a half with a fifth of that. So a model, which makes one of them, breaks its own with a
        probability of at most six fifths of 1 - ``confidence``.
        """
        if self.coverage is not None:
            return Promise(coverage_threshold(probabilities, self.coverage))
        assert self.error is not None, "neither an error nor a coverage"
        threshold = reject_threshold(probabilities, y, self.error, self.confidence)
        curve = promised_curve(probabilities, y, self.confidence)
        half = next(point for point in curve if point["share"] == HALF)
        few = np.mean(probabilities.max(axis=1) >= threshold) < FEW
        better = half["at_most"] < 1.0 - np.bincount(y).max() / len(y)
        if few and better and self.otherwise == "half":
            return Promise(half["threshold"], half["at_most"], curve)
        return Promise(threshold, None if threshold >= NOTHING_ACCEPTED else self.error, curve)

    def unkept(self, threshold: float, promised: float | None = None) -> str | None:
        """Return what to say if what was asked for is not ``promised``, or nothing is accepted."""
        if self.coverage is not None or self.error is None:
            return None
        enough, then = "", "all predictions are rejected"
        if threshold < NOTHING_ACCEPTED:
            if promised is None or promised <= self.error:
                return None
            enough = " that accepts a tenth of the predictions"
            then = f"the surest half is accepted: at most {100 * promised:.1f} % of it is wrong"
        least = records_needed(self.error, self.confidence)
        return (
            f"no threshold{enough} can promise at most {100 * self.error:g} % errors with "
            f"{100 * self.confidence:g} % confidence, so {then}. "
            f"It takes at least {least:,} records on the inner folds, and more if one of the "
            f"surest is predicted wrong. {UNKEPT_ADVICE}"
        )


def promised_curve(
    probabilities: FloatArray, y: IntArray, confidence: float = CONFIDENCE
) -> tuple[dict[str, float], ...]:
    r"""Return how many errors there are at most if shares of the surest rows are accepted.

    For each ``share`` of :data:`SHARES`, with the n of N rows whose top probability reaches the
    ``threshold`` that accepts so many, k of which are ``wrong`` (a share): ``at_most`` is the
    exact upper bound [1]_ of the error rate, the p with

    .. math:: P(B_n \le k) = (1 - \gamma) / g, \qquad B_n \sim Binomial(n, p),

    rounded up to a tenth of a percent; :math:`\gamma` the ``confidence``, g the number of shares. n
    is fixed beforehand, whatever the errors are, so each bound is broken with a probability of at
    most :math:`(1 - \gamma) / g`, and any of them with one of at most :math:`1 - \gamma`: they may
    be read together, and one chosen. The bound of a larger share holds for a smaller one too, as
    surer predictions are wrong no more often; so none is above one of a larger share.

    References
    ----------
    .. [1] Clopper, C. J., Pearson, E. S.: The use of confidence or fiducial limits illustrated in
       the case of the binomial. Biometrika 26, 404-413 (1934).
    """
    top = probabilities.max(axis=1)
    wrong, order = probabilities.argmax(axis=1) != y, np.sort(top)[::-1]
    curve, least = [], 1.0
    for share in SHARES:
        threshold = float(order[max(1, math.ceil(share * len(top) - 1e-9)) - 1])
        kept = top >= threshold
        found = upper_bound(wrong[kept].sum(), kept.sum(), (1.0 - confidence) / len(SHARES))
        least = min(least, math.ceil(1000 * float(found)) / 1000)
        rate = float(wrong[kept].mean())
        point = {"share": share, "accepted": float(kept.mean()), "threshold": threshold}
        curve.append({**point, "wrong": rate, "at_most": least})
    return tuple(curve)


def reject_threshold(
    probabilities: FloatArray, y: IntArray, error: float = 0.01, confidence: float = 0.9
) -> float:
    r"""Return the smallest top probability to accept so that the error rate stays in bounds.

    A prediction is accepted if its top probability is at least the threshold. For new objects, the
    error rate among the accepted exceeds ``error`` (:math:`\epsilon`) with a probability of at most
    1 - ``confidence``. Of the n surest rows, k are wrong. The threshold accepts the largest n with
    k of at most :func:`allowed_errors`; rows of equal top probability are accepted together.

    ``probabilities``, of shape (N, n_classes), are those of inner out-of-fold predictions. The
    threshold is never below the least certain row, and
    :data:`~kreinflow.answering.query_and_answers.NOTHING_ACCEPTED` if no row can be accepted.

    These bounds hold at all n together [1]_, as the threshold is picked among many. The level is
    exact for rows that are independent and like the new objects, if the error rate r(t) among
    objects with a top probability of at least t does not grow with t. Only the order counts.

    Proof: let t* be the largest top probability with r(t*) of :math:`\epsilon` or more, and M the
    number of rows from t* up. Too much is accepted only if n is M or more. Given M, each of these
    M rows is wrong with probability r(t*), independently if their order is drawn, and each row
    below t* with that or more. So k is nowhere below a sum of n independent errors of probability
    :math:`\epsilon`, and that sum is within :func:`allowed_errors` anywhere with probability
    1 - confidence at most.

    References
    ----------
    .. [1] Angelopoulos, A. N., Bates, S., Candès, E. J., Jordan, M. I., Lei, L.: Learn then test:
       calibrating predictive algorithms to achieve risk control. arXiv:2110.01052 (2021).
    """
    top = probabilities.max(axis=1)
    order = np.argsort(-top, kind="stable")
    sorted_top = top[order]
    wrong = np.cumsum((np.argmax(probabilities, axis=1) != y)[order])
    ends = np.flatnonzero(np.append(sorted_top[1:] < sorted_top[:-1], True))  # last of equals
    numbers, allowed = allowed_errors(len(top), error, confidence)
    # Between two numbers of the grid what the smaller allows: a few more rows, no more errors.
    bound = np.append(-1, allowed)[np.searchsorted(numbers, ends + 1, side="right")]
    accepted = ends[wrong[ends] <= bound]
    return float(sorted_top[accepted[-1]]) if len(accepted) else NOTHING_ACCEPTED


@lru_cache(maxsize=64)
def allowed_errors(n: int, error: float, confidence: float) -> tuple[IntArray, IntArray]:
    r"""Return how many errors among the surest rows bound the error rate, at all numbers together.

    At each number m of a grid of :data:`GRID` up to n, that is the largest k with

    .. math:: P(B_m \le k) \le \alpha, \qquad B_m \sim Binomial(m, \epsilon),

    which is the Clopper-Pearson bound [1]_ of level :math:`\alpha`. This level is the largest for
    which a sum of independent errors of probability :math:`\epsilon` is within these bounds
    anywhere with a probability of at most 1 - confidence. That probability is computed exactly,
    number by number [2]_. Returned are the numbers, and what is allowed: -1 for nothing.

    References
    ----------
    .. [1] Clopper, C. J., Pearson, E. S.: The use of confidence or fiducial limits illustrated in
       the case of the binomial. Biometrika 26, 404-413 (1934).
    .. [2] Armitage, P., McPherson, C. K., Rowe, B. C.: Repeated significance tests on accumulating
       data. Journal of the Royal Statistical Society A 132, 235-244 (1969).
    """
    numbers = np.unique(np.ceil(n * np.arange(1, GRID + 1) / GRID)).astype(np.int64)
    spent = (1.0 - confidence) * _ROUNDING
    low, high = spent / len(numbers), spent
    if _passing(numbers, _bounds(numbers, error, high), error) <= spent:
        return numbers, _bounds(numbers, error, high)
    while high > low * (1.0 + 1e-6):
        level = float(np.sqrt(low * high))
        kept = _passing(numbers, _bounds(numbers, error, level), error) <= spent
        low, high = (level, high) if kept else (low, level)
    return numbers, _bounds(numbers, error, low)


def _bounds(numbers: IntArray, error: float, level: float) -> IntArray:
    """Return the largest k with P(B <= k) <= level for each number, -1 if there is none."""
    k = quantile(level, numbers, error)
    bounds: IntArray = np.where(bdtr(k, numbers, error) <= level, k, k - 1).astype(np.int64)
    return bounds


def _passing(numbers: IntArray, bounds: IntArray, error: float) -> float:
    """Return with what probability a sum of independent errors is within a bound anywhere."""
    outside = np.zeros(int(bounds.max()) + 1)  # by their number; what is above stays above
    outside[:1] = 1.0
    passed, steps, added = 0.0, np.diff(numbers, prepend=0), {}
    for step in np.unique(steps):
        most = int(quantile(1.0 - 1e-14, step, error))
        added[step] = np.diff(bdtr(np.arange(most + 1), step, error), prepend=0.0)
    for step, bound in zip(steps, bounds, strict=True):
        outside = np.convolve(outside, added[step])[: len(outside)] if len(outside) else outside
        passed += float(outside[: bound + 1].sum())
        outside[: bound + 1] = 0.0
    return passed


def records_needed(error: float, confidence: float) -> int:
    """Return how many records, none of them wrong, bound the error rate by ``error``."""
    needed = np.log((1.0 - confidence) * _ROUNDING) / np.log1p(-error)
    return max(1, int(np.ceil(needed)))


def coverage_threshold(probabilities: FloatArray, coverage: float) -> float:
    """Return the largest top probability to accept so that a share of the rows is accepted.

    Rows of equal top probability are accepted together, so the share may be larger.
    ``coverage``: above 0, at most 1.
    """
    top = np.sort(probabilities.max(axis=1))
    # 0.07 x 100 is a little more than 7.
    return float(top[-max(1, int(np.ceil(coverage * len(top) - 1e-9)))])


def fitted_levels(
    levels: Levels,
    probabilities: FloatArray,
    true: IntArray,
    confidence: float = CONFIDENCE,
    least: float | None = None,
) -> Levels:
    """Return the levels with thresholds that keep what they promise.

    Of new objects that are answered at level d or below, at most the share 1 - ``back_off`` has
    another node than the true one at level d, with the confidence that is asked for, for each d by
    itself. The threshold of a level is ``least`` (``back_off`` if it is left out), or the least one
    above it that accepts no more rows than :func:`reject_threshold` of its most likely nodes; and
    not below that of the level above. ``true`` are the
    :meth:`~kreinflow.answering.levels.Levels.true_nodes` of the rows. Those whose labels end above
    the level are left out: what is below is unknown. Whatever is answered to one whose node no
    class has is wrong.
    """
    likeliest, top = levels.likeliest(probabilities)
    right, has = likeliest == true, true != NO_NODE
    error, least = 1.0 - levels.back_off, levels.back_off if least is None else least
    found = [
        _level_threshold(least, top[has[:, d], d], ~right[has[:, d], d], error, confidence)
        for d in range(1, true.shape[1])
    ]
    return replace(levels, thresholds=np.maximum.accumulate(found))


def _level_threshold(
    least: float, top: FloatArray, wrong: NDArray[np.bool_], error: float, confidence: float
) -> float:
    """Return the threshold of a level by its likeliest nodes, whether wrong or not."""
    if not len(top):
        return NOTHING_ACCEPTED
    found = reject_threshold(top[:, None], wrong.astype(int), error, confidence)
    # Between the last row that is accepted and the next one any threshold accepts the same.
    surer = top[(top >= least) & (top < found)]
    return max(least, found) if len(surer) or found > top.max() else least
