"""The report: one HTML page that needs nothing but itself."""

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kreinflow.automatic import fits
from kreinflow.evaluation.choice import chosen_recipes
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.numerics import FloatArray
from kreinflow.references import REFERENCES
from kreinflow.report.advice import warnings_of
from kreinflow.report.figures import flags, measured, numbers
from kreinflow.report.map import with_prefix
from kreinflow.report.methods import methods_text, threshold_text
from kreinflow.report.times import MACHINE, times_by_machine, times_by_stage
from kreinflow.report.unknown import UNKNOWN_CAPTION, UnknownReport
from kreinflow.sequences.sources.registry import make_source

CAPTIONS: dict[str, str] = {
    "classes": "Sizes of the classes, and lengths of the sequences where there are any.",
    "landmarks": "Landmarks of each class by selector: mean over folds, and their range.",
    "spectrum": "Eigenvalues of the approximated kernel as shares of the largest, in the first "
    "fold: positive ones blue, negative ones vermilion. The axis is logarithmic outside 0.0001.",
    "map": "Objects and landmarks (black edges) of the final model in two dimensions of its Krein "
    "space: axes are named with the sign and size of their eigenvalue.",
    "comparison": "Accuracy of each recipe on the outer folds: mean and standard deviation.",
    "confusion": "Confusion matrix of the best recipe, each row divided by its sum: right "
    "predictions blue, errors vermilion. Numbers are records (mean over repeats).",
    "alignments": "Accuracy against what a new object costs (recipes of equal cost are set side by "
    "side). The dashed line is the cost without landmarks.",
    "reject": "Errors among the predictions that are kept when the least certain are set aside.",
    "calibration": "How often predictions of a given probability are right, above how many there "
    "are of the best recipe.",
    "times": "Where the time went: seconds of each stage, summed over its jobs.",
}
"""What each figure shows; also the figures that the page expects."""

INLINE = ("map",)
"""Figures that are part of the page and no images: their points can be asked what they are."""


@dataclass(frozen=True, eq=False)
class DatasetReport:
    """What the page tells of one data set.

    Tables have the columns that their makers document; cells that are empty in a file may be
    empty text here.

    Parameters
    ----------
    name : str
    settings : mapping
        The data set's part of the config: source, scoring, folds, recipes, final.
    statistics : mapping
        Of :class:`kreinflow.sequences.dataset.Dataset`.
    alignments : mapping
        With aligned, self_scores, full_matrix, distinct, store, scheme (both None if nothing was
        aligned).
    landmarks : DataFrame
        Columns selector, repeat, fold, class, radius, reached; one row a landmark of a fold.
    factors : DataFrame
        Columns selector, transform, rank_wanted, repeat, fold, landmarks, rank, misfit, positive,
        negative, zero, negative_fraction.
    models : DataFrame
        Columns recipe, repeat, fold, selector, transform, correction, learner, landmarks, rank,
        basis_used, iterations, converged, hyper_parameters, temperature, reject_threshold,
        inner_accuracy, inner_log_loss, alignments_per_query. Rows of the final model have a
        negative repeat.
    summary, comparison, per_class : DataFrame
        Of :mod:`kreinflow.evaluation`.
    times : DataFrame
        With the columns of :mod:`kreinflow.report.times`.
    final_recipe : str
        The recipe of the final model.
    landmark_map : mapping
        With distinct, landmarks (numbers of all) and shown_objects, shown_landmarks.
    figures : mapping of str to str
        The text of an SVG for each name of :data:`CAPTIONS`.
    unknown : UnknownReport, optional
        Of classes held out as unknown, if there are any.
    unlabelled : DataFrame, optional
        From :func:`kreinflow.report.unlabelled.read_unlabelled`, if it was asked for.
    """

    name: str
    settings: Mapping[str, Any]
    statistics: Mapping[str, Any]
    alignments: Mapping[str, Any]
    landmarks: pd.DataFrame
    factors: pd.DataFrame
    models: pd.DataFrame
    summary: pd.DataFrame
    comparison: pd.DataFrame
    per_class: pd.DataFrame
    times: pd.DataFrame
    final_recipe: str
    landmark_map: Mapping[str, Any]
    figures: Mapping[str, str]
    unknown: UnknownReport | None = None
    unlabelled: pd.DataFrame | None = None


