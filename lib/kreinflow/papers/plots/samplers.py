"""oglic2019, figures 1 and 2: error and time of low-rank approximations, by landmark selector."""

import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.kernels.registry import make_kernel
from kreinflow.papers.plots.look import (
    ERROR_TICKS,
    SELECTOR_LOOKS,
    canvas,
    draw_legend,
    log_ticks,
    look,
)
from kreinflow.papers.plots.measuring import (
    AllScores,
    product,
    redrawn,
    relative_error,
    selector_settings,
)
from kreinflow.report.figures import BLACK
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.payload import Matrix

TABLES: Sequence[str] = ("diabetes", "breast cancer", "digits")
RANKS = (5, 10, 25, 50, 100)
METHODS = ("uniform", "leverage", "kernel_kmeans++", "kmeans", "pivoting", "cholesky")
SKETCH = 200
REPEATS = 5
LARGEST_SHARE = 0.5
"""More landmarks than this share of the objects are not tried: nothing is saved by them."""

ONE_SHOT = "(k | k ln n)"
PLAIN = "(k | k)"
BEST = "best"
BEST_LOOK: dict[str, Any] = {
    "color": BLACK,
    "linewidth": 5,
    "alpha": 0.2,
    "label": "best of all of rank k",
}


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the errors of approximations of rank k.

    Columns: data, objects, landmarks (:data:`PLAIN`, :data:`ONE_SHOT`; :data:`BEST` without
    any), selector, rank, error and seconds (medians; error is relative, in the Frobenius norm;
    seconds are those of a processor, given all scores).
    """
    lines = []
    for name, data_set in data_sets():
        n = len(data_set.matrix)
        about = {"data": name, "objects": n}
        for rank, error in best_errors(data_set.kernel).items():
            best = {"landmarks": BEST, "selector": "", "rank": rank, "error": error}
            lines.append({**about, **best, "seconds": np.nan})
        for how in (PLAIN, ONE_SHOT):
            for rank in RANKS:
                count = rank if how == PLAIN else math.ceil(rank * math.log(n))
                if count > LARGEST_SHARE * n:
                    continue
                for method in METHODS:
                    tries = [
                        _try(data_set, method, count, rank, drawn)
                        for drawn in redrawn(seed, "samplers", REPEATS)
                    ]
                    error, seconds = np.median(tries, axis=0)
                    found = {"landmarks": how, "selector": method, "rank": rank}
                    lines.append({**about, **found, "error": error, "seconds": seconds})
    return pd.DataFrame(lines)


def data_sets() -> Iterator[tuple[str, AllScores]]:
    """Yield the differences of two Gaussian kernels on tables that come with scikit-learn."""
    from sklearn import datasets as tables

    for name in TABLES:
        load = getattr(tables, f"load_{name.replace(' ', '_')}")
        X = np.asarray(load().data, dtype=np.float64)
        X = X[:, X.std(axis=0) > 0]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        width = math.sqrt(X.shape[1])
        kernel = make_kernel(
            {"name": "difference_of_gaussians", "width": width, "subtracted_width": 2 * width}
        )
        ids = tuple(map(str, range(len(X))))
        dataset = Dataset(
            ids=ids,
            labels=np.zeros(len(X), dtype=np.intp),
            classes=("all",),
            rows=np.arange(len(X)),
            digests=ids,
            payload=Matrix(kernel.columns(X, X), kind="similarity"),
        )
        yield name, AllScores(dataset)


def best_errors(K: FloatArray) -> dict[int, float]:
    """Return the error of the best approximation of each rank: what no landmarks can beat."""
    with single_threaded():
        squares = np.sort(np.linalg.eigvalsh(K) ** 2)[::-1]
    return {rank: float(np.sqrt(squares[rank:].sum() / squares.sum())) for rank in RANKS}


def _try(data_set: AllScores, method: str, count: int, rank: int, seed: int) -> tuple[float, float]:
    """Return error and seconds of one approximation."""
    start = time.process_time()
    landmarks = data_set.choose(selector_settings(method, count, SKETCH), seed)
    found = data_set.approximate(landmarks)
    kept = np.argsort(-np.abs(found.pairs.values), kind="stable")[:rank]
    with single_threaded():
        vectors = found.Z @ found.pairs.map[:, kept]
    values = found.pairs.values[kept]
    seconds = time.process_time() - start
    approximated = product(vectors * np.sqrt(np.abs(values)), np.sign(values))
    return relative_error(data_set.kernel, approximated), seconds


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw a column for each data set: error against rank, for both numbers of landmarks; time."""
    groups = table.groupby("data", sort=False)
    figure = canvas(9.4)
    panels = figure.subplots(3, len(groups), sharey=True, squeeze=False)
    for column, (name, of_data) in zip(panels.T, groups, strict=True):
        best = of_data[of_data["landmarks"] == BEST]
        counted = {PLAIN: "k landmarks", ONE_SHOT: "k ln n landmarks"}
        for axes, (how, text) in zip(column, counted.items(), strict=False):
            axes.plot(best["rank"], best["error"], **BEST_LOOK)
            _draw_lines(axes, of_data[of_data["landmarks"] == how], "rank")
            log_ticks(axes, "x", RANKS)
            axes.set_xlim(RANKS[0] / 1.15, RANKS[-1] * 1.15)
            axes.set_xlabel("rank k")
            axes.set_title(f"{name}, n = {of_data['objects'].iloc[0]}: {text}", loc="left")
        for how, face in ((PLAIN, {"markerfacecolor": "white"}), (ONE_SHOT, {})):
            _draw_lines(column[2], of_data[of_data["landmarks"] == how], "seconds", **face)
        log_ticks(column[2], "x", [0.01, 0.1, 1])
        column[2].set_xlabel("processor seconds")
        column[2].set_title(f"{name}: k (hollow), k ln n (filled)", loc="left")
    for axes in panels.flat:
        log_ticks(axes, "y", ERROR_TICKS)
    for axes in panels[:, 0]:
        axes.set_ylabel("relative Frobenius error")
    handles = [
        Line2D([], [], markersize=5, linewidth=1.2, **SELECTOR_LOOKS[method]) for method in METHODS
    ]
    draw_legend(figure, [*handles, Line2D([], [], **BEST_LOOK)], 4)
    return figure


def _draw_lines(axes: Axes, part: pd.DataFrame, x: str, **looks: Any) -> None:
    for method, of_method in part.groupby("selector", sort=False):
        style = {**SELECTOR_LOOKS[str(method)], "linewidth": 1.2, "markersize": 5, **looks}
        axes.plot(of_method[x], of_method["error"], **style)
