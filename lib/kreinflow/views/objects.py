"""What views are made of: the residues and the vectors of objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from kreinflow.numerics import FloatArray, IntArray, tiled_product
from kreinflow.views.words import Words

Features: TypeAlias = FloatArray | scipy.sparse.csr_array
"""A row for each object."""

_ROWS = 512


@dataclass(frozen=True, eq=False)
class Viewed:
    """Objects as views see them.

    Parameters
    ----------
    sequences : sequence of bytes, optional
        Their residues, for words.
    vectors : ndarray of shape (n, n_numbers), optional
        The user's, such as embeddings.
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
        """Return the features of a view, "words" or "vectors".

        Raises
        ------
        TypeError
            If the objects lack what the view is made of.
        """
        if view == "words" and words is not None and self.sequences is not None:
            return words.features(self.sequences)
        if view == "vectors" and self.vectors is not None:
            return np.asarray(self.vectors, dtype=np.float64)
        raise TypeError(f"the objects have nothing that the view {view} is made of")


def joined(sequences: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    """Return sequences as two arrays, ``residues`` and ``ends``."""
    ends = np.cumsum([len(sequence) for sequence in sequences])
    return {
        "residues": np.frombuffer(b"".join(sequences), dtype=np.uint8),
        "ends": ends.astype(np.int64),
    }


def cut(residues: NDArray[Any], ends: NDArray[Any]) -> tuple[bytes, ...]:
    """Return the sequences of :func:`joined`.

    Raises
    ------
    ValueError
        If the arrays do not agree.
    """
    if residues.dtype != np.uint8 or residues.ndim != 1 or ends.ndim != 1:
        raise ValueError("sequences are not bytes")
    if len(ends) == 0 or ends[-1] != len(residues) or (np.diff(ends, prepend=0) <= 0).any():
        raise ValueError("sequences and their ends do not agree")
    data = residues.tobytes()
    starts = [0, *ends[:-1].tolist()]
    return tuple(data[a:b] for a, b in zip(starts, ends.tolist(), strict=True))


def inner_products(X: Features, Y: Features) -> FloatArray:
    """Return X Y', of shape (n, p); each row depends on its own row of X alone, bit for bit."""
    if isinstance(X, scipy.sparse.csr_array) and isinstance(Y, scipy.sparse.csr_array):
        out, other = np.empty((X.shape[0], Y.shape[0])), Y.T.tocsr()
        for start in range(0, len(out), _ROWS):  # nearly full, it is larger than dense
            (X[start : start + _ROWS] @ other).toarray(out=out[start : start + _ROWS])
        return out
    assert isinstance(X, np.ndarray)
    assert isinstance(Y, np.ndarray)
    return tiled_product(X, np.ascontiguousarray(Y.T))


def square_norms(X: Features) -> FloatArray:
    """Return the squared length of each row."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", X, X))
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()


def squared_distances(X: Features, Y: Features) -> FloatArray:
    """Return the squared distance of each row of X and each of Y, of shape (n, p).

    Dense ones are measured from the mean of Y: what all have in common costs digits.
    """
    if isinstance(X, np.ndarray) and isinstance(Y, np.ndarray):
        mean = Y.mean(axis=0)
        X, Y = X - mean, Y - mean
    distances = inner_products(X, Y)
    distances *= -2.0
    distances += square_norms(X)[:, None]
    distances += square_norms(Y)
    return np.maximum(distances, 0.0, out=distances)
