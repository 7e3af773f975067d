"""One fold, one set of landmarks: a classifier for each recipe.

Nothing here looks at a record outside the training part of the fold.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.errors import InputError, named
from kreinflow.krein.correction import CorrectedFactor, embed
from kreinflow.krein.eigen import Eigenpairs, eigenpairs
from kreinflow.krein.factor import KreinFactor, Rank
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, TrainingPart, landmark_kernel
from kreinflow.learners.learner import Choice, Learner, Problem
from kreinflow.learners.registry import make_learner
from kreinflow.models.calibration import (
    LOSS_DIGITS,
    TemperatureCalibrator,
    coverage_threshold,
    reject_threshold,
)
from kreinflow.models.classifier import LandmarkClassifier
from kreinflow.numerics import FloatArray, IntArray, current_limits
from kreinflow.sequences.folds import inner_folds
from kreinflow.tall import select


def inner_partition(
    landmark_rows: IntArray, part: TrainingPart, k: int, seed: int, fold: str
) -> IntArray:
    """Return the inner fold of each training record; -1 is always trained on.

    A record that is a landmark knows itself: its column of C holds its own score, its own label
    stands in the basis. A new object never does, so landmarks are trained on and not measured,
    unless that would leave fewer than half of the records to measure, or a group has several
    distinct rows, which then are held out together: a landmark of the group that was trained on
    would know them. Then all are measured, each by a fit that lacks the landmarks of its inner
    fold, see :func:`choose`. Groups with a class that is in one inner fold alone are trained on.

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
    grouped = len(np.unique(part.groups)) < len(np.unique(part.rows))
    if not grouped and 2 * np.count_nonzero(plain & (inner >= 0)) >= len(inner):
        inner = np.where(plain, inner, -1)
    for label in range(len(part.classes)):
        own = part.labels == label
        if np.unique(inner[own]).size == 1:  # all in one fold: its fit would not know the class
            inner = np.where(np.isin(part.groups, part.groups[own]), -1, inner)
    if np.unique(inner[inner >= 0]).size < 2:
        if grouped:
            warnings.warn(
                f"fold {fold}: too few groups of records to hold whole ones out in inner folds. "
                "Single records are held out in their place, so the choice, the probabilities "
                "and the threshold rest on records whose relatives were learned from.",
                UserWarning,
                stacklevel=2,
            )
            single = replace(part, groups=part.rows)
            return inner_partition(landmark_rows, single, k, seed, fold)
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


