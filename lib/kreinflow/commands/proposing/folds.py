"""Folds that fit a data set: near-identical sequences together, as many as the smallest class has.

Where classes are too small for that, they are left out, and the config says so. None is where
records of small classes are learned at the parent of their class: then the folds are five, or as
many as the largest class has, if these test enough of the records.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.base.random_streams import hash_keys
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import assign_folds, groups_of_classes, own_groups
from kreinflow.sequences.identity import identity
from kreinflow.sequences.payload import Sequences
from kreinflow.views.gapless import is_protein
from kreinflow.views.seeds import SeedIndex, Seeds

Groups = NDArray[np.int64]
"""Of each record the number of what it shares a fold with."""

IDENTITY = 0.9
FOLDS = 5

LOOKED, AMONG = 200, 100_000
"""Sequences whose nearest ones of other groups are looked for, and those they are looked for in."""

_BY_SEEDS, _ALIGNED = 200, 10  # of each: the first by seeds, and the first of other groups of these
_CELLS = 3_000_000_000  # of all these alignments, about
_FEWEST = 3
"""Folds below which small classes are rather left out."""

_LEFT_OUT = 0.2
"""Of the records, the share that may be left out as of small classes."""


@dataclass(frozen=True)
class FoldsFound:
    """Folds for a data set: the part ``folds`` of the config, and what it follows from.

    The class ``smallest`` has the ``fewest`` groups, or different records where there are no
    groups; smaller ones are ``left_out``. Of the ``distinct`` sequences ``alike`` are
    near-identical to another, None if the objects are no sequences. ``nearest``: of some sequences,
    see :func:`nearest_of_others`.
    """

    settings: dict[str, Any]
    min_class_size: int
    groups: Groups
    smallest: str
    fewest: int
    left_out: tuple[str, ...]
    alike: int | None
    distinct: int
    nearest: FloatArray


def propose_folds(load: Callable[[int], Dataset], seed: int) -> FoldsFound:
    """Propose folds, or raise an InputError if none fit the data set.

    ``load`` returns the data set without the classes that have fewer distinct objects than a
    number.
    """
    whole = load(2)
    ways, alike, nearest = {"stratified": (_apart, _apart(whole))}, None, np.empty(0)
    if isinstance(whole.payload, Sequences):
        own = _near_identical(whole)
        of_distinct = own[np.unique(whole.rows, return_index=True)[1]]
        _, counts = np.unique(of_distinct, return_counts=True)
        if alike := int(counts[counts > 1].sum()):
            ways = {"grouped": (_near_identical, own), **ways}
        nearest = nearest_of_others(whole.payload.residues, whole.digests, of_distinct, seed)
    refusal = InputError(
        "no two classes have two different records each, so nothing can be both learned and "
        "tested. Give more records."
    )
    for (method, (grouping, own)), fewest in itertools.product(ways.items(), (_FEWEST, 2)):
        if (least := _least(whole, own, fewest)) is None:
            continue
        settings: dict[str, Any] = {"method": method}
        settings |= {"identity": IDENTITY} if method == "grouped" else {}
        try:
            dataset = whole if least == 2 else load(least)
            groups = own if dataset is whole else grouping(dataset)
            sizes = groups_of_classes(dataset, groups)
            most = sizes.min() if dataset.paths is None else sizes.max()
            settings["k"] = max(2, min(FOLDS, int(most)))
            complete = {"column": None, "repeats": 1, **settings}
            assign_folds(complete, dataset, seed, Path(), groups=groups)  # or says why not
        except InputError as error:
            refusal = error
            continue
        smallest, fewest = dataset.classes[int(sizes.argmin())], int(sizes.min())
        left_out = tuple(sorted({*whole.classes} - {*dataset.classes}))
        distinct = len(whole.digests)
        told = left_out, alike, distinct, nearest
        return FoldsFound(settings, least, groups, smallest, fewest, *told)
    raise refusal


def nearest_of_others(
    residues: Sequence[bytes], digests: Sequence[str], groups: Groups, seed: int
) -> FloatArray:
    """Return the identities of some sequences with their nearest ones of other groups.

    :data:`LOOKED` are drawn by their digests, fewer of long ones. Of the first of other groups by
    seeds the most alike counts, by :func:`~kreinflow.sequences.identity.identity`; it is 0 if no
    seed is in another group. Those whose own group has all of the first are left out.
    ``residues``: distinct ones.
    """
    keys = hash_keys(seed, "nearest of other groups", digests)
    order = np.argsort(keys, kind="stable")[:AMONG]
    among, of = [residues[place] for place in order], groups[order]
    seeds, mean = Seeds.of(among), sum(map(len, among)) / len(among)
    asked = among[: max(1, min(LOOKED, int(_CELLS / (_ALIGNED * mean**2))))]
    nearest, _ = SeedIndex(seeds, among).nearest(asked, _BY_SEEDS)
    found, nucleotides = [], not is_protein(seeds.groups)
    for own, group, near in zip(asked, of, nearest, strict=False):
        others = near[(near >= 0) & (of[near] != group)][:_ALIGNED]
        if len(others) or (near < 0).any():
            found.append(max((identity(own, among[i], nucleotides) for i in others), default=0.0))
    return np.array(found)


def _apart(dataset: Dataset) -> Groups:
    return dataset.first_identical[dataset.rows]


def _near_identical(dataset: Dataset) -> Groups:
    settings = {"method": "grouped", "identity": IDENTITY, "clustering": "kmer"}
    return own_groups(settings, dataset)


def _least(dataset: Dataset, groups: Groups, fewest: int) -> int | None:
    """Return the smallest class that is kept so that each has so many groups.

    None if that leaves less than two classes, or leaves out too many records. Where these are
    learned at parents, all classes are kept, and those of a single group are not tested.
    """
    sizes = groups_of_classes(dataset, groups)
    distinct = groups_of_classes(dataset, _apart(dataset))
    if dataset.paths is None:
        least = 1 + int(distinct[sizes < fewest].max(initial=1))
        kept = distinct >= least
    else:
        least, kept = 2, sizes > 1
    enough = distinct[kept].sum() >= (1 - _LEFT_OUT) * distinct.sum()
    return least if kept.sum() > 1 and enough else None
