"""Folds between which no sequences are alike, for data of any kind."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.base.random_streams import hash_keys
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.folds import always_learned, inner_folds
from kreinflow.sequences.identity import identity_clusters
from kreinflow.sequences.partition import NEVER_TESTED

IDENTITY, COVERAGE = 0.4, 0.8  # of alike sequences


def homology_folds(dataset: Dataset, k: int, repeats: int, seed: int) -> pd.DataFrame:
    """Return folds of clusters of alike sequences, in the columns of other folds.

    Sequences are alike if the best local alignment has at least 40 % of its columns identical and
    covers at least 80 % of the shorter one. Clusters are the connected components: all pairs of
    one class are compared, and of two classes those that share a word. A class of one cluster, or
    all of whose clusters came into one fold, is trained on in all folds and never tested.
    """
    clusters = identity_clusters(dataset.sequences, IDENTITY, COVERAGE, dataset.row_labels)
    groups = clusters[dataset.rows]
    table = pd.DataFrame({"id": dataset.ids, "group": groups})
    tables = [
        table.assign(repeat=r, fold=_spread(dataset, groups, k, seed, r)) for r in range(repeats)
    ]
    return pd.concat(tables, ignore_index=True)


def _spread(
    dataset: Dataset, groups: NDArray[np.intp], k: int, seed: int, repeat: int
) -> NDArray[np.intp]:
    units, first, unit_of = np.unique(groups, return_index=True, return_inverse=True)
    counts = np.zeros((len(units), len(dataset.classes)), dtype=np.intp)
    np.add.at(counts, (unit_of, dataset.labels), 1)
    label = counts.argmax(axis=1)
    names = np.array([dataset.digests[row] for row in dataset.rows[first]])
    unit_fold = np.full(len(units), NEVER_TESTED, dtype=np.intp)
    for code, name in enumerate(dataset.classes):
        own = np.flatnonzero(label == code)
        if len(own) < 2:
            continue
        found = inner_folds(names[own], label[own], k, seed, "homology", repeat, name)
        # With fewer clusters than folds those that are tested at all differ from class to class.
        if len(own) < k:
            found = (found + int(hash_keys(seed, "homology offset", [name])[0] % k)) % k
        unit_fold[own] = found
    return always_learned(dataset.labels, groups, unit_fold[unit_of])
