"""The recipe that inner folds choose: of the final model, and of each outer fold."""

import pandas as pd

from kreinflow.evaluation.inner_choice import chosen_recipes
from kreinflow.models.choice import choose_recipe


def test_the_final_recipe_is_the_inner_choice():
    figures = [
        {"recipe": "a", "inner_accuracy": 0.9, "inner_log_loss": 0.1},
        {"recipe": "b", "inner_accuracy": 0.95, "inner_log_loss": 0.9},
        {"recipe": "c", "inner_accuracy": 0.95, "inner_log_loss": 0.3},
        {"recipe": "d", "inner_accuracy": 0.95, "inner_log_loss": 0.3},
    ]
    assert choose_recipe(figures, ["a", "b", "c", "d"]) == "c"
    assert choose_recipe(figures, ["d", "c", "b", "a"]) == "d"
    assert choose_recipe(figures, ["a", "b"]) == "b"
    assert choose_recipe(figures, ["a", "b", "c", "d"], "a") == "a"


def test_of_losses_that_differ_by_rounding_the_first_recipe_is_taken():
    """Where all inner predictions are right, all recipes have the same loss."""
    figures = [
        {"recipe": "few", "inner_accuracy": 1.0, "inner_log_loss": 0.0017 + 3e-12},
        {"recipe": "many", "inner_accuracy": 1.0, "inner_log_loss": 0.0017},
    ]
    assert choose_recipe(figures, ["few", "many"]) == "few"
    assert choose_recipe(figures, ["many", "few"]) == "many"


def test_the_recipe_of_each_fold_is_that_of_its_own_inner_folds():
    models = pd.DataFrame(
        [("x", 0, 0, 0.9), ("y", 0, 0, 0.8), ("x", 0, 1, 0.7), ("y", 0, 1, 0.8), ("x", -1, -1, 1)],
        columns=["recipe", "repeat", "fold", "inner_accuracy"],
    ).assign(inner_log_loss=0.1)
    assert chosen_recipes(models, ["x", "y"]) == {(0, 0): "x", (0, 1): "y"}
