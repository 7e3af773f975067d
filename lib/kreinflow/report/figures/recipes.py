"""Figures of the recipes: accuracy, confusions, cost of a query."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
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

MARKED_CELLS = 150  # cells with errors at most that a large confusion matrix has as numbers
NAMED = 7  # of many recipes have a colour and a name in the figure of costs; the rest are grey


def recipe_label(name: str, best: str, final: str) -> str:
    """Return what a legend calls a recipe, and whether it is the best or the final model's."""
    roles = [role for role, of in (("final model", final), ("best", best)) if name == of]
    return look.short_label(name) + (f" ({', '.join(roles)})" if roles else "")


def comparison_figure(data: DatasetResults) -> Figure:
    """Draw mean and standard deviation of the accuracy of each recipe; shade the final model's."""
    comparison, final = data["comparison"], data.final_recipe
    recipe = comparison["recipe"].astype(str)
    means, deviations = numbers(comparison["accuracy_mean"]), numbers(comparison["accuracy_sd"])
    a_row = 1.5 if len(recipe) <= 20 else 1.0
    figure, axes = look.panel(look.rows_height(len(recipe) * a_row, 2.0))
    left = pd.Series(True, index=comparison.index)
    for text, chosen, colour, marker, face in (
        ("best on the outer folds", flags(comparison["best"]), look.BLUE, "o", look.BLUE),
        ("not distinguishable from it", flags(comparison["indistinguishable"]), look.BLUE, "o", ""),
        ("chosen by inner folds", recipe == INNER_CHOICE, look.GREEN, "D", look.GREEN),
        (f"worse (p < {SIGNIFICANCE:g}), or not tested", left, look.GREY, "s", ""),
    ):
        part = (left & chosen).to_numpy()
        left = left & ~part
        if part.any():
            axes.errorbar(
                means[part],
                np.flatnonzero(part),
                xerr=np.nan_to_num(deviations[part]),
                **look.dots(colour, 5, marker),
                markerfacecolor=face or "white",
                elinewidth=1.2,
                label=text,
            )
    for place in np.flatnonzero(recipe == final).tolist():  # shaded, as rows of tables are
        axes.axhspan(place - 0.5, place + 0.5, color=look.SHADE, zorder=0, label="final model")
    look.name_rows(axes, recipe.tolist())
    axes.set_xlabel("accuracy on the outer folds (mean, standard deviation)")
    figure.legend(loc="outside upper left", ncols=2)
    best = best_recipe(comparison)
    told = [
        f"{recipe_label(name, best, final)} {look.percent(mean)}"
        for name, mean in zip(recipe, means, strict=True)
        if name in (best, final, INNER_CHOICE)
    ]
    figure.set_label(f"Accuracies of {len(recipe)} recipes: {', '.join(told)}.")
    return figure


def confusion_figure(data: DatasetResults) -> Figure:
    """Draw the confusion matrix, each row divided by its sum, similar classes side by side.

    Right predictions are blue, errors vermilion, so that rare errors are seen. Where records may
    have several labels, a row is divided by the records with its label.
    """
    rows, classes = data.own("confusion"), data.landmark_map["similar_classes"]
    place = {name: i for i, name in enumerate(classes)}
    n = len(classes)
    counts = np.zeros((n, n))
    sides = (rows["true"], rows["predicted"])
    cells = tuple(side.astype(str).map(place).to_numpy(np.intp) for side in sides)
    counts[cells] = numbers(rows["count"])
    whole = counts.sum(axis=1)
    if data.several:
        labels = data.own("per_class")
        whole = numbers(labels.set_axis(labels["class"].astype(str)).loc[classes, "support"])
    shares = counts / np.maximum(whole, 1e-300)[:, None]
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
    predicted = "given (off the diagonal: wrongly)" if data.several else "predicted"
    axes.set(xlabel=predicted, ylabel="true")
    figure.set_label(_told_of(counts, whole, classes))
    return figure


def _told_of(counts: FloatArray, whole: FloatArray, classes: Sequence[str]) -> str:
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
            letters = size if len(text) <= 3 else size * 0.8
            colour = "white" if shares[i, j] > 0.35 else look.BLACK
            axes.text(j, i, text, ha="center", va="center", fontsize=letters, color=colour)


