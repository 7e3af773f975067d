"""How many objects of classes that no model knows are rejected, beside how many of the known.

*Known* predictions are those of :mod:`kreinflow.evaluation.metrics`: records that the models of
the outer folds did not see, of classes that they know. *Unknown* ones have the columns of
:data:`UNKNOWN_COLUMNS`: each model of an outer fold predicts all records of the classes that were
held out. An object is rejected if the probability of its prediction is below the threshold.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from kreinflow.evaluation.inner_choice import chosen_recipes
from kreinflow.evaluation.metrics import INNER_CHOICE, PROBABILITY_PREFIX

UNKNOWN_COLUMNS = (
    *("recipe", "repeat", "fold", "id", "true", "predicted"),
    *("reason", "unknown_p", "probability", "reject"),
)
"""``true`` is the class that was held out, ``reject`` is ``yes`` or ``no``."""

MEASURES = ("known_rejected", "known_error", "unknown_rejected", "auroc")
"""Shares of the known and of the unknown that are rejected; errors among the known that are not;
and how often a known object has a higher probability than an unknown one (of equals: half)."""

REJECTION_COLUMNS = ("recipe", "repeat", "fold", "threshold", "known", "unknown", *MEASURES)
"""``known`` and ``unknown`` are numbers of predictions."""

REJECTION_SUMMARY_COLUMNS = (
    "recipe",
    "folds",
    *(f"{measure}_{part}" for measure in MEASURES for part in ("mean", "sd")),
)

FAMILIES_COLUMNS = (
    *("recipe", "class", "records", "rejected_mean", "rejected_sd"),
    *("taken_for", "taken_share"),
)
"""``taken_for`` is the class that the records are predicted to be of most often, whether they are
rejected or not, ``taken_share`` the share of these predictions."""

UNKNOWN_CURVE_COLUMNS = ("recipe", "known_rejected", "unknown_rejected")

_SHARES = np.unique(np.concatenate([np.arange(100) / 1000, np.arange(10, 101) / 100]))
"""Of the known, at which the curve has points: dense where few of them are rejected."""


def thresholds(
    models: pd.DataFrame, order: Sequence[str], prefer: str = "accuracy"
) -> pd.DataFrame:
    """Return the reject threshold of each recipe and outer fold, that of the inner choice too.

    Parameters
    ----------
    models : DataFrame
        With recipe, repeat, fold, inner_accuracy, inner_log_loss, reject_threshold.
    order : sequence of str
        The recipes as the config lists them.
    prefer : {"accuracy", "cheap"}
        See :func:`~kreinflow.models.choice.choose_recipe`.

    Returns
    -------
    DataFrame
        Columns recipe, repeat, fold, threshold.
    """
    keys = ["recipe", "repeat", "fold"]
    table = models[models["repeat"] >= 0].rename(columns={"reject_threshold": "threshold"})
    table = table[[*keys, "threshold"]]
    if len(order) < 2:
        return table
    chosen = pd.DataFrame(
        [(recipe, *place) for place, recipe in chosen_recipes(models, order, prefer).items()],
        columns=keys,
    )
    return pd.concat(
        [table, chosen.merge(table, on=keys).assign(recipe=INNER_CHOICE)], ignore_index=True
    )


def known_confidences(predictions: pd.DataFrame) -> pd.DataFrame:
    """Return the probability of each known prediction, and whether it is right."""
    columns = [name for name in predictions.columns if str(name).startswith(PROBABILITY_PREFIX)]
    return predictions[["recipe", "repeat", "fold"]].assign(
        probability=predictions[columns].to_numpy(np.float64).max(axis=1),
        right=predictions["true"] == predictions["predicted"],
    )


def rejection(known: pd.DataFrame, unknown: pd.DataFrame, thresholds: pd.DataFrame) -> pd.DataFrame:
    """Return what each model of an outer fold rejects.

    Parameters
    ----------
    known : DataFrame
        From :func:`known_confidences`.
    unknown : DataFrame
        With the columns :data:`UNKNOWN_COLUMNS`.
    thresholds : DataFrame
        From :func:`thresholds`.

    Returns
    -------
    DataFrame
        Columns :data:`REJECTION_COLUMNS`, one row a recipe and fold. ``known_error`` is NaN where
        all are rejected.
    """
    from sklearn.metrics import roc_auc_score

    rows = []
    keys = ["recipe", "repeat", "fold"]
    limits = {
        (recipe, repeat, fold): limit
        for recipe, repeat, fold, limit in thresholds[[*keys, "threshold"]].itertuples(index=False)
    }
    others = {tuple(key): part for key, part in unknown.groupby(keys, sort=False)}
    for (recipe, repeat, fold), part in known.groupby(keys, sort=False):
        key = (recipe, repeat, fold)
        limit = float(limits[key])
        ours, theirs = (table["probability"].to_numpy(float) for table in (part, others[key]))
        accepted = part.loc[ours >= limit, "right"]
        error = 1.0 - float(accepted.mean()) if len(accepted) else np.nan
        auroc = roc_auc_score(
            np.repeat([1, 0], [len(ours), len(theirs)]), np.concatenate([ours, theirs])
        )
        shares = (np.mean(ours < limit), error, np.mean(theirs < limit), auroc)
        rows.append((*key, limit, len(ours), len(theirs), *map(float, shares)))
    return pd.DataFrame(rows, columns=list(REJECTION_COLUMNS))


def rejection_summary(folds: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation (n - 1) over folds of :func:`rejection`.

    Returns
    -------
    DataFrame
        Columns :data:`REJECTION_SUMMARY_COLUMNS`. With a single fold the deviations are NaN.
    """
    rows = []
    for recipe, part in folds.groupby("recipe", sort=False):
        pairs = [(part[name].mean(), part[name].std(ddof=1)) for name in MEASURES]
        rows.append((recipe, len(part), *(float(value) for pair in pairs for value in pair)))
    return pd.DataFrame(rows, columns=list(REJECTION_SUMMARY_COLUMNS))


