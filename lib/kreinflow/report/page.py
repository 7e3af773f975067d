"""The report: one HTML page that needs nothing but itself."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import yaml

from kreinflow.answering.reject_threshold import RejectRule
from kreinflow.base.references import REFERENCES
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import glance, sections, several
from kreinflow.report.advice import warnings_of
from kreinflow.report.cascades import asks, broken_losses, cascades, costs_of, in_a_column
from kreinflow.report.html import drawing, image, page_environment
from kreinflow.report.in_words import RELATIVES, in_words
from kreinflow.report.levels import levels_section
from kreinflow.report.methods import chosen_by, methods_text, others_text, threshold_text
from kreinflow.report.own import own_factors, own_landmarks, own_models, recipe_called
from kreinflow.report.reading import CAPTIONS, DatasetReport
from kreinflow.report.rejecting import Threshold
from kreinflow.report.sets import broken, sets
from kreinflow.report.tables import (
    Table,
    beside_perfect,
    best_recipe,
    flags,
    measured,
    numbers,
    percent,
    shares,
)
from kreinflow.report.unknown import asks_relatives, rule_of_final_model, unknown
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


def render_text(datasets: Sequence[DatasetReport], config: Mapping[str, Any]) -> str:
    """Return the first screen of the page as plain text: no times, the same bytes as the page's.

    Parameters
    ----------
    datasets, config
        As for :func:`render_report`.
    """
    parts = []
    for data in datasets:
        own = _final_model(data, config, costs_of(data.models, data.curves))
        parts.append(glance.in_text(f"{data.name}: {own['data_line']}", own))
    return "\n".join(parts)


def _view(number: int, data: DatasetReport, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that the template prints of one data set."""
    cost = costs_of(data.models, data.curves)
    chose = data.measured == INNER_CHOICE
    aligned = make_source(data.settings["source"]).aligned
    false_alarms = (config.get("unknown") or {}).get("false_alarms")
    return {
        "anchor": f"data-{number}",
        "several": data.several,
        "captions": CAPTIONS | (several.CAPTIONS if data.several else {}),
        "name": data.name,
        "aligned": aligned,
        "unit": "alignments" if aligned else "scores",
        "who": f"{'the inner choice' if chose else 'the final recipe'} on the outer folds",
        "shaded": "the inner choice" if chose else "the final model",
        **_final_model(data, config, cost),
        **_input(data, config),
        **_comparison(data, config, cost, "alignments" if aligned else "scores"),
        "per_class": several.per_label(
            *(data.per_class, data.measured, data.statistics["records_kept"], data.thresholds),
            data.rejected,
        )
        if data.several
        else sections.per_class(data.per_class, data.measured, data.rejected),
        "rejecting": sections.rejecting(
            data.accepted, data.measured, rule_of_final_model(data.strangers or {})
        ),
        "calibration_error": dict(
            zip(data.summary["recipe"].astype(str), beside_perfect(data.summary), strict=True)
        ).get(data.measured),
        "unknown": unknown(
            data.strangers or {},
            data.unknown,
            data.statistics.get("unknown", {}),
            data.measured,
            false_alarms,
        ),
        "levels": data.levels
        and levels_section(data.levels, data.settings["levels"], data.measured),
        "sets": sets(data.coverage, data.errors, data.measured),
        "unlabelled": None if data.unlabelled is None else sections.unlabelled(data.unlabelled),
        "times": sections.stages(data.times),
        "machines": sections.machines(data.times),
        "kernels": data.times["cpu_kernel"].astype(str).nunique(),
        "figures": {name: image(svg) for name, svg in data.figures.items() if name != "map"},
        "map": drawing(data.figures["map"], f"m{number}-"),
        "shown": sections.shown_on_the_map(data.landmark_map),
        "methods": methods_text(data.settings, config, data.final_recipe),
    }


