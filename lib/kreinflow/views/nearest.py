"""The nearest of many points by products of matrices in single precision."""

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.numerics import (
    PRODUCT_ROWS,
    TILE,
    FloatArray,
    IntArray,
    current_limits,
    ordered_map,
)
from kreinflow.views.objects import (
    Viewed,
    Words,
    add_sparse_products,
    common_columns,
    square_norms,
    without_columns,
)

WIDTH = 2 * TILE
"""Points of one tile: a row of its products stays in the nearest cache, a place in 16 bits."""

_AT_ONCE = 512  # points of a tile that are made at once: bounds memory
_SAMPLE = 4096  # points that tell centre, scale and common words
_FARTHEST = 1e15  # a coordinate at most, so that squares fit single precision


class _Coordinates(NamedTuple):
    """Rows whose products and squared lengths make the distances."""

    dense: NDArray[np.float32]  # of dense views and common words
    words: "scipy.sparse.csr_array | None"  # the others
    norms: NDArray[np.float32]  # squared lengths


class _PointTile(NamedTuple):
    """Points, transposed."""

    dense: NDArray[np.float32]
    words: tuple[NDArray[Any], ...] | None
    norms: NDArray[np.float32]

    @property
    def nbytes(self) -> int:
        return self.dense.nbytes + sum(part.nbytes for part in self.words or ())

    def distances(self, rows: _Coordinates) -> NDArray[np.float32]:
        """Return squared distances, each row's less a constant of it."""
        n = len(rows.dense)
        filled = np.zeros((PRODUCT_ROWS, rows.dense.shape[1]), dtype=np.float32)
        filled[:n] = rows.dense  # of one height, so that a row does not depend on the others
        products = (filled @ self.dense)[:n]
        if rows.words is not None and self.words is not None:
            add_sparse_products(rows.words, self.words, products)
        products *= np.float32(-2)
        products += self.norms
        return products


