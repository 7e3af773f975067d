"""Budgets: how many landmarks an entry of the config means, and what they cost."""

import math
from collections.abc import Mapping
from typing import Any

ONE_EACH = 200
"""Classes that have a landmark each whatever the budget; of more, the largest have one."""

Budget = int | str | Mapping[str, float] | None

_COUNT: Mapping[str, Any] = {"type": "integer", "minimum": 1}
BUDGET: Mapping[str, Any] = {
    "description": "landmarks in all; or the name of a selector, to take as many as it did; or the "
    "smallest of what the keys rank, share and most say, but one of each class of up to "
    f"{ONE_EACH}, and in any case no more than the key alignments pays for",
    "type": ["integer", "string", "object"],
    "minimum": 2,
    "additionalProperties": False,
    "properties": {
        "rank": {**_COUNT, "description": "K of K ln n, for n distinct training objects"},
        "share": {
            "description": "share of the n distinct training objects",
            "type": "number",
            "exclusiveMinimum": 0,
            "maximum": 1,
        },
        "most": {**_COUNT, "minimum": 2, "description": "at most; all, if they are fewer"},
        "alignments": {
            **_COUNT,
            "description": "alignments of all objects with the landmarks of all folds and the "
            "final model, together at most; even if no two folds share a landmark. What pays for "
            "all pairs of objects sets no limit",
        },
    },
    "minProperties": 1,
}


def landmarks_wanted(
    budget: Budget,
    n: int,
    matched: int | None = None,
    classes: int = 1,
    objects: int = 1,
    parts: int = 1,
) -> int | None:
    """Return the landmarks that a budget means in a fold of n distinct training rows.

    The selector that it names has ``matched``. ``rank`` are the K ln n from which the one-shot
    Nyström method makes an approximation of rank K (oglic2019, section 3). None leaves it to the
    selector.
    """
    if isinstance(budget, str):
        return matched
    if not isinstance(budget, Mapping):
        return budget
    limits = [
        math.ceil(budget.get("rank", n) * math.log(n)),
        math.floor(budget.get("share", 1.0) * n),
        int(budget.get("most", n)),
    ]
    wanted = min(max(min(limits), min(classes, ONE_EACH)), n)
    if "alignments" in budget:
        wanted = min(wanted, paid_landmarks(int(budget["alignments"]), objects, parts))
    return wanted


def pairs_with(landmarks: int, objects: int) -> int:
    """Return the pairs of landmarks with all objects, each once."""
    return objects * landmarks - landmarks * (landmarks + 1) // 2


def paid_landmarks(alignments: int, objects: int, parts: int) -> int:
    """Return the landmarks that each training part may have, though no two parts share any."""
    if alignments >= pairs_with(objects, objects):
        return objects
    # The smaller root of u^2 - (2n - 1) u + 2 alignments = 0, rounded down.
    double = 2 * objects - 1
    root = math.isqrt(double**2 - 8 * alignments - 1) + 1
    return (double - root) // 2 // parts


def how_many(budget: Budget, unit: str) -> str:
    """Return a budget in words; ``unit`` is what is paid, "alignments" or "scores"."""
    if isinstance(budget, str):
        return f"as many as {budget} took"
    if not isinstance(budget, Mapping):
        return f"{budget} of them"
    words = {
        "rank": "{} ln n of n training objects",
        "share": "the share {} of the training objects",
        "most": "at most {:,}",
    }
    limits = [word.format(budget[key]) for key, word in words.items() if key in budget]
    if limits:
        limits.append(f"but one of each class of up to {ONE_EACH}")
    if "alignments" in budget:
        paid = f"{budget['alignments']:,} {unit} pay for in all folds together"
        limits.append(f"at most what {paid}")
    return ", ".join(limits)
