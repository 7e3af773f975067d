"""The indefinite kernel quadratic discriminant on a Krein factor (iKQD), at linear cost."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from kreinflow.errors import InputError
from kreinflow.learners.decisions import QuadraticDecision, quadratic_forms
from kreinflow.learners.learner import (
    Choice,
    Fitted,
    Learner,
    Problem,
    number_or_inner,
    values_tried,
)
from kreinflow.learners.linear import ClassDecisions
from kreinflow.learners.moments import (
    check_variance,
    class_counts,
    class_means,
    covariance_about,
)
from kreinflow.numerics import RANK_TOLERANCE, FloatArray, IntArray, single_threaded
from kreinflow.settings import SettingsSchema
from kreinflow.tall import Tall, select

QUADRATIC_RIDGES: tuple[float, ...] = (1.0, 0.1, 1e-2, 1e-3, 1e-4)
"""Ridges tried on inner folds, relative to the mean diagonal of the total covariance."""


class KreinQuadraticDiscriminant(ClassDecisions):
    r"""Quadratic discriminants of all classes on a Krein factor.

    With the mean :math:`m_c`, covariance :math:`C_c` (divided by the class size) and share
    :math:`\pi_c` of the rows z of class c,

    .. math::
        f_c(z) = - \tfrac12 (z - m_c)' (C_c + \lambda I)^{-1} (z - m_c)
                 - \tfrac12 \log\det(C_c + \lambda I) + \log \pi_c .

    In the pseudo-Euclidean space the covariance is :math:`C_c J` and the product
    :math:`\langle u, v \rangle = u' J v` with :math:`J = diag(s)`, so

    .. math:: \langle z - m_c, (C_c J)^{-1} (z - m_c) \rangle = (z - m_c)' C_c^{-1} (z - m_c):

    the signs cancel, as they do in iKFD. The ridge is Euclidean in the coordinates of the factor
    (in the pseudo-Euclidean space: :math:`\lambda J`), for only then is the regularised covariance
    always positive definite; so it depends on the axes, up to a rotation.

    Each class has a covariance of its own, so there is nothing to gain from one class against the
    rest: the decisions are the logarithms of Gaussian posteriors but for a constant.

    Parameters
    ----------
    ridge : float
        :math:`\lambda` as a multiple of the mean diagonal of the *total* covariance of the rows.

    Attributes
    ----------
    axes_ : ndarray of shape (n_classes, r, r)
        Eigenvectors of each class covariance, as columns.
    centres_ : ndarray of shape (n_classes, r)
        The class means along these axes.
    scales_ : ndarray of shape (n_classes, r)
        (e + lambda)^(-1/2) for the eigenvalues e.
    constants_ : ndarray of shape (n_classes,)

    References
    ----------
    E. Pekalska, B. Haasdonk (2009), Kernel discriminant analysis for positive definite and
    indefinite kernels, IEEE TPAMI 31, 1017-1032.
    """

    axes_: FloatArray
    centres_: FloatArray
    scales_: FloatArray
    constants_: FloatArray

    def __init__(self, ridge: float = 0.01) -> None:
        if not (np.isfinite(ridge) and ridge >= 0):
            raise InputError(f"ridge: {ridge} is not a number of at least 0. Give one such.")
        self.ridge = ridge

    def fit(self, Z: FloatArray, y: IntArray, n_classes: int) -> "KreinQuadraticDiscriminant":
        """Fit all classes in O(N r^2 + K r^3).

        Parameters
        ----------
        Z : ndarray of shape (N, r)
            Rows of the Krein factor. Its signs play no part.
        y : ndarray of shape (N,)
            Class codes, 0 to ``n_classes - 1``; each must occur.
        n_classes : int

        Raises
        ------
        InputError
            If a class has no row, all rows are the same, or a covariance is singular and the
            ridge 0.
        """
        (fitted,) = quadratic_path(Z, y, n_classes, (self.ridge,))
        self.axes_, self.centres_ = fitted.axes_, fitted.centres_
        self.scales_, self.constants_ = fitted.scales_, fitted.constants_
        return self

    def decision_function(self, Z: FloatArray) -> FloatArray:
        """Return the decisions, ndarray of shape (N, n_classes); the largest wins."""
        return quadratic_forms(Z, self.axes_, self.centres_, self.scales_, self.constants_)


def quadratic_path(
    Z: Tall, y: IntArray, n_classes: int, ridges: Sequence[float]
) -> list[KreinQuadraticDiscriminant]:
    """Fit :class:`KreinQuadraticDiscriminant` for each of several ridges.

    All share the eigenvectors of the class covariances, in the computer's memory too.

    Parameters
    ----------
    Z, y, n_classes
        As for :meth:`KreinQuadraticDiscriminant.fit`.
    ridges : sequence of float

    Raises
    ------
    InputError
        As there.
    """
    y = np.asarray(y)
    counts = class_counts(y, n_classes)
    r = Z.shape[1]
    shares = counts / len(y)
    axes, centres = np.empty((n_classes, r, r)), np.empty((n_classes, r))
    spectra = np.empty((n_classes, r))
    with single_threaded():
        means = class_means(Z, y, counts)
        for c in range(n_classes):
            values, axes[c] = np.linalg.eigh(
                covariance_about(select(Z, np.flatnonzero(y == c)), means[c])
            )
            spectra[c] = np.maximum(values, 0.0)
            centres[c] = means[c] @ axes[c]
        mean = shares @ means
        spread = ((means - mean) ** 2).sum(axis=1)
        variance = float(shares @ (spectra.sum(axis=1) + spread))
    check_variance(variance, mean, len(y))
    mean_diagonal = variance / r
    fits = []
    for ridge in ridges:
        fitted = KreinQuadraticDiscriminant(ridge)
        values = spectra + ridge * mean_diagonal
        smallest = values.min(axis=1)
        singular = smallest <= RANK_TOLERANCE * values.max(axis=1)
        if singular.any():
            raise InputError(
                f"iKQD: the covariances of {int(singular.sum())} of {n_classes} classes are "
                "singular (the rank of the factor is not below the class size). Give a ridge "
                "above 0, or take a smaller rank."
            )
        fitted.axes_, fitted.centres_ = axes, centres
        fitted.scales_ = 1.0 / np.sqrt(values)
        fitted.constants_ = np.log(shares) - 0.5 * np.log(values).sum(axis=1)
        fits.append(fitted)
    return fits


class QuadraticLearner(Learner):
    """iKQD as recipes name it; a ridge of ``inner`` is chosen on the inner folds."""

    method = "ikqd"
    by_tiles = True
    references = ("pekalska2009",)
    settings_schema: ClassVar[SettingsSchema] = {
        "ridge": number_or_inner(
            "multiple of the mean diagonal of the covariance; inner: chosen on the inner folds",
            minimum=0,
        ),
    }

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        ridge = self.settings["ridge"]
        how = "a ridge chosen on inner folds" if ridge == "inner" else f"a ridge of {ridge:g}"
        return f"iKQD, a Gaussian with a covariance of its own for each class, with {how}"

    def choices(self) -> list[Choice]:
        """See :meth:`Learner.choices`; the larger ridge first."""
        return values_tried(self.settings, "ridge", QUADRATIC_RIDGES)

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`; all ridges share the covariances."""
        fits = quadratic_path(
            problem.Z,
            problem.labels,
            problem.n_classes,
            [choice["ridge"] for choice in choices],
        )
        return [
            Fitted(
                QuadraticDecision.folded(
                    problem.embedding,
                    fitted.axes_,
                    fitted.centres_,
                    fitted.scales_,
                    fitted.constants_,
                )
            )
            for fitted in fits
        ]
