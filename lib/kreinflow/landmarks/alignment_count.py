"""The account of a run: the alignments that it needs, and those of the full matrix."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.numerics import IntArray
from kreinflow.landmarks.budgets import pairs_with
from kreinflow.landmarks.candidates import SKETCH
from kreinflow.sequences.dataset import Dataset


def alignment_account(
    dataset: Dataset,
    scheme: ScoringScheme | None,
    candidates: Mapping[str, IntArray],
    union: IntArray,
) -> dict[str, Any]:
    """Count the alignments, each pair once."""
    n = len(dataset.digests)
    everywhere = np.zeros(n, dtype=bool)
    everywhere[union] = True
    everywhere[candidates.get(SKETCH, union)] = True
    pairs = pairs_with(int(everywhere.sum()), n)
    labels = np.asarray(dataset.row_labels)
    for label, picked in candidates.items():
        if label != SKETCH:  # the pairs of a class with a candidate in them
            own, new = everywhere[labels == label], int(np.sum(~everywhere[picked]))
            known, size = int(own.sum()), len(own)
            pairs += pairs_with(known + new, size) - pairs_with(known, size)
    settings = None
    if scheme:
        names = ("gap_open", "gap_extend", "mode")
        settings = {"matrix": scheme.matrix.name} | {name: getattr(scheme, name) for name in names}
    return {
        "aligned": pairs if scheme else 0,
        "self_scores": n if scheme else 0,
        "full_matrix": n * (n - 1) // 2,
        "distinct": n,
        "landmarks_of_all_folds": len(union),
        "store": scheme.digest if scheme else None,
        "scheme": settings,
    }
