"""The page of the papers: one HTML file that needs nothing but itself."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.base.references import REFERENCES
from kreinflow.papers.experiments import Experiment
from kreinflow.papers.figures import FigureLeftOut, PaperFigure
from kreinflow.papers.tables import records
from kreinflow.report.html import page_environment
from kreinflow.report.tables import Table, number, pair

SHORT = 2.0
"""Standard deviations below a paper from which on a row is said to fall short."""

TITLES = {
    "schleif2018": "Supervised low rank indefinite kernel approximation (2018)",
    "gisbrecht2015": "Proximity transformations at linear costs (2015)",
    "oglic2019": "Scalable learning in Krein spaces (2019)",
    "schleif2015epcvm": "Incremental PCVM with linear costs (2015)",
    "schleif2015pcvm": "PCVM at large scale (2015)",
}
"""The sections of the page, in its order."""


def render_page(
    table: pd.DataFrame,
    experiments: Mapping[str, Experiment],
    figures: Mapping[str, PaperFigure],
    left_out: Sequence[FigureLeftOut],
    images: Mapping[str, bytes],
    versions: Mapping[str, str],
) -> str:
    """Return the page as HTML: no network, the same bytes from the same input.

    Parameters
    ----------
    table : DataFrame
        See :func:`kreinflow.papers.tables.compare`.
    experiments : mapping of str to Experiment
    figures, left_out
        See :mod:`kreinflow.papers.figures`.
    images : mapping of str to bytes
        The PNG of each figure.
    versions : mapping of str to str
        Of Python and of packages.
    """
    environment = page_environment(Path(__file__).parent / "data")
    return environment.get_template("page.html.j2").render(
        short=SHORT,
        counts=_counts(table),
        papers=[
            {
                "key": source,
                "title": title,
                "reference": REFERENCES[source],
                "tables": list(_tables(table[table["source"] == source])),
                "figures": [
                    {
                        "name": name,
                        "number": figure.figure,
                        "caption": figure.caption,
                        "data": base64.b64encode(images[name]).decode("ascii"),
                    }
                    for name, figure in figures.items()
                    if figure.source == source
                ],
                "left_out": [figure for figure in left_out if figure.source == source],
            }
            for source, title in TITLES.items()
        ],
        others=_others(table[table["source"] == ""]),
        remarks=_remarks(table),
        wanted=_wanted(table, experiments),
        versions=Table(["package", "version"], list(versions.items()), frozenset({0, 1})),
    )


def _ran(table: pd.DataFrame) -> "pd.Series[bool]":
    return table["our_accuracy"].notna()


FIGURE = ["source", "table", "dataset", "method"]
"""Columns that tell the published figures apart."""


def _counts(table: pd.DataFrame) -> dict[str, int]:
    """Return how many published figures there are, and how ours compare: the first that ran."""
    theirs = table[table["source"] != ""]
    ran = theirs[_ran(theirs)].drop_duplicates(FIGURE)
    difference = ran["difference_in_sd"].to_numpy(np.float64)
    # Where both deviations are 0, so that there is no unit, the sign of the difference decides.
    difference = np.where(np.isnan(difference), np.sign(ran["difference"]) * np.inf, difference)
    difference = np.where(ran["difference"] == 0, 0.0, difference)
    return {
        "rows": len(theirs.drop_duplicates(FIGURE)),
        "ran": len(ran),
        "short": int(np.sum(difference < -SHORT)),
        "alike": int(np.sum(np.abs(difference) <= SHORT)),
        "better": int(np.sum(difference > SHORT)),
    }


def _signed(value: float) -> str:
    return "" if np.isnan(value) else f"{round(value, 1) + 0.0:+.1f}"  # no minus before zero


HEAD = ["data", "method", "paper, %", "ours, %", "points", "sd", "landmarks, paper", "ours"]
HEAD += ["seconds, paper", "ours", "folds", "negative", "remark"]


def _tables(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the tables of a paper."""
    for name, part in rows.groupby("table", sort=False):
        place = str(name)
        marked = frozenset(np.flatnonzero(_ran(part)).tolist())
        yield {
            "name": f"Section {place[5:]}" if place.startswith("text ") else f"Table {place}",
            "table": Table(
                HEAD,
                [_cells(row) for row in records(part)],
                frozenset({0, 1, 12}),
                marked,
                12,
            ),
        }


def _cells(row: Mapping[str, Any]) -> list[str]:
    complexity = ""
    if not np.isnan(row["complexity"]):
        complexity = f"basis {pair(row['complexity'], row['complexity_sd'])} %"
        if not np.isnan(row["our_complexity"]):
            complexity += f", ours {row['our_complexity']:.2f} %"
    see = "see above" if row["why"] else ""
    remarks = [row["reason"].split(": ")[0], see, complexity, row["note"]]
    return [
        _place(row),
        row["method"],
        pair(row["accuracy"], row["accuracy_sd"]),
        pair(row["our_accuracy"], row["our_accuracy_sd"]),
        _signed(row["difference"]),
        _signed(row["difference_in_sd"]),
        row["landmarks"],
        number(row["our_landmarks"], ",.1f"),
        pair(row["seconds"], row["seconds_sd"]),
        number(row["our_seconds"], ",.2f"),
        number(row["folds"], ",.0f"),
        "" if np.isnan(row["negative_fraction"]) else f"{100 * row['negative_fraction']:.1f} %",
        "; ".join(filter(None, remarks)),
    ]


def _place(row: Mapping[str, Any]) -> str:
    return ", ".join(filter(None, [row["dataset"], row["setting"]]))


def _others(rows: pd.DataFrame) -> Table:
    """Return the recipes that no paper has."""
    cells = [
        [
            row["experiment"],
            row["recipe"],
            pair(row["our_accuracy"], row["our_accuracy_sd"]),
            number(row["our_landmarks"], ",.1f"),
            number(row["our_seconds"], ",.2f"),
            number(row["folds"], ",.0f"),
            row["reason"],
        ]
        for row in records(rows)
    ]
    head = ["data", "recipe", "accuracy, %", "landmarks", "seconds", "folds", "remark"]
    return Table(head, cells, frozenset({0, 1, 6}), wrapped=6)


def _remarks(table: pd.DataFrame) -> list[dict[str, str]]:
    """Return what there is to say of rows, by data set and in the words of the experiments."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in records(table):
        if row["why"]:
            what = row["method"] or row["recipe"]
            found.setdefault((_place(row), row["why"]), []).append(what)
    return [
        {"where": f"{dataset}, {'; '.join(methods)}", "why": why}
        for (dataset, why), methods in found.items()
    ]


def _wanted(table: pd.DataFrame, experiments: Mapping[str, Experiment]) -> Table:
    """Return the data that only want a file, and where it goes."""
    missing = table[(table["experiment"] != "") & table["our_accuracy"].isna()]
    cells = []
    for name in dict.fromkeys(missing["experiment"]):
        experiment = experiments[name]
        if not experiment.files:
            continue
        cells.append(
            [
                name,
                str(int((missing["experiment"] == name).sum())),
                ", ".join(experiment.files),
                experiment.about,
                experiment.wants,
                " ".join(map(str, experiment.signature)),
                f"{experiment.hours:g}" if experiment.hours else "",
            ]
        )
    head = ["experiment", "rows", "files", "data", "where from", "signature in the paper", "hours"]
    return Table(head, cells, frozenset({0, 2, 3, 4}), wrapped=4)
