"""The figures of the models of a run, the choice of a recipe by them, and the race of recipes.

The race looks at the first training part alone, which holds records that other outer folds test.
"""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import bdtr

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.tables import read_measures, read_table
from kreinflow.fitting.calibration import LOSS_DIGITS
from kreinflow.sequences.partition import fold_numbers, is_fold_name

BITS = ("inner_right", "inner_known")
"""Columns with a bit for each inner record, fold by fold."""
TEXT_COLUMNS = (
    *("recipe", "selector", "transform", "correction", "learner"),
    *("unlearned_names", "singular_names", "hyper_parameters", "views", "cascade"),
    *("inner_sizes", *BITS),
)
FIGURES_COLUMNS = (
    *("recipe", "repeat", "fold", "selector", "transform", "correction", "learner"),
    *("landmarks", "rank", "basis_used", "iterations", "converged", "unlearned_classes"),
    *("singular_classes", "unlearned_names", "singular_names", "hyper_parameters"),
    *("views", "cascade", "cascade_pairs"),
    *("groups_held_out", "temperature", "reject_threshold", "promised_error"),
    *("inner_accuracy", "inner_log_loss"),
    *("alignments_per_query", "inner_records", "inner_sizes", *BITS),
)
"""Columns of the tables of models."""

_NUMBERS = (
    *("reject_threshold", "inner_accuracy", "inner_log_loss"),
    *("cascade_pairs", "alignments_per_query", "inner_records"),
)

PREFERENCES = ("accuracy", "cheap")
"""What recipes are chosen for."""

BEHIND = 2.0
"""A recipe is out if it is behind the best by more standard errors of the difference than this."""

FAILS = 0.025
"""A recipe fails in an inner fold if the exact test there has a smaller p than this."""

RACE_COLUMNS = (
    *("recipe", "landmarks", "alignments_per_query", "inner_accuracy"),
    *("behind", "standard_error", "goes_on", "why"),
)
"""Of :func:`race_table` and :func:`stop_table`."""

NOT_FITTED = "not fitted: with no wrong record it were not a standard error ahead of {}"


def packed(right: NDArray[np.bool_]) -> str:
    """Return which inner records are predicted right, a bit each, as hexadecimal text.

    Examples
    --------
    >>> packed(np.array([True, False, False, True, True]))
    '98'
    """
    return np.packbits(right).tobytes().hex()


def inner_bits(
    fold: IntArray, inside: NDArray[np.bool_], right: NDArray[np.bool_], grouped: bool
) -> dict[str, str]:
    """Return the columns that say which inner records are right, and how many each fold has.

    ``fold`` and ``inside``, of shape (n,): the inner folds of the records, and which of them were
    measured; ``right`` is of these. Folds are told if they are ``grouped``: no group is in several.
    """
    order, own = (np.argsort(part, kind="stable") for part in (fold, fold[inside]))
    sizes = np.unique(fold, return_counts=True)[1] if grouped else ()
    return {
        "inner_sizes": " ".join(map(str, sizes)),
        "inner_right": packed(right[own]),
        "inner_known": "" if inside.all() else packed(inside[order]),
    }


def unpacked(row: Mapping[Any, Any]) -> FloatArray:
    """Return what the recipe of a row predicts of the inner records; see :func:`packed`.

    It is 1 for right, 0 for wrong, and NaN for a record that the recipe was not measured on, and up
    to a multiple of 8. An empty ``inner_known`` stands for the first ``inner_records``.
    """
    digits = (bytes.fromhex(str(row.get(name) or "")) for name in BITS)
    right, measured = (np.unpackbits(np.frombuffer(own, dtype=np.uint8)) for own in digits)
    n = int(row["inner_records"])
    known = measured == 1 if len(measured) else np.arange(len(right)) < n
    found = np.full(len(known), np.nan)
    found[known] = right[:n]
    return found


