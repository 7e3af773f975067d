"""Folds: stratified, grouped by identity, or the user's own table.

The fold of a sequence comes from a hash of its residues, so that added sequences leave almost all
others where they were.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.random_streams import hash_keys
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.files import counted, first_few
from kreinflow.sequences.headers import known_by
from kreinflow.sequences.labels import check_columns, differ_in_case, read_columns, read_pairs
from kreinflow.sequences.mmseqs import find_mmseqs, mmseqs_clusters, mmseqs_version
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.stratification import iterative_stratification, spread

if TYPE_CHECKING:
    import pandas as pd

TRAIN = "train"
"""Fold of the user's table that is never tested."""

ORGANISM = ("taxonomy", "organism")
"""The columns that a UniProtKB flat file has, and UniProt's FASTA headers."""


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


def check_groups(settings: Mapping[str, Any], source: Mapping[str, Any], data_folder: Path) -> None:
    """Refuse groups that cannot be made: a column or a program that is missing.

    Raises
    ------
    InputError
    """
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
) -> "pd.DataFrame":
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

    Parameters
    ----------
    settings : mapping
        The part ``folds`` of a data set's configuration.
    dataset : Dataset
    seed : int
    data_folder : Path
        Where a relative path of the user's table starts.
    source : mapping, optional
        The part ``source`` of the configuration: its table of labels may have the column.
    groups : ndarray of shape (n_records,), optional
        What :func:`own_groups` returns, if it is there already.

    Returns
    -------
    DataFrame
        Columns id, group, repeat and fold; one line for each record and repeat. Fold -1 is never
        tested.

    Raises
    ------
    InputError
        If a class has fewer units than there are folds, or the user's table does not fit, or a
        fold would have nothing to learn a class from.
    """
    import pandas as pd  # slow to import

    grouped = settings["method"] == "grouped"
    by_column = grouped and settings["column"] is not None
    if by_column:
        groups = _column_groups(dataset, settings["column"], source or {}, data_folder)
    elif groups is None:
        groups = own_groups(settings, dataset)
    if settings["method"] == "table":
        folds = [_table_folds(settings, dataset, data_folder)]
    else:
        if grouped and not by_column:
            _refuse_few_groups(dataset, groups, settings["k"], settings["identity"])
        assign = _balanced_folds if by_column else _hashed_folds
        folds = [
            assign(dataset, groups, settings["k"], seed, repeat)
            for repeat in range(settings["repeats"])
        ]
    return pd.concat(
        [
            pd.DataFrame({"id": dataset.ids, "group": groups, "repeat": repeat, "fold": fold})
            for repeat, fold in enumerate(folds)
        ],
        ignore_index=True,
    )


def own_groups(settings: Mapping[str, Any], dataset: Dataset) -> NDArray[np.int64]:
    """Return the group of each record by its object: of identical, or of near-identical ones.

    Parameters
    ----------
    settings : mapping
        The part ``folds`` of a data set's configuration, whose groups are not by a column.
    dataset : Dataset
    """
    if settings["method"] == "grouped":
        return _identity_groups(dataset, settings["identity"], settings["clustering"])
    return dataset.first_identical[dataset.rows]


def fold_summary(settings: Mapping[str, Any], folds: "pd.DataFrame") -> dict[str, Any]:
    """Return how the groups were made and how many there are, of how many records at most."""
    sizes = folds[folds["repeat"] == 0].groupby("group").size()
    summary = {"method": settings["method"], "groups": len(sizes), "largest": int(sizes.max())}
    if settings["method"] == "grouped" and settings["column"] is not None:
        return summary | {"column": settings["column"]}
    if settings["method"] == "grouped":
        summary |= {"clustering": settings["clustering"], "identity": settings["identity"]}
        if settings["clustering"] == "mmseqs":
            summary["version"] = mmseqs_version()
    return summary


def inner_folds(
    groups: NDArray[Any],
    labels: NDArray[np.integer],
    k: int,
    seed: int,
    *name: object,
    memberships: NDArray[np.bool_] | None = None,
) -> NDArray[np.intp]:
    """Return folds inside a training part, by the scheme of :func:`assign_folds`.

    Parameters
    ----------
    groups : ndarray of shape (n,)
        Records of one group share a fold.
    labels : ndarray of shape (n,)
        Classes, as integers.
    k : int
        Folds wanted. A class with fewer units is in as many of them, chosen by its random
        numbers, and is learned from whole in the others; fewer if no class has as many, but at
        least 2.
    seed : int
    *name : object
        What the folds are for, as in :func:`kreinflow.base.random_streams.stream`.
    memberships : ndarray of shape (n, n_classes), optional
        Of records with several labels: which they have, in place of ``labels``.

    Returns
    -------
    ndarray of shape (n,)
        Folds from 0. A class with a single unit is in all training parts: its fold is -1.
    """
    units, unit_of = np.unique(groups, return_inverse=True)
    keys = hash_keys(seed, _name("inner fold", *name), map(str, units))
    if memberships is not None:
        several: NDArray[np.intp] = _inner_of_several(_labels_of(unit_of, memberships), keys, k)
        return several[unit_of]
    unit_label = _majority(unit_of, labels, len(units))
    sizes = np.bincount(unit_label)
    k = max(2, min(k, int(sizes.max())))
    unit_fold = np.full(len(units), -1, dtype=np.intp)
    for label in np.flatnonzero(sizes > 1):
        members = np.flatnonzero(unit_label == label)
        # From its least key, not from its name: other labels for the same records change no fold.
        unit_fold[members] = spread(keys[members], k, int(keys[members].min() % k))
    folds: NDArray[np.intp] = unit_fold[unit_of]
    return folds


def _inner_of_several(has: NDArray[np.bool_], keys: NDArray[np.uint64], k: int) -> NDArray[np.intp]:
    sizes = has.sum(axis=0)
    spread_out = ~has[:, sizes == 1].any(axis=1)
    folds = np.full(len(keys), -1, dtype=np.intp)
    k = max(2, min(k, int(sizes.max(initial=0))))
    folds[spread_out] = iterative_stratification(keys[spread_out], has[spread_out], k)
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


def _labels_of(unit_of: NDArray[np.intp], memberships: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which labels each unit has: those of its records together."""
    order = np.argsort(unit_of, kind="stable")
    starts = np.flatnonzero(np.diff(unit_of[order], prepend=-1))
    has: NDArray[np.bool_] = np.logical_or.reduceat(memberships[order], starts, axis=0)
    return has


