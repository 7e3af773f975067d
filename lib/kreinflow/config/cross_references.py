"""What parts of a configuration say of each other: names that must exist, choices that must fit."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kreinflow.base.errors import InputError
from kreinflow.config.plan import UNLABELLED, DatasetPlan
from kreinflow.config.schema import complete, nearest, schema
from kreinflow.krein.correction import ASYMMETRIC_FORMS
from kreinflow.landmarks.registry import SELECTORS
from kreinflow.learners.registry import LEARNERS, linear_fault, make_learner
from kreinflow.sequences.labels import SEPARATOR


def correction_fault(learner: str, correction: str, lifted: bool = False) -> str | None:
    """Return why a learner, by its method, or a lift cannot use a correction; None if it can."""
    if lifted:
        fault = "a lift has no negative eigenvalues. Leave out correction."
        return None if correction == "none" else fault
    if not LEARNERS[learner].needs_positive or correction not in ("none", "landmark_basis"):
        return None
    return (
        f"{learner} cannot learn from negative eigenvalues, which correction {correction!r} keeps. "
        "Use flip, clip, square or shift."
    )


def asymmetry_fault(selector: str, learner: str | None, correction: str) -> str | None:
    """Return why a selector or a learner, by their methods, or a correction needs symmetry."""
    if selector in _SYMMETRIC_SELECTORS:
        others = ", ".join(sorted(SELECTORS.keys() - _SYMMETRIC_SELECTORS))
        return f"the selector {selector} needs a symmetric kernel. Use one of {others}."
    if correction not in ASYMMETRIC_FORMS:
        return (
            f"correction {correction!r} needs a symmetric kernel: others have no real eigenvalues. "
            f"Use {' or '.join(ASYMMETRIC_FORMS)}."
        )
    if learner in LEARNERS and LEARNERS[learner].needs_symmetric:
        others = ", ".join(sorted(k for k, v in LEARNERS.items() if not v.needs_symmetric))
        return f"the learner {learner} needs a symmetric kernel. Use one of {others}."
    return None


_SYMMETRIC_SELECTORS = {
    name for name, selector in SELECTORS.items() if selector.needs in ("class_scores", "sketch")
}


_LIFT_DEFAULTS = complete({}, schema()["$defs"]["recipe"]["properties"]["lift"], "lift")


def lift_of(views: Mapping[str, Any], lift: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the lift of a recipe: views without one are summed up."""
    summed = lift is None and any(views.values())
    return {**_LIFT_DEFAULTS, "kernel": "linear"} if summed else lift


LOSS = 0.005
"""What a cascade may lose of accuracy, unless the config says it, or a number of alignments."""


