"""schleif2018, figure 4: the kernel of three Gaussians, made again from the landmarks."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.papers.plots.look import SELECTOR_LOOKS, canvas, look
from kreinflow.papers.plots.measuring import generated, relative_error
from kreinflow.report.figures import BLACK

METHODS = ("meb", "kmeans", "entropy", "uniform", "leverage")
THINNED = 10
"""Every so-manieth object of the large Gaussian is drawn, and all of the small ones."""

WHOLE = "all"

LIMIT = 50.0
"""Of the colours; the entries of the small Gaussians are smaller."""


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return entries of the kernel and of its approximations.

    Columns: selector (:data:`WHOLE` for the kernel itself), landmarks, of_small (landmarks in the
    small Gaussians), error and error_small (relative, in the Frobenius norm, of the whole kernel
    and of the block of the small Gaussians), row, column, small (whether the row is of a small
    Gaussian), value.
    """
    gaussians = generated({"name": "three_gaussians"}, {"name": "linear"}, seed)
    K = gaussians.kernel
    small = gaussians.dataset.labels == gaussians.dataset.classes.index("small")
    block = np.ix_(small, small)
    shown = np.concatenate([np.flatnonzero(~small)[::THINNED], np.flatnonzero(small)])
    places = np.arange(len(shown))
    kernels: list[tuple[str, IntArray, FloatArray]] = [(WHOLE, np.arange(len(K)), K)]
    for method, landmarks in gaussians.as_many_as_balls(METHODS, seed).items():
        kernels.append((method, landmarks, gaussians.approximate(landmarks).kernel))
    parts = [
        pd.DataFrame(
            {
                "selector": selector,
                "landmarks": len(landmarks),
                "of_small": int(small[landmarks].sum()),
                "error": relative_error(K, kernel),
                "error_small": relative_error(K[block], kernel[block]),
                "row": np.repeat(places, len(shown)),
                "column": np.tile(places, len(shown)),
                "small": np.repeat(small[shown], len(shown)),
                "value": kernel[np.ix_(shown, shown)].ravel(),
            }
        )
        for selector, landmarks, kernel in kernels
    ]
    return pd.concat(parts, ignore_index=True)


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw the entries of each kernel in one scale."""
    figure = canvas(6.6)
    panels = figure.subplots(2, 3, sharex=True, sharey=True)
    for axes, (_, part) in zip(panels.flat, table.groupby("selector", sort=False), strict=True):
        side = int(part["row"].max()) + 1
        values = part["value"].to_numpy().reshape(side, side)
        image = axes.imshow(values, cmap="PuOr", vmin=-LIMIT, vmax=LIMIT, interpolation="none")
        edge = int((~part["small"].astype(bool)).sum()) // side - 0.5
        axes.axhline(edge, color=BLACK, linewidth=0.6)
        axes.axvline(edge, color=BLACK, linewidth=0.6)
        axes.set_title(_title(part.iloc[0]), loc="left")
        axes.grid(visible=False)
        middles, names = [edge / 2, (edge + side) / 2], ["large", "small"]
        axes.set_xticks(middles, names)
        axes.set_yticks(middles, names, rotation=90, va="center")
        axes.tick_params(length=0)
    figure.colorbar(image, ax=panels, label="kernel", shrink=0.6, extend="both")
    return figure


def _title(row: "pd.Series[Any]") -> str:
    if row["selector"] == WHOLE:
        return f"all {row['landmarks']} objects\n"
    label = SELECTOR_LOOKS[str(row["selector"])]["label"]
    return (
        f"{label}: {row['landmarks']} landmarks, {row['of_small']} small\n"
        f"error {row['error']:.3f}, small block {row['error_small']:.2f}"
    )
