"""All tables that measure the predictions of the outer folds."""

import pandas as pd

from kreinflow.evaluation import metrics as m
from kreinflow.evaluation import sets
from kreinflow.evaluation.accepted import ACCEPTED_COLUMNS, accepted_table
from kreinflow.evaluation.best_hit import BEST_HIT_COLUMNS, best_hit_table
from kreinflow.evaluation.comparison import COMPARISON_COLUMNS, compare_recipes
from kreinflow.evaluation.one_label import OneLabel
from kreinflow.evaluation.rejected import REJECTED_COLUMNS, rejected_by_class
from kreinflow.evaluation.several import SeveralLabels


def _columns(kind: m.Kind) -> dict[str, tuple[str, ...]]:
    return {
        "metrics": m.fold_metrics_columns(kind),
        "summary": m.summary_columns(kind),
        "comparison": COMPARISON_COLUMNS,
        "per_class": m.per_class_columns(kind),
        "confusion": m.CONFUSION_COLUMNS,
        "reject_curve": m.REJECT_CURVE_COLUMNS,
        "calibration": m.CALIBRATION_COLUMNS,
        "coverage": sets.COVERAGE_COLUMNS,
        "errors": sets.ERRORS_COLUMNS,
        "accepted": ACCEPTED_COLUMNS,
        "rejected": REJECTED_COLUMNS,
        "best_hit": BEST_HIT_COLUMNS,
    }


TABLE_COLUMNS = _columns(OneLabel)
"""Of each table, by the name of its file."""

SEVERAL_COLUMNS = _columns(SeveralLabels)
"""The same where records may have several labels."""


def evaluation_tables(
    predictions: pd.DataFrame, groups: "pd.Series[int]", several: bool = False
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
    several : bool
        Whether records may have several labels: see :mod:`kreinflow.evaluation.several`. A
        prediction is then right if all labels are.
    """
    kind: m.Kind = SeveralLabels if several else OneLabel
    if predictions.empty:
        return {name: pd.DataFrame(columns=list(own)) for name, own in _columns(kind).items()}
    metrics = m.fold_metrics(predictions, kind)
    return {
        "metrics": metrics,
        "summary": m.summary(metrics, predictions, kind),
        "comparison": compare_recipes(predictions, metrics, groups),
        "per_class": m.per_class(predictions, kind),
        "confusion": m.confusion(predictions, kind),
        "reject_curve": m.reject_curve(predictions, kind),
        "calibration": m.calibration_bins(predictions, kind),
        "coverage": sets.coverage(predictions),
        "errors": sets.errors(predictions),
        "accepted": accepted_table(predictions),
        "rejected": rejected_by_class(predictions, several),
        "best_hit": best_hit_table(predictions, groups),
    }
