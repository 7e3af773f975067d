"""The records that sets of labels and the control of errors rest on, of a recipe."""

from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.label_sets import Calibration
from kreinflow.fitting.first_stage import FirstStage, OutOfFold


def fit_part(
    first: FirstStage, classifier: LandmarkClassifier, held: OutOfFold
) -> tuple[LandmarkClassifier, OutOfFold]:
    """Return the model with its calibration; of several labels it has none."""
    if classifier.several is not None:
        return classifier, held
    if classifier.cascade is None:
        calibration = first.calibration
    else:
        calibration = Calibration.of(held.probabilities, first.data.part.labels[held.places])
    return classifier.with_parts(calibration=calibration), held
