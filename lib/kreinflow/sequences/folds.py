"""Folds: stratified, grouped by identity, or the user's own table.

The fold of a sequence comes from a hash of its residues, so that added sequences leave almost all
others where they were.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.randomness import hash_keys
from kreinflow.sequences.dataset import Dataset, resolve
from kreinflow.sequences.files import first_few
from kreinflow.sequences.labels import read_pairs

TRAIN = "train"
"""Fold of the user's table that is never tested."""


def count_folds(settings: Mapping[str, Any], data_folder: Path) -> list[tuple[int, int]]:
    """Return (repeat, fold) of each fold that will be tested, without reading sequences.

    Parameters
    ----------
    settings : mapping
        The part ``folds`` of a data set's configuration.
    data_folder : Path
        Where a relative path of the user's table starts.

    Raises
    ------
    InputError
        If the user's table is at fault.
    """
    if settings["method"] == "table":
        return [(0, fold) for fold in range(len(_read_table(settings, data_folder)[1]))]
    return [(r, fold) for r in range(settings["repeats"]) for fold in range(settings["k"])]


def assign_folds(
    settings: Mapping[str, Any], dataset: Dataset, seed: int, data_folder: Path
) -> pd.DataFrame:
    """Return the fold of each record.

    Units of the assignment are groups: records of one sequence and, with the method ``grouped``,
    clusters of near-identical sequences. Each unit counts as one in the class of most of its
    records. Its home is hash(seed, repeat, digest) mod k; units beyond a fold's share of the class
    move on to the next fold with room, so that folds of a class differ by one unit at most.

    Parameters
    ----------
    settings : mapping
        The part ``folds`` of a data set's configuration.
    dataset : Dataset
    seed : int
    data_folder : Path
        Where a relative path of the user's table starts.

    Returns
    -------
    DataFrame
        Columns id, group, repeat and fold; one line for each record and repeat. Fold -1 is never
        tested.

    Raises
    ------
    InputError
        If a class has fewer units than there are folds, or the user's table does not fit.
    """
    groups = dataset.rows
    if settings["method"] == "grouped":
        groups = _identity_groups(dataset, settings["identity"])
    if settings["method"] == "table":
        folds = [_table_folds(settings, dataset, data_folder)]
    else:
        folds = [
            _hashed_folds(dataset, groups, settings["k"], seed, repeat)
            for repeat in range(settings["repeats"])
        ]
    return pd.concat(
        [
            pd.DataFrame({"id": dataset.ids, "group": groups, "repeat": repeat, "fold": fold})
            for repeat, fold in enumerate(folds)
        ],
        ignore_index=True,
    )


def inner_folds(
    groups: NDArray[Any], labels: NDArray[np.integer], k: int, seed: int, *name: object
) -> NDArray[np.intp]:
    """Return folds inside a training part, by the scheme of :func:`assign_folds`.

    Parameters
    ----------
    groups : ndarray of shape (n,)
        Records of one group share a fold.
    labels : ndarray of shape (n,)
        Classes, as integers.
    k : int
        Folds wanted; fewer if a class has fewer units, but at least 2.
    seed : int
    *name : object
        What the folds are for, as in :func:`kreinflow.randomness.stream`.

    Returns
    -------
    ndarray of shape (n,)
        Folds from 0. A class with a single unit is in all training parts: its fold is -1.
    """
    units, unit_of = np.unique(groups, return_inverse=True)
    unit_label = _majority(unit_of, labels, len(units))
    keys = hash_keys(seed, _name("inner fold", *name), map(str, units))
    sizes = np.bincount(unit_label)
    several = sizes[sizes > 1]
    k = max(2, min(k, int(several.min()) if len(several) else k))
    unit_fold = np.full(len(units), -1, dtype=np.intp)
    for label in np.flatnonzero(sizes > 1):
        members = np.flatnonzero(unit_label == label)
        offset = int(hash_keys(seed, _name("inner offset", *name), [str(label)])[0] % k)
        unit_fold[members] = _spread(keys[members], k, offset)
    folds: NDArray[np.intp] = unit_fold[unit_of]
    return folds


def _name(*parts: object) -> str:
    return "\x1f".join(str(part) for part in parts)


def _majority(
    unit_of: NDArray[np.intp], labels: NDArray[np.integer], units: int
) -> NDArray[np.intp]:
    """Return the class of most records of each unit, the first of them on a tie."""
    counts = np.zeros((units, int(labels.max()) + 1 if len(labels) else 1), dtype=np.intp)
    np.add.at(counts, (unit_of, labels), 1)
    most: NDArray[np.intp] = counts.argmax(axis=1)
    return most