def rejected_families(unknown: pd.DataFrame) -> pd.DataFrame:
    """Return how many of each class held out are rejected, and what they are taken for.

    Parameters
    ----------
    unknown : DataFrame
        With the columns :data:`UNKNOWN_COLUMNS`.

    Returns
    -------
    DataFrame
        Columns :data:`FAMILIES_COLUMNS`: mean and standard deviation over folds.
    """
    rows = []
    for (recipe, label), part in unknown.groupby(["recipe", "true"], sort=False):
        rejected = (part["reject"] == "yes").groupby([part["repeat"], part["fold"]]).mean()
        taken = part["predicted"].value_counts(normalize=True, sort=False)
        taken = taken.sort_index().sort_values(ascending=False, kind="stable")
        rows.append(
            (
                *(recipe, label, part["id"].nunique(), rejected.mean(), rejected.std(ddof=1)),
                *(taken.index[0], float(taken.iloc[0])),
            )
        )
    return pd.DataFrame(rows, columns=list(FAMILIES_COLUMNS))


def rejection_curve(known: pd.DataFrame, unknown: pd.DataFrame) -> pd.DataFrame:
    """Return the share of the unknown that is rejected with one share of the known after another.

    A fold's curve has a point for each probability t of its known predictions, where all below t
    are rejected, and one where all are; between them it is straight. The curves of the folds are
    averaged at fixed shares of the known, as thresholds of different models do not compare [1]_.

    Returns
    -------
    DataFrame
        Columns :data:`UNKNOWN_CURVE_COLUMNS`, by growing share; at the last all are rejected.

    References
    ----------
    .. [1] Fawcett, T.: An introduction to ROC analysis. Pattern Recognition Letters 27, 861-874
       (2006): vertical averaging.
    """
    folds = ["repeat", "fold"]
    tables = []
    for recipe, part in known.groupby("recipe", sort=False):
        others = dict(list(unknown[unknown["recipe"] == recipe].groupby(folds)["probability"]))
        curves = []
        for fold, probabilities in part.groupby(folds, sort=False)["probability"]:
            ours, theirs = (np.sort(p.to_numpy(float)) for p in (probabilities, others[fold]))
            limits = np.unique(ours)
            x = np.append(np.searchsorted(ours, limits) / len(ours), 1.0)
            y = np.append(np.searchsorted(theirs, limits) / len(theirs), 1.0)
            curves.append(np.interp(_SHARES, x, y))
        tables.append(
            pd.DataFrame(
                {
                    "recipe": recipe,
                    "known_rejected": _SHARES,
                    "unknown_rejected": np.mean(curves, axis=0),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)[list(UNKNOWN_CURVE_COLUMNS)]