def _final_model(
    data: DatasetReport, config: Mapping[str, Any], cost: Mapping[str, float]
) -> dict[str, Any]:
    """Return what the final model is, what it does on outer folds, and what to look at."""
    own = own_models(data, config)
    factors = own_factors(data.factors, own, config)
    landmarks = own_landmarks(data.landmarks, own)
    recipe = recipe_called(data.final_recipe, config)
    rows = own[numbers(own["repeat"]) < 0].to_dict("records")
    final = {str(name): value for name, value in rows[0].items()} if rows else None
    count = f"{int(final['landmarks']):,}" if final else ""
    own_curves = data.curves[data.curves["recipe"].astype(str) == data.final_recipe]
    # Records of a group tend to be right or wrong together.
    grouped = data.settings["folds"]["method"] == "grouped"
    asked = cascades(
        own_curves,
        data.models[data.models["recipe"].astype(str) == data.final_recipe],
        config["recipes"],
    )
    lost = broken_losses(own_curves, config["recipes"], data.statistics["distinct"])
    relatives = asks_relatives(data.strangers or {})
    reject = RejectRule(
        config["reject_error"], config.get("reject_coverage"), config["reject_confidence"]
    )
    return {
        "final_recipe": data.final_recipe,
        "in_words": in_words(
            recipe, config, count, make_source(data.settings["source"]), relatives
        ),
        "chosen_by": chosen_by(data.settings, config),
        "relatives": RELATIVES if relatives else "",
        "final_asked": bool(data.settings.get("final")),
        "final_lifted": bool(recipe.get("lift")),
        "final": final
        and {
            "asks": asks(count, data.cascade) if data.cascade else "",
            "asked_on_outer_folds": glance.asked_on_outer_folds(data, final) is not None,
            "inner_accuracy": percent(float(final["inner_accuracy"])),
            "rejects": several.REJECTS
            if data.several
            else Threshold(final, data.strangers).rejects(),
            "hits": not data.several and Threshold(final, data.strangers).hits,
        },
        "threshold": several.THRESHOLDS if data.several else threshold_text(config),
        "cards": glance.cards(data, config, final, recipe),
        "quoted": glance.quoted(data, own),
        "data_line": glance.data_line(data, own, final),
        "next": glance.next_steps(data, config, final, cost, recipe),
        "warnings": warnings_of(
            data.statistics,
            landmarks,
            factors,
            own,
            config["selectors"],
            reject,
            data.final_recipe,
            None if grouped else lost.get(data.final_recipe),
            broken(data.coverage, data.errors, data.measured),
        ),
        "landmarks": sections.landmarks(landmarks),
        "factored": not factors.empty,
        "balls": bool(np.isfinite(numbers(landmarks["radius"])).any()),
        "learns": data.final_recipe in set(factors["recipe"]),
        "factors": sections.factors(measured(data.factors), data.landmark_map),
        "cascade": in_a_column(asked) if asked else None,
    }


def _comparison(
    data: DatasetReport, config: Mapping[str, Any], cost: Mapping[str, float], unit: str
) -> dict[str, Any]:
    """Return what all recipes came to."""
    rows = data.comparison
    best, alike = best_recipe(rows), rows.loc[flags(rows["indistinguishable"]), "recipe"]
    accuracies = dict(
        zip(data.summary["recipe"].astype(str), shares(data.summary, "accuracy"), strict=True)
    )
    return {
        "best": best,
        "best_accuracy": accuracies[best],
        "inner_accuracy": accuracies.get(INNER_CHOICE),
        "alike": alike.astype(str).tolist(),
        "tested": int(np.isfinite(numbers(rows["p_records_holm"])).sum()),
        "recipes": int((data.summary["recipe"] != INNER_CHOICE).sum()),
        "folds": int(numbers(rows["folds"]).max()),
        "comparison": sections.comparison(rows, data.summary, cost, unit, data.several),
        "recipe_table": sections.recipes(measured(data.models), data.several),
        "views": sections.views(data.models),
        "automatic": sections.automatic(data, config, accuracies, cost, unit)
        if "auto" in config
        else None,
        "cascades": cascades(data.curves, data.models, config["recipes"]),
        "others": others_text(data.settings, config, data.final_recipe),
    }


def _input(data: DatasetReport, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was read, and how much was aligned."""
    substitutions = data.statistics["substitutions"].items()
    replaced = [(name, f"{count:,}") for name, count in substitutions]
    return {
        "counts": sections.counts(data.statistics),
        "dropped": sections.dropped(data.statistics["dropped"]),
        "substitutions": Table(["substitution", "residues"], replaced),
        "files": Table(["file", "sha256"], list(data.statistics["files"].items()), {0, 1}),
        "alignments": sections.alignments(data, config),
    }