def fold_accuracies(rows: Sequence[Mapping[Any, Any]]) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the accuracies of k recipes in f inner folds, on n records that all were measured on.

    Shapes (k, f), and (k, n), (n,): which records are right, and in which fold they are. All are in
    one fold if the table tells no folds, for no groups were held out.
    """
    right = np.stack([unpacked(row) for row in rows])
    sizes = [int(size) for size in str(rows[0].get("inner_sizes") or right.shape[1]).split()]
    common = np.flatnonzero(~np.isnan(right).any(axis=0))
    fold = np.repeat(np.arange(len(sizes)), sizes)[common]
    right, (names, fold) = right[:, common], np.unique(fold, return_inverse=True)
    means = [right[:, fold == name].mean(axis=1) for name in range(len(names))]
    return np.stack(means, axis=1), right, fold


def worst_fold(better: Mapping[Any, Any], other: Mapping[Any, Any]) -> float:
    """Return p in the inner fold where the other has its lowest accuracy.

    Of b records of that fold that only the better recipe has right, and c that only the other, it
    is P(B <= c) for B binomial of b + c trials of 1/2: the one-sided exact test of McNemar.
    """
    means, right, fold = fold_accuracies([better, other])
    d = np.subtract(*right[:, fold == np.lexsort((-means[0], means[1]))[0]])
    return float(bdtr((d < 0).sum(), np.count_nonzero(d), 0.5))


def gained(better: FloatArray, other: FloatArray) -> tuple[float, float]:
    r"""Return the difference of two inner accuracies, and its standard error.

    Both are of the same n records, held out once each: those that both recipes were measured on.
    With d_i = 1 where only the first is right and -1 where only the second is,

    .. math:: \bar d = \frac1n \sum_i d_i, \qquad
              \sqrt{\frac{1}{n (n-1)} \sum_i (d_i - \bar d)^2}

    Records of one group are taken for independent: it is a rule to choose by and no test.

    Examples
    --------
    >>> gained(np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0]))
    (0.25, 0.25)
    >>> gained(np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, np.nan, 1.0, 0.0]))
    (0.0, 0.0)
    """
    d = np.subtract(better, other, dtype=np.float64)
    d = d[~np.isnan(d)]
    error = float(d.std(ddof=1)) / math.sqrt(len(d)) if len(d) > 1 else 0.0
    return float(d.mean()), error


def close(better: FloatArray, other: FloatArray, errors: float = 1.0) -> bool:
    """Return whether one is ahead by so many standard errors at most; see :func:`gained`.

    A single record is exactly one standard error, whatever the rounding.
    """
    difference, error = gained(better, other)
    return difference <= errors * error * (1 + 1e-9)


def as_good(better: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    """Return whether a recipe may stand for a better one: see :func:`close`, :func:`worst_fold`."""
    return close(unpacked(better), unpacked(other)) and worst_fold(better, other) >= FAILS


def read_models(path: str | os.PathLike[str], order: Sequence[str]) -> pd.DataFrame:
    """Read a table of models: of all, or of a selector in a fold, SELECTOR/FOLD.tsv.

    Raises InputError if a model stands twice, is of another fold or of no recipe in ``order``, or
    has no figures.
    """
    table = read_measures(path, FIGURES_COLUMNS, TEXT_COLUMNS)
    twice, place = table.duplicated(["recipe", "repeat", "fold"]).any(), Path(path)
    sound = table["recipe"].isin(order).all() and not twice
    if is_fold_name(place.stem):
        repeat, fold = fold_numbers(place.stem)
        own = (table["repeat"] == repeat) & (table["fold"] == fold)
        sound = sound and (own & (table["selector"] == place.parent.name)).all()
    numbers = table[list(_NUMBERS)].apply(pd.to_numeric, errors="coerce")
    sound = sound and not numbers.isna().any(axis=None)
    if not sound or not all(map(_fits, table.to_dict("records"))):
        raise InputError(f"{path}: is damaged, or of another run. Delete it and run again.")
    return table


def read_figures(paths: Sequence[str | os.PathLike[str]], order: Sequence[str]) -> pd.DataFrame:
    """Read tables of models as one; see :func:`read_models`.

    Raises InputError if one is damaged, or a recipe of ``order`` has no model in a fold.
    """
    figures = pd.concat([read_models(path, order) for path in paths], ignore_index=True)
    # The final model is of part -1, and the last one.
    places = figures.groupby([figures["repeat"] < 0, "repeat", "fold"])
    everywhere = [set(names) for _, names in places["recipe"]]
    # After a race the parts behind the first have fewer recipes, the same ones each.
    whole = everywhere[0] == set(order) or unbeatable(next(iter(places))[1].to_dict("records"))
    if not whole or any(names != everywhere[-1] for names in everywhere[1:]):
        raise InputError(
            f"{', '.join(map(str, paths))}: not all recipes have a model in each fold. "
            "Delete these tables and run again."
        )
    return figures


def _fits(row: Mapping[Any, Any]) -> bool:
    """Return whether the bits of a row are those of its inner accuracy."""
    n, accuracy = float(row["inner_records"]), float(row["inner_accuracy"])
    if n <= 0 or len(str(row["inner_right"])) != 2 * math.ceil(n / 8):
        return False
    try:
        right = unpacked(row)
        fold_accuracies([row])
    except (ValueError, IndexError):  # no digits, or not as many records as were measured
        return False
    return abs(float(np.nanmean(right)) - accuracy) < 1e-9


def choose_recipe(
    figures: Sequence[Mapping[str, Any]],
    order: Sequence[str],
    wanted: str | None = None,
    prefer: str = "accuracy",
) -> str:
    """Return the recipe of the final model: the one asked for, or that of the inner folds.

    ``figures`` are rows of :func:`read_figures`, of the same training part. ``order`` lists the
    recipes as the config does; those without a row cannot be chosen.

    ``prefer: accuracy`` takes the highest inner accuracy on the records that all were measured on;
    among equals the best worst fold, if folds are grouped, then the lowest log loss, then the first
    listed. ``cheap`` takes the recipe with the fewest alignments among those that are behind it by
    one standard error of the difference at most; see :func:`gained`. If folds are grouped, it also
    must not fail in its own worst fold; see :func:`worst_fold`.
    """
    if wanted is not None:
        return wanted
    found = {str(row["recipe"]): row for row in figures if row["recipe"] in order}
    accuracies = worst = {name: float(row["inner_accuracy"]) for name, row in found.items()}
    if any(row.get("inner_known") or row.get("inner_sizes") for row in found.values()):
        means, right, _ = fold_accuracies(list(found.values()))
        accuracies, worst = (
            dict(zip(found, own.tolist(), strict=True))
            for own in (right.mean(axis=1), means.min(axis=1))
        )

    def rank(name: str) -> tuple[float, float, float, int]:
        loss = round(float(found[name]["inner_log_loss"]), LOSS_DIGITS)
        return -accuracies[name], -worst[name], loss, order.index(name)

    names = sorted(found, key=rank)
    if prefer == "accuracy":
        return names[0]
    near = [name for name in names if as_good(found[names[0]], found[name])]
    return min(near, key=lambda name: float(found[name]["alignments_per_query"]))


def unbeatable(figures: Sequence[Mapping[Any, Any]], landmarks: float = math.inf) -> str:
    """Return a recipe that needs fewer alignments and is as good as any can be, or no name.

    ``figures``: of recipes that are fitted. With ``prefer: cheap`` none that is not, and needs at
    least so many ``landmarks``, can be chosen: it would not if it were right on all inner records;
    see :func:`as_good`. So it is where one of them is wrong at most.
    """
    for row in figures:
        n = int(row["inner_records"])
        faultless = dict(row, inner_right=packed(np.ones(n, dtype=np.bool_)))
        if float(row["alignments_per_query"]) < landmarks and as_good(faultless, row):
            return str(row["recipe"])
    return ""


def stop_table(figures: Sequence[Mapping[Any, Any]], landmarks: Mapping[str, int]) -> pd.DataFrame:
    """Return which recipes are fitted in the first part, as :func:`race_table` does.

    Those without ``figures`` are not if none of them can be chosen; see :func:`unbeatable`.
    ``landmarks``: their number, by all recipes.
    """
    fitted, table = {row["recipe"] for row in figures}, []
    for name, count in landmarks.items():
        best = "" if name in fitted else unbeatable(figures, count)
        fate = ("no", NOT_FITTED.format(best)) if best else ("yes", "")
        table.append((name, count, *[math.nan] * 4, *fate))
    return pd.DataFrame(table, columns=list(RACE_COLUMNS))


def other_choice(
    figures: Sequence[Mapping[str, Any]], order: Sequence[str], prefer: str
) -> tuple[str, str]:
    """Return the preference that was not asked for, and the recipe that it chooses."""
    (other,) = set(PREFERENCES) - {prefer}
    return other, choose_recipe(figures, order, prefer=other)


def race_table(
    figures: Sequence[Mapping[str, Any]],
    order: Sequence[str],
    prefer: str,
    wanted: str | None = None,
) -> pd.DataFrame:
    """Return which recipes go on, and why the others do not; columns :data:`RACE_COLUMNS`.

    A recipe is out if it is behind the best by more than :data:`BEHIND` standard errors; see
    :func:`gained`. With ``prefer: cheap`` it also is if it needs more alignments than others that
    go on, and the best of these is as good; see :func:`as_good`. The best recipe, the one that the
    part prefers, and the one ``wanted`` as final go on in any case. One without figures is out: it
    was not fitted, as it could not be chosen; see :func:`unbeatable`.

    ``figures``: of the first training part. ``order``: the recipes, as the config lists them.
    """
    found = {str(row["recipe"]): row for row in figures}
    rows = {name: found[name] for name in order if name in found}
    right = {name: unpacked(row) for name, row in rows.items()}
    cost = {name: float(row["alignments_per_query"]) for name, row in rows.items()}
    best = choose_recipe(figures, order)
    # What the others are measured against stays, or each part would yield a standard error more.
    kept = {best: "is the best of this part"}
    kept[choose_recipe(figures, order, prefer=prefer)] = "is what this part prefers"
    if wanted is not None:
        kept[wanted] = "is asked for as final"
    why: dict[str, str] = {}
    for name in sorted(rows, key=cost.__getitem__):
        cheaper = [o for o in rows if why.get(o) == "" and cost[o] < cost[name]]
        rival, why[name] = choose_recipe(figures, cheaper or [name]), ""
        if name in kept:
            continue
        if not close(right[best], right[name], BEHIND):
            why[name] = f"behind {best} by more than {BEHIND:g} standard errors"
        elif prefer == "cheap" and cheaper and as_good(rows[name], rows[rival]):
            why[name] = f"not a standard error ahead of {rival}, which needs fewer alignments"
    table = [
        (
            *(rows[name][column] for column in RACE_COLUMNS[:4]),
            *gained(right[best], right[name]),
            *("no" if why[name] else "yes", why[name] or kept.get(name, "")),
        )
        for name in rows
    ]
    out = NOT_FITTED.format(best)
    table += [(name, *[math.nan] * 5, "no", out) for name in order if name not in rows]
    return pd.DataFrame(table, columns=list(RACE_COLUMNS))


def going_on(
    recipes: Sequence[Mapping[str, Any]], paths: Sequence[str | os.PathLike[str]]
) -> list[Mapping[str, Any]]:
    """Return the recipes that are fitted on a training part: all, or those left by its race.

    ``paths``: of :func:`race_table`, if any. Raises InputError if it is damaged.
    """
    found = list(recipes)
    for path in paths:
        table = read_table(path, RACE_COLUMNS, ["recipe", "goes_on", "why"])
        goes_on = dict(zip(table["recipe"], table["goes_on"], strict=True))
        fate = [goes_on.get(recipe["name"]) for recipe in found]
        if not table["recipe"].is_unique or any(f not in ("yes", "no") for f in fate):
            raise InputError(f"{path}: is damaged, or of another run. Delete it and run again.")
        found = [recipe for recipe, f in zip(found, fate, strict=True) if f == "yes"]
    return found


def unite(paths: Sequence[str | os.PathLike[str]]) -> pd.DataFrame:
    """Return the distinct rows that are a landmark in any of the tables, with their digests."""
    tables = [read_table(path, ["digest"], ["digest"], whole=["row"]) for path in paths]
    return pd.concat(tables)[["row", "digest"]].drop_duplicates().sort_values("row")
