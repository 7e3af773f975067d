"""Folds that fit a data set: near-identical sequences together, as many as the smallest class has.

Where classes are too small for that, they are left out, and the config says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import folds_of_groups, groups_of_classes, own_groups
from kreinflow.sequences.payload import Sequences

Groups = NDArray[np.int64]
"""Of each record the number of what it shares a fold with."""

IDENTITY = 0.9
FOLDS = 5
_FEWEST = 3
"""Folds below which small classes are rather left out."""

_LEFT_OUT = 0.2
"""Of the records, the share that may be left out as of small classes."""

MOST_COMPARED = 20_000
"""Distinct sequences up to which all are compared; of more a sample is."""


@dataclass(frozen=True)
class FoldsFound:
    """Folds for a data set.

    Parameters
    ----------
    settings : dict
        For the part ``folds`` of the config.
    min_class_size : int
    dataset : Dataset
        Without the classes that are smaller.
    folds : DataFrame
        As :func:`~kreinflow.sequences.folds.assign_folds` returns them; where a sample was
        compared, without groups of near-identical sequences.
    smallest : str
        The class that has the fewest groups, or different records where there are no groups.
    fewest : int
        How many it has.
    left_out : tuple of str
        Classes that are too small.
    alike : int or None
        How many of the distinct sequences, or of the sample, are near-identical to another; None
        if the objects are no sequences.
    compared : int
        Sequences that were compared for that.
    """

    settings: dict[str, Any]
    min_class_size: int
    dataset: Dataset
    folds: pd.DataFrame
    smallest: str
    fewest: int
    left_out: tuple[str, ...]
    alike: int | None
    compared: int


def propose_folds(load: Callable[[int], Dataset], seed: int) -> FoldsFound:
    """Propose folds.

    Parameters
    ----------
    load : callable
        Returns the data set without the classes that have fewer distinct objects than a number.
    seed : int
        Of the config.

    Raises
    ------
    InputError
        If no folds fit the data set.
    """
    whole = load(2)
    alike, compared = None, 0
    of_whole = {"stratified": whole.first_alike[whole.rows]}
    if isinstance(whole.payload, Sequences):
        groups, alike, compared = _compared(whole)
        if alike:
            of_whole = {"grouped": groups, **of_whole}
    refusal: InputError | None = None
    for method, groups in of_whole.items():
        for fewest in (_FEWEST, 2):
            if (least := _least(whole, groups, fewest)) is None:
                continue
            try:
                dataset, own = whole, groups
                if least > 2:
                    dataset = load(least)
                    apart = dataset.first_alike[dataset.rows]
                    own = _compared(dataset)[0] if method == "grouped" else apart
                return _found(whole, dataset, own, method, least, seed, alike, compared)
            except InputError as error:
                refusal = refusal or error
    raise refusal or InputError(
        "no two classes have two different records each, so nothing can be both learned and "
        "tested. Give more records."
    )


def _found(
    whole: Dataset,
    dataset: Dataset,
    groups: Groups,
    method: str,
    least: int,
    seed: int,
    alike: int | None,
    compared: int,
) -> FoldsFound:
    sizes = groups_of_classes(dataset, groups)
    k = max(2, min(FOLDS, int(sizes.min())))
    settings: dict[str, Any] = {"method": method, "k": k}
    if method == "grouped":
        settings["identity"] = IDENTITY
    folds = folds_of_groups(
        {"column": None, "repeats": 1, "identity": IDENTITY, **settings}, dataset, groups, seed
    )
    return FoldsFound(
        settings=settings,
        min_class_size=least,
        dataset=dataset,
        folds=folds,
        smallest=dataset.classes[int(sizes.argmin())],
        fewest=int(sizes.min()),
        left_out=tuple(sorted({*whole.classes} - {*dataset.classes})),
        alike=alike,
        compared=compared,
    )


def _compared(dataset: Dataset) -> tuple[Groups, int, int]:
    """Return the group of each record, the number of near-identical sequences, and of how many.

    Of many sequences a sample is compared, and each sequence is a group of its own.
    """
    n = len(dataset.digests)
    if n <= MOST_COMPARED:
        settings = {"method": "grouped", "identity": IDENTITY, "clustering": "kmer"}
        groups = own_groups(settings, dataset)
        _, first = np.unique(dataset.rows, return_index=True)
        return groups, _in_company(groups[first]), n
    from kreinflow.sequences.identity import identity_clusters, with_relatives  # loads parasail

    places = with_relatives(dataset.sequences, MOST_COMPARED)
    clusters = identity_clusters([dataset.sequences[place] for place in places], IDENTITY)
    return dataset.first_alike[dataset.rows], _in_company(clusters), len(places)


def _in_company(clusters: NDArray[np.signedinteger[Any]]) -> int:
    sizes = np.bincount(clusters)
    return int((sizes[clusters] > 1).sum())


def _least(dataset: Dataset, groups: Groups, fewest: int) -> int | None:
    """Return the smallest class that is kept so that each has so many groups.

    None if that leaves less than two classes, or leaves out too many records.
    """
    sizes = groups_of_classes(dataset, groups)
    distinct = groups_of_classes(dataset, dataset.first_alike[dataset.rows])
    least = 1 + int(distinct[sizes < fewest].max(initial=1))
    kept = distinct >= least
    enough = distinct[kept].sum() >= (1 - _LEFT_OUT) * distinct.sum()
    return least if kept.sum() > 1 and enough else None
