"""Figures of the probabilities: what is rejected by them, and how often answers are right."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from kreinflow.answering.query_and_answers import NOTHING_ACCEPTED
from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.identity import SHARES
from kreinflow.evaluation.measured_rows import CALIBRATION_BINS
from kreinflow.report import figures as look
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import numbers, of_recipe

_CLASSES = 12  # held out as unknown that are drawn
_SPREAD = 0.36  # of the dots of classes, beside each other
_BY_IDENTITY = (
    ("accepted", "accepted", look.GREEN, "^", ":"),
    ("as_unknown", "unknown", look.PURPLE, "v", ":"),
    ("as_no_relative", "no relative", look.VERMILION, "D", ":"),
    ("beyond", "beyond", look.ORANGE, "P", ":"),
    ("held_95", "95 % sets hold", look.SKY, "*", "-."),
    ("hit_accuracy", "right: best hit", look.BLACK, "s", "--"),
    ("accuracy", "right: model", look.BLUE, "o", "-"),
)


def reject_figure(data: DatasetResults) -> Figure:
    """Draw the errors that remain when the least certain predictions are set aside.

    Marked is what the models of the outer folds accept. If records may have several labels, a
    prediction is a label that a record was given, and nothing is marked: each has a threshold.
    """
    figure, axes = look.panel(3.4)
    rows, accepted, several = data.own("reject_curve"), data.own("accepted"), data.several
    coverage, error = numbers(rows["coverage"]), numbers(rows["error"])
    axes.plot(coverage, error, color=look.BLUE, linewidth=2.2)
    what = "labels" if several else "predictions"
    text = f"Of all {what} {look.percent(error[-1])} are wrong." if len(error) else f"0 {what}."
    left, top = min(coverage[error > 0], default=1.0), max(error, default=0.0)
    found = (numbers(accepted[name]) for name in ("accepted_mean", "wrong_of_accepted"))
    marked = [] if several else list(zip(*found, strict=True))
    for share, wrong in marked:
        left, top = min(left, share), max(top, np.nan_to_num(wrong))
    axes.set_xlim(min(math.floor(10 * left + 1e-9), 9) / 10, 1)
    axes.set_ylim(0, max(1.5 * top, 0.001))
    for share, wrong in marked:
        told = _mark(axes, share, wrong, float(data.final["reject_threshold"]))
        text += f" {told[0].upper()}{told[1:]}."
    look.percent_axis(axes.xaxis, axes.yaxis)
    kept = "labels given and" if several else what
    axes.set(xlabel=f"{kept} kept, the most certain first", ylabel="errors among the kept")
    figure.set_label(text)
    return figure


def _mark(axes: Axes, share: float, wrong: float, threshold: float) -> str:
    """Draw where the models of the outer folds stand, and return what is written there."""
    axes.axvline(share, color=look.VERMILION, linestyle="--", linewidth=1.2)
    axes.plot(share, wrong, color=look.VERMILION, marker="D", markersize=7, clip_on=False)
    told = [f"threshold {threshold:.3f}"] if threshold < NOTHING_ACCEPTED else []
    told += [f"accepted {look.percent(share)}"]
    told += [f"of these wrong {look.percent(wrong)}"] if wrong == wrong else []
    on_the_left = share > sum(axes.get_xlim()) / 2
    axes.annotate(
        "\n".join(told),
        (share, 0.97),
        xycoords=("data", "axes fraction"),
        xytext=(-6 if on_the_left else 6, 0),
        textcoords="offset points",
        ha="right" if on_the_left else "left",
        va="top",
        color=look.VERMILION,
    )
    return ", ".join(told)


def unknown_figure(data: DatasetResults) -> Figure:
    """Draw the share of unknown objects that is rejected against that of the known, and why.

    Of the classes that were held out the largest few are shown.
    """
    tables = data.unknown or {}
    curve, summary, families = (
        of_recipe(tables[name], data.measured) for name in ("curve", "summary", "families")
    )
    figure = look.canvas(4.0)
    axes, beside = figure.subplots(1, 2, width_ratios=[3, 2])
    axes.plot([0, 1], [0, 1], color=look.GREY, linestyle="--", linewidth=1)
    x, y = "known_rejected", "unknown_rejected"
    axes.plot(numbers(curve[x]), numbers(curve[y]), color=look.BLUE, linewidth=2.2)
    known, unknown, auroc = (numbers(summary[f"{name}_mean"]) for name in (x, y, "auroc"))
    axes.plot(known, unknown, **look.dots(look.VERMILION, 7, "D"), zorder=4, clip_on=False)
    look.percent_axis(axes.xaxis, axes.yaxis, form=".0f")
    named = {side: f"objects of {side} classes rejected" for side in ("known", "unknown")}
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel=named["known"], ylabel=named["unknown"])
    _draw_reasons(beside, summary, families)
    for of_known, of_unknown, area in zip(known, unknown, auroc, strict=True):
        figure.set_label(
            f"{look.percent(of_known)} of the objects of known classes and "
            f"{look.percent(of_unknown)} of those of unknown ones are rejected. "
            f"The AUROC is {area:.3f}."
        )
    return figure


def _draw_reasons(axes: Axes, summary: pd.DataFrame, families: pd.DataFrame) -> None:
    order = np.argsort(-numbers(families["records"]), kind="stable")[:_CLASSES]
    classes = families.iloc[order]
    shares = [
        np.concatenate([numbers(summary[f"known_{name}_mean"]), numbers(classes[name])])
        for name in AS.values()
    ]
    colours = (look.SKY, look.ORANGE, look.BLUE)
    look.stack(axes.barh, "left", zip(shares, AS, colours, strict=True), 0.7)
    look.name_rows(axes, ["all known", *classes["class"]])
    axes.grid(visible=False, axis="y")
    look.percent_axis(axes.xaxis, form=".0f")
    axes.set(xlim=(0, 1), xlabel="rejected, by reason")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handlelength=0.8)


def identity_figure(data: DatasetResults) -> Figure:
    """Draw right and accepted predictions by identity to the best hit, above how many have it.

    Reasons for which some are rejected as strange have a line each, as have sets and what is
    beyond, where they are known.
    """
    own = data.own("identity")
    figure = look.canvas(4.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    low, high, count, identity = (
        numbers(own[name]) for name in ("low", "high", "records", "identity")
    )
    for name, label, colour, marker, line in _BY_IDENTITY:
        shares = numbers(own[name])
        if name in SHARES[:3] or np.nansum(shares):
            drawn = {"color": colour, "marker": marker, "markersize": 5, "linestyle": line}
            above.plot(identity, shares, **drawn, label=label, clip_on=False)
    above.set(ylim=(0, 1), ylabel="share of the records")
    figure.legend(handles=above.lines[::-1], loc="outside upper left", ncols=4)
    below.bar(low, count, high - low, align="edge", color=look.SKY, edgecolor="white")
    for x, n in zip((low + high) / 2, count, strict=True):
        below.text(x, 1.1 * n, f"{n:,.0f}", ha="center", va="bottom", fontsize=7)
    below.set(yscale="log", ylim=(0.8, 5 * max(count, default=1)), xlim=(0, 1), ylabel="records")
    below.yaxis.set_major_formatter("{x:,.0f}")
    below.set_yticks([], minor=True)
    below.set_xlabel("identity to the best hit")
    look.percent_axis(above.yaxis, below.xaxis)
    right, of_hits = (numbers(own[name]) for name in ("accuracy", "hit_accuracy"))
    told = [
        f"{100 * a:g} to {100 * b:g} % identity: {n:,.0f} records, {look.percent(ours)} right, "
        f"{look.percent(hits)} of the best hits."
        for a, b, n, ours, hits in zip(low, high, count, right, of_hits, strict=True)
    ]
    figure.set_label(" ".join(told) or "There are 0 records with an identity.")
    return figure


def calibration_figure(data: DatasetResults) -> Figure:
    """Draw accuracy against probability, above how many predictions have it.

    The pale boxes are where the accuracy would be, were the probabilities perfect. If records may
    have several labels, each label has a probability of its own.
    """
    own, several = data.own("calibration"), data.several
    figure = look.canvas(4.6, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    above.plot([0, 1], [0, 1], color=look.GREY, linestyle="--", linewidth=1)
    lower, count, bottom, top, confidence, accuracy = (
        numbers(own[name])
        for name in ("lower", "count", "perfect_low", "perfect_high", "confidence", "accuracy")
    )
    bars = {"width": 1 / CALIBRATION_BINS, "align": "edge", "edgecolor": "white"}
    above.bar(lower, top - bottom, bottom=bottom, color=look.PALE, label="perfect", **bars)
    drawn = {"color": look.BLUE, "marker": "o", "markersize": 4, "linewidth": 1}
    above.plot(confidence, accuracy, **drawn, label="found")
    share = "records that have it" if several else "accuracy"
    above.set(ylim=(-0.02, 1.04), ylabel=f"{share} (boxes: 95 % ranges)")
    figure.legend(loc="outside upper left", ncols=2)
    below.bar(lower, count, color=look.SKY, **bars)
    below.set(yscale="log", ylim=(0.8, max(2.0, float(count.max()) * 2)), xlim=(0, 1.01))
    below.yaxis.set_major_formatter("{x:,.0f}")
    below.set_yticks([], minor=True)
    below.set_xlabel(f"probability given to the {'label' if several else 'prediction'}")
    below.set_ylabel("labels of records" if several else "predictions")
    columns = zip(count[-1:], lower[-1:], confidence[-1:], accuracy[-1:], strict=True)
    for most, at_least, said, right in columns:
        figure.set_label(
            f"{most:,.0f} of {count.sum():,.0f} probabilities are at least "
            f"{look.percent(at_least)}: their mean is {look.percent(said)}, and "
            f"{look.percent(right)} of them are right."
        )
    return figure


def sets_figure(data: DatasetResults) -> Figure:
    """Draw coverage against confidence, and the sizes of the sets."""
    figure = look.canvas(3.4)
    left, right = figure.subplots(1, 2, width_ratios=[3, 2])
    own = data.own("coverage")
    label = own["class"].astype(str)
    of_classes, whole = own[label != ""], own[label == ""]
    levels, held, sizes = (numbers(whole[name]) for name in ("confidence", "coverage", "size"))
    places = np.arange(len(levels))
    left.hlines(levels, places - 0.45, places + 0.45, color=look.GREY, linestyle="--", linewidth=1)
    for place, level in enumerate(levels):
        dots = of_classes[numbers(of_classes["confidence"]) == level]
        x = place + _SPREAD * np.linspace(-1, 1, len(dots) + 2)[1:-1]
        name = "classes" if place == 0 else "_"
        left.plot(x, numbers(dots["coverage"]), **look.dots(look.SKY, 3), label=name)
    if len(whole):
        marker = look.dots(look.BLUE, 7) | {"markeredgecolor": "white", "label": "all records"}
        left.plot(places, held, **marker)
    left.set_ylabel("sets that hold the true label")
    look.percent_axis(left.yaxis, form=".0f")
    _draw_sizes(right, whole)
    if len(whole):
        figure.legend(loc="outside lower center", ncols=2)
    for axes in (left, right):
        axes.set_xticks(places, [f"{100 * level:g}%" for level in levels])
        axes.set(xlim=(-0.6, max(len(levels), 1) - 0.4), xlabel="confidence asked for")
        axes.grid(visible=False, axis="x")
    texts = [
        f"Of sets with {look.percent(level)} confidence {look.percent(share)} hold the "
        f"true label, and they have {size:.2f} labels on the mean."
        for level, share, size in zip(levels, held, sizes, strict=True)
    ]
    figure.set_label(" ".join(texts) or "There are 0 sets.")
    return figure


def _draw_sizes(axes: Axes, whole: pd.DataFrame) -> None:
    single = numbers(whole["single"])
    parts = ((single, "one label", look.BLUE), (1.0 - single, "more", look.ORANGE))
    look.stack(axes.bar, "bottom", parts, 0.6)
    for place, size in enumerate(numbers(whole["size"])):
        axes.text(place, 1.02, f"{size:.2f}", ha="center", va="bottom", fontsize=8)
    axes.set(ylim=(0, 1.12), yticks=np.arange(0, 1.1, 0.25), ylabel="sets")
    look.percent_axis(axes.yaxis, form=".0f")


def levels_figure(data: DatasetResults) -> Figure:
    """Draw errors and answers at each level of classes that are paths."""
    own = data.own("levels")
    right, answered_right, answered = (
        numbers(own[name]) for name in ("accuracy", "answered_accuracy", "answered")
    )
    names = [f"level {level:.0f}" for level in numbers(own["level"])]
    places = np.arange(len(names))
    figure = look.canvas(2.8)
    wrong, beside = figure.subplots(1, 2)
    for shift, shares, colour, label in (
        (-0.2, right, look.VERMILION, "of all that are predicted"),
        (0.2, answered_right, look.BLUE, "of those that are answered"),
    ):
        errors = np.nan_to_num(1.0 - shares)
        wrong.bar(places + shift, errors, width=0.38, color=colour, label=label)
        wrong.legend(loc="upper left")
    beside.bar(places, answered, width=0.6, color=look.BLUE)
    for axes in (wrong, beside):
        axes.set_xticks(places, names)
        axes.grid(visible=False, axis="x")
    wrong.set(ylim=(0, max(1.3 * wrong.get_ylim()[1], 0.001)), ylabel="wrong at the level")
    beside.set(ylim=(0, 1), ylabel="answered there or below")
    look.percent_axis(wrong.yaxis, beside.yaxis)
    told = " ".join(map(_told, names, right, answered, answered_right))
    figure.set_label(told or "Nothing was predicted: 0 levels.")
    return figure


def _told(level: str, right: float, answered: float, answered_right: float) -> str:
    errors = f"{look.percent(1 - right)} wrong, {look.percent(answered)} answered"
    of_these = f", {look.percent(1 - answered_right)} of these wrong"
    return f"{level.capitalize()}: {errors}{'' if np.isnan(answered_right) else of_these}."
