"""gisbrecht2015, figure 6: the time of flipping a spectrum, at linear cost and in full."""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from kreinflow.base.numerics import FloatArray, single_threaded
from kreinflow.kernels.generators import generate
from kreinflow.kernels.registry import make_kernel
from kreinflow.krein.correction import embed
from kreinflow.krein.double_centring import LandmarkCentring
from kreinflow.krein.eigen import eigenpairs
from kreinflow.krein.factor import KreinFactor
from kreinflow.papers.plots.look import canvas, log_ticks, look
from kreinflow.papers.plots.measuring import RANK, double_centred, flipped, relative_error
from kreinflow.report.figures import BLUE, VERMILION

LANDMARKS = 100
FULL_SIZES = (250, 500, 1000, 2000, 4000)
LINEAR_SIZES = (*FULL_SIZES, 8000, 16000, 32000, 64000, 128000)
REPEATS = 3
"""The shortest of them counts; jobs of more than :data:`LONG` seconds are timed once."""
LONG = 2.0
FITTED = {"full": 1000, "linear": 16000}
"""Sizes from which on the slope is fitted. Smaller N fill a few tiles of
:data:`kreinflow.base.numerics.TILE` rows only, which take the same time whether full or not."""

WAYS = {
    "full": {"label": "full", "color": VERMILION, "marker": "s", "linestyle": "--"},
    "linear": {"label": "linear", "color": BLUE, "marker": "o", "linestyle": "-"},
}


def measure(seed: int, data: Path) -> pd.DataFrame:
    """Return the time that each way takes from balls to a flipped kernel.

    Columns: way, objects, error (relative, in the Frobenius norm, of the linear way's kernel;
    empty where the full way was not gone), seconds.
    """
    generator = {"name": "ball", "objects": max(LINEAR_SIZES)}
    balls = generate(generator, seed).vectors
    rows = []
    linear(balls[:LANDMARKS])  # what is loaded at first use is not part of either way
    for n in LINEAR_SIZES:
        Z, seconds = _timed(linear, balls[:n])
        line = {"way": "linear", "objects": n, "error": np.nan, "seconds": seconds}
        if n in FULL_SIZES:
            S, seconds = _timed(full, balls[:n])
            with single_threaded():
                line["error"] = relative_error(S, Z @ Z.T)
            rows.append({"way": "full", "objects": n, "error": 0.0, "seconds": seconds})
        rows.append(line)
    table = pd.DataFrame(rows)
    return table.sort_values(["way", "objects"], ignore_index=True)


def _timed(way: Callable[[FloatArray], FloatArray], balls: FloatArray) -> tuple[FloatArray, float]:
    best = np.inf
    for _ in range(REPEATS):
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


@look()
def draw(table: pd.DataFrame) -> Figure:
    """Draw the seconds, and the error of the linear way, against the number of objects."""
    figure = canvas(4.0)
    left, right = figure.subplots(1, 2, width_ratios=[2, 1])
    for way, looks in WAYS.items():
        part = table[table["way"] == way]
        x, y = part["objects"].to_numpy(), part["seconds"].to_numpy()
        left.plot(x, y, **{**looks, "label": None})
        left.annotate(
            f"{looks['label']} way, $N^{{{slope(table, way):.2f}}}$",
            (x[-1], y[-1]),
            xytext=(-9, 5),
            textcoords="offset points",
            ha="right",
            color=looks["color"],
        )
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
