"""Accuracy against landmarks: schleif2018, figures 5 and 6, and oglic2019, figure 3."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kreinflow.report.figures import BLACK, GREY, VERMILION
from papers.cross_validation import Centring
from papers.data_sets import (
    AllScores,
    Settings,
    balls,
    families,
    generated,
    protein213,
    redrawn,
    selector_settings,
)
from papers.run import first_against_rest
from papers.style import (
    LEARNER_LOOKS,
    SELECTOR_LOOKS,
    draw_classes,
    draw_legend,
    error_axis,
    log_ticks,
    panels,
)

SKETCH = 100
"""Rows that selectors of all scores look at instead."""

OVERLAPS = (0.5, 0.4, 0.3, 0.2, 0.15, 0.1)
REPEATS = 5
"""Draws of folds and landmarks; the bananas stay."""
BANANA_SELECTORS: dict[str, Settings] = {
    "meb": selector_settings("meb"),
    **{m: selector_settings(m, "meb", SKETCH) for m in SELECTOR_LOOKS if m != "meb"},
    "kmeans 2": selector_settings("kmeans", 2, SKETCH),
    "uniform 2": selector_settings("uniform", 2),
}
"""As many landmarks as the balls find, or one for each class."""

BOARD: Settings = {"name": "checkerboard"}
BUDGETS = (2, 4, 6, 9, 13, 19, 28, 40, 60, 90)
FULL = "all"

RANKS = (5, 10, 25, 50, 100)
OBJECTS = 300


def measure_bananas(seed: int, data: Path) -> pd.DataFrame:
    """Return the points of each pair of bananas, and what the selectors make of them.

    Columns: overlap; x, y, class of the points; then, empty for the points, selector, landmarks
    and error (relative, in the Frobenius norm, of landmarks chosen from all points; medians),
    accuracy (the mean over folds and repeats) and accuracy_sd (between folds).
    """
    parts = []
    for overlap in OVERLAPS:
        data_set = generated({"name": "bananas", "overlap": overlap}, seed)
        x, y = data_set.vectors.T
        points = {"overlap": overlap, "x": x, "y": y, "class": data_set.dataset.labels}
        parts.append(pd.DataFrame(points))
        folds, wholes = [], []
        for drawn in redrawn(seed, "bananas", REPEATS):
            folds.append(data_set.accuracies(BANANA_SELECTORS, drawn))
            meb = len(data_set.choose(BANANA_SELECTORS["meb"], drawn))
            for name, settings in BANANA_SELECTORS.items():
                landmarks = data_set.choose(settings, drawn, matched=meb)
                error = data_set.approximate(landmarks).error
                wholes.append({"selector": name, "landmarks": len(landmarks), "error": error})
        measured = pd.concat(folds).groupby("recipe", sort=False)["accuracy"]
        found = pd.DataFrame(wholes).groupby("selector", sort=False).median()
        found["accuracy"] = measured.mean()
        found["accuracy_sd"] = measured.std()
        parts.append(found.reset_index().assign(overlap=overlap))
    table = pd.concat(parts, ignore_index=True)
    columns = ["overlap", "x", "y", "class", "selector", "landmarks"]
    return table[[*columns, "error", "accuracy", "accuracy_sd"]]


def draw_bananas(table: pd.DataFrame) -> Figure:
    """Draw each pair of bananas, and below it accuracy against error."""
    figure, grid = panels(9.0, 4, 3, height_ratios=[1, 1.5, 1, 1.5])
    results = table[table["accuracy"].notna()]
    for place, (overlap, part) in enumerate(table.groupby("overlap", sort=False)):
        above, below = grid[2 * (place // 3) : 2 * (place // 3) + 2, place % 3]
        draw_classes(above, part[part["x"].notna()], 8)
        above.set_aspect("equal")
        above.set(xticks=[], yticks=[])
        above.grid(visible=False)
        above.set_title(f"overlap {overlap:g}", loc="left")
        _draw_accuracies(below, part[part["accuracy"].notna()])
        below.set_ylim(float(results["accuracy"].min()) - 0.02, 1.02)
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


def _draw_accuracies(axes: Axes, results: pd.DataFrame) -> None:
    for row in results.to_dict("records"):
        method, _, two = str(row["selector"]).partition(" ")
        looks = {**SELECTOR_LOOKS[method], "linestyle": "none", "markersize": 8}
        if two:
            looks["markerfacecolor"] = "white"
        axes.plot(row["error"], row["accuracy"], **looks)
    error_axis(axes, "x")
    axes.set_xlabel(f"relative Frobenius error, {results['landmarks'].iloc[0]:.0f} landmarks")


def measure_landmark_numbers(seed: int, data: Path) -> pd.DataFrame:
    """Return accuracy and error of each selector with each number of landmarks.

    Columns: selector, budget (0: as many as the balls find, or all points of :data:`FULL`),
    landmarks (mean over folds), accuracy (mean over folds), accuracy_sd (between folds), error
    (relative, in the Frobenius norm, of landmarks chosen from all points).
    """
    board = generated(BOARD, seed)
    selectors = {"meb 0": selector_settings("meb"), f"{FULL} 0": selector_settings(FULL)}
    for method in SELECTOR_LOOKS:
        for budget in BUDGETS:
            selectors[f"{method} {budget}"] = selector_settings(method, budget, SKETCH)
    lines = []
    for name, folds in board.accuracies(selectors, seed).groupby("recipe", sort=False):
        method, _, number = str(name).partition(" ")
        landmarks = board.choose(selectors[str(name)], seed)
        lines.append(
            {
                "selector": method,
                "budget": int(number),
                "landmarks": folds["landmarks"].mean(),
                "accuracy": folds["accuracy"].mean(),
                "accuracy_sd": folds["accuracy"].std(),
                "error": board.approximate(landmarks).error,
            }
        )
    return pd.DataFrame(lines)


def draw_landmark_numbers(table: pd.DataFrame) -> Figure:
    """Draw both against the number of landmarks, a line for each selector."""
    figure, ((left, right),) = panels(5.2, 1, 2)
    own = table[(table["selector"] == "meb") & (table["budget"] == 0)]
    square = {"marker": "s", "markersize": 13, "markerfacecolor": "none", "linestyle": "none"}
    edge = {"markeredgecolor": VERMILION, "markeredgewidth": 1.8}
    for axes, column in ((left, "accuracy"), (right, "error")):
        for method, looks in SELECTOR_LOOKS.items():
            part = table[(table["selector"] == method) & (table["budget"] > 0)]
            axes.plot(part["landmarks"], part[column], markersize=5, linewidth=1.3, **looks)
        label = "as many as MEB finds"
        axes.plot(own["landmarks"], own[column], **square, **edge, label=label)
        log_ticks(axes, "x", [2, 4, 9, 19, 40, 90])
        axes.set_xlabel("landmarks")
    full = table.loc[table["selector"] == FULL, "accuracy"].iloc[0]
    left.axhline(full, color=GREY, linewidth=1)
    above = {"xytext": (0, 4), "textcoords": "offset points"}
    left.annotate(f"all points: {full:.3f}", (2, full), **above, color=BLACK)
    left.set_ylabel("accuracy")
    error_axis(right, "y")
    right.set_ylabel("relative Frobenius error")
    draw_legend(figure, left, 5)
    return figure


def measure_classification_ranks(seed: int, data: Path) -> pd.DataFrame:
    """Return the errors of Krein learners over ten folds, with as many landmarks as the rank.

    Columns: data, objects, negative_fraction (with the most landmarks, mean over folds), learner,
    rank, error_median, error_mean, error_sd (percent; over folds).
    """
    proteins = {**protein213(data, seed), "families": families(OBJECTS, seed)}
    data_sets: dict[str, AllScores] = {"ball": balls(seed)}
    for name, several in proteins.items():
        data_sets[f"{name}, one class"] = AllScores(first_against_rest(several.dataset))
    selectors = {str(rank): selector_settings("kernel_kmeans++", rank) for rank in RANKS}
    lines = []
    for name, data_set in data_sets.items():
        similar = data_set.dataset.kind == "similarity"
        centring: Centring = "landmarks" if similar else "training"
        for method in LEARNER_LOOKS:
            learner = {"method": method}
            folds = data_set.accuracies(selectors, seed, learner=learner, centring=centring)
            most = folds[folds["recipe"] == str(RANKS[-1])]
            for rank, of_rank in folds.groupby("recipe", sort=False):
                error = 100 * (1 - of_rank["accuracy"])
                lines.append(
                    {
                        "data": name,
                        "objects": len(data_set.matrix),
                        "negative_fraction": most["negative_fraction"].mean(),
                        "learner": method,
                        "rank": int(str(rank)),
                        "error_median": error.median(),
                        "error_mean": error.mean(),
                        "error_sd": error.std(),
                    }
                )
    return pd.DataFrame(lines)


def draw_classification_ranks(table: pd.DataFrame) -> Figure:
    """Draw a panel for each data set."""
    groups = table.groupby("data", sort=False)
    figure, (row,) = panels(4.0, 1, len(groups))
    for axes, (name, of_data) in zip(row, groups, strict=True):
        for method, looks in LEARNER_LOOKS.items():
            part = of_data[of_data["learner"] == method]
            axes.plot(part["rank"], part["error_mean"], markersize=6, **looks)
        log_ticks(axes, "x", RANKS)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("rank = landmarks")
        n, negative = of_data[["objects", "negative_fraction"]].iloc[0]
        axes.set_title(f"{name}\nn = {n:.0f}, negative part {negative:.1%}", loc="left")
    row[0].set_ylabel("classification error (%)")
    draw_legend(figure, row[0], 4)
    return figure
