"""The page of the papers: one HTML file that needs nothing but itself."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.base.references import REFERENCES
from kreinflow.report.html import page_environment
from kreinflow.report.tables import PageTable, number, pair, table_of
from papers.experiments import DATA, FIGURES, LEFT_OUT, load_experiments

SHORT = 2.0
"""Standard deviations below a paper from which on a row falls short."""

TITLES = {
    "schleif2018": "Supervised low rank indefinite kernel approximation (2018)",
    "gisbrecht2015": "Proximity transformations at linear costs (2015)",
    "oglic2019": "Scalable learning in Krein spaces (2019)",
    "schleif2015epcvm": "Incremental PCVM with linear costs (2015)",
    "schleif2015pcvm": "PCVM at large scale (2015)",
}
"""The sections of the page, in its order."""

_FIGURE = ["source", "table", "dataset", "method"]
"""Columns that tell the published figures apart."""

_HEAD = ["data", "method", "paper, %", "ours, %", "points", "sd", "landmarks, paper", "ours"]
_HEAD += ["seconds, paper", "ours", "folds", "negative", "remark"]


def render_page(
    table: pd.DataFrame, images: Mapping[str, bytes], versions: Mapping[str, str]
) -> str:
    """Return the page as HTML: no network, the same bytes from the same input.

    The table is that of :func:`papers.tables.compare`; ``images`` has the PNG of each
    figure to show, by its name in :data:`~papers.experiments.FIGURES`.
    """
    template = page_environment(DATA).get_template("page.html.j2")
    return template.render(
        short=SHORT,
        counts=_counts(table),
        papers=[
            {
                "key": source,
                "title": title,
                "reference": REFERENCES[source],
                "tables": list(_tables(table[table["source"] == source])),
                "figures": [
                    {"name": n, "figure": figure, "data": base64.b64encode(images[n]).decode()}
                    for n, figure in FIGURES.items()
                    if figure.source == source and n in images
                ],
                "left_out": [figure for figure in LEFT_OUT if figure.source == source],
            }
            for source, title in TITLES.items()
        ],
        others=_others(table[table["source"] == ""]),
        remarks=_remarks(table),
        wanted=_wanted(table),
        versions=PageTable(["package", "version"], list(versions.items()), frozenset({0, 1})),
    )


def _counts(table: pd.DataFrame) -> dict[str, int]:
    """Return how many published figures there are, and how ours compare: the first that ran."""
    theirs = table[table["source"] != ""]
    ran = theirs[theirs["our_accuracy"].notna()].drop_duplicates(_FIGURE)
    difference = ran["difference_in_sd"].to_numpy(np.float64)
    # Where both deviations are 0, so that there is no unit, the sign of the difference decides.
    difference = np.where(np.isnan(difference), np.sign(ran["difference"]) * np.inf, difference)
    difference = np.where(ran["difference"] == 0, 0.0, difference)
    return {
        "rows": len(theirs.drop_duplicates(_FIGURE)),
        "ran": len(ran),
        "short": int(np.sum(difference < -SHORT)),
        "alike": int(np.sum(np.abs(difference) <= SHORT)),
        "better": int(np.sum(difference > SHORT)),
    }


def _tables(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the tables of a paper."""
    for place, part in rows.groupby("table", sort=False):
        ran = frozenset(np.flatnonzero(part["our_accuracy"].notna()).tolist())
        cells = [_cells(row) for row in part.to_dict("records")]
        name = f"Table {place}".replace("Table text ", "Section ")
        yield {"name": name, "table": PageTable(_HEAD, cells, frozenset({0, 1, 12}), ran, 12)}


def _cells(row: Mapping[Any, Any]) -> list[str]:
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
        *(number(round(row[d], 1) + 0.0, "+.1f") for d in ("difference", "difference_in_sd")),
        row["landmarks"],
        number(row["our_landmarks"], ",.1f"),
        pair(row["seconds"], row["seconds_sd"]),
        number(row["our_seconds"], ",.2f"),
        number(row["folds"], ",.0f"),
        number(row["negative_fraction"], ".1%").replace("%", " %"),
        "; ".join(filter(None, remarks)),
    ]


def _place(row: Mapping[Any, Any]) -> str:
    return ", ".join(filter(None, [row["dataset"], row["setting"]]))


def _others(rows: pd.DataFrame) -> PageTable:
    """Return the recipes that no paper has."""
    records = rows.to_dict("records")
    columns: dict[str, Iterable[object]] = {
        "data": rows["experiment"],
        "recipe": rows["recipe"],
        "accuracy, %": [pair(row["our_accuracy"], row["our_accuracy_sd"]) for row in records],
        "landmarks": [number(row["our_landmarks"], ",.1f") for row in records],
        "seconds": [number(row["our_seconds"], ",.2f") for row in records],
        "folds": [number(row["folds"], ",.0f") for row in records],
        "remark": rows["reason"],
    }
    return table_of(columns, {0, 1, 6}, wrapped=6)


def _remarks(table: pd.DataFrame) -> list[dict[str, str]]:
    """Return what there is to say of rows, by data set and in the words of the experiments."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in table[table["why"] != ""].to_dict("records"):
        methods = found.setdefault((_place(row), row["why"]), [])
        methods.append(row["method"] or row["recipe"])
    return [
        {"where": f"{dataset}, {'; '.join(methods)}", "why": why}
        for (dataset, why), methods in found.items()
    ]


def _wanted(table: pd.DataFrame) -> PageTable:
    """Return the data whose files are missing, and where to get them."""
    missing = table["experiment"][(table["experiment"] != "") & table["our_accuracy"].isna()]
    rows = missing.value_counts(sort=False)
    wanted = [load_experiments()[str(name)] for name in dict.fromkeys(missing)]
    wanted = [experiment for experiment in wanted if experiment.files]
    columns: dict[str, Iterable[object]] = {
        "experiment": [e.name for e in wanted],
        "rows": [rows[e.name] for e in wanted],
        "files": [", ".join(e.files) for e in wanted],
        "data": [e.about for e in wanted],
        "where from": [e.wants for e in wanted],
        "signature in the paper": [" ".join(map(str, e.signature)) for e in wanted],
        "hours": [f"{e.hours:g}" if e.hours else "" for e in wanted],
    }
    return table_of(columns, {0, 2, 3, 4}, wrapped=4)