def cascade_of(cascade: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the cascade of a recipe: with a loss, unless a number of alignments is stated."""
    if cascade is None:
        return None
    return {**({} if "alignments" in cascade else {"loss": LOSS}), **cascade}


def cascade_fault(cascade: Mapping[str, Any]) -> str | None:
    """Return why a cascade cannot be what it is asked to be; None if it can."""
    both = "cascade: loss and alignments are two ways to choose one threshold. Leave out one."
    return both if {"loss", "alignments"} <= cascade.keys() else None


def _too_few(recipe: Mapping[str, Any], selector: Mapping[str, Any]) -> str | None:
    """Return why a first stage leaves no alignments to a cascade, where its number is known."""
    wanted, budget = (recipe["cascade"] or {}).get("alignments"), selector.get("budget")
    if wanted is None or not isinstance(budget, int) or not selector.get("grow", True):
        return None
    first = budget + int(recipe["transform"] != "raw")  # with itself
    if first <= wanted:
        return None
    return (
        f"cascade.alignments: {wanted:g} are fewer than the {first} of the first stage. Give more, "
        "or its selector a smaller budget."
    )


_Fault = tuple[str, str]  # a place in the configuration, and why it is wrong


def check_references(config: dict[str, Any], name: str) -> None:
    """Check what the schema cannot: names that refer to nothing, settings that do not fit.

    An InputError tells the first thing wrong. The recipes of a data set that names none are all of
    them: they are filled in, in place.
    """
    for place, why in _faults(config):
        raise InputError(f"{name}: {place}: {why}")


def _faults(config: dict[str, Any]) -> Iterator[_Fault]:
    """Yield what is wrong; each check may count on those before it."""
    evalue = config["transforms"]["evalue"]
    if (evalue["lambda"] is None) != (evalue["K"] is None):
        yield "transforms.evalue", "give both lambda and K, or neither."
    yield from _of_recipes(config)
    yield from _of_lenders(config["selectors"])
    for key, dataset in config["datasets"].items():
        yield from _of_chosen_recipes(dataset, config["recipes"], f"datasets.{key}")
        yield from _of_dataset(DatasetPlan(config, key), f"datasets.{key}")
    for key, request in config["classify"].items():
        yield from _of_request(f"classify.{key}", key, request, config)


def _of_recipes(config: Mapping[str, Any]) -> Iterator[_Fault]:
    names = set()
    for recipe in config["recipes"]:
        place = f"recipes, {recipe['name']!r}"
        if recipe["name"] in names:
            yield place, "the name stands twice; names must differ."
        names.add(recipe["name"])
        if isinstance(recipe["rank"], float) and recipe["rank"] > 1:
            yield place, f"rank {recipe['rank']} is neither a whole number nor a share up to 1.0."
        for kind in ("selector", "learner"):
            if recipe[kind] not in config[f"{kind}s"]:
                yield place, _undefined(kind, recipe[kind], config[f"{kind}s"])
        learner = config["learners"][recipe["learner"]]["method"]
        recipe["lift"] = lift_of(recipe["views"], recipe["lift"])
        recipe["cascade"] = cascade_of(recipe["cascade"])
        if fault := correction_fault(learner, recipe["correction"], recipe["lift"] is not None):
            yield place, fault
        if recipe["lift"] is not None and recipe["rank"] != "misfit":
            yield place, "a lift keeps all of its inducing points. Leave out rank."
        if fault := cascade_fault(recipe["cascade"] or {}):
            yield place, fault
        if fault := _too_few(recipe, config["selectors"][recipe["selector"]]):
            yield place, fault


def _undefined(what: str, name: str, known: Iterable[str]) -> str:
    return f"{what} {name!r} is not defined{nearest(name, known)}"


def _of_lenders(selectors: Mapping[str, Any]) -> Iterator[_Fault]:
    own = [key for key, part in selectors.items() if not isinstance(part.get("budget"), str)]
    for key, selector in selectors.items():
        budget = selector.get("budget")
        if isinstance(budget, str) and budget not in own:
            why = f"{budget!r} is no selector with a number of its own{nearest(budget, own)}"
            yield f"selectors.{key}.budget", why


def _of_chosen_recipes(
    dataset: dict[str, Any], recipes: Iterable[Mapping[str, Any]], place: str
) -> Iterator[_Fault]:
    known = [recipe["name"] for recipe in recipes]
    own = dataset["recipes"] = dataset["recipes"] or known
    for recipe in own:
        if recipe not in known:
            yield f"{place}.recipes", _undefined("recipe", recipe, known)
    if dataset["final"] is not None and dataset["final"] not in own:
        yield f"{place}.final", _undefined("recipe", dataset["final"], own)


def _of_request(
    place: str, key: str, request: Mapping[str, Any], config: Mapping[str, Any]
) -> Iterator[_Fault]:
    name, datasets = request["dataset"], config["datasets"]
    if name not in datasets:
        yield place, _undefined("data set", name, datasets)
    plan = DatasetPlan(config, name)
    if request["vectors"] and not plan.vectors:
        why = f"the data set {name!r} has no vectors, so its model looks at none. Leave it out."
        yield f"{place}.vectors", why
    if not request["vectors"] and any(recipe["views"]["vectors"] for recipe in plan.recipes()):
        why = f"recipes of the data set {name!r} have a view of vectors. Give those of the new"
        yield place, f"{why} objects as 'vectors'."
    if request["strand"] == "both" and plan.settings["source"].get("molecule") != "nucleotide":
        why = f"the objects of {name!r} are no nucleotides, so they have no other strand."
        yield f"{place}.strand", f"{why} Leave it out."
    if key.casefold() == UNLABELLED and any(
        DatasetPlan(config, own).classifies_unlabelled for own in datasets
    ):
        why = "is the name of the data set's own sequences without label (unmatched: classify)."
        yield place, f"{why} Choose another name."


def _of_dataset(plan: DatasetPlan, place: str) -> Iterator[_Fault]:
    folds, source = plan.settings["folds"], plan.source
    for key, why in source.faults():
        yield f"{place}.source.{key}", why
    if folds["method"] == "table" and not folds["table"]:
        yield f"{place}.folds", "method table needs the path of a table."
    if folds["column"] is not None and folds["method"] != "grouped":
        yield f"{place}.folds.column", "only the method grouped takes a column."
    for recipe in plan.recipes():
        for why in _of_recipe(plan, recipe):
            yield f"{place}.recipes", f"recipe {recipe['name']!r}{why}"
    if source.several:
        yield from _of_several(plan, place)
    if source.aligned:
        yield from _of_scoring(plan, place)
        return
    for owner, transform in plan.transforms_by_owner().items():
        if transform != "raw":
            yield (
                f"{place}.recipes",
                f"{owner} has 'transform: {transform}', but only alignment scores are "
                f"transformed. For {source.noun} give recipes and their selectors "
                "'transform: raw'.",
            )
    if folds["method"] == "grouped" and folds["column"] is None:
        why = f"{source.noun}: no sequences to group by identity. Use method stratified or table,"
        yield f"{place}.folds", f"{why} or a column of the labels' table."


def _of_recipe(plan: DatasetPlan, recipe: Mapping[str, Any]) -> Iterator[str]:
    source, views, cascade = plan.source, recipe["views"], recipe["cascade"]
    instead = f"For {source.noun} leave it out."
    if views["words"] and not source.aligned:
        yield f" has a view of words, but only sequences have words. {instead}"
    if cascade is not None and not source.aligned and source.asked_of_records is None:
        own = "a score of your own without a direction"
        yield f" has a cascade, but only sequences and {own} are asked for. {instead}"
    if cascade is not None and not source.aligned and cascade.get("records") == "apart":
        yield " has a cascade with records apart, but only sequences may be. Leave that out."
    if views["vectors"] and not plan.vectors:
        yield (
            " has a view of vectors, but the data set has none. Name a table of them as 'vectors' "
            "of the data set."
        )
    if cascade is not None and source.several:
        yield (
            " has a cascade, which tells classes apart, but records may have several labels "
            "(labels.multiple: all). Leave the cascade out."
        )
    learner = make_learner(plan.config["learners"][recipe["learner"]])
    siblings = (plan.settings["levels"] or {}).get("learn") == "siblings"
    for task in ["records with several labels"] * source.several + ["siblings"] * siblings:
        if fault := linear_fault(learner, task):
            yield f": {fault}"
    if not source.aligned and source.kind == "asymmetric":
        selector = plan.config["selectors"][recipe["selector"]]["method"]
        if fault := asymmetry_fault(selector, learner.method, recipe["correction"]):
            yield f": {fault}"


def _of_several(plan: DatasetPlan, place: str) -> Iterator[_Fault]:
    why = "records with several labels (labels.multiple: all) cannot have it. Leave it out."
    if plan.settings["unknown"]:
        yield f"{place}.unknown", why
    if (levels := plan.settings["levels"]) and levels["learn"] == "siblings":
        yield f"{place}.levels.learn", "several labels of a record do not stand against each other."
    if levels and SEPARATOR in levels["separator"]:
        yield (
            f"{place}.levels.separator",
            f"{SEPARATOR!r} stands between the labels of a record in all results. "
            "Write labels with another separator between their levels.",
        )
    if plan.config["unknown"] is not None:
        yield "unknown", f"{place}: {why}"


def _of_scoring(plan: DatasetPlan, place: str) -> Iterator[_Fault]:
    scoring, molecule = plan.settings["scoring"], plan.settings["source"].get("molecule")
    matrix, mode = scoring["matrix"], scoring["mode"]
    if molecule == "nucleotide" and re.fullmatch(r"(?i)(blosum|pam)\d+", matrix):
        yield (
            f"{place}.scoring.matrix",
            f"{matrix} compares amino acids, the molecule is nucleotide. "
            "Use nuc44 or dnafull, or leave it out.",
        )
    if scoring["gap_open"] < scoring["gap_extend"]:
        yield f"{place}.scoring", "gap_open must be at least gap_extend."
    for owner, transform in plan.transforms_by_owner().items():
        if mode != "local" and transform not in ("raw", "normalised"):
            yield (
                f"{place}.scoring",
                f"{mode} alignments can score below 0, which the transform {transform} of {owner} "
                "cannot take. Use raw or normalised there, or mode local.",
            )
