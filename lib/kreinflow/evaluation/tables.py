"""All tables that measure the predictions of the outer folds."""

import pandas as pd

from kreinflow.evaluation import accepted as a
from kreinflow.evaluation import metrics as m
from kreinflow.evaluation.best_hit import BEST_HIT_COLUMNS, best_hit_table
from kreinflow.evaluation.comparison import COMPARISON_COLUMNS, compare_recipes
from kreinflow.evaluation.identity import IDENTITY_COLUMNS, identity_table
from kreinflow.evaluation.measured_rows import Kind, OneLabel, SeveralLabels
from kreinflow.evaluation.ranking import RANKING_COLUMNS, ranking_table

_COLUMNS = {
    "comparison": COMPARISON_COLUMNS,
    "coverage": a.COVERAGE_COLUMNS,
    "errors": a.ERRORS_COLUMNS,
    "accepted": a.ACCEPTED_COLUMNS,
    "rejected": a.REJECTED_COLUMNS,
    "best_hit": BEST_HIT_COLUMNS,
    "identity": IDENTITY_COLUMNS,
    "ranking": RANKING_COLUMNS,
}

TABLE_COLUMNS = m.columns_of(OneLabel) | _COLUMNS
"""Columns of each table, by the name of its file."""

SEVERAL_COLUMNS = m.columns_of(SeveralLabels) | _COLUMNS
"""The same where records may have several labels."""


def evaluation_tables(
    predictions: pd.DataFrame, groups: "pd.Series[int]", several: bool = False
) -> dict[str, pd.DataFrame]:
    """Return the tables of the folder ``evaluation``, by the names of their files.

    ``groups``: of each record of the data set, by its id. ``several``: whether records may have
    several labels; a prediction is right if all are.
    """
    kind: Kind = SeveralLabels if several else OneLabel
    if predictions.empty:
        columns = SEVERAL_COLUMNS if several else TABLE_COLUMNS
        return {name: pd.DataFrame(columns=list(own)) for name, own in columns.items()}
    metrics = m.fold_metrics(predictions, kind)
    return {
        "metrics": metrics,
        "summary": m.summary(metrics, predictions, kind),
        "comparison": compare_recipes(predictions, metrics, groups),
        "per_class": m.per_class(predictions, kind),
        "confusion": m.confusion(predictions, kind),
        "reject_curve": m.reject_curve(predictions, kind),
        "calibration": m.calibration_bins(predictions, kind),
        "coverage": a.coverage(predictions),
        "errors": a.errors(predictions),
        "accepted": a.accepted_table(predictions),
        "rejected": a.rejected_by_class(predictions, several),
        "best_hit": best_hit_table(predictions, groups),
        "identity": identity_table(predictions),
        "ranking": ranking_table(predictions[:0] if several else predictions),
    }
