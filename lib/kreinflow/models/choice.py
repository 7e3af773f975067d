"""The figures of the models of a run, and the choice of a recipe by them."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from kreinflow.artifacts import read_measures
from kreinflow.errors import InputError
from kreinflow.models.calibration import LOSS_DIGITS
from kreinflow.sequences.partition import fold_numbers, is_fold_name

TEXT_COLUMNS = (
    *("recipe", "selector", "transform", "correction", "learner"),
    *("unlearned_names", "singular_names", "hyper_parameters", "views"),
)
FIGURES_COLUMNS = (
    *("recipe", "repeat", "fold", "selector", "transform", "correction", "learner"),
    *("landmarks", "rank", "basis_used", "iterations", "converged", "unlearned_classes"),
    *("singular_classes", "unlearned_names", "singular_names", "hyper_parameters"),
    *("views",),
    *("groups_held_out", "temperature", "reject_threshold", "inner_accuracy", "inner_log_loss"),
    "alignments_per_query",
)
"""Columns of the tables of models."""


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
        If a model is missing, stands twice, is of another recipe or fold or has no figures.
    """
    parts = []
    for path in map(Path, paths):
        table = read_measures(path, FIGURES_COLUMNS, TEXT_COLUMNS)
        places = table[["recipe", "repeat", "fold"]]
        numeric = table[["repeat", "fold", "reject_threshold", "inner_accuracy", "inner_log_loss"]]
        sound = (
            places["recipe"].isin(order)
            & ~places.duplicated()
            & numeric.apply(pd.to_numeric, errors="coerce").notna().all(axis=1)
        )
        if is_fold_name(path.stem):
            repeat, fold = fold_numbers(path.stem)
            sound &= (places["repeat"] == repeat) & (places["fold"] == fold)
            sound &= table["selector"] == path.parent.name
        if not sound.all():
            line = int(sound.to_numpy().argmin()) + 2
            raise InputError(
                f"{path}: line {line} is damaged, or of another run. Delete it and run again."
            )
        parts.append(table)
    figures = pd.concat(parts, ignore_index=True)
    counts = figures.groupby(["repeat", "fold"])["recipe"].nunique()
    if (counts != len(order)).any():
        raise InputError(
            f"{', '.join(map(str, paths))}: not all recipes have a model in each fold. Delete "
            "these tables and run again."
        )
    return figures


def choose_recipe(
    figures: Sequence[Mapping[str, Any]], order: Sequence[str], wanted: str | None = None
) -> str:
    """Return the recipe of the final model: the one asked for, or the best on the inner folds.

    Parameters
    ----------
    figures : sequence of mappings
        With the keys recipe, inner_accuracy, inner_log_loss: of the same training part.
    order : sequence of str
        The recipes as the config lists them.
    wanted : str or None

    Returns
    -------
    str
        The highest inner accuracy; among equals the lowest log loss, then the first listed.
    """
    if wanted is not None:
        return wanted
    found = {str(row["recipe"]): row for row in figures}
    return min(
        order,
        key=lambda name: (
            -float(found[name]["inner_accuracy"]),
            round(float(found[name]["inner_log_loss"]), LOSS_DIGITS),
            order.index(name),
        ),
    )
