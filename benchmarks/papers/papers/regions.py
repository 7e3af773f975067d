"""Regions of the plane that Ny-iKFD decides for either class: schleif2018, figures 2 and 7."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kreinflow.base.numerics import IntArray
from kreinflow.learners.fisher import fisher_path
from kreinflow.report.figures import BLACK, GREY
from papers.data_sets import (
    ScoresOfVectors,
    Settings,
    generated,
    selector_settings,
)
from papers.style import SELECTOR_LOOKS, draw_classes, panels

GRID = 61
"""Points of the grid on either axis."""

SHADES = ("#CFE3F1", "#F7DCCB")

BOARD: Settings = {"name": "checkerboard"}

METHODS = {
    "iKFD, all": selector_settings("all"),
    "Ny-iKFD, MEB": selector_settings("meb"),
    "Ny-iKFD, uniform": selector_settings("uniform", 2),
}


def measure_decision_regions(seed: int, data: Path) -> pd.DataFrame:
    """Return the decisions of one fold of ten, with as many landmarks as the balls find.

    Columns: selector, and those of :func:`_decisions`.
    """
    board = generated(BOARD, seed)
    training = board.folds(seed).training("r0f0")
    landmarks = board.as_many_as_balls(SELECTOR_LOOKS, seed, training)
    return _decisions(board, landmarks, training, 1.5).rename(columns={"panel": "selector"})


def draw_decision_regions(table: pd.DataFrame) -> Figure:
    """Draw a board for each selector."""
    titles = {method: f"{looks['label']}, " for method, looks in SELECTOR_LOOKS.items()}
    return _draw_regions(table, titles, (3, 3), 9.6, ("x", "y"))


def measure_pseudo_euclidean_plane(seed: int, data: Path) -> pd.DataFrame:
    """Return the decisions of one fold of ten. Columns: panel, and those of :func:`_decisions`."""
    kernel = {"name": "pseudo_euclidean", "positive": 1}
    plane = generated({"name": "pseudo_euclidean_gaussians"}, seed, kernel)
    training = plane.folds(seed).training("r0f0")
    reach = float(np.ceil(np.abs(plane.vectors).max()))
    landmarks = {name: plane.choose(settings, seed, training) for name, settings in METHODS.items()}
    return _decisions(plane, landmarks, training, reach)


def draw_pseudo_euclidean_plane(table: pd.DataFrame) -> Figure:
    """Draw a plane for each method."""
    titles = {method: f"{method}: " for method in METHODS}
    labels = ("positive coordinate", "negative coordinate")
    figure = _draw_regions(table, titles, (1, 3), 3.6, labels)
    for axes in figure.axes:
        for slope in (1, -1):
            axes.axline((0, 0), slope=slope, color=GREY, linestyle=":", linewidth=1)
    return figure


def _decisions(
    plane: ScoresOfVectors,
    landmarks: Mapping[str, IntArray],
    training: NDArray[np.bool_],
    reach: float,
) -> pd.DataFrame:
    """Return the decisions of Ny-iKFD for the records, and for a grid from -reach to reach.

    Columns: panel (the key of the landmarks), kind ("grid", "training", "test" or "landmark"), x,
    y, class (empty for the grid) and decision, positive for the second class.
    """
    points, labels = plane.vectors, plane.dataset.labels
    axis = np.linspace(-reach, reach, GRID)
    grid = np.column_stack([x.ravel() for x in np.meshgrid(axis, axis)])
    parts = {"training": np.flatnonzero(training), "test": np.flatnonzero(~training)}
    tables = []
    for name, rows in landmarks.items():
        found = plane.approximate(rows, training)
        (functions,) = fisher_path(found.Z[training], found.factor.signs, labels[training], 2)
        of_records = functions.decide(found.Z)
        columns = plane.by.columns(grid, points[rows])
        of_grid = functions.decide(found.factor.transform(columns))
        kinds = [("grid", grid, np.full(len(grid), np.nan), of_grid)]
        for kind, places in {**parts, "landmark": rows}.items():
            kinds.append((kind, points[places], labels[places], of_records[places]))
        for kind, at, classes, decisions in kinds:
            x, y = at.T
            about = {"panel": name, "kind": kind, "x": x, "y": y, "class": classes}
            tables.append(pd.DataFrame({**about, "decision": decisions[:, 1]}))
    return pd.concat(tables, ignore_index=True)


def _draw_regions(
    table: pd.DataFrame,
    titles: Mapping[str, str],
    shape: tuple[int, int],
    height: float,
    labels: tuple[str, str],
) -> Figure:
    """Draw a panel of each name of the first column; titles stand before the landmarks' number."""
    figure, grid = panels(height, *shape, sharex=True, sharey=True)
    groups = table.groupby(table.columns[0], sort=False)
    for axes, (name, part) in zip(grid.flat, groups, strict=True):
        kinds = {str(kind): of_kind for kind, of_kind in part.groupby("kind")}
        count, tested = len(kinds["landmark"]), kinds["test"]
        right = np.mean((tested["decision"] > 0) == (tested["class"] == 1))
        _draw_panel(axes, kinds)
        about = f"{count} landmarks\n{right:.1%} of the test points right"
        axes.set_title(f"{titles[str(name)]}{about}", loc="left")
    for axes in grid[-1]:
        axes.set_xlabel(labels[0])
    for axes in grid[:, 0]:
        axes.set_ylabel(labels[1])
    return figure


def _draw_panel(axes: Axes, kinds: Mapping[str, pd.DataFrame]) -> None:
    """Draw the two regions, the records over them, and a ring around each landmark.

    Test records are drawn in full, those of the training part pale.
    """
    grid, landmarks = kinds["grid"], kinds["landmark"]
    axis = np.unique(grid["x"])
    decisions = grid["decision"].to_numpy().reshape(len(axis), len(axis))
    axes.contourf(axis, axis, decisions, levels=[-np.inf, 0, np.inf], colors=SHADES)
    axes.contour(axis, axis, decisions, levels=[0], colors=BLACK, linewidths=1)
    draw_classes(axes, kinds["training"], 7, alpha=0.35)
    draw_classes(axes, kinds["test"], 16)
    if len(landmarks) < len(kinds["training"]):  # rings around all points would hide them
        x, y = landmarks["x"], landmarks["y"]
        rings = axes.scatter(x, y, s=46, facecolors="none", edgecolors=BLACK, linewidths=1.4)
        rings.set_clip_on(False)
    axes.grid(visible=False)
    axes.set_aspect("equal")
    axes.set_xlim(axis[0], axis[-1])
    axes.set_ylim(axis[0], axis[-1])
