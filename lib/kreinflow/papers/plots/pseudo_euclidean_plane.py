"""schleif2018, figure 7: two Gaussians in R^(1,1), divided by iKFD and by Ny-iKFD."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kreinflow.papers.plots.look import look
from kreinflow.papers.plots.measuring import (
    Settings,
    choose_landmarks,
    generated,
    selector_settings,
    vectors,
)
from kreinflow.papers.plots.regions import draw_regions, first_fold, measure_regions
from kreinflow.report.figures import GREY

KERNEL: Settings = {"name": "pseudo_euclidean", "positive": 1}

PANELS = {
    "iKFD, all": selector_settings("all"),
    "Ny-iKFD, MEB": selector_settings("meb"),
    "Ny-iKFD, uniform": selector_settings("uniform", 2),
}


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the decisions of one fold of ten.

    Columns: panel, and those of :func:`~kreinflow.papers.plots.regions.measure_regions`.
    """
    dataset = generated({"name": "pseudo_euclidean_gaussians"}, KERNEL, seed)
    training = first_fold(dataset, seed)
    reach = float(np.ceil(np.abs(vectors(dataset)).max()))
    landmarks = {
        panel: choose_landmarks(dataset, settings, seed, training)
        for panel, settings in PANELS.items()
    }
    return measure_regions(dataset, landmarks, training, reach, "panel")


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw a plane for each method."""
    titles = {panel: f"{panel}: " for panel in PANELS}
    figure = draw_regions(table, 3.6, 1, titles, "positive coordinate", "negative coordinate")
    for axes in figure.axes:
        for slope in (1, -1):
            axes.axline((0, 0), slope=slope, color=GREY, linestyle=":", linewidth=1)
    return figure
