"""The figures of the papers: which are drawn, and why the others are not.

Light to import: the workflow asks for the names while it is parsed.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class PaperFigure(NamedTuple):
    """A figure of ours beside one of a paper."""

    source: str
    """A key of :data:`kreinflow.references.REFERENCES`."""
    figure: str
    """Its number in the paper."""
    caption: str
    """What ours shows, and what the paper's does."""


class FigureLeftOut(NamedTuple):
    """A figure of a paper that is not drawn."""

    source: str
    figure: str
    reason: str


FIGURES: Mapping[str, PaperFigure] = {}
"""By the name of the file, ``figures/NAME.png``; in the order of the page."""

LEFT_OUT: Sequence[FigureLeftOut] = (
    FigureLeftOut("gisbrecht2015", "1", "a scheme of transformations, without data"),
    FigureLeftOut("gisbrecht2015", "2", "a scheme of transformations, without data"),
    FigureLeftOut("gisbrecht2015", "3", "accuracy by size of SwissProt: its scores are wanted"),
    FigureLeftOut("gisbrecht2015", "5", "spectra of three real data sets: their files are wanted"),
    FigureLeftOut("schleif2015epcvm", "1", "time on a larger data set that is not named"),
)
"""Figures that are not drawn."""
