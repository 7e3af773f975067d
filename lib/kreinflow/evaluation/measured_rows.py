"""What is measured of some rows of a predictions table, with one label a record or several.

Of several labels the columns ``true`` and ``predicted`` hold all, with a semicolon between, or
nothing. Each probability is then that the record has this label: those of a record do not sum to
one.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import xlogy

from kreinflow.base.binomial import probability
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.sequences.labels import SEPARATOR

PROBABILITY_PREFIX = "p_"
CALIBRATION_BINS = 15
_EPSILON = float(np.finfo(np.float64).eps)
CALIBRATION_ERRORS = ("calibration_error", "calibration_error_perfect")


def class_names(predictions: pd.DataFrame) -> tuple[str, ...]:
    """Return the classes that a predictions table has probabilities for."""
    columns = predictions.columns[predictions.columns.str.startswith(PROBABILITY_PREFIX)]
    return tuple(columns.str.removeprefix(PROBABILITY_PREFIX))


def probabilities_of(predictions: pd.DataFrame) -> FloatArray:
    """Return the probabilities in a table, of shape (rows, n_classes)."""
    columns = [PROBABILITY_PREFIX + name for name in class_names(predictions)]
    return predictions[columns].to_numpy(np.float64)


class MeasuredRows:
    """Rows of a predictions table: of one recipe, and of a fold, a repeat, or all of these.

    ``metrics`` are the names of :meth:`measures`; ``accuracy`` and ``log_loss`` are among them.
    ``class_measures`` are those of :meth:`per_class`; ``support`` is among them. ``true`` and
    ``predicted`` say which classes each record has, and was given, of shape (n, n_classes).
    """

    metrics: ClassVar[tuple[str, ...]]
    class_measures: ClassVar[tuple[str, ...]] = ("precision", "recall", "f1", "support")
    several: ClassVar[bool]

    def __init__(self, table: pd.DataFrame) -> None:
        self.classes, self.probabilities = class_names(table), probabilities_of(table)
        self.true, self.predicted = (self._memberships(table[c]) for c in ("true", "predicted"))
        self._hits, self._support, self._given = (
            part.sum(axis=0) for part in (self.true & self.predicted, self.true, self.predicted)
        )

    @classmethod
    def each(cls, predictions: pd.DataFrame, *keys: str) -> Iterator[tuple[tuple[Any, ...], Self]]:
        """Yield the rows of each recipe and value of these columns, recipes by their first row."""
        for recipe, rows in predictions.groupby("recipe", sort=False):
            for place, table in rows.groupby(list(keys)) if keys else [((), rows)]:
                yield (str(recipe), *place), cls(table)

    def _memberships(self, column: "pd.Series[str]") -> NDArray[np.bool_]:
        codes, texts = pd.factorize(column.astype(str))
        labels = [[text] for text in texts.tolist()]
        if self.several:
            labels = [text.split(SEPARATOR) if text else [] for (text,) in labels]
        of_text = pd.Series(labels).explode().dropna()
        places = pd.Index(self.classes).get_indexer(pd.Index(of_text))
        if (places < 0).any():
            raise InputError(
                f"predictions: the label {of_text.to_numpy()[places < 0][0]!r} in column "
                f"{column.name!r} has no probabilities. Predict the folds again."
            )
        found = np.zeros((len(texts), len(self.classes)), dtype=bool)
        found[of_text.index, places] = True
        return found[codes]

    def measures(self) -> tuple[float, ...]:
        """Return the :attr:`metrics` of these rows."""
        raise NotImplementedError

    def _accuracy(self) -> float:
        return float(np.mean((self.true == self.predicted).all(axis=1)))

    def _macro_f1(self) -> float:
        sizes = self._support + self._given
        f1 = _shares(2 * self._hits, sizes)[sizes > 0]
        return float(f1.mean()) if len(f1) else 0.0

    def per_class(self) -> FloatArray:
        """Return :attr:`class_measures`, of shape (measures, n_classes); what has no base is 0."""
        hits, support, given = self._hits, self._support, self._given
        shares = _shares(hits, given), _shares(hits, support), _shares(2 * hits, support + given)
        return np.vstack([*shares, support])

    def confusions(self) -> FloatArray:
        """Return how many records of each class (row) were given each class (column).

        One of several labels that was given wrongly counts for each label that the record has.
        """
        wrong = csr_array(self.predicted & ~self.true, dtype=np.float64)
        counts: FloatArray = (csr_array(self.true.T, dtype=np.float64) @ wrong).toarray()
        np.fill_diagonal(counts, self._hits)
        return counts

    @property
    def given(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The probability of each class that a record was given, and whether it is right."""
        return self.probabilities[self.predicted], self.true[self.predicted]

    @property
    def forecasts(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The probabilities that calibration is asked of, and what came true."""
        return self.given


class OneLabel(MeasuredRows):
    """Predictions of records with one label each."""

    metrics = ("accuracy", "balanced_accuracy", "macro_f1", "mcc", "log_loss", "brier")
    several = False

    def measures(self) -> tuple[float, ...]:
        r"""Return the measures of these rows.

        With n records, the true class t_i, the prediction \hat t_i and probabilities p_ic:

        - ``accuracy``: share of records with \hat t_i = t_i;
        - ``balanced_accuracy``: mean recall over the classes that occur in these records;
        - ``macro_f1``: mean F1 over the classes that occur there, or are predicted there;
        - ``mcc``: Matthews' correlation coefficient for many classes (0 where it is undefined: only
          one class in truth or in prediction);
        - ``log_loss``: -(1/n) sum_i ln p_i,t_i, in nats, probabilities clipped at the machine
          epsilon;
        - ``brier``: (1/n) sum_i sum_c (p_ic - [t_i = c])^2, from 0 to 2.

        Gorodkin, Comput. Biol. Chem. 28, 367-374 (2004): the coefficient for many classes. Brier,
        Mon. Weather Rev. 78, 1-3 (1950): the score for many classes.
        """
        n, occur, given = len(self.true), self._support.astype(float), self._given.astype(float)
        both = self._hits.sum() * n - occur @ given
        spread = (n**2 - given @ given) * (n**2 - occur @ occur)
        likely = np.clip(self.probabilities[self.true], _EPSILON, 1.0 - _EPSILON)
        return (
            self._accuracy(),
            float(np.mean((self._hits / np.maximum(occur, 1))[occur > 0])),
            self._macro_f1(),
            float(both / np.sqrt(spread)) if spread else 0.0,
            float(np.mean(-xlogy(1.0, likely))),
            float(np.mean(np.sum((self.probabilities - self.true) ** 2, axis=1))),
        )


class SeveralLabels(MeasuredRows):
    """Predictions of records that may have several labels."""

    metrics = (
        *("accuracy", "micro_f1", "macro_f1", "micro_average_precision"),
        *("macro_average_precision", "hamming_loss", "log_loss"),
    )
    class_measures = (*MeasuredRows.class_measures, "average_precision", *CALIBRATION_ERRORS)
    several = True

    @property
    def forecasts(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Those of each label for each record."""
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

        Zhang and Zhou, IEEE Transactions on Knowledge and Data Engineering 26, 1819-1837 (2014),
        section 2.2. doi:10.1109/TKDE.2013.39
        """
        true, p = self.true, self.probabilities
        ranked = self._average_precisions()[true.any(axis=0)]
        return (
            self._accuracy(),
            float(_shares(2 * self._hits.sum(), self._support.sum() + self._given.sum())),
            self._macro_f1(),
            average_precision(*self.forecasts),
            float(np.mean(ranked)) if len(ranked) else float("nan"),
            float(np.mean(true != self.predicted)),
            float(-np.log(np.maximum(np.where(true, p, 1.0 - p), _EPSILON)).mean()),
        )

    def _labels(self) -> Iterable[tuple[FloatArray, NDArray[np.bool_]]]:
        return zip(self.probabilities.T, self.true.T, strict=True)

    def _average_precisions(self) -> FloatArray:
        return np.array([average_precision(*own) for own in self._labels()])

    def per_class(self) -> FloatArray:
        """See :meth:`MeasuredRows.per_class`; what never occurs has no average precision."""
        errors = np.transpose([calibration_error(*own) for own in self._labels()])
        return np.vstack([super().per_class(), self._average_precisions(), errors])


Kind = type[OneLabel | SeveralLabels]


def average_precision(probabilities: FloatArray, true: NDArray[np.bool_]) -> float:
    r"""Return the average precision of a ranking: the area below precision against recall.

    Ranked by probability, the highest first, and with the thresholds t_1 > t_2 > ... that occur,

    .. math:: \sum_k (R_k - R_{k-1}) P_k, \qquad R_0 = 0,

    where :math:`R_k` is the share of the true ones whose probability is at least t_k, and
    :math:`P_k` the share of true ones among all with at least t_k. NaN if none is true.

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


