"""The comparison as tables: fold by fold, and means with standard deviations."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from kreinflow.competitors.methods import METHODS
from kreinflow.competitors.run import FOLD_COLUMNS

FIGURES = (
    "accuracy",
    "macro_f1",
    "unassigned",
    "train_seconds",
    "query_seconds",
    "alignments_per_query",
    "model_bytes",
)

COMPARE_COLUMNS = (
    "folds",
    "method",
    "tested_folds",
    "records",
    *(f"{figure}_{part}" for figure in FIGURES for part in ("mean", "sd")),
    "version",
    "reason",
)
"""``folds`` is how the folds were made, ``tested_folds`` how many of them have figures."""


def fold_table(parts: Mapping[str, Sequence[pd.DataFrame]]) -> pd.DataFrame:
    """Return the rows of all folds: by kind of folds, method, repeat and fold.

    Parameters
    ----------
    parts : mapping of str to sequence of DataFrame
        For each kind of folds tables with the columns
        :data:`~kreinflow.competitors.run.FOLD_COLUMNS`.
    """
    tables = []
    for kind, some in parts.items():
        table = pd.concat(some, ignore_index=True)[list(FOLD_COLUMNS)]
        order = table["method"].map({name: rank for rank, name in enumerate(METHODS)})
        table = table.assign(order=order).sort_values(["order", "repeat", "fold"], kind="stable")
        table.insert(0, "folds", kind)
        tables.append(table.drop(columns="order"))
    whole = pd.concat(tables, ignore_index=True)
    for figure in FIGURES:  # a column with empty cells is text when it is read
        whole[figure] = pd.to_numeric(whole[figure], errors="coerce")
    return whole


def compare_table(folds: pd.DataFrame) -> pd.DataFrame:
    """Return mean and standard deviation (n - 1) over folds, for each kind of folds and method.

    A method that could not run in some fold has that reason, and the means of the others.

    Parameters
    ----------
    folds : DataFrame
        From :func:`fold_table`.

    Returns
    -------
    DataFrame
        Columns :data:`COMPARE_COLUMNS`.
    """
    rows = []
    for (kind, method), part in folds.groupby(["folds", "method"], sort=False):
        ran = part[part["reason"].astype(str) == ""]
        values: list[object] = []
        for figure in FIGURES:
            numbers = ran[figure].to_numpy(np.float64)
            values.append(numbers.mean() if len(numbers) else np.nan)
            values.append(numbers.std(ddof=1) if len(numbers) > 1 else np.nan)
        versions = sorted({str(v) for v in ran["version"]} - {""})
        reasons = sorted({str(v) for v in part["reason"]} - {""})
        row = [kind, method, len(ran), int(ran["records"].sum()), *values]
        rows.append([*row, ", ".join(versions), "; ".join(reasons)])
    return pd.DataFrame(rows, columns=list(COMPARE_COLUMNS))
