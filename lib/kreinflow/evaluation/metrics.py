"""Measures of the predictions of the outer folds.

All functions take the *predictions table*: one row for each recipe, repeat, fold and tested record,
with the columns of :data:`PREDICTION_COLUMNS` followed by one column of probabilities for each
class, named ``p_`` and the class; and the kind of its records, a :class:`MeasuredRows`, which
refuses a table of another kind.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.base.binomial import probability, quantile
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray

PREDICTION_COLUMNS = ("recipe", "repeat", "fold", "id", "true", "predicted")
"""First columns of a predictions table; the probabilities ``p_CLASS`` follow."""

PREDICTION_TEXT = ("recipe", "id", "true", "predicted", "reason", "hit", "node")
"""Columns of a predictions table that are text, whatever they look like: 3.10 is a class."""

REASON_COLUMNS = ("reason", "unknown_p")
"""Columns between them: ``reason`` and ``p_value`` of
:class:`~kreinflow.answering.query_and_answers.Answers`. A class may be called ``value``, so the
p-value has another name here."""

COST_COLUMNS = ("alignments",)
"""Columns behind these: of objects that are not aligned the number of scores."""

PROBABILITY_PREFIX = "p_"

INNER_CHOICE = "inner choice"
"""Name of what is no recipe: in each outer fold the one that the inner folds preferred."""

CONFUSION_COLUMNS = ("recipe", "true", "predicted", "count")
"""Pairs that never occur have no row."""

REJECT_CURVE_COLUMNS = ("recipe", "coverage", "threshold", "accuracy", "error")
"""Predictions with a probability of at least ``threshold`` are the share ``coverage`` of all."""

CALIBRATION_COLUMNS = (
    *("recipe", "bin", "lower", "upper", "count", "confidence", "accuracy"),
    *("perfect_low", "perfect_high"),
)
"""``confidence`` and ``accuracy`` are means over the ``count`` predictions of the bin. Were the
probabilities perfect, the accuracy would be in the last two with a probability of 95 % or more."""

CALIBRATION_BINS = 15
REJECT_POINTS = 100


def class_names(predictions: pd.DataFrame) -> tuple[str, ...]:
    """Return the classes that a predictions table has probabilities for, in their order."""
    missing = [name for name in PREDICTION_COLUMNS if name not in predictions.columns]
    if missing:
        raise InputError(
            f"predictions: column {missing[0]!r} is missing. Make the table again with the rule "
            "that predicts."
        )
    if predictions.empty:
        raise InputError("predictions: no rows, so nothing can be measured. Test at least a fold.")
    return tuple(
        str(column)[len(PROBABILITY_PREFIX) :]
        for column in predictions.columns[len(PREDICTION_COLUMNS) :]
        if str(column).startswith(PROBABILITY_PREFIX)
    )


def refuse_other_labels(labels: set[str], classes: Sequence[str], column: str) -> None:
    """Raise InputError if one of the labels of a column has no column of probabilities."""
    if unknown := sorted(labels - set(classes)):
        raise InputError(
            f"predictions: the label {unknown[0]!r} in column {column!r} has no column "
            f"{PROBABILITY_PREFIX + unknown[0]!r}. Train on all classes that are tested."
        )


def probabilities_of(predictions: pd.DataFrame, classes: Sequence[str]) -> FloatArray:
    """Return the probabilities in a table, of shape (rows, n_classes)."""
    columns = [PROBABILITY_PREFIX + name for name in classes]
    return predictions[columns].to_numpy(np.float64)


class MeasuredRows(ABC):
    """Rows of a predictions table: of one recipe, and of a fold, a repeat, or all of these.

    Attributes
    ----------
    metrics : tuple of str
        The names of :meth:`measures`. ``accuracy`` and ``log_loss`` are among them.
    class_measures : tuple of str
        The names of :meth:`per_class`. ``support`` is among them.
    """

    metrics: ClassVar[tuple[str, ...]]
    class_measures: ClassVar[tuple[str, ...]]

    def __init__(self, table: pd.DataFrame, classes: tuple[str, ...]) -> None:
        self.classes, self.probabilities = classes, probabilities_of(table, classes)

    @classmethod
    @abstractmethod
    def checked(cls, predictions: pd.DataFrame) -> tuple[str, ...]:
        """Return the :func:`class_names` of a table, or refuse one of another kind."""

    @abstractmethod
    def measures(self) -> tuple[float, ...]:
        """Return the :attr:`metrics` of these rows."""

    @abstractmethod
    def per_class(self) -> FloatArray:
        """Return the :attr:`class_measures` of each class, of shape (measures, n_classes)."""

    @abstractmethod
    def confusions(self) -> FloatArray:
        """Return how many records of each class (row) were given each class (column)."""

    @property
    @abstractmethod
    def given(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The probability of each class that was given to a record, and whether it is right."""

    @property
    def forecasts(self) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The probabilities that calibration is asked of, and what came true."""
        return self.given

    @classmethod
    def each(cls, predictions: pd.DataFrame, *keys: str) -> Iterator[tuple[tuple[Any, ...], Self]]:
        """Yield the rows of each recipe and value of these columns, with its recipe and values.

        Recipes stay in the order of their first row, which is that of the config.
        """
        classes = cls.checked(predictions)
        for recipe, rows in predictions.groupby("recipe", sort=False):
            for place, table in rows.groupby(list(keys)) if keys else [((), rows)]:
                yield (str(recipe), *place), cls(table, classes)


Kind = type[MeasuredRows]


def columns_of(kind: Kind) -> dict[str, tuple[str, ...]]:
    """Return the columns of the tables of this module, by the names of their files."""
    errors = ("calibration_error", "calibration_error_perfect")
    return {
        "metrics": ("recipe", "repeat", "fold", "records", *kind.metrics),
        "summary": ("recipe", "folds", "records", *spread_columns(kind.metrics), *errors),
        "per_class": ("recipe", "class", *kind.class_measures),
        "confusion": CONFUSION_COLUMNS,
        "reject_curve": REJECT_CURVE_COLUMNS,
        "calibration": CALIBRATION_COLUMNS,
    }


def spread_columns(measures: Iterable[str]) -> tuple[str, ...]:
    """Return the columns that :func:`spread` fills."""
    return tuple(f"{name}_{part}" for name in measures for part in ("mean", "sd"))


def spread(folds: pd.DataFrame) -> dict[str, float]:
    """Return mean and standard deviation (n - 1) of each column; NaN where there are too few."""
    both = folds.astype(np.float64).agg(["mean", "std"])
    return dict(zip(spread_columns(folds.columns), both.to_numpy().T.ravel().tolist(), strict=True))


def fold_metrics(predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Measure each recipe in each fold of each repeat; see :meth:`MeasuredRows.measures`."""
    rows = [
        (*place, len(part.probabilities), *part.measures())
        for place, part in kind.each(predictions, "repeat", "fold")
    ]
    return pd.DataFrame(rows, columns=list(columns_of(kind)["metrics"]))


