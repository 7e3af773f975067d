"""The classifiers of one fold, in one file."""

import os
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from kreinflow.artifacts import read_arrays, write_arrays
from kreinflow.errors import InputError
from kreinflow.models.classifier import LandmarkClassifier

FOLD_KIND = "kreinflow fold models 1"


def save_fold_models(
    path: str | os.PathLike[str], classifiers: Mapping[str, LandmarkClassifier]
) -> None:
    """Write the classifiers of one fold, by the names of their recipes."""
    headers: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for name, classifier in classifiers.items():
        headers[name], parts = classifier.to_parts()
        arrays |= {f"{name}/{key}": array for key, array in parts.items()}
    write_arrays(path, FOLD_KIND, {"recipes": headers}, arrays)


def load_fold_model(path: str | os.PathLike[str], recipe: str) -> LandmarkClassifier:
    """Read the classifier of one recipe from a file of :func:`save_fold_models`."""
    header, arrays = read_arrays(path, FOLD_KIND)
    if recipe not in header["recipes"]:
        raise InputError(f"{path}: holds no recipe {recipe!r}. Run the workflow again.")
    parts = {
        key.removeprefix(f"{recipe}/"): array
        for key, array in arrays.items()
        if key.startswith(f"{recipe}/")
    }
    return LandmarkClassifier.from_parts(header["recipes"][recipe], parts, str(path))
