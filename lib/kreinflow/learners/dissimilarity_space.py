"""The dissimilarity space: what the landmarks are to an object, taken as its features."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.base.numerics import FloatArray, single_threaded, tiles
from kreinflow.base.settings import SettingsSchema
from kreinflow.kernels.products import elm_expansion, elm_kernel
from kreinflow.learners.cvm import EPSILON, Expansion, LinearRows, RowKernel, core_vector_path
from kreinflow.learners.decisions import Decision, ELMDecision, NearnessDecision
from kreinflow.learners.learner import Choice, Fitted, Problem
from kreinflow.learners.one_against_rest import with_mirror
from kreinflow.learners.squared_hinge import Core, GramCore
from kreinflow.learners.support_vectors import SupportVectorLearner, standardisation

_ELM_CORE = 8000  # rows of a core set, whose kernel matrix is held in memory


class DissimilaritySpaceLearner(SupportVectorLearner):
    r"""Core vector machines on the vector of comparisons with the landmarks.

    An object is the point :math:`(d(x, l_1), \ldots, d(x, l_m))` of a Euclidean space, whatever the
    comparisons d are (scores or, of dissimilarity data, squared dissimilarities); nothing is
    embedded and no eigenvalue corrected. Each feature is centred and divided by its standard
    deviation in the training rows. The kernel of these features is linear, :math:`k(u, v) = u'v`
    scaled to a mean diagonal of 1, or ``elm``:
    :class:`~kreinflow.kernels.products.ELMKernel`, free of parameters for unit variance only.

    Sources: pekalska2005, frenay2011.
    """

    method = "dissimilarity_space"
    needs_factor = False
    references = ("pekalska2005", "frenay2011", "tsang2005")
    settings_schema: ClassVar[SettingsSchema] = {
        "kernel": {
            "description": "of the vectors of comparisons with the landmarks",
            "enum": ["linear", "elm"],
            "default": "linear",
        },
        **SupportVectorLearner.settings_schema,
    }

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.linear = self.settings["kernel"] == "linear"

    def describe(self) -> str:
        kernel = "linear" if self.linear else "extreme learning machine"
        return (
            "the dissimilarity space, whose features are the comparisons with the landmarks, with "
            f"the {kernel} kernel and a core vector machine of {self.describe_penalty()}, "
            "a baseline"
        )

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`; constant features are refused too, by the linear kernel."""
        D, y, n_classes = np.asarray(problem.nearness), problem.labels, problem.n_classes
        penalties = [choice["penalty"] for choice in choices]
        centre, deviation = standardisation(D)
        X = (D - centre) / deviation
        kernel = LinearRows(X, np.ones(X.shape[1])) if self.linear else _ELMRows(X)
        fits = []
        for solution in core_vector_path(kernel, y, n_classes, penalties, EPSILON):
            decision: Decision
            if isinstance(kernel, LinearRows):
                coef, intercept = with_mirror(*kernel.functions(solution.expansions), n_classes)
                coef = coef / deviation[:, None]
                with single_threaded():
                    decision = NearnessDecision(coef, intercept - centre @ coef)
            else:
                support, coef = _side_by_side(solution.expansions)
                coef, intercept = with_mirror(coef, coef.sum(axis=0), n_classes)
                decision = ELMDecision(centre, deviation, X[support], coef, intercept)
            fits.append(solution.fitted(decision, len(y)))
        return fits


def _side_by_side(expansions: Sequence[Expansion]) -> tuple[NDArray[np.intp], FloatArray]:
    """Return the rows of all expansions, and the coefficients of each as a column."""
    rows = np.unique(np.concatenate([expansion.rows for expansion in expansions]))
    coefficients = np.zeros((len(rows), len(expansions)))
    for column, expansion in enumerate(expansions):
        coefficients[np.searchsorted(rows, expansion.rows), column] = expansion.coefficients
    return rows, coefficients


class _ELMRows(RowKernel):
    """The ELM kernel of rows of features; never more than a core set of it in memory."""

    def __init__(self, X: FloatArray) -> None:
        self.X = X
        self.diagonal = np.ones(len(X))  # but for 1/(2 sigma^2), which is nothing
        self.limit = _ELM_CORE

    def values(self, expansions: Sequence[Expansion]) -> FloatArray:
        rows, coefficients = _side_by_side(expansions)
        values = elm_expansion(self.X, self.X[rows], coefficients)
        values += coefficients.sum(axis=0)
        return values

    def core(self, rows: NDArray[np.intp], targets: FloatArray) -> Core:
        X = self.X[rows]
        Q = np.empty((len(X), len(X)))
        for one in tiles(len(X)):  # the kernel makes copies of what it works on
            for other in tiles(len(X)):
                Q[one, other] = elm_kernel(X[one], X[other])
        Q += 1.0
        Q *= targets[:, None]
        Q *= targets
        return GramCore(Q)
