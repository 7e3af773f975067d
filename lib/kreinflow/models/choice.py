"""The recipe of the final model, and of each outer fold."""

from collections.abc import Mapping, Sequence
from typing import Any

from kreinflow.models.calibration import LOSS_DIGITS


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
