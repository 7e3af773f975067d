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

FOLD_KIND = "kreinflow fold models 1"


_HELD_OUT = "held_out"


def save_fold_models(
    path: str | os.PathLike[str],
    classifiers: Mapping[str, LandmarkClassifier],
    held_out: Mapping[str, IntArray],
) -> None:
    """Write the classifiers of one fold, by the names of their recipes.

    ``held_out``: see :class:`~kreinflow.fitting.training.Trained`.
    """
    headers: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for name, classifier in classifiers.items():
        headers[name], parts = classifier.to_parts()
        arrays |= {f"{name}/{key}": array for key, array in parts.items()}
        small = np.min_scalar_type(-len(classifier.classes))
        arrays[f"{name}/{_HELD_OUT}"] = held_out[name].astype(small)
    write_arrays(path, FOLD_KIND, {"recipes": headers}, arrays)


def load_fold_model(path: str | os.PathLike[str], recipe: str) -> LandmarkClassifier:
    """Read the classifier of one recipe from a file of :func:`save_fold_models`."""
    header, parts = _read(path, recipe)
    with refusing_damage(path, "Delete it and run again."):
        return LandmarkClassifier.from_parts(header, parts)


def load_held_out(path: str | os.PathLike[str], recipe: str) -> IntArray:
    """Read what a recipe says of the records that inner folds hold out.

    See :class:`~kreinflow.fitting.training.Trained`.
    """
    _, parts = _read(path, recipe)
    return parts[_HELD_OUT].astype(np.int64)


def _read(
    path: str | os.PathLike[str], recipe: str
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    header, arrays = read_arrays(path, FOLD_KIND)
    if recipe not in header["recipes"]:
        raise InputError(f"{path}: holds no recipe {recipe!r}. Run the workflow again.")
    return header["recipes"][recipe], starting_with(f"{recipe}/", arrays)
