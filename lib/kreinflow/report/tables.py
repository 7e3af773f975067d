"""Tables of the pages: numbers out of columns, and the text of cells. Nothing here draws."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.base.numerics import FloatArray
from kreinflow.evaluation.metrics import INNER_CHOICE


@dataclass(frozen=True)
class Table:
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
) -> Table:
    """Return a table from the cells of each column, by its heading."""
    rows = zip(*columns.values(), strict=True)
    return Table(list(columns), [tuple(map(str, row)) for row in rows], text, marked, wrapped)


def numbers(column: "pd.Series[Any]") -> FloatArray:
    """Return a column as numbers; empty cells, which come back from a file as text, are NaN."""
    return pd.to_numeric(column, errors="coerce").to_numpy(np.float64)


def flags(column: "pd.Series[Any]") -> "pd.Series[bool]":
    """Return a column as booleans, whether it holds them or their text."""
    return column.astype(str).str.lower() == "true"


def measured(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of outer folds: those of the final model have a negative repeat."""
    return table[numbers(table["repeat"]) >= 0]


def best_recipe(comparison: pd.DataFrame) -> str:
    """Return the recipe that the comparison marks as the best."""
    return str(comparison.loc[flags(comparison["best"]), "recipe"].iloc[0])


def measured_recipe(asked: str | None, recipes: Iterable[str]) -> str:
    """Return the recipe whose figures on the outer folds are those of the final model.

    Parameters
    ----------
    asked : str or None
        The recipe that the config names as the final one.
    recipes : iterable of str
        Those of a table of the evaluation. If there are several, the inner choice is among them:
        it is how the model's recipe was chosen, and this is part of the making of the model.

    Returns
    -------
    str
        Empty if there are no recipes.
    """
    names = list(map(str, recipes))
    return asked or (INNER_CHOICE if INNER_CHOICE in names else next(iter(names), ""))


def mean_by(table: pd.DataFrame, key: str, column: str) -> dict[str, float]:
    """Return the mean of a column for each text of another."""
    values = pd.Series(numbers(table[column]), index=table[key].astype(str).to_numpy())
    return {str(name): float(v) for name, v in values.groupby(level=0).mean().items()}


def wrong_of_accepted(own: pd.DataFrame) -> float:
    """Return the share of wrong ones among what a recipe accepts, of all folds together.

    NaN if nothing is accepted.
    """
    return float(numbers(own["wrong_of_accepted"])[0])


def number(value: float, form: str = ".3f") -> str:
    """Return the text of a number, none of NaN."""
    return "" if np.isnan(value) else format(value, form)


def cells(column: "pd.Series[Any]", form: str, factor: float = 1) -> list[str]:
    """Return the :func:`number` of each row, times a factor."""
    return [number(value, form) for value in factor * numbers(column)]


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


def rejected_cells(
    classes: "pd.Series[Any]", rejected: pd.DataFrame, recipe: str
) -> dict[str, list[str]]:
    """Return a column of the share of each class that a recipe rejects; none if nothing is known.

    Parameters
    ----------
    classes : Series
        Those of the rows. Of one without records there is no text.
    rejected : DataFrame
        From :func:`~kreinflow.evaluation.rejected.rejected_by_class`.
    recipe : str
    """
    own = rejected[rejected["recipe"].astype(str) == recipe]
    shares_of = own.set_axis(own["class"].astype(str))["rejected"].reindex(classes.astype(str))
    return {"rejected, %": cells(shares_of, ".2f", 100)} if len(own) else {}


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{number(100 * share, '.2f')} %"


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


def span(values: "pd.Series[Any]") -> str:
    """Return the mean, and the range if the values differ."""
    low, high, mean = float(values.min()), float(values.max()), float(values.mean())
    return f"{mean:,.0f}" if low == high else f"{mean:,.1f} ({low:,.0f} to {high:,.0f})"
