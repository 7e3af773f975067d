"""Warnings about a run: what does not look right, in words, and what to do about it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from kreinflow.answering.reject_threshold import NOTHING_ACCEPTED, RejectRule
from kreinflow.base.wording import plural
from kreinflow.report.cascades import LEVEL, Lost
from kreinflow.report.tables import flags, measured, numbers
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


def warnings_of(
    statistics: Mapping[str, Any],
    landmarks: pd.DataFrame,
    factors: pd.DataFrame,
    models: pd.DataFrame,
    selectors: Mapping[str, Mapping[str, Any]],
    reject: RejectRule,
    final_recipe: str,
    lost: Lost | None,
    broken: Sequence[str] = (),
) -> list[str]:
    """Return one sentence or two for each kind of trouble, an empty list if there is none.

    Nothing is said of other recipes than those that the final model's figures come from.

    Parameters
    ----------
    statistics : mapping
        With class_sizes, label to records; of nucleotides also other_strand.
    landmarks, factors, models : DataFrame
        From :mod:`kreinflow.report.own`: of the outer folds, and of the final model (repeat -1).
    selectors : mapping
        Those of the config.
    reject : RejectRule
        That of the config.
    final_recipe : str
    lost : Lost or None
        Of the final model, from :func:`~kreinflow.report.cascades.broken_losses`.
    broken : sequence of str
        Of the measured recipe, from :func:`kreinflow.report.sets.broken`.
    """
    given = [name for name, settings in selectors.items() if settings["method"] == "given"]
    misfit = numbers(factors["misfit"])
    nothing = reject.unkept(NOTHING_ACCEPTED) or ""
    unkept = bool(nothing) & (numbers(models["reject_threshold"]) >= NOTHING_ACCEPTED)
    worst = max(misfit[misfit > LARGEST_MISFIT], default=0.0)
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
    found = [
        text.format(
            names=_names(table.loc[bad, column], "; ") if column else "",
            places=_places(table[bad], final_recipe),
            worst=worst,
            limit=LARGEST_MISFIT,
            unkept=nothing,
        )
        for table, bad, column, text in trouble
        if bad.any()
    ]
    if lost is not None:
        found.append(
            _LOST_MORE.format(found=100 * lost.found, stated=100 * lost.stated, level=LEVEL)
        )
    if broken:
        found.append(_BROKEN.format(broken="; ".join(broken)))
    found += [
        _left_out(statistics.get("dropped", {})),
        _small_classes(statistics["class_sizes"]),
        _differ_in_case(statistics["class_sizes"]),
        strand_advice(statistics.get("other_strand")),
    ]
    return [text for text in found if text]


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


def _left_out(dropped: Mapping[str, Mapping[str, Any]]) -> str:
    """Say that classes are left out, which nothing else on the page names."""
    if SMALL not in dropped:
        return ""
    count, examples = dropped[SMALL]["count"], dropped[SMALL]["examples"]
    return (
        f"{plural(count, 'record')} of classes that are smaller than min_class_size (such as "
        f"{', '.join(examples[:3])}) were left out: the model never answers these classes. Give "
        "more records of them."
    )


def _small_classes(class_sizes: Mapping[str, int]) -> str:
    small = sorted((size, name) for name, size in class_sizes.items() if size < SMALL_CLASS)
    if not small:
        return ""
    shown = _names(f"{name} ({size})" for size, name in small)
    return (
        f"Some classes have fewer than {SMALL_CLASS} records: {shown}. Their own figures "
        "rest on few cases. Collect more of them, or leave them out by min_class_size."
    )


def _differ_in_case(class_sizes: Mapping[str, int]) -> str:
    pairs = differ_in_case(class_sizes)
    if not pairs:
        return ""
    names = _names(f"{first} and {second}" for first, second in pairs)
    return (
        f"Classes differ in upper and lower case only: {names}. If they are the same, correct the "
        "labels: a classifier that must tell them apart learns nothing of use."
    )
