"""Folds: stratified, grouped by identity or by a column, or the user's own table.

The fold of a sequence comes from a hash of its residues, so that added sequences leave almost all
others where they were.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.late import pandas as pd
from kreinflow.base.random_streams import hash_keys
from kreinflow.sequences.dataset import ORGANISM, Dataset
from kreinflow.sequences.headers import known_by
from kreinflow.sequences.labels import check_matched, differ_in_case, read_pairs
from kreinflow.sequences.mmseqs import find_mmseqs, mmseqs_clusters, mmseqs_version
from kreinflow.sequences.stratification import iterative_stratification, spread
from kreinflow.sequences.user_tables import check_columns, read_columns

TRAIN = "train"
"""Fold of the user's table that is never tested."""


def count_folds(settings: Mapping[str, Any], data_folder: Path) -> list[tuple[int, int]]:
    """Return (repeat, fold) of each fold that will be tested, without reading sequences.

    ``settings`` is the part ``folds`` of a data set. An InputError says what is wrong with its
    table.
    """
    if settings["method"] == "table":
        return [(0, fold) for fold in range(len(_read_table(settings, data_folder)[1]))]
    return [(r, fold) for r in range(settings["repeats"]) for fold in range(settings["k"])]


def check_groups(settings: Mapping[str, Any], source: Mapping[str, Any], data_folder: Path) -> None:
    """Refuse groups that cannot be made, as a column or a program is missing."""
    if settings["method"] != "grouped":
        return
    column, table = settings["column"], source.get("labels", {}).get("table")
    if column is None and settings["clustering"] == "mmseqs":
        find_mmseqs()
    if column is not None and table and column not in ORGANISM:
        check_columns(data_folder / table, source["labels"]["id_column"], column)


def assign_folds(
    settings: Mapping[str, Any],
    dataset: Dataset,
    seed: int,
    data_folder: Path,
    source: Mapping[str, Any] | None = None,
    groups: NDArray[np.int64] | None = None,
) -> pd.DataFrame:
    """Return the fold of each record.

    Units of the assignment are groups: records of one sequence and, with the method ``grouped``,
    clusters of near-identical sequences, or records with one value in a column. Values whose
    records share a sequence are one group, however long the chain. Each unit counts as one in the
    class of most of its records. Its home is hash(seed, repeat, digest) mod k; units beyond a
    fold's share of the class move on to the next fold with room, so that folds of a class differ
    by one unit at most. Units of records with several labels count in each class that one of their
    records has, and are given out by
    :func:`~kreinflow.sequences.stratification.iterative_stratification`. Groups by a column hold
    several classes each: they are given out from the largest to the smallest, each to the fold
    where it leaves the shares of the classes most even.

    The table of labels in the ``source`` of the configuration may have the column; ``groups`` are
    those of :func:`own_groups`, if they are there already. The result has the columns id, group,
    repeat and fold, and a line for each record and repeat; fold -1 is never tested. An InputError
    says that a class has too few units, the user's table does not fit, or a fold would have nothing
    to learn a class from.

    Where records of small classes are learned at their parents (the data set has ``paths``), one
    class with k units is enough. A class with fewer is in fewer folds, and units with all records
    of a class are never tested.
    """
    k, by_column = settings["k"], settings["method"] == "grouped" and settings["column"] is not None
    place, advice = "folds", "Lower 'folds.k'"
    if by_column:
        groups = _column_groups(dataset, settings["column"], source or {}, data_folder)
        place, advice = "folds.column", "Take another column"
    elif groups is None:
        groups = own_groups(settings, dataset)
    if settings["method"] == "table":
        folds = [_table_folds(settings, dataset, data_folder)]
        place, advice = str(data_folder / settings["table"]), "Spread them over several folds"
    else:
        if not by_column:
            _refuse_few_groups(dataset, groups, settings)
        assign = _balanced_folds if by_column else _hashed_folds
        folds = [assign(dataset, groups, k, seed, r) for r in range(settings["repeats"])]
        if dataset.paths is not None:
            folds = [always_learned(dataset.labels, groups, repeat) for repeat in folds]
            _refuse_nothing_to_test(folds, k)
    for repeat in folds:
        _refuse_unlearnable(dataset, repeat, place, advice)
    return pd.concat(
        [
            pd.DataFrame({"id": dataset.ids, "group": groups, "repeat": repeat, "fold": fold})
            for repeat, fold in enumerate(folds)
        ],
        ignore_index=True,
    )


