"""Figures of the recipes: accuracy, confusions, cost of a query."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure

from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.comparison import SIGNIFICANCE
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import figures as look
from kreinflow.report.cascades import mean_curve
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import best_recipe, flags, numbers

MARKED_CELLS = 150
"""Errors of a large confusion matrix are printed as numbers if they are no more cells than this."""


@look.drawing_style()
def comparison_figure(data: DatasetResults) -> Figure:
    """Draw mean and standard deviation of the accuracy of each recipe; shade the final model's."""
    comparison, final = data["comparison"], data.final_recipe
    recipe = comparison["recipe"].astype(str)
    names = recipe.tolist()
    means, deviations = numbers(comparison["accuracy_mean"]), numbers(comparison["accuracy_sd"])
    best, alike = flags(comparison["best"]), flags(comparison["indistinguishable"])
    figure, axes = look.panel(
        look.rows_height(len(names) * (1.5 if len(names) <= 20 else 1.0), 2.0)
    )
    groups = (
        ("best on the outer folds", best, look.BLUE, "o", look.BLUE),
        ("not distinguishable from it", alike, look.BLUE, "o", "white"),
        ("chosen by inner folds", recipe == INNER_CHOICE, look.GREEN, "D", look.GREEN),
        (f"worse (p < {SIGNIFICANCE:g}), or not tested", None, look.GREY, "s", "white"),
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
                **look.dots(colour, 5, marker),
                markerfacecolor=face,
                elinewidth=1.2,
                label=text,
            )
    for place in np.flatnonzero(recipe == final).tolist():
        look.shade_row(axes, place, "final model")
    look.name_rows(axes, names)
    axes.set_xlabel("accuracy on the outer folds (mean, standard deviation)")
    figure.legend(loc="outside upper left", ncols=2)
    told = [
        f"{look.recipe_label(name, names[int(np.argmax(best))], final)} {look.percent(mean)}"
        for name, mean, is_best in zip(names, means, best, strict=True)
        if is_best or name in (final, INNER_CHOICE)
    ]
    figure.set_label(f"Accuracies of {len(names)} recipes: {', '.join(told)}.")
    return figure


@look.drawing_style()
def confusion_figure(data: DatasetResults) -> Figure:
    """Draw the confusion matrix, each row divided by its sum, similar classes side by side.

    Right predictions are blue, errors vermilion, so that rare errors are seen. Where records may
    have several labels, a row is divided by the records with its label.
    """
    rows, classes = data.own("confusion"), data.landmark_map["similar_classes"]
    place = {name: i for i, name in enumerate(classes)}
    counts = np.zeros((len(classes), len(classes)))
    true = rows["true"].astype(str).map(place).to_numpy(np.intp)
    predicted = rows["predicted"].astype(str).map(place).to_numpy(np.intp)
    counts[true, predicted] = numbers(rows["count"])
    whole = counts.sum(axis=1)
    if data.several:
        labels = data.own("per_class")
        whole = numbers(labels.set_axis(labels["class"].astype(str)).loc[classes, "support"])
    shares = counts / np.maximum(whole, 1e-300)[:, None]
    n = len(classes)
    side = min(9.0, max(3.6, 2.0 + 0.3 * n))
    figure, axes = look.panel(side, side + 0.3)
    diagonal = np.eye(n, dtype=bool)
    for colour, masked in ((look.BLUE, ~diagonal), (look.VERMILION, diagonal)):
        axes.imshow(
            np.ma.array(shares, mask=masked | (shares == 0)),
            cmap=LinearSegmentedColormap.from_list("share", ["#FFFFFF", colour]),
            norm=PowerNorm(0.5, 0, 1),
            interpolation="none",
        )
    _write_counts(axes, counts, shares)
    tick_size = 8.0 if n <= 20 else max(5.5, 230 / n)
    shown = [look.short_label(name) for name in classes]
    axes.set_xticks(np.arange(n), shown, rotation=90, fontsize=tick_size)
    axes.set_yticks(np.arange(n), shown, fontsize=tick_size)
    axes.grid(visible=False)
    edges, ends = np.repeat(np.arange(n + 1) - 0.5, 3), [-0.5, n - 0.5, np.nan] * (n + 1)
    for x, y in ((edges, ends), (ends, edges)):  # a line of pieces: one for each has much text
        axes.plot(x, y, color="#EBEBEB", linewidth=0.4, scalex=False, scaley=False)
    axes.tick_params(left=False, bottom=False)
    axes.set_xlabel("given (off the diagonal: wrongly)" if data.several else "predicted")
    axes.set_ylabel("true")
    figure.set_label(_told_of(counts, whole, classes))
    return figure


def _told_of(counts: FloatArray, whole: FloatArray, classes: Sequence[str]) -> str:
    """Return how many are right, and the most frequent error, in words."""
    right = counts.diagonal().sum()
    text = f"Right: {right:,.6g} of {whole.sum():,.6g} in {len(classes)} classes."
    errors = counts - np.diag(counts.diagonal())
    i, j = divmod(int(errors.argmax()), len(classes))
    if errors[i, j] > 0:
        text += f" The most frequent error: {errors[i, j]:,.3g} of {whole[i]:,.6g} of "
        text += f"{classes[i]} as {classes[j]}."
    return text


def _write_counts(axes: Axes, counts: FloatArray, shares: FloatArray) -> None:
    """Write the counts of a small matrix into its cells, of a large one the errors if few."""
    n = len(counts)
    size = 8.0 if n <= 15 else max(4.0, 300 / n / 2)
    errors = np.count_nonzero(counts) - np.count_nonzero(np.diag(counts))
    for i, j in zip(*np.nonzero(counts), strict=True):
        if n <= 15 or (i != j and errors <= MARKED_CELLS):
            text = f"{counts[i, j]:.3g}" if counts[i, j] < 1000 else f"{counts[i, j]:.0f}"
            axes.text(
                j,
                i,
                text,
                ha="center",
                va="center",
                fontsize=size if len(text) <= 3 else size * 0.8,
                color="white" if shares[i, j] > 0.35 else look.BLACK,
            )