def _identity_groups(dataset: Dataset, threshold: float, clustering: str) -> NDArray[np.int64]:
    if not isinstance(dataset.payload, Sequences):
        raise InputError(
            "folds: a matrix has no sequences to group by identity. "
            "Use the method stratified, or a table."
        )
    clusters: NDArray[np.intp]
    if clustering == "mmseqs":
        clusters = mmseqs_clusters(dataset.sequences, threshold)
    else:
        from kreinflow.sequences.identity import identity_clusters  # loads parasail

        clusters = identity_clusters(dataset.sequences, threshold)
    groups: NDArray[np.int64] = clusters[dataset.rows]
    return groups


def _column_groups(
    dataset: Dataset, column: str, source: Mapping[str, Any], data_folder: Path
) -> NDArray[np.int64]:
    """Return groups by a column: the connected components of its values and the distinct rows."""
    from scipy.sparse import coo_array  # slow to import
    from scipy.sparse.csgraph import connected_components

    values = _column(dataset, column, source, data_folder)
    n = len(dataset.digests)
    ends = dataset.first_identical[dataset.rows], n + np.unique(values, return_inverse=True)[1]
    size = int(ends[1].max()) + 1
    of_node = connected_components(coo_array((np.ones(len(values)), ends), (size, size)))[1]
    smallest = np.full(size, n, dtype=np.int64)
    np.minimum.at(smallest, of_node[:n], np.arange(n))
    groups: NDArray[np.int64] = smallest[of_node[dataset.rows]]
    return groups


def _column(
    dataset: Dataset, column: str, source: Mapping[str, Any], data_folder: Path
) -> Sequence[str]:
    """Return the value of each record: what the input says of its organism, or of the table."""
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
    path = data_folder / way["table"]
    read = read_pairs if dataset.memberships is None else _read_alike
    table = known_by(dataset.ids, read(path, way["id_column"], column), str(path))
    return [table[id] for id in dataset.ids]


def _read_alike(path: Path, id_column: str, column: str) -> dict[str, str]:
    """Return the value of each id in a table that may have several lines of an id, all alike."""
    values: dict[str, str] = {}
    for line, id, value in read_columns(path, (id_column, column)):
        if values.setdefault(id, value) != value:
            raise InputError(
                f"{path}, line {line}: the {column!r} of {id!r} is {value!r}, and {values[id]!r} "
                "in a line before. Write the same in all lines of an id."
            )
    return values