@dataclass(frozen=True)
class RunContext:
    """What the page tells of the whole run.

    Parameters
    ----------
    config : mapping
        With all defaults filled in; printed as YAML.
    versions : mapping of str to str
        Of Python and of packages.
    """

    config: Mapping[str, Any]
    versions: Mapping[str, str]


@dataclass(frozen=True)
class Table:
    """A table of the page: the first column names the row.

    Columns in ``text`` stay left, the column ``wrapped`` may break its lines, rows in ``marked``
    are shaded.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: frozenset[int] = frozenset({0})
    marked: frozenset[int] = frozenset()
    wrapped: int | None = None


def render_report(datasets: Sequence[DatasetReport], context: RunContext) -> str:
    """Return the page as HTML: no network, the same bytes from the same input.

    Its only script sorts tables; without it the page is complete.

    Times stand in elements ``<section class="times">`` and the config in
    ``<section class="config">``; all else depends on data, settings of results and versions alone.

    Parameters
    ----------
    datasets : sequence of DatasetReport
        In the order of the page.
    context : RunContext
    """
    config = yaml.safe_dump(dict(context.config), sort_keys=False, allow_unicode=True)
    return (
        page_environment()
        .get_template("template.html.j2")
        .render(
            datasets=[
                _view(number, dataset, context.config) for number, dataset in enumerate(datasets, 1)
            ],
            config=config,
            versions=_table(["package", "version"], list(context.versions.items()), text={0, 1}),
            references=list(REFERENCES.values()),
        )
    )


def page_environment(*folders: Path) -> Environment:
    """Return where the templates of pages come from: these folders, then that of the report.

    Templates have ``script``, which sorts tables, and ``policy``, which allows no other.
    """
    environment = Environment(
        loader=FileSystemLoader([*folders, Path(__file__).parent]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    script = (Path(__file__).parent / "sort.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    environment.globals |= {
        "script": Markup(script),
        "policy": "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'",
    }
    return environment


def _view(number: int, data: DatasetReport, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that the template prints of one data set."""
    rows = data.comparison
    best = str(rows.loc[flags(rows["best"]), "recipe"].iloc[0])
    alike = rows.loc[flags(rows["indistinguishable"]), "recipe"].astype(str).tolist()
    tested = bool(np.isfinite(numbers(rows["p_holm"])).any())
    accuracies = dict(
        zip(data.summary["recipe"].astype(str), _pairs(data, "accuracy"), strict=True)
    )
    models = measured(data.models)
    cost = _mean_by(models, "recipe", "alignments_per_query")
    return {
        "anchor": f"data-{number}",
        "name": data.name,
        "warnings": warnings_of(
            data.statistics, data.landmarks, data.factors, data.models, config["selectors"]
        ),
        "best": best,
        "best_accuracy": accuracies[best],
        "inner_accuracy": accuracies.get(INNER_CHOICE),
        "alike": alike,
        "tested": tested,
        "recipes": int((data.summary["recipe"] != INNER_CHOICE).sum()),
        "folds": int(data.summary["folds"].iloc[0]),
        "final_recipe": data.final_recipe,
        "final_asked": bool(data.settings.get("final")),
        "final": _final(data),
        "threshold": threshold_text(config),
        "unlabelled": None if data.unlabelled is None else _unlabelled(data.unlabelled),
        "unknown": None if data.unknown is None else _unknown(data.unknown, data.statistics, best),
        "aligned": make_source(data.settings["source"]).aligned,
        "unit": _unit(data),
        "cost": f"{cost[best]:,.0f}",
        "statistics": data.statistics,
        "counts": _counts(data.statistics),
        "dropped": _dropped(data.statistics["dropped"]),
        "substitutions": _table(
            ["substitution", "residues"],
            [(name, f"{count:,}") for name, count in data.statistics["substitutions"].items()],
        ),
        "files": _table(["file", "sha256"], list(data.statistics["files"].items()), text={0, 1}),
        "alignments": _alignments(data.alignments),
        "landmarks": _landmarks(measured(data.landmarks)),
        "factors": _factors(measured(data.factors)),
        "comparison": _comparison(data, cost),
        "recipe_table": _recipes(models),
        "automatic": _automatic(data, config, cost) if "auto" in config else None,
        "per_class": _per_class(data.per_class[data.per_class["recipe"].astype(str) == best]),
        "times": _times(data.times),
        "machines": _machines(data.times),
        "kernels": data.times["cpu_kernel"].astype(str).nunique(),
        "figures": {name: image(data.figures[name]) for name in CAPTIONS if name not in INLINE},
        "drawings": {name: _drawing(data.figures[name], f"m{number}-") for name in INLINE},
        "map": _map(data.landmark_map),
        "captions": CAPTIONS,
        "methods": methods_text(data.settings, config, data.final_recipe),
    }


