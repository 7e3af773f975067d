"""Counts, means and covariances of classes, by tiles of rows, and least squares from them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.errors import InputError
from kreinflow.base.lapack import add_products
from kreinflow.base.numerics import FloatArray, IntArray, single_threaded, tile_sum
from kreinflow.base.tiled_matrix import MatrixLike
from kreinflow.learners.linear_systems import solve_positive
from kreinflow.learners.one_against_rest import fitted_classes

_CENTRED = 1024  # rows in memory at once beside those that are given
_TURNED = 128  # rows that are turned at once, which the cache holds
_NO_VARIANCE = 1e-24  # of rows, against the square of their mean: rounding alone


def class_counts(y: IntArray, n_classes: int) -> NDArray[np.intp]:
    """Return the number of rows of each class; InputError if one has none, or is the only one."""
    counts = np.bincount(y, minlength=n_classes)
    if n_classes < 2 or len(counts) != n_classes or not counts.all():
        empty = np.flatnonzero(counts == 0).tolist()
        raise InputError(
            f"classes {empty} of {n_classes} have no training rows (or there is one class only). "
            "Drop small classes by a larger min_class_size, or use fewer folds."
        )
    return counts


def class_means(Z: MatrixLike, y: NDArray[Any], counts: NDArray[np.intp]) -> FloatArray:
    """Return the mean row of each class, of shape (n_classes, r).

    ``y`` has the code of each record or, of shape (n, n_classes), tells of which classes it is.
    """
    codes = np.arange(len(counts))[:, None]

    def part(rows: slice) -> FloatArray:
        own = codes == y[rows] if y.ndim == 1 else y[rows].T
        return np.asarray(own.astype(np.float64) @ Z[rows])

    return tile_sum(part, len(y)) / counts[:, None]


def covariance_about(
    Z: MatrixLike, mean: FloatArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return the covariance of the (weighted) rows about ``mean``, divided by their number."""
    roots = None if weights is None else np.sqrt(weights)

    def part(rows: slice) -> FloatArray:
        """Return the upper triangle of a tile, of which a part at a time is centred."""
        upper = np.zeros((Z.shape[1], Z.shape[1]), order="F")
        for start in range(rows.start, rows.stop, _CENTRED):
            stop = min(start + _CENTRED, rows.stop)
            block = Z[start:stop] - mean
            if roots is not None:
                block *= roots[start:stop, None]
            add_products(block, upper)
        return upper

    scatter = tile_sum(part, len(Z))
    scatter /= len(Z)
    _mirror(scatter)
    return scatter.T


def _mirror(A: FloatArray) -> None:
    """Write the upper triangle of a matrix over its lower one."""
    for start in range(0, len(A), _TURNED):
        stop = min(start + _TURNED, len(A))
        own = np.triu(A[start:stop, start:stop])
        A[start:stop, start:stop] = own + np.triu(own, 1).T
        A[stop:, start:stop] = A[start:stop, stop:].T


def check_variance(variance: float, mean: FloatArray, n: int) -> None:
    """Raise InputError of n rows that are all the same: ``variance`` is the trace of all."""
    if not variance > _NO_VARIANCE * float(mean @ mean):
        raise InputError(
            f"all {n} training rows look the same to the landmarks (or are not finite), so nothing "
            "can be learned: choose other landmarks, or check the scores."
        )


