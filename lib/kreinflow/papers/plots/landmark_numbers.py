"""schleif2018, figure 6: accuracy and Frobenius error against the number of landmarks."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from kreinflow.papers.plots.look import (
    ERROR_TICKS,
    SELECTOR_LOOKS,
    canvas,
    draw_legend,
    log_ticks,
    look,
)
from kreinflow.papers.plots.measuring import Settings, generated, selector_settings
from kreinflow.report.figures import BLACK, GREY, VERMILION

GENERATOR: Settings = {"name": "checkerboard"}
BUDGETS = (2, 4, 6, 9, 13, 19, 28, 40, 60, 90)
SKETCH = 100
FULL = "all"


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return accuracy and error of each selector with each number of landmarks.

    Columns: selector, budget (0: as many as the balls find, or all points of :data:`FULL`),
    landmarks (mean over folds), accuracy (mean over folds), accuracy_sd (between folds), error
    (relative, in the Frobenius norm, of landmarks chosen from all points).
    """
    board = generated(GENERATOR, {"name": "elm"}, seed)
    selectors = {"meb 0": selector_settings("meb"), f"{FULL} 0": selector_settings(FULL)}
    for method in SELECTOR_LOOKS:
        for budget in BUDGETS:
            selectors[f"{method} {budget}"] = selector_settings(method, budget, SKETCH)
    by_selector = board.accuracies(selectors, seed).groupby("recipe", sort=False)
    lines = []
    for name, settings in selectors.items():
        folds = by_selector.get_group(name)
        method, _, number = name.partition(" ")
        lines.append(
            {
                "selector": method,
                "budget": int(number),
                "landmarks": folds["landmarks"].mean(),
                "accuracy": folds["accuracy"].mean(),
                "accuracy_sd": folds["accuracy"].std(),
                "error": board.approximate(board.choose(settings, seed)).error,
            }
        )
    return pd.DataFrame(lines)


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw both against the number of landmarks, a line for each selector."""
    figure = canvas(5.2)
    left, right = figure.subplots(1, 2)
    own = table[(table["selector"] == "meb") & (table["budget"] == 0)]
    for axes, column in ((left, "accuracy"), (right, "error")):
        for method, looks in SELECTOR_LOOKS.items():
            part = table[(table["selector"] == method) & (table["budget"] > 0)]
            axes.plot(part["landmarks"], part[column], markersize=5, linewidth=1.3, **looks)
        axes.plot(
            own["landmarks"],
            own[column],
            marker="s",
            markersize=13,
            markerfacecolor="none",
            markeredgecolor=VERMILION,
            markeredgewidth=1.8,
            linestyle="none",
            label="as many as MEB finds",
        )
        log_ticks(axes, "x", [2, 4, 9, 19, 40, 90])
        axes.set_xlabel("landmarks")
    full = table.loc[table["selector"] == FULL, "accuracy"].iloc[0]
    left.axhline(full, color=GREY, linewidth=1)
    left.annotate(
        f"all points: {full:.3f}",
        (2, full),
        xytext=(0, 4),
        textcoords="offset points",
        color=BLACK,
    )
    left.set_ylabel("accuracy")
    log_ticks(right, "y", ERROR_TICKS)
    right.set_ylabel("relative Frobenius error")
    draw_legend(figure, left, 5)
    return figure
