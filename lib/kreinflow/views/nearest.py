"""The nearest of many points, exactly: single precision first, double where that cannot tell."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from kreinflow.base.compiled import worth_compiling
from kreinflow.base.numerics import (
    PRODUCT_ROWS,
    TILE,
    FloatArray,
    IntArray,
    current_limits,
    ordered_map,
)
from kreinflow.views import few
from kreinflow.views.objects import square_norms
from kreinflow.views.words import Words

WIDTH = 2 * TILE
"""Points of one tile: a row of its products stays in the nearest cache, a place in 16 bits."""

_SAMPLE = 4096  # points that tell which words are common
_CROWD = 256  # points of a pool beside 2 q, before the farthest of them are told by exact distances
_UNDERFLOW = 1e-30  # more than single precision loses below its range, for squared lengths of 1


@dataclass(frozen=True, eq=False)
class Given:
    """Rows and what they are made of.

    Parameters
    ----------
    dense : mapping of str to ndarray of shape (n, n_features)
        Of each view that is not words.
    sequences : sequence of bytes or None
        For words.
    """

    dense: Mapping[str, NDArray[np.floating]]
    sequences: Sequence[bytes] | None = None

    def some(self, rows: slice) -> "Given":
        """Return some of them."""
        sequences = None if self.sequences is None else self.sequences[rows]
        return Given({view: own[rows] for view, own in self.dense.items()}, sequences)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows in the coordinates that products are made of, scaled to squared lengths near 1."""

    dense: NDArray[np.float32]  # of views and common words
    rest: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None  # of other words
    norms: FloatArray


@dataclass(frozen=True, eq=False)
class _Tile:
    """Points, transposed."""

    start: int
    columns: NDArray[np.float32]
    rest: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None
    norms: FloatArray

    @property
    def nbytes(self) -> int:
        return self.columns.nbytes + sum(part.nbytes for part in self.rest or ())