def calibration_error(
    probabilities: FloatArray, came_true: NDArray[np.bool_]
) -> tuple[float, float]:
    r"""Return the calibration error, and what it would be of perfect probabilities.

    The expected calibration error over 15 bins of equal width of the probability is

    .. math:: \sum_b \frac{n_b}{n} |a_b - c_b|

    with the share a_b of what came true and the mean probability c_b of the n_b forecasts of bin b.
    Even of perfect probabilities it is above 0. If each forecast of bin b comes true with
    probability c_b, and none depends on another, the expectation is, by de Moivre's formula with
    k = floor(n_b c_b) + 1,

    .. math:: \sum_b \frac{n_b}{n} E|a_b - c_b| = \sum_b \frac{2 k}{n} (1 - c_b)
       \binom{n_b}{k} c_b^k (1 - c_b)^{n_b - k}.

    Guo et al., On calibration of modern neural networks, ICML 2017, section 2: the calibration
    error (15 bins there too). Diaconis and Zabell, Statistical Science 6, 284-302 (1991): the mean
    absolute deviation.
    """
    bins = binned(probabilities, came_true)
    n, c, a = (bins[name].to_numpy(np.float64) for name in ("count", "confidence", "accuracy"))
    gaps = n * np.abs(a - c)
    k = np.floor(n * c) + 1.0
    expected = 2.0 * k * (1.0 - c) * probability(k, n, c)
    return float(gaps.sum() / n.sum()), float(expected.sum() / n.sum())


def binned(probabilities: FloatArray, came_true: NDArray[np.bool_]) -> pd.DataFrame:
    """Return count, mean confidence and accuracy of the bins (lower, upper] that are not empty."""
    p = np.minimum(probabilities, 1.0)  # which rounding may exceed
    last = CALIBRATION_BINS - 1
    number = np.clip(np.ceil(p * CALIBRATION_BINS).astype(int) - 1, 0, last)
    count = np.bincount(number)
    filled = np.flatnonzero(count)
    means = [np.bincount(number, of)[filled] / count[filled] for of in (p, came_true)]
    return pd.DataFrame(
        {
            "bin": filled + 1,
            "lower": filled / CALIBRATION_BINS,
            "upper": (filled + 1) / CALIBRATION_BINS,
            "count": count[filled],
            "confidence": means[0],
            "accuracy": means[1],
        }
    )


def _shares(part: NDArray[np.int64], whole: NDArray[np.int64]) -> FloatArray:
    return np.asarray(part / np.maximum(whole, 1), dtype=np.float64)