def alignments_figure(data: DatasetResults) -> Figure:
    """Draw accuracy against what a new object costs, of the recipes measured on all folds.

    Recipes with a cascade have a line, from the first stage to all levels asked. The most accurate
    recipe and that of the final model are stressed, and the cost of all distinct objects, which a
    method without landmarks compares with.
    """
    best, final = best_recipe(data["comparison"]), data.final_recipe
    distinct = data.alignments["distinct"]
    unit = "alignments" if data.alignments["scheme"] else "measurements"
    table = _costs(data)
    lines = {
        str(name): mean_curve(curve)
        for name, curve in data.curves.groupby("recipe", sort=False)
        if name in table.index
    }
    named = _named(table, [name for name in (best, final) if name in table.index], list(lines))
    looks = look.styles(named)
    figure, axes = look.panel(3.4 + 0.16 * math.ceil((len(named) + 2) / 2))
    look.logarithmic(axes)
    for name, line in lines.items():
        colour, zorder = (looks[name]["color"], 2) if name in looks else (look.PALE, 1)
        way: dict[str, Any] = {"linewidth": 1.2, "marker": "|", "markevery": [0, len(line) - 1]}
        axes.plot(line["alignments"], line["accuracy"], **way, color=colour, zorder=zorder)
    handles: list[Any] = []
    places = _side_by_side(table.loc[named, "cost"], list(lines))
    accuracies, spreads = table["accuracy"].to_dict(), table["spread"].to_dict()
    for name, style in looks.items():
        size, edge = (9.0, look.BLACK) if name == final else (5.5, style["color"])
        bars = axes.errorbar(
            places[name],
            accuracies[name],
            yerr=np.nan_to_num(spreads[name]),
            **look.dots(style["color"], size, style["marker"]),
            markeredgecolor=edge,
            elinewidth=0.8,
            label=recipe_label(name, best, final),
            zorder=3,
        )
        handles.append(bars)
    if len(others := table.drop(named)):
        label = f"{len(others)} other recipes (see the table)"
        grey = look.dots(look.PALE, 4)
        handles += axes.plot(others["cost"], others["accuracy"], **grey, label=label)
    everything = axes.axvline(max(distinct, 1), color=look.GREY, linestyle="--", linewidth=1)
    everything.set_label(f"all {distinct:,} distinct objects")
    axes.set(xlabel=f"{unit} of a new object{' (mean)' if lines else ''}", ylabel="accuracy")
    figure.legend(handles=[*handles, everything], loc="outside lower center", ncols=2)
    told = (
        f"{recipe_label(name, best, final)} has {look.percent(accuracies[name])} accuracy "
        f"with {data.costs[name]:,.0f} {unit}"
        for name in dict.fromkeys((final, best))
        if name in accuracies
    )
    figure.set_label(f"Of all recipes {', '.join(told)}. There are {distinct:,} distinct objects.")
    return figure


def _costs(data: DatasetResults) -> pd.DataFrame:
    """Return cost, accuracy and its spread by recipe: a mean over some folds does not compare."""
    summary = data["summary"].set_axis(data["summary"]["recipe"].astype(str))
    folds = numbers(summary["folds"])
    summary = summary[(folds == folds.max()) & summary.index.isin(data.costs.keys())]
    return pd.DataFrame(
        {
            "cost": np.maximum([data.costs[name] for name in summary.index], 1.0),
            "accuracy": numbers(summary["accuracy_mean"]),
            "spread": numbers(summary["accuracy_sd"]),
        },
        index=summary.index,
    )


def _named(table: pd.DataFrame, marked: Sequence[str], cascades: Sequence[str]) -> list[str]:
    """Return the recipes with a name, the most accurate first.

    These are the marked ones, those that nothing as cheap exceeds, and the most accurate others,
    of which those with a cascade come first.
    """
    accurate = table.sort_values(["accuracy", "cost"], ascending=[False, True], kind="stable")
    dearer = accurate["cost"] >= accurate["cost"].cummin().shift(fill_value=np.inf)
    others = sorted(accurate.index, key=lambda name: name not in cascades)
    named = list(dict.fromkeys([*marked, *accurate.index[~dearer], *others]))[:NAMED]
    return [str(name) for name in accurate.index if name in named]


def _side_by_side(costs: "pd.Series[float]", kept: Sequence[str]) -> "pd.Series[float]":
    """Return where recipes stand: those of equal cost side by side, but for those ``kept``."""
    moved = costs.drop(kept, errors="ignore")
    alike = moved.groupby(np.log10(moved).round(2))
    steps = alike.cumcount() - (alike.transform("size") - 1) / 2
    return costs * 10 ** (0.02 * steps.reindex(costs.index, fill_value=0.0))
