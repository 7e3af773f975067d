"""The page of the comparison: one HTML file that needs nothing but itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.competitors.figures import cost_figure
from kreinflow.competitors.methods import METHODS, OURS
from kreinflow.report.figures import figure_svg
from kreinflow.report.page import Table, image, page_environment

TEMPLATES = Path(__file__).parent / "data"
"""A folder of its own: what lies beside a module counts as part of all that import it."""


def render_page(
    tables: Mapping[str, pd.DataFrame], budgets: Mapping[str, pd.DataFrame], threads: int
) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        For each data set the table of :func:`~kreinflow.competitors.tables.compare_table`.
    budgets : mapping of str to DataFrame
        For each that of :func:`~kreinflow.competitors.tables.budget_table`.
    threads : int
        That each method had.
    """
    environment = page_environment(TEMPLATES)
    return environment.get_template("page.html.j2").render(
        threads=threads,
        datasets=[
            {
                "name": name,
                "parts": [
                    _part(str(kind), part, budgets[name][budgets[name]["folds"] == kind])
                    for kind, part in table.groupby("folds", sort=False)
                ],
            }
            for name, table in tables.items()
        ],
    )


HEAD = ["method", "accuracy, %", "against ours", "p", "macro F1, %", "unassigned, %"]
HEAD += [
    "seconds to train",
    "per 1,000 queries",
    "alignments per query",
    "model, kB",
    "folds",
    "version or recipe",
]


BUDGET_HEAD = ["selector", "alignments per query", "accuracy, %", "recipes chosen"]


def _part(kind: str, summary: pd.DataFrame, budgets: pd.DataFrame) -> dict[str, Any]:
    rows = [
        [
            row["selector"],
            _number(row["alignments_per_query_mean"], 1, ",.1f"),
            _pair(row, "accuracy", 100, 3),
            row["recipes"],
        ]
        for row in ({str(k): v for k, v in row.items()} for row in budgets.to_dict("records"))
    ]
    return {
        "folds": kind,
        "table": _table(summary),
        "image": image(figure_svg(cost_figure(summary, budgets))),
        "budgets": Table(BUDGET_HEAD, rows, frozenset({0, 3}), frozenset(), 3),
    }


def _table(part: pd.DataFrame) -> Table:
    rows = [_cells({str(k): v for k, v in row.items()}) for row in part.to_dict("records")]
    ours = frozenset(np.flatnonzero(part["method"] == OURS).tolist())
    last = len(HEAD) - 1
    return Table(HEAD, rows, frozenset({0, last}), ours, last)


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        METHODS[row["method"]],
        _pair(row, "accuracy", 100, 2),
        _number(row["difference"], 100, "+.2f"),
        _number(row["p_holm"], 1, ".2g"),
        *(_pair(row, figure, 100, 2) for figure in ("macro_f1", "unassigned")),
        *(_pair(row, figure, 1, 2) for figure in ("train_seconds", "query_seconds")),
        _pair(row, "alignments_per_query", 1, 0),
        _pair(row, "model_bytes", 1e-3, 0),
        str(row["tested_folds"]),
        "; ".join(filter(None, [row["version"], row["reason"] and f"not run: {row['reason']}"])),
    ]


def _number(value: object, factor: float, form: str) -> str:
    found = float(pd.to_numeric(value, errors="coerce"))  # type: ignore[call-overload]
    return "" if np.isnan(found) else format(factor * found, form)


def _pair(row: Mapping[str, Any], figure: str, factor: float, digits: int) -> str:
    mean, spread = (
        float(pd.to_numeric(row[f"{figure}_{part}"], errors="coerce")) for part in ("mean", "sd")
    )
    if np.isnan(mean):
        return ""
    text = f"{factor * mean:,.{digits}f}"
    return text if np.isnan(spread) else f"{text} ± {factor * spread:,.{digits}f}"
