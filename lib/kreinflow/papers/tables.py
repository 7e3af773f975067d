"""What the papers say beside what we get."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.papers.experiments import Experiment

ANSWERS = (
    "our_accuracy",
    "our_accuracy_sd",
    "folds",
    "difference",
    "difference_in_sd",
    "our_landmarks",
    "our_complexity",
    "our_seconds",
    "negative_fraction",
    "limit_reached",
    "hyper_parameters",
)
"""Columns of :func:`compare` that are ours."""


def summarise(lines: pd.DataFrame) -> pd.DataFrame:
    """Return means over folds.

    Parameters
    ----------
    lines : DataFrame
        What :func:`~kreinflow.evaluation.cross_validation.cross_validate` measured.

    Returns
    -------
    DataFrame
        One line a recipe, by name, with the columns ``our_accuracy`` and ``our_accuracy_sd`` (in
        percent, the standard deviation over folds), ``folds``, ``our_landmarks``,
        ``our_complexity`` (in percent of the training points), ``seconds_a_fold``,
        ``seconds_a_repeat`` (all folds of a cross-validation), ``negative_fraction``,
        ``limit_reached`` (folds whose learner did not converge), ``hyper_parameters`` (the most
        frequent) and ``failure`` (of the first fold that has one).
    """
    found = []
    for recipe, part in lines.groupby("recipe", sort=False):
        seconds = part["seconds_training"] + part["seconds_testing"]
        failures = part["failure"][part["failure"] != ""]
        measured = part["failure"] == ""
        found.append(
            {
                "recipe": recipe,
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
                "failure": failures.iloc[0] if len(failures) else "",
            }
        )
    return pd.DataFrame(found).set_index("recipe")


def compare(
    published: pd.DataFrame,
    experiments: Mapping[str, Experiment],
    results: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    r"""Return the published figures with ours beside them.

    .. math:: \text{difference\_in\_sd} = \frac{a - p}{\sqrt{(s_a^2 + s_p^2) / 2}}

    for our mean accuracy a, the published p and their standard deviations over folds; where the
    paper gives none, ours stands for both. It is empty where both are 0.

    Parameters
    ----------
    published : DataFrame
        See :func:`~kreinflow.papers.published.read_published`.
    experiments : mapping of str to Experiment
    results : mapping of str to DataFrame
        What :func:`~kreinflow.evaluation.cross_validation.cross_validate` measured where it ran.

    Returns
    -------
    DataFrame
        The columns of the published figures, :data:`ANSWERS`, ``setting`` and ``why``;
        ``difference`` is in points of percent. A published figure has a row for each of its
        experiments; ``setting`` says what sets them apart. ``reason`` says why there is no figure
        of ours, ``why`` where we think that we fall short. At the end stand recipes that no paper
        has, without ``source``.
    """
    ours = {name: summarise(lines) for name, lines in results.items()}
    beside = [
        row | {"experiment": name}
        for row in records(published)
        for name in row["experiment"].split() or [""]
    ]
    rows = [row | _answer(row, experiments, ours) for row in beside]
    asked = {(row["experiment"], row["recipe"]) for row in beside}
    for name, table in ours.items():
        for recipe in table.index:
            if (name, recipe) not in asked:
                row: dict[str, Any] = {
                    **dict.fromkeys(published.columns, ""),
                    **dict.fromkeys(published.select_dtypes("number").columns, np.nan),
                    "dataset": name,
                    "experiment": name,
                    "recipe": recipe,
                    "seconds_of": "one fold",
                }
                rows.append(row | _answer(row, experiments, ours))
    return pd.DataFrame(rows, columns=[*published.columns, *ANSWERS, "setting", "why"])


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the lines of a table as mappings."""
    return [
        dict(zip(table.columns, line, strict=True))
        for line in table.itertuples(index=False, name=None)
    ]


def _answer(
    row: Mapping[str, Any],
    experiments: Mapping[str, Experiment],
    ours: Mapping[str, pd.DataFrame],
) -> dict[str, Any]:
    texts = dict.fromkeys(("hyper_parameters", "setting", "why"), "")
    empty: dict[str, Any] = dict.fromkeys(ANSWERS, np.nan) | texts
    if not row["experiment"]:
        return empty
    experiment = experiments[row["experiment"]]
    setting = {"setting": experiment.setting}
    if experiment.name not in ours:
        return empty | setting | {"reason": _wanted(experiment)}
    found = ours[experiment.name].loc[row["recipe"]]
    whole = row["seconds_of"] == "all folds"
    spread = _pooled(found["our_accuracy_sd"], row["accuracy_sd"])
    difference = found["our_accuracy"] - row["accuracy"]
    return {
        **{name: found[name] for name in ANSWERS if name in found.index},
        "difference": difference,
        "difference_in_sd": difference / spread if spread > 0 else np.nan,
        "our_seconds": found["seconds_a_repeat" if whole else "seconds_a_fold"],
        "reason": found["failure"] or row["reason"],
        **setting,
        "why": experiment.why.get(row["recipe"], ""),
    }


def _wanted(experiment: Experiment) -> str:
    """Return why an experiment did not run: in a few words, and more after a colon."""
    if not experiment.files:
        return "not run"
    files = " and ".join(experiment.files)
    hours = f", and about {experiment.hours:g} h" if experiment.hours else ""
    return f"wants {files} in the data folder{hours}: {experiment.wants}"


def _pooled(ours: float, theirs: float) -> float:
    return float(np.sqrt((ours**2 + (ours if np.isnan(theirs) else theirs) ** 2) / 2))
