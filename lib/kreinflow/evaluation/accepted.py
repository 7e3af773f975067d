"""Predictions that are accepted and rejected: how many, how many of them are wrong, and why."""

from typing import Any

import numpy as np
import pandas as pd

from kreinflow.answering.answers import REASONS
from kreinflow.evaluation.metrics import spread, spread_columns
from kreinflow.sequences.labels import SEPARATOR

AS = {reason: f"as_{reason.replace(' ', '_')}" for reason in REASONS[1:]}
"""Name of the share of records that are rejected for a reason."""

ACCEPTED_COLUMNS = (
    *("recipe", "folds", *spread_columns(("accepted", "wrong", *AS.values()))),
    *("wrong_of_accepted", *spread_columns(["alignments"])),
)
"""Of each fold, ``accepted`` is the share of the records that are not rejected, ``wrong`` the share
of wrong predictions among these, ``as_...`` are the shares of the records that are rejected for a
reason, and ``alignments`` is the mean of this column. Folds where none is accepted have no
``wrong``, and are left out of its mean. ``wrong_of_accepted`` is the share of wrong predictions
among the accepted ones of all folds and repeats together: a fold that accepts few counts little."""

REJECTED_COLUMNS = ("recipe", "class", "records", "rejected")
"""``records`` are predictions over all folds and repeats, and ``rejected`` is the share of them
that is rejected. ``class`` is the true one."""


def accepted_table(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return what each recipe accepts: mean and standard deviation (n - 1) over folds.

    Parameters
    ----------
    predictions : DataFrame
        See :mod:`kreinflow.evaluation.metrics`. Without the column ``reason`` there are no rows,
        without the column ``alignments`` no figures of it. Of records with several labels a
        prediction is right if all of them are.

    Returns
    -------
    DataFrame
        Columns :data:`ACCEPTED_COLUMNS`.
    """
    rows = []
    for recipe, part in _with_reasons(predictions).groupby("recipe", sort=False):
        kept = part["reason"] == ""
        wrong = (part["true"].astype(str) != part["predicted"].astype(str)).astype(float)
        told: dict[str, Any] = {"accepted": kept, "wrong": wrong.where(kept)}
        told |= {name: part["reason"] == why for why, name in AS.items()}
        told["alignments"] = part.get("alignments", np.nan)
        folds = pd.DataFrame(told).astype(float).groupby([part["repeat"], part["fold"]]).mean()
        pooled = {"wrong_of_accepted": told["wrong"].mean()}
        rows.append({"recipe": recipe, "folds": len(folds), **spread(folds), **pooled})
    return pd.DataFrame(rows, columns=list(ACCEPTED_COLUMNS))


def rejected_by_class(predictions: pd.DataFrame, several: bool = False) -> pd.DataFrame:
    """Return what each recipe rejects of each class, the classes of a recipe by their names.

    Parameters
    ----------
    predictions : DataFrame
        As for :func:`accepted_table`.
    several : bool
        Whether records may have several labels: each counts for all that it has.

    Returns
    -------
    DataFrame
        Columns :data:`REJECTED_COLUMNS`.
    """
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
    """Return predictions whose reasons are text, none if they have no reasons."""
    if "reason" not in predictions:
        return predictions[:0].assign(reason="")
    return predictions.assign(reason=predictions["reason"].fillna("").astype(str))