def own_groups(settings: Mapping[str, Any], dataset: Dataset) -> NDArray[np.int64]:
    """Return the group of each record by its object: identical, or near-identical ones."""
    if settings["method"] != "grouped":
        return dataset.first_identical[dataset.rows]
    if settings["clustering"] == "mmseqs":
        clusters = mmseqs_clusters(dataset.sequences, settings["identity"])
    else:
        from kreinflow.sequences.identity import identity_clusters  # compiles, loads parasail

        clusters = identity_clusters(dataset.sequences, settings["identity"])
    groups: NDArray[np.int64] = clusters[dataset.rows]
    return groups


def fold_summary(settings: Mapping[str, Any], folds: pd.DataFrame) -> dict[str, Any]:
    """Return how the groups were made and how many there are, of how many records at most."""
    sizes = folds[folds["repeat"] == 0].groupby("group").size()
    summary = {"method": settings["method"], "groups": len(sizes), "largest": int(sizes.max())}
    if never := int((folds["fold"] < 0).groupby(folds["id"]).all().sum()):
        summary["never_tested"] = never
    if settings["method"] != "grouped":
        return summary
    if settings["column"] is not None:
        return summary | {"column": settings["column"]}
    version = {"version": mmseqs_version()} if settings["clustering"] == "mmseqs" else {}
    return summary | {key: settings[key] for key in ("clustering", "identity")} | version


def inner_folds(
    groups: NDArray[Any],
    labels: NDArray[np.integer],
    k: int,
    seed: int,
    *name: object,
    memberships: NDArray[np.bool_] | None = None,
) -> NDArray[np.intp]:
    """Return folds inside a training part, by the scheme of :func:`assign_folds`.

    Records of one group share a fold. A class with fewer units than k is in as many folds, chosen
    by its random numbers, and is learned from whole in the others; one with a single unit is in all
    training parts: its fold is -1. There are fewer folds than k, but 2 at least, if no class has as
    many units. ``memberships`` (n, n_classes) stands for the ``labels`` (n,) of records with
    several; ``name`` is what the folds are for, as in
    :func:`kreinflow.base.random_streams.stream`.
    """
    units, unit_of = np.unique(groups, return_inverse=True)
    keys = hash_keys(seed, "\x1f".join(map(str, ("inner fold", *name))), map(str, units))
    has = _unit_labels(unit_of, labels, memberships)
    k = max(2, min(k, int(has.sum(axis=0).max(initial=0))))
    # From its least key, not its name: other labels for the same records change no fold.
    offsets = [int(keys[own].min() % k) if own.any() else 0 for own in has.T]
    return _spread(keys, has, k, offsets, several=memberships is not None)[unit_of]


