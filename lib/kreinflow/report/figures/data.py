"""Figures of the data and of what was made of them: classes, landmarks, spectrum, times."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from kreinflow.numerics import FloatArray
from kreinflow.report import figures as look
from kreinflow.report.tables import measured, numbers
from kreinflow.report.times import times_by_stage

SIDE_BY_SIDE = 25
"""The histogram of lengths stands beside the bars of so many classes, below those of more."""


@look.drawing_style()
def classes_figure(class_sizes: Mapping[str, int], lengths: Sequence[int]) -> Figure:
    """Draw the sizes of the classes, and a histogram of the lengths.

    Parameters
    ----------
    class_sizes : mapping of str to int
        Records of each class.
    lengths : sequence of int
        Residues of each distinct sequence; none, or zeros, for a matrix.
    """
    names = sorted(class_sizes, key=lambda name: (-class_sizes[name], name))
    sizes = [class_sizes[name] for name in names]
    residues = np.asarray(lengths, dtype=np.float64)
    with_lengths = bool(residues.size and residues.max() > 0)
    height = look.rows_height(len(names), 2.6)
    if not with_lengths:
        figure = look.canvas(height)
        panels = [figure.subplots()]
    elif len(names) <= SIDE_BY_SIDE:
        figure = look.canvas(height)
        panels = list(figure.subplots(1, 2))
    else:
        figure = look.canvas(height + 2.2)
        panels = list(figure.subplots(2, 1, height_ratios=[height, 2.2]))
    panels[0].barh(np.arange(len(names)), sizes, height=0.72, color=look.BLUE)
    look.name_rows(panels[0], names)
    panels[0].set_xlabel("records")
    look.whole(panels[0].xaxis)
    if with_lengths:
        panels[1].hist(residues, bins=min(40, max(5, int(np.sqrt(residues.size)))), color=look.SKY)
        panels[1].axvline(float(np.median(residues)), color=look.BLACK, linewidth=1)
        panels[1].set_title(f"black line: median, {np.median(residues):,.0f}", loc="left")
        panels[1].set_xlabel("length of distinct sequences (residues)")
        panels[1].set_ylabel("sequences")
        look.whole(panels[1].xaxis)
        look.whole(panels[1].yaxis)
    return figure


@look.drawing_style()
def landmarks_figure(landmarks: pd.DataFrame) -> Figure:
    """Draw the number of landmarks of each class: mean over folds, and their range.

    Parameters
    ----------
    landmarks : DataFrame
        With columns selector, repeat, fold, class; one row a landmark of a fold.
    """
    rows = measured(landmarks)
    selectors = list(dict.fromkeys(rows["selector"].astype(str)))
    names = sorted(set(rows["class"].astype(str)))
    figure = look.canvas(look.rows_height(len(names) * (0.7 + 0.2 * len(selectors)), 2.2))
    axes = figure.subplots()
    for i, (selector, style) in enumerate(look.styles(selectors).items()):
        of_selector = rows[rows["selector"].astype(str) == selector]
        counts = of_selector.groupby(["repeat", "fold", of_selector["class"].astype(str)]).size()
        table = counts.unstack("class", fill_value=0).reindex(columns=names, fill_value=0)
        at = np.arange(len(names)) + (i - (len(selectors) - 1) / 2) * 0.7 / len(selectors)
        axes.hlines(at, table.min(), table.max(), color=style["color"], linewidth=1.4, alpha=0.55)
        axes.plot(
            table.mean(),
            at,
            linestyle="none",
            marker=style["marker"],
            markersize=3.5,
            color=style["color"],
            label=f"{look.short_label(selector)} ({table.sum(axis=1).mean():,.0f} in all)",
        )
    look.name_rows(axes, names)
    axes.set_xlim(left=0)
    axes.set_xlabel("landmarks of a fold (mark: mean, line: range over folds)")
    look.whole(axes.xaxis)
    figure.legend(loc="outside upper left", ncols=2)
    return figure


@look.drawing_style()
def spectrum_figure(spectrum: pd.DataFrame) -> Figure:
    """Draw the eigenvalues of the approximated kernel, positive and negative ones.

    One panel for each selector, transform and rank, of the first fold. Eigenvalues are divided by
    the largest magnitude; the axis is linear within 1e-4 around zero and logarithmic outside.

    Parameters
    ----------
    spectrum : DataFrame
        With columns selector, transform, rank_wanted, correction, repeat, fold, eigenvalue; only
        correction ``none`` is drawn.
    """
    rows = measured(spectrum)
    rows = rows[rows["correction"] == "none"]
    groups = [
        (key, part)
        for key, part in rows.groupby(["selector", "transform", "rank_wanted"], sort=False)
    ]
    columns = min(3, len(groups))
    lines = math.ceil(len(groups) / columns)
    figure = look.canvas(0.5 + 2.2 * lines, max(3.8, look.WIDTH * columns / 3))
    panels = figure.subplots(lines, columns, squeeze=False, sharey=True)
    for axes, (key, part) in zip(panels.flat, groups, strict=False):
        first = part[["repeat", "fold"]].drop_duplicates().sort_values(["repeat", "fold"]).iloc[0]
        one = part[(part["repeat"] == first["repeat"]) & (part["fold"] == first["fold"])]
        values = np.sort(numbers(one["eigenvalue"]))[::-1]
        _draw_spectrum(axes, values)
        axes.set_title(_spectrum_title(key, values, len(groups)), loc="left", fontsize=8)
        axes.set_xlabel("eigenvalue, by size")
    for axes in panels[:, 0]:
        axes.set_ylabel("share of the largest")
    for axes in panels.flat[len(groups) :]:
        axes.set_axis_off()
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
    axes.set_ylim(-1.5, 1.5)
    axes.set_yticks([-1, -1e-2, -1e-4, 0, 1e-4, 1e-2, 1])
    axes.set_yticks([], minor=True)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(0, len(shares) + 1)
    look.whole(axes.xaxis)


def _spectrum_title(key: tuple[Any, ...], values: FloatArray, groups: int) -> str:
    selector, transform, rank = key
    negative = values[values < 0]
    share = float(np.abs(negative).sum() / max(np.abs(values).sum(), np.finfo(float).tiny))
    name = f"{look.short_label(selector)}, {transform}"
    if str(rank) != "misfit":
        name += f", rank {rank}"
    return f"{name}\n{np.sum(values > 0)} positive, {len(negative)} negative ({share:.1%})"


@look.drawing_style()
def times_figure(times: pd.DataFrame) -> Figure:
    """Draw where the time went: that of each stage in times.tsv, summed over its jobs."""
    table = times_by_stage(times)
    figure = look.canvas(look.rows_height(len(table) * 1.5, 1.8))
    axes = figure.subplots()
    at = np.arange(len(table))
    axes.barh(at, table["seconds"], height=0.66, color=look.BLUE)
    for i, row in enumerate(table.to_dict("records")):
        jobs = f"{row['jobs']} job{'s' if row['jobs'] != 1 else ''}"
        text = f" {row['share']:.0%}: {row['seconds']:,.1f} s, {jobs}"
        axes.text(row["seconds"], i, text, va="center", fontsize=8)
    look.name_rows(axes, table["stage"].tolist())
    axes.set_xlim(0, max(float(table["seconds"].max()) * 1.4, 1e-3))
    axes.set_xlabel("seconds, summed over jobs (jobs may run side by side)")
    return figure
