"""What landmarks leave of a kernel: schleif2018, figures 1, 3 and 4."""

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
from sklearn.manifold import SpectralEmbedding

from kreinflow.base.numerics import FloatArray, IntArray, single_threaded
from kreinflow.report.figures import BLACK, BLUE, VERMILION
from papers.data_sets import (
    RANKS,
    Settings,
    balls,
    generated,
    protein213,
    relative_error,
    selector_settings,
)
from papers.style import SELECTOR_LOOKS, draw_classes, draw_legend, panels

WHOLE = "all scores"
KERNELS = (WHOLE, *RANKS)
"""The rows of the eigenmaps."""

EQUAL_BUDGET = 20
"""Landmarks of each selector in the lower panels of spectra."""
POSITIVE, NEGATIVE, GAP = 5, 20, 3
"""How many eigenvalues are shown from either end, and the empty places between them."""

METHODS = ("meb", "kmeans", "entropy", "uniform", "leverage")
"""Selectors of the reconstructed kernels."""
THINNED = 10
"""Every so-manieth object of the large Gaussian is drawn, and all of the small ones."""
LIMIT = 50.0
"""The end of the scale of colours; the entries of the small Gaussians are smaller."""


def measure_eigenmap(seed: int, data: Path) -> pd.DataFrame:
    """Return the coordinates of the objects of each data set, whole and approximated.

    Columns: data, kernel (one of :data:`KERNELS`), landmarks, error (relative, in the Frobenius
    norm), class, x, y.
    """
    data_sets = {
        "ball": balls(seed).centred(),
        **protein213(data, seed),
        "checkerboard": generated({"name": "checkerboard"}, seed),
        "two Gaussians": generated({"name": "gaussians"}, seed),
    }
    parts = []
    for name, data_set in data_sets.items():
        whole = eigenmap(data_set.kernel)
        maps = [(WHOLE, len(whole), 0.0, whole)]
        landmarks = data_set.choose(selector_settings("meb"), seed)
        for kernel, rank in RANKS.items():
            found = data_set.approximate(landmarks, rank=rank)
            points = turned(eigenmap(found.kernel), whole)
            maps.append((kernel, len(landmarks), found.error, points))
        for kernel, count, error, points in maps:
            about = {"data": name, "kernel": kernel, "landmarks": count, "error": error}
            x, y = points.T
            parts.append(pd.DataFrame({**about, "class": data_set.dataset.labels, "x": x, "y": y}))
    return pd.concat(parts, ignore_index=True)


def eigenmap(K: FloatArray) -> FloatArray:
    r"""Return two coordinates of each object by a Laplacian eigenmap of K K'.

    The affinities are K K' itself, its negative entries taken as 0: a Laplacian has no others. The
    coordinates, of shape (n, 2), are centred and of unit variance.

    Source: Belkin, Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data
    representation, Neural Computation 15, 1373-1396.
    """
    with single_threaded():
        affinities = np.maximum(K @ K.T, 0.0)
        map_ = SpectralEmbedding(2, affinity="precomputed", random_state=0, eigen_solver="arpack")
        points: FloatArray = map_.fit_transform(affinities)
    points = points - points.mean(axis=0)
    points /= points.std(axis=0)
    return points


def turned(points: FloatArray, pattern: FloatArray) -> FloatArray:
    """Return a map turned and mirrored onto another: eigenvectors leave that open."""
    with single_threaded():
        U, _, Vt = np.linalg.svd(points.T @ pattern)
        turned: FloatArray = points @ (U @ Vt)
    return turned


def draw_eigenmap(table: pd.DataFrame) -> Figure:
    """Draw the map of each data set above those of its approximations."""
    groups = table.groupby("data", sort=False)
    figure, grid = panels(7.4, len(KERNELS), len(groups))
    for column, (name, of_data) in zip(grid.T, groups, strict=True):
        for axes, kernel in zip(column, KERNELS, strict=True):
            part = of_data[of_data["kernel"] == kernel]
            draw_classes(axes, part, 9, alpha=0.8)
            count, error = part[["landmarks", "error"]].iloc[0]
            title = f"{count:.0f} landmarks by MEB\n{kernel}, error {error:.2g}"
            if kernel == WHOLE:
                title = f"{name}\nall {count:.0f} objects"
            axes.set_title(title, loc="left")
            axes.set(xticks=[], yticks=[])
            axes.spines[["top", "right"]].set_visible(True)
    return figure


def measure_spectra(seed: int, data: Path) -> pd.DataFrame:
    """Return the eigenvalues of the ball kernel and of its approximations, the largest first.

    Columns: panel, selector (empty for the kernel itself), landmarks, error (relative, in the
    Frobenius norm), eigenvalue.
    """
    data_set = balls(seed).centred()
    with single_threaded():
        whole: FloatArray = scipy.linalg.eigh(data_set.kernel, eigvals_only=True)[::-1]
    spectra = [("", len(whole), 0.0, whole)]
    for settings in _selectors(len(data_set.choose(selector_settings("meb"), seed))):
        found = data_set.approximate(data_set.choose(settings, seed))
        method, count = settings["method"], len(found.landmarks)
        spectra.append((method, count, found.error, found.pairs.values))
    columns = ("panel", "selector", "landmarks", "error", "eigenvalue")
    return pd.concat(
        [
            pd.DataFrame(dict(zip(columns, (panel, *spectrum), strict=True)))
            for panel, spectrum in enumerate(spectra)
        ],
        ignore_index=True,
    )


