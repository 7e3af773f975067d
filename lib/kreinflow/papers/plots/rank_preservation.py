"""gisbrecht2015, figure 4: preservation of ranks, and accuracy, against the number of landmarks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.krein.factor import Rank
from kreinflow.papers.plots.look import canvas, draw_legend, look
from kreinflow.papers.plots.measuring import (
    FOLDS,
    RANKS,
    AllScores,
    Settings,
    balls,
    families,
    flipped,
    product,
    protein213,
    redrawn,
    selector_settings,
)
from kreinflow.report.figures import BLUE, VERMILION

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9)
"""Landmarks, as shares of the objects."""

OBJECTS = 300
REPEATS = 10
LEARNER: Settings = {"method": "cvm", "penalty": 10.0}

COLOURS = {"all eigenvalues": VERMILION, "rank by misfit": BLUE}
SPEARMAN, ACCURACY = "Spearman correlation", "accuracy"


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return what is left of the ranks of the flipped kernel's entries, and accuracies.

    Columns: data, objects, eigenvalues (a key of :data:`RANKS`), share, landmarks, what
    (:data:`SPEARMAN`: a line a draw of the landmarks; :data:`ACCURACY`: a line a fold), value.
    """
    lines = []
    for name, data_set in _data_sets(seed, data):
        n = len(data_set.matrix)
        pairs = np.triu_indices(n, 1)
        whole = scipy.stats.rankdata(flipped(data_set.kernel)[pairs])
        budgets = {share: max(4, round(share * n)) for share in SHARES}
        for eigenvalues, rank in RANKS.items():
            about = {"data": name, "objects": n, "eigenvalues": eigenvalues}
            for share, count in budgets.items():
                at = {**about, "share": share, "landmarks": count}
                for drawn in redrawn(seed, "ranks", REPEATS):
                    K = approximated(data_set, count, drawn, rank)
                    with single_threaded():
                        found = np.corrcoef(scipy.stats.rankdata(K[pairs]), whole)[0, 1]
                    lines.append({**at, "what": SPEARMAN, "value": found})
            trained = (FOLDS - 1) / FOLDS
            selectors = {
                str(share): selector_settings("uniform", int(trained * count))
                for share, count in budgets.items()
            }
            folds = data_set.accuracies(
                selectors, seed, learner=LEARNER, rank=rank, correction="flip"
            )
            for recipe, accuracy in zip(folds["recipe"], folds["accuracy"], strict=True):
                at = {**about, "share": float(recipe), "landmarks": budgets[float(recipe)]}
                lines.append({**at, "what": ACCURACY, "value": accuracy})
    return pd.DataFrame(lines)


def _data_sets(seed: int, data: Path) -> Iterator[tuple[str, AllScores]]:
    yield "ball", balls(seed, OBJECTS)
    proteins = protein213(data, seed)
    if proteins is not None:
        yield "protein213", proteins
    yield "simulated families", families(8, OBJECTS, seed)


def approximated(data_set: AllScores, count: int, seed: int, rank: Rank) -> FloatArray:
    """Return the flipped kernel that uniform landmarks make."""
    landmarks = data_set.choose(selector_settings("uniform", count), seed)
    found = data_set.approximate(landmarks, rank=rank)
    with single_threaded():
        vectors = found.Z @ found.pairs.map
    return product(vectors, np.abs(found.pairs.values))


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw boxes over draws and folds: a row for each data set."""
    groups = table.groupby("data", sort=False)
    figure = canvas(1.0 + 2.6 * len(groups))
    panels = figure.subplots(len(groups), 2, squeeze=False, sharex=True)
    for row, (name, of_data) in zip(panels, groups, strict=True):
        for axes, what in zip(row, (SPEARMAN, ACCURACY), strict=True):
            _draw_boxes(axes, of_data[of_data["what"] == what])
            axes.set_title(f"{name}, {of_data['objects'].iloc[0]} objects", loc="left")
            axes.set_ylabel(what)
            axes.set_ylim(-0.05, 1.05)
    for axes in panels[-1]:
        axes.set_xlabel("landmarks, as a share of the objects")
    draw_legend(figure, [Patch(color=c, label=name) for name, c in COLOURS.items()], 2)
    return figure


def _draw_boxes(axes: Axes, part: pd.DataFrame) -> None:
    shares = sorted(set(part["share"]))
    for shift, (eigenvalues, colour) in zip((-0.19, 0.19), COLOURS.items(), strict=True):
        of_rank = part[part["eigenvalues"] == eigenvalues]
        looks: dict[str, Any] = {"color": colour, "linewidth": 1.2}
        axes.boxplot(
            [of_rank.loc[of_rank["share"] == share, "value"] for share in shares],
            positions=np.arange(len(shares)) + shift,
            widths=0.3,
            boxprops=looks,
            whiskerprops=looks,
            capprops=looks,
            medianprops={**looks, "linewidth": 2.4},
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": colour},
        )
    axes.set_xticks(np.arange(len(shares)), [f"{share:.0%}" for share in shares])
    axes.grid(visible=False, axis="x")
