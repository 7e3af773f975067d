"""The dissimilarity space: what the landmarks are to an object, taken as its features."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from kreinflow.base.numerics import single_threaded
from kreinflow.base.settings import SettingsSchema, one_of
from kreinflow.learners.cvm import EPSILON, ELMRows, LinearRows, core_vector_path, side_by_side
from kreinflow.learners.decisions import Decision, ELMDecision, NearnessDecision
from kreinflow.learners.learner import Choice, Fitted, Problem
from kreinflow.learners.one_against_rest import with_mirror
from kreinflow.learners.support_vectors import SupportVectorLearner, standardisation


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
        "kernel": one_of("linear", "elm", about="of vectors of comparisons with the landmarks"),
        **SupportVectorLearner.settings_schema,
    }

    def __init__(self, settings: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self.linear = self.settings["kernel"] == "linear"

    def describe(self) -> str:
        kernel = "linear" if self.linear else "extreme learning machine"
        space = "the dissimilarity space, whose features are the comparisons with the landmarks"
        machine = f"a core vector machine of {self.describe_penalty()}"
        return f"{space}, with the {kernel} kernel and {machine}, a baseline"

    def fit(self, problem: Problem, choices: Sequence[Choice]) -> list[Fitted]:
        D, y, n_classes = np.asarray(problem.nearness), problem.labels, problem.n_classes
        penalties = [choice["penalty"] for choice in choices]
        centre, deviation = standardisation(D)
        X = (D - centre) / deviation
        kernel = LinearRows(X, np.ones(X.shape[1])) if self.linear else ELMRows(X)
        fits = []
        for solution in core_vector_path(kernel, y, n_classes, penalties, EPSILON):
            decision: Decision
            if isinstance(kernel, LinearRows):
                coef, intercept = with_mirror(*kernel.functions(solution.expansions), n_classes)
                coef = coef / deviation[:, None]
                with single_threaded():
                    decision = NearnessDecision(coef, intercept - centre @ coef)
            else:
                support, coef = side_by_side(solution.expansions)
                coef, intercept = with_mirror(coef, coef.sum(axis=0), n_classes)
                decision = ELMDecision(centre, deviation, X[support], coef, intercept)
            fits.append(solution.fitted(decision, len(y)))
        return fits
