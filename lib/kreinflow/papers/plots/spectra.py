"""schleif2018, figure 3: what the landmarks of each selector leave of the ball data's spectrum."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.linalg
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.papers.plots.look import SELECTOR_LOOKS, canvas, draw_legend, look
from kreinflow.papers.plots.measuring import Settings, balls, selector_settings
from kreinflow.report.figures import BLACK, BLUE, VERMILION

EQUAL_BUDGET = 20
"""Landmarks of each selector in the lower panels."""

POSITIVE, NEGATIVE = 5, 20
"""How many eigenvalues are shown from either end."""

GAP = 3
"""Empty places between them."""


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the eigenvalues of the kernel and of its approximations, the largest first.

    Columns: panel, selector (empty for the kernel itself), landmarks, error (relative, in the
    Frobenius norm), eigenvalue.
    """
    data_set = balls(seed).centred()
    with single_threaded():
        whole: FloatArray = scipy.linalg.eigh(data_set.kernel, eigvals_only=True)[::-1]
    spectra = [("", len(whole), 0.0, whole)]
    for settings in _settings(len(data_set.choose(selector_settings("meb"), seed))):
        found = data_set.approximate(data_set.choose(settings, seed))
        method, count = settings["method"], len(found.landmarks)
        spectra.append((method, count, found.error, found.pairs.values))
    parts = [
        pd.DataFrame(
            {
                "panel": panel,
                "selector": selector,
                "landmarks": landmarks,
                "error": error,
                "eigenvalue": eigenvalues,
            }
        )
        for panel, (selector, landmarks, error, eigenvalues) in enumerate(spectra)
    ]
    return pd.concat(parts, ignore_index=True)


def _settings(meb: int) -> Iterator[Settings]:
    """Yield the selectors of the paper with its budgets, then all selectors with an equal one."""
    yield selector_settings("meb")
    for method, budget in (
        ("kmeans", meb),
        ("entropy", meb),
        ("uniform", meb),
        ("kmeans", 2),
        ("uniform", 2),
    ):
        yield selector_settings(method, budget)
    for method in SELECTOR_LOOKS:
        yield selector_settings(method, EQUAL_BUDGET)


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw both ends of each spectrum over those of the kernel."""
    whole = table.loc[table["panel"] == 0, "eigenvalue"].to_numpy()
    figure = canvas(8.6)
    panels = figure.subplots(4, 4, sharex=True, sharey=True)
    for axes, (_, part) in zip(panels.flat, table.groupby("panel"), strict=False):
        _draw_panel(axes, part["eigenvalue"].to_numpy(), whole)
        axes.set_title(_title(part.iloc[0]), loc="left")
    for axes in panels[:, 0]:
        axes.set_ylabel("eigenvalue")
    for axes in panels[-1]:
        axes.set_xlabel("number from either end")
    handles = [
        Patch(color=BLUE, label="positive"),
        Patch(color=VERMILION, label="negative"),
        Line2D([], [], color=BLACK, linewidth=1.2, label="of all scores"),
    ]
    draw_legend(figure, handles, 3)
    return figure


def _draw_panel(axes: Axes, eigenvalues: FloatArray, whole: FloatArray) -> None:
    places = np.concatenate([np.arange(POSITIVE), POSITIVE + GAP + np.arange(NEGATIVE)])
    shown = _both_ends(eigenvalues)
    axes.bar(places, shown, width=0.8, color=np.where(shown > 0, BLUE, VERMILION))
    axes.hlines(_both_ends(whole), places - 0.45, places + 0.45, color=BLACK, linewidth=1.2)
    axes.axhline(0, color=BLACK, linewidth=0.6)
    axes.set_yscale("symlog", linthresh=10)
    axes.set_ylim(-5e6, 5e6)
    axes.set_yticks([-1e6, -1e4, -1e2, 0, 1e2, 1e4, 1e6])
    axes.set_yticks([], minor=True)
    last = POSITIVE + GAP + NEGATIVE - 1
    places_of = {0: "1", POSITIVE - 1: f"{POSITIVE}", last - NEGATIVE + 1: f"{NEGATIVE}"}
    places_of |= {last - 9: "10", last: "1"}
    axes.set_xticks(list(places_of), list(places_of.values()))
    axes.grid(visible=False, axis="x")


def _both_ends(eigenvalues: FloatArray) -> FloatArray:
    positive = _end(eigenvalues[eigenvalues > 0], POSITIVE)
    negative = _end(eigenvalues[eigenvalues < 0][::-1], NEGATIVE)
    return np.concatenate([positive, negative[::-1]])


def _end(values: FloatArray, count: int) -> FloatArray:
    """Return the first values, filled up with NaN."""
    return np.pad(values[:count], (0, max(0, count - len(values))), constant_values=np.nan)


def _title(row: "pd.Series[Any]") -> str:
    if not row["selector"]:
        return f"all {row['landmarks']} objects"
    name = SELECTOR_LOOKS[row["selector"]]["label"]
    return f"{name}\n{row['landmarks']} landmarks, error {row['error']:.2g}"
