"""The figure of sets of labels: how often they hold the true one, and how many labels they have."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from kreinflow.report import figures as look
from kreinflow.report.tables import numbers

_SPREAD = 0.36  # of the dots of classes, beside each other


@look.drawing_style()
def sets_figure(coverage: pd.DataFrame, recipe: str) -> Figure:
    """Draw coverage against confidence, and the sizes of the sets of one recipe.

    Parameters
    ----------
    coverage : DataFrame
        From :func:`kreinflow.evaluation.sets.coverage`.
    recipe : str
    """
    figure = look.canvas(3.4)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    own = coverage[coverage["recipe"].astype(str) == recipe]
    label = own["class"].astype(str)
    of_classes, whole = own[label != ""], own[label == ""]
    levels = numbers(whole["confidence"])
    places = np.arange(len(levels))
    left.hlines(levels, places - 0.45, places + 0.45, color=look.GREY, linestyle="--", linewidth=1)
    for place, level in enumerate(levels):
        dots = of_classes[numbers(of_classes["confidence"]) == level]
        x = place + _SPREAD * np.linspace(-1, 1, len(dots) + 2)[1:-1]
        left.plot(
            x,
            numbers(dots["coverage"]),
            linestyle="none",
            marker="o",
            markersize=3,
            color=look.SKY,
            label="classes" if place == 0 else None,
        )
    if len(whole):
        left.plot(
            places,
            numbers(whole["coverage"]),
            linestyle="none",
            marker="o",
            markersize=7,
            markeredgecolor="white",
            color=look.BLUE,
            label="all records",
        )
    left.set_ylabel("sets that hold the true label")
    left.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    _draw_sizes(right, whole)
    for axes in (left, right):
        axes.set_xticks(places, [f"{100 * level:g}%" for level in levels])
        axes.set_xlim(-0.6, max(len(levels), 1) - 0.4)
        axes.grid(visible=False, axis="x")
        axes.set_xlabel("confidence asked for")
    if len(levels):
        figure.legend(loc="outside lower center", ncols=2)
    told = zip(levels, numbers(whole["coverage"]), numbers(whole["size"]), strict=True)
    texts = [
        f"Of sets with {look.percent(level)} confidence {look.percent(held)} hold the "
        f"true label, and they have {size:.2f} labels on the mean."
        for level, held, size in told
    ]
    figure.set_label(" ".join(texts) or "There are 0 sets.")
    return figure


def _draw_sizes(axes: Axes, whole: pd.DataFrame) -> None:
    """Draw the shares of sets with no label, one label, and more."""
    places, empty, single = np.arange(len(whole)), numbers(whole["empty"]), numbers(whole["single"])
    bottom = np.zeros(len(whole))
    for shares, name, colour in (
        (single, "one label", look.BLUE),
        (1.0 - empty - single, "more", look.ORANGE),
        (empty, "none", look.PALE),
    ):
        shares = np.clip(shares, 0.0, 1.0)
        axes.bar(places, shares, 0.6, bottom=bottom, color=colour, label=name)
        bottom = bottom + shares
    for place, size in enumerate(numbers(whole["size"])):
        axes.text(place, 1.02, f"{size:.2f}", ha="center", va="bottom", fontsize=8)
    axes.set_ylim(0, 1.12)
    axes.set_yticks(np.arange(0, 1.1, 0.25))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.0f}%"))
    axes.set_ylabel("sets")
