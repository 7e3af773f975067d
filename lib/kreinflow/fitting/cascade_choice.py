"""The choice of a cascade, its levels and the threshold that keeps to what is wanted; its curve."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.answering.cascade import SMALLEST, Cascade, LevelAnswers, followed
from kreinflow.answering.query_and_answers import STAGES
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.fitting.calibration import LOSS_DIGITS

CURVE_COLUMNS = (
    *("recipe", "repeat", "fold"),
    *("threshold", "alignments", "records", "right", "chosen"),
)
"""Of the curves of a fold: ``alignments`` is the mean for a query, those with the landmarks and
with itself among them, ``right`` the number of the ``records`` that are predicted right. ``chosen``
is ``yes`` at the threshold of the model."""

POINTS = 25
"""Of a curve, beside that of the model: 0, the first stage alone, 2, everything asked, and
quantiles of the largest probabilities at the levels that go on."""

NEAREST_AT_MOST = 200
"""The last step, unless twice the mean number that is wanted is more."""

THRESHOLDS = (0.0, *(1 / (1 + np.exp(-np.linspace(-1, 12, 157)))).tolist(), 2.0)
"""That are tried: from the first stage alone to everything asked."""


@dataclass(frozen=True)
class Wanted:
    """What a cascade is to keep to."""

    loss: float | None = None  # accuracy that may be lost against asking all
    alignments: float | None = None  # or the mean number of alignments for a query

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Wanted":
        """Return what a recipe says."""
        return cls(settings.get("loss"), settings.get("alignments"))

    def most_nearest(self, base: int) -> int:
        """Return the nearest records at most, beyond the alignments of the first stage."""
        return max(NEAREST_AT_MOST, int(2 * ((self.alignments or 0) - base)))


@dataclass(frozen=True, eq=False)
class Plan:
    """Levels that a cascade may have, and what they said of the records held out."""

    steps: int
    pairs: bool
    levels: Sequence[LevelAnswers]
    weights: tuple[FloatArray, ...]

    def on(self, rows: NDArray[np.bool_]) -> "Plan":
        """Return what it said of some of the records."""
        levels = [LevelAnswers._make(of[rows] for of in level) for level in self.levels]
        return replace(self, levels=levels)


class _At(NamedTuple):
    """What a threshold gives: which records are right, mean alignments, and the log loss."""

    right: NDArray[np.bool_]
    alignments: float
    loss: float


class _Tried:
    """A plan, and what each of its levels says of each record, of shape (n_levels, n)."""

    def __init__(self, plan: Plan, truth: IntArray) -> None:
        self.plan, self._n = plan, np.arange(len(truth))
        said = [level.probabilities for level in plan.levels]
        self._top = np.array([p.max(axis=1) for p in said])
        self._right = np.array([p.argmax(axis=1) == truth for p in said])
        likely = np.array([p[self._n, truth] for p in said])
        self._losses = -np.log(np.maximum(likely, SMALLEST))
        self._alignments = np.array([level.alignments for level in plan.levels])
        self._reached = np.array([level.reached for level in plan.levels])

    def at(self, threshold: float) -> _At:
        n = self._n
        level = np.zeros(len(n), dtype=np.int64)
        for number in range(1, len(self._top)):
            up = (self._top[level, n] < threshold) & self._reached[number]
            level[up] = number
        if not len(n):
            return _At(np.zeros(0, dtype=bool), 0.0, 0.0)
        right, alignments = self._right[level, n], float(self._alignments[level, n].mean())
        return _At(right, alignments, round(float(self._losses[level, n].mean()), LOSS_DIGITS))


def chosen(plans: Sequence[Plan], truth: IntArray, wanted: Wanted, base: int) -> tuple[Plan, float]:
    """Return the plan and the threshold that keep to what is wanted beyond ``base`` alignments."""
    tried = [_Tried(plan, truth) for plan in plans]
    if wanted.alignments is not None:
        return _within(tried, wanted.alignments - base)
    return _risking(tried, wanted.loss or 0.0)


def _within(tried: Sequence[_Tried], most: float) -> tuple[Plan, float]:
    """Return the plan that is best with so many alignments on the mean, and the lowest threshold.

    Of plans that are right equally often, at their highest thresholds, the log loss decides. A
    lower threshold will do if it loses no record that is right, and the records together are less
    than e times as likely at the highest.
    """
    kept = []
    for own in tried:

        def asked(threshold: float, own: _Tried = own) -> float:
            return own.at(threshold).alignments

        # The higher the threshold, the more is asked; the lowest asks nothing.
        at = own.at(THRESHOLDS[bisect_right(THRESHOLDS, most, key=asked) - 1])
        kept.append((at.right.sum(), -at.loss, own, at))
    *_, own, best = max(kept, key=lambda k: k[:2])
    for threshold in THRESHOLDS:  # one of them is the highest
        at = own.at(threshold)
        if not (best.right & ~at.right).any() and (at.loss - best.loss) * len(at.right) < 1:
            break
    return own.plan, threshold


def _risking(tried: Sequence[_Tried], loss: float) -> tuple[Plan, float]:
    r"""Return the plan that is best with everything asked, and the lowest threshold for a loss.

    Of n records, :math:`r_t` are wrong at a threshold t and right with everything asked, or at a
    higher threshold were more. The lowest t is taken with

    .. math:: \frac{r_t + 1}{n + 1} \le loss.

    So new records lose no more, in expectation over samples, if they are like these: what is gained
    does not count. Where nothing keeps to it everything is asked.

    References
    ----------
    A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster (2024), Conformal risk control,
    ICLR, eq. 4.
    """
    everything = THRESHOLDS[-1]
    own = max(tried, key=lambda t: (t.at(everything).right.sum(), -t.at(everything).alignments))
    right, most, lowest = own.at(everything).right, 0, everything
    for threshold in reversed(THRESHOLDS):
        most = max(most, int((right & ~own.at(threshold).right).sum()))
        if (most + 1) / (len(right) + 1) > loss:
            break
        lowest = threshold
    return own.plan, lowest


def described(cascade: Cascade) -> str:
    """Return what a cascade is, in a few words."""
    parts = [f"{STAGES[1]} {', '.join(map(str, cascade.steps))}"] if cascade.steps else []
    if cascade.machines is not None:
        parts.append(f"{STAGES[2]} of {cascade.likeliest}")
    parts = parts if cascade.threshold > 0 else []
    return ", ".join([*parts, f"threshold {cascade.threshold:.4g}"]) if parts else "first stage"


@dataclass(frozen=True, eq=False)
class CascadeCurve:
    """What levels say of objects that went up all of them, whatever their probabilities are."""

    cascade: Cascade
    levels: Sequence[LevelAnswers]  # the first stage first
    base: int  # the alignments of an object before it asks any record

    def at(self, threshold: float) -> tuple[FloatArray, FloatArray]:
        """Return calibrated probabilities and alignments, those with landmarks among them."""
        raw, _, beyond = followed(self.levels, threshold)
        return self.cascade.calibrated(raw), np.asarray(self.base + beyond, dtype=np.float64)

    def table(self, truth: IntArray) -> pd.DataFrame:
        """Return cost and accuracy at growing thresholds; columns as :data:`CURVE_COLUMNS`."""
        going = [level.probabilities.max(axis=1) for level in self.levels[:-1]]
        shares = np.arange(1, POINTS - 1) / (POINTS - 1)
        between = np.quantile(np.concatenate(going), shares, method="higher") if going else []
        own, rows = self.cascade.threshold, []
        for threshold in np.unique([0.0, *between, 2.0, own]).tolist():
            raw, _, beyond = followed(self.levels, threshold)
            right = int((raw.argmax(axis=1) == truth).sum())
            chosen = "yes" if threshold == own else "no"
            rows.append((threshold, self.base + beyond.mean(), len(truth), right, chosen))
        return pd.DataFrame(rows, columns=list(CURVE_COLUMNS[3:]))
