"""Figures of the data and of what was made of them: classes, landmarks, spectrum."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kreinflow.base.numerics import FloatArray
from kreinflow.report import figures as look
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import numbers

SIDE_BY_SIDE = 25  # classes at most whose bars have the histogram of lengths beside them, not below


def classes_figure(data: DatasetResults) -> Figure:
    """Draw the sizes of the classes, and a histogram of the lengths if there are any."""
    class_sizes, residues = data.statistics["class_sizes"], np.asarray(data.lengths, np.float64)
    names = sorted(class_sizes, key=lambda name: (-class_sizes[name], name))
    sizes = [class_sizes[name] for name in names]
    height, below = look.rows_height(len(names), 2.6), len(names) > SIDE_BY_SIDE
    with_lengths = bool(residues.size and residues.max() > 0)
    figure = look.canvas(height + 2.2 * (with_lengths and below))
    places: dict[str, Any] = {"nrows": 2, "height_ratios": [height, 2.2]} if below else {"ncols": 2}
    bars, *histogram = figure.subplots(squeeze=False, **places if with_lengths else {}).ravel()
    bars.barh(np.arange(len(names)), sizes, height=0.72, color=look.BLUE)
    look.name_rows(bars, names)
    bars.set_xlabel("records")
    look.whole(bars.xaxis)
    of_each = f"{sizes[0]:,} of each."
    if sizes[0] > sizes[-1]:
        of_each = f"{sizes[0]:,} of the largest, {names[0]}, "
        of_each += f"{sizes[-1]:,} of the smallest, {names[-1]}."
    text = f"{sum(sizes):,} records of {len(names)} classes, {of_each}"
    for axes in histogram:
        median = float(np.median(residues))
        axes.hist(residues, bins=min(40, max(5, int(np.sqrt(residues.size)))), color=look.SKY)
        axes.axvline(median, color=look.BLACK, linewidth=1)
        axes.set_title(f"black line: median, {median:,.0f}", loc="left")
        axes.set(xlabel="length of distinct sequences (residues)", ylabel="sequences")
        look.whole(axes.xaxis, axes.yaxis)
        text += f" Lengths: {residues.min():,.0f} to {residues.max():,.0f} residues, "
        text += f"median {median:,.0f}."
    figure.set_label(text)
    return figure


def landmarks_figure(data: DatasetResults) -> Figure:
    """Draw the landmarks of each class: of the final model, and their range over folds."""
    landmarks = data.own_landmarks
    label = landmarks["class"].astype(str)
    names = sorted(set(label))
    figure, axes = look.panel(look.rows_height(len(names) * 0.9, 2.2))
    counts = landmarks.groupby(["repeat", "fold", label]).size().unstack("class", fill_value=0)
    final = counts.index.get_level_values("repeat") < 0
    folds, at = counts[~final], np.arange(len(names))
    if len(folds):
        axes.hlines(at, folds.min(), folds.max(), color=look.BLUE, linewidth=1.6, alpha=0.55)
    model = counts[final].sum()
    axes.plot(model, at, **look.dots(look.BLUE, 4))
    look.name_rows(axes, names)
    axes.set_xlim(left=0)
    axes.set_xlabel("landmarks (dot: final model; line: from the fewest to the most of a fold)")
    look.whole(axes.xaxis)
    text = f"{model.sum():,} landmarks in the final model, {_between(model)} of a class."
    text += f" In the folds {_between(folds.sum(axis=1))}." if len(folds) else ""
    figure.set_label(text)
    return figure


def _between(counts: "pd.Series[int]") -> str:
    low, high = counts.min(), counts.max()
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def spectrum_figure(data: DatasetResults) -> Figure:
    """Draw the eigenvalues of the approximated kernel of the first fold, before any correction.

    Eigenvalues are divided by the largest magnitude; the axis is linear within 1e-4 around zero
    and logarithmic outside.
    """
    rows = data.spectrum[data.spectrum["correction"] == "none"]
    _, first = next(iter(rows.groupby(["repeat", "fold"], sort=True)))
    values = np.sort(numbers(first["eigenvalue"]))[::-1]
    figure, axes = look.panel(2.7, 5.2)
    _draw_spectrum(axes, values)
    negative, tiny = values[values < 0], np.finfo(float).tiny
    share = float(np.abs(negative).sum() / max(np.abs(values).sum(), tiny))
    counts = f"{np.sum(values > 0)} positive, {len(negative)} negative"
    text = f"{counts} ({share:.1%} of all magnitudes)"
    axes.set_title(text, loc="left")
    axes.set(xlabel="eigenvalue, by size", ylabel="share of the largest")
    figure.set_label(f"Eigenvalues: {text}.")
    return figure


def _draw_spectrum(axes: Axes, values: FloatArray) -> None:
    shares = values / max(float(np.abs(values).max()), np.finfo(float).tiny)
    edges = np.arange(len(shares) + 1) + 0.5
    for colour, part in ((look.BLUE, shares > 0), (look.VERMILION, shares < 0)):
        if part.any():  # sorted, so that each part is one run
            start, stop = np.flatnonzero(part)[[0, -1]]
            shown = shares[start : stop + 1]
            axes.stairs(shown, edges[start : stop + 2], fill=True, color=colour, linewidth=0)
    axes.axhline(0, color=look.BLACK, linewidth=0.6)
    axes.set_yscale("symlog", linthresh=1e-4)
    axes.set(ylim=(-1.5, 1.5), xlim=(0, len(shares) + 1))
    axes.set_yticks([-1, -1e-2, -1e-4, 0, 1e-4, 1e-2, 1])
    axes.set_yticks([], minor=True)
    axes.yaxis.set_major_formatter("{x:g}")
    look.whole(axes.xaxis)
