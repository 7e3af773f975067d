"""Whether sets of labels hold the true one as often as asked, and how many accepted are wrong.

Both take the *predictions table* of :mod:`kreinflow.evaluation.metrics`, whose last columns are
:data:`kreinflow.answering.label_sets.SET_COLUMNS`. If it has none, or they are empty because
records were too few, the tables that are returned lack the rows.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from kreinflow.answering.label_sets import CONFIDENCES, SET_COLUMNS, accepted
from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.metrics import spread, spread_columns

ERRORS = (0.01, 0.05, 0.1)
"""Shares of wrong predictions among the accepted that may be asked for."""

COVERAGE_COLUMNS = (
    *("recipe", "confidence", "class", "records", "coverage"),
    *("size", "empty", "single"),
)
"""``coverage`` is the share of the ``records`` of a class whose set holds it, ``size`` the mean
number of labels in a set, ``empty`` and ``single`` the shares of sets with none and with one. In
the first row of a confidence the class is empty: all records."""

ERRORS_COLUMNS = (
    *("recipe", "errors", "folds"),
    *spread_columns(("accepted", "wrong")),
)
"""``errors`` is the share asked for. Of each fold, ``accepted`` is the share of the records, and
``wrong`` the share of wrong predictions among these, 0 where none is accepted."""


def coverage(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return how often sets hold the true label, over all folds and repeats.

    Columns :data:`COVERAGE_COLUMNS`.
    """
    rows = []
    for recipe, part in _recipes(predictions):
        for confidence in CONFIDENCES:
            own = pd.DataFrame(
                {
                    "class": part["true"].astype(str).to_numpy(),
                    "size": _numbers(part, f"size_{100 * confidence:g}"),
                    "held": _numbers(part, f"held_{100 * confidence:g}"),
                }
            ).dropna()
            for label, table in (("", own), *own.groupby("class")):
                if len(table):
                    size = table["size"].to_numpy()
                    figures = (table["held"].mean(), *map(np.mean, (size, size == 0, size == 1)))
                    rows.append((recipe, confidence, label, len(table), *map(float, figures)))
    return pd.DataFrame(rows, columns=list(COVERAGE_COLUMNS))


def errors(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return how many predictions are accepted for shares of errors, and how many are wrong.

    The records that a fold tests are one input each. Columns :data:`ERRORS_COLUMNS`: mean and
    standard deviation (n - 1) over folds.
    """
    rows = []
    for recipe, part in _recipes(predictions):
        folds = [fold for _, fold in part.groupby(["repeat", "fold"])]
        for asked in ERRORS:
            shares = [_accepted(fold, asked) for fold in folds]
            figures = spread(pd.DataFrame(shares, columns=["accepted", "wrong"]))
            rows.append((recipe, asked, len(folds), *figures.values()))
    return pd.DataFrame(rows, columns=list(ERRORS_COLUMNS))


def _accepted(fold: pd.DataFrame, asked: float) -> tuple[float, float]:
    """Return the share of a fold that is accepted, and that of the wrong among it."""
    kept = accepted(_numbers(fold, "error_p"), asked)
    wrong = (fold["true"].astype(str) != fold["predicted"].astype(str)).to_numpy()[kept]
    return float(kept.mean()), float(wrong.mean()) if kept.any() else 0.0


def _recipes(predictions: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    if set(SET_COLUMNS) <= set(predictions.columns):
        for recipe, part in predictions.groupby("recipe", sort=False):
            yield str(recipe), part


def _numbers(table: pd.DataFrame, name: str) -> FloatArray:
    return pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64, na_value=np.nan)
