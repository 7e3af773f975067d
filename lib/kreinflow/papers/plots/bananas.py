"""schleif2018, figure 5: accuracy and Frobenius error on bananas of varying overlap."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kreinflow.papers.plots.look import (
    ERROR_TICKS,
    SELECTOR_LOOKS,
    canvas,
    draw_classes,
    draw_legend,
    log_ticks,
    look,
)
from kreinflow.papers.plots.measuring import Settings, generated, redrawn, selector_settings

OVERLAPS = (0.5, 0.4, 0.3, 0.2, 0.15, 0.1)
SKETCH = 100
REPEATS = 5
"""Of folds and landmarks; the bananas stay."""

SELECTORS: dict[str, Settings] = {
    "meb": selector_settings("meb"),
    **{m: selector_settings(m, "meb", SKETCH) for m in SELECTOR_LOOKS if m != "meb"},
    "kmeans 2": selector_settings("kmeans", 2, SKETCH),
    "uniform 2": selector_settings("uniform", 2),
}
"""As many landmarks as the balls find, or one for each class."""


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the points of each pair of bananas, and what the selectors make of them.

    Columns: overlap; x, y, class of the points; then, empty for the points, selector, landmarks
    and error (relative, in the Frobenius norm, of landmarks chosen from all points; medians),
    accuracy (the mean over folds and repeats) and accuracy_sd (between folds).
    """
    parts = []
    for overlap in OVERLAPS:
        data_set = generated({"name": "bananas", "overlap": overlap}, {"name": "elm"}, seed)
        x, y = data_set.vectors.T
        points = {"overlap": overlap, "x": x, "y": y, "class": data_set.dataset.labels}
        parts.append(pd.DataFrame(points))
        folds, wholes = [], []
        for drawn in redrawn(seed, "bananas", REPEATS):
            folds.append(data_set.accuracies(SELECTORS, drawn))
            meb = len(data_set.choose(SELECTORS["meb"], drawn))
            for name, settings in SELECTORS.items():
                landmarks = data_set.choose(settings, drawn, matched=meb)
                error = data_set.approximate(landmarks).error
                wholes.append({"selector": name, "landmarks": len(landmarks), "error": error})
        measured = pd.concat(folds).groupby("recipe", sort=False)["accuracy"]
        found = pd.DataFrame(wholes).groupby("selector", sort=False).median().reset_index()
        found["accuracy"] = measured.mean().loc[found["selector"]].to_numpy()
        found["accuracy_sd"] = measured.std().loc[found["selector"]].to_numpy()
        found.insert(0, "overlap", overlap)
        parts.append(found)
    columns = ["overlap", "x", "y", "class", "selector", "landmarks"]
    table = pd.concat(parts, ignore_index=True)
    return table[[*columns, "error", "accuracy", "accuracy_sd"]]


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw each pair of bananas, and below it accuracy against error."""
    figure = canvas(9.0)
    panels = figure.subplots(4, 3, height_ratios=[1, 1.5, 1, 1.5])
    results = table[table["accuracy"].notna()]
    limits = (float(results["accuracy"].min()) - 0.02, 1.02)
    for place, (overlap, part) in enumerate(table.groupby("overlap", sort=False)):
        above = panels[2 * (place // 3), place % 3]
        below = panels[2 * (place // 3) + 1, place % 3]
        draw_classes(above, part[part["x"].notna()], 8)
        above.set_aspect("equal")
        above.set(xticks=[], yticks=[])
        above.grid(visible=False)
        above.set_title(f"overlap {overlap:g}", loc="left")
        _draw_results(below, part[part["accuracy"].notna()])
        below.set_ylim(limits)
        below.set_xlim(0.5 * results["error"].min(), 1)
        if place % 3 == 0:
            below.set_ylabel("accuracy")
    handles = [
        Line2D([], [], **{**looks, "linestyle": "none"}) for looks in SELECTOR_LOOKS.values()
    ]
    hollow = {"linestyle": "none", "markerfacecolor": "white"}
    handles += [
        Line2D([], [], **{**looks, **hollow, "label": f"{looks['label']}, 2 landmarks"})
        for looks in (SELECTOR_LOOKS["kmeans"], SELECTOR_LOOKS["uniform"])
    ]
    draw_legend(figure, handles, 4)
    return figure


def _draw_results(axes: Axes, results: pd.DataFrame) -> None:
    for _, row in results.iterrows():
        method, _, two = str(row["selector"]).partition(" ")
        looks = {**SELECTOR_LOOKS[method], "linestyle": "none", "markersize": 8}
        if two:
            looks["markerfacecolor"] = "white"
        axes.plot(row["error"], row["accuracy"], **looks)
    log_ticks(axes, "x", ERROR_TICKS)
    axes.set_xlabel(f"relative Frobenius error, {results['landmarks'].iloc[0]:.0f} landmarks")
