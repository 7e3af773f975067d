"""The figures of the report: each function returns one, :func:`save_figure` writes it as SVG.

Figures are drawn without pyplot, with colours that the colour-blind can tell apart (Okabe and Ito),
and come out byte-identical from the same tables. Tables have the columns that
:mod:`kreinflow.evaluation.metrics` documents; numbers may be text, as empty cells make them.
"""

import io
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

from kreinflow.artifacts import write_text
from kreinflow.evaluation.comparison import SIGNIFICANCE
from kreinflow.evaluation.metrics import CALIBRATION_BINS, INNER_CHOICE
from kreinflow.numerics import FloatArray
from kreinflow.report.times import times_by_stage

BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#222222", "#767676"
PALE = "#BDBDBD"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")

WIDTH = 7.4  # inches
LABEL_LENGTH = 28
SIDE_BY_SIDE = 25
"""The histogram of lengths stands beside the bars of so many classes, below those of more."""
MARKED_CELLS = 150
"""Errors of a large confusion matrix are printed as numbers if they are no more cells than this."""
STRESSED = 6
"""Of many recipes so many have a colour and a name in figures that show all; the rest are grey."""

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "kreinflow",
    "svg.fonttype": "path",  # looks the same wherever it is opened
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E2E2E2",
    "grid.linewidth": 0.6,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
}


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw with the letters, lines and grid of the report, whatever the user's settings are."""
    # From matplotlib's own defaults, so that a matplotlibrc of the user's changes no byte.
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def figure_svg(figure: Figure) -> str:
    """Return a figure as the text of an SVG, without date or version."""
    buffer = io.StringIO()
    with drawing_style():
        figure.savefig(
            buffer,
            format="svg",
            bbox_inches="tight",
            pad_inches=0.08,
            metadata={"Date": None, "Creator": None},
        )
    return buffer.getvalue()


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as SVG, atomically and byte-identical for the same figure."""
    write_text(path, figure_svg(figure))


def canvas(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure of so many inches."""
    return Figure(figsize=(width, height), layout="constrained")


def numbers(column: "pd.Series[Any]") -> FloatArray:
    """Return a column as numbers; empty cells, which come back from a file as text, are NaN."""
    return pd.to_numeric(column, errors="coerce").to_numpy(np.float64)


def flags(column: "pd.Series[Any]") -> "pd.Series[bool]":
    """Return a column as booleans, whether it holds them or their text."""
    return column.astype(str).str.lower() == "true"


