"""Warnings about a run: what does not look right, in words, and what to do about it."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.answering.reject_threshold import NOTHING_ACCEPTED, RejectRule
from kreinflow.base.wording import plural
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
from kreinflow.sequences.collapse import SMALL
from kreinflow.sequences.labels import differ_in_case
from kreinflow.sequences.strands import strand_advice

LARGEST_MISFIT = 0.5
SMALL_CLASS = 10

_GIVEN = (
    "The landmarks of {names} were given, not chosen in the training part of each fold. If they "
    "were chosen with a look at records that are tested here, as those of an earlier run on these "
    "data were, the figures of this model are optimistic. Quote those of a recipe with another "
    "selector, or test on records that are new since then."
)
_MISFIT = (
    "The factor reproduces the self-scores badly (misfit up to {worst:.2f}, above {limit}), in "
    "{places}: the landmarks describe too little of the kernel. Take more landmarks, or another "
    "transform; do not trust the spectrum."
)
_NOT_CONVERGED = (
    "Training stopped before it converged, in {places}. Raise max_iter of the learner, or keep "
    "fewer eigenvalues (rank): tiny ones carry noise and slow it down."
)
_UNLEARNED = (
    "Nothing was learned of some classes ({names}), in {places}: no basis function is left, or "
    "the class has no landmark, so it is predicted only where the decisions of all other classes "
    "are lower. Look at the recall of these classes. For Ny-PCVM and Ny-EPCVM try the correction "
    "flip: without it they cannot tell classes that differ along negative eigenvalues. Or take "
    "another learner or selector, or collect more records of these classes."
)
_SINGULAR = (
    "The covariance of Ny-iKFD is singular, in {places}, so a pseudo-inverse took the place of the "
    "inverse. The decision may then follow the labels of single records and be wrong for new ones. "
    "Give the learner a ridge, or keep fewer eigenvalues (rank)."
)
_TORN_GROUPS = (
    "The training part has too few groups for inner folds to hold out whole ones, in {places}, so "
    "they hold out single records: the choice of the recipe, the probabilities and the threshold "
    "rest on records whose relatives were learned from, and are too confident for new groups. Use "
    "smaller groups, or more data."
)
_NOT_PROMISED = "In {places}, {unkept}."
_LOST_MORE = (
    "The cascade lost {found:.2f} points of accuracy on the outer folds against asking all records "
    "of its levels, and {stated:g} were stated (by more than chance: a one-sided exact test, p < "
    "{level:g}). Its threshold was found on inner folds. State a smaller loss, or use more records."
)
_BROKEN = (
    "What is promised of sets of labels and of errors did not hold on the outer folds: {broken}. "
    "Do not act on either with this model. See Sets and errors."
)
_NOT_REACHED = (
    "The enclosing ball did not come to cover all members of {names}, in {places}: these classes "
    "may lack landmarks. Raise epsilon of the selector, or use more candidates."
)
_LEFT_OUT = (
    "{records} of classes that are smaller than min_class_size (such as {names}) were left out: "
    "the model never answers these classes. Give more records of them."
)
_SMALL_CLASSES = (
    "Some classes have fewer than {limit} records: {names}. Their own figures rest on few cases. "
    "Collect more of them, or leave them out by min_class_size."
)
_DIFFER_IN_CASE = (
    "Classes differ in upper and lower case only: {names}. If they are the same, correct the "
    "labels: a classifier that must tell them apart learns nothing of use."
)


def warnings_of(data: DatasetResults) -> list[str]:
    """Return one sentence or two for each kind of trouble, an empty list if there is none.

    Nothing is said of other recipes than those that the final model's figures come from.
    """
    found = [*_of_fits(data), _of_cascade(data)]
    if broken := broken_promises(data):
        found.append(_BROKEN.format(broken="; ".join(broken)))
    found += _of_classes(data.statistics)
    return [text for text in found if text]


def _of_fits(data: DatasetResults) -> list[str]:
    models, landmarks, factors = data.own_models, data.own_landmarks, data.own_factors
    config = data.config
    given = [n for n, settings in config["selectors"].items() if settings["method"] == "given"]
    misfit = numbers(factors["misfit"])
    keys = ("reject_error", "reject_coverage", "reject_confidence")
    nothing = RejectRule(*map(config.get, keys)).unkept(NOTHING_ACCEPTED) or ""
    unkept = bool(nothing) & (numbers(models["reject_threshold"]) >= NOTHING_ACCEPTED)
    trouble = (
        (landmarks, landmarks["selector"].isin(given), "selector", _GIVEN),
        (factors, misfit > LARGEST_MISFIT, None, _MISFIT),
        (models, ~flags(models["converged"]), None, _NOT_CONVERGED),
        (models, numbers(models["unlearned_classes"]) > 0, "unlearned_names", _UNLEARNED),
        (models, numbers(models["singular_classes"]) > 0, None, _SINGULAR),
        (models, ~flags(models["groups_held_out"]), None, _TORN_GROUPS),
        (models, unkept, None, _NOT_PROMISED),
        (landmarks, ~flags(landmarks["reached"]), "class", _NOT_REACHED),
    )
    return [
        text.format(
            names=_names(table.loc[bad, column], "; ") if column else "",
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
    return _LOST_MORE.format(found=100 * lost, stated=100 * float(stated), level=LEVEL)


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
        names = ", ".join(left_out["examples"][:3])
        found.append(_LEFT_OUT.format(records=plural(left_out["count"], "record"), names=names))
    if small := sorted((size, name) for name, size in sizes.items() if size < SMALL_CLASS):
        names = _names(f"{name} ({size})" for size, name in small)
        found.append(_SMALL_CLASSES.format(limit=SMALL_CLASS, names=names))
    if alike := differ_in_case(sizes):
        names = _names(f"{first} and {second}" for first, second in alike)
        found.append(_DIFFER_IN_CASE.format(names=names))
    return [*found, strand_advice(statistics.get("other_strand"))]


def _names(values: Iterable[object], between: str = ", ") -> str:
    names = list(dict.fromkeys(map(str, values)))
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return between.join(names[:5]) + more


def _places(table: pd.DataFrame, final_recipe: str) -> str:
    """Return in how many folds it was, and whether in the final model."""
    own = measured(table)
    folds = own.drop_duplicates(["repeat", "fold"])
    n, others = len(folds), int((folds["recipe"].astype(str) != final_recipe).sum())
    places = [f"{n} fold{'s' if n != 1 else ''}"] if n else []
    if others:
        places[0] += f" ({others} by another recipe, which the inner folds chose there)"
    if len(own) < len(table):
        places.append("the final model")
    return " and ".join(places)