class InnerFactors:
    """The factors of the fits of inner folds, for recipes that share landmarks and inner folds.

    They are kept while an eighth of what is allowed suffices; a factor that does not fit is made
    again for each recipe, and has the same bits.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[int, str, str], tuple[KreinFactor, Eigenpairs]] = {}
        self._bytes = 0

    def get(
        self,
        fold: int,
        transform: str,
        rank: Rank,
        make: Callable[[], tuple[KreinFactor, Eigenpairs]],
    ) -> tuple[KreinFactor, Eigenpairs]:
        """Return the factor of the fit that an inner fold measures, and its eigenpairs."""
        key = fold, transform, repr(rank)  # 1 keeps one eigenvalue, 1.0 all of them
        if key in self._kept:
            return self._kept[key]
        factor, pairs = make()
        size = factor.matrix.nbytes + pairs.map.nbytes + pairs.triangle.nbytes
        if 8 * (self._bytes + size) <= current_limits().memory:
            self._kept[key] = factor, pairs
            self._bytes += size
        return factor, pairs


def train(
    recipe: Mapping[str, Any],
    settings: Mapping[str, Any],
    embedding: CorrectedFactor,
    kernel: LandmarkKernel,
    landmarks: Landmarks,
    part: TrainingPart,
    inner: IntArray,
    reject_error: float | None,
    seed: int,
    reject_coverage: float | None = None,
    shared: InnerFactors | None = None,
) -> Trained:
    """Train one recipe: hyper-parameters, calibration and threshold on inner folds, then on all.

    Hyper-parameters are those of :func:`choose`.

    Parameters
    ----------
    recipe, settings : mapping
        Of the config; the settings are those of the learner.
    embedding : CorrectedFactor
        That of the recipe.
    kernel, landmarks, part
        See the classes.
    inner : ndarray of shape (n,)
        Inner fold of each training record; -1 is always trained on.
    reject_error : float or None
        Errors allowed among predictions that are not flagged; not looked at if there is a
        ``reject_coverage``.
    seed : int
        For the learners that draw.
    reject_coverage : float, optional
        Share of the predictions that are not to be flagged.
    shared : InnerFactors, optional
        Of the same landmarks, training part and inner folds.

    Raises
    ------
    InputError
        Naming the recipe, if the records cannot be learned from.
    """
    learner = make_learner(settings)
    problem = Problem.of(embedding, kernel, landmarks, part, seed)
    with named(f"recipe {recipe['name']!r}"):
        choice, decisions, calibrator = choose(learner, problem, inner, recipe["rank"], shared)
        (fitted,) = learner.fit(problem, [choice])
    truth = part.labels[inner >= 0]
    probabilities = calibrator.probabilities(decisions)
    if reject_coverage is not None:
        stated = {"coverage": reject_coverage}
        threshold = coverage_threshold(probabilities, reject_coverage)
    elif reject_error is not None:
        stated = {"error": reject_error}
        threshold = reject_threshold(probabilities, truth, error=reject_error)
    else:
        raise ValueError("the threshold needs an error or a coverage")
    classifier = LandmarkClassifier(
        classes=part.classes,
        decision=fitted.decision,
        landmark_classes=landmarks.classes,
        transform=kernel.transform,
        landmark_self_scores=landmarks.self_scores[landmarks.rows],
        landmark_lengths=landmarks.lengths[landmarks.rows],
        centring=kernel.centring,
        temperature=float(calibrator.temperature_),
        reject_threshold=float(threshold),
        about={"recipe": dict(recipe), "learner": dict(settings), "reject": stated},
    )
    likely = np.clip(probabilities[np.arange(len(truth)), truth], 1e-15, 1.0)
    needs_self_score = landmarks.kind == "sequences" and kernel.transform.name != "raw"
    m = len(landmarks.rows)
    figures = {
        "landmarks": m,
        "rank": embedding.rank,
        "basis_used": m / len(part.rows) if fitted.basis_used is None else fitted.basis_used,
        "iterations": fitted.iterations,
        "converged": fitted.converged,
        "hyper_parameters": shown(choice),
        "groups_held_out": _whole_groups(part.groups, inner),
        "temperature": classifier.temperature,
        "reject_threshold": classifier.reject_threshold,
        "inner_accuracy": float(np.mean(probabilities.argmax(axis=1) == truth)),
        "inner_log_loss": float(-np.log(likely).mean()),
        "alignments_per_query": m + int(needs_self_score),
    }
    return Trained(classifier, figures)


def _whole_groups(groups: NDArray[Any], inner: IntArray) -> bool:
    """Return whether no group has records in several inner folds."""
    units, unit_of = np.unique(groups, return_inverse=True)
    lowest = np.full(len(units), np.iinfo(np.int64).max)
    np.minimum.at(lowest, unit_of, inner)
    return bool((inner == lowest[unit_of]).all())


def train_recipes(
    recipes: Sequence[Mapping[str, Any]],
    learners: Mapping[str, Mapping[str, Any]],
    transforms: Mapping[str, ScoreTransform],
    embedding_of: Callable[[Mapping[str, Any]], CorrectedFactor],
    landmarks: Landmarks,
    part: TrainingPart,
    inner: IntArray,
    reject_error: float | None,
    seed: int,
    reject_coverage: float | None = None,
) -> Iterator[tuple[Mapping[str, Any], Trained]]:
    """Train recipes that share landmarks and inner folds, and yield each with what it gave.

    Recipes of one transform follow each other, so that one kernel at a time is held.

    Parameters
    ----------
    recipes : sequence of mappings
    learners, transforms : mapping
        Of the config, by the names that the recipes have for them.
    embedding_of : callable
        Returns the corrected factor of a recipe.
    landmarks, part, inner, reject_error, seed, reject_coverage
        See :func:`train`.

    Raises
    ------
    InputError
        As :func:`train`.
    """
    shared = InnerFactors()
    for name in dict.fromkeys(recipe["transform"] for recipe in recipes):
        kernel = landmark_kernel(landmarks, part, transforms[name])
        for recipe in (r for r in recipes if r["transform"] == name):
            trained = train(
                recipe,
                learners[recipe["learner"]],
                embedding_of(recipe),
                kernel,
                landmarks,
                part,
                inner,
                reject_error,
                seed,
                reject_coverage,
                shared,
            )
            yield recipe, trained


def shown(choice: Choice) -> str:
    """Return hyper-parameters as they stand in tables."""
    return " ".join(f"{key}={value:.3g}" for key, value in choice.items())


def choose(
    learner: Learner,
    problem: Problem,
    inner: IntArray,
    rank: Rank | None = None,
    shared: InnerFactors | None = None,
) -> tuple[Choice, FloatArray, TemperatureCalibrator]:
    """Choose the hyper-parameters of a learner on inner folds.

    Those with the fewest errors win; among equals those of smaller log loss (after the
    temperature that suits them best), then those that the learner lists first.

    Parameters
    ----------
    learner : Learner
    problem : Problem
        The whole training part.
    inner : ndarray of shape (n,)
        Inner fold of each training record; -1 is always trained on.
    rank : optional
        Of the factor. If given, landmarks that an inner fold holds out are no landmarks of its fit:
        what it measures are new objects. If not, they stay.
    shared : InnerFactors, optional
        Of the same landmarks, training part and inner folds.

    Returns
    -------
    mapping of str to float
        The hyper-parameters.
    ndarray
        Their decisions for the records that were held out.
    TemperatureCalibrator
        Fitted to these.
    """
    choices = learner.choices()
    truth = problem.labels[inner >= 0]
    decisions = _held_out_decisions(learner, problem, choices, inner, rank, shared)
    errors = [int((decision.argmax(axis=1) != truth).sum()) for decision in decisions]
    fewest = [i for i, count in enumerate(errors) if count == min(errors)]
    calibrators = {i: TemperatureCalibrator().fit(decisions[i], truth) for i in fewest}
    best = min(fewest, key=lambda i: round(calibrators[i].log_loss_, LOSS_DIGITS))
    return choices[best], decisions[best], calibrators[best]


def _held_out_decisions(
    learner: Learner,
    problem: Problem,
    choices: Sequence[Choice],
    inner: IntArray,
    rank: Rank | None,
    shared: InnerFactors | None = None,
) -> list[FloatArray]:
    """Return the decisions of each choice for the records that are held out once, and no others.

    With many choices, records and classes these are the largest arrays of the training. Where the
    landmarks that an inner fold leaves are too few to learn from, or score nothing, all classes
    have the same decision, 0: nothing is known, and records are the same for all recipes.
    """
    measured = np.flatnonzero(inner >= 0)
    decisions = [np.zeros((len(measured), problem.n_classes)) for _ in choices]
    for fold in np.unique(inner[measured]).tolist():
        held_out = np.flatnonzero(inner == fold)
        places = np.searchsorted(measured, held_out)
        known = problem
        if rank is not None:
            kept = ~np.isin(problem.landmarks.rows, problem.part.rows[held_out])
            if np.count_nonzero(kept) < 2:
                continue
            if not kept.all():
                known = _with_landmarks(problem, kept, held_out, rank, fold, shared)
        try:
            fits = learner.fit(known.on(np.flatnonzero(inner != fold)), choices)
        except InputError:
            if known is problem:
                raise
            continue
        unseen = known.on(held_out)
        for decision, fitted in zip(decisions, fits, strict=True):
            decision[places] = learner.decide(fitted, unseen)
    return decisions


def _with_landmarks(
    problem: Problem,
    kept: NDArray[np.bool_],
    held_out: IntArray,
    rank: Rank,
    fold: int,
    shared: InnerFactors | None,
) -> Problem:
    """Return the problem with some of its landmarks, and the factor of records not held out."""
    part, landmarks = problem.part, problem.landmarks.some(kept)
    kernel = landmark_kernel(landmarks, part, problem.everything.transform)

    def make() -> tuple[KreinFactor, Eigenpairs]:
        seen = np.setdiff1d(np.arange(len(part.rows)), held_out)
        C = select(kernel.C, seen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the factor of the fold says it
            factor = KreinFactor.fit(
                C,
                kernel.W,
                kernel.self_similarities[seen],
                rank=rank,
                centre=kernel.centring is not None,
            )
        return factor, eigenpairs(factor.rows(C), factor.signs)

    @cache
    def embedding() -> CorrectedFactor:
        name = kernel.transform.name
        factor, pairs = shared.get(fold, name, rank, make) if shared is not None else make()
        return embed(factor, pairs, problem.embedding.method)

    return Problem(embedding, kernel, landmarks, part, problem.chosen, problem.seed)
