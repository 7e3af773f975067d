"""Tables of the report's sections on the final model and its data."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.base.binomial import interval
from kreinflow.evaluation.accepted import AS
from kreinflow.report.reading import DatasetResults
from kreinflow.report.tables import (
    PageTable,
    cells,
    flags,
    laid_out,
    marked_rows,
    measured,
    numbers,
    of_recipe,
    percent,
    share,
    short_percent,
    span,
    table_of,
)
from kreinflow.report.texts import TEXTS

_INDENT = "\u2003"  # a space as wide as the letter, which HTML does not fold


def counts(statistics: Mapping[str, Any]) -> PageTable:
    """Return the numbers of what was read."""
    sizes, lengths = statistics["class_sizes"].values(), statistics["lengths"]
    found = {
        **statistics,
        "classes": len(sizes),
        "smallest": min(sizes),
        "largest": max(sizes),
        "held_out": sum(statistics.get("unknown", {}).values()) or None,
        "release": statistics.get("release") or None,
        **{f"length_{name}": round(value) for name, value in lengths.items()},
    }
    if levels := statistics.get("levels"):
        for key in ("rolled_up", "common_ancestor"):
            found[key] = statistics[key]["count"]
        for key, numbers_at in levels.items():
            found[f"{key}_at"] = "; ".join(f"{n:,}" for n in numbers_at)
    if "several" in statistics:
        labels = {int(n): count for n, count in statistics["labels_per_record"].items()}
        records = sum(labels.values())
        found |= {
            "mean_labels": f"{sum(n * count for n, count in labels.items()) / records:.2f}",
            "most_labels": max(labels),
            "many_labels": records - labels.get(1, 0),
            "removed": statistics["labels_removed"]["count"],
        }
    if found.get("asymmetry") is not None:
        found["asymmetry"] = f"{found['asymmetry']:.2g}"
    rows = [
        (head, value if isinstance(value, str) else f"{value:,}")
        for head, key in TEXTS["counts"].items()
        if (value := found.get(key)) is not None
    ]
    return PageTable(["what", "number"], rows)


def listed(head: Sequence[str], values: Mapping[str, int | str]) -> PageTable:
    """Return a table of two columns: numbers stand on the right, text on the left."""
    rows = [(name, v if isinstance(v, str) else f"{v:,}") for name, v in values.items()]
    return PageTable(head, rows, {0, *(1 for v in values.values() if isinstance(v, str))})


def dropped(reasons: Mapping[str, Any]) -> PageTable:
    """Return how many records were dropped for each reason, and some of them."""
    rows = []
    for reason, what in reasons.items():
        more = what["count"] - len(what["examples"])
        which = ", ".join(map(str, what["examples"])) + (f" and {more:,} more" if more else "")
        rows.append((reason, f"{what['count']:,}", which))
    return PageTable(["reason", "records", "which"], rows, {0, 2}, wrapped=2)


def landmarks(own: pd.DataFrame) -> PageTable:
    """Return the landmarks of the fits of the outer folds, and those of the final model."""
    rows = []
    tested = numbers(own["repeat"]) >= 0
    for what, part in (("fits of the outer folds", own[tested]), ("final model", own[~tested])):
        if part.empty:
            continue
        balls = part[np.isfinite(numbers(part["radius"]))]
        whole = flags(balls["reached"]).groupby([balls[k] for k in ("repeat", "fold", "class")])
        reached = f"{int(whole.all().sum()):,} of {whole.ngroups:,}" if len(balls) else "no balls"
        fits = part.groupby(["repeat", "fold"])
        of_classes = part.groupby(["repeat", "fold", "class"]).size()
        spans = map(span, (fits.size(), fits["class"].nunique(), of_classes))
        rows.append((what, ", ".join(part["selector"].astype(str).unique()), *spans, reached))
    head = ["model", "selector", "landmarks", "classes with one", "landmarks of a class"]
    return PageTable([*head, "balls reached"], rows, {0, 1})


def factors(data: DatasetResults) -> PageTable:
    """Return signature and misfit of the final model's kernel: means over the outer folds.

    If no recipe learns from a factor of this kernel, they are those of the landmark map.
    """
    own, of_map = data.of_kernel(measured(data.factors)), data.landmark_map
    if own.empty:
        own = pd.DataFrame([of_map["factor"]])
    misfit, negative = numbers(own["misfit"]), numbers(own["negative_fraction"])
    columns = {
        "selector": [of_map["selector"]],
        "transform": [of_map["transform"]],
        "rank asked for": [of_map["rank_wanted"]],
        **{n: [span(own[n])] for n in ("landmarks", "rank", "positive", "negative", "zero")},
        "negative eigen-fraction": [f"{100 * negative.mean():.1f} %"],
        "misfit": [f"{np.nanmean(misfit):.3f} (at most {np.nanmax(misfit):.3f})"],
    }
    return table_of(columns, {0, 1, 2})


def rejecting(data: DatasetResults) -> PageTable:
    """Return what is accepted and rejected."""
    own, rule = data.own("accepted"), data.own_rule
    rows = [("accepted", share(own, "accepted"))]
    if (wrong := float(numbers(own["wrong_of_accepted"])[0])) == wrong:
        rows.append(("wrong among the accepted of all folds", percent(wrong)))
    tested = AS if rule is None else {"unsure": AS["unsure"]}
    rows += [(f"rejected: {reason}", share(own, name)) for reason, name in tested.items()]
    if rule is not None:
        alone = "rejected by the final model besides: no relative, of its training records"
        rows.append((alone, percent(float(rule["known_rejected"]))))
    return PageTable(["records", "share"], rows, {0})


def promises(data: DatasetResults) -> PageTable:
    """Return the errors that the final model can promise for shares that are accepted."""
    own = data.promises["threshold"] == data.threshold.own
    return laid_out(data.promises, "promises", set(np.flatnonzero(own).tolist()))


def per_class(data: DatasetResults) -> PageTable:
    """Return the figures of each class, and what is rejected of it."""
    own, rejected = data.own("per_class"), data.own("rejected")
    names = own["class"].astype(str)
    if data.several:
        chance = numbers(own["support"]) / data.statistics["records_kept"]
        own = own.assign(by_chance=chance, threshold=names.map(data.thresholds))
    of_class = rejected.set_axis(rejected["class"].astype(str)).reindex(names)
    own = own.assign(rejected=of_class["rejected"].to_numpy())
    return laid_out(own, "per_class", what="label" if data.several else "class")


def unlabelled(counted: pd.DataFrame) -> dict[str, Any]:
    """Return the predictions of the sequences without a label."""
    faulty = counted["class"] == ""
    return {
        "records": int(counted["records"].sum()),
        "rejected": int(counted["rejected"].sum()),
        "faults": int(counted.loc[faulty, "records"].sum()),
        "table": laid_out(counted[~faulty], "unlabelled"),
    }


def unknown(data: DatasetResults) -> dict[str, Any] | None:
    """Return what is known of objects of no class; None if nothing is.

    ``rule`` is what the final model tells of “no relative”, ``test`` what it tells of its p-values,
    ``levels`` what its levels take, ``held`` what became of the classes that were held out.
    """
    about, tables = data.strangers, data.unknown
    if not about and tables is None:
        return None
    asked = (data.config.get("unknown") or {}).get("false_alarms")
    return {
        "rule": about.get("no_relative"),
        "test": about if "calibrating" in about else None,
        "levels": _levels_told(about.get("levels")),
        "held": tables and _held_out(tables, data.measured, asked),
    }


def _levels_told(rows: Sequence[Mapping[str, float | None]] | None) -> PageTable | None:
    if not rows:
        return None
    found = pd.DataFrame(rows, dtype=np.float64)
    return table_of(
        {
            "level": [str(level + 1) for level in range(len(found))],
            "records tried": cells(found, "left_out", ",.0f"),
            "likeness needed": [text or "none" for text in cells(found, "likeness", ".3f")],
            "answered without the limit, %": cells(found, "answered_before", "%"),
            "answered with it, %": cells(found, "answered", "%"),
        }
    )


def _held_out(
    tables: Mapping[str, pd.DataFrame], recipe: str, asked: float | None
) -> dict[str, Any]:
    summary, families = tables["summary"], of_recipe(tables["families"], recipe)
    own = of_recipe(summary, recipe)
    expected = float(numbers(own["would_be_found"])[0])
    sides = {
        side: [share(own, f"{side}_{name}") for name in AS.values()]
        for side in ("known", "unknown")
    }
    shown = families.drop(columns=AS.values()) if asked is None else families
    return {
        "own": own,
        "auroc": cells(own, "auroc_mean", ".3f")[0],
        "asked": asked,
        "expected": None if np.isnan(expected) else expected,
        "recipes": laid_out(summary, "unknown", marked_rows(summary, recipe)),
        "reasons": None if asked is None else table_of({"reason": list(AS), **sides}),
        "families": laid_out(shown, "families"),
    }


def sets(data: DatasetResults) -> dict[str, Any] | None:
    """Return the tables of sets of labels and of errors; None if nothing was measured."""
    errors, coverage = data["errors"], data["coverage"]
    if errors.empty:
        return None
    classes = coverage["class"].astype(str)
    whole, by_class = coverage[classes == ""], of_recipe(coverage[classes != ""], data.measured)
    recipes, of_classes = _by_confidence(whole, "recipe"), _by_confidence(by_class, "class")
    records = by_class.groupby(by_class["class"].astype(str), sort=False)["records"].max()
    own = of_recipe(whole, data.measured)
    n = numbers(own["records"])
    low, high = interval(np.round(n * numbers(own["coverage"])), n)
    return {
        "coverage": laid_out(own.assign(low=low, high=high), "coverage"),
        "classes": table_of(
            {"class": of_classes.pop("class"), "records": [f"{n:,.0f}" for n in records]}
            | {head: column for head, column in of_classes.items() if "none" not in head}
        ),
        "errors": laid_out(data.own("errors").drop(columns="recipe"), "errors"),
        "recipes": table_of(recipes, marked=_places(recipes["recipe"], data)),
        "accepted": laid_out(errors, "errors", marked_rows(errors, data.measured)),
    }


def _by_confidence(coverage: pd.DataFrame, key: str) -> dict[str, list[str]]:
    columns = {key: list(dict.fromkeys(coverage[key].astype(str)))}
    for confidence, table in coverage.groupby(numbers(coverage["confidence"])):
        own = table.set_index(table[key].astype(str)).reindex(columns[key])
        asked = short_percent(float(str(confidence)))
        columns |= {
            f"held at {asked}": cells(own, "coverage", "%%"),
            f"labels at {asked}": cells(own, "size", ".2f"),
        }
    return columns


def _places(recipes: list[str], data: DatasetResults) -> set[int]:
    return {place for place, name in enumerate(recipes) if name == data.measured}


def levels(data: DatasetResults) -> dict[str, Any] | None:
    """Return the tables of classes that are paths; None if they are none."""
    settings = data.settings.get("levels")
    if not settings or data.several:
        return None
    hierarchy, by_level, nodes = (data.own(name) for name in ("hierarchy", "levels", "nodes"))
    given = hierarchy["given"].replace({"label": "labels", "node": "answers"})
    names = [
        _INDENT * int(level - 1) + str(path).split(settings["separator"])[-1]
        for level, path in zip(numbers(nodes["level"]), nodes["node"], strict=True)
    ]
    return {
        **settings,
        "count": len(by_level),
        "table": laid_out(by_level, "levels"),
        "ending": laid_out(by_level, "ending"),
        "hierarchy": laid_out(hierarchy.assign(given=given), "hierarchy"),
        "recipes": _levels_of_recipes(data),
        "tree": laid_out(nodes.assign(name=names), "tree"),
    }


def _levels_of_recipes(data: DatasetResults) -> PageTable:
    levels, hierarchy = data["levels"], data["hierarchy"]
    names = levels["recipe"].astype(str).drop_duplicates().tolist()
    columns: dict[str, list[str]] = {"recipe": names}
    for level, rows in levels.groupby(numbers(levels["level"])):
        own = rows.set_index("recipe").loc[names]
        columns[f"accuracy at level {level:.0f}, %"] = cells(own, "accuracy", "%")
    for given, what in (("label", "of labels"), ("node", "of answers")):
        own = hierarchy[hierarchy["given"] == given].set_index("recipe").loc[names]
        for head, name in (("hP", "precision"), ("hR", "recall"), ("hF", "f1")):
            columns[f"{head} {what}, %"] = cells(own, name, "%")
    return table_of(columns, marked=_places(names, data))
