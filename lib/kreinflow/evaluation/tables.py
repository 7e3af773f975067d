"""All tables that measure the predictions of the outer folds."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from kreinflow.evaluation import metrics as m
from kreinflow.evaluation import sets
from kreinflow.evaluation.accepted import (
    ACCEPTED_COLUMNS,
    REJECTED_COLUMNS,
    accepted_table,
    rejected_by_class,
)
from kreinflow.evaluation.best_hit import BEST_HIT_COLUMNS, best_hit_table
from kreinflow.evaluation.comparison import COMPARISON_COLUMNS, compare_recipes
from kreinflow.evaluation.one_label import OneLabel
from kreinflow.evaluation.several import SeveralLabels

Columns = tuple[str, ...]


class _Tested(NamedTuple):
    """Predictions of the outer folds, and what tables are made of beside them."""

    predictions: pd.DataFrame
    kind: m.Kind
    groups: "pd.Series[int]"
    metrics: pd.DataFrame


_TABLES: dict[str, tuple[Callable[[m.Kind], Columns], Callable[[_Tested], pd.DataFrame]]] = {
    "metrics": (m.fold_metrics_columns, lambda t: t.metrics),
    "summary": (m.summary_columns, lambda t: m.summary(t.metrics, t.predictions, t.kind)),
    "comparison": (
        lambda _: COMPARISON_COLUMNS,
        lambda t: compare_recipes(t.predictions, t.metrics, t.groups),
    ),
    "per_class": (m.per_class_columns, lambda t: m.per_class(t.predictions, t.kind)),
    "confusion": (lambda _: m.CONFUSION_COLUMNS, lambda t: m.confusion(t.predictions, t.kind)),
    "reject_curve": (
        lambda _: m.REJECT_CURVE_COLUMNS,
        lambda t: m.reject_curve(t.predictions, t.kind),
    ),
    "calibration": (
        lambda _: m.CALIBRATION_COLUMNS,
        lambda t: m.calibration_bins(t.predictions, t.kind),
    ),
    "coverage": (lambda _: sets.COVERAGE_COLUMNS, lambda t: sets.coverage(t.predictions)),
    "errors": (lambda _: sets.ERRORS_COLUMNS, lambda t: sets.errors(t.predictions)),
    "accepted": (lambda _: ACCEPTED_COLUMNS, lambda t: accepted_table(t.predictions)),
    "rejected": (
        lambda _: REJECTED_COLUMNS,
        lambda t: rejected_by_class(t.predictions, t.kind is SeveralLabels),
    ),
    "best_hit": (lambda _: BEST_HIT_COLUMNS, lambda t: best_hit_table(t.predictions, t.groups)),
}
"""Each table by the name of its file: its columns, and what makes it."""


def _columns(kind: m.Kind) -> dict[str, Columns]:
    return {name: columns(kind) for name, (columns, _) in _TABLES.items()}


TABLE_COLUMNS = _columns(OneLabel)
"""Columns of each table, by the name of its file."""

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
    tested = _Tested(predictions, kind, groups, m.fold_metrics(predictions, kind))
    return {name: make(tested) for name, (_, make) in _TABLES.items()}
