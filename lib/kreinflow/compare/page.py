"""The page of the comparison: one HTML file that needs nothing but itself."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.compare.figures import cost_figure
from kreinflow.compare.methods import METHODS, OURS
from kreinflow.report.figures import figure_svg
from kreinflow.report.html import image, page_environment
from kreinflow.report.tables import Table, cells, intervals, p_values, pairs, table_of

TEMPLATES = Path(__file__).parent / "data"
"""A folder of its own: what lies beside a module counts as part of all that import it."""


def render_page(
    tables: Mapping[str, pd.DataFrame],
    budgets: Mapping[str, pd.DataFrame],
    left_out: Mapping[str, Mapping[str, str]],
    threads: int,
) -> str:
    """Return the page as HTML.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        For each data set the table of :func:`~kreinflow.compare.tables.compare_table`.
    budgets : mapping of str to DataFrame
        For each that of :func:`~kreinflow.compare.tables.budget_table`.
    left_out : mapping
        For each the kinds of folds that were not run, and the kind that stands for them.
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
                "left_out": left_out[name],
            }
            for name, table in tables.items()
        ],
    )


def _part(kind: str, summary: pd.DataFrame, budgets: pd.DataFrame) -> dict[str, Any]:
    """Return what there is of one kind of folds."""
    choices: dict[str, Iterable[object]] = {
        "selector": budgets["selector"],
        "alignments per query": cells(budgets["alignments_per_query_mean"], ",.1f"),
        "accuracy, %": pairs(budgets, "accuracy", ",.3f", 100),
        "recipes chosen": budgets["recipes"],
    }
    return {
        "folds": kind,
        "table": _table(summary),
        "image": image(figure_svg(cost_figure(summary, budgets))),
        "budgets": table_of(choices, text={0, 3}, wrapped=3),
    }


def _table(summary: pd.DataFrame) -> Table:
    columns: dict[str, Iterable[object]] = {
        "method": [METHODS[name] for name in summary["method"]],
        "accuracy, %": pairs(summary, "accuracy", ",.2f", 100),
        "against ours": cells(summary["difference_records"], "+.2f", 100),
        "95 % interval": intervals(summary, "+.2f", 100),
        "p (Holm)": p_values(summary["p_records_holm"]),
        "t-test, p (Holm)": p_values(summary["p_folds_holm"]),
        "macro F1, %": pairs(summary, "macro_f1", ",.2f", 100),
        "unassigned, %": pairs(summary, "unassigned", ",.2f", 100),
        "seconds to train": pairs(summary, "train_seconds", ",.2f"),
        "per 1,000 queries": pairs(summary, "query_seconds", ",.2f"),
        "alignments per query": pairs(summary, "alignments_per_query", ",.0f"),
        "model, kB": pairs(summary, "model_bytes", ",.0f", 1e-3),
        "folds": summary["tested_folds"],
        "version or recipe": [
            "; ".join(filter(None, [version, reason and f"not run: {reason}"]))
            for version, reason in zip(summary["version"], summary["reason"], strict=True)
        ],
    }
    ours = set(np.flatnonzero(summary["method"] == OURS).tolist())
    last = len(columns) - 1
    return table_of(columns, {0, last}, ours, last)
