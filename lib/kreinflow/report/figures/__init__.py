"""The figures of the report by theme; here is the look that all of them share.

Figures are drawn without pyplot, with colours that the colour-blind can tell apart (Okabe and Ito),
and come out byte-identical from the same tables. Numbers in tables may be text: so empty cells make
them.

The label of a figure tells its main figures in words, for those who cannot see it. It is the title
of the SVG, and the alternative text in pages.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator

from kreinflow.base.numerics import FloatArray

BLUE, VERMILION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#222222", "#767676"
PALE = "#BDBDBD"
SHADE = "#D3E5F0"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")

WIDTH = 7.4  # inches
LABEL_LENGTH = 28

_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "kreinflow",
    "svg.fonttype": "path",  # looks the same wherever it is opened
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#888888",
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#E2E2E2",
    "grid.linewidth": 0.6,
    "xtick.color": "#333333",
    "ytick.color": "#333333",
}


@contextmanager
def drawing_style() -> Iterator[None]:
    """Draw with the letters, lines and grid of the report, whatever the user's settings are."""
    # From matplotlib's own defaults, so that a matplotlibrc of the user's changes no byte.
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


_PLACES = re.compile(r' (?:d|x|y)="[^"]*"')
_LONG = re.compile(r"-?\d+\.\d{3,}")


def figure_svg(figure: Figure) -> str:
    """Return a figure as the text of an SVG, without date or version; its label is the title.

    Places are rounded to hundredths of a point.
    """
    buffer, text = io.StringIO(), str(figure.get_label())
    about = {"Date": None, "Creator": None} | ({"Title": text} if text else {})
    with drawing_style():
        figure.savefig(buffer, format="svg", bbox_inches="tight", pad_inches=0.08, metadata=about)
    lines = "\n".join(line.lstrip() for line in buffer.getvalue().splitlines())
    return _PLACES.sub(
        lambda places: _LONG.sub(lambda n: f"{float(n[0]):.2f}", places[0]), f"{lines}\n"
    )


def canvas(height: float, width: float = WIDTH) -> Figure:
    """Return an empty figure of so many inches."""
    return Figure(figsize=(width, height), layout="constrained")


def panel(height: float, width: float = WIDTH) -> tuple[Figure, Axes]:
    """Return a figure of so many inches with a single panel, and the panel."""
    figure = canvas(height, width)
    return figure, figure.subplots()


def stack(
    draw: Callable[..., Any], start: str, parts: Iterable[tuple[FloatArray, str, str]], size: float
) -> None:
    """Draw bars of shares with label and colour, each from the end of those before."""
    at: FloatArray | float = 0.0
    for shares, label, colour in parts:
        draw(np.arange(len(shares)), shares, size, **{start: at}, color=colour, label=label)
        at = at + shares


def short_label(text: object) -> str:
    """Shorten a label in its middle, and keep it as it is: no formula, and shown in legends."""
    label = " ".join(str(text).split())
    if len(label) > LABEL_LENGTH:
        half = LABEL_LENGTH // 2
        label = f"{label[:half]}…{label[-(half - 1) :]}"
    # matplotlib leaves out of legends what begins with "_": a space without width goes before it.
    return re.sub(r"^_", "\u200b_", label.replace("$", r"\$"))


def whole(*axes: Axis) -> None:
    """Give axes ticks at whole numbers only."""
    for axis in axes:
        axis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        axis.set_major_formatter("{x:,.0f}")


def logarithmic(axes: Axes) -> None:
    """Give a panel a logarithmic axis of numbers, from left to right."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xticks([], minor=True)


def rows_height(n: float, least: float) -> float:
    """Return the height in inches of a figure with n labelled rows."""
    return max(least, 0.9 + 0.17 * n)


def name_rows(axes: Axes, names: Sequence[object]) -> None:
    """Name the rows of a figure, the first on top."""
    axes.set_yticks(np.arange(len(names)), [short_label(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.grid(axis="x")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", left=False, labelsize=8 if len(names) <= 30 else 7)


def styles(names: Sequence[str], colours: Sequence[str] = PALETTE) -> dict[str, dict[str, Any]]:
    """Give each name a colour and a marker, in their order."""
    return {
        name: {"color": colours[i % len(colours)], "marker": MARKERS[i % len(MARKERS)]}
        for i, name in enumerate(names)
    }


def dots(colour: str, size: float, marker: str = "o") -> dict[str, Any]:
    """Return the style of markers without a line."""
    return {"color": colour, "linestyle": "none", "marker": marker, "markersize": size}


def percent_axis(*axes: Axis, form: str = ".3g") -> None:
    """Write shares at the ticks of axes in percent."""
    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:{form}}%"))


def percent(share: float) -> str:
    """Return a share in percent, with two decimals at most."""
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"
