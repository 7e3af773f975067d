"""A query: new objects with what is known of them, which a model answers."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kreinflow.answering.score_cache import Ask
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.views.objects import Viewed


@dataclass(frozen=True, eq=False)
class Query:
    """A batch of n objects.

    Parameters
    ----------
    scores : ndarray of shape (n, n_landmarks)
        As aligned or measured, dissimilarities squared; not transformed.
    ask : callable or None
        Scores the objects, by their places, with training records; None if there is none to score.
    """

    scores: NDArray[Any]
    self_scores: FloatArray  # (n,): of sequences; zeros for others, which no transform asks for
    lengths: FloatArray  # (n,)
    objects: Viewed | None = None  # the objects as views see them
    ask: Ask | None = None

    @classmethod
    def measured(cls, scores: NDArray[Any]) -> "Query":
        """Return the query of objects that are no sequences."""
        nothing = np.zeros(len(scores))
        return cls(scores, nothing, nothing)

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self.scores)

    def take(self, places: IntArray) -> Self:
        """Return some of the objects."""
        return replace(self, **self._taken(places))

    def decided(self, rows: FloatArray, decisions: FloatArray) -> "Decided":
        """Return the query with what a first stage made of it."""
        known = self.scores, self.self_scores, self.lengths, self.objects, self.ask
        return Decided(*known, rows=rows, decisions=decisions)

    def _taken(self, places: IntArray) -> dict[str, Any]:
        """Return what is known of some of the objects, by the names of the fields."""
        ask = self.ask

        def asked(queries: IntArray, records: IntArray) -> NDArray[Any]:
            assert ask is not None
            return ask(places[queries], records)

        return {
            "scores": self.scores[places],
            "self_scores": self.self_scores[places],
            "lengths": self.lengths[places],
            "objects": None if self.objects is None else self.objects.take(places),
            "ask": None if ask is None else asked,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Decided(Query):
    """A query after the first stage of a model."""

    rows: FloatArray  # (n, n_landmarks): transformed scores
    decisions: FloatArray  # (n, n_classes)

    def _taken(self, places: IntArray) -> dict[str, Any]:
        own = {"rows": self.rows[places], "decisions": self.decisions[places]}
        return super()._taken(places) | own
