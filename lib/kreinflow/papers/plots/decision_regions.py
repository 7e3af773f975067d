"""schleif2018, figure 2: what Ny-iKFD decides on the checkerboard, by landmark selector."""

from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from kreinflow.papers.plots.look import SELECTOR_LOOKS, look
from kreinflow.papers.plots.measuring import Settings, generated
from kreinflow.papers.plots.regions import draw_regions, measure_regions

GENERATOR: Settings = {"name": "checkerboard"}


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the decisions of one fold of ten, with as many landmarks as the balls find.

    Columns: selector, and those of
    :func:`~kreinflow.papers.plots.regions.measure_regions`.
    """
    board = generated(GENERATOR, {"name": "elm"}, seed)
    training = board.folds(seed).training("r0f0")
    landmarks = board.as_many_as_balls(SELECTOR_LOOKS, seed, training)
    return measure_regions(board, landmarks, training, 1.5, "selector")


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw a board for each selector."""
    titles = {method: f"{looks['label']}, " for method, looks in SELECTOR_LOOKS.items()}
    return draw_regions(table, 9.6, 3, titles, "x", "y")
