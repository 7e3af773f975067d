"""The factors of one fold as a file, and what tables say of them."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.files.arrays import read_arrays, write_arrays
from kreinflow.files.tables import read_measures
from kreinflow.fitting.factors import FactorEntry, factor_key
from kreinflow.krein.correction import CorrectedFactor, Correction, LandmarkCoordinates
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.factor import KreinFactor

KIND = "kreinflow factors 1"
FACTOR_COLUMNS = (
    *("transform", "rank_wanted", "landmarks", "rank", "misfit"),
    *("positive", "negative", "zero", "negative_fraction"),
)
"""Of :func:`factor_table`."""
SPECTRUM_COLUMNS = ("transform", "rank_wanted", "correction", "index", "eigenvalue")
"""Of :func:`spectrum_table`."""


def save_factors(path: str | os.PathLike[str], entries: Sequence[FactorEntry]) -> None:
    """Write what models are made of: the map and the eigenvalues of each corrected factor."""
    header: dict[str, Any] = {"factors": []}
    arrays: dict[str, NDArray[Any]] = {}
    for number, entry in enumerate(entries):
        header["factors"].append(
            {
                "transform": entry.transform.to_dict(),
                "rank": entry.rank,
                "misfits": {str(rank): value for rank, value in entry.factor.misfits.items()},
                "corrections": list(entry.corrected),
            }
        )
        for method, corrected in entry.corrected.items():
            arrays |= {
                f"{number}/{method}/matrix": corrected.matrix,
                f"{number}/{method}/offset": corrected.offset,
                f"{number}/{method}/signs": corrected.signs,
                f"{number}/{method}/eigenvalues": corrected.values,
            }
            if corrected.dual is not None:
                arrays[f"{number}/{method}/dual"] = corrected.dual
    write_arrays(path, KIND, header, arrays)


def load_embedding(
    path: str | os.PathLike[str],
    transform: str,
    rank: object,
    correction: Correction | LandmarkCoordinates,
) -> CorrectedFactor:
    """Read the corrected factor of one transform, rank and correction."""
    header, arrays = read_arrays(path, KIND)
    prefix = f"{_number(header, transform, rank)}/{correction}"
    if f"{prefix}/matrix" not in arrays:
        raise InputError(
            f"{path}: holds no factor of transform {transform}, rank {rank}, correction "
            f"{correction}. Delete it and run again."
        )
    return CorrectedFactor(
        arrays[f"{prefix}/matrix"],
        arrays[f"{prefix}/offset"],
        arrays[f"{prefix}/signs"],
        arrays[f"{prefix}/eigenvalues"],
        correction,
        dual=arrays.get(f"{prefix}/dual"),
    )


def _number(header: Mapping[str, Any], transform: str, rank: object) -> int | None:
    """Return the place of a factor in the file, None if it is not there."""
    wanted = factor_key(transform, rank)
    for number, entry in enumerate(header["factors"]):
        if factor_key(entry["transform"]["name"], entry["rank"]) == wanted:
            return number
    return None


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


def _names(entry: FactorEntry) -> dict[str, str]:
    return dict(zip(("transform", "rank_wanted"), entry.key, strict=True))


def factor_table(entries: Sequence[FactorEntry]) -> pd.DataFrame:
    """Return one row a factor: landmarks, rank, misfit, signature, negative eigen-fraction."""
    rows = [_names(entry) | factor_figures(entry.factor, entry.pairs) for entry in entries]
    return pd.DataFrame(rows, columns=list(FACTOR_COLUMNS))


def factor_figures(factor: KreinFactor, pairs: Eigenpairs) -> dict[str, Any]:
    """Return what a row of :func:`factor_table` says of a factor."""
    positive, negative, zero = pairs.signature
    return {
        "landmarks": factor.matrix.shape[0],
        "rank": factor.rank,
        "misfit": factor.misfit,
        "positive": positive,
        "negative": negative,
        "zero": zero,
        "negative_fraction": pairs.negative_fraction,
    }


def spectrum_table(entries: Sequence[FactorEntry]) -> pd.DataFrame:
    """Return one row an eigenvalue of K~, for each correction that a recipe uses.

    Correction ``none`` is always there: the spectrum as it is.
    """
    parts = [pd.DataFrame(columns=list(SPECTRUM_COLUMNS))]
    for entry in entries:
        spectra = {"none": entry.pairs.values}
        spectra |= {method: corrected.values for method, corrected in entry.corrected.items()}
        for method, values in spectra.items():
            parts.append(
                pd.DataFrame(
                    {
                        **_names(entry),
                        "correction": method,
                        "index": np.arange(1, len(values) + 1),
                        "eigenvalue": values,
                    }
                )
            )
    return pd.concat(parts[1:] or parts, ignore_index=True)
