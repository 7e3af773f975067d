"""The landmark map of the report: an SVG whose points say what they are."""

import math
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from kreinflow.report.figures import (
    BLACK,
    PALETTE,
    canvas,
    drawing_style,
    figure_svg,
    flags,
    numbers,
    short_label,
    styles,
)

COLOURS = (*(colour for colour in PALETTE if colour != BLACK), "#8C510A")
"""Of the classes: seven, so that with twelve marks 84 classes differ; black is for landmarks."""

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"


def map_svg(points: pd.DataFrame, summary: Mapping[str, Any]) -> str:
    """Draw objects and landmarks in two dimensions of the Krein space, coloured by class.

    Each point has a ``<title>`` with its id and class, which browsers show under the pointer.

    Parameters
    ----------
    points : DataFrame
        Columns id, class, landmark, x, y, as :func:`kreinflow.models.landmark_map.map_points`
        gives them.
    summary : mapping
        With eigenvalues (of the axes) and all_eigenvalues (the sum of all magnitudes).
    """
    classes = sorted(set(points["class"].astype(str)))
    chosen = flags(points["landmark"])
    titles: dict[str, list[str]] = {}
    with drawing_style():
        columns = 6 if max(map(len, classes)) <= 9 else 4
        lines = math.ceil((len(classes) + 1) / columns)
        figure = canvas(5.4 + 0.16 * lines)
        axes = figure.subplots()
        for number, (name, style) in enumerate(styles(classes, COLOURS).items()):
            of_class = points["class"].astype(str) == name
            for kind, part, look in (
                ("object", of_class & ~chosen, {"markersize": 3.2, "markeredgewidth": 0}),
                ("landmark", of_class & chosen, {"markersize": 6, "markeredgecolor": BLACK}),
            ):
                if not part.any():
                    continue
                gid = f"{kind}s-{number}"
                titles[gid] = [f"{kind} {i}\n{name}" for i in points.loc[part, "id"].astype(str)]
                axes.plot(
                    numbers(points.loc[part, "x"]),
                    numbers(points.loc[part, "y"]),
                    linestyle="none",
                    color=style["color"],
                    marker=style["marker"],
                    markeredgewidth=look.pop("markeredgewidth", 0.7),
                    zorder=4 if kind == "landmark" else 3,
                    gid=gid,
                    **look,
                )
            axes.plot(
                [],
                linestyle="none",
                color=style["color"],
                marker=style["marker"],
                markersize=5,
                label=short_label(name),
            )
        axes.plot(
            [],
            linestyle="none",
            marker="o",
            markersize=6,
            color="none",
            markeredgecolor=BLACK,
            markeredgewidth=0.7,
            label="landmark",
        )
        axes.set_xlabel(_axis_name(summary, 0))
        axes.set_ylabel(_axis_name(summary, 1))
        size = 8 if len(classes) <= 30 else 7
        figure.legend(
            loc="outside lower center",
            ncols=columns,
            fontsize=size,
            handletextpad=0,
            columnspacing=1,
        )
    return _with_titles(figure_svg(figure), titles)


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
    return _text(root)


def with_prefix(svg: str, prefix: str) -> str:
    """Return an SVG with a prefix before its ids and all that refers to them; texts stay."""
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, f"{prefix}{value}")
            elif name == f"{{{XLINK}}}href" and value.startswith("#"):
                element.set(name, f"#{prefix}{value[1:]}")
            else:
                element.set(name, value.replace("url(#", f"url(#{prefix}"))
    return _text(root)


def _text(root: ElementTree.Element) -> str:
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.tostring(root, encoding="unicode") + "\n"
