"""schleif2018, figure 2: what Ny-iKFD decides on the checkerboard, by landmark selector."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from kreinflow.papers.plots.look import SELECTOR_LOOKS, look
from kreinflow.papers.plots.measuring import Settings, as_many_as_balls, generated
from kreinflow.papers.plots.regions import draw_regions, first_fold, measure_regions

GENERATOR: Settings = {"name": "checkerboard"}


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the decisions of one fold of ten, with as many landmarks as the balls find.

    Columns: selector, and those of
    :func:`~kreinflow.papers.plots.regions.measure_regions`.
    """
    dataset = generated(GENERATOR, {"name": "elm"}, seed)
    training = first_fold(dataset, seed)
    landmarks = as_many_as_balls(dataset, SELECTOR_LOOKS, seed, training)
    return measure_regions(dataset, landmarks, training, 1.5, "selector")


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw a board for each selector."""
    titles = {method: f"{looks['label']}, " for method, looks in SELECTOR_LOOKS.items()}
    return draw_regions(table, 9.6, 3, titles, "x", "y")
