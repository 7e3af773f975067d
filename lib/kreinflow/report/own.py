"""What of a run belongs to the final model: its recipe, and its rows of the tables.

Where the inner folds chose the recipe, the figures on the outer folds are those of the choice, so
the recipes that were chosen there belong to it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from kreinflow.evaluation.inner_choice import chosen_recipes
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.learners.registry import factored
from kreinflow.report.reading import DatasetReport
from kreinflow.report.tables import numbers

Config = Mapping[str, Any]


def recipes_of(settings: Mapping[str, Any], config: Config) -> list[Mapping[str, Any]]:
    """Return the recipes of a data set, in the order of the config."""
    wanted = settings.get("recipes") or [recipe["name"] for recipe in config["recipes"]]
    return [recipe for recipe in config["recipes"] if recipe["name"] in wanted]


def recipe_called(name: str, config: Config) -> Mapping[str, Any]:
    """Return the recipe of this name."""
    found: Mapping[str, Any] = next(r for r in config["recipes"] if r["name"] == name)
    return found


def own_models(data: DatasetReport, config: Config) -> pd.DataFrame:
    """Return the rows of the final model, and of the fits whose figures are told as its own."""
    order = [recipe["name"] for recipe in recipes_of(data.settings, config)]
    return models_of(data.models, data.measured, data.final_recipe, order, config["prefer"])


def models_of(
    models: pd.DataFrame, measured: str, final: str, order: Sequence[str], prefer: str
) -> pd.DataFrame:
    """Return :func:`own_models`.

    Parameters
    ----------
    models : DataFrame
    measured : str
        See :func:`~kreinflow.report.tables.measured_recipe`.
    final : str
        The recipe of the final model.
    order, prefer
        See :func:`~kreinflow.evaluation.inner_choice.chosen_recipes`.
    """
    recipes = models["recipe"].astype(str)
    own = recipes == final
    if measured == INNER_CHOICE:
        chosen = chosen_recipes(models, order, prefer)
        places = zip(models["repeat"].astype(int), models["fold"].astype(int), strict=True)
        in_fold = pd.Series([chosen.get(place) for place in places], models.index)
        own = own.where(numbers(models["repeat"]) < 0, recipes == in_fold)
    return models[own]


def own_landmarks(landmarks: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """Return the landmarks of :func:`own_models`, with their recipe."""
    return _joined(landmarks, own, ["selector", "repeat", "fold"])


def own_factors(factors: pd.DataFrame, own: pd.DataFrame, config: Config) -> pd.DataFrame:
    """Return the factors that :func:`own_models` learn from, with their recipe."""
    ranks = {
        str(recipe["name"]): str(recipe.get("rank", "misfit"))
        for recipe in factored(config["recipes"], config["learners"])
    }
    learned = own[own["recipe"].astype(str).isin(ranks.keys())]
    learned = learned.assign(rank_wanted=learned["recipe"].astype(str).map(ranks).astype(object))
    factors = factors.assign(rank_wanted=factors["rank_wanted"].astype(str).astype(object))
    return _joined(factors, learned, ["selector", "transform", "rank_wanted", "repeat", "fold"])


def _joined(table: pd.DataFrame, own: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the rows of a table that share these columns with a model, and its recipe."""
    recipes = {
        tuple(map(str, row[:-1])): str(row[-1])
        for row in own[[*keys, "recipe"]].itertuples(index=False)
    }
    of_row = [
        recipes.get(tuple(map(str, row))) for row in table[keys].itertuples(index=False, name=None)
    ]
    found = table.assign(recipe=pd.Series(of_row, table.index, dtype=object))
    return found[found["recipe"].notna()]
