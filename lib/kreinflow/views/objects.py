"""What views are made of: the words of residues, and the vectors of objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from kreinflow.base.numerics import (
    FloatArray,
    IntArray,
    tiled_product,
    worth_compiling,
)

Features: TypeAlias = "FloatArray | scipy.sparse.csr_array"
"""A row for each object."""

_WORD_ROWS = 256  # counted at once: there is room for a word at each of their residues


@dataclass(frozen=True)
class Words:
    r"""Square roots of the shares of the words of a sequence, a block for each length of words.

    A sequence with :math:`c_w` words w of length k has the features

    .. math:: x_w = \sqrt{c_w / \sum_{v: |v| = k} c_v} ,

    so each block has the norm 1, or 0 where the sequence is shorter than k, and the squared
    distance of two sequences in a block is twice the squared Hellinger distance of their words.
    """

    lengths: tuple[int, ...]
    letters: str

    @property
    def n_features(self) -> int:
        """The number of words."""
        return sum(len(self.letters) ** k for k in self.lengths)

    def features(self, sequences: Sequence[bytes]) -> "scipy.sparse.csr_array":
        """Return the features, (n, n_features); a row depends on its own sequence alone."""
        n = max(1, len(sequences))
        blocks = [self._block(sequences[i : i + _WORD_ROWS]) for i in range(0, n, _WORD_ROWS)]
        return blocks[0] if len(blocks) == 1 else scipy.sparse.vstack(blocks, format="csr")

    def _block(self, sequences: Sequence[bytes]) -> "scipy.sparse.csr_array":
        code_of = np.zeros(256, dtype=np.int32)
        code_of[np.frombuffer(self.letters.encode(), dtype=np.uint8)] = np.arange(len(self.letters))
        codes = code_of[np.frombuffer(b"".join(sequences), dtype=np.uint8)]
        sizes = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
        left = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(codes))  # to the sequence's end
        n, width = len(sizes), self.n_features
        kind = np.int32 if n * width < 1 << 31 else np.int64  # fewer bits are sorted faster
        row = np.repeat(np.arange(n, dtype=kind) * width, sizes)
        starts = np.cumsum([0, *(len(self.letters) ** k for k in self.lengths)])[:-1]
        cells = []
        for k, start in zip(self.lengths, starts.tolist(), strict=True):
            words = row[: max(len(codes) - k + 1, 0)] + start
            for place in range(k):
                words += codes[place : place + len(words)] * len(self.letters) ** (k - 1 - place)
            cells.append(words[left[: len(words)] >= k])
        every = np.sort(np.concatenate(cells))
        new = np.ones(len(every), dtype=bool)
        new[1:] = every[1:] != every[:-1]
        first = np.flatnonzero(new)
        counts, found = np.diff(first, append=len(every)), every[first]
        ends = np.searchsorted(found, np.add.outer(np.arange(n + 1) * width, starts))
        per_length = np.diff(ends.ravel())[: n * len(starts)]
        totals = np.repeat(np.subtract.outer(sizes, np.array(self.lengths) - 1), per_length)
        where = (found % width).astype(np.int32), ends[:, 0].astype(np.int32)
        return scipy.sparse.csr_array((np.sqrt(counts / totals), *where), shape=(n, width))


@dataclass(frozen=True, eq=False)
class Viewed:
    """Objects as views see them.

    Their residues, for words, and the user's vectors of shape (n, n_numbers), such as embeddings.
    """

    sequences: Sequence[bytes] | None = None
    vectors: NDArray[Any] | None = None

    def take(self, places: IntArray) -> "Viewed":
        """Return some of the objects."""
        sequences, vectors = self.sequences, self.vectors
        return Viewed(
            None if sequences is None else [sequences[place] for place in places.tolist()],
            None if vectors is None else vectors[places],
        )

    def features(self, view: str, words: Words | None) -> Features:
        """Return the features of "words" or "vectors"; TypeError if the objects lack them."""
        if view == "words" and words is not None and self.sequences is not None:
            return words.features(self.sequences)
        if view == "vectors" and self.vectors is not None:
            return np.asarray(self.vectors, dtype=np.float64)
        raise TypeError(f"the objects have nothing that the view {view} is made of")


def residue_arrays(sequences: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    """Return sequences as two arrays, ``residues`` and ``ends``."""
    ends = np.cumsum([len(sequence) for sequence in sequences])
    return {
        "residues": np.frombuffer(b"".join(sequences), dtype=np.uint8),
        "ends": ends.astype(np.int64),
    }


def split_residues(residues: NDArray[Any], ends: NDArray[Any]) -> tuple[bytes, ...]:
    """Return the sequences of :func:`residue_arrays`; ValueError if the arrays do not agree."""
    if ends[-1:].tolist() != [len(residues)]:
        raise ValueError("sequences and their ends do not agree")
    data = residues.tobytes()
    starts = [0, *ends[:-1].tolist()]
    return tuple(data[a:b] for a, b in zip(starts, ends.tolist(), strict=True))


def add_sparse_products(
    X: "scipy.sparse.csr_array", columns: tuple[NDArray[Any], ...], out: NDArray[np.floating]
) -> None:
    """Add X Y' to ``out``, row by row; ``columns`` are the CSR arrays of Y', its indices unsigned.

    Without a sign the indices need no test in the loop, which takes a fifth off it. Few rows do
    without numba, which imports slowly; the bits are the same.
    """
    if worth_compiling(3 * X.nnz):
        from kreinflow.views.loops import add_products

        add_products(X.indptr, X.indices, X.data, *columns, out)
        return
    ends, places, values = columns
    for row, sums in enumerate(out):
        for at in range(X.indptr[row], X.indptr[row + 1]):
            part = slice(ends[X.indices[at]], ends[X.indices[at] + 1])
            sums[places[part]] += X.data[at] * values[part]


def common_columns(counts: IntArray, n: int) -> IntArray:
    """Return the columns that so many of n rows have that dense products of them are faster."""
    return np.flatnonzero(counts >= n / 8 + 32)


def without_columns(X: "scipy.sparse.csr_array", columns: IntArray) -> "scipy.sparse.csr_array":
    """Return a copy with some columns all zero."""
    marked = np.zeros(X.shape[1], dtype=bool)
    marked[columns] = True
    kept = ~marked[X.indices]
    ends = np.append(0, np.cumsum(kept, dtype=X.indptr.dtype))[X.indptr]
    return scipy.sparse.csr_array((X.data[kept], X.indices[kept], ends), shape=X.shape)


class Points:
    """Rows of shape (p, n_features) that others are compared with, prepared once.

    Sparse ones may have single precision, if the others have it too.
    """

    def __init__(self, features: Features) -> None:
        self._n, self._norms = features.shape[0], square_norms(features)
        self._dense = features if isinstance(features, np.ndarray) else None
        if not isinstance(features, np.ndarray):  # these are not kept
            self._columns = _columns_of(features)

    @cached_property
    def _about_mean(self) -> tuple[FloatArray, "Points"]:
        assert self._dense is not None
        mean = np.asarray(self._dense.mean(axis=0))
        return mean, Points(np.asarray(self._dense - mean))

    @cached_property
    def _transposed(self) -> FloatArray:
        assert self._dense is not None
        return np.ascontiguousarray(self._dense.T)

    def inner_products(self, X: Features) -> FloatArray:
        """Return X Y', of shape (n, p); each row depends on its own row of X alone, bit for bit."""
        if isinstance(X, np.ndarray):
            return tiled_product(X, self._transposed)
        common, dense, rest = self._columns
        out = tiled_product(X[:, common].toarray(), dense)
        add_sparse_products(X, rest, out)
        return out

    def squared_distances(self, X: Features) -> FloatArray:
        """Return the squared distance of each row of X and each of Y, of shape (n, p).

        Dense ones are measured from the mean of Y: what all have in common costs digits.
        """
        points = self
        if isinstance(X, np.ndarray):
            mean, points = self._about_mean
            X = X - mean
        distances = points.inner_products(X)
        distances *= -2.0
        distances += square_norms(X)[:, None].astype(distances.dtype)
        distances += points._norms.astype(distances.dtype)
        return np.maximum(distances, 0.0, out=distances)


def _columns_of(
    X: "scipy.sparse.csr_array",
) -> tuple[IntArray, FloatArray, tuple[NDArray[Any], ...]]:
    """Return the common columns, these of all rows, and the CSR arrays of the rest, transposed."""
    common = common_columns(np.bincount(X.indices, minlength=X.shape[1]), X.shape[0])
    rest = without_columns(X, common).T.tocsr()
    dense = np.ascontiguousarray(X[:, common].T.toarray())
    places = rest.indices.astype(np.uint16 if X.shape[0] <= 1 << 16 else np.uint32)
    return common, dense, (rest.indptr, places, rest.data)


def square_norms(X: Features) -> FloatArray:
    """Return the squared length of each row."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", X, X))
    parts = [X[start : start + _WORD_ROWS] for start in range(0, X.shape[0], _WORD_ROWS)]
    sums = [np.asarray(own.multiply(own).sum(axis=1), dtype=np.float64).ravel() for own in parts]
    return np.concatenate([np.empty(0), *sums])
