"""oglic2019, figure 3: classification error of the Krein learners against the rank."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from kreinflow.evaluation.cross_validation import Centring
from kreinflow.papers.plots.look import canvas, draw_legend, log_ticks, look
from kreinflow.papers.plots.measuring import (
    AllScores,
    balls,
    families,
    protein213,
    selector_settings,
)
from kreinflow.papers.run import first_against_rest
from kreinflow.report.figures import BLUE, GREEN, GREY, VERMILION

RANKS = (5, 10, 25, 50, 100)
OBJECTS = 300
SELECTOR = "kernel_kmeans++"

LEARNER_LOOKS = {
    "sf_lsm": {"label": "SF-LSM", "color": GREY, "marker": "X", "linestyle": "--"},
    "krein_lsm": {"label": "Krein LSM", "color": BLUE, "marker": "o", "linestyle": "-"},
    "krein_vc_lsm": {"label": "Krein VC-LSM", "color": GREEN, "marker": "P", "linestyle": "-."},
    "krein_sh_svm": {"label": "Krein SH-SVM", "color": VERMILION, "marker": "s", "linestyle": "-"},
}


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the errors over ten folds, with as many landmarks as the rank.

    Columns: data, objects, negative_fraction (with the most landmarks, mean over folds), learner,
    rank, error_median, error_mean, error_sd (percent; over folds).
    """
    lines = []
    selectors = {str(rank): selector_settings(SELECTOR, rank) for rank in RANKS}
    for name, data_set in _data_sets(seed, data):
        similar = data_set.dataset.kind == "similarity"
        centring: Centring = "landmarks" if similar else "training"
        for method in LEARNER_LOOKS:
            learner = {"method": method}
            folds = data_set.accuracies(selectors, seed, learner=learner, centring=centring)
            folds["error"] = 100 * (1 - folds["accuracy"])
            most = folds[folds["recipe"] == str(RANKS[-1])]
            for rank, of_rank in folds.groupby("recipe", sort=False):
                lines.append(
                    {
                        "data": name,
                        "objects": len(data_set.matrix),
                        "negative_fraction": most["negative_fraction"].mean(),
                        "learner": method,
                        "rank": int(str(rank)),
                        "error_median": of_rank["error"].median(),
                        "error_mean": of_rank["error"].mean(),
                        "error_sd": of_rank["error"].std(),
                    }
                )
    return pd.DataFrame(lines)


def _data_sets(seed: int, data: Path) -> Iterator[tuple[str, AllScores]]:
    yield "ball", balls(seed)
    proteins = protein213(data, seed)
    if proteins is not None:
        yield "protein213, one class", AllScores(first_against_rest(proteins.dataset))
    simulated = families(8, OBJECTS, seed)
    yield "families, one class", AllScores(first_against_rest(simulated.dataset))


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw a panel for each data set."""
    groups = table.groupby("data", sort=False)
    figure = canvas(4.0)
    panels = figure.subplots(1, len(groups), squeeze=False)[0]
    for axes, (name, of_data) in zip(panels, groups, strict=True):
        for method, looks in LEARNER_LOOKS.items():
            part = of_data[of_data["learner"] == method]
            axes.plot(part["rank"], part["error_mean"], markersize=6, **looks)
        log_ticks(axes, "x", RANKS)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("rank = landmarks")
        negative = of_data["negative_fraction"].iloc[0]
        axes.set_title(
            f"{name}\nn = {of_data['objects'].iloc[0]}, negative part {negative:.1%}", loc="left"
        )
    panels[0].set_ylabel("classification error (%)")
    draw_legend(figure, panels[0], 4)
    return figure
