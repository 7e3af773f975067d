"""What a model says of objects."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from kreinflow.answering.score_cache import NOBODY
from kreinflow.base.numerics import FloatArray, IntArray

STAGES = ("first", "nearest", "pairs")
"""What may answer, by the number that stands in :attr:`Answers.stage`."""

FIRST, NEAREST, PAIRS = range(3)


REASONS = ("", "unsure", "unknown", "no relative")
"""Why an answer is rejected: its probability is too small; the object is too strange, by its
p-value; it has no relative among the training records. The last that holds is told."""

EVERY_LEVEL = 1 << 30
"""Stands in :attr:`Answers.deepest` for no limit."""

MOST_PAIRS = 1 << 21
"""Of objects with the records that they may ask, at once."""


NOTHING_ACCEPTED = float(np.nextafter(1.0, 2.0))
"""The threshold that rejects all predictions, those that are rounded to 1 too."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says of n objects.

    All arrays have a row for each object. ``nearest`` is the record of the most evidence for the
    predicted class among those aligned, or -1, and ``nearest_score`` its score as aligned, or NaN.
    ``deepest`` is the deepest level of classes that are paths at which an object may be answered;
    only what is rejected as unknown or without a relative has a limit.
    """

    probabilities: FloatArray  # (n, n_classes), calibrated
    reason: NDArray[np.str_]  # of REASONS
    p_value: FloatArray  # share of true members that are as strange; NaN of a model that has none
    stage: IntArray  # of STAGES
    alignments: IntArray  # beyond the landmarks
    nearest: IntArray
    nearest_score: FloatArray
    deepest: IntArray
    first: FloatArray  # the largest probability of the first stage

    @classmethod
    def joined(cls, parts: Sequence["Answers"]) -> "Answers":
        """Return the answers for all objects from those for parts of them."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Whether there is a reason not to accept them."""
        return np.asarray(self.reason != "")

    @classmethod
    def of_first(cls, probabilities: FloatArray, reject_threshold: float) -> "Answers":
        """Return those of a model that has no cascade, or asks no records."""
        n, first = len(probabilities), probabilities.max(axis=1)
        return cls(
            probabilities,
            unsure(first, reject_threshold),
            np.full(n, np.nan),
            np.full(n, FIRST),
            np.zeros(n, dtype=np.int64),
            np.full(n, NOBODY),
            np.full(n, np.nan),
            np.full(n, EVERY_LEVEL),
            first,
        )


def unsure(sureness: FloatArray, threshold: float) -> NDArray[np.str_]:
    """Return the reasons by a reject threshold alone."""
    return np.array(REASONS)[(sureness < threshold).astype(np.int64)]
