"""What the page says of sets of labels and of the errors among accepted predictions."""

from typing import Any

import numpy as np
import pandas as pd

from kreinflow.report.tables import Table, cells, numbers, pairs, percent, table_of


def sets(coverage: pd.DataFrame, errors: pd.DataFrame, recipe: str) -> dict[str, Any] | None:
    """Return the tables of the section; None if nothing was measured.

    Parameters
    ----------
    coverage, errors : DataFrame
        Of :mod:`kreinflow.evaluation.sets`.
    recipe : str
        Whose sets and errors are told; the tables ``recipes`` and ``accepted`` have all recipes.
    """
    if errors.empty:
        return None
    own = coverage[coverage["recipe"].astype(str) == recipe]
    every = own["class"].astype(str) == ""
    return {
        "broken": broken(coverage, errors, recipe),
        "coverage": _own(own[every]),
        "classes": _classes(own[~every]),
        "errors": _errors(errors[errors["recipe"].astype(str) == recipe]),
        "recipes": _recipes(coverage[coverage["class"].astype(str) == ""], recipe),
        "accepted": _errors(errors, recipe),
    }


def broken(coverage: pd.DataFrame, errors: pd.DataFrame, recipe: str) -> list[str]:
    """Return what the outer folds say against the promises of a recipe, by more than chance.

    A promise is broken if it is missed by a point and three standard errors more. Of a coverage
    these are binomial, of as many calibrating records as are tested; of errors those over folds.
    """
    found = []
    whole = coverage[coverage["class"].astype(str) == ""]
    for row in whole[whole["recipe"].astype(str) == recipe].to_dict("records"):
        asked, held, n = (float(row[name]) for name in ("confidence", "coverage", "records"))
        if held < asked - 0.01 - 3 * np.sqrt(2 * asked * (1 - asked) / n):
            found.append(f"sets of {_percent(asked)} hold the true label in {percent(held)}")
    for row in errors[errors["recipe"].astype(str) == recipe].to_dict("records"):
        asked, wrong = float(row["errors"]), float(row["wrong_mean"])
        spread = float(pd.to_numeric(row["wrong_sd"], errors="coerce"))
        if wrong > asked + 0.01 + 3 * spread / np.sqrt(float(row["folds"])):
            found.append(
                f"where {_percent(asked)} errors were asked for, {percent(wrong)} are wrong"
            )
    return found


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _own(coverage: pd.DataFrame) -> Table:
    """Return how often the sets of a recipe hold the true label, and their sizes."""
    held, size, empty = (
        cells(coverage[name], ".2f", factor)
        for name, factor in (("coverage", 100), ("size", 1), ("empty", 100))
    )
    return table_of(
        {
            "asked for": [_percent(share) for share in numbers(coverage["confidence"])],
            "held the true label, %": held,
            "labels in a set": size,
            "empty sets, %": empty,
        }
    )


def _recipes(coverage: pd.DataFrame, recipe: str) -> Table:
    """Return how often the sets of each recipe hold the true label, and their sizes."""
    names, columns = _by_confidence(coverage, "recipe", ("coverage", "size", "empty"))
    return table_of(
        {"recipe": names, **columns}, marked={i for i, name in enumerate(names) if name == recipe}
    )


def _classes(coverage: pd.DataFrame) -> Table:
    """Return how often the sets hold each class, and how large they are."""
    names, columns = _by_confidence(coverage, "class", ("coverage", "size"))
    records = coverage.groupby(coverage["class"].astype(str), sort=False)["records"].max()
    return table_of({"class": names, "records": cells(records[names], ",.0f"), **columns})


_HEADINGS = {"coverage": "held at {}", "size": "labels at {}", "empty": "none at {}"}


def _by_confidence(
    coverage: pd.DataFrame, key: str, what: tuple[str, ...]
) -> tuple[list[str], dict[str, list[str]]]:
    """Return the names in a column, and the cells of each confidence for each of them."""
    names, columns = list(dict.fromkeys(coverage[key].astype(str))), {}
    confidences = numbers(coverage["confidence"])
    for confidence in np.unique(confidences).tolist():
        table = coverage[confidences == confidence]
        own = table.set_index(table[key].astype(str)).reindex(names)
        for name in what:
            heading = _HEADINGS[name].format(_percent(confidence))
            of_sets = cells(own[name], ".2f", 1 if name == "size" else 100)
            columns[heading] = [
                f"{text} %" if text and name != "size" else text for text in of_sets
            ]
    return names, columns


def _errors(errors: pd.DataFrame, marked: str | None = None) -> Table:
    """Return what is accepted for each share of errors; with the recipes, if one is marked."""
    names = errors["recipe"].astype(str).tolist()
    return table_of(
        {
            **({"recipe": names} if marked is not None else {}),
            "errors asked for": [_percent(share) for share in numbers(errors["errors"])],
            "accepted, %": pairs(errors, "accepted", factor=100),
            "wrong of these, %": pairs(errors, "wrong", factor=100),
        },
        marked={i for i, name in enumerate(names) if name == marked},
    )