def _spread(keys: NDArray[np.uint64], k: int, offset: int) -> NDArray[np.intp]:
    """Return the folds of a class's units: key mod k, or the next fold with room.

    Folds get n // k units each, and n mod k of them, from ``offset`` on, one more. Units stay at
    home in the order of their keys while there is room; then the others are placed, in the same
    order. One unit more so changes one chain of the moved units at most.
    """
    n = len(keys)
    room = np.full(k, n // k)
    room[(offset + np.arange(n % k)) % k] += 1
    folds = np.full(n, -1, dtype=np.intp)
    order = np.argsort(keys, kind="stable")
    for unit in order:
        home = int(keys[unit] % np.uint64(k))
        if room[home]:
            folds[unit] = home
            room[home] -= 1
    for unit in order[folds[order] < 0]:
        start = int(keys[unit] // np.uint64(k) % np.uint64(k))
        fold = next((start + step) % k for step in range(k) if room[(start + step) % k])
        folds[unit] = fold
        room[fold] -= 1
    return folds


def _identity_groups(dataset: Dataset, threshold: float) -> NDArray[np.int64]:
    if dataset.sequences is None:
        raise InputError(
            "folds: a matrix has no sequences to group by identity. "
            "Use the method stratified, or a table."
        )
    from kreinflow.sequences.identity import identity_clusters  # loads parasail

    groups: NDArray[np.int64] = identity_clusters(dataset.sequences, threshold)[dataset.rows]
    return groups


def _hashed_folds(
    dataset: Dataset, groups: NDArray[np.int64], k: int, seed: int, repeat: int
) -> NDArray[np.intp]:
    units, first, unit_of = np.unique(groups, return_index=True, return_inverse=True)
    unit_label = _majority(unit_of, dataset.labels, len(units))
    # The smallest digest of a group stands for it: few added members change that.
    digests = [dataset.digests[row] for row in dataset.rows[first]]
    for record, unit in enumerate(unit_of):
        digests[unit] = min(digests[unit], dataset.digests[dataset.rows[record]])
    keys = hash_keys(seed, _name("fold", repeat), digests)
    unit_fold = np.empty(len(units), dtype=np.intp)
    for code, label in enumerate(dataset.classes):
        members = np.flatnonzero(unit_label == code)
        if len(members) < k:
            raise InputError(
                f"folds: class {label!r} has {len(members)} groups of sequences that must share "
                f"a fold, fewer than k = {k} folds. Set 'folds.k' to {max(2, len(members))} or "
                f"less, or 'min_class_size' to more than {len(members)} to drop such classes."
            )
        offset = int(hash_keys(seed, _name("fold offset", repeat), [label])[0] % k)
        unit_fold[members] = _spread(keys[members], k, offset)
    folds: NDArray[np.intp] = unit_fold[unit_of]
    return folds


def _read_table(
    settings: Mapping[str, Any], data_folder: Path
) -> tuple[dict[str, str], dict[str, int]]:
    """Return the fold's name of each id, and the numbers of the folds by name."""
    path = resolve(settings["table"], data_folder)
    folds = read_pairs(path, "id", "fold")
    names = sorted(set(folds.values()) - {TRAIN})
    if not names:
        raise InputError(f"{path}: all folds are {TRAIN!r}; name at least one to be tested.")
    if len(names) == 1 and TRAIN not in folds.values():
        raise InputError(
            f"{path}: all ids are in fold {names[0]!r}. Name at least two folds, or give the ids "
            f"that are trained on the fold {TRAIN!r}."
        )
    if all(name.isdecimal() for name in names):
        names.sort(key=int)
    return folds, {name: number for number, name in enumerate(names)}


def _table_folds(
    settings: Mapping[str, Any], dataset: Dataset, data_folder: Path
) -> NDArray[np.intp]:
    path = resolve(settings["table"], data_folder)
    table, numbers = _read_table(settings, data_folder)
    missing = [id for id in dataset.ids if id not in table]
    if missing:
        raise InputError(
            f"{path}: no fold for {len(missing)} of {len(dataset.ids)} ids: {first_few(missing)}. "
            f"Add them (fold {TRAIN!r}: never tested)."
        )
    known = {*dataset.ids, *dataset.dropped}
    unknown = [id for id in table if id not in known]
    if unknown:
        raise InputError(
            f"{path}: {len(unknown)} ids are not in the data: {first_few(unknown)}. "
            "Remove these lines, or add the sequences."
        )
    folds = np.array([numbers.get(table[id], -1) for id in dataset.ids], dtype=np.intp)
    first: dict[int, int] = {}
    for record, row in enumerate(dataset.rows.tolist()):
        other = first.setdefault(row, record)
        if folds[other] != folds[record]:
            raise InputError(
                f"{path}: {dataset.ids[other]!r} and {dataset.ids[record]!r} are the same "
                "sequence in different folds, so a test would meet what was trained on. "
                "Put them in one fold."
            )
    for name, number in numbers.items():
        tested = folds == number
        if not tested.any():
            raise InputError(f"{path}: none of the ids of fold {name!r} is left in the data.")
        absent = sorted(set(range(len(dataset.classes))) - set(dataset.labels[~tested].tolist()))
        if absent:
            raise InputError(
                f"{path}: all of class {dataset.classes[absent[0]]!r} is in fold {name!r}, so it "
                "cannot be learned there. Spread it over several folds."
            )
    return folds