class Search:
    r"""Points among which the nearest of other objects are found.

    The squared distance of two objects is

    .. math:: d(x, y) = \sum_v r_v \|x_v - y_v\|^2

    for the rates r of the views, in single precision relative to the spread of all points. A result
    depends on the object and the points alone, and not on other objects or threads.
    """

    def __init__(
        self,
        rates: Mapping[str, float],
        words: Words | None,
        scores: NDArray[np.floating],
        objects: Viewed,
    ) -> None:
        self._rates, self._words = dict(rates), words
        self._scores, self._objects = scores, objects
        self._tiles: dict[int, _PointTile] = {}
        places = np.arange(0, len(scores), max(1, len(scores) // _SAMPLE))
        counts, found = np.zeros(0 if words is None else words.n_features, dtype=np.int64), []
        for own in (places[i : i + _AT_ONCE] for i in range(0, len(places), _AT_ONCE)):
            views, counted = self._views(scores[own], objects.take(own))
            found.append(views)
            if counted is not None:
                counts += np.bincount(counted.indices, minlength=len(counts))
        dense = {view: np.concatenate([own[view] for own in found]) for view in found[0]}
        self._common = common_columns(counts, len(places))
        self._centres = {view: np.median(X, axis=0) for view, X in dense.items()}  # robust
        spread = rates["words"] * len(words.lengths) if words and "words" in rates else 0.0
        for view, X in dense.items():
            spread += rates[view] * float(np.median(square_norms(X - self._centres[view])))
        self._scale = 1.0 / spread if spread > 0 else 1.0

    def nearest(
        self, scores: NDArray[np.floating], objects: Viewed | None, q: int
    ) -> NDArray[np.int64]:
        """Return the places of the q nearest points of each object in order, (n, min(q, p))."""
        n, objects = len(scores), objects or Viewed()
        q = min(q, len(self._scores))
        places = np.empty((n, q), dtype=np.int64)
        for start in range(0, n, TILE):
            part = np.arange(start, min(start + TILE, n))
            places[part] = self._nearest(scores[part], objects.take(part), q)
        return places

    def _nearest(self, scores: NDArray[np.floating], objects: Viewed, q: int) -> NDArray[np.int64]:
        n = len(scores)
        blocks = [np.arange(n)[first : first + PRODUCT_ROWS] for first in range(0, n, PRODUCT_ROWS)]
        rows = list(
            ordered_map(lambda own: self._coordinates(scores[own], objects.take(own)), blocks)
        )
        distances = [np.full((len(block), q), np.inf, dtype=np.float32) for block in blocks]
        places = [np.zeros((len(block), q), dtype=np.int64) for block in blocks]
        for start in range(0, len(self._scores), WIDTH):
            tile = self._tile(start)

            def look(block: int, tile: _PointTile = tile, start: int = start) -> None:
                found = tile.distances(rows[block])
                _keep_nearest(found, start, distances[block], places[block])

            deque(ordered_map(look, range(len(blocks))), maxlen=0)
        return np.concatenate(places)

    def _views(
        self, scores: NDArray[np.floating], objects: Viewed
    ) -> "tuple[dict[str, FloatArray], scipy.sparse.csr_array | None]":
        """Return the dense features of each view that has a rate, and the words."""
        dense = {"scores": np.asarray(scores, dtype=np.float64)} if "scores" in self._rates else {}
        if "vectors" in self._rates:
            dense["vectors"] = np.asarray(objects.features("vectors", None))
        if "words" not in self._rates:
            return dense, None
        words = objects.features("words", self._words)
        assert isinstance(words, scipy.sparse.csr_array)
        return dense, words

    def _coordinates(self, scores: NDArray[np.floating], objects: Viewed) -> _Coordinates:
        dense, words = self._views(scores, objects)
        roots = {view: np.sqrt(rate * self._scale) for view, rate in self._rates.items()}
        parts = [roots[view] * (X - self._centres[view]) for view, X in dense.items()]
        rest = None
        if words is not None:
            words.data = (roots["words"] * words.data).astype(np.float32)
            parts.append(words[:, self._common].toarray())
            rest = without_columns(words, self._common)
        together = np.clip(np.hstack(parts), -_FARTHEST, _FARTHEST)
        norms = square_norms(together)
        if rest is not None:
            norms += square_norms(rest)
        return _Coordinates(together.astype(np.float32), rest, norms.astype(np.float32))

    def _tile(self, start: int) -> _PointTile:
        """Return the points from a place on, kept if a quarter of the memory suffices for all."""
        if start in self._tiles:
            return self._tiles[start]
        places = np.arange(start, min(start + WIDTH, len(self._scores)))
        parts = [places[i : i + _AT_ONCE] for i in range(0, len(places), _AT_ONCE)]
        n_dense = len(self._common) + sum(len(own) for own in self._centres.values())
        dense = np.empty((n_dense, len(places)), dtype=np.float32)
        norms, words, counted = np.empty(len(places), dtype=np.float32), None, []
        for own in parts:
            points = self._coordinates(self._scores[own], self._objects.take(own))
            dense[:, own - start], norms[own - start] = points.dense.T, points.norms
            if points.words is not None:
                counted.append(points.words)
        if counted:
            together = scipy.sparse.csr_array(scipy.sparse.vstack(counted, format="csr"))
            counted.clear()  # bounds memory
            columns = together.T.tocsr()
            words = columns.indptr, columns.indices.astype(np.uint16), columns.data
        tile = _PointTile(dense, words, norms)
        held = sum(other.nbytes for other in self._tiles.values())
        if held + tile.nbytes <= current_limits().memory / 4:
            self._tiles[start] = tile
        return tile


def _keep_nearest(
    found: NDArray[np.float32], start: int, distances: NDArray[np.float32], places: IntArray
) -> None:
    """Merge the distances of a tile into the smallest ones of each row, which are sorted."""
    n, q = distances.shape
    limits = distances[:, -1]
    if found.shape[1] > q and np.isinf(limits).any():
        limits = np.partition(found, q - 1, axis=1)[:, q - 1]
    row_of, columns = np.nonzero(found <= limits[:, None])
    ends = np.searchsorted(row_of, np.arange(n + 1))
    for row in np.flatnonzero(np.diff(ends)).tolist():
        own = columns[ends[row] : ends[row + 1]]
        both = np.concatenate([distances[row], found[row, own]])
        order = np.argsort(both, kind="stable")[:q]
        places[row] = np.concatenate([places[row], start + own])[order]
        distances[row] = both[order]
