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

TABLE = 1 << 21
"""Pairs, asked for or not, of which all have a place in memory; of more those that were asked."""


def of_records(asked: "AskedScores", rows: IntArray, records: IntArray) -> Ask:
    """Return what asks records by their places, for objects by theirs, of which these are rows."""

    def ask(queries: IntArray, others: IntArray) -> FloatArray:
        return asked(rows[queries], np.where(others >= 0, records[others], NOBODY))

    return ask


class AskedScores:
    """Scores that are asked for when they are needed, and kept.

    Parameters
    ----------
    ask : callable
        See :data:`Ask`.
    n_records : int
    symmetric : bool
        Queries and records are numbers of the same sequences, and the score of two of them has no
        direction: one is asked for.

    Attributes
    ----------
    aligned : int
        Pairs that were asked for so far.
    """

    def __init__(self, ask: Ask, n_records: int, symmetric: bool = False) -> None:
        self._ask, self._n, self._symmetric = ask, n_records, symmetric
        self._known: _Table | _Runs = _Table()
        self.aligned = 0

    def know(self, queries: IntArray, records: IntArray, scores: NDArray[np.number]) -> None:
        """Take scores that were aligned elsewhere: of all queries with all records."""
        self._add(
            self._key(queries[:, None], records[None, :]).ravel(),
            np.asarray(scores, np.float64).ravel(),
        )

    def __call__(self, queries: IntArray, records: IntArray) -> FloatArray:
        """Return the scores of each query with records of its own.

        Parameters
        ----------
        queries : ndarray of shape (k,)
        records : ndarray of shape (k, q)
            -1 for none.

        Returns
        -------
        ndarray of shape (k, q)
            NaN for none.
        """
        wanted = records >= 0
        keys = np.where(wanted, self._key(queries[:, None], records), -1)
        scores = self._known.get(keys)
        missing = wanted & np.isnan(scores)
        if not missing.any():
            return scores
        places = np.flatnonzero(missing)
        once = places[np.unique(keys.ravel()[places], return_index=True)[1]]
        missing = np.zeros(keys.shape, dtype=bool)
        missing.ravel()[once] = True
        rows = np.flatnonzero(missing.any(axis=1))
        counts = missing[rows].sum(axis=1)
        asked = np.full((rows.size, int(counts.max())), NOBODY, dtype=np.int64)
        filled = np.arange(asked.shape[1]) < counts[:, None]
        asked[filled] = records[rows][missing[rows]]
        found = self._ask(queries[rows], asked)
        self.aligned += int(counts.sum())
        self._add(keys[rows][missing[rows]], np.asarray(found)[filled].astype(np.float64))
        return self._known.get(keys)

    def _add(self, keys: IntArray, scores: FloatArray) -> None:
        highest = int(keys.max(initial=0))
        if isinstance(self._known, _Table) and highest >= TABLE:
            self._known = self._known.as_runs()
        self._known.add(keys, scores)

    def _key(self, queries: IntArray, records: IntArray) -> IntArray:
        if self._symmetric:
            low, high = np.minimum(queries, records), np.maximum(queries, records)
            return np.asarray(low * self._n + high)
        return np.asarray(queries * self._n + records)


class _Table:
    """Scores by their keys, where all keys are small: a place for each."""

    def __init__(self) -> None:
        self._scores: FloatArray = np.full(1, np.nan)  # the last one is that of no pair, -1

    def get(self, keys: IntArray) -> FloatArray:
        """Return the scores of pairs; NaN for those that are not there."""
        last = len(self._scores) - 1
        return self._scores[np.minimum(keys, last)]

    def add(self, keys: IntArray, scores: FloatArray) -> None:
        """Keep scores, of pairs that come twice the first."""
        if (most := int(keys.max(initial=-1)) + 1) >= len(self._scores):
            grown = np.full(min(max(most, 2 * len(self._scores)), TABLE) + 1, np.nan)
            grown[: len(self._scores) - 1] = self._scores[:-1]
            self._scores = grown
        new = np.isnan(self.get(keys))
        self._scores[keys[new][::-1]] = scores[new][::-1]

    def as_runs(self) -> "_Runs":
        """Return the same scores for keys of any size."""
        runs, keys = _Runs(), np.flatnonzero(~np.isnan(self._scores))
        runs.add(keys, self._scores[keys])
        return runs


class _Runs:
    """Scores by their keys.

    Sorted keys and their scores, each run more than twice as long as the next: so a pair is copied
    as often as the logarithm of how many there are.
    """

    def __init__(self) -> None:
        self._runs: list[tuple[IntArray, FloatArray]] = []

    def get(self, keys: IntArray) -> FloatArray:
        """Return the scores of pairs; NaN for those that are not there."""
        once, of_once = np.unique(keys, return_inverse=True)
        return self._found(once)[of_once.reshape(keys.shape)]

    def _found(self, keys: IntArray) -> FloatArray:
        out = np.full(keys.shape, np.nan)
        for known, scores in self._runs:
            places = np.minimum(np.searchsorted(known, keys), known.size - 1)
            there = known[places] == keys
            out[there] = scores[places[there]]
        return out

    def add(self, keys: IntArray, scores: FloatArray) -> None:
        """Keep scores, of pairs that come twice the first."""
        keys, first = np.unique(keys, return_index=True)
        new = np.isnan(self._found(keys))
        if not new.any():
            return
        self._runs.append((keys[new], scores[first][new]))
        while len(self._runs) > 1 and self._runs[-2][0].size <= 2 * self._runs[-1][0].size:
            (keys, scores), (more, their_scores) = self._runs[-2:]
            places = np.searchsorted(keys, more)
            self._runs[-2:] = [
                (np.insert(keys, places, more), np.insert(scores, places, their_scores))
            ]
