"""The race of recipes: those that the first training part shows to be behind are fitted once.

It looks at that part alone, which holds records that other outer folds test.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kreinflow.base.errors import InputError
from kreinflow.files.tables import read_table
from kreinflow.fitting.recipe_choice import choose_recipe, close, gained, unpacked

BEHIND = 2.0
"""A recipe is out if it is behind the best by more standard errors of the difference than this."""

RACE_COLUMNS = (
    *("recipe", "landmarks", "alignments_per_query", "inner_accuracy"),
    *("behind", "standard_error", "goes_on", "why"),
)
"""Of :func:`race_table`."""


def race_table(
    figures: Sequence[Mapping[str, Any]],
    order: Sequence[str],
    prefer: str,
    wanted: str | None = None,
) -> pd.DataFrame:
    """Return which recipes go on, and why the others do not; columns :data:`RACE_COLUMNS`.

    A recipe is out if it is behind the best by more than :data:`BEHIND` standard errors; see
    :func:`~kreinflow.fitting.recipe_choice.gained`. With ``prefer: cheap`` it also is if it needs
    more alignments (the mean for a query) than others that go on, and is not ahead of the best of
    these by more than one standard error. The best recipe of the part, the one that it prefers, and
    the one ``wanted`` as that of the final model go on in any case.

    ``figures`` are those of all recipes in the first training part, and ``order`` lists the recipes
    as the config does. ``behind`` is the inner accuracy of the best less the recipe's,
    ``standard_error`` that of this difference.
    """
    rows = {str(row["recipe"]): row for row in figures}
    right = {name: unpacked(rows[name]) for name in order}
    cost = {name: float(rows[name]["alignments_per_query"]) for name in order}
    best = choose_recipe(figures, order)
    # What the others are measured against stays, or each part would yield a standard error more.
    kept = {best: "is the best of this part"}
    kept[choose_recipe(figures, order, prefer=prefer)] = "is what this part prefers"
    if wanted is not None:
        kept[wanted] = "is asked for as final"
    why: dict[str, str] = {}
    for name in sorted(order, key=cost.__getitem__):
        cheaper = [other for other in why if why[other] == "" and cost[other] < cost[name]]
        rival = choose_recipe(figures, [other for other in order if other in cheaper] or [name])
        if name in kept:
            why[name] = ""
        elif not close(right[best], right[name], BEHIND):
            why[name] = f"behind {best} by more than {BEHIND:g} standard errors"
        elif prefer == "cheap" and cheaper and close(right[name], right[rival]):
            why[name] = f"not a standard error ahead of {rival}, which needs fewer alignments"
        else:
            why[name] = ""
    table = []
    for name in order:
        behind, error = gained(right[best], right[name])
        table.append(
            (
                *(name, rows[name]["landmarks"], rows[name]["alignments_per_query"]),
                rows[name]["inner_accuracy"],
                *(behind, error, "no" if why[name] else "yes", why[name] or kept.get(name, "")),
            )
        )
    return pd.DataFrame(table, columns=list(RACE_COLUMNS))


def going_on(
    recipes: Sequence[Mapping[str, Any]], paths: Sequence[str | os.PathLike[str]]
) -> list[Mapping[str, Any]]:
    """Return the recipes that are fitted on a training part.

    ``recipes``: with the key name. ``paths``: the file of :func:`race_table`; none for a part
    without a race, where all are fitted. Raises InputError if the file is damaged, or lacks a
    recipe.
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
