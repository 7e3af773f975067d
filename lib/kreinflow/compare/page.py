"""The page of the comparison: one HTML file, with accuracy against what a query costs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from kreinflow.compare.methods import METHODS, OURS
from kreinflow.report import figures as look
from kreinflow.report.html import image, page_environment
from kreinflow.report.tables import laid_out, numbers

_LEAST_ERROR = 1e-4  # where a method without any errors is drawn
TEMPLATES = Path(__file__).parent / "data"


def render_page(
    tables: Mapping[str, pd.DataFrame], budgets: Mapping[str, pd.DataFrame], threads: int
) -> str:
    """Return the page as HTML, with both tables of each data set."""
    parts = {
        name: [
            _part(str(kind), part, budgets[name][budgets[name]["folds"] == kind])
            for kind, part in table.groupby("folds", sort=False)
        ]
        for name, table in tables.items()
    }
    template = page_environment(TEMPLATES).get_template("page.html.j2")
    return template.render(threads=threads, datasets=parts)


def _part(kind: str, summary: pd.DataFrame, budgets: pd.DataFrame) -> dict[str, Any]:
    with look.drawing_style():
        figure = image(look.figure_svg(cost_figure(summary, budgets)))
    told = [
        "; ".join(filter(None, [version, reason and f"not run: {reason}"]))
        for version, reason in zip(summary["version"], summary["reason"], strict=True)
    ]
    named = summary.assign(method=summary["method"].map(METHODS), version=told)
    for part in ("mean", "sd"):
        named[f"model_kb_{part}"] = 1e-3 * numbers(summary[f"model_bytes_{part}"])
    ours = set(np.flatnonzero(summary["method"] == OURS).tolist())
    return {
        "folds": kind,
        "table": laid_out(named, "compare", ours),
        "image": figure,
        "budgets": laid_out(budgets, "budgets"),
    }


def cost_figure(summary: pd.DataFrame, budgets: pd.DataFrame) -> Figure:
    """Draw the accuracy of each method against the alignments that a query takes.

    Accuracy is logarithmic in the share of errors; methods without a count stand beside.
    """
    figure = look.canvas(4.4)
    counted, beside = figure.subplots(1, 2, sharey=True, width_ratios=[5, 1])
    look.logarithmic(counted)
    ours = budgets.assign(x=numbers(budgets["alignments_per_query_mean"])).sort_values("x")
    label = "kreinflow, chosen on inner folds within each selector"
    line: dict[str, Any] = {"color": look.BLUE, "marker": "o", "markersize": 5, "linewidth": 1.4}
    errors = np.maximum(1 - numbers(ours["accuracy_mean"]), _LEAST_ERROR)
    counted.plot(ours["x"], errors, **line, label=label)
    colours = [colour for colour in look.PALETTE if colour not in (look.BLUE, look.BLACK)]
    markers = look.MARKERS[1:-1]
    unknown, told = 0, []
    measures = (numbers(summary[f"{name}_mean"]) for name in ("accuracy", "alignments_per_query"))
    for method, accuracy, alignments in zip(summary["method"], *measures, strict=True):
        if np.isnan(accuracy):
            continue
        rank = list(METHODS).index(method)  # the same look in each figure
        style = look.dots(colours[rank % len(colours)], 7, markers[rank % len(markers)])
        style = look.dots(look.BLACK, 11, "*") if method == OURS else style
        told.append(f"{METHODS[method]} {look.percent(accuracy)}")
        unknown += not alignments > 0
        axes, x = (counted, alignments) if alignments > 0 else (beside, unknown)
        axes.plot(x, max(1 - accuracy, _LEAST_ERROR), **style, label=METHODS[method], zorder=3)
    counted.set(xlabel="alignments per query", ylabel="accuracy, %")
    beside.set(xlim=(0, unknown + 1), xticks=[], xlabel="no count")
    counted.set_yscale("log")
    lower, upper = counted.get_ylim()
    lower = lower / 1.2 if lower > 0 else _LEAST_ERROR  # 0 where nothing is drawn
    counted.set_ylim(min(1.0, upper * 1.2), lower)
    counted.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    counted.yaxis.set_minor_locator(NullLocator())
    counted.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * (1 - value):.6g}"))
    figure.legend(loc="outside lower center", ncols=2)
    figure.set_label(f"Accuracies: {', '.join(told)}." if told else "")
    return figure
