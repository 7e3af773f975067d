"""What the estimators share: their parameters checked, a recipe trained, decisions read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted

from kreinflow.alignment.transforms import ScoreTransform, make_transform
from kreinflow.answering.query_and_answers import Answers, Query
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray
from kreinflow.config.cross_references import correction_fault, lift_of
from kreinflow.config.schema import complete, complete_method, schema
from kreinflow.fitting.inner_folds import ChooseAgain
from kreinflow.fitting.pipeline import LiftSource, Settings, training
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.krein.correction import CorrectedFactor, embed
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.landmark_kernel import (
    LandmarkKernel,
    Landmarks,
    TrainingPart,
    factor_of,
    landmark_kernel,
)
from kreinflow.learners.registry import LEARNERS, linear_fault, make_learner
from kreinflow.sequences.matrix_files import DISSIMILARITIES, MATRIX_KINDS
from kreinflow.sequences.partition import ALL

REJECT_ERROR = 0.05
"""Errors tolerated above the reject threshold, as in the config."""

SYMMETRY = 1e-6
"""Largest difference of k_ij and k_ji, as a share of the largest entry, as in the config."""


@dataclass(eq=False, repr=False, kw_only=True)
class LandmarkFactor(BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """The parameters of the factor, which all estimators have, and the factor itself.

    A data class keeps the parameters as they are, and checks none, as scikit-learn wants.
    """

    _kinds: ClassVar[tuple[str, ...]] = tuple(MATRIX_KINDS)
    _raw: ClassVar[ScoreTransform] = make_transform("raw")

    kind: str = "similarity"
    rank: str | int | float = "misfit"
    correction: str = "none"
    random_state: int = 0

    def _wrong(self, message: str) -> InputError:
        return InputError(f"{type(self).__name__}: {message}")

    def _checked(self, *names: str, **others: Any) -> dict[str, Any]:
        """Return parameters, and ``others``, checked and complete as those of the config."""
        config = schema()
        known = {
            **config["$defs"]["recipe"]["properties"],
            "kind": {"enum": list(self._kinds)},
            "inner_folds": config["properties"]["inner_folds"],
            "random_state": config["properties"]["seed"],
        }
        content = {name: getattr(self, name) for name in names} | others
        part = {"properties": {name: known[name] for name in content}}
        return complete(content, part, type(self).__name__)

    @property
    def _transform(self) -> ScoreTransform:
        return self._raw

    def _fit_factor(
        self, landmarks: Landmarks, part: TrainingPart
    ) -> tuple[LandmarkKernel, Eigenpairs, CorrectedFactor]:
        settings = self._checked("rank", "correction")
        kernel = landmark_kernel(landmarks, part, self._transform)
        factor, pairs = factor_of(kernel, settings["rank"])
        return kernel, pairs, embed(factor, pairs, settings["correction"])

    def _squared(self, name: str, scores: FloatArray, columns: Any) -> FloatArray:
        """Return the scores of some columns of an argument, dissimilarities squared."""
        if self.kind in DISSIMILARITIES and (scores < 0).any():
            row, place = np.argwhere(scores < 0)[0]
            raise self._wrong(
                f"{name}, row {row}, column {columns[place]}: {scores[row, place]:.6g} is "
                f"negative, which no {self.kind} is."
            )
        return scores * scores if self.kind == "dissimilarity" else scores

    def _query(self, X: Any) -> Query:
        raise NotImplementedError


@dataclass(eq=False, repr=False, kw_only=True)
class LandmarkDecisions(ClassifierMixin, LandmarkFactor):  # type: ignore[misc]
    """A classifier by a trained function of the scores with landmarks."""

    learner: str = "krein_lsm"
    learner_params: Mapping[str, Any] | None = None
    lift: Mapping[str, Any] | None = None
    inner_folds: int = 3

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def _encode(self, y: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        """Keep the classes, and return codes; and which labels records have, if not one each.

        Then the code is that of the rarest label, or of the commonest if a record has none.
        """
        check_classification_targets(y)
        self.classes_: NDArray[Any]
        if not has_columns(y):
            self.classes_, codes = np.unique(y, return_inverse=True)
            if len(self.classes_) < 2:
                only = self.classes_.tolist()[0]
                raise ValueError(f"y has 1 class, {only!r}. At least two are needed.")
            return codes.astype(np.int64), None
        if (found := type_of_target(y)) != "multilabel-indicator":
            raise ValueError(
                f"y has several columns and is {found}. Give a column for each label that is 1 "
                "where a record has it, else 0."
            )
        learner = make_learner(self._learner_settings())
        if fault := linear_fault(learner, "records with several labels"):
            raise self._wrong(fault)
        memberships = (y.toarray() if issparse(y) else np.asarray(y)).astype(bool)
        self.classes_ = np.arange(memberships.shape[1])
        counts = memberships.sum(axis=0)
        rarest = np.where(memberships, counts, len(memberships) + 1).argmin(axis=1)
        codes = np.where(memberships.any(axis=1), rarest, counts.argmax())
        return codes.astype(np.int64), memberships

    def _learner_settings(self) -> dict[str, Any]:
        content = {**(self.learner_params or {}), "method": self.learner}
        return complete_method(LEARNERS, content, "learner", type(self).__name__)

    def _recipe(self, **others: Any) -> dict[str, Any]:
        """Return the parameters and ``others`` as a recipe, checked and complete."""
        settings = self._learner_settings()
        names = ("rank", "correction", "lift", "inner_folds", "random_state")
        recipe = {"cascade": None} | self._checked(*names, **{"views": {}} | others)
        recipe["lift"] = lift_of(recipe["views"], recipe["lift"])
        lifted = recipe["lift"] is not None
        if fault := correction_fault(settings["method"], self.correction, lifted):
            raise self._wrong(fault)
        return recipe | {"name": type(self).__name__, "learner": settings}

    def _train(
        self,
        recipe: dict[str, Any],
        landmarks: Landmarks,
        part: TrainingPart,
        source: LiftSource,
        choose_again: ChooseAgain | None = None,
        **aligned: Any,
    ) -> None:
        """Train a recipe as the workflow trains a final model; ``aligned``: of sequences."""
        if recipe["lift"] is None:
            kernel, _, embedding = self._fit_factor(landmarks, part)
        else:  # which has a factor of its own
            kernel, embedding = landmark_kernel(landmarks, part, self._transform), None
        reject = RejectRule(REJECT_ERROR)
        settings = Settings(ALL, recipe["random_state"], recipe["inner_folds"], reject)
        learning = training(landmarks, part, settings, source, choose_again, **aligned)
        recipe["transform"] = self._transform.name
        trained = learning.train(recipe, recipe["learner"], embedding, kernel)
        self.landmark_classifier_ = trained.classifier
        self.training_ = trained.figures

    def _decisions(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self.landmark_classifier_.decision_function(self._query(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the decisions, not calibrated, of shape (n, n_classes), or (n,) for two classes.

        The largest wins. Of two classes it is (f_2 - f_1) / 2. Of several labels a record, it is
        the logit of the probability of each less that of its threshold.
        """
        decisions = self._decisions(X)
        if (several := self.landmark_classifier_.several) is not None:
            return several.margins(decisions)
        if len(self.classes_) > 2:
            return decisions
        return np.asarray((decisions[:, 1] - decisions[:, 0]) / 2)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return softmax(f / T), of shape (n, n_classes).

        For T see :class:`~kreinflow.fitting.calibration.TemperatureCalibrator`. Of several labels a
        record they are of :class:`~kreinflow.fitting.calibration.PlattCalibrator`.
        """
        check_is_fitted(self)
        return self.landmark_classifier_.predict_proba(self._query(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the largest decision, of shape (n,).

        Of several labels a record it is 1 where the probability of a label is at least its
        threshold, else 0, of shape (n, n_labels).
        """
        check_is_fitted(self)
        if (several := self.landmark_classifier_.several) is not None:
            return several.chosen(self.predict_proba(X)).astype(np.int64)
        return np.asarray(self.classes_[self._decisions(X).argmax(axis=1)])

    def predict_set(self, X: Any, confidence: float = 0.95) -> NDArray[np.bool_]:
        """Return whether each class is in a set that holds the true one with this probability.

        It is the smallest set, and may be empty: an array of shape (n, n_classes). An InputError if
        training records are too few for the confidence, or objects have several labels.
        """
        check_is_fitted(self)
        if not 0 < confidence < 1:
            raise self._wrong(f"confidence: {confidence!r} is not between 0 and 1.")
        calibration = self.landmark_classifier_.calibration
        if calibration is None:
            raise self._wrong(
                "the model gives several labels, and a set is of objects with one. Use predict: "
                "each label has a threshold of its own."
            )
        answers = self.answer(X)
        return calibration.sets(answers.probabilities, confidence, answers.closeness)

    def answer(self, X: Any) -> Answers:
        """Return what is said of objects, by which stage, and what it cost; X is as for fit."""
        check_is_fitted(self)
        return self.landmark_classifier_.answer(self._query(X))


def has_columns(y: Any) -> bool:
    """Return whether labels have several columns."""
    shape = y.shape if issparse(y) else np.asarray(y).shape
    return len(shape) == 2 and shape[1] > 1
