"""What the page tells of classes that were held out as unknown."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from kreinflow.artifacts import read_table

UNKNOWN_CAPTION = (
    "Objects of unknown classes that are rejected, against those of known classes, as the "
    "threshold grows from left to right: mean over outer folds at each share of the known. A "
    "marker has the means of both at the thresholds of the models of the coloured recipes; on the "
    "dashed line the probability tells nothing."
)


@dataclass(frozen=True, eq=False)
class UnknownReport:
    """Tables of :mod:`kreinflow.evaluation.unknown`, and their figure.

    Parameters
    ----------
    summary, families : DataFrame
        From ``rejection_summary`` and ``rejected_families``.
    figure : str
        The text of an SVG.
    """

    summary: pd.DataFrame
    families: pd.DataFrame
    figure: str


def read_unknown(folder: Path) -> UnknownReport:
    """Read what the page says of unknown classes from a data set's folder of results."""
    text = ["recipe", "class", "taken_for"]
    summary, families = (
        read_table(folder / "unknown" / f"{name}.tsv", ["recipe"], text)
        for name in ("summary", "families")
    )
    return UnknownReport(summary, families, (folder / "figures" / "unknown.svg").read_text())