@dataclass(frozen=True, eq=False)
class Moments:
    r"""First and second moments of rows z and of targets y = +-1: all that least squares needs.

    .. math::
        T = \sum_i (z_i - \bar z)(z_i - \bar z)'/N, \qquad q = \sum_i (z_i - \bar z) y_i/N ,

    the terms multiplied by the weights of the rows, of mean 1, if there are any. The variance of
    the targets is :math:`1 - \bar y^2`.
    """

    mean: FloatArray  # (r,)
    covariance: FloatArray  # T, (r, r)
    cross: FloatArray  # q, (r, k), a column for each class that is fitted
    target_means: FloatArray  # (k,)

    @classmethod
    def of(cls, Z: MatrixLike, y: IntArray, n_classes: int, balanced: bool = False) -> "Moments":
        """Return the moments, with the targets of :func:`fitted_classes`, O(N r^2).

        If ``balanced``, the rows of class c have the weight N/(K n_c) instead of 1. InputError if
        a class has no row, there is one class only, or all rows are the same.
        """
        classes = fitted_classes(n_classes)
        with single_threaded():
            shares, means, weights = _weighed(Z, y, n_classes, balanced)
            mean = shares @ means
            covariance = covariance_about(Z, mean, weights if balanced else None)
        check_variance(float(np.trace(covariance)), mean, len(y))
        # With targets of +-1, the sum of (z - mean) y is twice that over the class.
        cross = 2.0 * shares[classes] * (means[classes] - mean).T
        return cls(mean, covariance, cross, 2.0 * shares[classes] - 1.0)

    @property
    def scale(self) -> float:
        """The mean diagonal of the covariance, in which penalties are measured."""
        return float(np.trace(self.covariance)) / len(self.covariance)

    def least_squares(self, penalties: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return w = (T + t diag(penalties))^-1 q and b = ybar - w'zbar of the classes, t = scale.

        InputError if the matrix is not positive definite in the precision of the machine.
        """
        with single_threaded():
            T, diagonal = self.covariance, self.covariance.diagonal().copy()
            shift, failure = self.scale * penalties, _too_small(penalties)
            try:  # it changes the lower triangle, and needs no second matrix for it
                coef = solve_positive(T, self.cross, shift, failure)
            finally:
                np.fill_diagonal(T, diagonal)
                _mirror(T)
            return coef, self.target_means - self.mean @ coef


@dataclass(frozen=True, eq=False)
class FewRows:
    r"""The rows themselves, where they are fewer than their columns: least squares in O(N^2 r).

    With rows :math:`a_i = (z_i - \bar z) \sqrt{w_i/N}` of A and :math:`u_i = y_i \sqrt{w_i/N}`
    the moments are :math:`T = A'A` and :math:`q = A'u`, and for a diagonal S above 0

    .. math:: (T + S)^{-1} q = S^{-1} A' (A S^{-1} A' + I)^{-1} u .
    """

    rows: FloatArray  # A, (N, r)
    targets: FloatArray  # u, (N, k)
    mean: FloatArray  # (r,)
    target_means: FloatArray  # (k,)

    @classmethod
    def of(cls, Z: MatrixLike, y: IntArray, n_classes: int, balanced: bool = False) -> "FewRows":
        """Return the rows; parameters and faults are those of :meth:`Moments.of`."""
        classes = fitted_classes(n_classes)
        with single_threaded():
            shares, means, weights = _weighed(Z, y, n_classes, balanced)
            mean, roots = shares @ means, np.sqrt(weights / len(y))[:, None]
            rows = (np.asarray(Z[: len(y)]) - mean) * roots
        check_variance(float(np.sum(rows**2)), mean, len(y))
        targets = np.where(y[:, None] == np.arange(n_classes)[classes], roots, -roots)
        return cls(rows, targets, mean, 2.0 * shares[classes] - 1.0)

    @property
    def scale(self) -> float:
        """See :attr:`Moments.scale`."""
        return float(np.mean(np.sum(self.rows**2, axis=0)))

    @cached_property
    def _products(self) -> FloatArray:
        """A A'."""
        return np.asarray(self.rows @ self.rows.T)

    def least_squares(self, penalties: FloatArray) -> tuple[FloatArray, FloatArray]:
        """See :meth:`Moments.least_squares`."""
        failure, shift = _too_small(penalties), self.scale * penalties
        if not shift.min() > 0.0:
            raise failure
        with single_threaded():
            scaled = self.rows / shift
            alike = shift.min() == shift.max()  # then all penalties share their products
            products = self._products / shift[0] if alike else scaled @ self.rows.T
            dual = solve_positive(products, self.targets, 1.0, failure)
            coef = scaled.T @ dual
            return coef, self.target_means - self.mean @ coef


def least_squares_of(
    Z: MatrixLike, y: IntArray, n_classes: int, balanced: bool = False
) -> Moments | FewRows:
    """Return what solves least squares in fewer steps; see :meth:`Moments.of`."""
    kind = FewRows if 2 * len(y) < Z.shape[1] else Moments
    return kind.of(Z, y, n_classes, balanced)


def _too_small(penalties: FloatArray) -> InputError:
    return InputError(
        f"a penalty of {penalties.min():g} is too small to solve the least squares problem. "
        "Give a larger one."
    )


def _weighed(
    Z: MatrixLike, y: IntArray, n_classes: int, balanced: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the share of each class, its mean row, and the weight of each row, of mean 1."""
    counts = class_counts(y, n_classes)
    shares = np.full(n_classes, 1.0 / n_classes) if balanced else counts / len(y)
    return shares, class_means(Z, y, counts), (shares * len(y) / counts)[y]
