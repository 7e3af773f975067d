"""What ranks and landmarks cost and keep: oglic2019, figures 1 and 2; gisbrecht2015, 4 and 6."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.stats
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from sklearn import datasets as tables

from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.kernels.generators import generate
from kreinflow.kernels.registry import make_kernel
from kreinflow.krein.correction import embed
from kreinflow.krein.double_centring import LandmarkCentring
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import KreinFactor
from kreinflow.report.figures import BLACK, BLUE, VERMILION
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.payload import Matrix
from papers.data_sets import (
    FOLDS,
    RANK,
    RANKS,
    AllScores,
    Settings,
    balls,
    double_centred,
    families,
    flipped,
    product,
    protein213,
    redrawn,
    relative_error,
    selector_settings,
)
from papers.style import (
    SELECTOR_LOOKS,
    draw_legend,
    error_axis,
    log_ticks,
    panels,
)

SHARES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9)
"""Landmarks, as shares of the objects."""
OBJECTS = 300
RANK_DRAWS = 10
LEARNER: Settings = {"method": "cvm", "penalty": 10.0}
COLOURS = {"all eigenvalues": VERMILION, "rank by misfit": BLUE}
SPEARMAN, ACCURACY = "Spearman correlation", "accuracy"

LANDMARKS = 100
FULL_SIZES = (250, 500, 1000, 2000, 4000)
LINEAR_SIZES = (*FULL_SIZES, 8000, 16000, 32000, 64000, 128000)
TIMED, LONG = 3, 2.0
"""The shortest of so many repeats counts; jobs of more than so many seconds are timed once."""
FITTED = {"full": 1000, "linear": 16000}
"""Sizes from which on the slope is fitted. Smaller N fill a few tiles of
:data:`kreinflow.base.numerics.TILE` rows only, which take the same time whether full or not."""

TABLES: Sequence[str] = ("diabetes", "breast cancer", "digits")
SAMPLED_RANKS = (5, 10, 25, 50, 100)
METHODS = ("uniform", "leverage", "kernel_kmeans++", "kmeans", "pivoting", "cholesky")
SKETCH = 200
DRAWS = 5
LARGEST_SHARE = 0.5
"""More landmarks than this share of the objects are not tried: nothing is saved by them."""
PLAIN, ONE_SHOT, BEST = "(k | k)", "(k | k ln n)", "best"
BEST_LOOK: dict[str, Any] = {
    **{"color": BLACK, "linewidth": 5, "alpha": 0.2},
    "label": "best of all of rank k",
}


def measure_rank_preservation(seed: int, data: Path) -> pd.DataFrame:
    """Return what is left of the ranks of the flipped kernel's entries, and accuracies.

    Columns: data, objects, eigenvalues (a key of :data:`RANKS`), share, landmarks, what
    (:data:`SPEARMAN`: a line a draw of the landmarks; :data:`ACCURACY`: a line a fold), value.
    """
    data_sets: Mapping[str, AllScores] = {
        "ball": balls(seed, OBJECTS),
        **protein213(data, seed),
        "simulated families": families(OBJECTS, seed),
    }
    lines = []
    for name, data_set in data_sets.items():
        n = len(data_set.matrix)
        pairs = np.triu_indices(n, 1)
        whole = scipy.stats.rankdata(flipped(data_set.kernel)[pairs])
        budgets = {share: max(4, round(share * n)) for share in SHARES}
        selectors = {
            str(share): selector_settings("uniform", int((FOLDS - 1) / FOLDS * count))
            for share, count in budgets.items()
        }
        for eigenvalues, rank in RANKS.items():
            about = {"data": name, "objects": n, "eigenvalues": eigenvalues}
            for share, count in budgets.items():
                at = {**about, "share": share, "landmarks": count, "what": SPEARMAN}
                for drawn in redrawn(seed, "ranks", RANK_DRAWS):
                    landmarks = data_set.choose(selector_settings("uniform", count), drawn)
                    K = data_set.approximate(landmarks, rank=rank).flipped
                    with single_threaded():
                        found = np.corrcoef(scipy.stats.rankdata(K[pairs]), whole)[0, 1]
                    lines.append({**at, "value": found})
            folds = data_set.accuracies(
                selectors, seed, learner=LEARNER, rank=rank, correction="flip"
            )
            for recipe, accuracy in zip(folds["recipe"], folds["accuracy"], strict=True):
                share = float(recipe)
                at = {**about, "share": share, "landmarks": budgets[share], "what": ACCURACY}
                lines.append({**at, "value": accuracy})
    return pd.DataFrame(lines)


def draw_rank_preservation(table: pd.DataFrame) -> Figure:
    """Draw boxes over draws and folds: a row for each data set."""
    groups = table.groupby("data", sort=False)
    figure, grid = panels(1.0 + 2.6 * len(groups), len(groups), 2, sharex=True)
    for row, (name, of_data) in zip(grid, groups, strict=True):
        for axes, what in zip(row, (SPEARMAN, ACCURACY), strict=True):
            _draw_boxes(axes, of_data[of_data["what"] == what])
            axes.set_title(f"{name}, {of_data['objects'].iloc[0]} objects", loc="left")
            axes.set_ylabel(what)
            axes.set_ylim(-0.05, 1.05)
    for axes in grid[-1]:
        axes.set_xlabel("landmarks, as a share of the objects")
    draw_legend(figure, [Patch(color=c, label=name) for name, c in COLOURS.items()], 2)
    return figure


def _draw_boxes(axes: Axes, part: pd.DataFrame) -> None:
    shares = sorted(set(part["share"]))
    for shift, (eigenvalues, colour) in zip((-0.19, 0.19), COLOURS.items(), strict=True):
        of_rank = part[part["eigenvalues"] == eigenvalues]
        looks: dict[str, Any] = {"color": colour, "linewidth": 1.2}
        axes.boxplot(
            [of_rank.loc[of_rank["share"] == share, "value"] for share in shares],
            positions=np.arange(len(shares)) + shift,
            widths=0.3,
            boxprops=looks,
            whiskerprops=looks,
            capprops=looks,
            medianprops={**looks, "linewidth": 2.4},
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": colour},
        )
    axes.set_xticks(np.arange(len(shares)), [f"{share:.0%}" for share in shares])
    axes.grid(visible=False, axis="x")


def measure_runtime(seed: int, data: Path) -> pd.DataFrame:
    """Return the time that each way takes from balls to a flipped kernel.

    Columns: way, objects, error (relative, in the Frobenius norm, of the linear way's kernel;
    empty where the full way was not gone), seconds.
    """
    generator = {"name": "ball", "objects": max(LINEAR_SIZES)}
    balls = generate(generator, seed).vectors
    linear(balls[:LANDMARKS])  # what is loaded at first use is not part of either way
    rows = []
    for n in LINEAR_SIZES:
        Z, seconds = _timed(linear, balls[:n])
        line = {"way": "linear", "objects": n, "error": np.nan, "seconds": seconds}
        if n in FULL_SIZES:
            S, seconds = _timed(full, balls[:n])
            with single_threaded():
                line["error"] = relative_error(S, Z @ Z.T)
            rows.append({"way": "full", "objects": n, "error": 0.0, "seconds": seconds})
        rows.append(line)
    return pd.DataFrame(rows).sort_values(["way", "objects"], ignore_index=True)


def _timed(way: Callable[[FloatArray], FloatArray], balls: FloatArray) -> tuple[FloatArray, float]:
    best = np.inf
    for _ in range(TIMED):
        start = time.process_time()
        found = way(balls)
        best = min(best, time.process_time() - start)
        if best > LONG:
            break
    return found, best


def full(balls: FloatArray) -> FloatArray:
    """Return the flipped kernel: all dissimilarities, centred, with all their eigenpairs."""
    return flipped(double_centred(make_kernel({"name": "ball"}).columns(balls, balls)))


def linear(balls: FloatArray) -> FloatArray:
    """Return the factor Z* of the flipped kernel; the first balls, drawn as all, are landmarks."""
    D = make_kernel({"name": "ball"}).columns(balls, balls[:LANDMARKS])
    centring = LandmarkCentring.fit(D[:LANDMARKS])
    C = centring.columns(D)
    factor = KreinFactor.fit(
        C, C[:LANDMARKS], centring.self_similarities(D), rank=RANK, centre=True
    )
    pairs = eigenpairs(factor.transform(C), factor.signs)
    return embed(factor, pairs, "flip").transform(C)


def slope(table: pd.DataFrame, way: str) -> float:
    """Return b of seconds = a N^b, by least squares of the logarithms over the larger sizes."""
    part = table[(table["way"] == way) & (table["objects"] >= FITTED[way])]
    return float(np.polyfit(np.log(part["objects"]), np.log(part["seconds"]), 1)[0])


def draw_runtime(table: pd.DataFrame) -> Figure:
    """Draw the seconds, and the error of the linear way, against the number of objects."""
    figure, ((left, right),) = panels(4.0, 1, 2, width_ratios=[2, 1])
    for way, colour, style in (("full", VERMILION, "s--"), ("linear", BLUE, "o-")):
        part = table[table["way"] == way]
        x, y = part["objects"].to_numpy(), part["seconds"].to_numpy()
        left.plot(x, y, style, color=colour)
        label = f"{way} way, $N^{{{slope(table, way):.2f}}}$"
        beside = {"xytext": (-9, 5), "textcoords": "offset points", "ha": "right"}
        left.annotate(label, (x[-1], y[-1]), **beside, color=colour)
    log_ticks(left, "x", [250, 1000, 4000, 16000, 64000])
    log_ticks(left, "y", [0.01, 0.1, 1, 10, 100])
    left.set_ylim(0.5 * table["seconds"].min(), 2.5 * table["seconds"].max())
    left.set_xlabel("objects N")
    left.set_ylabel("processor seconds, scores included")
    part = table[(table["way"] == "linear") & table["error"].notna()]
    right.plot(part["objects"], part["error"], color=BLUE, marker="o")
    log_ticks(right, "x", [250, 1000, 4000])
    right.set_ylim(0, 1.5 * part["error"].max())
    right.set_xlabel("objects N")
    right.set_ylabel(f"relative Frobenius error, {LANDMARKS} landmarks")
    return figure


def measure_samplers(seed: int, data: Path) -> pd.DataFrame:
    """Return the errors of approximations of rank k.

    Columns: data, objects, landmarks (:data:`PLAIN`, :data:`ONE_SHOT`; :data:`BEST` without
    any), selector, rank, error and seconds (medians; error is relative, in the Frobenius norm;
    seconds are those of a processor, given all scores).
    """
    lines = []
    for name in TABLES:
        data_set = two_gaussian_kernels(name)
        n = len(data_set.matrix)
        about = {"data": name, "objects": n}
        for rank, error in best_errors(data_set.kernel).items():
            best = {"landmarks": BEST, "selector": "", "rank": rank, "error": error}
            lines.append({**about, **best, "seconds": np.nan})
        counts = {
            (how, rank): rank if how == PLAIN else math.ceil(rank * math.log(n))
            for how in (PLAIN, ONE_SHOT)
            for rank in SAMPLED_RANKS
        }
        for (how, rank), count in counts.items():
            for method in METHODS if count <= LARGEST_SHARE * n else ():
                drawn = redrawn(seed, "samplers", DRAWS)
                tries = [one_try(data_set, method, count, rank, each) for each in drawn]
                error, seconds = np.median(tries, axis=0)
                found = {"landmarks": how, "selector": method, "rank": rank}
                lines.append({**about, **found, "error": error, "seconds": seconds})
    return pd.DataFrame(lines)


def two_gaussian_kernels(name: str) -> AllScores:
    """Return the difference of two Gaussian kernels on a table that comes with scikit-learn."""
    X = np.asarray(getattr(tables, f"load_{name.replace(' ', '_')}")().data, dtype=np.float64)
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    width = math.sqrt(X.shape[1])
    kernel = make_kernel(
        {"name": "difference_of_gaussians", "width": width, "subtracted_width": 2 * width}
    )
    ids = tuple(map(str, range(len(X))))
    labels = np.zeros(len(X), dtype=np.intp)
    payload = Matrix(kernel.columns(X, X), kind="similarity")
    return AllScores(Dataset(ids, labels, ("all",), np.arange(len(X)), ids, payload))


def best_errors(K: FloatArray) -> dict[int, float]:
    """Return the error of the best approximation of each rank: what no landmarks can beat."""
    with single_threaded():
        squares = np.sort(np.linalg.eigvalsh(K) ** 2)[::-1]
    total = squares.sum()
    return {rank: float(np.sqrt(squares[rank:].sum() / total)) for rank in SAMPLED_RANKS}


def one_try(
    data_set: AllScores, method: str, count: int, rank: int, seed: int
) -> tuple[float, float]:
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


def draw_samplers(table: pd.DataFrame) -> Figure:
    """Draw a column for each data set: error against rank, for both numbers of landmarks; time."""
    groups = table.groupby("data", sort=False)
    figure, grid = panels(9.4, 3, len(groups), sharey=True)
    for column, (name, of_data) in zip(grid.T, groups, strict=True):
        best = of_data[of_data["landmarks"] == BEST]
        counted = {PLAIN: "k landmarks", ONE_SHOT: "k ln n landmarks"}
        for axes, (how, text) in zip(column, counted.items(), strict=False):
            axes.plot(best["rank"], best["error"], **BEST_LOOK)
            _draw_lines(axes, of_data[of_data["landmarks"] == how], "rank")
            log_ticks(axes, "x", SAMPLED_RANKS)
            axes.set_xlim(SAMPLED_RANKS[0] / 1.15, SAMPLED_RANKS[-1] * 1.15)
            axes.set_xlabel("rank k")
            axes.set_title(f"{name}, n = {of_data['objects'].iloc[0]}: {text}", loc="left")
        for how, face in ((PLAIN, {"markerfacecolor": "white"}), (ONE_SHOT, {})):
            _draw_lines(column[2], of_data[of_data["landmarks"] == how], "seconds", **face)
        log_ticks(column[2], "x", [0.01, 0.1, 1])
        column[2].set_xlabel("processor seconds")
        column[2].set_title(f"{name}: k (hollow), k ln n (filled)", loc="left")
    for axes in grid.flat:
        error_axis(axes, "y")
    for axes in grid[:, 0]:
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
