"""Scores of queries with training records, each pair asked for once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, IntArray

Ask = Callable[[IntArray, IntArray], NDArray[Any]]
"""Takes k queries by their numbers and a (k, q) array of records, -1 for none; returns (k, q)
scores as aligned."""

NOBODY = -1
"""Stands for no record."""

_TABLE = 1 << 21  # pairs of a set that have a place each
_SMALL = 1 << 16  # pairs of a run that is merged with the next, whatever its size


class ScoreCache:
    """Scores that are asked for when they are needed, and kept.

    Of a small set each pair has a place. Of a larger one there are sorted runs of keys with their
    scores, each more than twice as long as the next: a pair is seldom copied. If it is
    ``symmetric``, queries and records are numbers of the same sequences, and one of the two
    directions is asked for. ``aligned``: pairs that were asked for so far.
    """

    def __init__(self, ask: Ask, n_records: int, symmetric: bool = False) -> None:
        self._ask, self._n, self._symmetric = ask, n_records, symmetric
        self._runs: list[tuple[IntArray, FloatArray]] = []
        small = symmetric and n_records**2 < _TABLE
        self._table = np.full(n_records**2 + 1, np.nan) if small else None  # the last: no pair
        self.aligned = 0

    def know(self, queries: IntArray, records: IntArray, scores: NDArray[np.number]) -> None:
        """Take scores that were aligned elsewhere: of all queries with all records."""
        keys = self._key(queries[:, None], records[None, :]).ravel()
        keys, first = np.unique(keys, return_index=True)
        new = np.isnan(self._get(keys))
        if new.any():
            self._add(keys[new], np.asarray(scores, np.float64).ravel()[first][new])

    def of_rows(self, rows: IntArray, records: IntArray) -> Ask:
        """Return an ask of objects and records by their places among these."""

        def ask(queries: IntArray, others: IntArray) -> FloatArray:
            return self(rows[queries], np.where(others >= 0, records[others], NOBODY))

        return ask

    def __call__(self, queries: IntArray, records: IntArray) -> FloatArray:
        """Return the scores of each query with records of its own.

        ``queries``, of shape (k,). ``records``, of shape (k, q): -1 for none. The result has shape
        (k, q): NaN for none.
        """
        wanted = records >= 0
        keys = np.where(wanted, self._key(queries[:, None], records), -1)
        scores = self._get(keys)
        places = np.flatnonzero(wanted & np.isnan(scores))
        if not places.size:
            return scores
        new, first, of_place = np.unique(
            keys.ravel()[places], return_index=True, return_inverse=True
        )
        once = np.sort(places[first])
        missing = np.zeros(keys.shape, dtype=bool)
        missing.ravel()[once] = True
        rows = np.flatnonzero(missing.any(axis=1))
        counts = missing[rows].sum(axis=1)
        asked = np.full((rows.size, int(counts.max())), NOBODY, dtype=np.int64)
        filled = np.arange(asked.shape[1]) < counts[:, None]
        asked[filled] = records[rows][missing[rows]]
        found = np.asarray(self._ask(queries[rows], asked))[filled].astype(np.float64)
        self.aligned += once.size
        found = found[np.searchsorted(once, places[first])]  # in the order of their keys
        scores.ravel()[places] = found[of_place]
        self._add(new, found)
        return scores

    def _get(self, keys: IntArray) -> FloatArray:
        """Return the scores of pairs; NaN for those that are not there."""
        if self._table is not None:
            return self._table[keys]
        out = np.full(keys.shape, np.nan)
        for known, scores in self._runs:
            places = np.minimum(np.searchsorted(known, keys), known.size - 1)
            there = known[places] == keys
            out[there] = scores[places[there]]
        return out

    def _add(self, keys: IntArray, scores: FloatArray) -> None:
        """Keep the scores of sorted keys that are not there yet."""
        if self._table is not None:
            self._table[keys] = scores
            return
        self._runs.append((keys, scores))
        while len(self._runs) > 1:
            (keys, scores), (more, their_scores) = self._runs[-2:]
            if keys.size > max(2 * more.size, _SMALL):
                break
            at = np.searchsorted(keys, more)
            self._runs[-2:] = [(np.insert(keys, at, more), np.insert(scores, at, their_scores))]

    def _key(self, queries: IntArray, records: IntArray) -> IntArray:
        if self._symmetric:
            queries, records = np.minimum(queries, records), np.maximum(queries, records)
        return np.asarray(queries * self._n + records)
