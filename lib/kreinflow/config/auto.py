"""The comparison that is made when a config names no recipes: what ``auto`` stands for.

Everything is chosen by the inner folds, as between any recipes. A few recipes share sets of
landmarks, each of which holds the one before; what was never ahead on simulated families is not
among them (``docs/guide.md`` has the figures). Of sequences cascades over few landmarks are
tried beside more landmarks.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kreinflow.config.cross_references import LOSS

CANDIDATES = 30
"""Members of a class that the others are aligned with to choose landmarks by."""

SHARE = 0.9
"""Part of the alignments that is for landmarks; what is left is for the candidates."""

LANDMARKS: Mapping[str, Mapping[str, float]] = {
    "fewer": {"share": 0.05, "most": 60},
    "few": {"share": 0.1, "most": 120},
    "some": {"share": 0.25, "most": 500},
    "many": {"most": 4000},
}
"""The budgets of the sets. One method chooses them all, whose sets for smaller budgets are parts of
those for larger ones. So the alignments of the last set are those of all."""

INNER_FOLDS = 5
"""With 3, a fit lacks a third of the records, and of the landmarks where these are records too:
what is best then is not always what is best with all of them."""

PREFER = "cheap"
"""With many landmarks a query costs thousands of alignments, which must be worth it."""

LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "sf-lsm": {"method": "sf_lsm", "ridge": "inner", "weights": "classes"},
    "nearest": {"method": "nearest_landmark"},
}
"""SF-LSM gives each class the same weight: with that of its records small classes are lost. Neither
needs a factor, so no eigenvalues are computed."""

LIFTED, CASCADE = "lifted", "cascade"
"""SF-LSM on a Gaussian kernel of the scores and the views together, and a cascade above that."""


class Line(NamedTuple):
    """A recipe: a name of :data:`LANDMARKS`, how it learns, and its transform if not the kind's."""

    landmarks: str
    how: str
    transform: str = ""


OF_SEQUENCES = (
    Line("fewer", CASCADE),
    Line("few", LIFTED),
    Line("few", CASCADE),
    Line("some", LIFTED),
    Line("many", LIFTED),
    Line("many", "sf-lsm"),
    Line("many", "nearest", "normalised"),
)
"""What is tried where sequences are aligned."""

OF_OTHERS = (
    Line("few", LIFTED),
    Line("few", "sf-lsm"),
    Line("some", LIFTED),
    Line("some", "sf-lsm"),
    Line("many", LIFTED),
    Line("many", "sf-lsm"),
    Line("many", "nearest"),
)
"""What is tried elsewhere: nobody can be asked."""


OF_SEVERAL_LABELS = tuple(line for line in OF_OTHERS if line.how != "nearest")
"""What is tried where records may have several labels: neighbours and cascades give one."""


OF_OWN = tuple(line for line in OF_OTHERS if line.landmarks != "many")
"""What is tried where the user's own score is asked, which may take seconds: few landmarks."""


class Kind(NamedTuple):
    """What may be done to the scores of a data set.

    Landmarks are chosen by the ``transform`` that most recipes have too. If scores have a
    direction, landmarks are drawn uniformly, as in schleif2015epcvm: other ways need a symmetric
    kernel. Lifted recipes look at words of these lengths, and at the user's vectors if there are
    any.
    """

    prefix: str
    transform: str
    lines: tuple[Line, ...] = OF_SEQUENCES
    symmetric: bool = True
    words: tuple[int, ...] = ()
    vectors: bool = False


WORDS = (1, 2, 3)
SEQUENCES = Kind("", "log", words=WORDS)
NUCLEOTIDES = Kind("nucleotide-", "log", words=(1, 2, 3, 4))
"""Four letters make few words, so longer ones are looked at too."""
GLOBAL = Kind("global-", "normalised", words=WORDS)
"""Scores of global and semiglobal alignments can be negative, which others do not take."""
GIVEN = Kind("given-", "raw", OF_OTHERS)
"""A matrix, or a kernel of vectors."""
ASYMMETRIC = Kind("asymmetric-", "raw", OF_OTHERS, symmetric=False)
"""A matrix whose scores have a direction."""


def comparison(kinds: Iterable[Kind], alignments: int) -> dict[str, Any]:
    """Return selectors, learners and recipes as a config would name them, within :data:`SHARE`."""
    selectors: dict[str, Any] = {}
    recipes: list[dict[str, Any]] = []
    paid = {"alignments": int(SHARE * alignments)}
    for kind in dict.fromkeys(kinds):
        chosen = {"transform": kind.transform, "candidates": CANDIDATES}
        way = {"method": "kmeans++", **chosen} if kind.symmetric else {"method": "uniform"}
        wanted = {line.landmarks for line in kind.lines}
        for name, budget in LANDMARKS.items():
            if name in wanted:
                selectors[kind.prefix + name] = {**way, "budget": {**budget, **paid}}
        recipes += _recipes(kind)
    return {
        "selectors": selectors,
        "learners": {name: dict(settings) for name, settings in LEARNERS.items()},
        "recipes": recipes,
    }


def names(kind: Kind) -> list[str]:
    """Return the names of the recipes for data of a kind."""
    return [recipe["name"] for recipe in _recipes(kind)]


def _recipes(kind: Kind) -> list[dict[str, Any]]:
    views = {"words": list(kind.words) or None, "vectors": kind.vectors}
    lifted = {
        "learner": "sf-lsm",
        "views": {name: view for name, view in views.items() if view},
        "lift": {"kernel": "gaussian"},
    }
    made = {LIFTED: lifted, CASCADE: {**lifted, "cascade": {"loss": LOSS}}}
    recipes = []
    for landmarks, how, wanted in kind.lines:
        transform = wanted or kind.transform
        recipes.append(
            {
                "name": kind.prefix + "-".join((landmarks, transform, how)),
                "transform": transform,
                "selector": f"{kind.prefix}{landmarks}",
                "correction": "none",
                **made.get(how, {"learner": how}),
            }
        )
    return recipes
