"""The learners that recipes can name. A new one is its own file and its line here."""

from collections.abc import Mapping
from typing import Any

from kreinflow.models.baselines import LinearSVCLearner, NearestLandmarkLearner
from kreinflow.models.cvm import CoreVectorLearner
from kreinflow.models.dissimilarity_space import DissimilaritySpaceLearner
from kreinflow.models.epcvm import EPCVMLearner
from kreinflow.models.fisher import FisherLearner
from kreinflow.models.krein_least_squares import (
    KreinLeastSquaresLearner,
    KreinVarianceConstrainedLearner,
)
from kreinflow.models.krein_svm import KreinSquaredHingeLearner
from kreinflow.models.learner import Learner
from kreinflow.models.pcvm import PCVMLearner
from kreinflow.models.quadratic import QuadraticLearner
from kreinflow.models.similarity_features import SimilarityFeaturesLearner
from kreinflow.models.svc import FactorSVCLearner

LEARNERS: dict[str, type[Learner]] = {
    learner.method: learner
    for learner in (
        FisherLearner,
        PCVMLearner,
        EPCVMLearner,
        QuadraticLearner,
        KreinLeastSquaresLearner,
        KreinVarianceConstrainedLearner,
        KreinSquaredHingeLearner,
        SimilarityFeaturesLearner,
        CoreVectorLearner,
        FactorSVCLearner,
        DissimilaritySpaceLearner,
        NearestLandmarkLearner,
        LinearSVCLearner,
    )
}
"""By the method that the config names."""


def make_learner(settings: Mapping[str, Any]) -> Learner:
    """Return the learner of an entry of the config's ``learners``."""
    return LEARNERS[settings["method"]](settings)
