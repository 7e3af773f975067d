"""One fold, one set of landmarks: a classifier for each recipe.

Nothing here looks at a record outside the training part of the fold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.krein.factor import Embedding
from kreinflow.models.baselines import LandmarkLinearSVC, LandmarkNearestNeighbour
from kreinflow.models.calibration import TemperatureCalibrator, reject_threshold
from kreinflow.models.classifier import LandmarkClassifier
from kreinflow.models.factors import LandmarkKernel, Landmarks, TrainingPart
from kreinflow.models.fisher import NystroemFisher, choose_ridge
from kreinflow.models.pcvm import NystroemPCVM
from kreinflow.numerics import FloatArray, single_threaded, tiled_product
from kreinflow.sequences.folds import inner_folds


def inner_partition(
    landmark_rows: NDArray[np.int64], part: TrainingPart, k: int, seed: int, fold: str
) -> NDArray[np.int64]:
    """Return the inner fold of each training record; -1 is always trained on.

    A record that is a landmark knows itself: its column of C holds its own score, its own label
    stands in the basis. A new object never does, so landmarks are trained on and not measured,
    unless that would leave fewer than half of the records to measure.

    Parameters
    ----------
    landmark_rows : ndarray
        Distinct rows that are a landmark of any selector in this fold, so that the recipes of all
        selectors are measured on the same records and can be compared.
    part : TrainingPart
    k : int
        Inner folds wanted; see :func:`~kreinflow.sequences.folds.inner_folds`.
    seed : int
    fold : str
        Name of the outer fold.

    Raises
    ------
    InputError
        If there are not two folds left.
    """
    inner = inner_folds(part.groups, part.labels, k, seed, fold)
    plain = ~np.isin(part.rows, landmark_rows)
    if 2 * np.count_nonzero(plain & (inner >= 0)) >= len(inner):
        inner = np.where(plain, inner, -1)
    for label in range(len(part.classes)):
        own = part.labels == label
        if np.unique(inner[own]).size == 1:  # all in one fold: no other fold would know the class
            inner = np.where(own, -1, inner)
    if np.unique(inner[inner >= 0]).size < 2:
        raise InputError(
            "inner folds: too few records are left to choose and calibrate on. Use fewer "
            "landmarks, or leave out classes with fewer than three records (min_class_size)."
        )
    return inner.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Trained:
    """A classifier and what its training said."""

    classifier: LandmarkClassifier
    figures: dict[str, Any]


def train(
    recipe: Mapping[str, Any],
    learner: Mapping[str, Any],
    embedding: Embedding,
    kernel: LandmarkKernel,
    landmarks: Landmarks,
    part: TrainingPart,
    inner: NDArray[np.int64],
    reject_error: float,
    seed: int,
) -> Trained:
    """Train one recipe: hyper-parameters, calibration and threshold on inner folds, then on all.

    Parameters
    ----------
    recipe, learner : mapping
        Of the config.
    embedding : Embedding
        The corrected factor of the recipe.
    kernel, landmarks, part
        See the classes.
    inner : ndarray of shape (n,)
        Inner fold of each training record; -1 is always trained on.
    reject_error : float
        Errors allowed among predictions that are not flagged.
    seed : int
        For the learners that draw (the baseline ``linear_svc``).
    """
    problem = _Problem(learner, embedding, kernel, landmarks, part, seed)
    ridge = learner.get("ridge")
    if ridge == "inner":
        ridge, decisions = problem.choose_ridge(inner)
    else:
        decisions = np.zeros((len(part.rows), len(part.classes)))
        for fold in range(int(inner.max()) + 1):
            held_out = inner == fold
            fitted = problem.fit(np.flatnonzero(~held_out), ridge)
            decisions[held_out] = problem.decide(fitted, np.flatnonzero(held_out))
    measured = inner >= 0
    truth = part.labels[measured]
    calibrator = TemperatureCalibrator().fit(decisions[measured], truth)
    probabilities = calibrator.probabilities(decisions[measured])
    threshold = reject_threshold(probabilities, truth, error=reject_error)
    fitted = problem.fit(np.arange(len(part.rows)), ridge)
    classifier = LandmarkClassifier(
        classes=part.classes,
        kind=fitted.kind,
        weights=fitted.weights,
        intercept=fitted.intercept,
        landmark_classes=landmarks.classes,
        transform=kernel.transform,
        landmark_self_scores=landmarks.self_scores[landmarks.rows],
        landmark_lengths=landmarks.lengths[landmarks.rows],
        centring=kernel.centring,
        temperature=float(calibrator.temperature_),
        reject_threshold=float(threshold),
        about={"recipe": dict(recipe), "learner": dict(learner)},
    )
    likely = np.clip(probabilities[np.arange(len(truth)), truth], 1e-15, 1.0)
    needs_self_score = landmarks.kind == "sequences" and kernel.transform.name != "raw"
    figures = {
        "landmarks": len(landmarks.rows),
        "rank": embedding.rank,
        "basis_used": fitted.basis_used,
        "iterations": fitted.iterations,
        "converged": fitted.converged,
        "ridge": ridge,
        "temperature": classifier.temperature,
        "reject_threshold": classifier.reject_threshold,
        "inner_accuracy": float(np.mean(probabilities.argmax(axis=1) == truth)),
        "inner_log_loss": float(-np.log(likely).mean()),
        "alignments_per_query": len(landmarks.rows) + int(needs_self_score),
    }
    return Trained(classifier, figures)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A learner's result, folded into weights on the landmark scores."""

    kind: str
    weights: FloatArray
    intercept: FloatArray
    basis_used: float
    iterations: int
    converged: bool


