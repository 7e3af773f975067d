"""What choosing by inner folds would have given on the outer ones."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.fitting.recipe_choice import choose_recipe


def with_inner_choice(
    predictions: pd.DataFrame, models: pd.DataFrame, order: Sequence[str], prefer: str = "accuracy"
) -> pd.DataFrame:
    """Add the predictions of the recipe that the inner folds of each outer fold preferred.

    Its figures are those of the whole procedure that makes the final model, choice included; those
    of the best recipe on the outer folds are not, for it was chosen there. Recipes come in the
    given order, then the choice if there is any.
    """
    ranks = {name: rank for rank, name in enumerate(order)}
    ordered = predictions.sort_values("recipe", key=lambda c: c.map(ranks), kind="stable")
    if len(order) < 2:
        return ordered.reset_index(drop=True)
    parts = [ordered]
    for (repeat, fold), recipe in chosen_recipes(models, order, prefer).items():
        chosen = (ordered["recipe"] == recipe) & (ordered["repeat"] == repeat)
        parts.append(ordered[chosen & (ordered["fold"] == fold)].assign(recipe=INNER_CHOICE))
    return pd.concat(parts, ignore_index=True)


def chosen_recipes(
    models: pd.DataFrame, order: Sequence[str], prefer: str = "accuracy"
) -> dict[tuple[int, int], str]:
    """Return the recipe that the inner folds of each tested fold preferred, by repeat and fold.

    ``models`` is from :func:`~kreinflow.fitting.recipe_choice.read_figures`; recipes without a row
    of a fold were not trained there. ``order`` and ``prefer``: see
    :func:`~kreinflow.fitting.recipe_choice.choose_recipe`.
    """
    place: Any
    rows: Any
    found = {}
    for place, figures in models[models["repeat"] >= 0].groupby(["repeat", "fold"]):
        repeat, fold = map(int, place)
        rows = figures.to_dict("records")
        found[repeat, fold] = choose_recipe(rows, order, prefer=prefer)
    return found
