"""The figures of the models of a run, and the choice of a recipe by them."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.artifacts import read_measures
from kreinflow.errors import InputError
from kreinflow.models.calibration import LOSS_DIGITS
from kreinflow.sequences.partition import fold_numbers, is_fold_name

TEXT_COLUMNS = (
    *("recipe", "selector", "transform", "correction", "learner"),
    *("unlearned_names", "singular_names", "hyper_parameters", "views", "inner_right"),
)
FIGURES_COLUMNS = (
    *("recipe", "repeat", "fold", "selector", "transform", "correction", "learner"),
    *("landmarks", "rank", "basis_used", "iterations", "converged", "unlearned_classes"),
    *("singular_classes", "unlearned_names", "singular_names", "hyper_parameters"),
    *("views",),
    *("groups_held_out", "temperature", "reject_threshold", "inner_accuracy", "inner_log_loss"),
    *("alignments_per_query", "inner_records", "inner_right"),
)
"""Columns of the tables of models."""

PREFERENCES = ("accuracy", "cheap")
"""What recipes are chosen for."""


def packed(right: NDArray[np.bool_]) -> str:
    """Return which inner records are predicted right, a bit each, as hexadecimal text.

    Examples
    --------
    >>> packed(np.array([True, False, False, True, True]))
    '98'
    """
    return np.packbits(right).tobytes().hex()


def unpacked(row: Mapping[Any, Any]) -> NDArray[np.bool_]:
    """Return which inner records the recipe of a row predicts right; see :func:`packed`."""
    bits = np.frombuffer(bytes.fromhex(str(row["inner_right"])), dtype=np.uint8)
    return np.unpackbits(bits, count=int(row["inner_records"])).astype(bool)


def gained(better: NDArray[np.bool_], other: NDArray[np.bool_]) -> tuple[float, float]:
    r"""Return the difference of two inner accuracies, and its standard error.

    Both are of the same n records, held out once each. With d_i = 1 where only the first is right
    and -1 where only the second is,

    .. math:: \bar d = \frac1n \sum_i d_i, \qquad
              \sqrt{\frac{1}{n (n-1)} \sum_i (d_i - \bar d)^2}

    Records of one group are taken for independent, and fits of inner folds share records: it is a
    rule to choose by and no test.

    Examples
    --------
    >>> gained(np.array([True, True, True, False]), np.array([True, False, True, False]))
    (0.25, 0.25)
    """
    d = better.astype(np.float64) - other
    error = float(d.std(ddof=1)) / math.sqrt(len(d)) if len(d) > 1 else 0.0
    return float(d.mean()), error


def close(better: NDArray[np.bool_], other: NDArray[np.bool_], errors: float = 1.0) -> bool:
    """Return whether one is ahead by so many standard errors at most; see :func:`gained`.

    A single record is exactly one standard error, whatever the rounding.
    """
    difference, error = gained(better, other)
    return difference <= errors * error * (1 + 1e-9)


def read_figures(paths: Sequence[str | os.PathLike[str]], order: Sequence[str]) -> pd.DataFrame:
    """Read tables of models as one.

    Parameters
    ----------
    paths : sequence of path
        One table of all models, or those of single folds, SELECTOR/FOLD.tsv.
    order : sequence of str
        All recipes.

    Raises
    ------
    InputError
        If a model is missing, stands twice, is of another recipe or fold or has no figures. The
        first training part has a model of each recipe; the others have those that went on after
        it, which may be all.
    """
    parts = []
    for path in map(Path, paths):
        table = read_measures(path, FIGURES_COLUMNS, TEXT_COLUMNS)
        places = table[["recipe", "repeat", "fold"]]
        numeric = table[
            [
                *("repeat", "fold", "reject_threshold", "inner_accuracy", "inner_log_loss"),
                *("alignments_per_query", "inner_records"),
            ]
        ]
        sound = (
            places["recipe"].isin(order)
            & ~places.duplicated()
            & numeric.apply(pd.to_numeric, errors="coerce").notna().all(axis=1)
        )
        if is_fold_name(path.stem):
            repeat, fold = fold_numbers(path.stem)
            sound &= (places["repeat"] == repeat) & (places["fold"] == fold)
            sound &= table["selector"] == path.parent.name
        if sound.all():
            sound &= pd.Series(map(_fits, table.to_dict("records")), dtype=bool)
        if not sound.all():
            line = int(sound.to_numpy().argmin()) + 2
            raise InputError(
                f"{path}: line {line} is damaged, or of another run. Delete it and run again."
            )
        parts.append(table)
    figures = pd.concat(parts, ignore_index=True)
    everywhere = [set(part["recipe"]) for _, part in figures.groupby(_place(figures), sort=True)]
    # After a race the parts behind the first have fewer recipes, the same ones each.
    if everywhere[0] != set(order) or any(names != everywhere[-1] for names in everywhere[1:]):
        raise InputError(
            f"{', '.join(map(str, paths))}: not all recipes have a model in each fold. Delete "
            "these tables and run again."
        )
    return figures


def _place(figures: pd.DataFrame) -> "pd.Series[int]":
    """Return the number of each row's training part: outer folds, then that of the final model."""
    parts = figures[["repeat", "fold"]].apply(tuple, axis=1)
    ordered = sorted(set(parts), key=lambda part: (part[0] < 0, part))
    return parts.map({part: number for number, part in enumerate(ordered)})


def _fits(row: Mapping[Any, Any]) -> bool:
    """Return whether the bits of a row are those of its inner accuracy."""
    try:
        right = unpacked(row)
    except ValueError:
        return False
    n, accuracy = float(row["inner_records"]), float(row["inner_accuracy"])
    whole = len(str(row["inner_right"])) == 2 * math.ceil(n / 8)
    return whole and len(right) == n > 0 and abs(float(right.mean()) - accuracy) < 1e-9


def choose_recipe(
    figures: Sequence[Mapping[str, Any]],
    order: Sequence[str],
    wanted: str | None = None,
    prefer: str = "accuracy",
) -> str:
    """Return the recipe of the final model: the one asked for, or that of the inner folds.

    Parameters
    ----------
    figures : sequence of mappings
        Rows of :func:`read_figures`, or what
        :class:`~kreinflow.models.training.Trained` says, each with its recipe: of the same
        training part.
    order : sequence of str
        The recipes as the config lists them. Those without a row cannot be chosen.
    wanted : str or None
    prefer : {"accuracy", "cheap"}
        cheap takes the recipe with the fewest alignments among those whose inner accuracy is
        behind the highest by one standard error of the difference at most; see :func:`gained`.

    Returns
    -------
    str
        The highest inner accuracy; among equals the lowest log loss, then the first listed. With
        cheap the fewest alignments, then the same.
    """
    if wanted is not None:
        return wanted
    found = {str(row["recipe"]): row for row in figures}

    def rank(name: str) -> tuple[float, float, int]:
        row = found[name]
        loss = round(float(row["inner_log_loss"]), LOSS_DIGITS)
        return -float(row["inner_accuracy"]), loss, order.index(name)

    names = sorted((name for name in order if name in found), key=rank)
    if prefer == "accuracy":
        return names[0]
    best = unpacked(found[names[0]])

    near = [name for name in names if close(best, unpacked(found[name]))]
    return min(near, key=lambda name: float(found[name]["alignments_per_query"]))


def other_choice(
    figures: Sequence[Mapping[str, Any]], order: Sequence[str], prefer: str
) -> tuple[str, str]:
    """Return the preference that was not asked for, and the recipe that it chooses."""
    (other,) = set(PREFERENCES) - {prefer}
    return other, choose_recipe(figures, order, prefer=other)
