"""Counts, means and covariances of classes, by tiles of rows."""

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.numerics import FloatArray, IntArray, tile_map
from kreinflow.tall import Tall

_NO_VARIANCE = 1e-24  # of rows, against the square of their mean: rounding alone


def class_counts(y: IntArray, n_classes: int) -> NDArray[np.intp]:
    """Return the number of rows of each class.

    Parameters
    ----------
    y : ndarray of shape (N,)
        Class codes, 0 to ``n_classes - 1``.
    n_classes : int

    Raises
    ------
    InputError
        If a class has no row, or there is one class only.
    """
    counts = np.bincount(y, minlength=n_classes)
    if n_classes < 2 or len(counts) != n_classes or not counts.all():
        empty = np.flatnonzero(counts == 0).tolist()
        raise InputError(
            f"classes {empty} of {n_classes} have no training rows (or there is one class only). "
            "Drop small classes by the minimum class size, or use fewer folds."
        )
    return counts


def class_means(Z: Tall, y: IntArray, counts: NDArray[np.intp]) -> FloatArray:
    """Return the mean row of each class, of shape (n_classes, r)."""
    codes = np.arange(len(counts))[:, None]

    def part(rows: slice) -> FloatArray:
        return np.asarray((codes == y[rows]).astype(np.float64) @ Z[rows])

    sums = np.zeros((len(counts), Z.shape[1]))
    for block in tile_map(part, len(y)):
        sums += block
    return sums / counts[:, None]


def covariance_about(Z: Tall, mean: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the covariance of the (weighted) rows about ``mean``, divided by their number."""
    roots = None if weights is None else np.sqrt(weights)

    def part(rows: slice) -> FloatArray:
        block = Z[rows] - mean
        if roots is not None:
            block *= roots[rows, None]
        return block.T @ block

    scatter = np.zeros((Z.shape[1], Z.shape[1]))
    for block in tile_map(part, len(Z)):
        scatter += block
    return scatter / len(Z)


def check_variance(variance: float, mean: FloatArray, n: int) -> None:
    """Refuse rows that are all the same.

    Parameters
    ----------
    variance : float
        The trace of their covariance.
    mean : ndarray of shape (r,)
    n : int
        How many they are.

    Raises
    ------
    InputError
    """
    if not variance > _NO_VARIANCE * float(mean @ mean):
        raise InputError(
            f"all {n} training rows look the same to the landmarks (or are not finite), so nothing "
            "can be learned: choose other landmarks, or check the scores."
        )
