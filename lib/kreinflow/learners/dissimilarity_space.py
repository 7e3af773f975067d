"""The dissimilarity space: what the landmarks are to an object, taken as its features."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.learners.cvm import (
    EPSILON,
    Core,
    CoreVectorSolution,
    Expansion,
    GramCore,
    LinearRows,
    RowKernel,
    core_vector_path,
)
from kreinflow.learners.decisions import (
    ELMDecision,
    NearnessDecision,
    elm_expansion,
    elm_kernel,
)
from kreinflow.learners.learner import Choice, Fitted, Problem
from kreinflow.learners.linear import ClassDecisions
from kreinflow.learners.one_against_rest import with_mirror
from kreinflow.learners.support_vectors import (
    PENALTY_SCHEMA,
    SupportVectorLearner,
    check_penalty,
    standardisation,
)
from kreinflow.numerics import FloatArray, IntArray, single_threaded, tiles
from kreinflow.settings import SettingsSchema

KERNELS = ("linear", "elm")

_ELM_CORE = 8000  # rows of a core set, whose kernel matrix is held in memory


class DissimilaritySpaceClassifier(ClassDecisions):
    r"""Core vector machines on the vector of comparisons with the landmarks.

    An object is the point :math:`(d(x, l_1), \ldots, d(x, l_m))` of a Euclidean space, whatever the
    comparisons d are; nothing is embedded and no eigenvalue corrected. Each feature is centred and
    divided by its standard deviation in the training rows. On the features u,

    ======  ============================================================
    linear  :math:`k(u, v) = u'v`, scaled to a mean diagonal of 1
    elm     the kernel of :class:`~kreinflow.kernels.products.ELMKernel`
    ======  ============================================================

    Parameters
    ----------
    kernel : {"linear", "elm"}
    penalty : float
        C of :class:`~kreinflow.learners.cvm.CoreVectorMachine`.

    Attributes
    ----------
    decision_ : NearnessDecision or ELMDecision
    support_ : ndarray of int
        Rows that are support of any class.
    n_iter_ : int
    converged_ : ndarray of shape (n_classes,) of bool

    Notes
    -----
    gisbrecht2015 (section 6, table 7) takes all points as landmarks and does not say whether the
    features were scaled. The elm kernel is free of parameters for features of unit variance only.

    References
    ----------
    E. Pekalska, R. P. W. Duin (2005), The dissimilarity representation for pattern recognition,
    World Scientific.
    B. Frenay, M. Verleysen (2011), Parameter-insensitive kernel in extreme learning for
    non-linear support vector regression, Neurocomputing 74, 2526-2531.
    """

    decision_: NearnessDecision | ELMDecision
    support_: NDArray[np.intp]
    n_iter_: int
    converged_: NDArray[np.bool_]

    def __init__(self, kernel: str = "linear", penalty: float = 1.0) -> None:
        if kernel not in KERNELS:
            raise InputError(f"kernel: {kernel!r} is unknown. Use one of {', '.join(KERNELS)}.")
        check_penalty(penalty)
        self.kernel = kernel
        self.penalty = penalty

    def fit(self, D: FloatArray, y: IntArray, n_classes: int) -> "DissimilaritySpaceClassifier":
        """Fit all classes.

        Parameters
        ----------
        D : ndarray of shape (N, n_landmarks)
            Comparisons of the training rows with the landmarks.
        y : ndarray of shape (N,)
            Class codes, 0 to ``n_classes - 1``; each must occur.
        n_classes : int

        Raises
        ------
        InputError
            If a class has no row, or, of the linear kernel, all features are constant.
        """
        ((self.decision_, solution),) = dissimilarity_space_path(
            D, y, n_classes, self.kernel, (self.penalty,)
        )
        self.support_ = solution.basis_used
        self.n_iter_, self.converged_ = solution.n_iter, solution.converged
        return self

    def decision_function(self, D: FloatArray) -> FloatArray:
        """Return the decisions, ndarray of shape (N, n_classes); the largest wins."""
        return self.decision_.decide(D)


def dissimilarity_space_path(
    D: FloatArray, y: IntArray, n_classes: int, kernel: str, penalties: Sequence[float]
) -> list[tuple[NearnessDecision | ELMDecision, CoreVectorSolution]]:
    """Fit :class:`DissimilaritySpaceClassifier` for each of several penalties.

    Parameters
    ----------
    D, y, n_classes
        As for :meth:`DissimilaritySpaceClassifier.fit`.
    kernel : {"linear", "elm"}
    penalties : sequence of float

    Raises
    ------
    InputError
        As there.
    """
    centre, deviation = standardisation(D)
    X = (D - centre) / deviation
    rows = LinearRows(X, np.ones(X.shape[1])) if kernel == "linear" else _ELMRows(X)
    fits: list[tuple[NearnessDecision | ELMDecision, CoreVectorSolution]] = []
    for solution in core_vector_path(rows, y, n_classes, penalties, EPSILON):
        if isinstance(rows, LinearRows):
            coef, intercept = with_mirror(*rows.functions(solution.expansions), n_classes)
            coef = coef / deviation[:, None]
            with single_threaded():
                linear = NearnessDecision(coef, intercept - centre @ coef)
            fits.append((linear, solution))
            continue
        support, coefficients = _joined(solution.expansions)
        coefficients, intercept = with_mirror(coefficients, coefficients.sum(axis=0), n_classes)
        decision = ELMDecision(centre, deviation, X[support], coefficients, intercept)
        fits.append((decision, solution))
    return fits


def _joined(expansions: Sequence[Expansion]) -> tuple[NDArray[np.intp], FloatArray]:
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
        """See :meth:`RowKernel.values`."""
        rows, coefficients = _joined(expansions)
        values = elm_expansion(self.X, self.X[rows], coefficients)
        values += coefficients.sum(axis=0)
        return values

    def core(self, rows: NDArray[np.intp], targets: FloatArray) -> Core:
        """See :meth:`RowKernel.core`."""
        X = self.X[rows]
        Q = np.empty((len(X), len(X)))
        for one in tiles(len(X)):  # the kernel makes copies of what it works on
            for other in tiles(len(X)):
                Q[one, other] = elm_kernel(X[one], X[other])
        Q += 1.0
        Q *= targets[:, None]
        Q *= targets
        return GramCore(Q)


class DissimilaritySpaceLearner(SupportVectorLearner):
    """The dissimilarity space as recipes name it.

    The features are scores or, of dissimilarity data, squared dissimilarities.
    """

    method = "dissimilarity_space"
    references = ("pekalska2005", "frenay2011", "tsang2005")
    settings_schema: ClassVar[SettingsSchema] = {
        "kernel": {
            "description": "of the vectors of comparisons with the landmarks",
            "enum": list(KERNELS),
            "default": "linear",
        },
        "penalty": PENALTY_SCHEMA,
    }

    def describe(self) -> str:
        """See :meth:`Learner.describe`."""
        kernel = "linear" if self.settings["kernel"] == "linear" else "extreme learning machine"
        return (
            "the dissimilarity space, whose features are the comparisons with the landmarks, with "
            f"the {kernel} kernel and a core vector machine of {self.describe_penalty()}, "
            "a baseline"
        )

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        """See :meth:`Learner.fit`."""
        path = dissimilarity_space_path(
            np.asarray(problem.nearness),
            problem.labels,
            problem.n_classes,
            self.settings["kernel"],
            [choice["penalty"] for choice in choices],
        )
        return [
            Fitted(
                decision,
                basis_used=len(solution.basis_used) / len(problem.labels),
                iterations=solution.n_iter,
                converged=bool(solution.converged.all()),
            )
            for decision, solution in path
        ]
