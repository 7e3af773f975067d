"""schleif2018, figure 1: Laplacian eigenmaps of the small data sets, whole and approximated."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.papers.plots.look import canvas, draw_classes, look
from kreinflow.papers.plots.measuring import (
    RANKS,
    AllScores,
    balls,
    generated,
    protein213,
    selector_settings,
)

WHOLE = "all scores"
KERNELS = (WHOLE, *RANKS)
"""The rows of the figure."""


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the coordinates of the objects of each data set.

    Columns: data, kernel (one of :data:`KERNELS`), landmarks, error (relative, in the Frobenius
    norm), class, x, y.
    """
    parts = []
    for name, data_set in _data_sets(seed, data):
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


def _data_sets(seed: int, data: Path) -> Iterator[tuple[str, AllScores]]:
    yield "ball", balls(seed).centred()
    proteins = protein213(data, seed)
    if proteins is not None:
        yield "protein213", proteins
    yield "checkerboard", generated({"name": "checkerboard"}, {"name": "elm"}, seed)
    yield "two Gaussians", generated({"name": "gaussians"}, {"name": "elm"}, seed)


def eigenmap(K: FloatArray) -> FloatArray:
    r"""Return two coordinates of each object by a Laplacian eigenmap of K K'.

    The affinities are K K' itself, its negative entries taken as 0: a Laplacian has no others.

    Parameters
    ----------
    K : ndarray of shape (n, n)

    Returns
    -------
    ndarray of shape (n, 2)
        Centred, of unit variance.

    References
    ----------
    .. [1] Belkin, M., Niyogi, P.: Laplacian eigenmaps for dimensionality reduction and data
       representation. Neural Computation 15, 1373-1396 (2003).
    """
    from sklearn.manifold import SpectralEmbedding

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


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw the map of each data set above that of its approximation."""
    groups = table.groupby("data", sort=False)
    figure = canvas(7.4)
    panels = figure.subplots(len(KERNELS), len(groups), squeeze=False)
    for axes_of_data, (name, of_data) in zip(panels.T, groups, strict=True):
        for axes, kernel in zip(axes_of_data, KERNELS, strict=True):
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
