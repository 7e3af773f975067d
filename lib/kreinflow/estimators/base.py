"""What the estimators share: their parameters checked, a recipe trained, decisions read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from kreinflow.alignment.transforms import make_transform
from kreinflow.configuration import complete_method, correction_fault, nearest
from kreinflow.errors import InputError
from kreinflow.krein.correction import CORRECTIONS, LANDMARK_COORDINATES, CorrectedFactor, embed
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.landmark_kernel import (
    LandmarkKernel,
    Landmarks,
    TrainingPart,
    factor_of,
    landmark_kernel,
)
from kreinflow.learners.registry import LEARNERS
from kreinflow.models.classifier import LandmarkClassifier
from kreinflow.models.inner_folds import inner_partition
from kreinflow.models.reject_threshold import RejectRule
from kreinflow.models.training import Training
from kreinflow.numerics import FloatArray
from kreinflow.sequences.partition import ALL

KINDS = ("similarity", "dissimilarity", "squared_dissimilarity")
"""What the entries of a matrix can be."""

REJECT_ERROR = 0.01
"""Errors tolerated among the predictions above the reject threshold, as in the config."""


def checked_name(owner: object, parameter: str, known: tuple[str, ...]) -> str:
    """Return the value of a parameter that must be one of some names."""
    value = getattr(owner, parameter)
    if not isinstance(value, str) or value not in known:
        raise InputError(
            f"{type(owner).__name__}: {parameter}: {value!r} is none of {', '.join(known)}"
            f"{nearest(str(value), known) if isinstance(value, str) else '.'}"
        )
    return value


def checked_seed(owner: Any) -> int:
    """Return ``random_state``, which is a seed: no state of a generator is carried on."""
    seed = owner.random_state
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(
            f"{type(owner).__name__}: random_state: {seed!r} is not a whole number of at least 0."
        )
    return int(seed)


def encoded(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes and the code of each label.

    Raises
    ------
    ValueError
        If y holds no classes, or one alone.
    """
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has 1 class, {classes[0]!r}. At least two are needed.")
    return classes, codes.astype(np.int64)


def rank_of(owner: Any) -> Any:
    """Return the rank of an estimator, a number of numpy's as one of Python's."""
    return owner.rank.item() if isinstance(owner.rank, np.generic) else owner.rank


def fit_factor(
    owner: Any, landmarks: Landmarks, part: TrainingPart
) -> tuple[LandmarkKernel, Eigenpairs, CorrectedFactor]:
    """Return the kernel of the training part, the eigenpairs of its factor and the correction."""
    correction: Any = checked_name(owner, "correction", CORRECTIONS + LANDMARK_COORDINATES)
    kernel = landmark_kernel(landmarks, part, make_transform("raw"))
    factor, pairs = factor_of(kernel, rank_of(owner))
    return kernel, pairs, embed(factor, pairs, correction)


def squared(owner: Any, name: str, scores: FloatArray, columns: Sequence[int]) -> FloatArray:
    """Return scores with landmarks, dissimilarities squared.

    Parameters
    ----------
    owner : estimator
        Its ``kind`` says what the scores are.
    name : str
        Of the argument that they came in, for messages.
    scores : ndarray of shape (n, n_landmarks)
    columns : sequence of int
        The columns of the argument.

    Raises
    ------
    InputError
        If a dissimilarity is negative.
    """
    if owner.kind != "similarity" and (scores < 0).any():
        row, place = np.argwhere(scores < 0)[0]
        raise InputError(
            f"{type(owner).__name__}: {name}, row {row}, column {columns[place]}: "
            f"{scores[row, place]:.6g} is negative, which no {owner.kind} is."
        )
    return scores * scores if owner.kind == "dissimilarity" else scores


class LandmarkDecisions(ClassifierMixin):  # type: ignore[misc] # scikit-learn has no types
    """What the classifiers do with a trained function of the scores with their landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    landmark_classifier_ : LandmarkClassifier
    training_ : dict
    """

    classes_: NDArray[Any]
    landmark_classifier_: LandmarkClassifier
    training_: dict[str, Any]
    learner: str
    learner_params: Mapping[str, Any] | None
    inner_folds: int
    correction: str
    _landmark_scores: Callable[[Any], FloatArray]

    def _learner_settings(self) -> dict[str, Any]:
        """Return the settings of the learner, checked and complete."""
        name = type(self).__name__
        content = {**(self.learner_params or {}), "method": self.learner}
        settings = complete_method(LEARNERS, content, "learner", name)
        fault = correction_fault(settings["method"], self.correction)
        if fault:
            raise InputError(f"{name}: {fault}")
        folds = self.inner_folds
        if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
            raise InputError(f"{name}: inner_folds: {folds!r} is not a whole number of at least 2.")
        return settings

    def _train(self, landmarks: Landmarks, part: TrainingPart) -> None:
        """Train the recipe that the parameters are, as the workflow trains a final model."""
        settings, seed = self._learner_settings(), checked_seed(self)
        kernel, _, embedding = fit_factor(self, landmarks, part)
        inner = inner_partition(landmarks.rows, part, int(self.inner_folds), seed, ALL)
        recipe = {
            "name": self.learner,
            "transform": "raw",
            "correction": self.correction,
            "rank": rank_of(self),
        }
        training = Training(landmarks, part, inner, RejectRule(REJECT_ERROR), seed)
        trained = training.train(recipe, settings, embedding, kernel)
        self.landmark_classifier_ = trained.classifier
        self.training_ = trained.figures

    def _decisions(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        scores = self._landmark_scores(X)
        nothing = np.zeros(len(scores))  # self-scores and lengths, which no raw score asks for
        return self.landmark_classifier_.decision_function(scores, nothing, nothing)

    def decision_function(self, X: Any) -> FloatArray:
        """Return the decisions, not calibrated.

        Parameters
        ----------
        X : array-like
            As for :meth:`predict`.

        Returns
        -------
        ndarray of shape (n, n_classes), or (n,) for two classes
            The largest wins. Of two classes it is (f_2 - f_1) / 2: where the learner makes the
            first the mirror image of the second, that is f_2.
        """
        decisions = self._decisions(X)
        if len(self.classes_) > 2:
            return decisions
        difference: FloatArray = (decisions[:, 1] - decisions[:, 0]) / 2
        return difference

    def predict_proba(self, X: Any) -> FloatArray:
        """Return softmax(f / T), of shape (n, n_classes).

        The temperature T suits the decisions for held-out records of the inner folds best; see
        :class:`~kreinflow.models.calibration.TemperatureCalibrator`.
        """
        decisions = self._decisions(X)
        probabilities: FloatArray = softmax(
            decisions / self.landmark_classifier_.temperature, axis=1
        )
        return probabilities

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest decision, of shape (n,)."""
        winners = self._decisions(X).argmax(axis=1)
        labels: NDArray[Any] = self.classes_[winners]
        return labels
