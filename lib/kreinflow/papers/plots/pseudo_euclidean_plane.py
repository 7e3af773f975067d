"""schleif2018, figure 7: two Gaussians in R^(1,1), divided by iKFD and by Ny-iKFD."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kreinflow.papers.plots.look import look
from kreinflow.papers.plots.measuring import Settings, generated, selector_settings
from kreinflow.papers.plots.regions import draw_regions, measure_regions
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
    plane = generated({"name": "pseudo_euclidean_gaussians"}, KERNEL, seed)
    training = plane.folds(seed).training("r0f0")
    reach = float(np.ceil(np.abs(plane.vectors).max()))
    landmarks = {
        panel: plane.choose(settings, seed, training) for panel, settings in PANELS.items()
    }
    return measure_regions(plane, landmarks, training, reach, "panel")


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw a plane for each method."""
    titles = {panel: f"{panel}: " for panel in PANELS}
    figure = draw_regions(table, 3.6, 1, titles, "positive coordinate", "negative coordinate")
    for axes in figure.axes:
        for slope in (1, -1):
            axes.axline((0, 0), slope=slope, color=GREY, linestyle=":", linewidth=1)
    return figure