def _table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    text: set[int] | None = None,
    marked: set[int] | None = None,
    wrapped: int | None = None,
) -> Table:
    return Table(head, rows, frozenset(text or {0}), frozenset(marked or ()), wrapped)


def image(svg: str) -> dict[str, Any]:
    """Return an SVG as a data URI, with its width in CSS pixels (a point is 4/3 of one).

    Below its least width a figure scrolls in its box, so that labels stay readable.
    """
    data = base64.b64encode(svg.encode()).decode("ascii")
    return {"source": f"data:image/svg+xml;base64,{data}", **_widths(svg)}


def _drawing(svg: str, prefix: str) -> dict[str, Any]:
    """Return an SVG as a part of the page, its ids told from those of others by a prefix."""
    return {"text": Markup(with_prefix(svg, prefix)), **_widths(svg)}


def _widths(svg: str) -> dict[str, int]:
    found = re.search(r'<svg [^>]*?\bwidth="([0-9.]+)pt"', svg)
    width = round(float(found.group(1)) * 4 / 3) if found else 700
    return {"width": width, "least": min(width, max(520, round(0.7 * width)))}


def _map(summary: Mapping[str, Any]) -> str:
    counts = []
    for shown, every, what in (
        (summary["shown_objects"], summary["distinct"] - summary["landmarks"], "other objects"),
        (summary["shown_landmarks"], summary["landmarks"], "landmarks"),
    ):
        counts.append(
            f"{shown:,} of {every:,} {what}" if shown < every else f"all {every:,} {what}"
        )
    sampled = " A hash of their ids says which." if "of" in " ".join(counts).split() else ""
    return f"It shows {counts[1]} and {counts[0]}.{sampled}"


def _percent(value: float) -> str:
    return "" if np.isnan(value) else f"{100 * value:.2f}"


def _plain(value: float, digits: int = 3) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}f}"


def _pairs(data: DatasetReport, metric: str) -> list[str]:
    """Return mean and standard deviation of a measure for each recipe, as percentages."""
    means, spreads = (numbers(data.summary[f"{metric}_{part}"]) for part in ("mean", "sd"))
    return _shares(means, spreads)


def _shares(means: FloatArray, spreads: FloatArray) -> list[str]:
    return [
        f"{_percent(mean)} %" if np.isnan(spread) else f"{_percent(mean)} ± {_percent(spread)} %"
        for mean, spread in zip(means, spreads, strict=True)
    ]


def _range(values: "pd.Series[Any]") -> str:
    low, high, mean = float(values.min()), float(values.max()), float(values.mean())
    return f"{mean:,.0f}" if low == high else f"{mean:,.1f} ({low:,.0f} to {high:,.0f})"


def _mean_by(table: pd.DataFrame, key: str, column: str) -> dict[str, float]:
    values = pd.Series(numbers(table[column]), index=table[key].astype(str).to_numpy())
    return {str(name): float(v) for name, v in values.groupby(level=0).mean().items()}


def _counts(statistics: Mapping[str, Any]) -> Table:
    rows = [
        ("records read", f"{statistics['records_read']:,}"),
        ("records kept", f"{statistics['records_kept']:,}"),
        ("distinct", f"{statistics['distinct']:,}"),
        ("classes", f"{len(statistics['class_sizes']):,}"),
        ("smallest class", f"{min(statistics['class_sizes'].values()):,}"),
        ("largest class", f"{max(statistics['class_sizes'].values()):,}"),
    ]
    if "unlabelled" in statistics:
        rows.append(("without label, to be classified", f"{statistics['unlabelled']:,}"))
    if "unknown" in statistics:
        rows.append(("records held out as unknown", f"{sum(statistics['unknown'].values()):,}"))
    rows += [
        (f"length, {name.replace('_', ' ')}", f"{value:,.0f}")
        for name, value in statistics["lengths"].items()
    ]
    if "several_labels" in statistics:
        rows.append(("entries with several labels", f"{statistics['several_labels']:,}"))
        if statistics["release"]:
            rows.append(("release of the database", statistics["release"]))
    if statistics.get("asymmetry") is not None:
        rows.append(
            ("largest asymmetry (share of the largest entry)", f"{statistics['asymmetry']:.2g}")
        )
    return _table(["what", "number"], rows)


