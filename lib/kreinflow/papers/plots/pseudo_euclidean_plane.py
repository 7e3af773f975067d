"""schleif2018, figure 7: two Gaussians in R^(1,1), divided by iKFD and by Ny-iKFD."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kreinflow.papers.plots.look import canvas, look
from kreinflow.papers.plots.measuring import (
    Settings,
    choose_landmarks,
    generated,
    selector_settings,
    stratified,
    vectors,
)
from kreinflow.papers.plots.regions import accuracy, draw_regions, measure_regions
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
    training = stratified(dataset, 10, seed).training("r0f0")
    reach = float(np.ceil(np.abs(vectors(dataset)).max()))
    limits = (-reach, reach, -reach, reach)
    landmarks = {
        panel: choose_landmarks(dataset, settings, seed, training)
        for panel, settings in PANELS.items()
    }
    return measure_regions(dataset, KERNEL, landmarks, training, limits, "panel")


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw a plane for each method."""
    names = list(dict.fromkeys(table["panel"]))
    figure = canvas(3.6)
    panels = figure.subplots(1, len(names), sharex=True, sharey=True)
    for axes, name in zip(panels, names, strict=True):
        part = table[table["panel"] == name]
        count = int(np.sum(part["kind"] == "landmark"))
        if name.startswith("iKFD"):  # rings around all points would hide them
            part = part[part["kind"] != "landmark"]
        draw_regions(axes, part)
        for slope in (1, -1):
            axes.axline((0, 0), slope=slope, color=GREY, linestyle=":", linewidth=1)
        axes.set_title(
            f"{name}: {count} landmarks\n{accuracy(part, 'test'):.1%} of the test points right",
            loc="left",
        )
        axes.set_xlabel("positive coordinate")
    panels[0].set_ylabel("negative coordinate")
    return figure
