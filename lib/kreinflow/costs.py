"""What a run costs: pairs to align, minutes and megabytes to ask a cluster for.

``statistics`` are those of a data set's ``summary.json``.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.landmarks.budgets import pairs_with
from kreinflow.landmarks.candidates import SKETCH
from kreinflow.numerics import IntArray
from kreinflow.sequences.dataset import Dataset

Statistics = Mapping[str, Any]

BASE_MB = 1000
"""Memory of a job beside its matrices: 200 to 400 MB for the libraries that it imports, and on a
cluster 3 x 200 MB for the Snakemakes that stand around it: those of the batch script, of the
step, and, in a group, of the job itself."""

CELLS = 2e9
"""Cells of alignment a second and thread that run times are asked for by. Less than half of what
benchmarks/alignment.py measures: machines differ, and so do lengths."""

LEAST_ROWS_MB = 64
"""What a learning job has for its rows at least."""


def class_pairs(statistics: Statistics, candidates: Iterable[str]) -> int:
    """Return the pairs of the class scores: members x candidates, and all x the sketch.

    ``candidates`` has the class of each candidate; a row of the sketch has none.
    """
    sizes, everything = statistics["class_sizes"], statistics["distinct"]
    return sum(sizes.get(name, everything) for name in candidates)


def column_pairs(statistics: Statistics, landmarks: int) -> int:
    """Return the pairs of all objects with the landmarks, of which many may be the same one."""
    objects: int = statistics["distinct"]
    return objects * min(landmarks, objects)


def unknown_pairs(statistics: Statistics, landmarks: int) -> int:
    """Return the pairs of the records held out as unknown with the landmarks."""
    return int(sum(statistics["unknown"].values())) * landmarks


def _cells(statistics: Statistics) -> float:
    """Return the cells of a pair of mean length; 0 where nothing is aligned."""
    return float(statistics["lengths"].get("mean", 0) ** 2)


def alignment_minutes(statistics: Statistics, pairs: float, threads: int) -> float:
    """Return the run time to ask for: 10 minutes and that of the pairs."""
    return 10 + pairs * _cells(statistics) / (60 * CELLS * threads)


def clustering_minutes(statistics: Statistics) -> float:
    """Return the run time to ask for where clusters are made.

    All pairs of a class are aligned, some twice more, in one thread.
    """
    pairs = sum(int(size) ** 2 for size in statistics["class_sizes"].values()) / 2
    return 30 + pairs * (1e-4 + 3 * _cells(statistics) / CELLS) / 60


def square_mb(landmarks: int) -> float:
    """Return megabytes for the m x m matrices that a job holds beside its tiles: some 16 of them.

    A factor with its eigenpairs and corrections is three or four, for each transform and rank;
    what finds its eigenvalues needs some six more for the while.

    Examples
    --------
    >>> square_mb(1000), square_mb(4000)
    (128.0, 2048.0)
    """
    return 16 * 8 * landmarks**2 / 1e6


def learning_mb(input_mb: float, landmarks: int, tiled_mb: float | None) -> float:
    """Return the memory to ask for where something is learned.

    Parameters
    ----------
    input_mb : float
        Of the job's files: float64 rows take several times as much.
    landmarks : int
        Matrices of landmarks with landmarks come on top of the rows.
    tiled_mb : float or None
        What rows take at most if they are read by tiles; None if all are held.
    """
    rows = 24 * input_mb
    if tiled_mb is not None:
        rows = min(rows, tiled_mb)
    return BASE_MB + rows + square_mb(landmarks)


def rows_mb(asked_mb: float, landmarks: int) -> float:
    """Return what is left for rows of the memory that :func:`learning_mb` asked for."""
    return max(asked_mb - BASE_MB - square_mb(landmarks), LEAST_ROWS_MB)


def alignment_account(
    dataset: Dataset,
    scheme: ScoringScheme | None,
    candidates: Mapping[str, IntArray],
    union: IntArray,
) -> dict[str, Any]:
    """Count the alignments that a run needs, and those that the full matrix would.

    A pair that a class block and a column both want is counted once, and so is a pair of two
    landmarks. Rows of the sketch meet all others, as landmarks do.
    """
    n = len(dataset.digests)
    everywhere = np.zeros(n, dtype=bool)
    everywhere[union] = True
    everywhere[candidates.get(SKETCH, union)] = True
    m = int(everywhere.sum())
    pairs = pairs_with(m, n)
    labels = np.asarray(dataset.row_labels)
    for label, picked in candidates.items():
        if label == SKETCH:
            continue
        size = int(np.sum(labels == label))
        # Pairs of a class with a candidate in them, less those that are counted already.
        asked = np.zeros(n, dtype=bool)
        asked[picked] = True
        both = int(np.sum(asked & everywhere))
        only_candidate = int(asked.sum()) - both
        plain = size - int(np.sum((asked | everywhere) & (labels == label)))
        pairs += only_candidate * plain + only_candidate * (only_candidate - 1) // 2
    return {
        "aligned": pairs if scheme else 0,
        "self_scores": n if scheme else 0,
        "full_matrix": n * (n - 1) // 2,
        "distinct": n,
        "landmarks_of_all_folds": len(union),
        "store": scheme.digest if scheme else None,
        "scheme": {
            "matrix": scheme.matrix.name,
            "gap_open": scheme.gap_open,
            "gap_extend": scheme.gap_extend,
            "mode": scheme.mode,
        }
        if scheme
        else None,
    }
