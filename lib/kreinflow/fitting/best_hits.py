"""The best hit of each record that a fold tests, as a search by BLAST would rank it.

Of the columns of a run, which are landmarks of all folds and recipes, those that are training
records of the fold are looked at, and what a recipe asks for besides: a hit costs no alignment.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.answering.nearest_records import Records
from kreinflow.answering.query_and_answers import NOBODY, Ask
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart

HIT_COLUMNS = ("hit", "hit_among", "hit_of", "hit_identity")
"""Of a predictions table. ``hit`` is the label of the training record with the best score (of a
matrix or vectors: the nearest one), ``hit_among`` the number of distinct training records that were
compared, ``hit_of`` that of all, ``hit_identity`` (of sequences alone) the
:func:`~kreinflow.alignment.traceback.aligned_identity` of record and hit. They are empty for a
record that none was asked for, unless all training records are landmarks of the run, and where
records may have several labels."""

_TOGETHER = 1 << 17  # pairs that are looked at at once


@dataclass(frozen=True, eq=False)
class Searched:
    r"""The best hits of the records that a fold tests, among the columns of the run.

    That is the highest raw score s_ij, of squared dissimilarities the lowest; of equal ones the
    highest :math:`s_{ij} / \sqrt{s_{ii} s_{jj}}`, or 0 where nothing can be divided by, then the
    least digest, then the first class.
    """

    columns: Landmarks  # all columns of the run that are training records of the fold
    part: TrainingPart
    rows: IntArray  # (n,): the distinct rows of the records that are tested
    ranks: IntArray  # (n_distinct,): the place of the digest of each distinct row among all digests
    identity: Callable[[int, int], float] | None = None  # of two distinct rows that are sequences

    @cached_property
    def best(self) -> FloatArray:
        """What the best hit of each is ordered by, of shape (4, n), as :meth:`meet` writes it."""
        best, columns = np.full((4, len(self.rows)), -np.inf), self.columns
        for own in _blocks(len(self.rows), len(columns.rows)):
            scores = np.asarray(columns.scores[self.rows[own]])
            rows, classes = (
                np.broadcast_to(of, scores.shape) for of in (columns.rows, columns.classes)
            )
            self.meet(best, own, rows, classes, scores)
        return best

    def meet(
        self,
        best: FloatArray,
        places: IntArray,
        rows: IntArray,
        classes: IntArray,
        scores: NDArray[np.number],
    ) -> None:
        """Compare tested records with training records, of shape (k, q), -1 for none.

        ``best``, of shape (4, n), is written to. The last of the four is the class, with a minus.
        """
        for part in _blocks(len(places), rows.shape[1]):
            own, others, there = places[part], rows[part], rows[part] >= 0
            near = scores[part].astype(np.float64)
            alone = self.columns.self_scores
            product = alone[self.rows[own], None] * alone[others]
            normalised = np.zeros(near.shape)
            np.divide(near, np.sqrt(np.maximum(product, 0.0)), out=normalised, where=product > 0)
            if self.columns.kind == "squared_dissimilarity":
                near = -near
            keys = np.stack([near, normalised, -self.ranks[others], -classes[part]])
            keys[:, ~there] = -np.inf
            best[:, own] = _first(np.concatenate([best[:, own, None], keys], axis=2))


def _blocks(n: int, width: int) -> list[IntArray]:
    step = max(1, _TOGETHER // max(1, width))
    return [np.arange(start, min(start + step, n)) for start in range(0, n, step)]


def _first(keys: FloatArray) -> FloatArray:
    """Return of each record the largest keys, the first one deciding; (4, k, q) to (4, k)."""
    best = np.ones(keys.shape[1:], dtype=bool)
    for key in keys:
        best &= key == np.where(best, key, -np.inf).max(axis=1, keepdims=True)
    return np.asarray(keys[:, np.arange(len(best)), best.argmax(axis=1)])


class Hits:
    """The best hits among the columns of a run and what a recipe asks for."""

    def __init__(self, searched: Searched) -> None:
        self._searched = searched
        self._best = np.full((4, len(searched.rows)), -np.inf)  # of those that were asked
        self._pairs: list[IntArray] = []  # place * n_distinct + row, of all that were asked

    def noting(self, ask: Ask, places: IntArray, records: Records) -> Ask:
        """Return an ask that takes note of scores; ``places``: of its objects among the tested."""
        searched = self._searched
        if searched.part.memberships is not None:
            return ask

        def noted(queries: IntArray, others: IntArray) -> FloatArray:
            scores, own = ask(queries, others), places[queries]
            asked = np.where(others >= 0, records.rows[others], NOBODY)
            searched.meet(self._best, own, asked, records.classes[others], scores)
            keys = own[:, None].astype(np.int64) * len(searched.ranks) + asked
            self._pairs.append(keys[others >= 0])
            return scores

        return noted

    def table(self) -> pd.DataFrame:
        """Return the :data:`HIT_COLUMNS` of all records, after everything was asked."""
        searched, part, n = self._searched, self._searched.part, len(self._searched.rows)
        columns, training = searched.columns.rows, np.unique(part.rows)
        self._pairs = [keys := np.unique(np.concatenate([np.empty(0, np.int64), *self._pairs]))]
        place, row = np.divmod(keys, len(searched.ranks))
        known = np.bincount(place, minlength=n) > 0
        fresh = np.bincount(place[~np.isin(row, columns)], minlength=n)
        if part.memberships is None:
            known |= np.isin(training, columns).all()
        hit, found = np.full(n, "", dtype=object), np.flatnonzero(known)
        identity = np.full(n, np.nan)
        if len(found):
            both = np.stack([self._best[:, found], searched.best[:, found]], axis=2)
            rank, label = -_first(both)[2:].astype(np.int64)
            hit[found] = np.array(part.classes, dtype=object)[label]
            if searched.identity is not None:
                pairs = searched.rows[found], np.argsort(searched.ranks)[rank]
                identity[found] = list(map(searched.identity, *(rows.tolist() for rows in pairs)))
        among = fresh + len(np.unique(columns))
        return pd.DataFrame(
            {
                "hit": hit,
                "hit_among": pd.array(np.where(known, among, np.nan), dtype="Int64"),
                "hit_of": pd.array(np.where(known, len(training), np.nan), dtype="Int64"),
                "hit_identity": identity,
            }
        )
