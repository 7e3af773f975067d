"""Warnings about a run: what does not look right, in words, and what to do about it."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.answering.query_and_answers import NOTHING_ACCEPTED
from kreinflow.base.wording import abridged, plural
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.report.cascades import LEVEL, broken_loss
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import (
    flags,
    measured,
    numbers,
    of_recipe,
    percent,
    short_percent,
)
from kreinflow.report.texts import TEXTS
from kreinflow.sequences.collapse import SMALL
from kreinflow.sequences.labels import differ_in_case
from kreinflow.sequences.strands import strand_advice

LARGEST_MISFIT = 0.5
SMALL_CLASS = 10

_TEXTS: dict[str, str] = TEXTS["warnings"]


def warnings_of(data: DatasetResults) -> list[str]:
    """Return one sentence or two for each kind of trouble, an empty list if there is none.

    Nothing is said of other recipes than those that the final model's figures come from.
    """
    found = [*_of_fits(data), _of_cascade(data)]
    if broken := broken_promises(data):
        found.append(_TEXTS["broken"].format(broken="; ".join(broken)))
    found += _of_classes(data.statistics)
    return [text for text in found if text]


def _of_fits(data: DatasetResults) -> list[str]:
    models, landmarks, factors = data.own_models, data.own_landmarks, data.own_factors
    config = data.config
    given = [n for n, settings in config["selectors"].items() if settings["method"] == "given"]
    misfit = numbers(factors["misfit"])
    nothing = RejectRule.of_config(config).unkept(NOTHING_ACCEPTED) or ""
    unkept = bool(nothing) & (numbers(models["reject_threshold"]) >= NOTHING_ACCEPTED)
    trouble = (
        (landmarks, landmarks["selector"].isin(given), "selector", "given"),
        (factors, misfit > LARGEST_MISFIT, None, "misfit"),
        (models, ~flags(models["converged"]), None, "not_converged"),
        (models, numbers(models["unlearned_classes"]) > 0, "unlearned_names", "unlearned"),
        (models, numbers(models["singular_classes"]) > 0, None, "singular"),
        (models, ~flags(models["groups_held_out"]), None, "torn_groups"),
        (models, unkept, None, "not_promised"),
        (landmarks, ~flags(landmarks["reached"]), "class", "not_reached"),
    )
    return [
        _TEXTS[text].format(
            names=_names(table.loc[bad, column]) if column else "",
            places=_places(table[bad], data.final_recipe),
            worst=max(misfit[misfit > LARGEST_MISFIT], default=0.0),
            limit=LARGEST_MISFIT,
            unkept=nothing,
        )
        for table, bad, column, text in trouble
        if bad.any()
    ]


def _of_cascade(data: DatasetResults) -> str:
    stated = (data.recipe.get("cascade") or {}).get("loss")
    # Records of a group tend to be right or wrong together.
    if stated is None or data.settings["folds"]["method"] == "grouped":
        return ""
    curve = of_recipe(data.curves, data.final_recipe)
    lost = broken_loss(curve, float(stated), data.statistics["distinct"])
    if lost is None:
        return ""
    return _TEXTS["lost_more"].format(found=100 * lost, stated=100 * float(stated), level=LEVEL)


def broken_promises(data: DatasetResults) -> list[str]:
    """Return what the outer folds say against the promises of sets and errors, beyond chance.

    A promise is broken if it is missed by a point and three standard errors more. Of a coverage
    these are binomial, of as many calibrating records as are tested; of errors those over folds.
    """
    found = []
    coverage, errors = data.own("coverage"), data.own("errors")
    for row in coverage[coverage["class"].astype(str) == ""].to_dict("records"):
        asked, held, n = (float(row[name]) for name in ("confidence", "coverage", "records"))
        if held < asked - 0.01 - 3 * np.sqrt(2 * asked * (1 - asked) / n):
            found.append(f"sets of {short_percent(asked)} hold the true label in {percent(held)}")
    for row in errors.to_dict("records"):
        asked, wrong = float(row["errors"]), float(row["wrong_mean"])
        spread = float(pd.to_numeric(row["wrong_sd"], errors="coerce"))
        if wrong > asked + 0.01 + 3 * spread / np.sqrt(float(row["folds"])):
            were = f"where {short_percent(asked)} errors were asked for"
            found.append(f"{were}, {percent(wrong)} are wrong")
    return found


def _of_classes(statistics: Mapping[str, Any]) -> list[str]:
    sizes, found = statistics["class_sizes"], []
    if left_out := statistics.get("dropped", {}).get(SMALL):
        told = {"records": plural(left_out["count"], "record")}
        told["names"] = ", ".join(left_out["examples"][:3])
        found.append(_TEXTS["left_out"].format(**told))
    if small := sorted((size, name) for name, size in sizes.items() if size < SMALL_CLASS):
        names = abridged([f"{name} ({size})" for size, name in small])
        found.append(_TEXTS["small_classes"].format(limit=SMALL_CLASS, names=names))
    if alike := differ_in_case(sizes):
        names = abridged([f"{first} and {second}" for first, second in alike])
        found.append(_TEXTS["differ_in_case"].format(names=names))
    return [*found, strand_advice(statistics.get("other_strand"))]


def _names(cells: "pd.Series[Any]") -> str:
    return abridged(list(dict.fromkeys(name for cell in cells for name in str(cell).split(", "))))


def _places(table: pd.DataFrame, final_recipe: str) -> str:
    """Return in how many folds it was, and whether in the final model."""
    own = measured(table)
    folds = own.drop_duplicates(["repeat", "fold"])
    others = int((folds["recipe"].astype(str) != final_recipe).sum())
    places = [plural(len(folds), "fold")] if len(folds) else []
    if others:
        places[0] += f" ({others} by another recipe, which the inner folds chose there)"
    if len(own) < len(table):
        places.append("the final model")
    return " and ".join(places)
