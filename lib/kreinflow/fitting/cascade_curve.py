"""What all levels of a cascade say of objects, and what each threshold makes of that."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kreinflow.answering.cascade import Cascade, LevelAnswers, followed
from kreinflow.base.numerics import FloatArray, IntArray

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


@dataclass(frozen=True, eq=False)
class CascadeCurve:
    """Objects that went up all levels, whatever their probabilities are."""

    cascade: Cascade
    levels: Sequence[LevelAnswers]  # the first stage first
    base: int  # the alignments of an object before it asks any record

    @classmethod
    def joined(
        cls, cascade: Cascade, parts: Sequence[Sequence[LevelAnswers]], base: int
    ) -> "CascadeCurve":
        """Return the curve of what the levels say of some objects after the other."""
        levels = [
            LevelAnswers(*map(np.concatenate, zip(*level, strict=True)))
            for level in zip(*parts, strict=True)
        ]
        return cls(cascade, levels, base)

    def at(self, threshold: float) -> tuple[FloatArray, FloatArray]:
        """Return calibrated probabilities and alignments, those with landmarks among them."""
        raw, _, beyond = followed(self.levels, threshold)
        return self.cascade.calibrated(raw), np.asarray(self.base + beyond, dtype=np.float64)

    def table(self, truth: IntArray) -> pd.DataFrame:
        """Return cost and accuracy at growing thresholds; columns as :data:`CURVE_COLUMNS`.

        ``truth``, of shape (n,): codes of the classes; n is not 0.
        """
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
