"""What is accepted and rejected, why, how much of it is wrong, and whether sets hold the truth.

All take the *predictions table* of :mod:`kreinflow.evaluation.metrics`. Without the columns that
they look at, or where these are empty as records were too few, the tables lack the rows.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.answering.label_sets import CONFIDENCES, SET_COLUMNS, accepted
from kreinflow.answering.query_and_answers import REASONS
from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.metrics import spread, spread_columns
from kreinflow.sequences.labels import SEPARATOR

AS = {reason: f"as_{reason.replace(' ', '_')}" for reason in REASONS[1:]}
"""Name of the share of records that are rejected for a reason."""

ACCEPTED_COLUMNS = (
    *("recipe", "folds", *spread_columns(("accepted", "wrong", *AS.values()))),
    *("accepted_records", "wrong_of_accepted", *spread_columns(["alignments"])),
)
"""Of each fold, ``accepted`` is the share of the records that are not rejected, and ``wrong`` the
share of wrong predictions among these; folds where none is accepted are left out of its mean.
``wrong_of_accepted`` is that share of all folds and repeats together, ``accepted_records`` of how
many predictions: the mean over repeats, which are of the same records."""

REJECTED_COLUMNS = ("recipe", "class", "records", "rejected")
"""Shares of the predictions of each true class over all folds and repeats."""

ERRORS = (0.01, 0.05, 0.1)
"""Shares of wrong predictions among the accepted that may be asked for."""

COVERAGE_COLUMNS = (*("recipe", "confidence", "class", "records", "coverage", "size", "single"),)
"""``coverage`` is the share of the ``records`` of a class whose set holds it, ``size`` the mean
number of labels in a set, ``single`` the share of sets with one. In the first row of a confidence
the class is empty: all records."""

ERRORS_COLUMNS = ("recipe", "errors", "folds", *spread_columns(("accepted", "wrong")))
"""``errors`` is the share asked for. Of each fold, ``accepted`` is the share of the records, and
``wrong`` the share of wrong predictions among these, 0 where none is accepted."""


def accepted_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return what each recipe accepts; without the column ``alignments`` no figures of it."""
    rows = []
    for recipe, part in _with_reasons(predictions).groupby("recipe", sort=False):
        kept = part["reason"] == ""
        wrong = (part["true"].astype(str) != part["predicted"].astype(str)).astype(float)
        told: dict[str, Any] = {"accepted": kept, "wrong": wrong.where(kept)}
        told |= {name: part["reason"] == why for why, name in AS.items()}
        told["alignments"] = part.get("alignments", np.nan)
        folds = pd.DataFrame(told).astype(float).groupby([part["repeat"], part["fold"]]).mean()
        repeats = part["repeat"].nunique()
        pooled = {"accepted_records": kept.sum() / repeats}
        pooled["wrong_of_accepted"] = told["wrong"].mean()
        rows.append({"recipe": recipe, "folds": len(folds), **spread(folds), **pooled})
    return pd.DataFrame(rows, columns=list(ACCEPTED_COLUMNS))


def rejected_by_class(predictions: pd.DataFrame, several: bool = False) -> pd.DataFrame:
    """Return what each recipe rejects of each class; with ``several``, a record has many."""
    known = _with_reasons(predictions)
    told = known[["recipe"]].assign(
        **{"class": known["true"].astype(str)}, rejected=known["reason"] != ""
    )
    if several:
        told = told.assign(**{"class": told["class"].str.split(SEPARATOR)}).explode("class")
    rank = pd.factorize(told["recipe"])[0]  # recipes stay in their order
    of_class = told.assign(rank=rank).groupby(["rank", "recipe", "class"])["rejected"]
    table = of_class.agg(records="size", rejected="mean").reset_index()
    return table[list(REJECTED_COLUMNS)]


def _with_reasons(predictions: pd.DataFrame) -> pd.DataFrame:
    if "reason" not in predictions:
        return predictions[:0].assign(reason="")
    return predictions.assign(reason=predictions["reason"].fillna("").astype(str))


def coverage(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return how often sets hold the true label, over all folds and repeats."""
    rows = []
    for recipe, part in _with_sets(predictions):
        for confidence in CONFIDENCES:
            own = pd.DataFrame(
                {
                    "class": part["true"].astype(str).to_numpy(),
                    "size": numbers_of(part, f"size_{100 * confidence:g}"),
                    "held": numbers_of(part, f"held_{100 * confidence:g}"),
                }
            ).dropna()
            for label, table in (("", own), *own.groupby("class")):
                if len(table):
                    size = table["size"].to_numpy()
                    figures = (table["held"].mean(), size.mean(), np.mean(size == 1))
                    rows.append((recipe, confidence, label, len(table), *map(float, figures)))
    return pd.DataFrame(rows, columns=list(COVERAGE_COLUMNS))


def errors(predictions: pd.DataFrame, asked_for: Sequence[float] = ERRORS) -> pd.DataFrame:
    """Return what is accepted for shares of errors, where the records of a fold are one input."""
    rows = []
    for recipe, part in _with_sets(predictions):
        folds = [fold for _, fold in part.groupby(["repeat", "fold"])]
        for asked in asked_for:
            shares = []
            for fold in folds:
                kept = accepted(numbers_of(fold, "error_p"), asked)
                wrong = (fold["true"].astype(str) != fold["predicted"].astype(str))[kept]
                shares.append((kept.mean(), wrong.mean() if kept.any() else 0.0))
            figures = spread(pd.DataFrame(shares, columns=["accepted", "wrong"]))
            rows.append((recipe, asked, len(folds), *figures.values()))
    return pd.DataFrame(rows, columns=list(ERRORS_COLUMNS))


def _with_sets(predictions: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    if set(SET_COLUMNS) <= set(predictions.columns):
        for recipe, part in predictions.groupby("recipe", sort=False):
            yield str(recipe), part


def numbers_of(table: pd.DataFrame, name: str) -> FloatArray:
    """Return a column as numbers, NaN where it is empty, or not there."""
    if name not in table:
        return np.full(len(table), np.nan)
    return pd.to_numeric(table[name], errors="coerce").to_numpy(np.float64, na_value=np.nan)
