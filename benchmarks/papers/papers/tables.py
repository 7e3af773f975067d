"""The published figures with ours beside them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.files.tables import read_table
from papers.experiments import DATA, Experiment

OURS = (
    *("our_accuracy", "our_accuracy_sd", "folds", "difference", "difference_in_sd"),
    *("our_landmarks", "our_complexity", "our_seconds", "negative_fraction", "limit_reached"),
    "hyper_parameters",
)
"""Columns of :func:`compare` that are ours."""

_TEXT = ["source", "table", "dataset", "n", "classes", "landmarks", "method", "seconds_of"]
_TEXT += ["experiment", "recipe", "reason", "note"]
_NUMBERS = ["accuracy", "accuracy_sd", "seconds", "seconds_sd", "complexity", "complexity_sd"]


def read_published() -> pd.DataFrame:
    """Return the figures of the papers' tables, each with the experiment and recipe of ours.

    ``source`` is a key of :data:`kreinflow.base.references.REFERENCES`; accuracies are in percent,
    and so is ``complexity``, basis functions of the training points; ``seconds_of`` is "all folds"
    of a cross-validation, or "one fold". Without ``experiment`` ``reason`` says why there is none;
    where the paper leaves a setting of the data open, it names several, separated by spaces.
    """
    table = read_table(DATA / "published.tsv", [*_TEXT, *_NUMBERS], text=_TEXT)
    table[_NUMBERS] = table[_NUMBERS].apply(pd.to_numeric, errors="coerce")
    return table


def summarise(lines: pd.DataFrame) -> pd.DataFrame:
    """Return means over folds of :func:`~papers.cross_validation.cross_validate`.

    Of each recipe: accuracies and the complexity in percent, standard deviations over folds;
    ``limit_reached`` counts folds whose learner did not converge, ``hyper_parameters`` are the most
    frequent, ``failure`` is that of the first fold that has one.
    """
    found = {}
    for recipe, part in lines.groupby("recipe", sort=False):
        seconds = part["seconds_training"] + part["seconds_testing"]
        measured = part["failure"] == ""
        found[recipe] = {
            "our_accuracy": 100 * part["accuracy"].mean(),
            "our_accuracy_sd": 100 * part["accuracy"].std(),
            "folds": int(measured.sum()),
            "our_landmarks": part["landmarks"].mean(),
            "our_complexity": 100 * part["basis_used"].mean(),
            "seconds_a_fold": seconds.mean(),
            "seconds_a_repeat": seconds.sum() / part["repeat"].nunique(),
            "negative_fraction": part["negative_fraction"].mean(),
            "limit_reached": int((measured & ~part["converged"]).sum()),
            "hyper_parameters": part["hyper_parameters"].mode().iloc[0],
            "failure": next(iter(part["failure"][~measured]), ""),
        }
    return pd.DataFrame(list(found.values()), index=pd.Index(found, name="recipe"))


def compare(
    published: pd.DataFrame,
    experiments: Mapping[str, Experiment],
    results: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    r"""Return the published figures with ours beside them.

    .. math:: \text{difference\_in\_sd} = \frac{a - p}{\sqrt{(s_a^2 + s_p^2) / 2}}

    for our mean accuracy a, the published p and their standard deviations over folds; where the
    paper gives none, ours stands for both. A published figure has a row for each of its
    experiments; ``setting`` says what sets them apart, ``reason`` why there is no figure of ours,
    ``why`` where we think that we fall short. Recipes that no paper has are last, without
    ``source``.
    """
    ours = {name: summarise(lines) for name, lines in results.items()}
    beside = [
        row | {"experiment": name}
        for row in published.to_dict("records")
        for name in row["experiment"].split() or [""]
    ]
    known = {(row["experiment"], row["recipe"]) for row in beside}
    empty = dict.fromkeys(_TEXT, "") | dict.fromkeys(_NUMBERS, np.nan)
    beside += [
        empty | {"dataset": e, "experiment": e, "recipe": recipe, "seconds_of": "one fold"}
        for e, table in ours.items()
        for recipe in table.index
        if (e, recipe) not in known
    ]
    rows = [{**row, **_our_columns(row, experiments, ours)} for row in beside]
    return pd.DataFrame(rows, columns=[*published.columns, *OURS, "setting", "why"])


def _our_columns(
    row: Mapping[Any, Any],
    experiments: Mapping[str, Experiment],
    ours: Mapping[str, pd.DataFrame],
) -> dict[str, Any]:
    texts = dict.fromkeys(("hyper_parameters", "setting", "why"), "")
    empty: dict[str, Any] = dict.fromkeys(OURS, np.nan) | texts
    if not row["experiment"]:
        return empty
    experiment = experiments[row["experiment"]]
    empty["setting"] = experiment.setting
    if experiment.name not in ours:
        return empty | {"reason": _missing(experiment)}
    found = ours[experiment.name].loc[row["recipe"]]
    spreads = np.array([found["our_accuracy_sd"], row["accuracy_sd"]])
    spread = np.sqrt(np.mean(np.where(np.isnan(spreads), spreads[0], spreads) ** 2))
    difference = found["our_accuracy"] - row["accuracy"]
    whole = row["seconds_of"] == "all folds"
    return {
        **{name: found[name] for name in OURS if name in found.index},
        "difference": difference,
        "difference_in_sd": difference / spread if spread > 0 else np.nan,
        "our_seconds": found["seconds_a_repeat" if whole else "seconds_a_fold"],
        "reason": found["failure"] or row["reason"],
        "setting": experiment.setting,
        "why": experiment.why.get(row["recipe"], ""),
    }


def _missing(experiment: Experiment) -> str:
    """Return why an experiment did not run: in a few words, and more after a colon."""
    if not experiment.files:
        return "not run"
    files = " and ".join(experiment.files)
    hours = f", and about {experiment.hours:g} h" if experiment.hours else ""
    return f"wants {files} in the data folder{hours}: {experiment.wants}"
