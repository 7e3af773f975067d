"""What the page says of classes that are paths."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from kreinflow.report.tables import cells, numbers, percent, table_of

_INDENT = "\u2003"  # a space as wide as the letter, which HTML does not fold


def levels_section(
    tables: Mapping[str, pd.DataFrame], settings: Mapping[str, Any], recipe: str
) -> dict[str, Any]:
    """Return what the template prints of the levels.

    Parameters
    ----------
    tables : mapping
        From :func:`kreinflow.evaluation.levels.level_tables`.
    settings : mapping
        The part ``levels`` of the data set.
    recipe : str
        Whose figures are told; the table ``recipes`` has all.
    """
    hierarchy = _of(tables["hierarchy"], recipe)
    by_level, nodes = (_of(tables[name], recipe) for name in ("levels", "nodes"))
    return {
        "back_off": percent(settings["back_off"]),
        "separator": settings["separator"],
        "count": len(by_level),
        "table": table_of(
            {
                "level": cells(by_level["level"], ".0f"),
                "nodes": cells(by_level["nodes"], ",.0f"),
                "records": cells(by_level["records"], ",.0f"),
                **_answers(by_level, "accuracy, %"),
            }
        ),
        "hierarchy": table_of(
            {
                "measured on": hierarchy["given"].replace({"label": "labels", "node": "answers"}),
                "hP, %": cells(hierarchy["precision"], ".2f", 100),
                "hR, %": cells(hierarchy["recall"], ".2f", 100),
                "hF, %": cells(hierarchy["f1"], ".2f", 100),
            }
        ),
        "recipes": _recipes(tables, recipe),
        "tree": table_of(
            {
                "node": [
                    _INDENT * int(level - 1) + str(path).split(settings["separator"])[-1]
                    for level, path in zip(numbers(nodes["level"]), nodes["node"], strict=True)
                ],
                "path": nodes["node"],
                "records": cells(nodes["records"], ",.0f"),
                "precision, %": cells(nodes["precision"], ".2f", 100),
                **_answers(nodes.rename(columns={"recall": "accuracy"}), "recall, %"),
            },
            text={0, 1},
        ),
    }


def _of(table: pd.DataFrame, recipe: str) -> pd.DataFrame:
    return table[table["recipe"].astype(str) == recipe]


def _answers(table: pd.DataFrame, accuracy: str) -> dict[str, list[str]]:
    return {
        accuracy: cells(table["accuracy"], ".2f", 100),
        "answered, %": cells(table["answered"], ".2f", 100),
        "right of these, %": cells(table["answered_accuracy"], ".2f", 100),
    }


def _recipes(tables: Mapping[str, pd.DataFrame], recipe: str) -> Any:
    """Return accuracy at each level and the hierarchical measures of each recipe."""
    accuracy = tables["levels"].assign(
        recipe=lambda t: t["recipe"].astype(str), accuracy=lambda t: numbers(t["accuracy"])
    )
    names = accuracy["recipe"].drop_duplicates().tolist()
    wide = accuracy.pivot_table(index="recipe", columns="level", values="accuracy").loc[names]
    columns: dict[str, Any] = {"recipe": names}
    for level in wide.columns:
        columns[f"accuracy at level {float(level):.0f}, %"] = cells(wide[level], ".2f", 100)
    for given, what in (("label", "of labels"), ("node", "of answers")):
        rows = tables["hierarchy"][tables["hierarchy"]["given"] == given]
        rows = rows.set_axis(rows["recipe"].astype(str)).loc[names]
        for measure, name in (("precision", "hP"), ("recall", "hR"), ("f1", "hF")):
            columns[f"{name} {what}, %"] = cells(rows[measure], ".2f", 100)
    return table_of(columns, marked={names.index(recipe)} if recipe in names else set())
