"""The report: one HTML page that needs nothing but itself, and the files beside it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from kreinflow.base.references import REFERENCES
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.files.atomic import write_text
from kreinflow.files.provenance import package_versions
from kreinflow.files.workflow_folder import WORKFLOW_FOLDER
from kreinflow.report import accepting, methods, recipes, sections, tables, times, words
from kreinflow.report.cascades import pairs_asked
from kreinflow.report.crate import render_crate
from kreinflow.report.html import drawing, image, page_environment
from kreinflow.report.multiqc import render_multiqc
from kreinflow.report.names import CONFIG, CRATE, MULTIQC, PAGE, TEXT, WORKFLOW
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import best_recipe, cells, flags, numbers
from kreinflow.report.texts import CAPTIONS, SEVERAL_CAPTIONS

WORDS = accepting, methods, recipes, sections, tables, times, words  # templates call them by name


def write_report(folder: Path, config: Mapping[str, Any], again: bool = False) -> None:
    """Write the page, its text, MultiQC's file, the config and the RO-Crate, from a run's results.

    ``again`` tells that the run is over, and may be of another version: its Snakefile stays. A file
    that is damaged or missing raises an InputError.
    """
    datasets = [DatasetResults(folder, name, config) for name in config["datasets"]]
    versions = package_versions()
    written = {
        PAGE: render_report(datasets, config, versions),
        TEXT: render_text(datasets),
        MULTIQC: render_multiqc(datasets),
        CONFIG: yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True),
    }
    if not (again and (folder / WORKFLOW).exists()):
        written[WORKFLOW] = (WORKFLOW_FOLDER / "Snakefile").read_text(encoding="utf-8")
    for name, text in written.items():
        write_text(folder / name, text)
    write_text(folder / CRATE, render_crate(folder, datasets, {} if again else versions))


def render_report(
    datasets: Sequence[DatasetResults], config: Mapping[str, Any], versions: Mapping[str, str]
) -> str:
    """Return the page as HTML: no network, the same bytes from the same input.

    Its only script sorts tables and says which are wide; without it the page is complete.

    Times and what else differs from run to run stand in elements ``<section class="times">`` and
    the config in ``<section class="config">``; all else depends on data, settings of results and
    versions alone.
    """
    environment = page_environment()
    environment.globals |= {module.__name__.rpartition(".")[2]: module for module in WORDS}
    return environment.get_template("template.html.j2").render(
        datasets=[_view(number, data) for number, data in enumerate(datasets, 1)],
        config=yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True),
        versions=versions,
        references=list(REFERENCES.values()),
    )


def render_text(datasets: Sequence[DatasetResults]) -> str:
    """Return the first screen of the page as plain text: no times, the same bytes as the page's."""
    return "\n".join(
        words.in_text(f"{data.name}: {words.data_line(data)}", _first_screen(data))
        for data in datasets
    )


def _first_screen(data: DatasetResults) -> dict[str, Any]:
    return {
        "cards": words.cards(data),
        "quoted": words.quoted(data),
        "next": words.next_steps(data),
        "warnings": words.warnings_of(data),
    }


def _view(number: int, data: DatasetResults) -> dict[str, Any]:
    chose = data.measured == INNER_CHOICE
    landmarks = f"{int(data.final['landmarks']):,}"
    return {
        "anchor": f"data-{number}",
        "data": data,
        "captions": SEVERAL_CAPTIONS if data.several else CAPTIONS,
        "who": f"{'the inner choice' if chose else 'the final recipe'} on the outer folds",
        "shaded": "the inner choice" if chose else "the final model",
        **_first_screen(data),
        "relatives": methods.worded(data, methods.RELATIVES) if data.asks_relatives else "",
        "asks": methods.worded(data, methods.asks(landmarks, data.cascade)) if data.cascade else "",
        "balls": bool(np.isfinite(numbers(data.own_landmarks["radius"])).any()),
        "learns": data.final_recipe in set(data.own_factors["recipe"]),
        "unknown": sections.unknown(data),
        "identity": not data.own("identity").empty,
        "levels": sections.levels(data),
        "sets": sections.sets(data),
        "unlabelled": None if data.unlabelled is None else sections.unlabelled(data.unlabelled),
        "alignments": _alignments(data),
        "figures": {name: image(svg) for name, svg in data.figures.items() if name != "map"},
        "map": drawing(data.figures["map"], f"m{number}-"),
        **_comparison(data),
    }


def _alignments(data: DatasetResults) -> dict[str, Any] | None:
    """Return how many pairs were aligned, or asked for; None if none was.

    ``agreed`` is None where nothing but parasail may have aligned, ``cascades`` without any.
    """
    done = data.alignments
    if not done["aligned"]:
        return None
    beside = done["scheme"] and methods.beside_parasail(done["scheme"], data.config)
    asked, full = pairs_asked(data["models"], data.curves), max(done["full_matrix"], 1)
    total = done["aligned"] + sum(asked.values())
    of_all = {**asked, "total": total, "share": total / full}
    return {
        **done,
        "cascades": of_all if any(asked.values()) else None,
        "share": done["aligned"] / full,
        "backend": data.config["alignment"]["backend"],
        "agreed": data.agreed if beside else None,
        "told": data.asked_for if done["asked"] else None,
    }


def _comparison(data: DatasetResults) -> dict[str, Any]:
    rows, summary = data["comparison"], data["summary"]
    names = summary["recipe"].astype(str)
    accuracies = dict(zip(names, cells(summary, "accuracy", "±%%"), strict=True))
    best = best_recipe(rows)
    return {
        "best": best,
        "best_accuracy": accuracies[best],
        "inner_accuracy": accuracies.get(INNER_CHOICE),
        "alike": rows.loc[flags(rows["indistinguishable"]), "recipe"].astype(str).tolist(),
        "tested": int(np.isfinite(numbers(rows["p_records_holm"])).sum()),
        "recipes": int((names != INNER_CHOICE).sum()),
        "folds": int(numbers(rows["folds"]).max()),
        "views": recipes.views(data["models"]),
        "automatic": recipes.automatic(data, accuracies),
        "cascades": recipes.cascades(data),
    }
