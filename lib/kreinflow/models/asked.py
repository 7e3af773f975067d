"""Scores of queries with training records, each pair asked for once."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.numerics import FloatArray, IntArray

Ask = Callable[[IntArray, IntArray], NDArray[Any]]
"""Takes k queries by their numbers and a (k, q) array of records, -1 for none; returns (k, q)
scores as aligned."""

NOBODY = -1
"""Stands for no record."""


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
        self._keys = np.empty(0, dtype=np.int64)
        self._scores = np.empty(0, dtype=np.float64)
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
        missing = wanted & ~self._known(keys)
        _, first = np.unique(keys, return_index=True)
        once = np.zeros(keys.size, dtype=bool)
        once[first] = True
        missing &= once.reshape(keys.shape)
        rows = np.flatnonzero(missing.any(axis=1))
        if rows.size:
            counts = missing[rows].sum(axis=1)
            asked = np.full((rows.size, int(counts.max())), NOBODY, dtype=np.int64)
            filled = np.arange(asked.shape[1]) < counts[:, None]
            asked[filled] = records[rows][missing[rows]]
            found = self._ask(queries[rows], asked)
            self.aligned += int(counts.sum())
            self._add(keys[rows][missing[rows]], np.asarray(found)[filled].astype(np.float64))
        out = np.full(records.shape, np.nan)
        out[wanted] = self._scores[np.searchsorted(self._keys, keys[wanted])]
        return out

    def known(self, queries: IntArray, records: IntArray) -> NDArray[np.bool_]:
        """Return which of (k, q) pairs need not be asked for."""
        return self._known(self._key(queries[:, None], records))

    def _key(self, queries: IntArray, records: IntArray) -> IntArray:
        if self._symmetric:
            low, high = np.minimum(queries, records), np.maximum(queries, records)
            return np.asarray(low * self._n + high)
        return np.asarray(queries * self._n + records)

    def _known(self, keys: IntArray) -> NDArray[np.bool_]:
        if not self._keys.size:
            return np.zeros(keys.shape, dtype=bool)
        places = np.minimum(np.searchsorted(self._keys, keys), self._keys.size - 1)
        return np.asarray(self._keys[places] == keys)

    def _add(self, keys: IntArray, scores: FloatArray) -> None:
        keys, first = np.unique(keys, return_index=True)
        new = ~self._known(keys)
        places = np.searchsorted(self._keys, keys[new])
        self._keys = np.insert(self._keys, places, keys[new])
        self._scores = np.insert(self._scores, places, scores[first][new])
