"""schleif2018, figure 1: Laplacian eigenmaps of the small data sets, whole and approximated."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kreinflow.krein.factor import Rank
from kreinflow.numerics import FloatArray, single_threaded
from kreinflow.papers.plots.look import canvas, look
from kreinflow.papers.plots.measuring import (
    RANK,
    approximate,
    centred,
    choose_landmarks,
    full_kernel,
    generated,
    protein213,
    relative_error,
    selector_settings,
)
from kreinflow.report.figures import BLUE, GREEN, ORANGE, VERMILION
from kreinflow.sequences.dataset import Dataset

COLOURS = (BLUE, VERMILION, GREEN, ORANGE)
MARKERS = ("o", "s", "^", "D")

WHOLE = "all scores"
RANKS: dict[str, Rank] = {"all eigenvalues": RANK, "rank by misfit": "misfit"}
KERNELS = (WHOLE, *RANKS)
"""The rows of the figure."""


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the coordinates of the objects of each data set.

    Columns: data, kernel (one of :data:`KERNELS`), landmarks, error (relative, in the Frobenius
    norm), class, x, y.
    """
    parts = []
    for name, dataset in _datasets(seed, data):
        K = full_kernel(dataset)
        whole = eigenmap(K)
        parts.append(_part(name, WHOLE, len(K), 0.0, dataset, whole))
        landmarks = choose_landmarks(dataset, selector_settings("meb"), seed)
        for kernel, rank in RANKS.items():
            entry, Z = approximate(dataset, landmarks, rank=rank)
            signs = entry.factor.signs
            with single_threaded():
                points = turned(eigenmap((Z * signs) @ Z.T), whole)
            error = relative_error(K, Z, signs)
            parts.append(_part(name, kernel, len(landmarks), error, dataset, points))
    return pd.concat(parts, ignore_index=True)


def _part(
    name: str, kernel: str, landmarks: int, error: float, dataset: Dataset, points: FloatArray
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "data": name,
            "kernel": kernel,
            "landmarks": landmarks,
            "error": error,
            "class": dataset.labels,
            "x": points[:, 0],
            "y": points[:, 1],
        }
    )


def _datasets(seed: int, data: Path) -> Iterator[tuple[str, Dataset]]:
    balls = generated({"name": "ball", "objects": 200}, {"name": "ball"}, seed)
    yield "ball", centred(balls)
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
    names = list(dict.fromkeys(table["data"]))
    figure = canvas(7.4)
    panels = figure.subplots(len(KERNELS), len(names), squeeze=False)
    for axes_of_data, name in zip(panels.T, names, strict=True):
        for axes, kernel in zip(axes_of_data, KERNELS, strict=True):
            part = table[(table["data"] == name) & (table["kernel"] == kernel)]
            for code, of_class in part.groupby("class"):
                axes.scatter(
                    of_class["x"],
                    of_class["y"],
                    s=9,
                    color=COLOURS[code % len(COLOURS)],
                    marker=MARKERS[code % len(MARKERS)],
                    alpha=0.8,
                    linewidths=0,
                )
            count, error = part[["landmarks", "error"]].iloc[0]
            title = f"{count:.0f} landmarks by MEB\n{kernel}, error {error:.2g}"
            if kernel == WHOLE:
                title = f"{name}\nall {count:.0f} objects"
            axes.set_title(title, loc="left")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[["top", "right"]].set_visible(True)
    return figure
