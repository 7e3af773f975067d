"""What the figures of the papers have in common: size, letters, and the look of each selector."""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from kreinflow.files.artifacts import write_bytes
from kreinflow.report import figures
from kreinflow.report.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    drawing_style,
)

WIDTH = 9.0  # inches
RESOLUTION = 140  # pixels an inch, so that a figure is as wide as the page

BROWN = "#8C510A"

SELECTOR_LOOKS: dict[str, dict[str, Any]] = {
    "meb": {"label": "MEB", "color": VERMILION, "marker": "s", "linestyle": "-"},
    "kmeans++": {"label": "k-means++ by class", "color": ORANGE, "marker": "D", "linestyle": "-"},
    "kmeans": {"label": "k-means", "color": BLUE, "marker": "o", "linestyle": "-"},
    "entropy": {"label": "entropy", "color": PURPLE, "marker": "v", "linestyle": "--"},
    "uniform": {"label": "uniform", "color": GREY, "marker": "X", "linestyle": "--"},
    "leverage": {"label": "leverage scores", "color": SKY, "marker": "^", "linestyle": "-."},
    "kernel_kmeans++": {
        "label": "kernel k-means++",
        "color": GREEN,
        "marker": "P",
        "linestyle": "-",
    },
    "pivoting": {"label": "adaptive pivoting", "color": BLACK, "marker": "<", "linestyle": ":"},
    "cholesky": {"label": "pivoted Cholesky", "color": BROWN, "marker": ">", "linestyle": "-."},
}
"""Label and look of each landmark selector that has a budget: the same in all figures."""

CLASS_LOOKS = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (ORANGE, "D"))
"""Colour and mark of each class."""

ERROR_TICKS = (0.01, 0.03, 0.1, 0.3, 1)
"""Of relative errors."""

canvas = partial(figures.canvas, width=WIDTH)
"""Returns an empty figure of a height in inches."""


@contextmanager
def look() -> Iterator[None]:
    """Draw as the report does, with letters of 9 points and more."""
    with drawing_style():
        matplotlib.rcParams.update(
            {"xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 9}
        )
        yield


def save_png(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, atomically and byte-identical for the same figure."""
    buffer = io.BytesIO()
    with look():
        figure.savefig(
            buffer, format="png", dpi=RESOLUTION, metadata={"Software": None}, facecolor="white"
        )
    write_bytes(path, buffer.getvalue())


def log_ticks(axes: Axes, which: Literal["x", "y"], ticks: Sequence[float]) -> None:
    """Make an axis logarithmic, with these ticks as plain numbers and no others."""
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log"})
    axis.set_ticks(list(ticks), [f"{tick:,g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def draw_classes(axes: Axes, points: pd.DataFrame, size: float, alpha: float = 1.0) -> None:
    """Draw points of the plane; colour and mark are the class."""
    codes = points["class"].astype(int)
    for code in np.unique(codes):
        part, (colour, marker) = points[codes == code], CLASS_LOOKS[code % len(CLASS_LOOKS)]
        axes.scatter(
            part["x"], part["y"], s=size, color=colour, marker=marker, alpha=alpha, linewidths=0
        )


def draw_legend(figure: Figure, shown: Axes | Sequence[Artist], columns: int) -> None:
    """Put a legend above a figure, of what one of its panels shows, or of these handles."""
    handles = shown.get_legend_handles_labels()[0] if isinstance(shown, Axes) else shown
    figure.legend(handles=handles, loc="outside upper left", ncols=columns)
