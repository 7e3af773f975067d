"""Figures of the probabilities: what is rejected by them, and how often they are right."""

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.metrics import CALIBRATION_BINS, INNER_CHOICE
from kreinflow.report import figures as look
from kreinflow.report.tables import numbers

_CLASSES = 12  # held out as unknown that are drawn


def stressed_recipes(comparison: pd.DataFrame) -> list[str]:
    """Return the recipes that have a colour of their own: the best few, and the inner choice."""
    names = comparison["recipe"].astype(str).tolist()
    recipes = [name for name in names if name != INNER_CHOICE]
    return recipes[: look.STRESSED] + [INNER_CHOICE] * (INNER_CHOICE in names)


@look.drawing_style()
def reject_figure(
    reject_curve: pd.DataFrame, comparison: pd.DataFrame, several: bool = False
) -> Figure:
    """Draw the errors that remain when the least certain predictions are set aside.

    The axes show the errors of :func:`stressed_recipes`; lines of the rest may leave them. If
    records may have several labels, a prediction is a label that a record was given.
    """
    figure, (axes, *_) = _curves(3.4, reject_curve, "coverage", "error", comparison)
    stressed = reject_curve["recipe"].astype(str).isin(stressed_recipes(comparison))
    coverage, error = (numbers(reject_curve.loc[stressed, name]) for name in ("coverage", "error"))
    first = min(coverage[error > 0], default=1.0)
    axes.set_xlim(min(math.floor(10 * first), 9) / 10, 1)
    axes.set_ylim(0, max(1.5 * max(error, default=0.0), 0.001))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g}%"))
    what = "labels given and" if several else "predictions"
    axes.set_xlabel(f"{what} kept, the most certain first")
    axes.set_ylabel("errors among the kept")
    return figure


@look.drawing_style()
def unknown_figure(
    curve: pd.DataFrame,
    summary: pd.DataFrame,
    families: pd.DataFrame,
    comparison: pd.DataFrame,
) -> Figure:
    """Draw the share of unknown objects that is rejected against that of the known, and why.

    Parameters
    ----------
    curve, summary, families : DataFrame
        From :func:`kreinflow.evaluation.unknown.rejection_curve`, ``rejection_summary`` and
        ``rejected_families``. Of classes the largest few are shown.
    comparison : DataFrame
    """
    figure, (axes, beside) = _curves(
        4.2, curve, "known_rejected", "unknown_rejected", comparison, unknown=True
    )
    stands = summary["recipe"].astype(str).to_numpy()
    stressed = stressed_recipes(comparison)
    for name, style in look.styles(stressed).items():
        axes.plot(
            numbers(summary["known_rejected_mean"])[stands == name],
            numbers(summary["unknown_rejected_mean"])[stands == name],
            color=style["color"],
            linestyle="none",
            marker=style["marker"],
            markersize=8 if name == stressed[0] else 5,
            zorder=4,
            clip_on=False,
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("objects of known classes rejected")
    axes.set_ylabel("objects of unknown classes rejected")
    own = [table[table["recipe"].astype(str) == stressed[0]] for table in (summary, families)]
    _draw_reasons(beside, *own)
    return figure


def _draw_reasons(axes: Axes, summary: pd.DataFrame, families: pd.DataFrame) -> None:
    """Draw for what reasons known objects and those of each unknown class are rejected."""
    order = np.argsort(-numbers(families["records"]), kind="stable")[:_CLASSES]
    classes = families.iloc[order]
    names = ["all known", *classes["class"]]
    places, left = np.arange(len(names)), np.zeros(len(names))
    for (reason, name), colour in zip(AS.items(), (look.SKY, look.ORANGE, look.BLUE), strict=True):
        shares = np.concatenate([numbers(summary[f"known_{name}_mean"]), numbers(classes[name])])
        axes.barh(places, shares, 0.7, left=left, color=colour, label=reason)
        left = left + shares
    look.name_rows(axes, names)
    axes.set_xlim(0, 1)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("rejected, by reason")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handlelength=0.8)


