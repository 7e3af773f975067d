"""The page of the comparison: one HTML file, with accuracy against what a query costs."""

from collections.abc import Iterable, Mapping
from pathlib import Path
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
    figure_svg,
    percent,
)
from kreinflow.report.html import image, page_environment
from kreinflow.report.tables import PageTable, cells, intervals, numbers, p_values, pairs, table_of

_LEAST_ERROR = 1e-4  # where a method without any errors is drawn
TEMPLATES = Path(__file__).parent / "data"


def render_page(
    tables: Mapping[str, pd.DataFrame],
    budgets: Mapping[str, pd.DataFrame],
    left_out: Mapping[str, Mapping[str, str]],
    threads: int,
) -> str:
    """Return the page as HTML: of each data set both tables, and what stands for kinds not run."""
    environment = page_environment(TEMPLATES)
    return environment.get_template("page.html.j2").render(
        threads=threads,
        datasets=[
            {
                "name": name,
                "parts": [
                    _part(str(kind), part, budgets[name][budgets[name]["folds"] == kind])
                    for kind, part in table.groupby("folds", sort=False)
                ],
                "left_out": left_out[name],
            }
            for name, table in tables.items()
        ],
    )


def _part(kind: str, summary: pd.DataFrame, budgets: pd.DataFrame) -> dict[str, Any]:
    """Return what there is of one kind of folds."""
    choices: dict[str, Iterable[object]] = {
        "selector": budgets["selector"],
        "alignments per query": cells(budgets["alignments_per_query_mean"], ",.1f"),
        "accuracy, %": pairs(budgets, "accuracy", ",.3f", 100),
        "recipes chosen": budgets["recipes"],
    }
    return {
        "folds": kind,
        "table": _table(summary),
        "image": image(figure_svg(cost_figure(summary, budgets))),
        "budgets": table_of(choices, text={0, 3}, wrapped=3),
    }


def _table(summary: pd.DataFrame) -> PageTable:
    columns: dict[str, Iterable[object]] = {
        "method": [METHODS[name] for name in summary["method"]],
        "accuracy, %": pairs(summary, "accuracy", ",.2f", 100),
        "against ours": cells(summary["difference_records"], "+.2f", 100),
        "95 % interval": intervals(summary, "+.2f", 100),
        "p (Holm)": p_values(summary["p_records_holm"]),
        "t-test, p (Holm)": p_values(summary["p_folds_holm"]),
        "macro F1, %": pairs(summary, "macro_f1", ",.2f", 100),
        "unassigned, %": pairs(summary, "unassigned", ",.2f", 100),
        "seconds to train": pairs(summary, "train_seconds", ",.2f"),
        "per 1,000 queries": pairs(summary, "query_seconds", ",.2f"),
        "alignments per query": pairs(summary, "alignments_per_query", ",.0f"),
        "model, kB": pairs(summary, "model_bytes", ",.0f", 1e-3),
        "folds": summary["tested_folds"],
        "version or recipe": [
            "; ".join(filter(None, [version, reason and f"not run: {reason}"]))
            for version, reason in zip(summary["version"], summary["reason"], strict=True)
        ],
    }
    ours = set(np.flatnonzero(summary["method"] == OURS).tolist())
    last = len(columns) - 1
    return table_of(columns, {0, last}, ours, last)


@drawing_style()
def cost_figure(summary: pd.DataFrame, budgets: pd.DataFrame) -> Figure:
    """Draw the accuracy of each method against the alignments that a query takes.

    Accuracy is logarithmic in the share of errors; methods without a count stand beside.
    """
    figure = canvas(4.4)
    counted, beside = figure.subplots(1, 2, sharey=True, width_ratios=[5, 1])
    ours = budgets.assign(x=numbers(budgets["alignments_per_query_mean"])).sort_values("x")
    label = "kreinflow, chosen on inner folds within each selector"
    line: dict[str, Any] = {"color": BLUE, "marker": "o", "markersize": 5, "linewidth": 1.4}
    counted.plot(ours["x"], _errors(ours), **line, label=label)
    colours = [colour for colour in PALETTE if colour not in (BLUE, BLACK)]
    unknown, told = 0, []
    for row in summary.to_dict("records"):
        rank = list(METHODS).index(row["method"])  # the same look in each figure
        error = _errors(pd.DataFrame([row]))
        if not np.isfinite(error).all():
            continue
        look = colours[rank % len(colours)], MARKERS[1 + rank % (len(MARKERS) - 2)], 7
        colour, marker, size = (BLACK, "*", 11) if row["method"] == OURS else look
        style: dict[str, Any] = {"color": colour, "marker": marker, "markersize": size}
        style |= {"linestyle": "none", "label": METHODS[row["method"]], "zorder": 3}
        alignments = numbers(pd.Series([row["alignments_per_query_mean"]]))
        told.append(f"{METHODS[row['method']]} {percent(float(row['accuracy_mean']))}")
        if alignments[0] > 0:
            counted.plot(alignments, error, **style)
        else:
            unknown += 1
            beside.plot([unknown], error, **style)
    counted.set_xscale("log")
    counted.set_xlabel("alignments per query")
    counted.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    counted.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    counted.xaxis.set_minor_formatter(NullFormatter())
    counted.set_ylabel("accuracy, %")
    beside.set_xlim(0, unknown + 1)
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