def groups_of_classes(dataset: Dataset, groups: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return how many groups each class has: those that most records of it, or any, make it have.

    Parameters
    ----------
    dataset : Dataset
        If its records may have several labels, a group has those of each of its records.
    groups : ndarray of shape (n_records,)

    Returns
    -------
    ndarray of shape (n_classes,)
    """
    units, unit_of = np.unique(groups, return_inverse=True)
    own: NDArray[np.intp]
    if dataset.memberships is None:
        labels = _majority(unit_of, dataset.labels, len(units))
        own = np.bincount(labels, minlength=len(dataset.classes))
    else:
        own = _labels_of(unit_of, dataset.memberships).sum(axis=0)
    return own


def _refuse_few_groups(
    dataset: Dataset, groups: NDArray[np.int64], k: int, identity: float
) -> None:
    """Refuse a class whose near-identical sequences are in too few groups for the folds."""
    own = groups_of_classes(dataset, groups)
    what = "most of it is of" if dataset.memberships is None else "any of it has"
    few = np.flatnonzero(own < k)
    if len(few):
        code = int(own.argmin())
        lower = f", lower 'folds.k' to {own[code]}" if own[code] >= 2 else ""
        raise InputError(
            f"folds: {len(few)} of {len(own)} classes have fewer groups of "
            f"sequences that must share a fold (identity {identity:g}) than k = {k} folds; "
            f"{dataset.classes[code]!r} has {own[code]} (a group counts for the class that {what})."
            f" Raise 'folds.identity'{lower}, or "
            f"{_to_drop(dataset, *(_records_of(dataset, code) for code in few.tolist()))}."
        )


def _records_of(dataset: Dataset, code: int) -> NDArray[np.bool_]:
    has = dataset.memberships
    own: NDArray[np.bool_] = dataset.labels == code if has is None else has[:, code]
    return own


def _to_drop(dataset: Dataset, *classes: NDArray[np.bool_]) -> str:
    """Return what to do so that the classes that have these records are dropped.

    If that leaves fewer than two classes, there is no data set: then to have more records.
    """
    has, every = dataset.memberships, len(dataset.digests)
    most = max(len(np.unique(dataset.rows[records])) for records in classes)
    own = (_records_of(dataset, code) for code in range(len(dataset.classes)))
    sizes = np.array([len(np.unique(dataset.rows[records])) for records in own])
    if has is not None:  # a label that too few lack is removed too
        sizes = np.minimum(sizes, every - sizes)
    if np.count_nonzero(sizes > most) >= 2:
        return (
            f"set 'min_class_size' to more than {most}, which drops "
            f"{'them' if len(classes) > 1 else 'it'} and all other classes as small"
        )
    if len(dataset.classes) - len(classes) < 2:
        return "give more records"
    if has is not None:
        return "leave the label out"
    return f"leave {'their' if len(classes) > 1 else 'its'} records out"


def _hashed_folds(
    dataset: Dataset, groups: NDArray[np.int64], k: int, seed: int, repeat: int
) -> NDArray[np.intp]:
    units, first, unit_of = np.unique(groups, return_index=True, return_inverse=True)
    # The smallest digest of a group stands for it: few added members change that.
    digests = [dataset.digests[row] for row in dataset.rows[first]]
    for record, unit in enumerate(unit_of):
        digests[unit] = min(digests[unit], dataset.digests[dataset.rows[record]])
    keys = hash_keys(seed, _name("fold", repeat), digests)
    if dataset.memberships is not None:
        has = _labels_of(unit_of, dataset.memberships)
        for label, size in zip(dataset.classes, has.sum(axis=0).tolist(), strict=True):
            _refuse_few(dataset, label, size, k)
        several = iterative_stratification(keys, has, k)[unit_of]
        _refuse_unlearnable(dataset, several, "folds", "Lower 'folds.k'")
        return several
    unit_label = _majority(unit_of, dataset.labels, len(units))
    unit_fold = np.empty(len(units), dtype=np.intp)
    for code, label in enumerate(dataset.classes):
        members = np.flatnonzero(unit_label == code)
        _refuse_few(dataset, label, len(members), k)
        offset = int(hash_keys(seed, _name("fold offset", repeat), [label])[0] % k)
        unit_fold[members] = spread(keys[members], k, offset)
    folds: NDArray[np.intp] = unit_fold[unit_of]
    return folds


def _refuse_few(dataset: Dataset, label: str, units: int, k: int) -> None:
    if units < k:
        advice = _to_drop(dataset, _records_of(dataset, dataset.classes.index(label)))
        if units > 1:
            advice = f"set 'folds.k' to {units} or less, or {advice}"
        raise InputError(
            f"folds: class {label!r} has {counted(units, 'different record')}, "
            f"fewer than k = {k} folds. {advice[0].upper()}{advice[1:]}."
        )


def _refuse_unlearnable(dataset: Dataset, folds: NDArray[np.intp], place: str, advice: str) -> None:
    """Refuse folds of records with several labels that leave too little to learn a label from.

    A training part needs records that have it and records that lack it.
    """
    if dataset.memberships is None:
        return
    for fold in np.unique(folds[folds >= 0]).tolist():
        trained = dataset.memberships[folds != fold]
        has = trained.sum(axis=0)
        for which, found in (("have", has == 0), ("lack", has == len(trained))):
            if found.any():
                code = int(found.argmax())
                own = dataset.memberships[:, code] == (which == "have")
                raise InputError(
                    f"{place}: all records that {which} the label {dataset.classes[code]!r} are "
                    f"in one fold, so it cannot be both learned and tested. {advice}, or "
                    f"{_to_drop(dataset, own)}."
                )


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
    lonely = np.flatnonzero((counts > 0).sum(axis=0) < 2)
    if len(lonely):
        raise InputError(
            f"folds.column: all of class {dataset.classes[lonely[0]]!r} is in one group, so it "
            "cannot be both learned and tested. "
            f"Take another column, or {_to_drop(dataset, _records_of(dataset, lonely[0]))}."
        )
    shares = counts / counts.sum(axis=0)
    digests = [dataset.digests[dataset.rows[record]] for record in first]
    keys = hash_keys(seed, _name("fold", repeat), digests)
    of_fold = np.zeros((k, len(dataset.classes)))
    size = np.zeros(k)
    unit_fold = np.empty(len(units), dtype=np.intp)
    for unit in np.lexsort((keys, -counts.sum(axis=1))):
        # The sum of squares of all shares grows by this; of equal folds, the smallest.
        growth = np.round((shares[unit] * (2 * of_fold + shares[unit])).sum(axis=1), 12)
        fold = int(np.lexsort((size, growth))[0])
        unit_fold[unit] = fold
        of_fold[fold] += shares[unit]
        size[fold] += counts[unit].sum()
    whole = np.argwhere(of_fold > 1 - 1e-9)
    if len(whole):
        raise InputError(
            f"folds.column: all of class {dataset.classes[whole[0, 1]]!r} would be in one fold, "
            "so it could not be learned there. "
            f"Take another column, or {_to_drop(dataset, _records_of(dataset, whole[0, 1]))}."
        )
    folds: NDArray[np.intp] = unit_fold[unit_of]
    _refuse_unlearnable(dataset, folds, "folds.column", "Take another column")
    return folds


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
    if not names:
        raise InputError(f"{path}: all folds are {TRAIN!r}; name at least one to be tested.")
    if len(names) == 1 and TRAIN not in folds.values():
        raise InputError(
            f"{path}: all ids are in fold {names[0]!r}. Name at least two folds, or give the ids "
            f"that are trained on the fold {TRAIN!r}."
        )
    if all(name.isdecimal() and len(name) < 100 for name in names):  # Python limits the digits
        names.sort(key=int)
    return folds, {name: number for number, name in enumerate(names)}


def _table_folds(
    settings: Mapping[str, Any], dataset: Dataset, data_folder: Path
) -> NDArray[np.intp]:
    path = data_folder / settings["table"]
    table, numbers = _read_table(settings, data_folder)
    table = known_by([*dataset.ids, *dataset.dropped], table, str(path))
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
        learned = set(dataset.labels[~tested].tolist())
        if dataset.memberships is not None:
            learned = set(np.flatnonzero(dataset.memberships[~tested].any(axis=0)).tolist())
        absent = sorted(set(range(len(dataset.classes))) - learned)
        if absent:
            raise InputError(
                f"{path}: all of class {dataset.classes[absent[0]]!r} is in fold {name!r}, so it "
                "cannot be learned there. Spread it over several folds."
            )
    _refuse_unlearnable(dataset, folds, str(path), "Spread them over several folds")
    return folds
