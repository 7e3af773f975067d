"""Inner folds of a training part: hyper-parameters are chosen on them, and nothing else is seen."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.errors import InputError
from kreinflow.krein.correction import CorrectedFactor, embed
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.factor import KreinFactor, Rank
from kreinflow.krein.landmark_kernel import TrainingPart, factor_of, landmark_kernel
from kreinflow.learners.learner import Choice, Learner, Problem
from kreinflow.models.calibration import (
    LOSS_DIGITS,
    TemperatureCalibrator,
)
from kreinflow.models.factors import factor_key
from kreinflow.numerics import FloatArray, IntArray, current_limits
from kreinflow.sequences.folds import inner_folds


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


def whole_groups(groups: NDArray[Any], inner: IntArray) -> bool:
    """Return whether no group has records in several inner folds."""
    units, unit_of = np.unique(groups, return_inverse=True)
    lowest = np.full(len(units), np.iinfo(np.int64).max)
    np.minimum.at(lowest, unit_of, inner)
    return bool((inner == lowest[unit_of]).all())


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
        key = fold, *factor_key(transform, rank)
        if key in self._kept:
            return self._kept[key]
        factor, pairs = make()
        size = factor.matrix.nbytes + pairs.map.nbytes + pairs.triangle.nbytes
        if 8 * (self._bytes + size) <= current_limits().memory:
            self._kept[key] = factor, pairs
            self._bytes += size
        return factor, pairs


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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the factor of the fold says it
            return factor_of(kernel.on(seen), rank)

    @cache
    def embedding() -> CorrectedFactor:
        name = kernel.transform.name
        factor, pairs = shared.get(fold, name, rank, make) if shared is not None else make()
        return embed(factor, pairs, problem.embedding.method)

    return Problem(embedding, kernel, landmarks, part, problem.chosen, problem.seed)