def _bins(probabilities: FloatArray, came_true: NDArray[np.bool_]) -> pd.DataFrame:
    """Return count, mean confidence and accuracy of the bins that are not empty."""
    confidence = np.minimum(probabilities, 1.0)  # sums of probabilities are checked to 1e-6
    # Bins are (lower, upper], so that a certain prediction falls into the last one.
    number = np.clip(
        np.ceil(confidence * CALIBRATION_BINS).astype(int) - 1, 0, CALIBRATION_BINS - 1
    )
    right = came_true.astype(float)
    count = np.bincount(number, minlength=CALIBRATION_BINS)
    filled = np.flatnonzero(count)
    return pd.DataFrame(
        {
            "bin": filled + 1,
            "lower": filled / CALIBRATION_BINS,
            "upper": (filled + 1) / CALIBRATION_BINS,
            "count": count[filled],
            "confidence": np.bincount(number, confidence, CALIBRATION_BINS)[filled] / count[filled],
            "accuracy": np.bincount(number, right, CALIBRATION_BINS)[filled] / count[filled],
        }
    )


def calibration_error(
    probabilities: FloatArray, came_true: NDArray[np.bool_]
) -> tuple[float, float]:
    r"""Return the calibration error, and what it would be of perfect probabilities.

    The expected calibration error over 15 bins of equal width of the probability is

    .. math:: \sum_b \frac{n_b}{n} |a_b - c_b|

    with the share a_b of what came true and the mean probability c_b of the n_b forecasts of bin b.
    Even of perfect probabilities it is above 0, and the more so the fewer forecasts there are. If
    each forecast of bin b comes true with probability c_b, and none depends on another, the
    expectation is, by de Moivre's formula with k = floor(n_b c_b) + 1,

    .. math:: \sum_b \frac{n_b}{n} E|a_b - c_b| = \sum_b \frac{2 k}{n} (1 - c_b)
       \binom{n_b}{k} c_b^k (1 - c_b)^{n_b - k}.

    Were it each with its own probability, the expectation would be smaller by 3.4 % at most.

    References
    ----------
    Guo et al., On calibration of modern neural networks, ICML 2017, section 2: the calibration
    error (15 bins there too).
    Diaconis and Zabell, Closed form summation for classical distributions: variations on a theme
    of de Moivre, Statistical Science 6, 284-302 (1991): the mean absolute deviation.
    """
    bins = _bins(probabilities, came_true)
    n, c, a = (bins[name].to_numpy(np.float64) for name in ("count", "confidence", "accuracy"))
    gaps = n * np.abs(a - c)
    k = np.floor(n * c) + 1.0
    expected = 2.0 * k * (1.0 - c) * probability(k, n, c)
    return float(gaps.sum() / n.sum()), float(expected.sum() / n.sum())


