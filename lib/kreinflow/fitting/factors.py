"""The Krein factors that the recipes of one fold and one set of landmarks share.

Nothing here looks at a record outside the training part of the fold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.krein.correction import CorrectedFactor, embed
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.factor import KreinFactor, Rank
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, factor_of, landmark_kernel


def factor_key(transform: str, rank: object) -> tuple[str, str]:
    """Return what tells a factor from others of its fold and landmarks.

    Rank 1 keeps one eigenvalue and rank 1.0 all of them, so the rank is compared as text.

    Examples
    --------
    >>> factor_key("log", 1) == factor_key("log", 1.0)
    False
    """
    return transform, str(rank)


@dataclass(frozen=True, eq=False)
class FactorEntry:
    """A Krein factor of one transform and rank, its eigenpairs, and its corrections."""

    transform: ScoreTransform
    rank: Rank
    factor: KreinFactor
    pairs: Eigenpairs
    corrected: dict[str, CorrectedFactor]

    @property
    def key(self) -> tuple[str, str]:
        """See :func:`factor_key`."""
        return factor_key(self.transform.name, self.rank)


def make_factors(
    landmarks: Landmarks,
    part: TrainingPart,
    transforms: Mapping[str, ScoreTransform],
    recipes: Sequence[Mapping[str, Any]],
) -> list[FactorEntry]:
    """Make the factor of each transform and rank that the recipes name, and its corrections."""
    wanted: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for recipe in recipes:
        if recipe.get("lift"):  # its kernel has a factor of its own
            continue
        wanted.setdefault(factor_key(recipe["transform"], recipe["rank"]), []).append(recipe)
    entries = []
    for (name, _), alike in wanted.items():
        rank = alike[0]["rank"]
        factor, pairs = factor_of(landmark_kernel(landmarks, part, transforms[name]), rank)
        corrections = dict.fromkeys(recipe["correction"] for recipe in alike)
        corrected = {method: embed(factor, pairs, method) for method in corrections}
        entries.append(FactorEntry(transforms[name], rank, factor, pairs, corrected))
    return entries


def embedding_of(entries: Sequence[FactorEntry], recipe: Mapping[str, Any]) -> CorrectedFactor:
    """Return the corrected factor of a recipe, among those that were made for several."""
    wanted = factor_key(recipe["transform"], recipe["rank"])
    (entry,) = (entry for entry in entries if entry.key == wanted)
    return entry.corrected[recipe["correction"]]
