"""The indefinite kernel quadratic discriminant on a Krein factor (iKQD), at linear cost."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from kreinflow.base.errors import InputError
from kreinflow.base.numerics import RANK_TOLERANCE, single_threaded
from kreinflow.base.settings import SettingsSchema
from kreinflow.base.tiled_matrix import select
from kreinflow.learners.decisions import QuadraticDecision
from kreinflow.learners.hyper_parameters import in_words, number_or_inner
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem
from kreinflow.learners.moments import check_variance, class_counts, class_means, covariance_about


class QuadraticLearner(Learner):
    r"""Quadratic discriminants of all classes on a Krein factor.

    With the mean :math:`m_c`, covariance :math:`C_c` (divided by the class size) and share
    :math:`\pi_c` of the rows z of class c,

    .. math::
        f_c(z) = - \tfrac12 (z - m_c)' (C_c + \lambda I)^{-1} (z - m_c)
                 - \tfrac12 \log\det(C_c + \lambda I) + \log \pi_c .

    In the pseudo-Euclidean space the covariance is :math:`C_c J` and the product :math:`u' J v`,
    :math:`J = diag(s)`: the signs cancel. The ridge is Euclidean in the coordinates of the factor,
    a multiple of the mean diagonal of the *total* covariance. Source: pekalska2009.
    """

    method = "ikqd"
    by_tiles = True
    linear = False
    references = ("pekalska2009",)
    settings_schema: ClassVar[SettingsSchema] = {
        "ridge": number_or_inner(
            "multiple of the mean diagonal of the covariance; inner: chosen on the inner folds",
            minimum=0,
        )
    }
    grids: Mapping[str, Sequence[float]] = {"ridge": (1.0, 0.1, 1e-2, 1e-3, 1e-4)}

    def describe(self) -> str:
        how = in_words(self.settings["ridge"], "of {:g}")
        return f"iKQD, a Gaussian with a covariance of its own for each class, with a ridge {how}"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`, in O(N r^2 + K r^3); all ridges share the covariances."""
        Z, y, n_classes = problem.Z, problem.labels, problem.n_classes
        counts = class_counts(y, n_classes)
        r = Z.shape[1]
        shares = counts / len(y)
        axes, centres = np.empty((n_classes, r, r)), np.empty((n_classes, r))
        spectra = np.empty((n_classes, r))
        with single_threaded():
            means = class_means(Z, y, counts)
            for c in range(n_classes):
                covariance = covariance_about(select(Z, np.flatnonzero(y == c)), means[c])
                values, axes[c] = np.linalg.eigh(covariance)
                spectra[c] = np.maximum(values, 0.0)
                centres[c] = means[c] @ axes[c]
            mean = shares @ means
            spread = ((means - mean) ** 2).sum(axis=1)
            variance = float(shares @ (spectra.sum(axis=1) + spread))
        check_variance(variance, mean, len(y))
        mean_diagonal = variance / r
        fits = []
        for choice in choices:
            values = spectra + choice["ridge"] * mean_diagonal
            singular = values.min(axis=1) <= RANK_TOLERANCE * values.max(axis=1)
            if singular.any():
                raise InputError(
                    f"iKQD: the covariances of {int(singular.sum())} of {n_classes} classes are "
                    "singular (the rank of the factor is not below the class size). Give a ridge "
                    "above 0, or take a smaller rank."
                )
            scales = 1.0 / np.sqrt(values)
            constants = np.log(shares) - 0.5 * np.log(values).sum(axis=1)
            parts = (axes, centres, scales, constants)
            fits.append(Fitted(QuadraticDecision.folded(problem.embedding, *parts)))
        return fits
