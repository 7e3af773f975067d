"""Predictions of records with one label each."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import xlogy

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.metrics import (
    MeasuredRows,
    class_names,
    probabilities_of,
    refuse_other_labels,
)

_EPSILON = float(np.finfo(np.float64).eps)


class OneLabel(MeasuredRows):
    """Such predictions: ``true`` and ``predicted`` are codes of classes."""

    metrics = ("accuracy", "balanced_accuracy", "macro_f1", "mcc", "log_loss", "brier")
    class_measures = ("precision", "recall", "f1", "support")

    def __init__(self, table: pd.DataFrame, classes: tuple[str, ...]) -> None:
        super().__init__(table, classes)
        index = pd.Index(classes)
        self.true, self.predicted = (
            index.get_indexer(pd.Index(table[column].astype(str))).astype(np.int64)
            for column in ("true", "predicted")
        )

    @classmethod
    def checked(cls, predictions: pd.DataFrame) -> tuple[str, ...]:
        """Return the classes that a table has probabilities for; those of a row sum to one."""
        names = class_names(predictions)
        for column in ("true", "predicted"):
            refuse_other_labels(set(predictions[column].astype(str)), names, column)
        sums = probabilities_of(predictions, names).sum(axis=1)
        wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= 1e-6))
        if wrong.size:
            row = predictions.iloc[int(wrong[0])]
            raise InputError(
                f"predictions: the probabilities of {row['id']!r} by {row['recipe']!r} sum to "
                f"{sums[wrong[0]]:.6g}, not to one. Calibrate the learner's decisions."
            )
        return names

    @property
    def given(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """See :attr:`~kreinflow.evaluation.metrics.MeasuredRows.given`."""
        found: FloatArray = self.probabilities[np.arange(len(self.true)), self.predicted]
        return found, np.equal(self.true, self.predicted)

    def measures(self) -> tuple[float, ...]:
        r"""Return the measures of these rows.

        With n records, the true class t_i, the prediction \hat t_i and probabilities p_ic:

        - ``accuracy``: share of records with \hat t_i = t_i;
        - ``balanced_accuracy``: mean recall over the classes that occur in these records (a class
          that is absent has no recall and does not count);
        - ``macro_f1``: mean F1 over the classes that occur there, or are predicted there;
        - ``mcc``: Matthews' correlation coefficient for many classes (0 where it is undefined: only
          one class in truth or in prediction);
        - ``log_loss``: -(1/n) sum_i ln p_i,t_i, in nats, probabilities clipped at the machine
          epsilon;
        - ``brier``: (1/n) sum_i sum_c (p_ic - [t_i = c])^2, from 0 to 2.

        References
        ----------
        Gorodkin, Comput. Biol. Chem. 28, 367-374 (2004): the coefficient for many classes.
        Brier, Mon. Weather Rev. 78, 1-3 (1950): the score for many classes.
        """
        true, p, (right, occur, given) = self.true, self.probabilities, self._counts()
        seen = occur + given
        likely = np.clip(p[np.arange(len(true)), true], _EPSILON, 1.0 - _EPSILON)
        n, both = float(len(true)), right.sum() * len(true) - occur @ given
        spread = (n**2 - given @ given) * (n**2 - occur @ occur)
        return (
            float(np.mean(true == self.predicted)),
            float(np.mean(right[occur > 0] / occur[occur > 0])),
            float(np.mean(2.0 * right[seen > 0] / seen[seen > 0])),
            float(both / np.sqrt(spread)) if spread else 0.0,
            float(np.mean(-xlogy(1.0, likely))),
            float(np.mean(np.sum((p - np.eye(p.shape[1])[true]) ** 2, axis=1))),
        )

    def _counts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return how often each class is rightly predicted, occurs, and is predicted."""
        counts = self.confusions()
        return counts.diagonal(), counts.sum(axis=1), counts.sum(axis=0)

    def per_class(self) -> FloatArray:
        """Return precision, recall, F1, and support: how many of these records are of the class.

        A class that is never predicted has precision 0; one that never occurs has recall 0.
        """
        right, occur, given = self._counts()
        shares = [
            np.divide(part, whole, out=np.zeros(len(right)), where=whole > 0)
            for part, whole in ((right, given), (right, occur), (2.0 * right, occur + given))
        ]
        return np.array([*shares, occur])

    def confusions(self) -> FloatArray:
        """See :meth:`~kreinflow.evaluation.metrics.MeasuredRows.confusions`."""
        n = len(self.classes)
        counts = np.bincount(self.true * n + self.predicted, minlength=n * n)
        return counts.reshape(n, n).astype(np.float64)
