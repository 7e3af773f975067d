"""The Krein factors that the recipes of one fold and one set of landmarks share; their files."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.base.errors import InputError
from kreinflow.files.tables import read_measures
from kreinflow.krein.correction import CorrectedFactor, embed
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.factor import KreinFactor, Rank
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart, factor_of, landmark_kernel

FACTOR_COLUMNS = (
    *("transform", "rank_wanted", "landmarks", "rank", "misfit"),
    *("positive", "negative", "zero", "negative_fraction"),
)
"""Of :func:`factor_table`."""
SPECTRUM_COLUMNS = ("transform", "rank_wanted", "correction", "index", "eigenvalue")
"""Of :func:`spectrum_table`."""


def factor_key(transform: str, rank: object) -> tuple[str, str]:
    """Return what tells a factor from others: rank 1 keeps one eigenvalue, rank 1.0 all of them.

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
    def names(self) -> dict[str, str]:
        """The first columns of tables: see :func:`factor_key`."""
        transform, rank = factor_key(self.transform.name, self.rank)
        return {"transform": transform, "rank_wanted": rank}


def make_factors(
    landmarks: Landmarks,
    part: TrainingPart,
    transforms: Mapping[str, ScoreTransform],
    recipes: Sequence[Mapping[str, Any]],
) -> list[FactorEntry]:
    """Make the factor of each transform and rank that the recipes name, and its corrections."""
    wanted: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for recipe in recipes:
        if not recipe.get("lift"):  # its kernel has a factor of its own
            wanted.setdefault(factor_key(recipe["transform"], recipe["rank"]), []).append(recipe)
    entries = []
    for (name, _), alike in wanted.items():
        rank = alike[0]["rank"]
        factor, pairs = factor_of(landmark_kernel(landmarks, part, transforms[name]), rank)
        corrections = dict.fromkeys(recipe["correction"] for recipe in alike)
        corrected = {method: embed(factor, pairs, method) for method in corrections}
        entries.append(FactorEntry(transforms[name], rank, factor, pairs, corrected))
    return entries


def embedding_of(
    entries: Sequence[FactorEntry], recipe: Mapping[str, Any]
) -> CorrectedFactor | None:
    """Return the corrected factor of a recipe, None if none was made for it."""
    wanted = factor_key(recipe["transform"], recipe["rank"])
    found = (e for e in entries if factor_key(e.transform.name, e.rank) == wanted)
    return next((entry.corrected.get(recipe["correction"]) for entry in found), None)


def factor_row(path: str | os.PathLike[str], recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Read the row of :func:`factor_table` that a recipe uses."""
    wanted = factor_key(recipe["transform"], recipe["rank"])
    rows = read_measures(path, FACTOR_COLUMNS, FACTOR_COLUMNS[:2]).to_dict("records")
    found = [row for row in rows if (row["transform"], row["rank_wanted"]) == wanted]
    if len(found) != 1:
        raise InputError(
            f"{path}: has {len(found)} factors of transform {wanted[0]}, rank {wanted[1]}. "
            "Delete it and run again."
        )
    return {str(key): value for key, value in found[0].items()}


def factor_table(entries: Sequence[FactorEntry]) -> pd.DataFrame:
    """Return one row a factor: landmarks, rank, misfit, signature, negative eigen-fraction."""
    rows = [entry.names | factor_figures(entry.factor, entry.pairs) for entry in entries]
    return pd.DataFrame(rows, columns=list(FACTOR_COLUMNS))


def factor_figures(factor: KreinFactor, pairs: Eigenpairs) -> dict[str, Any]:
    """Return what a row of :func:`factor_table` says of a factor."""
    return {
        "landmarks": factor.matrix.shape[0],
        "rank": factor.rank,
        "misfit": factor.misfit,
        **dict(zip(("positive", "negative", "zero"), pairs.signature, strict=True)),
        "negative_fraction": pairs.negative_fraction,
    }


def spectrum_table(entries: Sequence[FactorEntry]) -> pd.DataFrame:
    """Return one row an eigenvalue of K~, as it is (``none``) and by each correction in use."""
    parts = [pd.DataFrame(columns=list(SPECTRUM_COLUMNS))]
    for entry in entries:
        spectra = {"none": entry.pairs.values}
        spectra |= {method: corrected.values for method, corrected in entry.corrected.items()}
        for method, values in spectra.items():
            own = {"correction": method, "index": range(1, len(values) + 1), "eigenvalue": values}
            parts.append(pd.DataFrame({**entry.names, **own}))
    return pd.concat(parts[1:] or parts, ignore_index=True)
