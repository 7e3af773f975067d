"""The classifiers of one fold, in one file."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import IntArray
from kreinflow.files.arrays import read_arrays, write_arrays
from kreinflow.files.state import refusing_damage, starting_with
from kreinflow.fitting.training import Trained

FOLD_KIND = "kreinflow fold models 1"
_HELD_OUT = "held_out"


def save_fold_models(path: str | os.PathLike[str], trained: Mapping[str, Trained]) -> None:
    """Write what was trained in one fold, by the names of the recipes."""
    headers: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for name, of in trained.items():
        headers[name], parts = of.classifier.to_parts()
        smallest = np.min_scalar_type(-len(of.classifier.classes))
        parts = {**parts, _HELD_OUT: of.held_out.astype(smallest)}
        arrays |= {f"{name}/{key}": array for key, array in parts.items()}
    write_arrays(path, FOLD_KIND, {"recipes": headers}, arrays)


def load_fold_model(path: str | os.PathLike[str], recipe: str) -> LandmarkClassifier:
    """Read the classifier of one recipe from a file of :func:`save_fold_models`."""
    header, parts = _read(path, recipe)
    with refusing_damage(path, "Delete it and run again."):
        return LandmarkClassifier.from_parts(header, parts)


def load_held_out(path: str | os.PathLike[str], recipe: str) -> IntArray:
    """Read ``held_out`` of what :func:`save_fold_models` wrote of a recipe."""
    _, parts = _read(path, recipe)
    return parts[_HELD_OUT].astype(np.int64)


def _read(
    path: str | os.PathLike[str], recipe: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    header, arrays = read_arrays(path, FOLD_KIND)
    if recipe not in header["recipes"]:
        raise InputError(f"{path}: holds no recipe {recipe!r}. Run the workflow again.")
    return header["recipes"][recipe], starting_with(f"{recipe}/", arrays)
