"""The best hit of each record that a fold tests, as a search by BLAST would rank it.

A search gives a query the label of the training record with the best score. A recipe that compares
a query with more than its landmarks has such scores too, so the hit costs no further alignment.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from kreinflow.models.asked import NOBODY, Ask
from kreinflow.models.facing import Records
from kreinflow.numerics import FloatArray, IntArray

HIT_COLUMNS = ("hit", "hit_among", "hit_of")
"""Of a predictions table. ``hit`` is the label of the training record with the best score (of a
matrix or vectors: the nearest one), ``hit_among`` the number of distinct training records that were
compared, ``hit_of`` that of all. The three are empty for a record that was compared with landmarks
alone, unless all training records are landmarks, and where records may have several labels."""

_TOGETHER = 1 << 17  # pairs that are looked at at once


class Hits:
    r"""The best hits among what the records that a fold tests are compared with.

    The best is the one of the highest raw score s_ij, of squared dissimilarities the lowest. Of
    equal scores it is the one of the highest :math:`s_{ij} / \sqrt{s_{ii} s_{jj}}`, or 0 where
    nothing can be divided by, then of the least digest, then of the first class.

    Parameters
    ----------
    landmarks : Landmarks
        Training records, those of the recipe.
    part : TrainingPart
    rows : ndarray of shape (n,)
        The distinct rows of the records that are tested.
    ranks : ndarray of shape (n_distinct,)
        The place of the digest of each distinct row among all digests.
    """

    def __init__(
        self, landmarks: Landmarks, part: TrainingPart, rows: IntArray, ranks: IntArray
    ) -> None:
        self._landmarks, self._part, self._rows, self._ranks = landmarks, part, rows, ranks
        # What hits are ordered by, of shape (4, n); the last is the class, with a minus.
        self._best = np.full((4, len(rows)), -np.inf)
        self._pairs: list[IntArray] = []  # place * n_distinct + row, of all that were asked

    def heard(self, ask: Ask, places: IntArray, records: Records) -> Ask:
        """Return an ask of the same answers, whose scores are taken note of.

        Parameters
        ----------
        ask : callable
        places : ndarray of shape (k,)
            The places of its objects among the tested records.
        records : Records
            Those that it asks.
        """
        if self._part.memberships is not None:
            return ask

        def noting(queries: IntArray, others: IntArray) -> FloatArray:
            scores, own = ask(queries, others), places[queries]
            asked = np.where(others >= 0, records.rows[others], NOBODY)
            self._meet(own, asked, records.classes[others], scores)
            keys = own[:, None].astype(np.int64) * len(self._ranks) + asked
            self._pairs.append(keys[others >= 0])
            return scores

        return noting

    def table(self) -> pd.DataFrame:
        """Return the :data:`HIT_COLUMNS` of all records, after everything was asked."""
        landmarks, part, n = self._landmarks, self._part, len(self._rows)
        fresh = self._beyond_landmarks()
        known = fresh > 0
        if part.memberships is None:
            known |= np.isin(part.rows, landmarks.rows).all()
        found = np.flatnonzero(known)
        step = max(1, _TOGETHER // len(landmarks.rows))
        for own in (found[start : start + step] for start in range(0, len(found), step)):
            shape = len(own), len(landmarks.rows)
            self._meet(
                own,
                np.broadcast_to(landmarks.rows, shape),
                np.broadcast_to(landmarks.classes, shape),
                np.asarray(landmarks.scores[self._rows[own]]),
            )
        hit = np.full(n, "", dtype=object)
        hit[found] = np.array(part.classes, dtype=object)[-self._best[3, found].astype(np.int64)]
        among = fresh + len(np.unique(landmarks.rows))
        return pd.DataFrame(
            {
                "hit": hit,
                "hit_among": pd.array(np.where(known, among, np.nan), dtype="Int64"),
                "hit_of": pd.array(
                    np.where(known, len(np.unique(part.rows)), np.nan), dtype="Int64"
                ),
            }
        )

    def _beyond_landmarks(self) -> IntArray:
        """Return how many distinct training records were asked, of each tested record."""
        rows, fresh = len(self._ranks), np.zeros(len(self._rows), dtype=np.int64)
        keys = np.concatenate([np.empty(0, np.int64), *self._pairs])
        self._pairs = [keys]  # the parts need not stay in memory beside the whole
        keys.sort()
        of_landmark = np.zeros(rows, dtype=bool)
        of_landmark[self._landmarks.rows] = True
        for start in range(0, len(keys), _TOGETHER):
            own = keys[start : start + _TOGETHER]
            own = own[np.diff(own, prepend=keys[start - 1] if start else -1) > 0]
            fresh += np.bincount(own[~of_landmark[own % rows]] // rows, minlength=len(fresh))
        return fresh

    def _meet(
        self, places: IntArray, rows: IntArray, classes: IntArray, scores: NDArray[np.number]
    ) -> None:
        """Compare tested records with training records, of shape (k, q), -1 for none."""
        step = max(1, _TOGETHER // max(1, rows.shape[1]))
        for part in (slice(start, start + step) for start in range(0, len(places), step)):
            own, others, there = places[part], rows[part], rows[part] >= 0
            near = scores[part].astype(np.float64)
            alone = self._landmarks.self_scores
            product = alone[self._rows[own], None] * alone[others]
            normalised = np.zeros(near.shape)
            np.divide(near, np.sqrt(np.maximum(product, 0.0)), out=normalised, where=product > 0)
            if self._landmarks.kind == "squared_dissimilarity":
                near = -near
            keys = np.stack([near, normalised, -self._ranks[others], -classes[part]])
            keys[:, ~there] = -np.inf
            keys = np.concatenate([self._best[:, own, None], keys], axis=2)
            best = np.ones(keys.shape[1:], dtype=bool)
            for key in keys:
                best &= key == np.where(best, key, -np.inf).max(axis=1, keepdims=True)
            self._best[:, own] = keys[:, np.arange(len(own)), best.argmax(axis=1)]
