"""The figure of the comparison: accuracy against what a query costs."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from kreinflow.base.numerics import FloatArray
from kreinflow.compare.methods import METHODS, OURS
from kreinflow.report.figures import (
    BLACK,
    BLUE,
    MARKERS,
    PALETTE,
    canvas,
    drawing_style,
    percent,
)
from kreinflow.report.tables import numbers

_LEAST_ERROR = 1e-4
"""Where a method without any error is drawn."""


@drawing_style()
def cost_figure(summary: pd.DataFrame, budgets: pd.DataFrame) -> Figure:
    """Draw the accuracy of each method against the alignments that a query takes.

    The axis of accuracy is logarithmic in the share of errors, so that 99 and 99.9 % are as far
    apart as 90 and 99 %. Methods whose alignments are not counted stand beside it.

    Parameters
    ----------
    summary : DataFrame
        The rows of one kind of folds of :func:`~kreinflow.compare.tables.compare_table`.
    budgets : DataFrame
        Those of :func:`~kreinflow.compare.tables.budget_table`.
    """
    figure = canvas(4.4)
    counted, beside = figure.subplots(1, 2, sharey=True, width_ratios=[5, 1])
    ours = budgets.assign(x=numbers(budgets["alignments_per_query_mean"])).sort_values("x")
    counted.plot(
        ours["x"],
        _errors(ours),
        color=BLUE,
        marker="o",
        markersize=5,
        linewidth=1.4,
        label="kreinflow, chosen on inner folds within each selector",
    )
    colours = [colour for colour in PALETTE if colour not in (BLUE, BLACK)]
    places, told = [], []
    for row in summary.to_dict("records"):
        rank = list(METHODS).index(row["method"])  # the same look in each figure
        error = _errors(pd.DataFrame([row]))
        if not np.isfinite(error).all():
            continue
        style: dict[str, Any] = {
            "color": BLACK if row["method"] == OURS else colours[rank % len(colours)],
            "marker": "*" if row["method"] == OURS else MARKERS[1 + rank % (len(MARKERS) - 2)],
            "markersize": 11 if row["method"] == OURS else 7,
            "linestyle": "none",
            "label": METHODS[row["method"]],
            "zorder": 3,
        }
        alignments = numbers(pd.Series([row["alignments_per_query_mean"]]))
        told.append(f"{METHODS[row['method']]} {percent(float(row['accuracy_mean']))}")
        if alignments[0] > 0:
            counted.plot(alignments, error, **style)
        else:
            places.append(row["method"])
            beside.plot([len(places)], error, **style)
    counted.set_xscale("log")
    counted.set_xlabel("alignments per query")
    counted.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    counted.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    counted.xaxis.set_minor_formatter(NullFormatter())
    counted.set_ylabel("accuracy, %")
    beside.set_xlim(0, len(places) + 1)
    beside.set_xticks([])
    beside.set_xlabel("no count")
    _scale_of_accuracy(counted)
    figure.legend(loc="outside lower center", ncols=2)
    figure.set_label(f"Accuracies: {', '.join(told)}." if told else "")
    return figure


def _errors(table: pd.DataFrame) -> FloatArray:
    errors: FloatArray = np.maximum(1 - numbers(table["accuracy_mean"]), _LEAST_ERROR)
    return errors


def _scale_of_accuracy(axes: Axes) -> None:
    axes.set_yscale("log")
    lower, upper = axes.get_ylim()
    lower = lower / 1.2 if lower > 0 else _LEAST_ERROR  # 0 where nothing is drawn
    axes.set_ylim(min(1.0, upper * 1.2), lower)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * (1 - value):.6g}"))
