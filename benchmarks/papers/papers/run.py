"""One experiment, from its config to a table."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.config.configuration import complete_configuration
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds
from kreinflow.sequences.partition import partition_of
from kreinflow.sequences.payload import Matrix
from kreinflow.sequences.scores import open_scores
from kreinflow.sequences.sources.registry import make_source
from papers.cross_validation import Centring, cross_validate

REST = "rest"
"""The label of all classes but the first."""


def run_experiment(
    config: Mapping[str, Any],
    one_against_rest: bool,
    centring: Centring,
    data_folder: Path,
    seed: int,
    unit_columns: bool = False,
) -> pd.DataFrame:
    """Measure an experiment: see :func:`~papers.cross_validation.cross_validate`.

    The config has one data set that is a matrix, vectors, or generated; defaults need not be there.
    The seed is for generator, folds, selectors and learners.
    """
    whole = complete_configuration({**config, "seed": seed})
    (settings,) = whole["datasets"].values()
    dataset = make_source(settings["source"], data_folder).load(None, seed)
    if one_against_rest:
        dataset = first_against_rest(dataset)
    if unit_columns:
        dataset = with_unit_columns(dataset)
    folds = assign_folds(settings["folds"], dataset, seed, data_folder)
    return cross_validate(dataset, partition_of(folds, dataset), whole, centring)


def with_unit_columns(dataset: Dataset) -> Dataset:
    r"""Return the data set as an asymmetric matrix :math:`k_{ij}/\rho_j`, with columns of length 1.

    It is the normalised matrix of schleif2015epcvm, section II-F, and has all N x N entries. Its
    Nyström approximation is that of K divided by the same :math:`\rho`, and Ny-EPCVM divides by
    lengths itself: so its decisions are those over K, whatever objects :math:`\rho` is of.
    """
    rows = np.arange(len(dataset.digests))
    K = open_scores(dataset).rectangle(rows, rows)
    K /= np.sqrt(np.einsum("ij,ij->j", K, K))
    return replace(dataset, payload=Matrix(K, kind="asymmetric"))


def first_against_rest(dataset: Dataset) -> Dataset:
    """Return the data set with two classes: the first one, and :data:`REST`."""
    first = dataset.classes[0]
    classes = tuple(sorted((first, REST)))
    codes = np.where(dataset.labels == 0, classes.index(first), classes.index(REST))
    return replace(dataset, labels=codes, classes=classes)
