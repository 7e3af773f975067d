"""The account of a run: the pairs that it scores, and those of the full matrix."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.numerics import IntArray
from kreinflow.kernels.asked import AskedKernel
from kreinflow.landmarks.budgets import pairs_with
from kreinflow.landmarks.candidates import SKETCH
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.payload import Compared


def alignment_account(
    dataset: Dataset,
    scheme: ScoringScheme | None,
    candidates: Mapping[str, IntArray],
    union: IntArray,
) -> dict[str, Any]:
    """Count the pairs that are scored for a store, each once: aligned, or asked for.

    With a direction the two ways of a pair count as two.
    """
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
    settings, asked, alone = None, None, scheme is not None
    digest = scheme.digest if scheme else None
    if isinstance(dataset.payload, Compared) and isinstance(dataset.payload.kernel, AskedKernel):
        kernel = dataset.payload.kernel
        asked, alone, digest = kernel.describe(), kernel.asks_alone, kernel.digest
    ways = 2 if dataset.kind == "asymmetric" else 1
    if scheme:
        names = ("gap_open", "gap_extend", "mode")
        settings = {"matrix": scheme.matrix.name} | {name: getattr(scheme, name) for name in names}
    return {
        "aligned": ways * pairs if scheme or asked else 0,
        "self_scores": n if alone else 0,
        "full_matrix": ways * n * (n - 1) // 2,
        "distinct": n,
        "landmarks_of_all_folds": len(union),
        "store": digest,
        "scheme": settings,
        "asked": asked,
    }
