"""One class against the rest, with targets of +1 and -1: the moments that all classes share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kreinflow.learners.moments import (
    check_variance,
    class_counts,
    class_means,
    covariance_about,
)
from kreinflow.numerics import FloatArray, IntArray, single_threaded
from kreinflow.tall import Tall


def fitted_classes(n_classes: int) -> NDArray[np.intp]:
    """Return the class codes to fit: of two classes the second alone, for the first mirrors it."""
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)


def with_mirror(
    coef: FloatArray, intercept: FloatArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Return weights and intercepts of all classes; of two, the first is minus the second."""
    if n_classes == 2:
        return np.hstack([-coef, coef]), np.hstack([-intercept, intercept])
    return coef, intercept


@dataclass(frozen=True, eq=False)
class Moments:
    r"""First and second moments of rows z and of targets y = +-1: all that least squares needs.

    Rows may have weights of mean 1, by which their terms are multiplied.

    Parameters
    ----------
    mean : ndarray of shape (r,)
        :math:`\bar z`.
    covariance : ndarray of shape (r, r)
        :math:`T = \sum_i (z_i - \bar z)(z_i - \bar z)'/N`.
    cross : ndarray of shape (r, k)
        :math:`q = \sum_i (z_i - \bar z) y_i/N`, a column for each class that is fitted.
    target_means : ndarray of shape (k,)
        :math:`\bar y`; as :math:`y^2 = 1`, the variance of the targets is
        :math:`1 - \bar y^2`.
    """

    mean: FloatArray
    covariance: FloatArray
    cross: FloatArray
    target_means: FloatArray

    @classmethod
    def of(cls, Z: Tall, y: IntArray, n_classes: int, balanced: bool = False) -> "Moments":
        """Return the moments, with the targets of :func:`fitted_classes`, O(N r^2).

        Parameters
        ----------
        Z : ndarray of shape (N, r)
        y : ndarray of shape (N,)
            Class codes, 0 to ``n_classes - 1``; each must occur.
        n_classes : int
        balanced : bool
            Give all classes the same weight, by weights N/(K n_c) of the rows of class c, in place
            of one for each row.

        Raises
        ------
        InputError
            If a class has no row, there is one class only, or all rows are the same.
        """
        counts = class_counts(y, n_classes)
        classes = fitted_classes(n_classes)
        with single_threaded():
            means = class_means(Z, y, counts)
            shares = np.full(n_classes, 1.0 / n_classes) if balanced else counts / len(y)
            mean = shares @ means
            weights = (shares * len(y) / counts)[y] if balanced else None
            covariance = covariance_about(Z, mean, weights)
        check_variance(float(np.trace(covariance)), mean, len(y))
        # With targets of +-1, the sum of (z - mean) y is twice that over the class.
        cross = 2.0 * shares[classes] * (means[classes] - mean).T
        return cls(mean, covariance, cross, 2.0 * shares[classes] - 1.0)

    @property
    def scale(self) -> float:
        """The mean diagonal of the covariance, in which penalties are measured."""
        return float(np.trace(self.covariance)) / len(self.covariance)
