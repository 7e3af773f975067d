"""Figures of the probabilities: what is rejected by them, and how often they are right."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, PercentFormatter

from kreinflow.answering.reject_threshold import NOTHING_ACCEPTED
from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.metrics import CALIBRATION_BINS
from kreinflow.report import figures as look
from kreinflow.report.tables import numbers, wrong_of_accepted

_CLASSES = 12  # held out as unknown that are drawn


@look.drawing_style()
def reject_figure(
    reject_curve: pd.DataFrame,
    recipe: str,
    accepted: pd.DataFrame,
    threshold: float,
    several: bool = False,
) -> Figure:
    """Draw the errors that remain when the least certain predictions are set aside.

    Marked is what the models of the outer folds accept. If records may have several labels, a
    prediction is a label that a record was given, and nothing is marked: each has a threshold.

    Parameters
    ----------
    reject_curve : DataFrame
    recipe : str
    accepted : DataFrame
    threshold : float
        Of the final model: the probability that a prediction is accepted from.
    several : bool
        Whether records may have several labels.
    """
    figure = look.canvas(3.4)
    axes = figure.subplots()
    rows = reject_curve[reject_curve["recipe"].astype(str) == recipe]
    coverage, error = numbers(rows["coverage"]), numbers(rows["error"])
    axes.plot(coverage, error, color=look.BLUE, linewidth=2.2)
    what = "labels" if several else "predictions"
    text = f"Of all {what} {look.percent(error[-1])} are wrong." if len(error) else f"0 {what}."
    left, top = min(coverage[error > 0], default=1.0), max(error, default=0.0)
    own = accepted[accepted["recipe"].astype(str) == recipe]
    share = wrong = math.nan
    if len(own) and not several:
        share, wrong = float(numbers(own["accepted_mean"])[0]), wrong_of_accepted(own)
        left, top = min(left, share), max(top, np.nan_to_num(wrong))
    first = min(math.floor(10 * left + 1e-9), 9) / 10
    axes.set_xlim(first, 1)
    axes.set_ylim(0, max(1.5 * top, 0.001))
    if not math.isnan(share):
        told = _mark(axes, share, wrong, threshold)
        text += f" {told[0].upper()}{told[1:]}."
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g}%"))
    given = "labels given and" if several else what
    axes.set_xlabel(f"{given} kept, the most certain first")
    axes.set_ylabel("errors among the kept")
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


@look.drawing_style()
def unknown_figure(
    curve: pd.DataFrame, summary: pd.DataFrame, families: pd.DataFrame, recipe: str
) -> Figure:
    """Draw the share of unknown objects that is rejected against that of the known, and why.

    Parameters
    ----------
    curve, summary, families : DataFrame
        From :func:`kreinflow.evaluation.unknown.rejection_curve`, ``rejection_summary`` and
        ``rejected_families``. Of classes the largest few are shown.
    recipe : str
    """
    curve, summary, families = (
        table[table["recipe"].astype(str) == recipe] for table in (curve, summary, families)
    )
    figure = look.canvas(4.0)
    axes, beside = figure.subplots(1, 2, width_ratios=[3, 2])
    axes.plot([0, 1], [0, 1], color=look.GREY, linestyle="--", linewidth=1)
    x, y = "known_rejected", "unknown_rejected"
    axes.plot(numbers(curve[x]), numbers(curve[y]), color=look.BLUE, linewidth=2.2)
    known, unknown = (numbers(summary[f"{name}_mean"]) for name in (x, y))
    drawn = {"color": look.VERMILION, "linestyle": "none", "marker": "D", "markersize": 7}
    axes.plot(known, unknown, **drawn, zorder=4, clip_on=False)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("objects of known classes rejected")
    axes.set_ylabel("objects of unknown classes rejected")
    _draw_reasons(beside, summary, families)
    if len(summary):
        told = f"{look.percent(known[0])} of the objects of known classes and "
        told += f"{look.percent(unknown[0])} of those of unknown ones are rejected."
        shares = numbers(summary["auroc_mean"])
        figure.set_label(f"{told} The AUROC is {shares[0]:.3f}.")
    return figure


def _draw_reasons(axes: Axes, summary: pd.DataFrame, families: pd.DataFrame) -> None:
    """Draw for what reasons known objects and those of each unknown class are rejected."""
    order = np.argsort(-numbers(families["records"]), kind="stable")[:_CLASSES]
    classes = families.iloc[order]
    names = ["all known", *classes["class"]]
    places, left = np.arange(len(names)), np.zeros(len(names))
    for (reason, name), colour in zip(AS.items(), (look.SKY, look.ORANGE, look.BLUE), strict=True):
        shares = np.concatenate([numbers(summary[f"known_{name}_mean"]), numbers(classes[name])])
        axes.barh(places, shares, 0.7, left=left, color=colour, label=reason)
        left = left + shares
    look.name_rows(axes, names)
    axes.set_xlim(0, 1)
    axes.grid(visible=False, axis="y")
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    axes.set_xlabel("rejected, by reason")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3, handlelength=0.8)


@look.drawing_style()
def calibration_figure(calibration: pd.DataFrame, recipe: str, several: bool = False) -> Figure:
    """Draw accuracy against probability, above how many predictions have it.

    The pale boxes are where the accuracy would be, were the probabilities perfect.

    Parameters
    ----------
    calibration : DataFrame
        From :func:`kreinflow.evaluation.metrics.calibration_bins`.
    recipe : str
    several : bool
        Whether records may have several labels, each with a probability of its own.
    """
    own = calibration[calibration["recipe"].astype(str) == recipe]
    figure = look.canvas(4.6, 5.2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    above.plot([0, 1], [0, 1], color=look.GREY, linestyle="--", linewidth=1)
    lower, count = numbers(own["lower"]), numbers(own["count"])
    bottom, top = numbers(own["perfect_low"]), numbers(own["perfect_high"])
    bars = {"width": 1 / CALIBRATION_BINS, "align": "edge", "edgecolor": "white"}
    above.bar(lower, top - bottom, bottom=bottom, color=look.PALE, label="perfect", **bars)
    confidence, accuracy = numbers(own["confidence"]), numbers(own["accuracy"])
    drawn = {"color": look.BLUE, "marker": "o", "markersize": 4, "linewidth": 1}
    above.plot(confidence, accuracy, **drawn, label="found")
    above.set_ylim(-0.02, 1.04)
    share = "records that have it" if several else "accuracy"
    above.set_ylabel(f"{share} (boxes: 95 % ranges)")
    figure.legend(loc="outside upper left", ncols=2)
    below.bar(lower, count, color=look.SKY, **bars)
    below.set_yscale("log")
    below.set_ylim(0.8, max(2.0, float(count.max()) * 2))
    below.yaxis.set_major_formatter(look.thousands())
    below.set_yticks([], minor=True)
    below.set_xlim(0, 1.01)
    below.set_xlabel(f"probability given to the {'label' if several else 'prediction'}")
    below.set_ylabel("labels of records" if several else "predictions")
    if len(own):
        told = zip(count[-1:], lower[-1:], confidence[-1:], accuracy[-1:], strict=True)
        ((most, at_least, said, right),) = told
        figure.set_label(
            f"{most:,.0f} of {count.sum():,.0f} probabilities are at least "
            f"{look.percent(at_least)}: their mean is {look.percent(said)}, and "
            f"{look.percent(right)} of them are right."
        )
    return figure
