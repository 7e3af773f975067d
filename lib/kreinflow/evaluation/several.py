"""Predictions of records that may have several labels.

The columns ``true`` and ``predicted`` of the predictions table hold all labels of a record, in the
order of the columns of probabilities, with a semicolon between. A record may be given no label:
then ``predicted`` is empty. Each probability is that the record has this label, so those of a
record do not sum to one.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.metrics import (
    MeasuredRows,
    calibration_error,
    class_names,
    probabilities_of,
    refuse_other_labels,
)
from kreinflow.sequences.labels import SEPARATOR


class SeveralLabels(MeasuredRows):
    """Such predictions: ``true`` and ``predicted`` are indicators of shape (n, n_classes)."""

    metrics = (
        *("accuracy", "micro_f1", "macro_f1", "micro_average_precision"),
        *("macro_average_precision", "hamming_loss", "log_loss"),
    )
    class_measures = (
        *("precision", "recall", "f1", "support", "average_precision"),
        *("calibration_error", "calibration_error_perfect"),
    )

    def __init__(self, table: pd.DataFrame, classes: tuple[str, ...]) -> None:
        super().__init__(table, classes)
        self.true, self.predicted = (
            _memberships(table[column], classes) for column in ("true", "predicted")
        )

    @classmethod
    def checked(cls, predictions: pd.DataFrame) -> tuple[str, ...]:
        """Return the classes that a table has probabilities for; each is between 0 and 1."""
        names = class_names(predictions)
        for column in ("true", "predicted"):
            texts = predictions[column].astype(str).unique().tolist()
            refuse_other_labels(set(_named(texts)[1]), names, column)
        p = probabilities_of(predictions, names)
        wrong = np.argwhere(~((p >= 0) & (p <= 1)))
        if len(wrong):
            (line, label), row = wrong[0], predictions.iloc[int(wrong[0][0])]
            raise InputError(
                f"predictions: the probability of {names[label]!r} for {row['id']!r} by "
                f"{row['recipe']!r} is {p[line, label]:.6g}, not between 0 and 1. Calibrate the "
                "learner's decisions."
            )
        return names

    @property
    def given(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The probability of each label that a record was given, and whether the record has it."""
        return self.probabilities[self.predicted], self.true[self.predicted]

    @property
    def forecasts(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The probability of each label for each record, and whether the record has it."""
        return self.probabilities.ravel(), self.true.ravel()

    def measures(self) -> tuple[float, ...]:
        r"""Return the measures of these rows.

        With n records and K labels, t_ic whether record i has label c, \hat t_ic whether it was
        given c, and the probabilities p_ic:

        - ``accuracy``: share of records with \hat t_ic = t_ic for all c;
        - ``micro_f1``: 2 sum_ic t_ic \hat t_ic / sum_ic (t_ic + \hat t_ic);
        - ``macro_f1``: mean over labels of 2 sum_i t_ic \hat t_ic / sum_i (t_ic + \hat t_ic), for
          those that occur in these records, or are given there;
        - ``micro_average_precision``: :func:`average_precision` of all pairs of record and label;
        - ``macro_average_precision``: mean over the labels that occur of that of each;
        - ``hamming_loss``: share of the n K decisions \hat t_ic that are wrong;
        - ``log_loss``: -(1/nK) sum_ic ln(t_ic p_ic + (1 - t_ic) (1 - p_ic)), in nats, clipped at
          the machine epsilon.

        References
        ----------
        Zhang and Zhou, A review on multi-label learning algorithms, IEEE Transactions on Knowledge
        and Data Engineering 26, 1819-1837 (2014), section 2.2. doi:10.1109/TKDE.2013.39
        """
        true, given, p = self.true, self.predicted, self.probabilities
        hits, sizes = (true & given).sum(axis=0), true.sum(axis=0) + given.sum(axis=0)
        f1 = _shares(2 * hits, sizes)
        ranked = [average_precision(p[:, c], true[:, c]) for c in np.flatnonzero(true.any(axis=0))]
        likelihood = np.where(true, p, 1.0 - p)
        return (
            float(np.mean((true == given).all(axis=1))),
            float(_shares(2 * hits.sum(), sizes.sum())),
            float(f1[sizes > 0].mean()) if sizes.any() else 0.0,
            average_precision(*self.forecasts),
            float(np.mean(ranked)) if ranked else float("nan"),
            float(np.mean(true != given)),
            float(-np.log(np.maximum(likelihood, np.finfo(np.float64).eps)).mean()),
        )

    def per_class(self) -> FloatArray:
        """Return the measures of each label by itself.

        These are precision, recall, F1, support (how many of these records have it),
        :func:`average_precision` and :func:`~kreinflow.evaluation.metrics.calibration_error`. A
        label that is never given has precision 0; one that never occurs has recall 0, and no
        average precision.
        """
        true, given, p = self.true, self.predicted, self.probabilities
        hits, support, said = (part.sum(axis=0) for part in (true & given, true, given))
        ranked = [average_precision(*own) for own in zip(p.T, true.T, strict=True)]
        errors = [calibration_error(*own) for own in zip(p.T, true.T, strict=True)]
        return np.vstack(
            [
                _shares(hits, said),
                _shares(hits, support),
                _shares(2 * hits, support + said),
                support,
                ranked,
                np.transpose(errors),
            ]
        )

    def confusions(self) -> FloatArray:
        """Return how many records that have a label (row) were given another one wrongly (column).

        On the diagonal are the records that have the label and were given it. A label that was
        given wrongly counts once for each label that the record has.
        """
        wrong = (self.predicted & ~self.true).astype(np.float64)
        counts: FloatArray = self.true.T.astype(np.float64) @ wrong
        np.fill_diagonal(counts, (self.true & self.predicted).sum(axis=0))
        return counts


def average_precision(probabilities: FloatArray, true: NDArray[np.bool_]) -> float:
    r"""Return the average precision of a ranking: the area below precision against recall.

    Ranked by probability, the highest first, and with the thresholds t_1 > t_2 > ... that occur,

    .. math:: \sum_k (R_k - R_{k-1}) P_k, \qquad R_0 = 0,

    where :math:`R_k` is the share of the true ones whose probability is at least t_k, and
    :math:`P_k` the share of true ones among all with at least t_k. A ranking by chance has the
    share of true ones in expectation, or little more where there are few.

    It is NaN if none is true.

    Examples
    --------
    >>> average_precision(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]))
    0.8333333333333333
    """
    order = np.argsort(-probabilities, kind="stable")
    hits = np.cumsum(true[order])
    if not hits[-1]:
        return float("nan")
    last = np.append(np.diff(probabilities[order]) != 0, True)  # of equal ones
    hits, n = hits[last], np.flatnonzero(last) + 1
    return float(np.sum(np.diff(hits, prepend=0) * (hits / n)) / hits[-1])


def _shares(part: NDArray[np.int64], whole: NDArray[np.int64]) -> FloatArray:
    """Return part / whole, 0 where the whole is 0."""
    return np.asarray(part / np.maximum(whole, 1), dtype=np.float64)


def _named(texts: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the labels that texts name, one after the other, and the place of each one's text."""
    labels = [text.split(SEPARATOR) if text else [] for text in texts]
    rows = np.repeat(np.arange(len(labels)), [len(own) for own in labels])
    return rows, [label for own in labels for label in own]


def _memberships(texts: "pd.Series[str]", classes: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which labels each text names, of shape (n, n_classes)."""
    codes, distinct = pd.factorize(texts.astype(str))
    rows, labels = _named(distinct.tolist())
    found = np.zeros((len(distinct), len(classes)), dtype=bool)
    found[rows, pd.Index(classes).get_indexer(pd.Index(labels))] = True
    return found[codes]
