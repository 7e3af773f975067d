"""The look of the papers' figures: size, letters, and the look of each selector."""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from kreinflow.files.atomic import write_bytes
from kreinflow.report.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    canvas,
    drawing_style,
)

WIDTH = 9.0  # inches
RESOLUTION = 140  # pixels an inch, so that a figure is as wide as the page


def _look(label: str, color: str, marker: str, linestyle: str) -> dict[str, Any]:
    return {"label": label, "color": color, "marker": marker, "linestyle": linestyle}


SELECTOR_LOOKS = {
    "meb": _look("MEB", VERMILION, "s", "-"),
    "kmeans++": _look("k-means++ by class", ORANGE, "D", "-"),
    "kmeans": _look("k-means", BLUE, "o", "-"),
    "entropy": _look("entropy", PURPLE, "v", "--"),
    "uniform": _look("uniform", GREY, "X", "--"),
    "leverage": _look("leverage scores", SKY, "^", "-."),
    "kernel_kmeans++": _look("kernel k-means++", GREEN, "P", "-"),
    "pivoting": _look("adaptive pivoting", BLACK, "<", ":"),
    "cholesky": _look("pivoted Cholesky", "#8C510A", ">", "-."),
}
"""Label and look of each landmark selector that has a budget: the same in all figures."""

LEARNER_LOOKS = {
    "sf_lsm": _look("SF-LSM", GREY, "X", "--"),
    "krein_lsm": _look("Krein LSM", BLUE, "o", "-"),
    "krein_vc_lsm": _look("Krein VC-LSM", GREEN, "P", "-."),
    "krein_sh_svm": _look("Krein SH-SVM", VERMILION, "s", "-"),
}

CLASS_LOOKS = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (ORANGE, "D"))
"""Colour and mark of each class."""


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw as the report does, with letters of 9 points and more."""
    with drawing_style():
        letters: dict[Any, Any] = dict.fromkeys(
            ("xtick.labelsize", "ytick.labelsize", "legend.fontsize"), 9
        )
        matplotlib.rcParams.update(letters)
        yield


def save_png(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, atomically and byte-identical for the same figure."""
    buffer = io.BytesIO()
    with paper_style():
        figure.savefig(
            buffer, format="png", dpi=RESOLUTION, metadata={"Software": None}, facecolor="white"
        )
    write_bytes(path, buffer.getvalue())


def panels(height: float, rows: int, columns: int, **settings: Any) -> tuple[Figure, Any]:
    """Return a figure of a height in inches, and the array of its panels."""
    figure = canvas(height, WIDTH)
    return figure, figure.subplots(rows, columns, squeeze=False, **settings)


def log_ticks(axes: Axes, which: Literal["x", "y"], ticks: Sequence[float]) -> None:
    """Make an axis logarithmic, with these ticks as plain numbers and no others."""
    axis: Axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log"})
    axis.set_ticks(list(ticks), [f"{tick:,g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def error_axis(axes: Axes, which: Literal["x", "y"]) -> None:
    """Make an axis that of relative errors."""
    log_ticks(axes, which, (0.01, 0.03, 0.1, 0.3, 1))


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
