"""Tables of the pages: numbers out of columns, and the text of cells."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.metrics import INNER_CHOICE
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


def laid_out(table: pd.DataFrame, name: str, marked: AbstractSet[int] = frozenset()) -> PageTable:
    """Return the columns of a table as ``texts.yaml`` lays them out, those that it has.

    A layout has a heading, the column, and how it is written: nothing for text, which stays left,
    ``right`` for text on the right, a key of :data:`_FORMS`, or a format of numbers.
    """
    columns: dict[str, list[Any]] = {}
    text = {0}
    for head, layout in TEXTS["tables"][name].items():
        column, _, form = layout.partition(" ")
        if column not in table and f"{column}_mean" not in table:
            continue
        if not form:
            text.add(len(columns))
        if form in _FORMS:
            columns[head] = _FORMS[form](table, column)
        else:
            columns[head] = cells(table[column], form)
    return table_of(columns, text, marked)


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


def measured_recipe(final: str | None, recipes: Iterable[str]) -> str:
    """Return the recipe whose figures on the outer folds are those of the final model.

    That is the ``final`` one of the config. Without one it is the inner choice, by which the recipe
    of the model was chosen; where there is a single recipe, this; without any an empty text.
    """
    names = list(map(str, recipes))
    return final or (INNER_CHOICE if INNER_CHOICE in names else next(iter(names), ""))


def mean_by(table: pd.DataFrame, key: str, column: str) -> dict[str, float]:
    """Return the mean of a column for each text of another."""
    values = pd.Series(numbers(table[column]), index=table[key].astype(str).to_numpy())
    return {str(name): float(v) for name, v in values.groupby(level=0).mean().items()}


def number(value: float, form: str = ".3f") -> str:
    """Return the text of a number, none of NaN."""
    return "" if np.isnan(value) else format(value, form)


def percent(share: float) -> str:
    """Return a share in percent, with two decimals."""
    return f"{number(100 * share, '.2f')} %"


def short_percent(share: float) -> str:
    """Return a share in percent, with the decimals that it has."""
    return f"{100 * share:g} %"


def cells(column: "pd.Series[Any]", form: str, factor: float = 1) -> list[str]:
    """Return the :func:`number` of each row, times a factor."""
    return [number(value, form) for value in factor * numbers(column)]


def hundredths(table: pd.DataFrame, columns: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the cells of columns with shares, in percent, by their headings."""
    return {f"{head}, %": cells(table[name], ".2f", 100) for head, name in columns.items()}


def p_values(column: "pd.Series[Any]") -> list[str]:
    """Return the text of each p-value, none of NaN."""
    return ["< 0.001" if p < 0.001 else number(p) for p in numbers(column)]


def intervals(table: pd.DataFrame, form: str, factor: float = 1) -> list[str]:
    """Return the interval from ``low`` to ``high`` in each row, times a factor; of NaN no text."""
    low, high = (cells(table[end], form, factor) for end in ("low", "high"))
    return [f"{a} to {b}" if a else "" for a, b in zip(low, high, strict=True)]


def beside_perfect(table: pd.DataFrame) -> list[str]:
    """Return the calibration error of each row, and that of perfect probabilities in brackets."""
    names = ("calibration_error", "calibration_error_perfect")
    found = (cells(table[name], ".3f") for name in names)
    return [f"{error} ({perfect})" for error, perfect in zip(*found, strict=True)]


def pair(mean: float, spread: float, form: str = ".2f") -> str:
    """Return a mean with its standard deviation, if there is one."""
    return number(mean, form) + ("" if np.isnan(mean + spread) else f" ± {spread:{form}}")


def pairs(table: pd.DataFrame, measure: str, form: str = ".2f", factor: float = 1) -> list[str]:
    """Return the :func:`pair` of a measure in each row, times a factor."""
    means, spreads = (factor * numbers(table[f"{measure}_{part}"]) for part in ("mean", "sd"))
    return [pair(mean, spread, form) for mean, spread in zip(means, spreads, strict=True)]


def shares(table: pd.DataFrame, measure: str) -> list[str]:
    """Return mean and standard deviation of a measure in each row, in percent; of NaN no text."""
    return [f"{text} %" if text else "" for text in pairs(table, measure, factor=100)]


_FORMS: dict[str, Callable[[pd.DataFrame, str], list[Any]]] = {
    **dict.fromkeys(("", "right"), lambda table, name: table[name].tolist()),
    "%": lambda table, name: cells(table[name], ".2f", 100),
    "±": lambda table, name: pairs(table, name, factor=100),
    "± %": shares,
    "percent": lambda table, name: [percent(value) for value in numbers(table[name])],
    "short": lambda table, name: [short_percent(value) for value in numbers(table[name])],
    "p": lambda table, name: p_values(table[name]),
    "perfect": lambda table, _: beside_perfect(table),
}


def share(row: pd.DataFrame, measure: str) -> str:
    """Return the :func:`shares` of a table with one row."""
    return shares(row, measure)[0]


def span(values: "pd.Series[Any]") -> str:
    """Return the mean, and the range if the values differ."""
    low, high, mean = float(values.min()), float(values.max()), float(values.mean())
    return f"{mean:,.0f}" if low == high else f"{mean:,.1f} ({low:,.0f} to {high:,.0f})"
