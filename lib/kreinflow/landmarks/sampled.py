"""The scores of a fold's rows with a sample of them: all that a selector sees of a kernel."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.krein.double_centring import LandmarkCentring

Kind = Literal["similarity", "squared_dissimilarity"]


@dataclass(frozen=True, eq=False)
class SampledScores:
    """The scores of rows with some of them, and the similarities that they are or become.

    Dissimilarities are centred on the mean of the sample.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        Numbers of the distinct rows: those that the fold trains on, all or of one class.
    order : ndarray of int
        Positions among the rows; the first c are the sample.
    scores : ndarray of shape (n, c)
        Transformed scores of the rows with the sample.
    self_similarities : ndarray of shape (n,)
        Transformed self-scores; not looked at for dissimilarities.
    kind : {"similarity", "squared_dissimilarity"}
    """

    rows: IntArray
    order: IntArray
    scores: FloatArray
    self_similarities: FloatArray
    kind: Kind = "similarity"

    def __post_init__(self) -> None:
        """Refuse shapes that disagree."""
        n, of = len(self.rows), self.scores.shape
        if n == 0 or of[0] != n or not of[1] <= len(self.order) <= n:
            raise ValueError(
                f"{n} rows, {len(self.order)} of them in order, do not match scores of shape {of}."
            )
        if self.kind == "similarity" and self.self_similarities.shape != (n,):
            raise ValueError(f"{n} rows need as many self-similarities.")

    @property
    def drawn(self) -> IntArray:
        """Positions of the sample among the rows, of shape (c,)."""
        return self.order[: self.scores.shape[1]]

    @cached_property
    def _centring(self) -> LandmarkCentring | None:
        return None if self.kind == "similarity" else LandmarkCentring.fit(self.scores[self.drawn])

    @property
    def columns(self) -> FloatArray:
        """Similarities of the rows with the sample, of shape (n, c)."""
        return self._centring.columns(self.scores) if self._centring else self.scores

    @property
    def diagonal(self) -> FloatArray:
        """Similarities of the rows with themselves, of shape (n,)."""
        if self._centring:
            return self._centring.self_similarities(self.scores)
        return self.self_similarities