def groups_of_classes(dataset: Dataset, groups: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return how many groups each class has, (n_classes,); see :func:`assign_folds`."""
    unit_of = np.unique(groups, return_inverse=True)[1]
    has = _unit_labels(unit_of, dataset.labels, dataset.memberships)
    return np.asarray(has.sum(axis=0), dtype=np.intp)


def _unit_labels(
    unit_of: NDArray[np.intp], labels: NDArray[np.integer], memberships: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Return the class of most records of each unit, the first on a tie, as (units, classes).

    With memberships a unit has the labels of all its records.
    """
    n = int(unit_of.max(initial=-1)) + 1
    if memberships is not None:
        has = np.zeros((n, memberships.shape[1]), dtype=np.bool_)
        np.logical_or.at(has, unit_of, memberships)
        return has
    counts = np.zeros((n, int(labels.max(initial=0)) + 1), dtype=np.intp)
    np.add.at(counts, (unit_of, labels), 1)
    most: NDArray[np.bool_] = np.arange(counts.shape[1]) == counts.argmax(axis=1)[:, None]
    return most


def _spread(
    keys: NDArray[np.uint64],
    has: NDArray[np.bool_],
    k: int,
    offsets: Sequence[int],
    several: bool,
) -> NDArray[np.intp]:
    """Return the folds of units with a label each, or several; -1 of the only one of a label."""
    folds, counts = np.full(len(keys), -1, dtype=np.intp), has.sum(axis=0)
    if several:
        tested = ~has[:, counts == 1].any(axis=1)
        folds[tested] = iterative_stratification(keys[tested], has[tested], k)
        return folds
    for code in np.flatnonzero(counts > 1).tolist():
        own = has[:, code]
        folds[own] = spread(keys[own], k, offsets[code])
    return folds


def _column_groups(
    dataset: Dataset, column: str, source: Mapping[str, Any], data_folder: Path
) -> NDArray[np.int64]:
    """Return groups by a column: the connected components of its values and the distinct rows."""
    values = _column(dataset, column, source, data_folder)
    n = len(dataset.digests)
    ends = dataset.first_identical[dataset.rows], n + np.unique(values, return_inverse=True)[1]
    size = int(ends[1].max()) + 1
    of_node = scipy.sparse.csgraph.connected_components(
        scipy.sparse.coo_array((np.ones(len(values)), ends), (size, size))
    )[1]
    smallest = np.full(size, n, dtype=np.int64)
    np.minimum.at(smallest, of_node[:n], np.arange(n))
    groups: NDArray[np.int64] = smallest[of_node[dataset.rows]]
    return groups


def _column(
    dataset: Dataset, column: str, source: Mapping[str, Any], data_folder: Path
) -> Sequence[str]:
    if column in dataset.organisms:
        return dataset.organisms[column]
    way = source.get("labels", {})
    if not way.get("table"):
        why = f"known are {', '.join(dataset.organisms)}" if dataset.organisms else "there is none"
        also = " (not all headers have OS= and OX=)" if column in ORGANISM else ""
        raise InputError(
            f"folds.column: {column!r} is no column of the input{also}; {why}. "
            "Give the labels in a table that has the column."
        )
    path, id_column = data_folder / way["table"], way["id_column"]
    values: dict[str, str] = {}
    for line, id, value in read_columns(path, (id_column, column)):
        if values.setdefault(id, value) != value:
            raise InputError(
                f"{path}, line {line}: the column {column!r} of {id!r} is {value!r}, and "
                f"{values[id]!r} in a line before. Write the same in all lines of an id."
            )
    table = known_by(dataset.ids, values, str(path))
    return [table[id] for id in dataset.ids]


def _refuse_few_groups(
    dataset: Dataset, groups: NDArray[np.int64], settings: Mapping[str, Any]
) -> None:
    own, k, what = groups_of_classes(dataset, groups), settings["k"], "different records"
    few, code = np.count_nonzero(own < k), int(own.argmin())
    if dataset.paths is not None and few < len(own):
        return
    if settings["method"] == "grouped":
        what = f"groups of sequences that must share a fold (identity {settings['identity']:g})"
    if few:
        raise InputError(
            f"folds: {few} of {len(own)} classes have fewer {what} than k = {k} folds; "
            f"{dataset.classes[code]!r} has {own[code]}. Lower 'folds.k' (2 at least), or raise "
            "'folds.identity' of groups, or 'min_class_size' to have small classes dropped, or "
            "give more records."
        )


def always_learned(
    labels: NDArray[np.intp], groups: NDArray[np.int64], folds: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return folds that never test the groups of a class whose records are all in one fold."""
    apart = np.zeros(len(folds), dtype=np.bool_)
    order = np.argsort(labels, kind="stable")
    for own in np.split(order, np.cumsum(np.bincount(labels))[:-1]):
        if len(own) and np.unique(folds[own]).size == 1:  # no other fold would know the class
            apart |= np.isin(groups, groups[own])
    return np.where(apart, -1, folds)


def _refuse_nothing_to_test(folds: Sequence[NDArray[np.intp]], k: int) -> None:
    if any(len(np.unique(repeat[repeat >= 0])) < k for repeat in folds):
        raise InputError(
            f"folds: one of k = {k} folds would have nothing to test: the records of a class that "
            "are all in one group are always learned. Lower 'folds.k', raise 'folds.identity' of "
            "groups, or give more records."
        )


def _hashed_folds(
    dataset: Dataset, groups: NDArray[np.int64], k: int, seed: int, repeat: int
) -> NDArray[np.intp]:
    unit_of = np.unique(groups, return_inverse=True)[1]
    # The smallest digest of a group stands for it: few added members change that.
    digests = pd.Series(np.array(dataset.digests, dtype=object)[dataset.rows])
    keys = hash_keys(seed, f"fold\x1f{repeat}", digests.groupby(unit_of).min())
    has = _unit_labels(unit_of, dataset.labels, dataset.memberships)
    offsets = hash_keys(seed, f"fold offset\x1f{repeat}", dataset.classes) % np.uint64(k)
    several = dataset.memberships is not None
    return _spread(keys, has, k, offsets.astype(int).tolist(), several)[unit_of]


def _balanced_folds(
    dataset: Dataset, groups: NDArray[np.int64], k: int, seed: int, repeat: int
) -> NDArray[np.intp]:
    units, first, unit_of = np.unique(groups, return_index=True, return_inverse=True)
    if len(units) < k:
        raise InputError(
            f"folds.column: the records are in {len(units)} groups, fewer than k = {k} folds "
            "(values whose records share a sequence are one group). Lower 'folds.k', or take "
            "another column."
        )
    counts = np.zeros((len(units), len(dataset.classes)))
    if dataset.memberships is None:
        np.add.at(counts, (unit_of, dataset.labels), 1)
    else:
        np.add.at(counts, unit_of, dataset.memberships)
    shares = counts / counts.sum(axis=0)
    digests = [dataset.digests[dataset.rows[record]] for record in first]
    keys = hash_keys(seed, f"fold\x1f{repeat}", digests)
    of_fold, size = np.zeros((k, len(dataset.classes))), np.zeros(k)
    folds = np.empty(len(units), dtype=np.intp)
    for unit in np.lexsort((keys, -counts.sum(axis=1))):
        # The sum of squares of all shares grows by this; of equal folds, the smallest.
        growth = np.round((shares[unit] * (2 * of_fold + shares[unit])).sum(axis=1), 12)
        fold = int(np.lexsort((size, growth))[0])
        folds[unit] = fold
        of_fold[fold] += shares[unit]
        size[fold] += counts[unit].sum()
    return folds[unit_of]


def _refuse_unlearnable(dataset: Dataset, folds: NDArray[np.intp], place: str, advice: str) -> None:
    """Refuse folds whose training part has no records that have, or lack, a label."""
    for fold in np.unique(folds[folds >= 0]).tolist():
        trained, has = folds != fold, dataset.memberships
        if has is None:
            counts = np.bincount(dataset.labels[trained], minlength=len(dataset.classes))
        else:
            counts = has[trained].sum(axis=0)
        everywhere = (counts == trained.sum()) & (has is not None)
        for which, found in (("have", counts == 0), ("lack", everywhere)):
            if found.any():
                raise InputError(
                    f"{place}: all records that {which} the label "
                    f"{dataset.classes[found.argmax()]!r} are in one fold, so it cannot be both "
                    f"learned and tested. {advice}, or raise 'min_class_size' to have small "
                    "classes dropped, or give more records."
                )


def _read_table(
    settings: Mapping[str, Any], data_folder: Path
) -> tuple[dict[str, str], dict[str, int]]:
    """Return the fold's name of each id, and the numbers of the folds by name."""
    path = data_folder / settings["table"]
    folds = read_pairs(path, "id", "fold")
    for name, other in differ_in_case([TRAIN, *folds.values()]):
        raise InputError(
            f"{path}: the folds {name!r} and {other!r} differ in upper and lower case only. Write "
            f"them alike ({TRAIN!r}: never tested)."
        )
    names = sorted(set(folds.values()) - {TRAIN})
    if not names or (len(names) == 1 and TRAIN not in folds.values()):
        raise InputError(
            f"{path}: all ids are in fold {(names or [TRAIN])[0]!r}. Name at least two folds: one "
            f"to be tested, and others, or {TRAIN!r}, to learn from."
        )
    if all(name.isdecimal() and len(name) < 100 for name in names):  # Python limits the digits
        names.sort(key=int)
    return folds, {name: number for number, name in enumerate(names)}


def _table_folds(
    settings: Mapping[str, Any], dataset: Dataset, data_folder: Path
) -> NDArray[np.intp]:
    path = data_folder / settings["table"]
    table, numbers = _read_table(settings, data_folder)
    dropped = set(dataset.dropped).difference(dataset.ids)
    table = known_by([*dataset.ids, *dropped], table, str(path))
    table = {id: fold for id, fold in table.items() if id not in dropped}
    check_matched(dataset.ids, table, str(path), "record", may_drop=False, has="fold")
    folds = np.array([numbers.get(table[id], -1) for id in dataset.ids], dtype=np.intp)
    first = np.unique(dataset.rows, return_index=True)[1][dataset.rows]
    apart = np.flatnonzero(folds != folds[first])
    if len(apart):
        one, other = dataset.ids[first[apart[0]]], dataset.ids[apart[0]]
        raise InputError(
            f"{path}: {one!r} and {other!r} are the same sequence in different folds, so a test "
            "would meet what was trained on. Put them in one fold."
        )
    for name, number in numbers.items():
        if not (folds == number).any():
            raise InputError(f"{path}: none of the ids of fold {name!r} is left in the data.")
    return folds
