"""The page of the comparison: one HTML file that needs nothing but itself."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.competitors.methods import METHODS, OURS
from kreinflow.report.page import Table, page_environment

TEMPLATES = Path(__file__).parent / "data"
"""A folder of its own: what lies beside a module counts as part of all that import it."""


def render_page(tables: Mapping[str, pd.DataFrame], threads: int) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        For each data set the table of :func:`~kreinflow.competitors.tables.compare_table`.
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
                    {"folds": str(kind), "table": _table(part)}
                    for kind, part in table.groupby("folds", sort=False)
                ],
            }
            for name, table in tables.items()
        ],
    )


HEAD = ["method", "accuracy, %", "macro F1, %", "unassigned, %", "seconds to train"]
HEAD += ["per 1,000 queries", "alignments per query", "model, kB", "folds", "version or recipe"]


def _table(part: pd.DataFrame) -> Table:
    rows = [_cells({str(k): v for k, v in row.items()}) for row in part.to_dict("records")]
    ours = frozenset(np.flatnonzero(part["method"] == OURS).tolist())
    return Table(HEAD, rows, frozenset({0, 9}), ours, 9)


def _cells(row: Mapping[str, Any]) -> list[str]:
    return [
        METHODS[row["method"]],
        *(_pair(row, figure, 100, 2) for figure in ("accuracy", "macro_f1", "unassigned")),
        *(_pair(row, figure, 1, 2) for figure in ("train_seconds", "query_seconds")),
        _pair(row, "alignments_per_query", 1, 0),
        _pair(row, "model_bytes", 1e-3, 0),
        str(row["tested_folds"]),
        "; ".join(filter(None, [row["version"], row["reason"] and f"not run: {row['reason']}"])),
    ]


def _pair(row: Mapping[str, Any], figure: str, factor: float, digits: int) -> str:
    mean, spread = (
        float(pd.to_numeric(row[f"{figure}_{part}"], errors="coerce")) for part in ("mean", "sd")
    )
    if np.isnan(mean):
        return ""
    text = f"{factor * mean:,.{digits}f}"
    return text if np.isnan(spread) else f"{text} ± {factor * spread:,.{digits}f}"
