"""The comparison that is made when a config names no recipes: what ``auto`` stands for.

Everything is chosen by the inner folds, as between any recipes. A few score transforms,
corrections and learners share three sets of landmarks; what was never ahead on simulated families
is not among them (``docs/own-fasta.md`` has the figures).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kreinflow.learners.registry import make_learner

CANDIDATES = 30
"""Members of a class that the others are aligned with to choose landmarks by."""

SHARES = {"few": 0.2, "some": 0.2, "many": 0.5}
"""Parts of the alignments for each set of landmarks; what is left is for the candidates."""

INNER_FOLDS = 5
"""With 3, a fit lacks a third of the records, and of the landmarks where these are records too:
what is best then is not always what is best with all of them."""

PREFER = "cheap"
"""With many landmarks a query costs thousands of alignments, which must be worth it."""

LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "ikfd": {"method": "ny_ikfd", "scatter": "pooled", "bias": "least_squares", "ridge": "inner"},
    "sf-lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"},
    "svc": {"method": "linear_svc"},
    "nearest": {"method": "nearest_landmark"},
}
"""SF-LSM gives each class the same weight: with that of its records small classes are lost."""


class Kind(NamedTuple):
    """What may be done to the scores of a data set.

    Parameters
    ----------
    prefix : str
        Of the names of its selectors and recipes.
    selection : str
        The transform that landmarks are chosen by.
    transforms : tuple of str
        Those that are compared, the one that is compared most first.
    symmetric : bool
        Whether scores have no direction. If they have one, landmarks are drawn uniformly, as in
        schleif2015epcvm, and eigenvalues are not corrected: other ways need a symmetric kernel.
    """

    prefix: str
    selection: str
    transforms: tuple[str, ...]
    symmetric: bool = True


SEQUENCES = Kind("", "log", ("log", "sqrt", "normalised"))
GLOBAL = Kind("global-", "normalised", ("normalised",))
"""Scores of global and semiglobal alignments can be negative, which others do not take."""
GIVEN = Kind("given-", "raw", ("raw",))
"""A matrix, or a kernel of vectors."""
ASYMMETRIC = Kind("asymmetric-", "raw", ("raw",), symmetric=False)
"""A matrix whose scores have a direction."""


def comparison(kinds: Iterable[Kind], alignments: int) -> dict[str, Any]:
    """Return selectors, learners and recipes as a config would name them.

    Parameters
    ----------
    kinds : iterable of Kind
        Those of the data sets.
    alignments : int
        What the alignments of a data set are kept within; see :data:`SHARES`.

    Returns
    -------
    dict
        With the keys selectors, learners and recipes.
    """
    selectors: dict[str, Any] = {}
    recipes: list[dict[str, str]] = []
    for kind in dict.fromkeys(kinds):
        budgets = {name: int(share * alignments) for name, share in SHARES.items()}
        chosen = {"transform": kind.selection, "candidates": CANDIDATES}
        clusters = {"method": "kmeans++", **chosen} if kind.symmetric else {"method": "uniform"}
        some = {"share": 0.25, "most": 500, "alignments": budgets["some"]}
        if kind.symmetric:
            selectors[f"{kind.prefix}few"] = {
                "method": "meb",
                **chosen,
                "budget": {"share": 0.25, "alignments": budgets["few"]},
                "grow": False,
            }
        selectors |= {
            f"{kind.prefix}some": {**clusters, "budget": some},
            f"{kind.prefix}many": {
                **clusters,
                "budget": {"most": 4000, "alignments": budgets["many"]},
            },
        }
        recipes += _recipes(kind)
    return {
        "selectors": selectors,
        "learners": {name: dict(settings) for name, settings in LEARNERS.items()},
        "recipes": recipes,
    }


def names(kind: Kind) -> list[str]:
    """Return the names of the recipes for data of a kind."""
    return [recipe["name"] for recipe in _recipes(kind)]


def fits(
    recipes: Sequence[Mapping[str, Any]], learners: Mapping[str, Mapping[str, Any]], inner: int
) -> int:
    """Return how often learners are fitted to one training part, calibration included.

    Each value of a hyper-parameter is fitted on each inner fold; the chosen one once more, on all.

    Parameters
    ----------
    recipes, learners
        As in the config.
    inner : int
        The number of inner folds.
    """
    values = [len(make_learner(learners[recipe["learner"]]).choices()) for recipe in recipes]
    return sum(inner * count + 1 for count in values)


def _recipes(kind: Kind) -> list[dict[str, str]]:
    first, *others = kind.transforms
    lines = [
        *((first, "few", "none", learner) for learner in ("ikfd", "sf-lsm", "svc")),
        *((first, "some", "none", learner) for learner in ("ikfd", "sf-lsm", "svc")),
        (first, "many", "none", "sf-lsm"),
        (first, "many", "none", "svc"),
        (first, "many", "clip", "ikfd"),
        *((other, "many", "none", "sf-lsm") for other in others),
        (kind.transforms[-1], "many", "none", "nearest"),
    ]
    if not kind.symmetric:
        lines = [line for line in lines if line[1] != "few" and line[2] == "none"]
    return [
        {
            "name": kind.prefix + "-".join((selector, transform, correction, learner)),
            "transform": transform,
            "selector": f"{kind.prefix}{selector}",
            "correction": correction,
            "learner": learner,
        }
        for transform, selector, correction, learner in lines
    ]
