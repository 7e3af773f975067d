"""Each sequence with a list of its own: pairs that are asked."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.backends import Backend
from kreinflow.alignment.engine import NOT_ALIGNED, PackedSequences, align_pairs
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.numerics import IntArray


def align_asked(
    sequences: PackedSequences,
    rows: IntArray,
    asked: IntArray,
    scheme: ScoringScheme,
    threads: int,
    backend: Backend,
) -> NDArray[np.int32]:
    """Return the scores of sequences, each with those that it asks for."""
    scores = np.full(asked.shape, NOT_ALIGNED, dtype=np.int32)
    r, c = np.nonzero(asked >= 0)
    left, right = rows[r].astype(np.int32), asked[r, c].astype(np.int32)
    scores[r, c] = align_pairs(sequences, left, right, scheme, threads)
    return scores