def _selectors(meb: int) -> Iterator[Settings]:
    """Yield the selectors of the paper with its budgets, then all selectors with an equal one."""
    yield selector_settings("meb")
    for method, budget in (
        *(("kmeans", meb), ("entropy", meb), ("uniform", meb)),
        *(("kmeans", 2), ("uniform", 2)),
        *((method, EQUAL_BUDGET) for method in SELECTOR_LOOKS),
    ):
        yield selector_settings(method, budget)


def draw_spectra(table: pd.DataFrame) -> Figure:
    """Draw both ends of each spectrum over those of the kernel."""
    whole = table.loc[table["panel"] == 0, "eigenvalue"].to_numpy()
    figure, grid = panels(8.6, 4, 4, sharex=True, sharey=True)
    for axes, (_, part) in zip(grid.flat, table.groupby("panel"), strict=False):
        _draw_spectrum(axes, part["eigenvalue"].to_numpy(), whole)
        row = part.iloc[0]
        title = f"all {row['landmarks']} objects"
        if row["selector"]:
            name = SELECTOR_LOOKS[row["selector"]]["label"]
            title = f"{name}\n{row['landmarks']} landmarks, error {row['error']:.2g}"
        axes.set_title(title, loc="left")
    for axes in grid[:, 0]:
        axes.set_ylabel("eigenvalue")
    for axes in grid[-1]:
        axes.set_xlabel("number from either end")
    handles = [
        Patch(color=BLUE, label="positive"),
        Patch(color=VERMILION, label="negative"),
        Line2D([], [], color=BLACK, linewidth=1.2, label="of all scores"),
    ]
    draw_legend(figure, handles, 3)
    return figure


def _draw_spectrum(axes: Axes, eigenvalues: FloatArray, whole: FloatArray) -> None:
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
    labels = {0: "1", POSITIVE - 1: f"{POSITIVE}", last - NEGATIVE + 1: f"{NEGATIVE}"}
    labels |= {last - 9: "10", last: "1"}
    axes.set_xticks(list(labels), list(labels.values()))
    axes.grid(visible=False, axis="x")


def _both_ends(eigenvalues: FloatArray) -> FloatArray:
    """Return the largest and the smallest eigenvalues, NaN where there are none of that sign."""
    shown = np.full(POSITIVE + NEGATIVE, np.nan)
    positive = eigenvalues[eigenvalues > 0][:POSITIVE]
    negative = eigenvalues[eigenvalues < 0][-NEGATIVE:]
    shown[: len(positive)] = positive
    shown[len(shown) - len(negative) :] = negative
    return shown


def measure_reconstructed_kernel(seed: int, data: Path) -> pd.DataFrame:
    """Return entries of the kernel of three Gaussians and of its approximations.

    Columns: selector (:data:`WHOLE` for the kernel itself), landmarks, of_small (landmarks in the
    small Gaussians), error and error_small (relative, in the Frobenius norm, of the whole kernel
    and of the block of the small Gaussians), row, column, small (whether the row is of a small
    Gaussian), value.
    """
    gaussians = generated({"name": "three_gaussians"}, seed, {"name": "linear"})
    K = gaussians.kernel
    small = gaussians.dataset.labels == gaussians.dataset.classes.index("small")
    block = np.ix_(small, small)
    shown = np.concatenate([np.flatnonzero(~small)[::THINNED], np.flatnonzero(small)])
    places = np.arange(len(shown))
    kernels: list[tuple[str, IntArray, FloatArray]] = [("all", np.arange(len(K)), K)]
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


def draw_reconstructed_kernel(table: pd.DataFrame) -> Figure:
    """Draw the entries of each kernel in one scale."""
    figure, grid = panels(6.6, 2, 3, sharex=True, sharey=True)
    for axes, (_, part) in zip(grid.flat, table.groupby("selector", sort=False), strict=True):
        side = int(part["row"].max()) + 1
        values = part["value"].to_numpy().reshape(side, side)
        image = axes.imshow(values, cmap="PuOr", vmin=-LIMIT, vmax=LIMIT, interpolation="none")
        edge = int((~part["small"].astype(bool)).sum()) // side - 0.5
        axes.axhline(edge, color=BLACK, linewidth=0.6)
        axes.axvline(edge, color=BLACK, linewidth=0.6)
        axes.set_title(_kernel_title(part.iloc[0]), loc="left")
        axes.grid(visible=False)
        middles, names = [edge / 2, (edge + side) / 2], ["large", "small"]
        axes.set_xticks(middles, names)
        axes.set_yticks(middles, names, rotation=90, va="center")
        axes.tick_params(length=0)
    figure.colorbar(image, ax=grid, label="kernel", shrink=0.6, extend="both")
    return figure


def _kernel_title(row: "pd.Series[Any]") -> str:
    if row["selector"] == "all":
        return f"all {row['landmarks']} objects\n"
    label = SELECTOR_LOOKS[str(row["selector"])]["label"]
    return (
        f"{label}: {row['landmarks']} landmarks, {row['of_small']} small\n"
        f"error {row['error']:.3f}, small block {row['error_small']:.2f}"
    )
