"""Curves of cascades: what they cost on the outer folds, and what asking fewer records lost.

A curve has a row for each threshold: mean alignments of a query, tested records, and those that are
predicted right. Threshold 0 is the first stage alone, 2 asks all levels of all queries.
"""

import numpy as np
import pandas as pd
from scipy.special import bdtrc

from kreinflow.report.tables import mean_by, measured, numbers

FIRST, EVERYTHING = 0.0, 2.0  # thresholds of the ends of a curve
POINTS = 100  # points of a curve that is drawn
LEVEL = 0.05  # level of the test of a stated loss


def fold_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return means over folds of alignments and accuracy, by recipe in its order."""
    accuracy = numbers(rows["right"]) / numbers(rows["records"])
    columns = {"alignments": numbers(rows["alignments"]), "accuracy": accuracy}
    table = pd.DataFrame({"recipe": rows["recipe"].astype(str), **columns})
    return pd.DataFrame(table.groupby("recipe", sort=False).mean())


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


def costs_of(models: pd.DataFrame, accepted: pd.DataFrame) -> dict[str, float]:
    """Return the mean alignments of a query by recipe, all that asks records: of outer folds.

    Where predictions do not say them, it is what the inner folds took.
    """
    costs = mean_by(measured(models), "recipe", "alignments_per_query")
    took = mean_by(accepted, "recipe", "alignments_mean")
    return {
        name: n if np.isnan(took.get(name, np.nan)) else took[name] for name, n in costs.items()
    }


def pairs_asked(models: pd.DataFrame, curves: pd.DataFrame) -> dict[str, int]:
    """Return the pairs that cascades had aligned: to be ``fitted``, and to be ``tested``.

    Those to be fitted are counted once in a job, however many of its recipes ask for them.
    """
    ends = [asking(curves, threshold) for threshold in (FIRST, EVERYTHING)]
    first, every = (float(numbers(e["alignments"]) @ numbers(e["records"])) for e in ends)
    return {"fitted": int(numbers(models["cascade_pairs"]).sum()), "tested": round(every - first)}


def broken_loss(curve: pd.DataFrame, stated: float, distinct: int) -> float | None:
    r"""Return the accuracy that a cascade lost, if this is more than stated, beyond chance.

    With b records that are right only if all are asked, c that are right only as the model asks,
    n independent records and the stated loss L, the p-value is

    .. math:: P\bigl(B \ge b\bigr), \quad B \sim Binomial(b + c, (1 + L n/(b + c))/2),

    which is the sign test for L = 0. The curves tell b - c only. So b and c are the largest that
    may be: all errors of the model, and all errors with all asked. Then b + c is too large, and
    with the same b - c the p-value too large rather than too small. Records that are alike, and
    those that repeats predict again, count as one: b, c and n are shares of the predictions.

    The curve is of one recipe, all folds; ``distinct`` records of the data set differ.
    """
    own = chosen(curve)
    n = float(numbers(own["records"]).sum())
    wrong, wrong_of_all = (
        n - float(numbers(rows["right"]).sum()) for rows in (own, asking(curve, EVERYTHING))
    )
    independent = min(1.0, distinct / n) if n else 0.0
    b, c = int(independent * wrong), int(np.ceil(independent * wrong_of_all))
    beyond = b > c and loss_p_value(b, c, stated * independent * n) < LEVEL
    return (wrong - wrong_of_all) / n if beyond else None


def loss_p_value(lost: int, gained: int, allowed: float) -> float:
    """Return the p-value of so many records lost and gained, if so many may be lost."""
    m = lost + gained
    return float(bdtrc(lost - 1, m, (1 + min(1.0, allowed / m)) / 2))