@look.drawing_style()
def alignments_figure(data: DatasetResults) -> Figure:
    """Draw accuracy against what a new object costs, of the recipes measured on all folds.

    Recipes with a cascade have a line, from the first stage to all levels asked. The most accurate
    recipe and that of the final model are stressed, and the cost of all distinct objects, which a
    method without landmarks compares with.
    """
    summary, curves, cost, final = data["summary"], data.curves, data.costs, data.final_recipe
    best, distinct = best_recipe(data["comparison"]), data.alignments["distinct"]
    unit = "alignments" if data.alignments["scheme"] else "measurements"
    # A mean over some folds does not compare with one over all.
    whole = numbers(summary["folds"]) == numbers(summary["folds"]).max()
    table = summary[summary["recipe"].astype(str).isin(cost.keys()) & whole]
    names = table["recipe"].astype(str).tolist()
    prices = np.array([cost[name] for name in names])
    x = np.log10(np.maximum(prices, 1.0))
    y, spread = numbers(table["accuracy_mean"]), numbers(table["accuracy_sd"])
    lines = {
        names.index(name): mean_curve(own)
        for name, own in curves.groupby("recipe", sort=False)
        if name in names
    }
    ends = [np.log10(line["alignments"].max()) for line in lines.values()]
    limits = (
        min([x.min(), *(np.log10(line["alignments"].min()) for line in lines.values())]) - 0.15,
        max([math.log10(max(distinct, 1)), x.max(), *ends]) + 0.15,
    )
    marked = [names.index(name) for name in dict.fromkeys((best, final)) if name in names]
    stressed = _stressed_places(prices, y, marked, [*lines])
    others = [i for i in range(len(names)) if i not in stressed]
    # Recipes with the same landmarks cost the same: set those with a name side by side.
    for value in np.unique(np.round(x[stressed], 2)):
        same = [i for i in stressed if np.round(x[i], 2) == value and i not in lines]
        step = (limits[1] - limits[0]) * 0.016
        x[same] += (np.arange(len(same)) - (len(same) - 1) / 2) * step
    shown = [names[i] for i in stressed]
    figure, axes = look.panel(3.4 + 0.16 * math.ceil((len(shown) + 2) / 2))
    drawn = dict(zip(stressed, look.styles(shown).values(), strict=True))
    for i, line in lines.items():
        way: dict[str, Any] = {"linewidth": 1.2, "marker": "|", "markevery": [0, len(line) - 1]}
        way |= {"color": drawn[i]["color"] if i in drawn else look.PALE}
        way["zorder"] = 2 if i in drawn else 1
        axes.plot(line["alignments"], line["accuracy"], **way)
    handles: list[Any] = []
    for i, style in drawn.items():
        name = names[i]
        bars = axes.errorbar(
            10 ** x[i],
            y[i],
            yerr=np.nan_to_num(spread[i]),
            **look.dots(style["color"], 9 if name == final else 5.5, style["marker"]),
            markeredgecolor=look.BLACK if name == final else style["color"],
            elinewidth=0.8,
            label=look.recipe_label(name, best, final),
            zorder=3,
        )
        handles.append(bars)
    if others:
        label = f"{len(others)} other recipes (see the table)"
        handles += axes.plot(10 ** x[others], y[others], **look.dots(look.PALE, 4), label=label)
    everything = axes.axvline(distinct, color=look.GREY, linestyle="--", linewidth=1)
    everything.set_label(f"all {distinct:,} distinct objects")
    low, high = 10 ** (limits[0] - 0.05), 10 ** (limits[1] + 0.05)
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    ticks = [v * 10**e for e in range(7) for v in (1, 2, 5) if low <= v * 10**e <= high]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(f"{unit} of a new object{' (mean)' if lines else ''}")
    axes.set_ylabel("accuracy")
    figure.legend(handles=[*handles, everything], loc="outside lower center", ncols=2)
    told = (
        f"{look.recipe_label(names[i], best, final)} has {look.percent(y[i])} accuracy "
        f"with {prices[i]:,.0f} {unit}"
        for i in dict.fromkeys(reversed(marked))
    )
    figure.set_label(f"Of all recipes {', '.join(told)}. There are {distinct:,} distinct objects.")
    return figure


def _stressed_places(
    prices: FloatArray, accuracies: FloatArray, marked: Sequence[int], cascades: Sequence[int]
) -> list[int]:
    """Return the places of the recipes with a name: some of each, the most accurate first."""
    by_accuracy = sorted(range(len(prices)), key=lambda i: (-accuracies[i], i not in marked))
    front = _best_for_their_cost(prices, accuracies)[: look.STRESSED]
    chosen = dict.fromkeys([*front, *marked])
    others = sorted((i for i in by_accuracy if i not in chosen), key=lambda i: i not in cascades)
    chosen |= dict.fromkeys(others[: max(0, look.STRESSED + 1 - len(chosen))])
    return [i for i in by_accuracy if i in chosen]


def _best_for_their_cost(costs: FloatArray, accuracies: FloatArray) -> list[int]:
    """Return the places that nothing cheaper, or as cheap, exceeds: the most accurate first."""
    front: list[int] = []
    for i in np.lexsort((costs, -accuracies)).tolist():
        if not front or costs[i] < costs[front[-1]]:
            front.append(i)
    return front
