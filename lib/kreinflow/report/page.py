"""The report: one HTML page that needs nothing but itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import yaml

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.models.reject_threshold import NOTHING_ACCEPTED, RejectRule
from kreinflow.references import REFERENCES
from kreinflow.report import sections, several
from kreinflow.report.advice import warnings_of
from kreinflow.report.cascades import asks, broken_losses, cascades, costs_of
from kreinflow.report.html import drawing, image, page_environment
from kreinflow.report.levels import levels_section
from kreinflow.report.methods import chosen_by, methods_text, threshold_text
from kreinflow.report.reading import CAPTIONS, DatasetReport
from kreinflow.report.sets import sets
from kreinflow.report.tables import (
    Table,
    best_recipe,
    flags,
    measured,
    numbers,
    percent,
    shares,
)
from kreinflow.report.unknown import unknown
from kreinflow.sequences.sources.registry import make_source


def render_report(
    datasets: Sequence[DatasetReport], config: Mapping[str, Any], versions: Mapping[str, str]
) -> str:
    """Return the page as HTML: no network, the same bytes from the same input.

    Its only script sorts tables and says which are wide; without it the page is complete.

    Times and what else differs from run to run stand in elements ``<section class="times">`` and
    the config in ``<section class="config">``; all else depends on data, settings of results and
    versions alone.

    Parameters
    ----------
    datasets : sequence of DatasetReport
        In the order of the page.
    config : mapping
        With all defaults filled in; printed as YAML.
    versions : mapping of str to str
        Of Python and of packages.
    """
    template = page_environment().get_template("template.html.j2")
    return template.render(
        datasets=[_view(number, data, config) for number, data in enumerate(datasets, 1)],
        config=yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True),
        versions=Table(["package", "version"], list(versions.items()), {0, 1}),
        references=list(REFERENCES.values()),
    )


def _view(number: int, data: DatasetReport, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that the template prints of one data set."""
    best = best_recipe(data.comparison)
    cost = costs_of(data.models, data.curves)
    accuracies = dict(
        zip(data.summary["recipe"].astype(str), shares(data.summary, "accuracy"), strict=True)
    )
    aligned = make_source(data.settings["source"]).aligned
    unit = "alignments" if aligned else "scores"
    return {
        "anchor": f"data-{number}",
        "several": data.several,
        "captions": CAPTIONS | (several.CAPTIONS if data.several else {}),
        "name": data.name,
        "warnings": warnings_of(
            data.statistics,
            data.landmarks,
            data.factors,
            data.models,
            config["selectors"],
            RejectRule(
                config["reject_error"], config.get("reject_coverage"), config["reject_confidence"]
            ),
            # Records of a group tend to be right or wrong together.
            {}
            if data.settings["folds"]["method"] == "grouped"
            else broken_losses(data.curves, config["recipes"], data.statistics["distinct"]),
        ),
        "best": best,
        "best_accuracy": accuracies[best],
        "best_f1": dict(zip(accuracies, shares(data.summary, "micro_f1"), strict=True))[best]
        if data.several
        else None,
        "inner_accuracy": accuracies.get(INNER_CHOICE),
        "cost": f"{cost[best]:,.0f}",
        "aligned": aligned,
        "unit": unit,
        **_verdict(data),
        **_final_model(data, config),
        **_input_and_landmarks(data, config),
        "comparison": sections.comparison(data.comparison, data.summary, cost, unit, data.several),
        "recipe_table": sections.recipes(measured(data.models), data.several),
        "views": sections.views(data.models),
        "automatic": sections.automatic(data, config, accuracies, cost, unit)
        if "auto" in config
        else None,
        "cascades": cascades(data.curves, data.models, config["recipes"]),
        "per_class": several.per_label(
            data.per_class, best, data.statistics["records_kept"], data.thresholds
        )
        if data.several
        else sections.per_class(data.per_class, best),
        "unknown": unknown(
            data.strangers or {},
            data.unknown,
            data.statistics.get("unknown", {}),
            best,
            (config.get("unknown") or {}).get("false_alarms"),
        ),
        "levels": data.levels and levels_section(data.levels, data.settings["levels"], best),
        "sets": sets(data.coverage, data.errors, best),
        "unlabelled": None if data.unlabelled is None else sections.unlabelled(data.unlabelled),
        "times": sections.stages(data.times),
        "machines": sections.machines(data.times),
        "kernels": data.times["cpu_kernel"].astype(str).nunique(),
        "figures": {name: image(svg) for name, svg in data.figures.items() if name != "map"},
        "map": drawing(data.figures["map"], f"m{number}-"),
        "shown": sections.shown_on_the_map(data.landmark_map),
        "methods": methods_text(data.settings, config, data.final_recipe),
    }


def _verdict(data: DatasetReport) -> dict[str, Any]:
    """Return what the comparison of the recipes came to."""
    rows = data.comparison
    alike = rows.loc[flags(rows["indistinguishable"]), "recipe"]
    return {
        "alike": alike.astype(str).tolist(),
        "tested": int(np.isfinite(numbers(rows["p_records_holm"])).sum()),
        "recipes": int((data.summary["recipe"] != INNER_CHOICE).sum()),
        "folds": int(numbers(rows["folds"]).max()),
    }


def _final_model(data: DatasetReport, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures of the final model, if its training is among the rows of models."""
    final = (numbers(data.models["repeat"]) < 0) & (data.models["recipe"] == data.final_recipe)
    figures = None
    if final.any():
        row = data.models[final].iloc[0]
        threshold = float(row["reject_threshold"])
        landmarks = f"{int(row['landmarks']):,}"
        flagged = (
            f"predictions with a probability below {threshold:.4g}"
            if threshold < NOTHING_ACCEPTED
            else "all predictions"
        )
        if data.several:
            flagged = "records none of whose labels reaches its threshold"
        figures = {
            "landmarks": landmarks,
            "asks": asks(landmarks, data.cascade) if data.cascade else "",
            "parts": f"{landmarks} landmarks" + (" and a cascade" if data.cascade else ""),
            "cost": f"{float(row['alignments_per_query']):,.0f}",
            "inner_accuracy": percent(float(row["inner_accuracy"])),
            "flagged": flagged,
        }
    return {
        "final_recipe": data.final_recipe,
        "chosen_by": chosen_by(data.settings, config),
        "final_asked": bool(data.settings.get("final")),
        "final_lifted": any(
            recipe["name"] == data.final_recipe and recipe.get("lift")
            for recipe in config["recipes"]
        ),
        "final": figures,
        "threshold": several.THRESHOLDS if data.several else threshold_text(config),
    }


def _input_and_landmarks(data: DatasetReport, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was read, and what it was compared with."""
    substitutions = data.statistics["substitutions"].items()
    replaced = [(name, f"{count:,}") for name, count in substitutions]
    return {
        "statistics": data.statistics,
        "counts": sections.counts(data.statistics),
        "dropped": sections.dropped(data.statistics["dropped"]),
        "substitutions": Table(["substitution", "residues"], replaced),
        "files": Table(["file", "sha256"], list(data.statistics["files"].items()), {0, 1}),
        "alignments": sections.alignments(data, config),
        "landmarks": sections.landmarks(measured(data.landmarks)),
        "factored": not measured(data.factors).empty,
        "factors": sections.factors(measured(data.factors), data.landmark_map),
    }