class _Pool:
    """Points that may be among the q nearest of one row, by bounds of their squared distances.

    Parameters
    ----------
    q : int
    distances : callable
        Returns the exact squared distances of the row and some points, by their places.
    """

    def __init__(self, q: int, distances: Callable[[IntArray], FloatArray]) -> None:
        self._q, self._distances = q, distances
        self.places: IntArray = np.empty(0, dtype=np.int64)
        self._lower: FloatArray = np.empty(0)
        self._upper: FloatArray = np.empty(0)
        self.limit = np.inf  # at least the q-th smallest distance

    def add(self, places: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        self.places = np.concatenate([self.places, places])
        self._lower = np.concatenate([self._lower, lower])
        self._upper = np.concatenate([self._upper, upper])
        if len(self.places) > self._q:
            self.limit = float(np.partition(self._upper, self._q - 1)[self._q - 1]) + _UNDERFLOW
            self._keep(np.flatnonzero(self._lower <= self.limit))
        if len(self.places) > 2 * self._q + _CROWD:
            self._keep(self._ranked())

    def nearest(self) -> IntArray:
        """Return the places of the q nearest, the nearest first."""
        return np.asarray(self.places[self._ranked()])

    def _keep(self, some: IntArray) -> None:
        self.places = self.places[some]
        self._lower, self._upper = self._lower[some], self._upper[some]

    def _ranked(self) -> IntArray:
        order = np.argsort(self._lower)
        lower, upper = self._lower[order], np.maximum.accumulate(self._upper[order])
        apart = lower[1:] > upper[:-1] + _UNDERFLOW
        if apart.all():
            return np.asarray(order[: self._q])
        group = np.concatenate([[0], np.cumsum(apart)])
        places, distances = self.places[order], np.zeros(len(order))
        crowded = np.bincount(group)[group] > 1  # the bounds do not tell their order
        distances[crowded] = self._distances(places[crowded])
        return np.asarray(order[np.lexsort((places, distances, group))[: self._q]])


class Search:
    r"""Points among which the nearest of others are found.

    The squared distance of two objects is

    .. math:: d(x, y) = \sum_v r_v \|x_v - y_v\|^2 .

    A product of matrices in single precision gives it for all pairs, with a bound of the rounding
    errors: for T products of numbers, unit roundoff u and z = :math:`(\sqrt{r_v} x_v)_v`

    .. math:: |\hat d - d| \le 1.1\, (T + 8)\, u\, (\|z_x\|^2 + \|z_y\|^2) .

    Points whose order these bounds do not tell have their distances added up in double precision,
    view by view and feature by feature; where they are many, before all points were seen. So a
    result depends on nothing but the row and the points: not on tiles, threads, other rows or the
    library of the product.

    Parameters
    ----------
    rates : mapping of str to float
        r of each view.
    points : Given
    words : Words or None
        What makes the view "words".
    """

    def __init__(self, rates: Mapping[str, float], points: Given, words: Words | None) -> None:
        self._rates, self._points = dict(rates), points
        self._words = words if "words" in rates else None
        parts = [len(own) for own in points.dense.values()]
        self._n = parts[0] if parts else len(points.sequences or ())
        self._kept: dict[int, _Tile] = {}

    @property
    def held(self) -> int:
        """Bytes of what was made of the points and is kept for the next search."""
        coded = self.__dict__.get("_coded", ())
        return sum(part.nbytes for part in (*coded, *self._kept.values()))

    @cached_property
    def _means(self) -> dict[str, FloatArray]:
        return {v: Y.mean(axis=0, dtype=np.float64) for v, Y in self._points.dense.items()}

    @cached_property
    def _scale(self) -> float:
        """The inverse of the mean squared length, but for words that are too short to count."""
        total = 0.0 if self._words is None else self._rates["words"] * len(self._words.lengths)
        for view, Y in self._points.dense.items():
            some = Y[:: max(1, self._n // _SAMPLE)] - self._means[view]
            total += self._rates[view] * float(square_norms(some).mean())
        return 1.0 / total if total > 0 else 1.0

    @cached_property
    def _common(self) -> IntArray:
        """The words that many points have, for which products of all are faster."""
        if self._words is None or self._points.sequences is None:
            return np.empty(0, dtype=np.int64)
        some = self._words.features(self._points.sequences[:: max(1, self._n // _SAMPLE)])
        counts = np.bincount(some.indices, minlength=some.shape[1])
        return np.flatnonzero(counts >= some.shape[0] / 8 + 32)

    @cached_property
    def _coded(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        assert self._words is not None
        assert self._points.sequences is not None
        return self._words.coded(self._points.sequences)

    def _rows(self, given: Given) -> _Rows:
        n = len(next(iter(given.dense.values()), given.sequences or ()))
        parts = [
            np.sqrt(self._rates[view] * self._scale) * (own - self._means[view])
            for view, own in given.dense.items()
        ]
        dense = np.hstack([np.empty((n, 0)), *parts])
        norms, dense = square_norms(dense), dense.astype(np.float32)
        if self._words is None or given.sequences is None:
            return _Rows(dense, None, norms)
        words = self._words.features(given.sequences)
        words.data *= np.sqrt(self._rates["words"] * self._scale)
        norms += square_norms(words)
        words.data = words.data.astype(np.float32)
        dense = np.hstack([dense, words[:, self._common].toarray()])
        common = np.zeros(words.shape[1], dtype=bool)
        common[self._common] = True
        words.data[common[words.indices]] = 0.0
        words.eliminate_zeros()
        return _Rows(dense, (words.indptr, words.indices, words.data), norms)

    def _tile(self, start: int) -> _Tile:
        if start in self._kept:
            return self._kept[start]
        rows = self._rows(self._points.some(slice(start, start + WIDTH)))
        rest = None
        if rows.rest is not None and self._words is not None:
            indptr, indices, values = rows.rest
            shape = len(rows.norms), self._words.n_features
            other = scipy.sparse.csr_array((values, indices, indptr), shape=shape).T.tocsr()
            rest = other.indptr, other.indices.astype(np.uint16), other.data
        tile = _Tile(start, np.ascontiguousarray(rows.dense.T), rest, rows.norms)
        if self.held + tile.nbytes <= current_limits().memory / 4:
            self._kept[start] = tile
        return tile

    def nearest(self, given: Given, q: int) -> IntArray:
        """Return the places of the q nearest points of each row, the nearest first.

        Of points at the same distance the lower place comes first.

        Parameters
        ----------
        given : Given
            n rows.
        q : int
            At least 1.

        Returns
        -------
        ndarray of shape (n, min(q, p))
        """
        n = len(next(iter(given.dense.values()), given.sequences or ()))
        q = min(q, self._n)
        found = np.empty((n, q), dtype=np.int64)
        for first in range(0, n, TILE):
            part = slice(first, min(first + TILE, n))
            found[part] = self._nearest(given.some(part), part.stop - first, q)
        return found

    def _nearest(self, given: Given, n: int, q: int) -> IntArray:
        own = [given.some(slice(row, row + 1)) for row in range(n)]
        pools = [_Pool(q, partial(self._distances, row)) for row in own]
        blocks = [slice(first, min(first + PRODUCT_ROWS, n)) for first in range(0, n, PRODUCT_ROWS)]
        rows = [self._rows(given.some(block)) for block in blocks]
        for start in range(0, self._n, WIDTH):
            tile = self._tile(start)

            def look(number: int, tile: _Tile = tile) -> None:
                _look(rows[number], tile, pools[blocks[number]])

            for _ in ordered_map(look, range(len(blocks))):
                pass

        return np.stack([*ordered_map(lambda row: pools[row].nearest(), range(n))])

    def _distances(self, row: Given, places: IntArray) -> FloatArray:
        """Return the squared distances of one row and some points."""
        add_distances: Any = few.add_distances
        add_word_distances: Any = few.add_word_distances
        if worth_compiling(100 * len(places)):
            from kreinflow.views.loops import add_distances, add_word_distances
        out = np.zeros(len(places))
        for view, own in row.dense.items():
            with np.errstate(over="ignore", invalid="ignore"):  # as the compiled loop
                add_distances(
                    *(own[0].astype(np.float64), self._points.dense[view], places),
                    *(self._rates[view], out),
                )
        if self._words is not None and row.sequences is not None:
            add_word_distances(
                self._words.coded(row.sequences[:1])[0],
                *self._coded,
                np.array(self._words.lengths, dtype=np.int64),
                len(self._words.letters),
                places,
                self._rates["words"],
                out,
            )
        return out


def _look(rows: _Rows, tile: _Tile, pools: Sequence[_Pool]) -> None:
    """Add the points of a tile that may be among the nearest to the pools of rows."""
    terms = rows.dense.shape[1] + (0 if rows.rest is None else int(np.diff(rows.rest[0]).max()))
    error = 1.1 * (terms + 8) * 2.0**-24
    own = (1 - error) * rows.norms
    limits = np.array([pool.limit for pool in pools]) - own
    with np.errstate(over="ignore", invalid="ignore"):  # of points at a billion times the distance
        products = rows.dense @ tile.columns
        if rows.rest is not None and tile.rest is not None:
            add_products: Any = few.add_products
            if worth_compiling(3 * len(rows.rest[1])):
                from kreinflow.views.loops import add_products
            add_products(*rows.rest, *tile.rest, products)
        products *= np.float32(-2)
        products += ((1 - error) * tile.norms).astype(np.float32)
        above = np.nextafter(limits.astype(np.float32), np.float32(np.inf))
        row_of, columns = np.nonzero(~(products > above[:, None]))
    lower = products[row_of, columns] + own[row_of]
    upper = lower + 2 * error * (rows.norms[row_of] + tile.norms[columns])
    unknown = ~np.isfinite(lower)
    lower[unknown], upper[unknown] = -np.inf, np.inf
    ends = np.searchsorted(row_of, np.arange(len(pools) + 1))
    for row in np.flatnonzero(np.diff(ends)).tolist():
        part = slice(ends[row], ends[row + 1])
        pools[row].add(tile.start + columns[part], lower[part], upper[part])
