"""Regions of the plane that Ny-iKFD decides for either class: what two figures share."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from numpy.typing import NDArray

from kreinflow.kernels.registry import make_kernel
from kreinflow.learners.fisher import NystroemFisher
from kreinflow.numerics import FloatArray, IntArray
from kreinflow.papers.plots.measuring import Settings, approximate, vectors
from kreinflow.report.figures import BLACK, BLUE, VERMILION
from kreinflow.sequences.dataset import Dataset

GRID = 61
"""Points of the grid on either axis."""

COLOURS = (BLUE, VERMILION)
MARKERS = ("o", "s")
SHADES = ListedColormap(["#CFE3F1", "#F7DCCB"])


def measure_regions(
    dataset: Dataset,
    kernel: Settings,
    landmarks: Mapping[str, IntArray],
    training: NDArray[np.bool_],
    limits: tuple[float, float, float, float],
    panel: str,
) -> pd.DataFrame:
    """Return the decisions of Ny-iKFD for the records, and for a grid over the plane.

    Parameters
    ----------
    dataset : Dataset
        Of two classes; its objects are points of the plane, its matrix similarities.
    kernel : mapping
        As in the config.
    landmarks : mapping of str to ndarray of int
        By the name of what chose them.
    training : ndarray of shape (n,), bool
    limits : tuple of float
        Smallest and largest x, smallest and largest y of the grid.
    panel : str
        The column of these names, the first.

    Returns
    -------
    DataFrame
        After that column kind ("grid", "training", "test" or "landmark"), x, y, class (empty for
        the grid) and decision, positive for the second class.
    """
    tables = []
    for name, rows in landmarks.items():
        table = _regions(dataset, kernel, rows, training, limits)
        table.insert(0, panel, name)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _regions(
    dataset: Dataset,
    kernel: Settings,
    landmarks: IntArray,
    training: NDArray[np.bool_],
    limits: tuple[float, float, float, float],
) -> pd.DataFrame:
    points = vectors(dataset)
    entry, Z = approximate(dataset, landmarks, training)
    model = NystroemFisher().fit(Z[training], entry.factor.signs, dataset.labels[training], 2)
    x, y = np.linspace(*limits[:2], GRID), np.linspace(*limits[2:], GRID)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    columns = make_kernel(kernel).columns(grid, points[landmarks])
    parts = [_part("grid", grid, model.decision_function(entry.factor.transform(columns)))]
    decisions = model.decision_function(Z)
    kinds: Mapping[str, IntArray] = {
        "training": np.flatnonzero(training),
        "test": np.flatnonzero(~training),
        "landmark": landmarks,
    }
    for kind, rows in kinds.items():
        part = _part(kind, points[rows], decisions[rows])
        parts.append(part.assign(**{"class": dataset.labels[rows]}))
    return pd.concat(parts, ignore_index=True)


def _part(kind: str, points: FloatArray, decisions: FloatArray) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kind": kind,
            "x": points[:, 0],
            "y": points[:, 1],
            "class": np.nan,
            "decision": decisions[:, 1],
        }
    )


def accuracy(table: pd.DataFrame, kind: str) -> float:
    """Return the share of the records of a kind that are decided right."""
    part = table[table["kind"] == kind]
    return float(np.mean((part["decision"] > 0) == (part["class"] == 1)))


def draw_regions(axes: Axes, table: pd.DataFrame) -> None:
    """Draw the two regions, the records over them, and a ring around each landmark.

    Test records are drawn in full, those of the training part pale.
    """
    grid = table[table["kind"] == "grid"]
    x, y = np.unique(grid["x"]), np.unique(grid["y"])
    decisions = grid["decision"].to_numpy().reshape(len(y), len(x))
    axes.contourf(x, y, decisions, levels=[-np.inf, 0, np.inf], colors=SHADES.colors)
    axes.contour(x, y, decisions, levels=[0], colors=BLACK, linewidths=1)
    for kind, size, alpha in (("training", 7, 0.35), ("test", 16, 1.0)):
        part = table[table["kind"] == kind]
        for code in (0, 1):
            of_class = part[part["class"] == code]
            axes.scatter(
                of_class["x"],
                of_class["y"],
                s=size,
                color=COLOURS[code],
                marker=MARKERS[code],
                alpha=alpha,
                linewidths=0,
            )
    landmarks = table[table["kind"] == "landmark"]
    axes.scatter(
        landmarks["x"],
        landmarks["y"],
        s=46,
        facecolors="none",
        edgecolors=BLACK,
        linewidths=1.4,
        clip_on=False,
    )
    axes.grid(visible=False)
    axes.set_aspect("equal")
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
