"""What the figures of the papers have in common: size, letters, and the look of each selector."""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from kreinflow.artifacts import write_bytes
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


@contextmanager
def look() -> Iterator[None]:
    """Draw as the report does, with letters of 9 points and more."""
    with drawing_style():
        matplotlib.rcParams.update(
            {"xtick.labelsize": 9, "ytick.labelsize": 9, "legend.fontsize": 9}
        )
        yield


def canvas(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure, of a size in inches."""
    return Figure(figsize=(width, height), layout="constrained")


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
