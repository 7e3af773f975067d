"""schleif2018, figure 2: what Ny-iKFD decides on the checkerboard, by landmark selector."""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kreinflow.papers.plots.look import SELECTOR_LOOKS, canvas, look
from kreinflow.papers.plots.measuring import (
    Settings,
    as_many_as_balls,
    generated,
    stratified,
)
from kreinflow.papers.plots.regions import accuracy, draw_regions, measure_regions

GENERATOR: Settings = {"name": "checkerboard"}
KERNEL: Settings = {"name": "elm"}


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the decisions of one fold of ten, with as many landmarks as the balls find.

    Columns: selector, and those of
    :func:`~kreinflow.papers.plots.regions.measure_regions`.
    """
    dataset = generated(GENERATOR, KERNEL, seed)
    training = stratified(dataset, 10, seed).training("r0f0")
    landmarks = as_many_as_balls(dataset, SELECTOR_LOOKS, seed, training)
    limits = (-1.5, 1.5, -1.5, 1.5)
    return measure_regions(dataset, KERNEL, landmarks, training, limits, "selector")


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw a board for each selector."""
    names = list(dict.fromkeys(table["selector"]))
    figure = canvas(9.6)
    panels = figure.subplots(3, 3, sharex=True, sharey=True)
    for axes, name in zip(panels.flat, names, strict=True):
        part = table[table["selector"] == name]
        draw_regions(axes, part)
        count = int(np.sum(part["kind"] == "landmark"))
        label = SELECTOR_LOOKS[name]["label"]
        axes.set_title(
            f"{label}, {count} landmarks\n{accuracy(part, 'test'):.1%} of the test points right",
            loc="left",
        )
    for axes in panels[-1]:
        axes.set_xlabel("x")
    for axes in panels[:, 0]:
        axes.set_ylabel("y")
    return figure
