"""The landmark map of the report: an SVG whose points say what they are."""

import math
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pandas as pd
from matplotlib.figure import Figure

from kreinflow.report import figures as look
from kreinflow.report.html import SVG, svg_text
from kreinflow.report.tables import flags, numbers

COLOURS = (*(colour for colour in look.PALETTE if colour != look.BLACK), "#8C510A")
"""Of the classes: seven, so that with twelve marks 84 classes differ; black is for landmarks."""


def map_svg(points: pd.DataFrame, summary: Mapping[str, Any]) -> str:
    """Draw objects and landmarks in two dimensions of the Krein space, coloured by class.

    Each point has a ``<title>`` with its id and class, which browsers show under the pointer.

    ``summary`` has the eigenvalues of the axes and all_eigenvalues, the sum of all magnitudes.
    """
    titles: dict[str, list[str]] = {}
    return _with_titles(look.figure_svg(_draw(points, summary, titles)), titles)


def _draw(points: pd.DataFrame, summary: Mapping[str, Any], titles: dict[str, list[str]]) -> Figure:
    """Draw each class's objects and landmarks as a group, and enter the titles of its points."""
    classes = sorted(set(points["class"].astype(str)))
    chosen = flags(points["landmark"])
    columns = 6 if max(map(len, classes)) <= 9 else 4
    figure, axes = look.panel(5.4 + 0.16 * math.ceil((len(classes) + 1) / columns))
    edge: dict[str, Any] = {"markersize": 6, "markeredgecolor": look.BLACK, "markeredgewidth": 0.7}
    for number, (name, style) in enumerate(look.styles(classes, COLOURS).items()):
        of_class = points["class"].astype(str) == name
        style |= {"linestyle": "none"}
        marks: dict[str, Any] = {
            "object": {"markersize": 3.2, "markeredgewidth": 0, "zorder": 3},
            "landmark": {**edge, "zorder": 4},
        }
        for kind, mark in marks.items():
            part = of_class & (chosen if kind == "landmark" else ~chosen)
            if part.any():
                shown, gid = points[part], f"{kind}s-{number}"
                titles[gid] = [f"{kind} {i}\n{name}" for i in shown["id"].astype(str)]
                axes.plot(numbers(shown["x"]), numbers(shown["y"]), **style, **mark, gid=gid)
        axes.plot([], **style, markersize=5, label=look.short_label(name))
    axes.plot([], linestyle="none", marker="o", color="none", **edge, label="landmark")
    axes.set_xlabel(_axis_name(summary, 0))
    axes.set_ylabel(_axis_name(summary, 1))
    figure.legend(
        loc="outside lower center",
        ncols=columns,
        fontsize=8 if len(classes) <= 30 else 7,
        handletextpad=0,
        columnspacing=1,
    )
    drawn = f"{(~chosen).sum():,} objects and {chosen.sum():,} landmarks of {len(classes)} classes"
    axes_shown = ", ".join(" ".join(_axis_name(summary, axis).split()) for axis in (0, 1))
    figure.set_label(f"{drawn}. Axes: {axes_shown}.")
    return figure


def _axis_name(summary: Mapping[str, Any], axis: int) -> str:
    values = summary["eigenvalues"]
    if axis >= len(values):
        return "no second eigenvalue"
    sign = "+" if values[axis] > 0 else "-"
    share = abs(values[axis]) / summary["all_eigenvalues"]
    return f"{sign}   (eigenvalue {values[axis]:,.4g}, {share:.1%} of all magnitudes)"


def _with_titles(svg: str, titles: Mapping[str, list[str]]) -> str:
    """Add a title to each point of the groups; styles move to the groups, which halves the text."""
    root = ElementTree.fromstring(svg)
    # The style is for "*", which would reach beyond the figure in a page: let it be inherited.
    root.set("style", root.findtext(f"{{{SVG}}}defs/{{{SVG}}}style", "").strip("*{} \n"))
    for part in list(root):
        if part.tag == f"{{{SVG}}}metadata" or part.find(f"{{{SVG}}}style") is not None:
            root.remove(part)
    groups = {group.get("id"): group for group in root.iter(f"{{{SVG}}}g")}
    for gid, texts in titles.items():
        groups[gid].set("class", "points")
        points = list(groups[gid].iter(f"{{{SVG}}}use"))
        groups[gid].set("style", points[0].attrib["style"])
        for point, text in zip(points, texts, strict=True):
            del point.attrib["style"]
            ElementTree.SubElement(point, f"{{{SVG}}}title").text = text
    return svg_text(root)