def measured(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of outer folds: those of the final model have a negative repeat."""
    return table[numbers(table["repeat"]) >= 0]


def short_label(text: object) -> str:
    """Shorten a label in its middle, and keep it as it is: no formula, and shown in legends."""
    label = " ".join(str(text).split())
    if len(label) > LABEL_LENGTH:
        half = LABEL_LENGTH // 2
        label = f"{label[:half]}…{label[-(half - 1) :]}"
    # matplotlib leaves out of legends what begins with "_": a space without width goes before it.
    return re.sub(r"^_", "\u200b_", re.sub(r"([$])", r"\\\1", label))


def _whole(axes: Axes, which: str) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _rows_height(n: float, least: float = 1.6) -> float:
    """Height in inches of a figure with n labelled rows."""
    return max(least, 0.9 + 0.17 * n)


def _name_rows(axes: Axes, names: Sequence[object]) -> None:
    axes.set_yticks(np.arange(len(names)), [short_label(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0, labelsize=8 if len(names) <= 30 else 7)


def styles(names: Sequence[str], colours: Sequence[str] = PALETTE) -> dict[str, dict[str, Any]]:
    """Give each name a colour, dash and marker of its own, in their order."""
    return {
        name: {
            "color": colours[i % len(colours)],
            "linestyle": DASHES[i % len(DASHES)],  # 7 colours x 4 dashes: 28 that differ
            "marker": MARKERS[i % len(MARKERS)],
        }
        for i, name in enumerate(names)
    }


def stressed_recipes(comparison: pd.DataFrame) -> list[str]:
    """Return the recipes that have a colour of their own: the best few, and the inner choice.

    Parameters
    ----------
    comparison : DataFrame
        From :func:`kreinflow.evaluation.comparison.compare_recipes`, best accuracy first.
    """
    names = comparison["recipe"].astype(str).tolist()
    recipes = [name for name in names if name != INNER_CHOICE]
    return recipes[:STRESSED] + [INNER_CHOICE] * (INNER_CHOICE in names)


@drawing_style()
def classes_figure(class_sizes: Mapping[str, int], lengths: Sequence[int]) -> Figure:
    """Draw the sizes of the classes, and a histogram of the lengths.

    Parameters
    ----------
    class_sizes : mapping of str to int
        Records of each class.
    lengths : sequence of int
        Residues of each distinct sequence; none, or zeros, for a matrix.
    """
    names = sorted(class_sizes, key=lambda name: (-class_sizes[name], name))
    sizes = [class_sizes[name] for name in names]
    residues = np.asarray(lengths, dtype=np.float64)
    with_lengths = bool(residues.size and residues.max() > 0)
    height = _rows_height(len(names), 2.6)
    if not with_lengths:
        figure = canvas(height)
        panels = [figure.subplots()]
    elif len(names) <= SIDE_BY_SIDE:
        figure = canvas(height)
        panels = list(figure.subplots(1, 2))
    else:
        figure = canvas(height + 2.2)
        panels = list(figure.subplots(2, 1, height_ratios=[height, 2.2]))
    panels[0].barh(np.arange(len(names)), sizes, height=0.72, color=BLUE)
    _name_rows(panels[0], names)
    panels[0].set_xlabel("records")
    _whole(panels[0], "x")
    if with_lengths:
        panels[1].hist(residues, bins=min(40, max(5, int(np.sqrt(residues.size)))), color=SKY)
        panels[1].axvline(float(np.median(residues)), color=BLACK, linewidth=1)
        panels[1].set_title(f"black line: median, {np.median(residues):,.0f}", loc="left")
        panels[1].set_xlabel("length of distinct sequences (residues)")
        panels[1].set_ylabel("sequences")
        _whole(panels[1], "x")
        _whole(panels[1], "y")
    return figure


@drawing_style()
def landmarks_figure(landmarks: pd.DataFrame) -> Figure:
    """Draw the number of landmarks of each class: mean over folds, and their range.

    Parameters
    ----------
    landmarks : DataFrame
        With columns selector, repeat, fold, class; one row a landmark of a fold.
    """
    rows = measured(landmarks)
    selectors = list(dict.fromkeys(rows["selector"].astype(str)))
    names = sorted(set(rows["class"].astype(str)))
    figure = canvas(_rows_height(len(names) * (0.7 + 0.2 * len(selectors)), 2.2))
    axes = figure.subplots()
    for i, (selector, style) in enumerate(styles(selectors).items()):
        of_selector = rows[rows["selector"].astype(str) == selector]
        counts = of_selector.groupby(["repeat", "fold", of_selector["class"].astype(str)]).size()
        table = counts.unstack("class", fill_value=0).reindex(columns=names, fill_value=0)
        at = np.arange(len(names)) + (i - (len(selectors) - 1) / 2) * 0.7 / len(selectors)
        axes.hlines(at, table.min(), table.max(), color=style["color"], linewidth=1.4, alpha=0.55)
        axes.plot(
            table.mean(),
            at,
            linestyle="none",
            marker=style["marker"],
            markersize=3.5,
            color=style["color"],
            label=f"{short_label(selector)} ({table.sum(axis=1).mean():,.0f} in all)",
        )
    _name_rows(axes, names)
    axes.set_xlim(left=0)
    axes.set_xlabel("landmarks of a fold (mark: mean, line: range over folds)")
    _whole(axes, "x")
    figure.legend(loc="outside upper left", ncols=2)
    return figure


@drawing_style()
def spectrum_figure(spectrum: pd.DataFrame) -> Figure:
    """Draw the eigenvalues of the approximated kernel, positive and negative ones.

    One panel for each selector, transform and rank, of the first fold. Eigenvalues are divided by
    the largest magnitude; the axis is linear within 1e-4 around zero and logarithmic outside.

    Parameters
    ----------
    spectrum : DataFrame
        With columns selector, transform, rank_wanted, correction, repeat, fold, eigenvalue; only
        correction ``none`` is drawn.
    """
    rows = measured(spectrum)
    rows = rows[rows["correction"] == "none"]
    groups = [
        (key, part)
        for key, part in rows.groupby(["selector", "transform", "rank_wanted"], sort=False)
    ]
    columns = min(3, len(groups))
    lines = math.ceil(len(groups) / columns)
    figure = canvas(0.5 + 2.2 * lines, max(3.8, WIDTH * columns / 3))
    panels = figure.subplots(lines, columns, squeeze=False, sharey=True)
    for axes, (key, part) in zip(panels.flat, groups, strict=False):
        first = part[["repeat", "fold"]].drop_duplicates().sort_values(["repeat", "fold"]).iloc[0]
        one = part[(part["repeat"] == first["repeat"]) & (part["fold"] == first["fold"])]
        values = np.sort(numbers(one["eigenvalue"]))[::-1]
        _draw_spectrum(axes, values)
        axes.set_title(_spectrum_title(key, values, len(groups)), loc="left", fontsize=8)
        axes.set_xlabel("eigenvalue, by size")
    for axes in panels[:, 0]:
        axes.set_ylabel("share of the largest")
    for axes in panels.flat[len(groups) :]:
        axes.set_axis_off()
    return figure


def _draw_spectrum(axes: Axes, values: FloatArray) -> None:
    shares = values / max(float(np.abs(values).max()), np.finfo(float).tiny)
    edges = np.arange(len(shares) + 1) + 0.5
    for colour, part in ((BLUE, shares > 0), (VERMILION, shares < 0)):
        if part.any():  # sorted, so that each part is one run
            start, stop = np.flatnonzero(part)[[0, -1]]
            shown = shares[start : stop + 1]
            axes.stairs(shown, edges[start : stop + 2], fill=True, color=colour, linewidth=0)
    axes.axhline(0, color=BLACK, linewidth=0.6)
    axes.set_yscale("symlog", linthresh=1e-4)
    axes.set_ylim(-1.5, 1.5)
    axes.set_yticks([-1, -1e-2, -1e-4, 0, 1e-4, 1e-2, 1])
    axes.set_yticks([], minor=True)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(0, len(shares) + 1)
    _whole(axes, "x")


def _spectrum_title(key: tuple[Any, ...], values: FloatArray, groups: int) -> str:
    selector, transform, rank = key
    negative = values[values < 0]
    share = float(np.abs(negative).sum() / max(np.abs(values).sum(), np.finfo(float).tiny))
    name = f"{short_label(selector)}, {transform}"
    if str(rank) != "misfit":
        name += f", rank {rank}"
    return f"{name}\n{np.sum(values > 0)} positive, {len(negative)} negative ({share:.1%})"


@drawing_style()
def comparison_figure(comparison: pd.DataFrame) -> Figure:
    """Draw mean and standard deviation of the accuracy of each recipe.

    Parameters
    ----------
    comparison : DataFrame
        From :func:`kreinflow.evaluation.comparison.compare_recipes`.
    """
    names = comparison["recipe"].astype(str).tolist()
    means, deviations = numbers(comparison["accuracy_mean"]), numbers(comparison["accuracy_sd"])
    best, alike = flags(comparison["best"]), flags(comparison["indistinguishable"])
    figure = canvas(_rows_height(len(names) * (1.5 if len(names) <= 20 else 1.0), 2.0))
    axes = figure.subplots()
    groups = (
        ("best on the outer folds", best, BLUE, "o", BLUE),
        ("not distinguishable from it", alike, BLUE, "o", "white"),
        ("chosen by inner folds", comparison["recipe"] == INNER_CHOICE, GREEN, "D", GREEN),
        (f"worse (p < {SIGNIFICANCE:g}), or not tested", None, GREY, "s", "white"),
    )
    left = np.ones(len(names), dtype=bool)
    for text, chosen, colour, marker, face in groups:
        part = left if chosen is None else np.asarray(chosen, dtype=bool)
        left = left & ~part
        if part.any():
            axes.errorbar(
                means[part],
                np.flatnonzero(part),
                xerr=np.nan_to_num(deviations[part]),
                linestyle="none",
                marker=marker,
                markersize=5,
                color=colour,
                markerfacecolor=face,
                elinewidth=1.2,
                label=text,
            )
    _name_rows(axes, names)
    axes.set_xlabel("accuracy on the outer folds (mean, standard deviation)")
    figure.legend(loc="outside upper left", ncols=2)
    return figure


@drawing_style()
def confusion_figure(confusion: pd.DataFrame, recipe: str, classes: Sequence[str]) -> Figure:
    """Draw the confusion matrix of one recipe, each row divided by its sum.

    Right predictions are blue, errors vermilion, so that rare errors are seen.

    Parameters
    ----------
    confusion : DataFrame
        From :func:`kreinflow.evaluation.metrics.confusion`.
    recipe : str
    classes : sequence of str
        Rows and columns, in this order: similar ones side by side, from
        :func:`kreinflow.models.landmark_map.similar_classes`.
    """
    rows = confusion[confusion["recipe"].astype(str) == recipe]
    place = {name: i for i, name in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)))
    true = rows["true"].astype(str).map(place).to_numpy(np.intp)
    predicted = rows["predicted"].astype(str).map(place).to_numpy(np.intp)
    counts[true, predicted] = numbers(rows["count"])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    n = len(classes)
    side = min(9.0, max(3.6, 2.0 + 0.3 * n))
    figure = canvas(side, side + 0.3)
    axes = figure.subplots()
    diagonal = np.eye(n, dtype=bool)
    for colour, masked in ((BLUE, ~diagonal), (VERMILION, diagonal)):
        axes.imshow(
            np.ma.array(shares, mask=masked | (shares == 0)),
            cmap=LinearSegmentedColormap.from_list("share", ["#FFFFFF", colour]),
            norm=PowerNorm(0.5, 0, 1),
            interpolation="none",
        )
    size = 8.0 if n <= 15 else max(4.0, 300 / n / 2)
    errors = int(np.sum((counts > 0) & ~diagonal))
    for i, j in zip(*np.nonzero(counts), strict=True):
        if n <= 15 or (i != j and errors <= MARKED_CELLS):
            text = f"{counts[i, j]:.3g}" if counts[i, j] < 1000 else f"{counts[i, j]:.0f}"
            dark = shares[i, j] > 0.35
            axes.text(
                j,
                i,
                text,
                ha="center",
                va="center",
                fontsize=size if len(text) <= 3 else size * 0.8,
                color="white" if dark else BLACK,
            )
    tick_size = 8.0 if n <= 20 else max(5.5, 230 / n)
    labels = [short_label(name) for name in classes]
    axes.set_xticks(np.arange(n), labels, rotation=90, fontsize=tick_size)
    axes.set_yticks(np.arange(n), labels, fontsize=tick_size)
    axes.set_xticks(np.arange(n + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(n + 1) - 0.5, minor=True)
    axes.grid(visible=False)
    axes.grid(which="minor", color="#EBEBEB", linewidth=0.4)
    axes.tick_params(which="both", length=0)
    axes.set_xlabel("predicted")
    axes.set_ylabel("true")
    axes.set_title(short_label(recipe), loc="left")
    return figure


def _best_for_their_cost(costs: FloatArray, accuracies: FloatArray) -> list[int]:
    """Return the places that nothing cheaper, or as cheap, exceeds: the most accurate first."""
    front: list[int] = []
    for i in np.lexsort((costs, -accuracies)).tolist():
        if not front or costs[i] < costs[front[-1]]:
            front.append(i)
    return front


@drawing_style()
def alignments_figure(
    summary: pd.DataFrame, models: pd.DataFrame, best: str, distinct: int, unit: str = "alignments"
) -> Figure:
    """Draw accuracy against what a new object costs.

    Parameters
    ----------
    summary : DataFrame
        From :func:`kreinflow.evaluation.metrics.summary`.
    models : DataFrame
        With columns recipe, repeat, alignments_per_query; one row a recipe and fold.
    best : str
        The recipe to stress.
    distinct : int
        Distinct objects of the data set: what a method without landmarks compares with.
    unit : str
        What is counted: alignments, or scores for a matrix.
    """
    rows = measured(models)
    costs = pd.Series(
        numbers(rows["alignments_per_query"]), index=rows["recipe"].astype(str).to_numpy()
    )
    cost = costs.groupby(level=0).mean()
    table = summary[summary["recipe"].astype(str).isin(set(cost.index))]
    names = table["recipe"].astype(str).tolist()
    prices = np.asarray(cost.loc[names], dtype=np.float64)
    x = np.log10(np.maximum(prices, 1.0))
    y, spread = numbers(table["accuracy_mean"]), numbers(table["accuracy_sd"])
    limits = (x.min() - 0.15, max(math.log10(max(distinct, 1)), x.max()) + 0.15)
    by_accuracy = sorted(range(len(names)), key=lambda i: (-y[i], names[i] != best))
    front = _best_for_their_cost(prices, y)[:STRESSED]
    chosen = {*front, *[i for i in by_accuracy if i not in front][: STRESSED + 1 - len(front)]}
    stressed = [i for i in by_accuracy if i in chosen]
    others = [i for i in range(len(names)) if i not in stressed]
    # Recipes with the same landmarks cost the same: set those with a name side by side.
    for value in np.unique(np.round(x[stressed], 2)):
        same = [i for i in stressed if np.round(x[i], 2) == value]
        step = (limits[1] - limits[0]) * 0.016
        x[same] += (np.arange(len(same)) - (len(same) - 1) / 2) * step
    shown = [names[i] for i in stressed]
    figure = canvas(3.4 + 0.16 * math.ceil((len(shown) + 2) / 2))
    axes = figure.subplots()
    handles: list[Any] = []
    for i, style in zip(stressed, styles(shown).values(), strict=True):
        name = names[i]
        bars = axes.errorbar(
            10 ** x[i],
            y[i],
            yerr=np.nan_to_num(spread[i]),
            linestyle="none",
            marker=style["marker"],
            markersize=9 if name == best else 5.5,
            markeredgecolor=BLACK if name == best else style["color"],
            color=style["color"],
            elinewidth=0.8,
            label=short_label(name) + (" (best)" if name == best else ""),
            zorder=3,
        )
        handles.append(bars)
    if others:
        handles += axes.plot(
            10 ** x[others],
            y[others],
            linestyle="none",
            marker="o",
            markersize=4,
            color=PALE,
            label=f"{len(others)} other recipes (see the table)",
        )
    everything = axes.axvline(distinct, color=GREY, linestyle="--", linewidth=1)
    everything.set_label(f"all {distinct:,} distinct objects")
    axes.set_xscale("log")
    axes.set_xlim(10 ** (limits[0] - 0.05), 10 ** (limits[1] + 0.05))
    low, high = axes.get_xlim()
    ticks = [v * 10**e for e in range(7) for v in (1, 2, 5) if low <= v * 10**e <= high]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(f"{unit} of a new object")
    axes.set_ylabel("accuracy")
    figure.legend(handles=[*handles, everything], loc="outside lower center", ncols=2)
    return figure


@drawing_style()
def reject_figure(reject_curve: pd.DataFrame, comparison: pd.DataFrame) -> Figure:
    """Draw the errors that remain when the least certain predictions are set aside.

    The axes show the errors of :func:`stressed_recipes`; lines of the rest may leave them.

    Parameters
    ----------
    reject_curve : DataFrame
        From :func:`kreinflow.evaluation.metrics.reject_curve`.
    comparison : DataFrame
        From :func:`kreinflow.evaluation.comparison.compare_recipes`.
    """
    recipe = reject_curve["recipe"].astype(str)
    stressed = stressed_recipes(comparison)
    others = sorted(set(recipe) - set(stressed))
    figure = canvas(3.4 + 0.16 * math.ceil((len(stressed) + bool(others)) / 2))
    axes = figure.subplots()
    first, highest = 1.0, 0.0
    for name in stressed:
        rows = reject_curve[recipe == name]
        coverage, error = numbers(rows["coverage"]), numbers(rows["error"])
        first, highest = min([first, *coverage[error > 0]]), max([highest, *error])
    _draw_curves(axes, reject_curve, "coverage", "error", stressed)
    axes.set_xlim(min(math.floor(10 * first), 9) / 10, 1)
    axes.set_ylim(0, max(1.5 * highest, 0.001))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g}%"))
    axes.set_xlabel("predictions kept, the most certain first")
    axes.set_ylabel("errors among the kept")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _draw_curves(axes: Axes, curve: pd.DataFrame, x: str, y: str, stressed: Sequence[str]) -> None:
    """Draw a line for each recipe: the first stressed one thick, those not stressed pale."""
    recipe = curve["recipe"].astype(str)
    for name, style in styles(stressed).items():
        rows = curve[recipe == name]
        best = name == stressed[0]
        axes.plot(
            numbers(rows[x]),
            numbers(rows[y]),
            color=style["color"],
            linestyle=style["linestyle"],
            linewidth=2.6 if best else 1.2,
            zorder=3 if best else 2.5,
            label=short_label(name) + (" (best)" if best else ""),
        )
    others = sorted(set(recipe) - set(stressed))
    for i, name in enumerate(others):
        rows = curve[recipe == name]
        axes.plot(
            numbers(rows[x]),
            numbers(rows[y]),
            color=PALE,
            linewidth=0.8,
            zorder=2,
            label=f"{len(others)} other recipes (see the table)" if i == 0 else None,
        )


@drawing_style()
def unknown_figure(curve: pd.DataFrame, summary: pd.DataFrame, comparison: pd.DataFrame) -> Figure:
    """Draw the share of unknown objects that is rejected against that of the known.

    Parameters
    ----------
    curve, summary : DataFrame
        From :func:`kreinflow.evaluation.unknown.rejection_curve` and ``rejection_summary``.
    comparison : DataFrame
        From :func:`kreinflow.evaluation.comparison.compare_recipes`.
    """
    recipe, stands = (table["recipe"].astype(str).to_numpy() for table in (curve, summary))
    stressed = stressed_recipes(comparison)
    others = sorted(set(recipe) - set(stressed))
    figure = canvas(4.2 + 0.16 * math.ceil((len(stressed) + bool(others)) / 2))
    axes = figure.subplots()
    axes.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1)
    _draw_curves(axes, curve, "known_rejected", "unknown_rejected", stressed)
    for name, style in styles(stressed).items():
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
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@drawing_style()
def calibration_figure(calibration: pd.DataFrame, best: str) -> Figure:
    """Draw accuracy against probability, above how many predictions of the best recipe have it.

    Parameters
    ----------
    calibration : DataFrame
        From :func:`kreinflow.evaluation.metrics.calibration_bins`.
    best : str
        The recipe to draw, beside the inner choice if there is one.
    """
    recipe = calibration["recipe"].astype(str)
    figure = canvas(4.6, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    above.plot([0, 1], [0, 1], color=GREY, linestyle="--", linewidth=1, label="perfect")
    for name, colour, marker in ((INNER_CHOICE, GREEN, "D"), (best, BLUE, "o")):
        rows = calibration[recipe == name]
        if rows.empty:
            continue
        accuracy, count = numbers(rows["accuracy"]), numbers(rows["count"])
        low, high = _wilson(accuracy, count)
        above.errorbar(
            numbers(rows["confidence"]),
            accuracy,
            yerr=[accuracy - low, high - accuracy],
            color=colour,
            marker=marker,
            markersize=4,
            linewidth=1,
            elinewidth=0.8,
            label=short_label(name) + (" (best)" if name == best else ""),
        )
    above.set_ylim(-0.02, 1.04)
    above.set_ylabel("accuracy (bars: 95 % intervals)")
    figure.legend(loc="outside upper left", ncols=3)
    rows = calibration[recipe == best]
    lower, count = numbers(rows["lower"]), numbers(rows["count"])
    below.bar(lower, count, width=1 / CALIBRATION_BINS, align="edge", color=SKY, edgecolor="white")
    below.set_yscale("log")
    below.set_ylim(0.8, max(2.0, float(count.max()) * 2))
    below.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    below.set_yticks([], minor=True)
    below.set_xlim(0, 1.01)
    below.set_xlabel("probability given to the prediction")
    below.set_ylabel("predictions")
    return figure


def _wilson(share: FloatArray, count: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the ends of Wilson's interval of 95 %: wide where there are few, even for 0 and 1."""
    z = 1.959964
    centre = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    half = np.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2) * z / (1 + z**2 / count)
    return np.minimum(centre - half, share), np.maximum(centre + half, share)


@drawing_style()
def times_figure(times: pd.DataFrame) -> Figure:
    """Draw where the time went: that of each stage, summed over its jobs.

    Parameters
    ----------
    times : DataFrame
        With the columns of :mod:`kreinflow.report.times`.
    """
    table = times_by_stage(times)
    figure = canvas(_rows_height(len(table) * 1.5, 1.8))
    axes = figure.subplots()
    at = np.arange(len(table))
    axes.barh(at, table["seconds"], height=0.66, color=BLUE)
    for i, row in enumerate(table.to_dict("records")):
        jobs = f"{row['jobs']} job{'s' if row['jobs'] != 1 else ''}"
        text = f" {row['share']:.0%}: {row['seconds']:,.1f} s, {jobs}"
        axes.text(row["seconds"], i, text, va="center", fontsize=8)
    _name_rows(axes, table["stage"].tolist())
    axes.set_xlim(0, max(float(table["seconds"].max()) * 1.4, 1e-3))
    axes.set_xlabel("seconds, summed over jobs (jobs may run side by side)")
    return figure
