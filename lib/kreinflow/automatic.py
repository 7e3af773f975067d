"""The comparison that is made when a config names no recipes: what ``auto`` stands for.

Everything is chosen by the inner folds, as between any recipes. A few score transforms and
learners share three sets of landmarks, each of which holds the one before; what was never ahead on
simulated families is not among them (``docs/own-fasta.md`` has the figures).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kreinflow.learners.registry import make_learner

CANDIDATES = 30
"""Members of a class that the others are aligned with to choose landmarks by."""

SHARE = 0.9
"""Part of the alignments that is for landmarks; what is left is for the candidates."""

LANDMARKS: Mapping[str, Mapping[str, float]] = {
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

LIFTED = "lifted"
"""SF-LSM on a Gaussian kernel of the scores and the views together."""


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
        schleif2015epcvm: other ways need a symmetric kernel.
    words : tuple of int
        Lengths of the words that lifted recipes look at.
    vectors : bool
        Whether they look at vectors of the user's.
    """

    prefix: str
    selection: str
    transforms: tuple[str, ...]
    symmetric: bool = True
    words: tuple[int, ...] = ()
    vectors: bool = False


WORDS = (1, 2, 3)
SEQUENCES = Kind("", "log", ("log", "sqrt", "normalised", "evalue"), words=WORDS)
OWN_MATRIX = Kind("own-", "log", ("log", "sqrt", "normalised"), words=WORDS)
"""Some substitution matrices of users' own have no expected values."""
NUCLEOTIDES = Kind("nucleotide-", *SEQUENCES[1:3], words=(1, 2, 3, 4))
"""Four letters make few words, so longer ones are looked at too."""
GLOBAL = Kind("global-", "normalised", ("normalised",), words=WORDS)
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
        What the alignments of a data set are kept within; see :data:`SHARE`.

    Returns
    -------
    dict
        With the keys selectors, learners and recipes.
    """
    selectors: dict[str, Any] = {}
    recipes: list[dict[str, Any]] = []
    paid = {"alignments": int(SHARE * alignments)}
    for kind in dict.fromkeys(kinds):
        chosen = {"transform": kind.selection, "candidates": CANDIDATES}
        way = {"method": "kmeans++", **chosen} if kind.symmetric else {"method": "uniform"}
        for name, budget in LANDMARKS.items():
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


def _recipes(kind: Kind) -> list[dict[str, Any]]:
    first, *others = kind.transforms
    lines = [
        *((first, "few", how) for how in (LIFTED, "sf-lsm")),
        *((first, "some", how) for how in (LIFTED, "sf-lsm")),
        *(("evalue", "some", LIFTED) for other in others if other == "evalue"),
        (first, "many", LIFTED),
        *((transform, "many", "sf-lsm") for transform in kind.transforms),
        ("normalised" if "normalised" in others else first, "many", "nearest"),
    ]
    views = {"words": list(kind.words) or None, "vectors": kind.vectors}
    wanted = {name: view for name, view in views.items() if view}
    return [
        {
            "name": kind.prefix + "-".join((selector, transform, how)),
            "transform": transform,
            "selector": f"{kind.prefix}{selector}",
            "correction": "none",
            **(
                {"learner": "sf-lsm", "views": wanted, "lift": {"kernel": "gaussian"}}
                if how == LIFTED
                else {"learner": how}
            ),
        }
        for transform, selector, how in lines
    ]
