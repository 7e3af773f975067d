"""Regions of the plane that Ny-iKFD decides for either class: what two figures share."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from kreinflow.base.numerics import IntArray
from kreinflow.learners.fisher import NystroemFisher
from kreinflow.papers.plots.look import canvas, draw_classes
from kreinflow.papers.plots.measuring import ScoresOfVectors
from kreinflow.report.figures import BLACK

GRID = 61
"""Points of the grid on either axis."""

SHADES = ("#CFE3F1", "#F7DCCB")


def measure_regions(
    plane: ScoresOfVectors,
    landmarks: Mapping[str, IntArray],
    training: NDArray[np.bool_],
    reach: float,
    panel: str,
) -> pd.DataFrame:
    """Return the decisions of Ny-iKFD for the records, and for a grid over the plane.

    Parameters
    ----------
    plane : ScoresOfVectors
        Similarities of points of the plane, in two classes.
    landmarks : mapping of str to ndarray of int
        By the name of what chose them.
    training : ndarray of shape (n,), bool
    reach : float
        The grid is from -reach to reach on either axis.
    panel : str
        The column of these names, the first.

    Returns
    -------
    DataFrame
        After that column kind ("grid", "training", "test" or "landmark"), x, y, class (empty for
        the grid) and decision, positive for the second class.
    """
    points, labels = plane.vectors, plane.dataset.labels
    axis = np.linspace(-reach, reach, GRID)
    grid = np.column_stack([x.ravel() for x in np.meshgrid(axis, axis)])
    tables = []
    for name, rows in landmarks.items():
        found = plane.approximate(rows, training)
        model = NystroemFisher().fit(found.Z[training], found.factor.signs, labels[training], 2)
        of_records = model.decision_function(found.Z)
        columns = plane.by.columns(grid, points[rows])
        of_grid = model.decision_function(found.factor.transform(columns))
        kinds = [("grid", grid, np.full(len(grid), np.nan), of_grid)]
        for kind, places in {
            "training": np.flatnonzero(training),
            "test": np.flatnonzero(~training),
            "landmark": rows,
        }.items():
            kinds.append((kind, points[places], labels[places], of_records[places]))
        tables += [
            pd.DataFrame(
                {
                    panel: name,
                    "kind": kind,
                    "x": at[:, 0],
                    "y": at[:, 1],
                    "class": classes,
                    "decision": decisions[:, 1],
                }
            )
            for kind, at, classes, decisions in kinds
        ]
    return pd.concat(tables, ignore_index=True)


def draw_regions(
    table: pd.DataFrame, height: float, rows: int, titles: Mapping[str, str], x: str, y: str
) -> Figure:
    """Draw a panel for each name of the first column.

    Parameters
    ----------
    table : DataFrame
        See :func:`measure_regions`.
    height : float
        Of the figure, in inches.
    rows : int
        Of panels.
    titles : mapping of str to str
        What stands before the number of landmarks, by the name.
    x, y : str
        Labels of the axes.
    """
    groups = table.groupby(table.columns[0], sort=False)
    figure = canvas(height)
    panels = figure.subplots(rows, len(groups) // rows, sharex=True, sharey=True, squeeze=False)
    for axes, (name, part) in zip(panels.flat, groups, strict=True):
        kinds = {str(kind): of_kind for kind, of_kind in part.groupby("kind")}
        count, tested = len(kinds["landmark"]), kinds["test"]
        right = np.mean((tested["decision"] > 0) == (tested["class"] == 1))
        _draw_panel(axes, kinds, with_rings=count < len(kinds["training"]))
        axes.set_title(
            f"{titles[str(name)]}{count} landmarks\n{right:.1%} of the test points right",
            loc="left",
        )
    for axes in panels[-1]:
        axes.set_xlabel(x)
    for axes in panels[:, 0]:
        axes.set_ylabel(y)
    return figure


def _draw_panel(axes: Axes, kinds: Mapping[str, pd.DataFrame], with_rings: bool) -> None:
    """Draw the two regions, the records over them, and a ring around each landmark.

    Test records are drawn in full, those of the training part pale. Rings around all points would
    hide them.
    """
    grid, landmarks = kinds["grid"], kinds["landmark"]
    axis = np.unique(grid["x"])
    decisions = grid["decision"].to_numpy().reshape(len(axis), len(axis))
    axes.contourf(axis, axis, decisions, levels=[-np.inf, 0, np.inf], colors=SHADES)
    axes.contour(axis, axis, decisions, levels=[0], colors=BLACK, linewidths=1)
    draw_classes(axes, kinds["training"], 7, alpha=0.35)
    draw_classes(axes, kinds["test"], 16)
    if with_rings:
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
    axes.set_xlim(axis[0], axis[-1])
    axes.set_ylim(axis[0], axis[-1])