@dataclass(frozen=True, eq=False)
class _Problem:
    """One learner on one training part: fits on any of its rows."""

    learner: Mapping[str, Any]
    embedding: Embedding
    kernel: LandmarkKernel
    landmarks: Landmarks
    part: TrainingPart
    seed: int

    @cached_property
    def embedded(self) -> FloatArray:
        """Rows of the factor of all training records."""
        return self.embedding.transform(self.kernel.C)

    def choose_ridge(self, inner: NDArray[np.int64]) -> tuple[float, FloatArray]:
        choice = choose_ridge(
            self.embedded,
            self.embedding.signs,
            self.part.labels,
            len(self.part.classes),
            inner,
            self.learner["scatter"],
            self.learner["bias"],
        )
        return choice.ridge, choice.decisions

    def fit(self, rows: NDArray[np.int64], ridge: float | None) -> _Fitted:
        """Fit on some rows of the training part."""
        labels, n_classes = self.part.labels[rows], len(self.part.classes)
        m = len(self.landmarks.rows)
        share = m / len(self.part.rows)
        match self.learner["method"]:
            case "ny_ikfd":
                assert ridge is not None
                fisher = NystroemFisher(self.learner["scatter"], self.learner["bias"], ridge)
                fisher.fit(self.embedded[rows], self.embedding.signs, labels, n_classes)
                return self._folded(fisher.coef_, fisher.intercept_, share, 1, True)
            case "ny_pcvm":
                machine = NystroemPCVM(
                    basis=self.learner["basis"], max_iter=self.learner["max_iter"]
                )
                machine.fit(
                    self.embedded[rows],
                    self.embedding.signs,
                    labels,
                    n_classes,
                    basis_rows=self._landmark_records(rows),
                    self_similarities=self.kernel.self_similarities[rows],
                )
                return self._folded(
                    machine.coef_,
                    machine.intercept_,
                    machine.complexity_,
                    int(machine.n_iter_.max()),
                    bool(machine.converged_.all()),
                )
            case "linear_svc":
                baseline = LandmarkLinearSVC(random_state=self.seed)
                baseline.fit(self.kernel.C[rows], labels, n_classes)
                return _Fitted("linear", baseline.coef_, baseline.intercept_, share, 1, True)
            case _:
                return _Fitted(
                    "nearest", np.zeros((m, n_classes)), np.zeros(n_classes), share, 1, True
                )

    def decide(self, fitted: _Fitted, rows: NDArray[np.int64]) -> FloatArray:
        """Return the decisions for some rows of the training part."""
        if fitted.kind == "nearest":
            nearest = LandmarkNearestNeighbour()
            nearest.fit(self.landmarks.classes, len(self.part.classes))
            # A held-out record must not find itself among the landmarks.
            nearness = self.kernel.nearness[rows]
            itself = self.part.rows[rows][:, None] == self.landmarks.rows
            nearness = np.where(itself, nearness.min(axis=1, keepdims=True), nearness)
            return nearest.decision_function(nearness)
        return tiled_product(self.kernel.C[rows], fitted.weights) + fitted.intercept

    def _folded(
        self,
        coef: FloatArray,
        intercept: FloatArray,
        share: float,
        iterations: int,
        converged: bool,
    ) -> _Fitted:
        with single_threaded():
            weights = self.embedding.matrix @ coef
            intercept = intercept - self.embedding.offset @ coef
        return _Fitted("linear", weights, intercept, share, iterations, converged)

    def _landmark_records(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions in ``rows`` of the landmarks among them: a held-out landmark is no basis."""
        first = {
            row: place for place, row in reversed(list(enumerate(self.part.rows[rows].tolist())))
        }
        places = [first[row] for row in self.landmarks.rows.tolist() if row in first]
        return np.array(places, dtype=np.int64)
