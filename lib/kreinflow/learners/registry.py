"""The learners that recipes can name. A new one is its own file and its line here."""

from collections.abc import Mapping, Sequence
from typing import Any

from kreinflow.base.settings import by_name
from kreinflow.learners import baselines, krein_least_squares
from kreinflow.learners.cvm import CoreVectorLearner
from kreinflow.learners.dissimilarity_space import DissimilaritySpaceLearner
from kreinflow.learners.epcvm import EPCVMLearner
from kreinflow.learners.fisher import FisherLearner
from kreinflow.learners.krein_svm import KreinSquaredHingeLearner
from kreinflow.learners.learner import Learner
from kreinflow.learners.pcvm import PCVMLearner
from kreinflow.learners.quadratic import QuadraticLearner
from kreinflow.learners.support_vectors import FactorSVCLearner

LEARNERS: dict[str, type[Learner]] = by_name(
    FisherLearner,
    PCVMLearner,
    EPCVMLearner,
    QuadraticLearner,
    krein_least_squares.KreinLeastSquaresLearner,
    krein_least_squares.KreinVarianceConstrainedLearner,
    KreinSquaredHingeLearner,
    baselines.SimilarityFeaturesLearner,
    CoreVectorLearner,
    FactorSVCLearner,
    DissimilaritySpaceLearner,
    baselines.NearestLandmarkLearner,
    baselines.LinearSVCLearner,
)
"""By the method that the config names."""


def make_learner(settings: Mapping[str, Any]) -> Learner:
    """Return the learner of an entry of the config's ``learners``."""
    return LEARNERS[settings["method"]](settings)


def linear_fault(learner: Learner, task: str) -> str | None:
    """Return why a learner cannot learn what takes linear decisions; None if it can."""
    if learner.linear:
        return None
    others = ", ".join(sorted(name for name, kind in LEARNERS.items() if kind.linear))
    return (
        f"the learner {learner.method} cannot learn {task} as it is set: its decisions are not "
        f"linear. Use one of {others}."
    )


def factored(
    recipes: Sequence[Mapping[str, Any]], learners: Mapping[str, Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the recipes that learn from a Krein factor of the scores, in their order.

    A lifted kernel has a factor of its own; other learners look at the scores alone.
    """
    return [
        recipe
        for recipe in recipes
        if not recipe.get("lift") and LEARNERS[learners[recipe["learner"]]["method"]].needs_factor
    ]