def _dropped(dropped: Mapping[str, Any]) -> Table:
    rows = []
    for reason, what in dropped.items():
        examples = ", ".join(map(str, what["examples"]))
        more = what["count"] - len(what["examples"])
        rows.append(
            (reason, f"{what['count']:,}", examples + (f" and {more:,} more" if more else ""))
        )
    return _table(["reason", "records", "which"], rows, text={0, 2}, wrapped=2)


def _alignments(counts: Mapping[str, Any]) -> dict[str, str] | None:
    if not counts["aligned"]:
        return None
    return {
        "aligned": f"{counts['aligned']:,}",
        "full": f"{counts['full_matrix']:,}",
        "share": f"{100 * counts['aligned'] / max(counts['full_matrix'], 1):.1f}",
        "self_scores": f"{counts['self_scores']:,}",
        "store": str(counts["store"]),
    }


def _landmarks(landmarks: pd.DataFrame) -> Table:
    rows = []
    for selector, part in landmarks.groupby("selector", sort=False):
        per_fold = part.groupby(["repeat", "fold"]).size()
        per_class = part.groupby(["repeat", "fold", "class"]).size()
        balls = part[np.isfinite(numbers(part["radius"]))]
        reached = "no balls"
        if len(balls):
            whole = flags(balls["reached"]).groupby(
                [balls["repeat"], balls["fold"], balls["class"]]
            )
            reached = f"{int(whole.all().sum()):,} of {whole.ngroups:,}"
        rows.append(
            (
                str(selector),
                _range(per_fold),
                str(part["class"].nunique()),
                _range(per_class),
                reached,
            )
        )
    return _table(
        [
            "selector",
            "landmarks of a fold",
            "classes with one",
            "a class and fold",
            "balls reached",
        ],
        rows,
    )


def _factors(factors: pd.DataFrame) -> Table:
    rows = []
    for key, part in factors.groupby(["selector", "transform", "rank_wanted"], sort=False):
        misfit = numbers(part["misfit"])
        rows.append(
            (
                *map(str, key),
                *(_range(part[name]) for name in ("landmarks", "rank")),
                *(_range(part[name]) for name in ("positive", "negative", "zero")),
                f"{100 * numbers(part['negative_fraction']).mean():.1f} %",
                f"{np.nanmean(misfit):.3f} (at most {np.nanmax(misfit):.3f})",
            )
        )
    head = ["selector", "transform", "rank asked for", "landmarks", "rank", "positive", "negative"]
    head += ["zero", "negative eigen-fraction", "misfit"]
    return _table(head, rows, text={0, 1, 2})


def _comparison(data: DatasetReport, cost: Mapping[str, float]) -> Table:
    by_recipe = {str(row["recipe"]): row for row in data.summary.to_dict("records")}
    shares = {
        m: dict(zip(by_recipe, _pairs(data, m), strict=True))
        for m in ("accuracy", "balanced_accuracy", "macro_f1")
    }
    rows, marked = [], set()
    differences, adjusted = (
        numbers(data.comparison["difference"]),
        numbers(data.comparison["p_holm"]),
    )
    best, alike = flags(data.comparison["best"]), flags(data.comparison["indistinguishable"])
    for i, recipe in enumerate(data.comparison["recipe"].astype(str)):
        row = by_recipe[recipe]
        if best.iloc[i]:
            verdict, difference = "best", ""
            marked.add(i)
        else:
            difference = f"{100 * differences[i]:+.2f}"
            verdict = "not distinguishable" if alike.iloc[i] else "worse"
            if np.isnan(adjusted[i]):
                verdict = "honest figure" if recipe == INNER_CHOICE else "not tested"
        rows.append(
            (
                recipe,
                verdict,
                shares["accuracy"][recipe],
                difference,
                _p_value(adjusted[i]),
                f"{cost[recipe]:,.0f}" if recipe in cost else "",
                *(shares[metric][recipe] for metric in ("balanced_accuracy", "macro_f1")),
                *(
                    _plain(float(row[f"{metric}_mean"]))
                    for metric in ("mcc", "log_loss", "brier", "calibration_error")
                ),
            )
        )
    head = ["recipe", "verdict", "accuracy", "points to best", "p (Holm)"]
    head += [f"{_unit(data)} per query"]
    head += ["balanced accuracy", "macro F1", "MCC", "log loss", "Brier", "calibration error"]
    return _table(head, rows, text={0, 1}, marked=marked)


