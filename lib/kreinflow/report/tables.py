"""Tables of the pages: numbers out of columns, and the text of cells."""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.base.binomial import interval
from kreinflow.base.numerics import FloatArray
from kreinflow.report.texts import TEXTS


@dataclass(frozen=True)
class PageTable:
    """A table of a page: the first column names the row.

    Columns in ``text`` stay left, the column ``wrapped`` may break its lines, rows in ``marked``
    are shaded.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: AbstractSet[int] = frozenset({0})
    marked: AbstractSet[int] = frozenset()
    wrapped: int | None = None


def table_of(
    columns: Mapping[str, Iterable[object]],
    text: AbstractSet[int] = frozenset({0}),
    marked: AbstractSet[int] = frozenset(),
    wrapped: int | None = None,
) -> PageTable:
    """Return a table from the cells of each column, by its heading."""
    rows = zip(*columns.values(), strict=True)
    return PageTable(list(columns), [tuple(map(str, row)) for row in rows], text, marked, wrapped)


def laid_out(
    table: pd.DataFrame, name: str, marked: AbstractSet[int] = frozenset(), **words: str
) -> PageTable:
    """Return the columns of a table as ``texts.yaml`` lays them out, with ``words`` in headings.

    A layout has a heading, the column, and how it is written: as :func:`cells` write it, nothing
    for text, which stays left, ``wrap`` for text that may break its lines. A column whose name ends
    in ``?`` may be missing.
    """
    columns: dict[str, list[Any]] = {}
    text, wrapped = {0}, None
    for head, layout in TEXTS["tables"][name].items():
        column, _, form = layout.partition(" ")
        if column.endswith("?") and not {column[:-1], f"{column[:-1]}_mean"} & {*table}:
            continue
        if form in ("", "wrap"):
            text.add(len(columns))
            wrapped = len(columns) if form else wrapped
        columns[head.format(**words)] = cells(table, column.rstrip("?"), form)
    return table_of(columns, text, marked, wrapped)


def numbers(column: "pd.Series[Any]") -> FloatArray:
    """Return a column as numbers; empty cells, which come back from a file as text, are NaN."""
    return pd.to_numeric(column, errors="coerce").to_numpy(np.float64)


def flags(column: "pd.Series[Any]") -> "pd.Series[bool]":
    """Return a column as booleans, whether it holds them or their text."""
    return column.astype(str).str.lower() == "true"


def of_recipe(table: pd.DataFrame, recipe: str) -> pd.DataFrame:
    """Return the rows of a recipe."""
    return table[table["recipe"].astype(str) == recipe]


def marked_rows(table: pd.DataFrame, recipe: str) -> set[int]:
    """Return the places of the rows of a recipe."""
    return set(np.flatnonzero(table["recipe"].astype(str) == recipe).tolist())


def measured(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of outer folds: those of the final model have a negative repeat."""
    return table[numbers(table["repeat"]) >= 0]


def best_recipe(comparison: pd.DataFrame) -> str:
    """Return the recipe that the comparison marks as the best."""
    return str(comparison.loc[flags(comparison["best"]), "recipe"].iloc[0])


def mean_by(table: pd.DataFrame, key: str, column: str) -> dict[str, float]:
    """Return the mean of a column for each text of another."""
    values = pd.Series(numbers(table[column]), index=table[key].astype(str).to_numpy())
    return {str(name): float(v) for name, v in values.groupby(level=0).mean().items()}


def number(value: float, form: str = ".3f") -> str:
    """Return the text of a number, none of NaN."""
    return "" if np.isnan(value) else format(value, form)


def pair(mean: float, spread: float, form: str = ".2f") -> str:
    """Return a mean with its standard deviation, if there is one."""
    return number(mean, form) + ("" if np.isnan(mean + spread) else f" ± {spread:{form}}")


def percent(share: float) -> str:
    """Return a share in percent, with two decimals."""
    return f"{number(100 * share, '.2f')} %"


def in_percent(share: float) -> str:
    """Return a share in percent, with one decimal and its sign."""
    return f"{100 * share:.1f} %"


def with_interval(share: float, n: float) -> str:
    """Return a share of n records in percent, with its exact 95 % interval."""
    low, high = (100 * float(end) for end in interval(np.round(share * n), np.round(n)))
    return f"{in_percent(share)} ({low:.1f} to {high:.1f})"


def mean_of(own: pd.DataFrame, what: str) -> float:
    """Return the mean over folds of a measure, in the first row."""
    return float(numbers(own[f"{what}_mean"])[0])


def short_percent(share: float) -> str:
    """Return a share in percent, with the decimals that it has."""
    return f"{100 * share:g} %"


def cells(table: pd.DataFrame, column: str, form: str) -> list[str]:
    """Return a column as text, of NaN none.

    The form is a format of numbers, ``.2f`` if it says none. A ``±`` before it asks for mean and
    standard deviation (columns ``_mean`` and ``_sd``), a ``%`` for percent, which stands in the
    heading, ``%%`` for percent with its sign. Other forms have names: ``right`` is text as it is,
    ``p`` a p-value, ``short`` a share with the decimals that it has, ``interval`` from ``low`` to
    ``high`` in percent, ``perfect`` a calibration error beside that of perfect probabilities.
    """
    if form in ("", "right", "wrap"):
        return table[column].astype(str).tolist()
    if form == "p":
        return ["< 0.001" if p < 0.001 else number(p) for p in numbers(table[column])]
    if form == "short":
        return [short_percent(value) for value in numbers(table[column])]
    if form == "interval":
        ends = zip(*(cells(table, end, "% +.2f") for end in ("low", "high")), strict=True)
        return [f"{low} to {high}" if low else "" for low, high in ends]
    if form == "perfect":
        both = (cells(table, f"{column}{of}", ".3f") for of in ("", "_perfect"))
        return [f"{error} ({perfect})" for error, perfect in zip(*both, strict=True)]
    found = re.fullmatch("(±?)(%{0,2}) ?(.*)", form)
    spread, percents, spec = found.groups() if found else ("", "", form)
    factor, sign = 100 if percents else 1, " %" if percents == "%%" else ""
    spreads = factor * numbers(table[f"{column}_sd"]) if spread else np.full(len(table), np.nan)
    means = factor * numbers(table[f"{column}_mean" if spread else column])
    texts = (pair(*values, spec or ".2f") for values in zip(means, spreads, strict=True))
    return [text and text + sign for text in texts]


def share(row: pd.DataFrame, measure: str) -> str:
    """Return mean and standard deviation of a measure in percent, of a table with one row."""
    return cells(row, measure, "±%%")[0]


def span(values: "pd.Series[Any]") -> str:
    """Return the mean, and the range if the values differ."""
    low, high, mean = float(values.min()), float(values.max()), float(values.mean())
    return f"{mean:,.0f}" if low == high else f"{mean:,.1f} ({low:,.0f} to {high:,.0f})"
