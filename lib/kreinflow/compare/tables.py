"""The comparison as tables: fold by fold, and means with standard deviations."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from kreinflow.compare.competitor import FIGURES, FOLD_COLUMNS
from kreinflow.compare.methods import METHODS, OURS
from kreinflow.evaluation.comparison import differences_from
from kreinflow.evaluation.inner_choice import chosen_recipes

AGAINST_OURS = (
    *("difference", "p_folds_holm"),
    *("difference_records", "low", "high", "p_records_holm"),
)
"""How a method stands to ours on the same folds; see
:data:`~kreinflow.evaluation.comparison.COMPARISON_COLUMNS`, with ours in place of the best. Empty
in our own row and where a method did not run on all folds."""

COMPARE_COLUMNS = (
    *("folds", "method", "tested_folds", "records"),
    *(f"{figure}_{part}" for figure in FIGURES for part in ("mean", "sd")),
    *(*AGAINST_OURS, "version", "reason"),
)
"""``folds`` is how the folds were made, ``tested_folds`` how many of them have figures."""

BUDGET_COLUMNS = (
    *("folds", "selector", "alignments_per_query_mean"),
    *("accuracy_mean", "accuracy_sd", "recipes"),
)
"""What the inner folds choose when they may choose among the recipes of one selector alone;
``recipes`` are those that were chosen in some fold."""


def fold_table(parts: Mapping[str, Sequence[pd.DataFrame]]) -> pd.DataFrame:
    """Return the rows of all folds: by kind of folds, method, repeat and fold."""
    tables = []
    for kind, some in parts.items():
        table = pd.concat(some, ignore_index=True)[list(FOLD_COLUMNS)]
        order = table["method"].map(list(METHODS).index)
        table.insert(0, "folds", kind)
        tables.append(table.iloc[np.lexsort([table["fold"], table["repeat"], order])])
    whole = pd.concat(tables, ignore_index=True)
    for figure in FIGURES:  # a column with empty cells is text when it is read
        whole[figure] = pd.to_numeric(whole[figure], errors="coerce")
    return whole


def compare_table(
    folds: pd.DataFrame,
    predictions: Mapping[str, pd.DataFrame],
    groups: Mapping[str, "pd.Series[int]"],
) -> pd.DataFrame:
    """Return mean and standard deviation (n - 1) over folds, for each kind of folds and method.

    A method that could not run in some fold has that reason, and the means of the others. Folds
    that test nothing are left out, unless all of a kind are such.

    ``folds`` is from :func:`fold_table`. By the kind of folds ``predictions`` has those of all
    methods (method, repeat, id, true, predicted), and ``groups`` the group of each record by its
    id. Columns are :data:`COMPARE_COLUMNS`.
    """
    tests = folds.groupby("folds")["records"].transform("max") > 0
    folds = folds[(folds["records"] > 0) | ~tests]
    rows = []
    for (kind, method), part in folds.groupby(["folds", "method"], sort=False):
        ran = part[part["reason"].astype(str) == ""]
        numbers = ran[list(FIGURES)].astype(np.float64)
        values = np.stack([numbers.mean(), numbers.std()], axis=1).ravel()
        versions = sorted({str(v) for v in ran["version"]} - {""})
        reasons = sorted({str(v) for v in part["reason"]} - {""})
        row = [kind, method, len(ran), int(ran["records"].sum()), *values]
        rows.append([*row, *[np.nan] * len(AGAINST_OURS), ", ".join(versions), "; ".join(reasons)])
    table = pd.DataFrame(rows, columns=list(COMPARE_COLUMNS))
    for kind, part in folds.groupby("folds", sort=False):
        found = _against_ours(part, predictions[str(kind)], groups[str(kind)])
        for method, tested in found.items():
            place = (table["folds"] == kind) & (table["method"] == method)
            table.loc[place, [*AGAINST_OURS]] = tested
    return table


def _against_ours(
    folds: pd.DataFrame, predictions: pd.DataFrame, groups: "pd.Series[int]"
) -> dict[str, list[float]]:
    """Return :data:`AGAINST_OURS` of each method that ran on all folds that we ran on."""
    wide = folds.pivot(index=["repeat", "fold"], columns="method", values="accuracy")
    if OURS not in wide or wide[OURS].isna().any():
        return {}
    tested = folds[folds["method"] == OURS].set_index(["repeat", "fold"])["records"]
    others = [str(m) for m in wide.columns if m != OURS and not wide[m].isna().any()]
    named = predictions.rename(columns={"method": "recipe"})
    found = differences_from(OURS, others, wide, tested.loc[wide.index], named, groups)
    return {str(row[0]): list(row[1:]) for row in found[list(AGAINST_OURS)].itertuples()}


def budget_table(
    kind: str, models: pd.DataFrame, metrics: pd.DataFrame, order: Sequence[str]
) -> pd.DataFrame:
    """Return :data:`BUDGET_COLUMNS` of each selector with a recipe in all folds that test anything.

    ``models`` and ``metrics`` are the evaluation's, ``order`` the recipes as the config lists them.
    """
    place = ["recipe", "repeat", "fold"]
    accuracies = metrics.set_index(place)["accuracy"].astype(np.float64)
    measured = pd.MultiIndex.from_frame(metrics[place[1:]])
    models = models[pd.MultiIndex.from_frame(models[place[1:]]).isin(measured)]
    n_folds = measured.nunique()
    rows = []
    for selector, part in models.groupby("selector", sort=False):
        own = set(part["recipe"])
        chosen = chosen_recipes(part, [name for name in order if name in own])
        if len(chosen) < n_folds:
            continue
        keys = [(recipe, *numbers) for numbers, recipe in chosen.items()]
        accuracy = accuracies.loc[keys]
        alignments = part.set_index(place)["alignments_per_query"].loc[keys].astype(np.float64)
        names = ", ".join(name for name in order if name in chosen.values())
        rows.append([kind, selector, alignments.mean(), accuracy.mean(), accuracy.std(), names])
    return pd.DataFrame(rows, columns=list(BUDGET_COLUMNS))
