"""The tables of the report's sections, and the numbers in its sentences."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.config.auto import fits
from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.inner_choice import chosen_recipes
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.fitting.recipe_choice import other_choice
from kreinflow.report.cascades import pairs_asked
from kreinflow.report.methods import beside_parasail
from kreinflow.report.reading import DatasetReport
from kreinflow.report.several import measures_of_several
from kreinflow.report.tables import (
    Table,
    beside_perfect,
    cells,
    flags,
    intervals,
    number,
    numbers,
    p_values,
    percent,
    rejected_cells,
    shares,
    span,
    table_of,
    wrong_of_accepted,
)
from kreinflow.report.times import MACHINE, times_by, times_by_stage


def counts(statistics: Mapping[str, Any]) -> Table:
    """Return the numbers of what was read."""
    sizes = statistics["class_sizes"]
    rows = [
        ("records read", f"{statistics['records_read']:,}"),
        ("records kept", f"{statistics['records_kept']:,}"),
        ("distinct", f"{statistics['distinct']:,}"),
        ("classes", f"{len(sizes):,}"),
        ("smallest class", f"{min(sizes.values()):,}"),
        ("largest class", f"{max(sizes.values()):,}"),
    ]
    if "unlabelled" in statistics:
        rows.append(("without label, to be classified", f"{statistics['unlabelled']:,}"))
    if "unknown" in statistics:
        rows.append(("records held out as unknown", f"{sum(statistics['unknown'].values()):,}"))
    rows += [
        (f"length, {name.replace('_', ' ')}", f"{value:,.0f}")
        for name, value in statistics["lengths"].items()
    ]
    if "several" in statistics:
        rows += labels_per_record(statistics)
    if "several_labels" in statistics:
        rows.append(("entries with several labels", f"{statistics['several_labels']:,}"))
        if statistics["release"]:
            rows.append(("release of the database", statistics["release"]))
    if statistics.get("asymmetry") is not None:
        rows.append(
            ("largest asymmetry (share of the largest entry)", f"{statistics['asymmetry']:.2g}")
        )
    return Table(["what", "number"], rows)


def labels_per_record(statistics: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return how many labels the records have that may have several."""
    found = {int(n): count for n, count in statistics["labels_per_record"].items()}
    mean = sum(n * count for n, count in found.items()) / sum(found.values())
    removed = statistics["labels_removed"]["count"]
    return [
        ("labels of a record, mean", f"{mean:.2f}"),
        ("labels of a record, most", f"{max(found):,}"),
        ("records with several labels", f"{sum(found.values()) - found.get(1, 0):,}"),
        ("labels removed: too few records have or lack them", f"{removed:,}"),
    ]


def dropped(reasons: Mapping[str, Any]) -> Table:
    """Return how many records were dropped for each reason, and some of them."""
    rows = []
    for reason, what in reasons.items():
        more = what["count"] - len(what["examples"])
        which = ", ".join(map(str, what["examples"])) + (f" and {more:,} more" if more else "")
        rows.append((reason, f"{what['count']:,}", which))
    return Table(["reason", "records", "which"], rows, {0, 2}, wrapped=2)


