"""The figure of classes that are paths: how good a recipe is at each of their levels."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from kreinflow.report import figures as look
from kreinflow.report.tables import numbers


@look.drawing_style()
def levels_figure(levels: pd.DataFrame, recipe: str) -> Figure:
    """Draw errors and answers at each level.

    Parameters
    ----------
    levels : DataFrame
        From :func:`kreinflow.evaluation.levels.level_tables`.
    recipe : str
    """
    figure = look.canvas(2.8)
    wrong, answered = figure.subplots(1, 2)
    figure.set_label("Nothing was predicted: 0 levels.")
    if not levels.empty:
        own = levels[levels["recipe"].astype(str) == recipe]
        names = [f"level {level:.0f}" for level in numbers(own["level"])]
        places = np.arange(len(names))
        for shift, name, colour, label in (
            (-0.2, "accuracy", look.VERMILION, "of all that are predicted"),
            (0.2, "answered_accuracy", look.BLUE, "of those that are answered"),
        ):
            errors = 1.0 - numbers(own[name])
            wrong.bar(places + shift, np.nan_to_num(errors), width=0.38, color=colour, label=label)
        answered.bar(places, numbers(own["answered"]), width=0.6, color=look.BLUE)
        columns = (numbers(own[c]) for c in ("accuracy", "answered", "answered_accuracy"))
        told = map(_told, names, *columns)
        figure.set_label(" ".join(told))
        for axes in (wrong, answered):
            axes.set_xticks(places, names)
            axes.grid(visible=False, axis="x")
        wrong.set_ylim(0, max(1.3 * wrong.get_ylim()[1], 0.001))
        wrong.legend(loc="upper left")
    answered.set_ylim(0, 1)
    for axes in (wrong, answered):
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g}%"))
    wrong.set_ylabel("wrong at the level")
    answered.set_ylabel("answered there or below")
    return figure


def _told(level: str, right: float, answered: float, answered_right: float) -> str:
    """Return the figures of a level in words; of NaN none."""
    text = (
        f"{level.capitalize()}: {look.percent(1 - right)} wrong, {look.percent(answered)} answered"
    )
    return text + (
        "." if np.isnan(answered_right) else f", {look.percent(1 - answered_right)} of these wrong."
    )
