"""Tables that compare the recipes of a data set."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.fitting.recipe_choice import other_choice
from kreinflow.report.cascades import EVERYTHING, FIRST, asking, chosen, fold_means
from kreinflow.report.methods import threshold_digits
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import (
    PageTable,
    flags,
    laid_out,
    marked_rows,
    mean_by,
    measured,
    number,
    numbers,
    of_recipe,
    percent,
    span,
    table_of,
)


def comparison(data: DatasetResults) -> PageTable:
    """Return the figures of each recipe, and how it stands to the best."""
    compared, best = data["comparison"], flags(data["comparison"]["best"])
    names, folds = compared["recipe"].astype(str).tolist(), numbers(compared["folds"])
    figures = data["summary"].set_axis(data["summary"]["recipe"].astype(str)).loc[names]
    tested = np.isfinite(numbers(compared["p_records_holm"]))
    verdicts = {  # the first that holds
        "best": best,
        "not distinguishable": tested & flags(compared["indistinguishable"]),
        "worse": tested,
        "honest figure": np.array(names) == INNER_CHOICE,
    }
    else_told = [f"measured on {some:.0f} of {folds.max():.0f} folds" for some in folds]
    told: dict[str, Any] = {
        "verdict": np.select(list(verdicts.values()), list(verdicts), else_told),
        "points": np.where(best, np.nan, 100 * numbers(compared["difference"])),
        "cost": [data.costs.get(name, np.nan) for name in names],
        **{n: compared[n].to_numpy() for n in ("low", "high", "p_records_holm", "p_folds_holm")},
    }
    layout = "comparison_several" if data.several else "comparison"
    marked = set(np.flatnonzero(best).tolist())
    return laid_out(figures.assign(**told), layout, marked, unit=data.unit)


def recipes(data: DatasetResults) -> PageTable:
    """Return what each recipe is, and what its training said: means over the outer folds."""
    rows = []
    for recipe, part in measured(data["models"]).groupby("recipe", sort=False):
        texts = {text for text in part["hyper_parameters"] if isinstance(text, str) and text}
        values = (named_numbers(text).items() for text in texts)
        chosen = sorted(" ".join(f"{name}={value:g}" for name, value in own) for own in values)
        basis, temperature, threshold, accuracy = (
            float(numbers(part[name]).mean())
            for name in ("basis_used", "temperature", "reject_threshold", "inner_accuracy")
        )
        rank = pd.Series(numbers(part["rank"])).dropna()
        rows.append(
            {
                "recipe": recipe,
                **part[["transform", "selector", "correction", "learner"]].iloc[0],
                "landmarks": span(part["landmarks"]),
                "rank": "" if rank.empty else span(rank),
                "points used": f"{100 * basis:.1f} %",
                "steps": span(part["iterations"]),
                "converged": f"{int(flags(part['converged']).sum())} of {len(part)}",
                "hyper-parameters": ", ".join(chosen),
                "temperature": number(temperature),
                "reject below": number(threshold),
                "accuracy on inner folds": percent(accuracy),
            }
        )
    of_one = ["temperature", "reject below"]  # with several, each label has its own
    table = pd.DataFrame(rows).drop(columns=of_one if data.several else [])
    return table_of({str(head): column for head, column in table.items()}, {0, 1, 2, 3, 4})


def views(models: pd.DataFrame) -> PageTable | None:
    """Return what recipes with views lose without each: means over the training parts."""
    rows = []
    for recipe, part in models.groupby("recipe", sort=False):
        lost, widths = (
            [named_numbers(text) for text in part[name]] for name in ("views", "hyper_parameters")
        )
        for view in lost[0]:
            points = 100 * np.mean([values.get(view, np.nan) for values in lost])
            tried = sorted({values.get(f"width_{view}", np.nan) for values in widths})
            units = ", ".join("left out" if np.isinf(w) else f"{w:g}" for w in tried)
            rows.append((str(recipe), view, f"{points:.1f}", units))
    head = ["recipe", "view", "points of accuracy lost without it", "widths chosen"]
    return PageTable(head, rows, {0, 1, 3}) if rows else None


def named_numbers(text: object) -> dict[str, float]:
    """Return the numbers in a cell of the table of models: JSON, or nothing."""
    found = json.loads(text) if isinstance(text, str) and text else {}
    return {str(name): float(value) for name, value in found.items()}


def automatic(data: DatasetResults, accuracies: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what the automatic choice tried, and what it gave; None if there was no choice."""
    config, listed = data.config, [recipe["name"] for recipe in data.recipes]
    final = data["models"][numbers(data["models"]["repeat"]) < 0]
    if "auto" not in config or len(listed) < 2 or final.empty:
        return None
    chosen = list(data.chosen.values())
    ranked = final.sort_values(
        ["inner_accuracy", "inner_log_loss"], ascending=[False, True], kind="stable"
    )
    names = ranked["recipe"].astype(str).tolist()
    told: dict[str, Any] = {
        "chosen": [f"{chosen.count(name)} of {len(chosen)}" for name in names],
        "accuracy": [accuracies[name] for name in names],
        "cost": [data.costs[name] for name in names],
    }
    rows = [{str(key): value for key, value in row.items()} for row in final.to_dict("records")]
    other, others_choice = other_choice(rows, listed, config["prefer"])
    marked = marked_rows(ranked, data.final_recipe)
    return {
        "table": laid_out(ranked.assign(**told), "automatic", marked, unit=data.unit),
        "alignments": config["auto"]["alignments"],
        "recipes": len(listed),
        "went_on": len(names),
        "parts": len(chosen),
        "prefer": config["prefer"],
        "other": other,
        "other_choice": others_choice,
    }


def cascades(data: DatasetResults) -> PageTable | None:
    """Return what each cascade costs and loses; None without recipes with a cascade."""
    curves, models = data.curves, data["models"]
    if curves.empty:
        return None
    at = chosen(curves)
    own = fold_means(at)
    names = own.index.tolist()
    every, first = (fold_means(asking(curves, end)).loc[names] for end in (EVERYTHING, FIRST))
    inner = mean_by(measured(models), "recipe", "alignments_per_query")
    fits = {name: of_recipe(models, name) for name in names}
    stated = {recipe["name"]: recipe.get("cascade") or {} for recipe in data.config["recipes"]}
    told: dict[str, Any] = {
        "levels": [_levels(fits[name]) for name in names],
        "threshold": [_thresholds(of_recipe(at, name)) for name in names],
        "inner": [inner[name] for name in names],
        "alignments_all": every["alignments"],
        "accuracy_first": first["accuracy"],
        "accuracy_all": every["accuracy"],
        "lost": every["accuracy"] - own["accuracy"],
        "stated": [_stated(stated[name]) for name in names],
        "pairs": [numbers(fits[name]["cascade_pairs"]).sum() for name in names],
    }
    return laid_out(own.assign(**told).reset_index(), "cascades")


def _thresholds(rows: pd.DataFrame) -> str:
    thresholds = numbers(rows["threshold"])
    ends = map(threshold_digits, (thresholds.min(), thresholds.max()))
    return " to ".join(dict.fromkeys(ends))


def _levels(models: pd.DataFrame) -> str:
    found = dict.fromkeys(str(text).split(", threshold")[0] for text in models["cascade"])
    return "; ".join(filter(None, found))


def _stated(cascade: Mapping[str, Any]) -> str:
    if cascade.get("loss") is not None:
        return f"at most {100 * float(cascade['loss']):g} points"
    most = cascade.get("alignments")
    return "" if most is None else f"{float(most):g} alignments"
