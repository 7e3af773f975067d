"""How many objects of classes that no model knows are rejected, beside how many of the known.

*Known* predictions are those of :mod:`kreinflow.evaluation.metrics`: records that the models of
the outer folds did not see, of classes that they know. *Unknown* ones have the columns of
:data:`UNKNOWN_COLUMNS`: each model of an outer fold predicts all records of the classes that were
held out. Objects are ordered by the p-value of the model; by the probability of the prediction,
if it has none.
"""

from typing import Any

import numpy as np
import pandas as pd

from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.measured_rows import probabilities_of
from kreinflow.evaluation.metrics import PREDICTION_COLUMNS, REASON_COLUMNS, spread, spread_columns

UNKNOWN_COLUMNS = (*PREDICTION_COLUMNS, *REASON_COLUMNS, "probability", "reject")
"""``true`` is the class that was held out, ``reject`` is ``yes`` or ``no``."""

MEASURES = (
    *(f"{side}_{what}" for side in ("known", "unknown") for what in ("rejected", *AS.values())),
    "known_error",
    "auroc",
)
"""Shares that are rejected, in all and for each reason; errors among the known that are not; and
how often a known object is surer than an unknown one (of equals: half)."""

REJECTION_COLUMNS = ("recipe", "repeat", "fold", "known", "unknown", *MEASURES, "would_be_found")
"""``would_be_found`` is the share of unknown objects that the model expected to find, by classes
left out in turn; NaN if it has no p-values."""

REJECTION_SUMMARY_COLUMNS = (*("recipe", "folds"), *spread_columns(MEASURES), "would_be_found")

FAMILIES_COLUMNS = (
    *("recipe", "class", "records", "rejected_mean", "rejected_sd", *AS.values()),
    *("taken_for", "taken_share"),
)
"""``taken_for`` is the class that is predicted most often, rejected or not."""

UNKNOWN_CURVE_COLUMNS = ("recipe", "known_rejected", "unknown_rejected")

TABLE_COLUMNS = {
    "summary": REJECTION_SUMMARY_COLUMNS,
    "families": FAMILIES_COLUMNS,
    "curve": UNKNOWN_CURVE_COLUMNS,
}
"""Columns of each table, by the name of its file."""

_SHARES = np.unique(np.concatenate([np.arange(100) / 1000, np.arange(10, 101) / 100]))
"""Of the known, at which the curve has points: dense where few of them are rejected."""

_FOLD = ["recipe", "repeat", "fold"]


def sureness(predictions: pd.DataFrame) -> FloatArray:
    """Return the p-values of predictions, or their ``probability`` where there are none."""
    p_value = pd.to_numeric(predictions["unknown_p"], errors="coerce").to_numpy(np.float64)
    return np.where(np.isnan(p_value), predictions["probability"].to_numpy(np.float64), p_value)


def known_confidences(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return what becomes of each known prediction: reason, sureness, and whether it is right."""
    largest = probabilities_of(predictions).max(axis=1)
    return predictions[[*_FOLD, "reason"]].assign(
        sureness=sureness(predictions.assign(probability=largest)),
        right=predictions["true"] == predictions["predicted"],
    )


def rejection(known: pd.DataFrame, unknown: pd.DataFrame, told: pd.DataFrame) -> pd.DataFrame:
    """Return what each model of an outer fold rejects.

    ``known`` is from :func:`known_confidences`, ``told`` has recipe, repeat, fold, would_be_found.
    """
    rows = []
    expected = told.set_index(_FOLD)["would_be_found"].to_dict()
    others = dict(iter(unknown.groupby(_FOLD, sort=False)))
    for key, part in known.groupby(_FOLD, sort=False):
        other = others[key]
        accepted = part.loc[part["reason"] == "", "right"]
        row: dict[str, Any] = dict(zip(_FOLD, key, strict=True))
        row |= {"known": len(part), "unknown": len(other), "would_be_found": expected[key]}
        row |= _shares_of(part["reason"], "known_") | _shares_of(other["reason"], "unknown_")
        row["auroc"] = auroc(part["sureness"].to_numpy(float), sureness(other))
        row["known_error"] = 1.0 - float(accepted.mean()) if len(accepted) else np.nan
        rows.append(row)
    return pd.DataFrame(rows, columns=list(REJECTION_COLUMNS))


def auroc(higher: FloatArray, lower: FloatArray) -> float:
    """Return the share of pairs in which the first is the higher; ties count half."""
    ranked = np.sort(lower)
    wins = sum(np.searchsorted(ranked, higher, side).sum() for side in ("left", "right"))
    return float(wins / (2 * len(higher) * len(lower)))


def _shares_of(reasons: "pd.Series[str]", side: str) -> dict[str, float]:
    shares = {f"{side}{name}": float((reasons == reason).mean()) for reason, name in AS.items()}
    return {f"{side}rejected": float((reasons != "").mean()), **shares}


def rejection_summary(folds: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation (n - 1) over folds; NaN of a single one."""
    rows = [
        (recipe, len(part), *spread(part[list(MEASURES)]).values(), part["would_be_found"].mean())
        for recipe, part in folds.groupby("recipe", sort=False)
    ]
    return pd.DataFrame(rows, columns=list(REJECTION_SUMMARY_COLUMNS))


def rejected_families(unknown: pd.DataFrame) -> pd.DataFrame:
    """Return how many of each class held out are rejected, and what they are taken for."""
    rows = []
    for (recipe, label), part in unknown.groupby(["recipe", "true"], sort=False):
        rejected = (part["reason"] != "").groupby([part["repeat"], part["fold"]]).mean()
        reasons = [float((part["reason"] == reason).mean()) for reason in AS]
        taken = part["predicted"].value_counts(normalize=True, sort=False)
        taken = taken.sort_index().sort_values(ascending=False, kind="stable")
        rows.append(
            (
                *(recipe, label, part["id"].nunique(), rejected.mean(), rejected.std(ddof=1)),
                *reasons,
                *(taken.index[0], float(taken.iloc[0])),
            )
        )
    return pd.DataFrame(rows, columns=list(FAMILIES_COLUMNS))


def rejection_curve(known: pd.DataFrame, unknown: pd.DataFrame) -> pd.DataFrame:
    """Return the share of the unknown that is rejected with one share of the known after another.

    A fold's curve has a point for each sureness t of its known predictions, where all below t are
    rejected, and one where all are; between them it is straight. The curves of the folds are
    averaged at fixed shares of the known, as thresholds of different models do not compare
    (Fawcett, Pattern Recognition Letters 27, 861-874, 2006: vertical averaging).
    """
    folds = ["repeat", "fold"]
    tables = []
    for recipe, part in known.groupby("recipe", sort=False):
        others = dict(list(unknown[unknown["recipe"] == recipe].groupby(folds)))
        curves = []
        for fold, own in part.groupby(folds, sort=False)["sureness"]:
            ours, theirs = np.sort(own.to_numpy(float)), np.sort(sureness(others[fold]))
            limits = np.unique(ours)
            x = np.append(np.searchsorted(ours, limits) / len(ours), 1.0)
            y = np.append(np.searchsorted(theirs, limits) / len(theirs), 1.0)
            curves.append(np.interp(_SHARES, x, y))
        rejected = {"known_rejected": _SHARES, "unknown_rejected": np.mean(curves, axis=0)}
        tables.append(pd.DataFrame({"recipe": recipe, **rejected}))
    return pd.concat(tables, ignore_index=True)[list(UNKNOWN_CURVE_COLUMNS)]
