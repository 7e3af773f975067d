"""What the page says of objects that are of no class of the model, or have no relative."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from kreinflow.evaluation.accepted import AS
from kreinflow.report.tables import Table, cells, numbers, percent, shares, table_of

LOW = 0.5
"""If less of the unknown would be found the page says why."""


def unknown(
    about: Mapping[str, Any],
    tables: Mapping[str, pd.DataFrame] | None,
    sizes: Mapping[str, int],
    recipe: str,
    false_alarms: float | None,
) -> dict[str, Any] | None:
    """Return what there is to say; None if nothing is known of strangers.

    Parameters
    ----------
    about : mapping
        What the final model tells of unknown objects; see :mod:`kreinflow.fitting.fit_unknown`.
    tables : mapping of str to DataFrame or None
        ``summary`` and ``families`` of :mod:`kreinflow.evaluation.unknown`, if classes were held
        out.
    sizes : mapping of str to int
        Records of each class that was held out.
    recipe : str
        Whose figures are told; the table ``recipes`` has all.
    false_alarms : float or None
        Share of true members that may be rejected as unknown, if it was asked for.
    """
    if not about and tables is None:
        return None
    return {
        "rule": _rule(about.get("no_relative")),
        "test": _test(about) if "calibrating" in about else None,
        "held": None if tables is None else _held_out(tables, sizes, recipe, false_alarms),
    }


def asks_relatives(about: Mapping[str, Any]) -> bool:
    """Return whether a model that tells this compares objects with their nearest records."""
    rule = about.get("no_relative")
    return "calibrating" in about or (rule is not None and not rule["off"])


def rule_of_final_model(about: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a final model tells of “no relative”, if those of outer folds have no such rule.

    They have it if p-values were asked for.
    """
    rule: Mapping[str, Any] | None = about.get("no_relative")
    return None if rule is None or rule["off"] or "calibrating" in about else rule


def _rule(told: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what becomes of objects without a relative."""
    if told is None:
        return None
    return {
        "off": bool(told["off"]),
        "tried": f"{int(told['tried']):,}",
        "known": percent(float(told["known_rejected"])),
        "shuffled": f"{int(told['shuffled']):,}",
        "accepted": f"{round(float(told['shuffled_accepted']) * int(told['shuffled'])):,}",
    }


def _test(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the p-values of the final model rest on, and what they would find."""
    n, asked, found = (about[name] for name in ("calibrating", "false_alarms", "would_be_found"))
    needed = math.ceil(1 / float(asked) - 1e-9) - 1
    return {
        "asked": _share(float(asked)),
        "calibrating": f"{int(n):,}",
        "needed": f"{needed:,}",
        "enough": int(n) >= needed,
        "found": percent(float(found)),
        "low": float(found) < LOW,
        "left_out": f"{int(about['left_out']):,}",
    }


def _held_out(
    tables: Mapping[str, pd.DataFrame],
    sizes: Mapping[str, int],
    recipe: str,
    false_alarms: float | None,
) -> dict[str, Any]:
    """Return what there is to say of the classes held out."""
    summary, families = tables["summary"], tables["families"]
    recipes = summary["recipe"].astype(str).tolist()
    known, rejected = (shares(summary, f"{name}_rejected") for name in ("known", "unknown"))
    place = recipes.index(recipe)
    families = families[families["recipe"].astype(str) == recipe]
    tested = false_alarms is not None
    expected = float(numbers(summary["would_be_found"])[place])
    return {
        "records": f"{sum(sizes.values()):,}",
        "classes": len(sizes),
        "rejected": rejected[place],
        "known": known[place],
        "asked": None if false_alarms is None else _share(false_alarms),
        "strange": shares(summary, f"known_{AS['unknown']}")[place],
        "alone": shares(summary, f"known_{AS['no relative']}")[place],
        "errors": shares(summary, "known_error")[place],
        "auroc": cells(summary["auroc_mean"], ".3f")[place],
        "recipes": table_of(
            {
                "recipe": recipes,
                "known rejected": known,
                "errors of the others": shares(summary, "known_error"),
                "unknown rejected": rejected,
                "AUROC": cells(summary["auroc_mean"], ".3f"),
            },
            marked={place},
        ),
        "expected": None if math.isnan(expected) else percent(expected),
        "reasons": _reasons(summary.iloc[[place]]) if tested else None,
        "families": table_of(
            {
                "class": families["class"],
                "records": cells(families["records"], ",.0f"),
                "rejected": shares(families, "rejected"),
                **{
                    reason: map(percent, numbers(families[name]))
                    for reason, name in AS.items()
                    if tested
                },
                "most often taken for": families["taken_for"],
                "share": map(percent, numbers(families["taken_share"])),
            },
            text={0, 6 if tested else 3},
        ),
    }


def _reasons(own: pd.DataFrame) -> Table:
    """Return why a recipe rejects, the known and the unknown."""
    return table_of(
        {
            "reason": list(AS),
            **{
                side: [shares(own, f"{side}_{name}")[0] for name in AS.values()]
                for side in ("known", "unknown")
            },
        }
    )


def _share(share: float) -> str:
    return f"{100 * share:g} %"