def _p_value(p: float) -> str:
    if np.isnan(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _recipes(models: pd.DataFrame) -> Table:
    rows = []
    for recipe, part in models.groupby("recipe", sort=False):
        chosen = [text for text in part["hyper_parameters"].unique() if isinstance(text, str)]
        converged = flags(part["converged"])
        rows.append(
            (
                str(recipe),
                *(str(part[name].iloc[0]) for name in ("transform", "selector", "correction")),
                str(part["learner"].iloc[0]),
                _range(part["landmarks"]),
                _range(part["rank"]),
                f"{100 * numbers(part['basis_used']).mean():.1f} %",
                _range(part["iterations"]),
                f"{int(converged.sum())} of {len(part)}",
                ", ".join(sorted(chosen)),
                _plain(float(numbers(part["temperature"]).mean())),
                _plain(float(numbers(part["reject_threshold"]).mean())),
                _percent(float(numbers(part["inner_accuracy"]).mean())) + " %",
            )
        )
    head = ["recipe", "transform", "selector", "correction", "learner", "landmarks", "rank"]
    head += ["points used", "steps", "converged", "hyper-parameters", "temperature", "reject below"]
    return _table([*head, "accuracy on inner folds"], rows, text={0, 1, 2, 3, 4})


def _automatic(
    data: DatasetReport, config: Mapping[str, Any], cost: Mapping[str, float]
) -> dict[str, Any] | None:
    """Return what there is to say of the automatic choice: what was tried, and what it gave."""
    listed = [r for r in config["recipes"] if r["name"] in data.settings["recipes"]]
    final = data.models[numbers(data.models["repeat"]) < 0]
    if len(listed) < 2 or final.empty:
        return None
    order = [recipe["name"] for recipe in listed]
    chosen = list(chosen_recipes(data.models, order).values())
    accuracies = dict(
        zip(data.summary["recipe"].astype(str), _pairs(data, "accuracy"), strict=True)
    )
    ranked = final.sort_values(
        ["inner_accuracy", "inner_log_loss"], ascending=[False, True], kind="stable"
    )
    rows = [
        (
            str(row["recipe"]),
            f"{_percent(float(row['inner_accuracy']))} %",
            _plain(float(row["inner_log_loss"])),
            f"{chosen.count(str(row['recipe']))} of {len(chosen)}",
            accuracies[str(row["recipe"])],
            f"{cost[str(row['recipe'])]:,.0f}",
        )
        for row in ranked.to_dict("records")
    ]
    head = ["recipe", "inner accuracy", "inner log loss", "chosen in outer folds"]
    head += ["accuracy on outer folds", f"{_unit(data)} per query"]
    of_one = fits(listed, config["learners"], config["inner_folds"])
    marked = {i for i, row in enumerate(rows) if row[0] == data.final_recipe}
    return {
        "table": _table(head, rows, marked=marked),
        "alignments": f"{config['auto']['alignments']:,}",
        "fits": f"{of_one * (len(chosen) + 1):,}",
        "fits_of_one": f"{of_one:,}",
        "recipes": len(order),
        "parts": len(chosen) + 1,
    }


def _per_class(table: pd.DataFrame) -> Table:
    rows = [
        (
            str(row["class"]),
            *(_percent(float(row[name])) for name in ("precision", "recall", "f1")),
            f"{float(row['support']):,.0f}",
        )
        for row in table.to_dict("records")
    ]
    return _table(["class", "precision, %", "recall, %", "F1, %", "support"], rows)


def _unknown(report: UnknownReport, statistics: Mapping[str, Any], best: str) -> dict[str, Any]:
    """Return what there is to say of the classes held out as unknown."""

    def shares(table: pd.DataFrame, name: str) -> list[str]:
        means, spreads = (numbers(table[f"{name}_{part}"]) for part in ("mean", "sd"))
        return _shares(means, spreads)

    sizes = statistics["unknown"]
    summary = report.summary
    recipes = summary["recipe"].astype(str).tolist()
    known, errors, rejected = (
        shares(summary, name) for name in ("known_rejected", "known_error", "unknown_rejected")
    )
    aurocs = [_plain(value) for value in numbers(summary["auroc_mean"])]
    place = recipes.index(best)
    families = report.families[report.families["recipe"].astype(str) == best]
    head = ["recipe", "known rejected", "errors of the others", "unknown rejected", "AUROC"]
    return {
        "records": f"{sum(sizes.values()):,}",
        "classes": len(sizes),
        "rejected": rejected[place],
        "known": known[place],
        "table": _table(
            head,
            list(zip(recipes, known, errors, rejected, aurocs, strict=True)),
            marked={place},
        ),
        "families": _table(
            ["class", "records", "rejected", "most often taken for", "share"],
            [
                (
                    str(row["class"]),
                    f"{int(row['records']):,}",
                    share,
                    str(row["taken_for"]),
                    f"{_percent(float(row['taken_share']))} %",
                )
                for row, share in zip(
                    families.to_dict("records"), shares(families, "rejected"), strict=True
                )
            ],
            text={0, 3},
        ),
        "figure": image(report.figure),
        "caption": UNKNOWN_CAPTION,
    }


def _unlabelled(counts: pd.DataFrame) -> dict[str, Any]:
    """Return what there is to say of the sequences without a label."""
    faulty = counts["class"] == ""
    rows = counts[~faulty]
    return {
        "records": f"{int(counts['records'].sum()):,}",
        "rejected": f"{int(counts['rejected'].sum()):,}",
        "faults": f"{faults:,}" if (faults := int(counts.loc[faulty, "records"].sum())) else "",
        "table": _table(
            ["class", "sequences", "flagged", "median landmark score"],
            [
                (
                    str(row["class"]),
                    f"{int(row['records']):,}",
                    f"{int(row['rejected']):,}",
                    _plain(float(row["landmark_score"])),
                )
                for row in rows.to_dict("records")
            ],
        ),
    }


def _unit(data: DatasetReport) -> str:
    return "alignments" if make_source(data.settings["source"]).aligned else "scores"


def _final(data: DatasetReport) -> dict[str, str] | None:
    """Return the figures of the final model, if its training is among the rows of models."""
    rows = data.models[
        (numbers(data.models["repeat"]) < 0)
        & (data.models["recipe"].astype(str) == data.final_recipe)
    ]
    if rows.empty:
        return None
    row = rows.iloc[0]
    return {
        "landmarks": f"{int(row['landmarks']):,}",
        "cost": f"{float(row['alignments_per_query']):,.0f}",
        "inner_accuracy": f"{_percent(float(row['inner_accuracy']))} %",
        "reject_threshold": _plain(float(row["reject_threshold"])),
    }


def _times(times: pd.DataFrame) -> Table:
    rows = [
        (
            str(row["stage"]),
            str(row["jobs"]),
            f"{row['seconds']:,.1f}",
            f"{row['share']:.1%}",
            f"{row['cpu_seconds']:,.1f}",
            f"{row['max_rss_mb']:,.0f}",
        )
        for row in times_by_stage(times).to_dict("records")
    ]
    head = ["stage", "jobs", "seconds", "share", "processor seconds", "largest memory, MB"]
    return _table(head, rows)


def _machines(times: pd.DataFrame) -> Table:
    rows = [
        (
            *(str(row[key]) for key in MACHINE),
            str(row["jobs"]),
            f"{row['seconds']:,.1f}",
            f"{row['cpu_seconds']:,.1f}",
        )
        for row in times_by_machine(times).to_dict("records")
    ]
    head = ["host", "kreinflow", "numpy", "CPU kernel", "jobs", "seconds", "processor seconds"]
    return _table(head, rows, text={0, 1, 2, 3})