def _curves(
    height: float,
    curve: pd.DataFrame,
    x: str,
    y: str,
    comparison: pd.DataFrame,
    unknown: bool = False,
) -> tuple[Figure, list[Axes]]:
    """Draw a line for each recipe: the first stressed one thick, those not stressed pale.

    Those of unknown objects have a diagonal, and empty axes beside them.
    """
    recipe = curve["recipe"].astype(str)
    stressed = stressed_recipes(comparison)
    others = sorted(set(recipe) - set(stressed))
    figure = look.canvas(height + 0.16 * math.ceil((len(stressed) + bool(others)) / 2))
    both = figure.subplots(1, 1 + unknown, squeeze=False, width_ratios=[3, 2][: 1 + unknown])
    axes = both[0, 0]
    if unknown:
        axes.plot([0, 1], [0, 1], color=look.GREY, linestyle="--", linewidth=1)
    lines: list[tuple[str, dict[str, Any]]] = []
    for name, style in look.styles(stressed).items():
        best = name == stressed[0]
        drawn = {"color": style["color"], "linestyle": style["linestyle"]}
        drawn |= {"linewidth": 2.6 if best else 1.2, "zorder": 3 if best else 2.5}
        lines.append((name, drawn | {"label": look.recipe_label(name, best)}))
    for i, name in enumerate(others):
        label = None if i else look.others_label(len(others))
        lines.append((name, {"color": look.PALE, "linewidth": 0.8, "zorder": 2, "label": label}))
    for name, drawn in lines:
        rows = curve[recipe == name]
        axes.plot(numbers(rows[x]), numbers(rows[y]), **drawn)
    figure.legend(loc="outside lower center", ncols=2)
    return figure, list(both[0])


@look.drawing_style()
def calibration_figure(calibration: pd.DataFrame, best: str, several: bool = False) -> Figure:
    """Draw accuracy against probability, above how many predictions of the best recipe have it.

    The pale boxes are where the accuracy of the best recipe would be, were its probabilities
    perfect.

    Parameters
    ----------
    calibration : DataFrame
        From :func:`kreinflow.evaluation.metrics.calibration_bins`.
    best : str
        The recipe to draw, beside the inner choice if there is one.
    several : bool
        Whether records may have several labels, each with a probability of its own.
    """
    recipe = calibration["recipe"].astype(str)
    figure = look.canvas(4.6, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    above.plot([0, 1], [0, 1], color=look.GREY, linestyle="--", linewidth=1)
    own = calibration[recipe == best]
    lower, count = numbers(own["lower"]), numbers(own["count"])
    bottom, top = numbers(own["perfect_low"]), numbers(own["perfect_high"])
    bars = {"width": 1 / CALIBRATION_BINS, "align": "edge", "edgecolor": "white"}
    above.bar(lower, top - bottom, bottom=bottom, color=look.PALE, label="perfect", **bars)
    for name, colour, marker in ((INNER_CHOICE, look.GREEN, "D"), (best, look.BLUE, "o")):
        rows = calibration[recipe == name]
        if rows.empty:
            continue
        above.plot(
            numbers(rows["confidence"]),
            numbers(rows["accuracy"]),
            color=colour,
            marker=marker,
            markersize=4,
            linewidth=1,
            label=look.recipe_label(name, name == best),
        )
    above.set_ylim(-0.02, 1.04)
    share = "records that have it" if several else "accuracy"
    above.set_ylabel(f"{share} (boxes: 95 % ranges)")
    figure.legend(loc="outside upper left", ncols=3)
    below.bar(lower, count, color=look.SKY, **bars)
    below.set_yscale("log")
    below.set_ylim(0.8, max(2.0, float(count.max()) * 2))
    below.yaxis.set_major_formatter(look.thousands())
    below.set_yticks([], minor=True)
    below.set_xlim(0, 1.01)
    below.set_xlabel(f"probability given to the {'label' if several else 'prediction'}")
    below.set_ylabel("labels of records" if several else "predictions")
    return figure