def alignments(data: DatasetReport, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return how many pairs were aligned and by what, beside those of the full matrix.

    ``agreed`` is None where nothing but parasail may have aligned, ``cascades`` without any.
    """
    done = data.alignments
    if not done["aligned"]:
        return None
    asked = pairs_asked(data.models, data.curves)
    full = max(done["full_matrix"], 1)
    total = done["aligned"] + sum(asked.values())
    return {
        "aligned": f"{done['aligned']:,}",
        "cascades": {
            **{name: f"{n:,}" for name, n in asked.items()},
            "total": f"{total:,}",
            "share": f"{100 * total / full:.1f}",
        }
        if any(asked.values())
        else None,
        "full": f"{done['full_matrix']:,}",
        "share": f"{100 * done['aligned'] / full:.1f}",
        "self_scores": f"{done['self_scores']:,}",
        "store": str(done["store"]),
        "backend": config["alignment"]["backend"],
        "agreed": data.agreed if beside_parasail(done["scheme"], config) else None,
    }


def landmarks(own: pd.DataFrame) -> Table:
    """Return the landmarks of the fits of the outer folds, and those of the final model."""
    rows = []
    tested = numbers(own["repeat"]) >= 0
    for what, part in (("fits of the outer folds", own[tested]), ("final model", own[~tested])):
        if part.empty:
            continue
        balls = part[np.isfinite(numbers(part["radius"]))]
        reached = "no balls"
        if len(balls):
            keys = [balls["repeat"], balls["fold"], balls["class"]]
            whole = flags(balls["reached"]).groupby(keys)
            reached = f"{int(whole.all().sum()):,} of {whole.ngroups:,}"
        rows.append(
            (
                what,
                ", ".join(part["selector"].astype(str).unique()),
                span(part.groupby(["repeat", "fold"]).size()),
                span(part.groupby(["repeat", "fold"])["class"].nunique()),
                span(part.groupby(["repeat", "fold", "class"]).size()),
                reached,
            )
        )
    head = ["model", "selector", "landmarks", "classes with one", "landmarks of a class"]
    return Table([*head, "balls reached"], rows, {0, 1})


def factors(table: pd.DataFrame, landmark_map: Mapping[str, Any]) -> Table:
    """Return signature and misfit of the final model's kernel: means over the outer folds.

    If no recipe learns from a factor of this kernel, they are those of the landmark map.
    """
    kernel = {key: landmark_map[key] for key in ("selector", "transform", "rank_wanted")}
    own = (table[list(kernel)].astype(str) == pd.Series(kernel).astype(str)).all(axis=1)
    table = table[own] if own.any() else pd.DataFrame([{**kernel, **landmark_map["factor"]}])
    rows = []
    for key, part in table.groupby(["selector", "transform", "rank_wanted"], sort=False):
        misfit = numbers(part["misfit"])
        rows.append(
            (
                *map(str, key),
                *(
                    span(part[name])
                    for name in ("landmarks", "rank", "positive", "negative", "zero")
                ),
                f"{100 * numbers(part['negative_fraction']).mean():.1f} %",
                f"{np.nanmean(misfit):.3f} (at most {np.nanmax(misfit):.3f})",
            )
        )
    head = ["selector", "transform", "rank asked for", "landmarks", "rank", "positive", "negative"]
    return Table([*head, "zero", "negative eigen-fraction", "misfit"], rows, {0, 1, 2})


def comparison(
    compared: pd.DataFrame,
    summary: pd.DataFrame,
    cost: Mapping[str, float],
    unit: str,
    several: bool = False,
) -> Table:
    """Return the figures of each recipe, and how it stands to the best.

    Records may have ``several`` labels.
    """
    names = compared["recipe"].astype(str).tolist()
    figures = summary.set_axis(summary["recipe"].astype(str)).loc[names]
    best = flags(compared["best"]).tolist()
    differences = cells(compared["difference"], "+.2f", 100)
    columns = {
        "recipe": names,
        "verdict": _verdicts(compared),
        "accuracy": shares(figures, "accuracy"),
        "points to best": ["" if b else d for b, d in zip(best, differences, strict=True)],
        "95 % interval": intervals(compared, "+.2f", 100),
        "p (Holm)": p_values(compared["p_records_holm"]),
        "t-test, p (Holm)": p_values(compared["p_folds_holm"]),
        f"{unit} per query": [f"{cost[name]:,.0f}" if name in cost else "" for name in names],
        **(measures_of_several(figures) if several else _measures(figures)),
        "calibration error (if perfect)": beside_perfect(figures),
    }
    return table_of(columns, {0, 1}, {place for place, b in enumerate(best) if b})


def _measures(figures: pd.DataFrame) -> dict[str, list[str]]:
    return {
        "balanced accuracy": shares(figures, "balanced_accuracy"),
        "macro F1": shares(figures, "macro_f1"),
        "MCC": cells(figures["mcc_mean"], ".3f"),
        "log loss": cells(figures["log_loss_mean"], ".3f"),
        "Brier": cells(figures["brier_mean"], ".3f"),
    }


def _verdicts(compared: pd.DataFrame) -> list[str]:
    best, alike = flags(compared["best"]), flags(compared["indistinguishable"])
    folds, tested = numbers(compared["folds"]), np.isfinite(numbers(compared["p_records_holm"]))
    return [
        "best"
        if best.iloc[row]
        else ("not distinguishable" if alike.iloc[row] else "worse")
        if tested[row]
        else "honest figure"
        if recipe == INNER_CHOICE
        else f"measured on {folds[row]:.0f} of {folds.max():.0f} folds"
        for row, recipe in enumerate(compared["recipe"].astype(str))
    ]


def recipes(models: pd.DataFrame, several: bool = False) -> Table:
    """Return what each recipe is, and what its training said: means over the outer folds.

    Where records may have ``several`` labels, each label has a calibration and a threshold.
    """
    rows = []
    for recipe, part in models.groupby("recipe", sort=False):
        chosen = [text for text in part["hyper_parameters"].unique() if isinstance(text, str)]
        basis, temperature, threshold, accuracy = (
            float(numbers(part[name]).mean())
            for name in ("basis_used", "temperature", "reject_threshold", "inner_accuracy")
        )
        rows.append(
            (
                str(recipe),
                *map(str, part[["transform", "selector", "correction", "learner"]].iloc[0]),
                span(part["landmarks"]),
                "" if (rank := pd.Series(numbers(part["rank"])).dropna()).empty else span(rank),
                f"{100 * basis:.1f} %",
                span(part["iterations"]),
                f"{int(flags(part['converged']).sum())} of {len(part)}",
                ", ".join(sorted(chosen)),
                *([] if several else [number(temperature), number(threshold)]),
                percent(accuracy),
            )
        )
    head = ["recipe", "transform", "selector", "correction", "learner", "landmarks", "rank"]
    head += ["points used", "steps", "converged", "hyper-parameters"]
    head += [] if several else ["temperature", "reject below"]
    return Table([*head, "accuracy on inner folds"], rows, {0, 1, 2, 3, 4})


def views(models: pd.DataFrame) -> Table | None:
    """Return what recipes lose without each view: means over the training parts.

    None if no recipe has views beside the scores.
    """
    rows = []
    for recipe, part in models.groupby("recipe", sort=False):
        lost = [_named(text) for text in part["views"]]
        widths = [_named(text) for text in part["hyper_parameters"]]
        for view in lost[0]:
            points = 100 * np.mean([values.get(view, np.nan) for values in lost])
            tried = sorted({values.get(f"width_{view}", np.nan) for values in widths})
            units = ", ".join("left out" if np.isinf(w) else f"{w:g}" for w in tried)
            rows.append((str(recipe), view, f"{points:.1f}", units))
    head = ["recipe", "view", "points of accuracy lost without it", "widths chosen"]
    return Table(head, rows, {0, 1, 3}) if rows else None


def _named(text: object) -> dict[str, float]:
    """Return the numbers of a text such as ``ridge=0.01 width_words=3``, by their names."""
    found = {}
    for pair in text.split() if isinstance(text, str) else []:
        name, _, value = pair.partition("=")
        with suppress(ValueError):  # a damaged text, which no checksum tells
            found[name] = float(value)
    return found


def automatic(
    data: DatasetReport,
    config: Mapping[str, Any],
    accuracies: Mapping[str, str],
    cost: Mapping[str, float],
    unit: str,
) -> dict[str, Any] | None:
    """Return what there is to say of the automatic choice: what was tried, and what it gave."""
    listed = [r for r in config["recipes"] if r["name"] in data.settings["recipes"]]
    final = data.models[numbers(data.models["repeat"]) < 0]
    if len(listed) < 2 or final.empty:
        return None
    order = [recipe["name"] for recipe in listed]
    chosen = list(chosen_recipes(data.models, order, config["prefer"]).values())
    ranked = final.sort_values(
        ["inner_accuracy", "inner_log_loss"], ascending=[False, True], kind="stable"
    )
    names = ranked["recipe"].astype(str).tolist()
    columns = {
        "recipe": names,
        "inner accuracy": map(percent, numbers(ranked["inner_accuracy"])),
        "inner log loss": cells(ranked["inner_log_loss"], ".3f"),
        "chosen in outer folds": [f"{chosen.count(name)} of {len(chosen)}" for name in names],
        "accuracy on outer folds": [accuracies[name] for name in names],
        f"{unit} per query": [f"{cost[name]:,.0f}" for name in names],
    }
    marked = {place for place, name in enumerate(names) if name == data.final_recipe}
    went_on = [recipe for recipe in listed if recipe["name"] in names]
    first, later = (
        fits(fitted, config["learners"], config["inner_folds"]) for fitted in (listed, went_on)
    )
    rows = [{str(key): value for key, value in row.items()} for row in final.to_dict("records")]
    other, others_choice = other_choice(rows, order, config["prefer"])
    return {
        "table": table_of(columns, marked=marked),
        "alignments": f"{config['auto']['alignments']:,}",
        "fits": f"{first + later * len(chosen):,}",
        "fits_of_one": f"{first:,}",
        "recipes": len(listed),
        "went_on": len(went_on),
        "parts": len(chosen),
        "prefer": config["prefer"],
        "other": other,
        "other_choice": others_choice,
    }


def rejecting(
    accepted: pd.DataFrame, recipe: str, rule: Mapping[str, Any] | None = None
) -> Table | None:
    """Return what a recipe accepts and rejects; None if nothing is known of it.

    ``rule`` is that of :func:`~kreinflow.report.unknown.rule_of_final_model`.
    """
    own = accepted[accepted["recipe"].astype(str) == recipe]
    if own.empty:
        return None
    rows = [("accepted", shares(own, "accepted")[0])]
    if (wrong := wrong_of_accepted(own)) == wrong:
        rows.append(("wrong among the accepted of all folds", percent(wrong)))
    tested = AS if rule is None else {"unsure": AS["unsure"]}
    rows += [(f"rejected: {reason}", shares(own, name)[0]) for reason, name in tested.items()]
    if rule is not None:
        alone = "rejected by the final model besides: no relative, of its training records"
        rows.append((alone, percent(float(rule["known_rejected"]))))
    return Table(["records", "share"], rows, {0})


def per_class(table: pd.DataFrame, recipe: str, rejected: pd.DataFrame) -> Table:
    """Return the figures of each class by one recipe, and what it rejects if that is known."""
    own = table[table["recipe"].astype(str) == recipe]
    return table_of(
        {
            "class": own["class"],
            "precision, %": cells(own["precision"], ".2f", 100),
            "recall, %": cells(own["recall"], ".2f", 100),
            "F1, %": cells(own["f1"], ".2f", 100),
            **rejected_cells(own["class"], rejected, recipe),
            "support": cells(own["support"], ",.0f"),
        }
    )


def unlabelled(counted: pd.DataFrame) -> dict[str, Any]:
    """Return what there is to say of the sequences without a label."""
    faulty = counted["class"] == ""
    rows = counted[~faulty]
    return {
        "records": f"{int(counted['records'].sum()):,}",
        "rejected": f"{int(counted['rejected'].sum()):,}",
        "faults": f"{faults:,}" if (faults := int(counted.loc[faulty, "records"].sum())) else "",
        "table": table_of(
            {
                "class": rows["class"],
                "sequences": cells(rows["records"], ",.0f"),
                "rejected": cells(rows["rejected"], ",.0f"),
                "median landmark score": cells(rows["landmark_score"], ".3f"),
            }
        ),
    }


def stages(times: pd.DataFrame) -> Table:
    """Return what the jobs of each stage took."""
    table = times_by_stage(times)
    return table_of(
        {
            "stage": table["stage"],
            "jobs": table["jobs"],
            "seconds": cells(table["seconds"], ",.1f"),
            "share": cells(table["share"], ".1%"),
            "processor seconds": cells(table["cpu_seconds"], ",.1f"),
            "largest memory, MB": cells(table["max_rss_mb"], ",.0f"),
        }
    )


def machines(times: pd.DataFrame) -> Table:
    """Return where the jobs ran, with what, and for how long."""
    table = times_by(times, MACHINE)
    heads = ("host", "kreinflow", "numpy", "CPU kernel")
    return table_of(
        {
            **{head: table[name] for head, name in zip(heads, MACHINE, strict=True)},
            "jobs": table["jobs"],
            "seconds": cells(table["seconds"], ",.1f"),
            "processor seconds": cells(table["cpu_seconds"], ",.1f"),
        },
        text={0, 1, 2, 3},
    )


def shown_on_the_map(summary: Mapping[str, Any]) -> str:
    """Return how many objects and landmarks the map shows."""
    every = {"landmarks": summary["landmarks"]}
    every["other objects"] = summary["distinct"] - summary["landmarks"]
    shown = (summary["shown_landmarks"], summary["shown_objects"])
    counts = [
        f"{part:,} of {whole:,} {what}" if part < whole else f"all {whole:,} {what}"
        for part, (what, whole) in zip(shown, every.items(), strict=True)
    ]
    sampled = sum(shown) < summary["distinct"]
    which = (
        " They were chosen by a hash of their ids, so the same ones are shown each time."
        if sampled
        else ""
    )
    return f"It shows {' and '.join(counts)}.{which}"
