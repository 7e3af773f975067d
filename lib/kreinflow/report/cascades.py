"""Recipes with a cascade: what they cost on the outer folds, and what asking fewer records lost.

A curve has a row for each threshold: mean alignments of a query, tested records, and those that are
predicted right. Threshold 0 is the first stage alone, 2 asks all levels of all queries.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import floor, log10
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtrc

from kreinflow.report.tables import Table, cells, mean_by, measured, numbers, table_of

FIRST, EVERYTHING = 0.0, 2.0
"""Thresholds of the ends of a curve."""

POINTS = 100
"""Of a curve that is drawn."""

LEVEL = 0.05
"""Of the test of the stated losses, over all recipes together."""


class Lost(NamedTuple):
    """Accuracy that a recipe lost against asking all on the outer folds, and what was stated."""

    found: float
    stated: float


def fold_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means over folds of alignments and accuracy, by recipe in its order."""
    table = pd.DataFrame(
        {
            "recipe": rows["recipe"].astype(str),
            "alignments": numbers(rows["alignments"]),
            "accuracy": numbers(rows["right"]) / numbers(rows["records"]),
        }
    )
    means: pd.DataFrame = table.groupby("recipe", sort=False).mean()
    return means


def chosen(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the thresholds of the models."""
    return curves[curves["chosen"] == "yes"]


def asking(curves: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Return the rows of a threshold."""
    rows: pd.DataFrame = curves[numbers(curves["threshold"]) == threshold]
    return rows


def mean_curve(curve: pd.DataFrame) -> pd.DataFrame:
    r"""Return alignments and accuracy of a recipe, from the first stage to everything asked.

    Folds have thresholds of their own. So what is averaged are their accuracies at the same share
    u of the way from the alignments :math:`a_0` of the first stage to :math:`a_1` of all levels,

    .. math:: u = (a - a_0) / (a_1 - a_0),

    on straight lines between what was measured. Points are evenly spaced on a logarithmic axis.
    """
    ends, folds = [], []
    for _, fold in curve.groupby(["repeat", "fold"], sort=True):
        own = fold.iloc[np.argsort(numbers(fold["threshold"]), kind="stable")]
        asked = numbers(own["alignments"])
        ends.append(asked[[0, -1]])
        way = (asked - asked[0]) / max(asked[-1] - asked[0], 1e-9)
        folds.append((way, numbers(own["right"]) / numbers(own["records"])))
    low, high = np.mean(ends, axis=0)
    alignments = np.geomspace(low, high, POINTS)
    way = (alignments - low) / max(high - low, 1e-9)
    accuracy = np.mean([np.interp(way, *fold) for fold in folds], axis=0)
    return pd.DataFrame({"alignments": alignments, "accuracy": accuracy})


def costs_of(models: pd.DataFrame, curves: pd.DataFrame) -> dict[str, float]:
    """Return the mean alignments of a query by recipe: of outer folds, where they were measured."""
    costs = mean_by(measured(models), "recipe", "alignments_per_query")
    return costs | {
        str(name): float(n) for name, n in fold_means(chosen(curves))["alignments"].items()
    }


def pairs_asked(models: pd.DataFrame, curves: pd.DataFrame) -> dict[str, int]:
    """Return the pairs that cascades had aligned: to be ``fitted``, and to be ``tested``.

    Those to be fitted are counted once in a job, however many of its recipes ask for them.
    """
    ends = [asking(curves, threshold) for threshold in (FIRST, EVERYTHING)]
    first, every = (float(numbers(e["alignments"]) @ numbers(e["records"])) for e in ends)
    return {"fitted": int(numbers(models["cascade_pairs"]).sum()), "tested": round(every - first)}


def cascades(
    curves: pd.DataFrame, models: pd.DataFrame, recipes: Sequence[Mapping[str, Any]]
) -> Table | None:
    """Return what each cascade costs and loses; None without recipes with a cascade."""
    if curves.empty:
        return None
    at = chosen(curves)
    own, every = fold_means(at), fold_means(asking(curves, EVERYTHING))
    first = fold_means(asking(curves, FIRST))
    names = own.index.tolist()
    every, first = every.loc[names], first.loc[names]
    inner = mean_by(measured(models), "recipe", "alignments_per_query")
    by_recipe = models["recipe"].astype(str)
    pairs = pd.Series(numbers(models["cascade_pairs"]), models.index).groupby(by_recipe).sum()
    stated = {recipe["name"]: recipe["cascade"] for recipe in recipes if recipe.get("cascade")}
    columns = {
        "recipe": names,
        "levels": [_levels(models.loc[by_recipe == name, "cascade"]) for name in names],
        "threshold": [_range(at[at["recipe"].astype(str) == name]) for name in names],
        "alignments per query": cells(own["alignments"], ",.1f"),
        "on inner folds": [f"{inner[name]:,.1f}" for name in names],
        "if all were asked": cells(every["alignments"], ",.1f"),
        "accuracy": cells(own["accuracy"], ".2f", 100),
        "of the first stage": cells(first["accuracy"], ".2f", 100),
        "with all asked": cells(every["accuracy"], ".2f", 100),
        "points lost": cells(every["accuracy"] - own["accuracy"], ".2f", 100),
        "asked for": [_stated(stated.get(name, {})) for name in names],
        "pairs more to train": [f"{pairs[name]:,.0f}" for name in names],
    }
    return table_of(columns, {0, 1, 10})


def in_a_column(table: Table) -> Table:
    """Return what :func:`cascades` tells of its first recipe, without what depends on others."""
    rows = list(zip(table.head, table.rows[0], strict=True))[1:-1]
    return Table(["of the cascade", "mean over the outer folds"], rows, {0, 1}, wrapped=1)


def _range(rows: pd.DataFrame) -> str:
    low, high = (_shown(end(numbers(rows["threshold"]))) for end in (np.min, np.max))
    return low if low == high else f"{low} to {high}"


def _shown(threshold: float) -> str:
    """Return a threshold with four digits of its distance from 1, where thresholds crowd."""
    digits = 3 - floor(log10(max(abs(1 - threshold), 1e-12)))
    return f"{threshold:.{max(3, digits)}f}".rstrip("0").rstrip(".")


def _levels(texts: Iterable[object]) -> str:
    """Return the levels of all models of a recipe, without their thresholds."""
    found = dict.fromkeys(str(text).split(", threshold")[0] for text in texts)
    return "; ".join(text for text in found if text)


def stated_loss(cascade: Mapping[str, Any]) -> float | None:
    """Return the loss that a recipe's cascade states; None if it states alignments."""
    loss = cascade.get("loss")
    return None if loss is None else float(loss)


def _stated(cascade: Mapping[str, Any]) -> str:
    loss = stated_loss(cascade)
    if loss is not None:
        return f"at most {100 * loss:g} points"
    number = cascade.get("alignments")
    return "" if number is None else f"{float(number):g} alignments"


def broken_losses(
    curves: pd.DataFrame,
    recipes: Sequence[Mapping[str, Any]],
    distinct: int,
) -> dict[str, Lost]:
    r"""Return the recipes that lost more than they state, beyond what chance explains.

    With b records that are right only if all are asked, c that are right only as the model asks,
    n independent records and the stated loss L, the p-value is

    .. math:: P\bigl(B \ge b\bigr), \quad B \sim Binomial(b + c, (1 + L n/(b + c))/2),

    which is the sign test for L = 0. The curves tell b - c only. So b and c are the largest that
    may be: all errors of the model, and all errors with all asked. Then b + c is too large, and
    with the same b - c the p-value too large rather than too small. Records that are alike, and
    those that repeats predict again, count as one: b, c and n are shares of the predictions.

    Parameters
    ----------
    curves : DataFrame
    recipes : sequence of mappings
        Those of the config.
    distinct : int
        Records of the data set that differ.
    """
    stated = {
        str(recipe["name"]): loss
        for recipe in recipes
        if recipe.get("cascade") and (loss := stated_loss(recipe["cascade"])) is not None
    }
    found = {}
    own, every = chosen(curves), asking(curves, EVERYTHING)
    tested = [name for name in own["recipe"].astype(str).unique() if name in stated]
    for name in tested:
        n, wrong, wrong_of_all = 0.0, 0.0, 0.0
        mine, all_asked = (rows[rows["recipe"].astype(str) == name] for rows in (own, every))
        n = float(numbers(mine["records"]).sum())
        wrong = n - float(numbers(mine["right"]).sum())
        wrong_of_all = n - float(numbers(all_asked["right"]).sum())
        # Predictions of one record in all repeats, and of records that are alike, are one.
        share = min(1.0, distinct / n) if n else 0.0
        b, c = int(share * wrong), int(np.ceil(share * wrong_of_all))
        if b > c and loss_p_value(b, c, stated[name] * share * n) < LEVEL / len(tested):
            found[name] = Lost((wrong - wrong_of_all) / n, stated[name])
    return found


def loss_p_value(lost: int, gained: int, allowed: float) -> float:
    """Return the p-value of so many records lost and gained, if so many may be lost."""
    m = lost + gained
    return float(bdtrc(lost - 1, m, (1 + min(1.0, allowed / m)) / 2))


def asks(landmarks: str, cascade: Mapping[str, Any]) -> str:
    """Return in words whom the final model asks.

    Parameters
    ----------
    landmarks : str
        Their number.
    cascade : mapping
        With threshold, steps, and likeliest: None without machines of pairs of classes.
    """
    text = f"A query is aligned with {landmarks} landmarks."
    threshold, (least, *more) = cascade["threshold"], cascade["steps"] or [0]
    levels = []
    if least:
        levels.append(f"its {least:,} nearest training records")
        levels += [f"its {q:,} nearest" for q in more]
    if cascade["likeliest"]:
        levels.append(
            f"the members of its {cascade['likeliest']} likeliest classes, if these are often "
            "taken for each other"
        )
    if not levels or threshold <= 0:
        return f"{text} Training records are not asked."
    then = ", then with ".join(levels)
    if threshold > 1:
        return f"{text} Then each query is aligned with {then}."
    stops = (
        " It stops at the first level at which the probability is that large." if levels[1:] else ""
    )
    return (
        f"{text} If its largest probability is below {_shown(threshold)}, it is aligned with "
        f"{then}.{stops}"
    )
