"""What all levels of a cascade say of objects, and what a threshold makes of that."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kreinflow.answering.cascade import Cascade, Said, followed
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.fitting.best_hits import Hits

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
class Climbed:
    """Objects that went up all levels, whatever their probabilities are.

    Parameters
    ----------
    cascade : Cascade
    said : sequence of Said
        Level by level, the first stage first.
    base : int
        The alignments of an object before it asks any record.
    hits : Hits
        What heard all that they asked.
    """

    cascade: Cascade
    said: Sequence[Said]
    base: int
    hits: Hits

    def at(self, threshold: float) -> tuple[FloatArray, FloatArray]:
        """Return what a threshold makes of it.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Calibrated probabilities.
        ndarray of shape (n,)
            Alignments, those with the landmarks among them.
        """
        raw, _, beyond = followed(self.said, threshold)
        return self.cascade.calibrated(raw), np.asarray(self.base + beyond, dtype=np.float64)

    def curve(self, truth: IntArray) -> pd.DataFrame:
        """Return cost and accuracy at growing thresholds; columns as :data:`CURVE_COLUMNS`.

        Parameters
        ----------
        truth : ndarray of shape (n,)
            Codes of the classes; n is not 0.
        """
        asking = [said.probabilities.max(axis=1) for said in self.said[:-1]]
        shares = np.arange(1, POINTS - 1) / (POINTS - 1)
        between = np.quantile(np.concatenate(asking), shares, method="higher") if asking else []
        own = self.cascade.threshold
        rows = []
        for threshold in np.unique([0.0, *between, 2.0, own]).tolist():
            raw, _, beyond = followed(self.said, threshold)
            right = int((raw.argmax(axis=1) == truth).sum())
            chosen = "yes" if threshold == own else "no"
            rows.append((threshold, self.base + beyond.mean(), len(truth), right, chosen))
        return pd.DataFrame(rows, columns=list(CURVE_COLUMNS[3:]))