def calibration_errors(predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Return the :func:`calibration_error` of each recipe: of the probability of the prediction.

    The folds of a repeat are pooled, and repeats are averaged: see :attr:`MeasuredRows.forecasts`.
    """
    rows = [
        (recipe, *calibration_error(*part.forecasts))
        for (recipe, _), part in kind.each(predictions, "repeat")
    ]
    names = ["recipe", "calibration_error", "calibration_error_perfect"]
    table = pd.DataFrame(rows, columns=names)
    return table.groupby("recipe", sort=False).mean().reset_index()


def summary(metrics: pd.DataFrame, predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Return mean and standard deviation (n - 1) over folds of each measure, for each recipe.

    Each fold counts the same, whatever its size; with repeats all their folds are taken together.
    The calibration error is the exception: see :func:`calibration_errors`. ``records`` counts
    predictions. With a single fold the standard deviations are NaN.
    """
    rows = [
        {"recipe": recipe, "folds": len(table), "records": int(table["records"].sum())}
        | spread(table[list(kind.metrics)])
        for recipe, table in metrics.groupby("recipe", sort=False)
    ]
    return pd.DataFrame(rows).merge(calibration_errors(predictions, kind), on="recipe")


def per_class(predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Return the measures of each class: see :meth:`MeasuredRows.per_class` of its kind.

    The folds of a repeat are pooled (a class may be rare in a single fold), repeats are averaged.
    """
    repeats: dict[str, list[FloatArray]] = {}
    for (recipe, _), part in kind.each(predictions, "repeat"):
        repeats.setdefault(recipe, []).append(part.per_class())
    rows = [
        (recipe, label, *values)
        for recipe, found in repeats.items()
        for label, values in zip(part.classes, np.mean(found, axis=0).T, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(columns_of(kind)["per_class"]))


def confusion(predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Count true against given classes, summed over folds and averaged over repeats."""
    repeats = predictions.groupby("recipe")["repeat"].nunique()
    rows = []
    for (recipe,), part in kind.each(predictions):
        counts = part.confusions()
        rows += [
            (recipe, part.classes[i], part.classes[j], counts[i, j] / float(repeats[recipe]))
            for i, j in np.argwhere(counts)
        ]
    return pd.DataFrame(rows, columns=list(CONFUSION_COLUMNS))


def reject_curve(predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Return the accuracy among the predictions that are kept when uncertain ones are set aside.

    Predictions of all folds and repeats are sorted by their probability; those of one probability
    are kept or set aside together. At most :data:`REJECT_POINTS` coverages are given, the last
    is 1. Where records may have several labels, a prediction is a label that a record was given.
    """
    rows = []
    for (recipe,), part in kind.each(predictions):
        probability, hit = part.given
        order = np.argsort(-probability, kind="stable")
        confidence, right = probability[order], np.cumsum(hit[order])
        n = len(order)
        if not n:
            continue
        ends = np.append(np.flatnonzero(np.diff(confidence)), n - 1)  # last of equal ones
        wanted = np.ceil(np.arange(1, REJECT_POINTS + 1) * n / REJECT_POINTS) - 1
        for end in np.unique(ends[np.searchsorted(ends, wanted)]):
            accuracy = right[end] / (end + 1)
            rows.append((recipe, (end + 1) / n, confidence[end], accuracy, 1.0 - accuracy))
    return pd.DataFrame(rows, columns=list(REJECT_CURVE_COLUMNS))


def calibration_bins(predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Return how often predictions are right, by the probability they were given.

    Where records may have several labels, there is a prediction of each label: that the record has
    it. Fifteen bins (lower, upper] of equal width, over the predictions of all folds and repeats;
    empty bins have no row. The range of the accuracy of perfect probabilities is that of a binomial
    number of right predictions, each right with the mean probability of the bin [1]_. Repeats
    predict the same records again, so the number is that of one repeat.

    References
    ----------
    .. [1] Bröcker, J., Smith, L. A.: Increasing the reliability of reliability diagrams. Weather
       and Forecasting 22, 651-661 (2007): consistency bars.
    """
    tables = []
    repeats = predictions.groupby("recipe")["repeat"].nunique()
    for (recipe,), part in kind.each(predictions):
        bins = _bins(*part.forecasts)
        n = np.ceil(bins["count"].to_numpy(np.float64) / float(repeats[recipe]))
        low, high = (quantile(level, n, bins["confidence"]) for level in (0.025, 0.975))
        tables.append(bins.assign(recipe=recipe, perfect_low=low / n, perfect_high=high / n))
    return pd.concat(tables, ignore_index=True)[list(CALIBRATION_COLUMNS)]
