"""Queries, which are new objects with what is known of them, and what a model says of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.views.objects import Viewed

Ask = Callable[[IntArray, IntArray], NDArray[Any]]
"""Takes k queries by their numbers and a (k, q) array of records, -1 for none; returns (k, q)
scores as aligned."""

NOBODY = -1  #: stands for no record

STAGES = ("first", "nearest", "pairs")  #: what may answer, by its number in Answers.stage

FIRST, NEAREST, PAIRS = range(3)

REASONS = ("", "unsure", "unknown", "no relative")
"""Why an answer is rejected: its probability is too small; the object is too strange, by its
p-value; it has no relative among the training records. The last that holds is told."""

EVERY_LEVEL = 1 << 30  #: stands in Answers.deepest for no limit
MOST_PAIRS = 1 << 19  #: of objects with the records that they may ask, at once
NOTHING_ACCEPTED = float(np.nextafter(1.0, 2.0))  #: threshold that rejects also what rounds to 1


@dataclass(frozen=True, eq=False)
class Query:
    """A batch of n objects.

    ``scores``, of shape (n, n_landmarks), are as aligned or measured, dissimilarities squared; not
    transformed. ``ask`` scores the objects, by their places, with training records. ``seeds``, of
    shape (n, 2, q), are the records that are first by seeds, and their scores, if they are known.
    """

    per_object: ClassVar[tuple[str, ...]] = ("scores", "self_scores", "lengths", "seeds")

    scores: NDArray[Any]
    self_scores: FloatArray  # (n,): of sequences; zeros for others, which no transform asks for
    lengths: FloatArray  # (n,)
    objects: Viewed | None = None  # the objects as views see them
    ask: Ask | None = None
    seeds: IntArray | None = None

    @classmethod
    def measured(cls, scores: NDArray[Any]) -> "Query":
        """Return the query of objects that are no sequences."""
        nothing = np.zeros(len(scores))
        return cls(scores, nothing, nothing)

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, places: IntArray) -> Self:
        """Return some of the objects."""
        ask, objects = self.ask, self.objects

        def asked(queries: IntArray, records: IntArray) -> NDArray[Any]:
            assert ask is not None
            return ask(places[queries], records)

        taken: dict[str, Any] = {"ask": None if ask is None else asked}
        taken["objects"] = None if objects is None else objects.take(places)
        for name in self.per_object:
            array = getattr(self, name)
            taken[name] = None if array is None else array[places]
        return replace(self, **taken)

    def decided(self, rows: FloatArray, decisions: FloatArray) -> "Decided":
        """Return the query with what a first stage made of it."""
        known = self.scores, self.self_scores, self.lengths, self.objects, self.ask, self.seeds
        return Decided(*known, rows=rows, decisions=decisions)


@dataclass(frozen=True, eq=False, kw_only=True)
class Decided(Query):
    """A query after the first stage of a model."""

    per_object: ClassVar[tuple[str, ...]] = (*Query.per_object, "rows", "decisions")

    rows: FloatArray  # (n, n_landmarks): transformed scores
    decisions: FloatArray  # (n, n_classes)


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says of n objects: a row of each array.

    ``nearest`` is the record of the most evidence for the predicted class among those aligned, or
    -1, and ``nearest_score`` its score as aligned, or NaN. ``deepest`` is the deepest level of
    classes that are paths at which an object may be answered; only what is rejected as unknown or
    without a relative has a limit.
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
    closeness: FloatArray  # to the training records; NaN where it is not known

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
        """Return those of a first stage, which asks no records."""
        n, first = len(probabilities), probabilities.max(axis=1)
        return cls(
            probabilities,
            unsure(first, reject_threshold),
            p_value=np.full(n, np.nan),
            stage=np.full(n, FIRST),
            alignments=np.zeros(n, dtype=np.int64),
            nearest=np.full(n, NOBODY),
            nearest_score=np.full(n, np.nan),
            deepest=np.full(n, EVERY_LEVEL),
            first=first,
            closeness=np.full(n, np.nan),
        )


def unsure(sureness: FloatArray, threshold: float) -> NDArray[np.str_]:
    """Return the reasons by a reject threshold alone."""
    return np.array(REASONS)[(sureness < threshold).astype(np.int64)]
