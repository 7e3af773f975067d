"""Inner folds of a training part: hyper-parameters are chosen on them, and nothing else is seen."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kreinflow.answering.fork_temperatures import ForkTemperatures
from kreinflow.base.errors import InputError
from kreinflow.base.hierarchy import Forks
from kreinflow.base.numerics import FloatArray, IntArray, current_limits, ordered_map
from kreinflow.base.tiled_matrix import MatrixLike
from kreinflow.fitting.calibration import (
    LOSS_DIGITS,
    PlattCalibrator,
    TemperatureCalibrator,
    fork_temperatures,
)
from kreinflow.fitting.factors import factor_key
from kreinflow.fitting.fit_lift import Lifting, TriedWidths, positive_factor
from kreinflow.krein.correction import CorrectedFactor, embed
from kreinflow.krein.eigen import Eigenpairs
from kreinflow.krein.factor import Embedding, Rank
from kreinflow.krein.landmark_kernel import (
    LandmarkKernel,
    Landmarks,
    TrainingPart,
    factor_of,
    landmark_kernel,
)
from kreinflow.learners.learner import Choice, Learner, Problem
from kreinflow.learners.siblings import SIBLINGS
from kreinflow.sequences.folds import inner_folds

PARTS = 4
"""How many parts an inner fold is divided into for sets of labels; see :func:`finer`."""

FEW_RECORDS = 2000
"""Up to so many records more fits cost seconds."""

T = TypeVar("T")
Factored = tuple[Embedding, Eigenpairs]
Calibrator = TemperatureCalibrator | PlattCalibrator
ChooseAgain = Callable[[IntArray], Landmarks]
"""Returns the landmarks that are chosen without some records, by their places in the part."""


def inner_partition(part: TrainingPart, k: int, seed: int, fold: str) -> IntArray:
    """Return the inner fold of each training record; -1 is always trained on.

    Groups with a class that is in one inner fold alone are trained on. So are, of records with
    several labels, those without a label that all records outside one inner fold have. Raises
    InputError if there are not two folds left.
    """
    inner = inner_folds(part.groups, part.labels, k, seed, fold, memberships=part.memberships)
    for own in _sides(part):
        if np.unique(inner[own]).size == 1:  # all in one fold: its fit would not know the class
            inner = np.where(np.isin(part.groups, part.groups[own]), -1, inner)
    if np.unique(inner[inner >= 0]).size < 2:
        if part.grouped:
            warnings.warn(
                f"fold {fold}: too few groups of records to hold whole ones out in inner folds. "
                "Single records are held out in their place, so the choice, the probabilities "
                "and the threshold rest on records whose relatives were learned from.",
                UserWarning,
                stacklevel=2,
            )
            return inner_partition(replace(part, groups=part.rows), k, seed, fold)
        raise InputError(
            "inner folds: too few records are left to choose and calibrate on. Leave out classes "
            "with fewer than two records (min_class_size)."
        )
    return inner.astype(np.int64)


def _sides(part: TrainingPart) -> Iterator[NDArray[np.bool_]]:
    """Yield the masks of the records that a fit must know some of."""
    for label in range(len(part.classes)):
        if part.memberships is None:
            yield part.labels == label
        else:
            yield part.memberships[:, label]
            yield ~part.memberships[:, label]


def whole_groups(groups: NDArray[Any], inner: IntArray) -> bool:
    """Return whether no group has records in several inner folds."""
    _, first, unit_of = np.unique(groups, return_index=True, return_inverse=True)
    return bool((inner == inner[first][unit_of]).all())


class InnerFits:
    """What the fits of inner folds may know: records, landmarks, kernel and factor of each.

    A record that is a landmark knows itself: its column of C holds its own score, its own label
    stands in the basis. No new object knows itself. And landmarks of a class were chosen with the
    labels of all its records, so what is no landmark is nearer to those of its own class than a
    new object is. So the fit that an inner fold measures does without that fold's landmarks; and
    where scores cost nothing its landmarks are chosen again, from its own training records.

    Recipes share kernels and factors, which are kept while a sixteenth of the allowed memory
    suffices for each. What does not fit is made again, with the same bits.

    ``inner``, of shape (n,): see :func:`inner_partition`. Without ``choose_again`` the landmarks of
    a fit are those of the training part, less those that are held out.
    """

    def __init__(
        self,
        inner: IntArray,
        choose_again: ChooseAgain | None = None,
        make_factor: Callable[[LandmarkKernel, Rank], Factored] = factor_of,
    ) -> None:
        self.inner = inner
        self._choose_again = choose_again
        self._make_factor = make_factor
        self._landmarks: dict[int, Landmarks] = {}
        self._kernels, self._factors = _Kept[LandmarkKernel](), _Kept[Factored]()

    @property
    def measured(self) -> IntArray:
        """The places of the records that are held out once."""
        return np.flatnonzero(self.inner >= 0)

    def __iter__(self) -> Iterator[int]:
        return iter(np.unique(self.inner[self.measured]).tolist())

    def problem(self, problem: Problem, fold: int, rank: Rank) -> Problem | None:
        """Return the problem of a training part with what the fit of an inner fold may know.

        None if fewer than two landmarks are left.
        """
        part, transform = problem.part, problem.everything.transform
        known = self.known(problem.landmarks, problem.everything, part, fold)
        if known is None or known[0] is problem.landmarks:
            return known and problem
        landmarks, kernel = known

        def factored() -> Factored:
            seen = np.flatnonzero(self.inner != fold)
            return self._make_factor(kernel.on(seen), rank)

        @cache
        def embedding() -> CorrectedFactor:
            factor, pairs = self._factors.get(
                (fold, *factor_key(transform.name, rank)),
                factored,
                lambda made: [made[0].matrix, made[1].map, made[1].triangle],
            )
            return embed(factor, pairs, problem.embedding.method)

        return Problem(embedding, kernel, landmarks, part, problem.chosen, problem.seed)

    def landmarks(self, whole: Landmarks, part: TrainingPart, fold: int) -> Landmarks:
        """Return the landmarks that a fit may have: those of the part, if none is held out."""
        if fold not in self._landmarks:
            held_out = np.flatnonzero(self.inner == fold)
            kept = ~np.isin(whole.rows, part.rows[held_out])
            own = whole if kept.all() else whole.some(kept)
            if self._choose_again is not None:
                with suppress(InputError):  # a budget that the fewer records do not allow, say
                    own = self._choose_again(held_out)
            self._landmarks[fold] = own
        return self._landmarks[fold]

    def known(
        self, whole: Landmarks, kernel: LandmarkKernel, part: TrainingPart, fold: int
    ) -> tuple[Landmarks, LandmarkKernel] | None:
        """Return the landmarks that a fit may have, and the kernel of all records with them.

        ``whole``, ``kernel``: those of the part. None if fewer than two landmarks are left.
        """
        landmarks, transform = self.landmarks(whole, part, fold), kernel.transform
        if landmarks is whole:
            return whole, kernel
        if len(landmarks.rows) < 2:
            return None
        kept = np.flatnonzero(np.isin(whole.rows, landmarks.rows))
        if kernel.centring is None and np.array_equal(whole.rows[kept], landmarks.rows):
            return landmarks, kernel.with_landmarks(kept)
        return landmarks, self._kernels.get(
            (fold, transform.name),
            lambda: landmark_kernel(landmarks, part, transform),
            lambda made: [made.C, *([] if made.reverse is None else [made.reverse])],
        )


class LiftedFits(InnerFits):
    """The fits of inner folds over lifted kernels.

    Each has the landmarks of ``fits``, those of the scores, inducing points among the records that
    it learns from, and the widths that the other inner folds prefer.
    """

    def __init__(
        self,
        fits: InnerFits,
        landmarks: Landmarks,
        kernel: LandmarkKernel,
        lifting: Lifting,
        tried: TriedWidths,
    ) -> None:
        super().__init__(fits.inner)
        self._fits, self._whole, self._kernel = fits, landmarks, kernel
        self._lifting, self._tried = lifting, tried

    def problem(self, problem: Problem, fold: int, rank: Rank) -> Problem | None:
        """Return the lifted problem; see :meth:`InnerFits.problem`."""
        known = self._fits.known(self._whole, self._kernel, problem.part, fold)
        seen = np.flatnonzero(self.inner != fold)
        if known is None or np.isin(self._lifting.inducing, seen).sum() < 2:
            return None
        lifted = self._lifting.on(known[1], seen, self._tried.best(fold)).stored()
        factor = cache(lambda: positive_factor(lifted.kernel))
        part, chosen, seed = problem.part, problem.chosen, problem.seed
        return Problem(factor, lifted.kernel, lifted.landmarks, part, chosen, seed)


class _Kept(Generic[T]):
    """What was made, by its key, while there is room for it."""

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], T] = {}
        self._bytes = 0

    def get(
        self,
        key: tuple[Any, ...],
        make: Callable[[], T],
        arrays: Callable[[T], Sequence[MatrixLike]],
    ) -> T:
        """Return what has the key: as it was kept, else made, and kept if its arrays have room."""
        if key in self._made:
            return self._made[key]
        made = make()
        size = sum(array.nbytes for array in arrays(made) if isinstance(array, np.ndarray))
        if 16 * (self._bytes + size) <= current_limits().memory:
            self._made[key] = made
            self._bytes += size
        return made


def choose(
    learner: Learner, problem: Problem, fits: InnerFits, rank: Rank, forks: Forks | None = None
) -> tuple[Choice, FloatArray, Calibrator, ForkTemperatures | None]:
    """Choose the hyper-parameters of a learner on inner folds, and say what the choice is worth.

    Those with the fewest errors win; among equals those of smaller log loss (after the temperature
    that suits them best), then those that the learner lists first. Of records with several labels
    the mean log loss over all labels alone is looked at.

    The best of many looks better on the records that it was chosen by than it is. So the decisions
    that are returned, of shape (n_measured, n_classes), are, for the records of each inner fold,
    those of the hyper-parameters that the other inner folds choose, in the units of the chosen
    ones; the calibrator is fitted to these. With ``forks`` they are log probabilities by
    :class:`~kreinflow.answering.fork_temperatures.ForkTemperatures`, which are returned too.
    """
    choices = learner.choices(problem.n_landmarks)
    truth, folds = problem.part.truth[fits.measured], fits.inner[fits.measured]
    decisions = _held_out_decisions(learner, problem, choices, fits, rank)
    tempered: list[ForkTemperatures | None] = [None] * len(choices)
    if forks is not None:
        for i, choice in enumerate(choices):
            known = 1.0 if choice.get(SIBLINGS) else None  # they are log probabilities
            tempered[i], decisions[i] = fork_temperatures(forks, decisions[i], truth, known)
    several = problem.part.memberships is not None
    kind: type[Any] = PlattCalibrator if several else TemperatureCalibrator
    wrong = np.zeros((len(choices), len(truth)), dtype=bool)
    if not several:
        wrong = np.array([decision.argmax(axis=1) != truth for decision in decisions])

    @cache
    def calibrator(i: int) -> Any:
        return kind().fit(decisions[i], truth)

    @cache
    def losses(i: int) -> FloatArray:
        return np.asarray(calibrator(i).losses(decisions[i], truth))

    def best_on(rows: NDArray[np.bool_]) -> int:
        errors = wrong[:, rows].sum(axis=1)
        fewest = np.flatnonzero(errors == errors.min()).tolist()
        return min(fewest, key=lambda i: round(float(losses(i)[rows].mean()), LOSS_DIGITS))

    best = best_on(np.ones(len(truth), dtype=bool))
    honest = np.empty_like(decisions[best])
    for fold in fits:
        other = best_on(folds != fold)
        own = decisions[other][folds == fold]
        honest[folds == fold] = calibrator(best).converted(own, calibrator(other))
    return choices[best], honest, kind().fit(honest, truth), tempered[best]


def decisions_with_all_landmarks(
    learner: Learner, problem: Problem, choice: Choice, fits: InnerFits, landmarks: Landmarks
) -> tuple[IntArray, FloatArray] | None:
    """Return decisions for records that were held out, of fits that are nearly the final one.

    Without the landmarks that are held out decisions are smaller than those of the final fit. These
    fits learn from the same records with all landmarks, and the factor of the final fit. A record
    that is a landmark, or in a group with one, would know itself; it is left out. Returned are the
    places of the others, and their decisions; None if these are few, or a fit failed.
    """
    part, measured = problem.part, fits.measured
    parts = finer(fits.inner, part.groups)
    itself = np.isin(part.rows, np.concatenate([problem.landmarks.rows, landmarks.rows]))
    places = measured[~np.isin(part.groups[measured], part.groups[itself])]
    if 2 * len(places) < len(measured):
        return None
    decisions = np.empty((len(places), problem.n_classes))
    with suppress(InputError), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the final fit says it
        for own in np.unique(parts[places]):
            (fitted,) = learner.fit(problem.on(np.flatnonzero(parts != own)), [choice])
            held = parts[places] == own
            decisions[held] = learner.decide(fitted, problem.on(places[held]))
        return places, decisions
    return None


def finer(inner: IntArray, groups: IntArray) -> IntArray:
    """Return the inner folds, each divided into :data:`PARTS` if they are of few records.

    A fit that lacks one record of three is less like the final one than a fit that lacks one of
    twelve. A group stays whole: those of a fold go into its parts in turn, the largest first. -1
    stays what it is.
    """
    if len(inner) > FEW_RECORDS:
        return inner
    parts = inner.copy()
    for fold in np.unique(inner[inner >= 0]):
        own = np.flatnonzero(inner == fold)
        _, of_group, sizes = np.unique(groups[own], return_inverse=True, return_counts=True)
        rank = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
        parts[own] = PARTS * fold + rank[of_group] % PARTS
    return parts


def _held_out_decisions(
    learner: Learner, problem: Problem, choices: Sequence[Choice], fits: InnerFits, rank: Rank
) -> list[FloatArray]:
    """Return the decisions of each choice for the records that are held out once, and no others.

    Several inner folds are fitted at once where a quarter of the allowed memory holds their rows.
    """
    measured = fits.measured
    decisions = [np.zeros((len(measured), problem.n_classes)) for _ in choices]

    def fit(fold: int) -> None:
        held_out = np.flatnonzero(fits.inner == fold)
        known = fits.problem(problem, fold, rank)
        if known is None:
            return
        try:
            fitted = learner.fit(known.on(np.flatnonzero(fits.inner != fold)), choices)
        except InputError:
            if known is problem:
                raise
            return
        places, unseen = np.searchsorted(measured, held_out), known.on(held_out)
        for decision, own in zip(decisions, fitted, strict=True):
            decision[places] = learner.decide(own, unseen)

    limits, rows = current_limits(), 8 * len(problem.part.rows) * problem.n_landmarks
    together = 4 * limits.threads * rows <= limits.memory
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the final fit says it
        for _ in (ordered_map if together else map)(fit, fits):
            pass
    return decisions
