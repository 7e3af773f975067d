"""Measures of the predictions of the outer folds.

All functions take the *predictions table*: one row for each recipe, repeat, fold and tested record,
with the columns of :data:`PREDICTION_COLUMNS` followed by one column of probabilities for each
class, named ``p_`` and the class; and the kind of its records.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from kreinflow.base.binomial import quantile
from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.measured_rows import CALIBRATION_ERRORS, Kind, binned, calibration_error

PREDICTION_COLUMNS = ("recipe", "repeat", "fold", "id", "true", "predicted")
"""First columns of a predictions table; the probabilities ``p_CLASS`` follow."""

PREDICTION_TEXT = ("recipe", "id", "true", "predicted", "reason", "hit", "node", "path")
"""Columns of a predictions table that are text, whatever they look like: 3.10 is a class."""

REASON_COLUMNS = ("reason", "unknown_p")
"""Columns between them: ``reason`` and ``p_value`` of
:class:`~kreinflow.answering.query_and_answers.Answers`. A class may be called ``value``, so the
p-value has another name here."""

COST_COLUMNS = ("alignments",)
"""Columns behind these: of objects that are not aligned the number of scores."""

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

REJECT_POINTS = 100


def columns_of(kind: Kind) -> dict[str, tuple[str, ...]]:
    """Return the columns of the tables of this module, by the names of their files."""
    spreads = spread_columns(kind.metrics)
    return {
        "metrics": ("recipe", "repeat", "fold", "records", *kind.metrics),
        "summary": ("recipe", "folds", "records", *spreads, *CALIBRATION_ERRORS),
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
    """Measure each recipe in each fold of each repeat."""
    rows = [
        (*place, len(part.probabilities), *part.measures())
        for place, part in kind.each(predictions, "repeat", "fold")
    ]
    return pd.DataFrame(rows, columns=list(columns_of(kind)["metrics"]))


def calibration_errors(predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Return the :func:`calibration_error` of each recipe; a repeat is pooled, then averaged."""
    rows = [
        (recipe, *calibration_error(*part.forecasts))
        for (recipe, _), part in kind.each(predictions, "repeat")
    ]
    table = pd.DataFrame(rows, columns=["recipe", *CALIBRATION_ERRORS])
    return table.groupby("recipe", sort=False).mean().reset_index()


def summary(metrics: pd.DataFrame, predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Return the :func:`spread` of each measure over all folds, and :func:`calibration_errors`.

    Each fold counts the same, whatever its size. ``records`` counts predictions.
    """
    rows = [
        {"recipe": recipe, "folds": len(table), "records": int(table["records"].sum())}
        | spread(table[list(kind.metrics)])
        for recipe, table in metrics.groupby("recipe", sort=False)
    ]
    return pd.DataFrame(rows).merge(calibration_errors(predictions, kind), on="recipe")


def per_class(predictions: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Return the measures of each class: a repeat is pooled, as a class may be rare in a fold."""
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

    Predictions of one probability are kept or set aside together. Of :data:`REJECT_POINTS`
    coverages at most the last is 1. Of several labels a prediction is one that a record was given.
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

    The range of the accuracy of perfect probabilities is that of a binomial number of right
    predictions, each right with the mean probability of the bin (Bröcker and Smith, Weather and
    Forecasting 22, 651-661, 2007: consistency bars). Repeats predict the same records again, so the
    number is that of one repeat.
    """
    tables = []
    repeats = predictions.groupby("recipe")["repeat"].nunique()
    for (recipe,), part in kind.each(predictions):
        bins = binned(*part.forecasts)
        n = np.ceil(bins["count"].to_numpy(np.float64) / float(repeats[recipe]))
        low, high = (quantile(level, n, bins["confidence"]) for level in (0.025, 0.975))
        tables.append(bins.assign(recipe=recipe, perfect_low=low / n, perfect_high=high / n))
    return pd.concat(tables, ignore_index=True)[list(CALIBRATION_COLUMNS)]
