"""The thresholds of the levels of classes that are paths, of a recipe."""

from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.fitting.first_stage import FirstStage, OutOfFold


def fit_part(
    first: FirstStage, classifier: LandmarkClassifier, held: OutOfFold
) -> tuple[LandmarkClassifier, OutOfFold]:
    """Return the model with the levels that are asked for, if any are."""
    data = first.data
    if data.levels is None:
        return classifier, held
    truth = data.part.labels[held.places]
    levels = data.levels.fitted(held.probabilities, truth, data.reject.confidence)
    return classifier.with_parts(levels=levels), held
