"""All tables that measure the predictions of the outer folds."""

import pandas as pd

from kreinflow.evaluation import metrics as m
from kreinflow.evaluation import sets
from kreinflow.evaluation.comparison import COMPARISON_COLUMNS, compare_recipes

TABLE_COLUMNS = {
    "metrics": m.FOLD_METRICS_COLUMNS,
    "summary": m.SUMMARY_COLUMNS,
    "comparison": COMPARISON_COLUMNS,
    "per_class": m.PER_CLASS_COLUMNS,
    "confusion": m.CONFUSION_COLUMNS,
    "reject_curve": m.REJECT_CURVE_COLUMNS,
    "calibration": m.CALIBRATION_COLUMNS,
    "coverage": sets.COVERAGE_COLUMNS,
    "errors": sets.ERRORS_COLUMNS,
}
"""Of each table, by the name of its file."""


def evaluation_tables(
    predictions: pd.DataFrame, groups: "pd.Series[int]"
) -> dict[str, pd.DataFrame]:
    """Return the tables of the folder ``evaluation``, by the names of their files.

    Without predictions they have no rows: no fold may test anything, as those of the comparison
    that keep alike sequences together.

    Parameters
    ----------
    predictions : DataFrame
        See :mod:`kreinflow.evaluation.metrics`.
    groups : Series
        The group of each record of the data set, by its id.
    """
    if predictions.empty:
        return {
            name: pd.DataFrame(columns=list(columns)) for name, columns in TABLE_COLUMNS.items()
        }
    metrics = m.fold_metrics(predictions)
    return {
        "metrics": metrics,
        "summary": m.summary(metrics, predictions),
        "comparison": compare_recipes(predictions, metrics, groups),
        "per_class": m.per_class(predictions),
        "confusion": m.confusion(predictions),
        "reject_curve": m.reject_curve(predictions),
        "calibration": m.calibration_bins(predictions),
        "coverage": sets.coverage(predictions),
        "errors": sets.errors(predictions),
    }
