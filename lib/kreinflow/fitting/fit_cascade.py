"""A cascade is learned on inner folds: its levels, their weights, and its threshold.

Nothing here looks at a record outside the training part of the fold. A record that is held out
meets the records that its inner fold learns from, in the space of the landmarks that this fold
knows. The weights that it is measured with were learned from the other folds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.calibration import TemperatureCalibrator
from kreinflow.answering.cascade import Cascade, Said, followed
from kreinflow.answering.pair_machines import PairMachines, fit_machine
from kreinflow.answering.query import Decided
from kreinflow.answering.record_scores import SMALLEST, Records, RecordScores, logit, pair_features
from kreinflow.answering.reject_threshold import RejectRule
from kreinflow.answering.score_cache import NOBODY, ScoreCache
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray, single_threaded
from kreinflow.fitting.cascade_choice import Plan, Wanted, chosen
from kreinflow.fitting.fit_lift import Lifting, Widths
from kreinflow.fitting.inner_folds import InnerFits
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, TrainingPart
from kreinflow.views.lift import Lift

STEPS = (10, 20, 50, 100, 200, 500, 1000)
"""Nearest records that are asked, step by step; no more than an inner fold has."""

LIKELIEST = 3
"""Classes whose members the level of pairs asks."""

SAMPLE = 1500
"""Records at most that a cascade is learned and measured on."""

_FEATURES = 2_000_000  # numbers of one feature of them: with many classes there are fewer records

BLOCKS = 200
"""Alignments at most for the machines of pairs, for each record of the training part."""

MEMBERS = 2000
"""Records of the two classes of a machine, at most."""

_CONFUSED = 0.5, 5e-4  # records of a pair that change places at least; and as a share of all
_SHRINKAGE = 1e-3  # of the squared weights of a level, against the mean log loss


def sample_size(n_records: int, n_classes: int) -> int:
    """Return how many records a cascade is learned and measured on, at most."""
    return min(n_records, SAMPLE, max(300, _FEATURES // n_classes))


def places_of(wanted: IntArray, rows: IntArray) -> IntArray:
    """Return the first place of each number among others, -1 for one that is not there."""
    order = np.argsort(rows, kind="stable")
    at = np.minimum(np.searchsorted(rows, wanted, sorter=order), len(rows) - 1)
    found = order[at]
    return np.where(rows[found] == wanted, found, NOBODY)


@dataclass(frozen=True, eq=False)
class FittedCascade:
    """A cascade, and what it gave on the records that were held out.

    Parameters
    ----------
    cascade : Cascade
    places : ndarray of shape (n_sample,)
        The records, by their places in the training part.
    probabilities : ndarray of shape (n_sample, n_classes)
        Of the cascade: its levels with the weights that the other inner folds learn, and its
        threshold. Promises are made with these.
    compared : ndarray of shape (n_sample, n_classes)
        Of what the other inner folds choose in its place. Recipes are compared by these.
    alignments : float
        Mean for a query, beyond the landmarks, by what the other inner folds choose.
    aligned : int
        Pairs that the fit had aligned.
    """

    cascade: Cascade
    places: IntArray
    probabilities: FloatArray
    compared: FloatArray
    alignments: float
    aligned: int


def fit_logit(features: FloatArray, y: IntArray) -> FloatArray:
    r"""Return the weights of a conditional logit, shared by all classes.

    .. math:: \min_w -\frac1n \sum_i \log softmax_c(x_{ic}'w)_{y_i} + \rho \|w\|^2

    Parameters
    ----------
    features : ndarray of shape (n, n_classes, n_features)
    y : ndarray of shape (n,)

    References
    ----------
    D. McFadden (1974), Conditional logit analysis of qualitative choice behavior, in Frontiers in
    Econometrics, 105-142.
    """
    from scipy.optimize import minimize  # slow to import

    n, _, p = features.shape
    if not n:
        return np.ones(p)
    own = features[np.arange(n), y]

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        said = log_softmax(np.einsum("ncp,p->nc", features, w), axis=1)
        value = -said[np.arange(n), y].mean() + _SHRINKAGE * float(w @ w)
        expected = np.einsum("nc,ncp->p", np.exp(said), features)
        return float(value), (expected - own.sum(axis=0)) / n + 2 * _SHRINKAGE * w

    start = np.zeros(p)
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B").x)


def records_of(
    lifting: Lifting,
    part: TrainingPart,
    landmarks: Landmarks,
    kernel: LandmarkKernel,
    seen: IntArray,
    widths: Widths,
) -> Records:
    """Return the records that a fit knows, which a new object may ask.

    Parameters
    ----------
    lifting : Lifting
        Makes the space in which the nearest records are found.
    part : TrainingPart
    landmarks : Landmarks
    kernel : LandmarkKernel
        Of these landmarks.
    seen : ndarray of int
        The places of the records in the training part.
    widths : mapping of str to float
        Of the views.
    """
    return indexed(lifting.lift_of(kernel, seen, widths, seen), part, landmarks, seen)


def indexed(index: Lift, part: TrainingPart, landmarks: Landmarks, seen: IntArray) -> Records:
    """Return records of a training part, by their places in it, with the index of them."""
    rows = part.rows[seen]
    return Records(
        index=index,
        classes=part.labels[seen],
        rows=rows,
        self_scores=landmarks.self_scores[rows],
        lengths=landmarks.lengths[rows],
        landmarks=places_of(landmarks.rows, rows),
    )


@dataclass(frozen=True, eq=False)
class CascadeFit:
    """What the cascade of a first stage is learned from.

    Parameters
    ----------
    part : TrainingPart
    landmarks : Landmarks
    kernel : LandmarkKernel
        Of the transform of the first stage.
    fits : InnerFits
        Of the scores.
    lifting : Lifting
        Makes the space in which the nearest records are found.
    widths : callable
        Returns the widths of the views without an inner fold, or of all with None.
    decisions : ndarray of shape (n_measured, n_classes)
        Of the first stage, for the records that are held out once.
    evidence : ScoreTransform
    asked : ScoreCache
        Of the distinct rows of the data set.
    """

    part: TrainingPart
    landmarks: Landmarks
    kernel: LandmarkKernel
    fits: InnerFits
    lifting: Lifting
    widths: Callable[[int | None], Widths]
    decisions: FloatArray
    evidence: ScoreTransform
    asked: ScoreCache

    def fit(self, wanted: Wanted, reject: RejectRule) -> FittedCascade:
        """Learn the cascade.

        Raises
        ------
        InputError
            If the landmarks alone are more alignments than are wanted.
        """
        with single_threaded():
            return self._fit(wanted, reject)

    def _fit(self, wanted: Wanted, reject: RejectRule) -> FittedCascade:
        before, base = self.asked.aligned, self.base
        if wanted.alignments is not None and base > wanted.alignments:
            raise InputError(
                f"cascade: {wanted.alignments:g} alignments for a query are asked for, and the "
                f"first stage takes {base}. Give more, or its selector a smaller budget."
            )
        everything = np.arange(len(self.part.rows))
        most = wanted.most_nearest(base)
        if most not in self._planned:
            held = _HeldOut(self, most)
            self._planned[most] = held, held.plans()
        held, plans = self._planned[most]
        plan, threshold = chosen(plans, held.truth, wanted, base)
        logs = np.log(np.maximum(followed(plan.levels, threshold)[0], SMALLEST))
        calibrator = TemperatureCalibrator().fit(logs, held.truth)
        probabilities = calibrator.probabilities(logs)
        raw, alignments = held.honest(plans, wanted, base)
        others = np.log(np.maximum(raw, SMALLEST))
        compared = TemperatureCalibrator().fit(others, held.truth).probabilities(others)
        machines = held.machines(self._every_record, everything) if plan.pairs else None
        cascade = Cascade(
            records=self._every_record,
            transform=self.kernel.transform,
            evidence=self.evidence,
            steps=held.steps[: plan.steps],
            weights=plan.weights,
            machines=machines,
            likeliest=LIKELIEST,
            threshold=threshold,
            temperature=float(calibrator.temperature_),
            reject_threshold=reject.threshold(probabilities, held.truth),
            about={
                key: value
                for key, value in (("loss", wanted.loss), ("alignments", wanted.alignments))
                if value is not None
            },
        )
        return FittedCascade(
            cascade,
            held.places,
            probabilities,
            compared,
            float(alignments.mean()) if len(alignments) else 0.0,
            self.asked.aligned - before,
        )

    @cached_property
    def _planned(self) -> dict[int, tuple["_HeldOut", list[Plan]]]:
        """What the records held out were told, by the most nearest ones that were asked."""
        return {}

    @cached_property
    def _every_record(self) -> Records:
        everything = np.arange(len(self.part.rows))
        return self.records(self.landmarks, self.kernel, everything, None)

    @property
    def base(self) -> int:
        """The alignments of the first stage."""
        return len(self.landmarks.rows) + int(self.kernel.transform.name != "raw")

    def records(
        self, landmarks: Landmarks, kernel: LandmarkKernel, seen: IntArray, fold: int | None
    ) -> Records:
        """Return the records that a fit knows, which a new object may ask."""
        return records_of(self.lifting, self.part, landmarks, kernel, seen, self.widths(fold))

    def drawn(self, most: int) -> IntArray:
        """Return some of the records that are held out once, by their places among these."""
        keys = self.lifting.keys[self.part.rows[self.fits.measured]]
        return np.sort(np.argsort(keys, kind="stable")[:most])

    def inner(self, fold: int, places: IntArray, decisions: FloatArray) -> "Inner":
        """Return an inner fold.

        Parameters
        ----------
        fold : int
        places : ndarray of shape (n_sample,)
            The records that are looked at, by their places in the part.
        decisions : ndarray of shape (n_sample, n_classes)
            Of these.
        """
        landmarks, kernel = self.fits.landmarks(self.landmarks, self.part, fold), self.kernel
        if landmarks is not self.landmarks:
            kernel = self.fits.kernel(landmarks, self.part, kernel.transform, fold)
        seen = np.flatnonzero(self.fits.inner != fold)
        records = self.records(landmarks, kernel, seen, fold)
        held = np.flatnonzero(self.fits.inner[places] == fold)
        scores = self.scores(landmarks, kernel, records, places[held], decisions[held])
        return Inner(held, seen, kernel, scores)

    def learned(self, fold: int) -> bool:
        """Return whether an inner fold left more than one landmark to learn from."""
        return len(self.fits.landmarks(self.landmarks, self.part, fold).rows) > 1

    def scores(
        self,
        landmarks: Landmarks,
        kernel: LandmarkKernel,
        records: Records,
        held: IntArray,
        decisions: FloatArray,
    ) -> RecordScores:
        """Return the scores of records that were held out with those that a fit knows."""
        rows = self.part.rows[held]
        query = Decided(
            np.asarray(landmarks.scores[rows]),
            landmarks.self_scores[rows],
            landmarks.lengths[rows],
            self.lifting.objects.take(rows),
            self.asked.of_rows(rows, records.rows),
            rows=np.asarray(kernel.C[held]),
            decisions=decisions,
        )
        return RecordScores(records, query, kernel.transform, self.evidence)

    def machine_rows(
        self, kernel: LandmarkKernel, records: Records, seen: IntArray, own: IntArray
    ) -> FloatArray:
        """Return what a machine sees of the members of its classes: members, then landmarks."""
        rows, lengths, alone = records.rows[own], records.lengths[own], records.self_scores[own]
        scores = self.asked(rows, np.tile(rows, (len(rows), 1)))
        similar = kernel.transform.apply(scores, alone, alone, lengths, lengths)
        return np.hstack([similar, np.asarray(kernel.C[seen[own]])])


@dataclass(frozen=True, eq=False)
class Inner:
    """An inner fold: the records that it holds out, and their scores with those it knows."""

    held: IntArray  # places in the sample
    seen: IntArray  # places in the part
    kernel: LandmarkKernel
    scores: RecordScores


class _HeldOut:
    """The records that are held out once, and what the levels say of them."""

    def __init__(self, fit: CascadeFit, most_nearest: int) -> None:
        self._of = fit
        part, fits = fit.part, fit.fits
        drawn = fit.drawn(sample_size(len(part.rows), len(part.classes)))
        self.places = fits.measured[drawn]
        self.truth = part.labels[self.places]
        self._folds = fits.inner[self.places]
        self._decisions = fit.decisions[drawn]
        fewest = min((int((fits.inner != fold).sum()) for fold in fits), default=0)
        self.steps = tuple(q for q in STEPS if q <= min(fewest, most_nearest))
        # Where one landmark is left nothing was learned: the first stage answers.
        self._inner = [
            fit.inner(fold, self.places, self._decisions)
            for fold in np.unique(self._folds).tolist()
            if fit.learned(fold)
        ]
        self._asks = np.zeros(len(self.places), dtype=bool)
        for inner in self._inner:
            self._asks[inner.held] = True
        self.steps = self.steps if self._inner else ()

    def _gathered(self, of_fold: Callable[[Inner], tuple[NDArray[Any], ...]]) -> list[NDArray[Any]]:
        """Return arrays of all records held out from those of each inner fold; 0 of others."""
        parts = [of_fold(inner) for inner in self._inner]
        gathered = []
        for arrays in zip(*parts, strict=True):
            whole = np.zeros((len(self.places), *arrays[0].shape[1:]), dtype=arrays[0].dtype)
            for inner, own in zip(self._inner, arrays, strict=True):
                whole[inner.held] = own
            gathered.append(whole)
        return gathered

    def _logit(
        self, features: FloatArray, used: NDArray[np.bool_] | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return weights, and probabilities by the weights that the other inner folds learn."""
        learned = np.ones(len(features), dtype=bool) if used is None else used
        probabilities = np.empty(features.shape[:2])
        for fold in np.unique(self._folds).tolist():
            out = self._folds == fold
            others = learned & ~out
            weights = fit_logit(features[others], self.truth[others])
            probabilities[out] = logit(features[out], weights)
        return fit_logit(features[learned], self.truth[learned]), probabilities

    def honest(
        self, plans: Sequence[Plan], wanted: Wanted, base: int
    ) -> tuple[FloatArray, IntArray]:
        """Return probabilities and alignments by what the other inner folds choose.

        The best of many plans and thresholds looks better than it is on the records that it was
        chosen by.
        """
        raw = np.empty_like(plans[0].levels[0].probabilities)
        alignments = np.zeros(len(raw), dtype=np.int64)
        for fold in np.unique(self._folds).tolist():
            out = self._folds == fold
            others = [plan.on(~out) for plan in plans]
            plan, threshold = chosen(others, self.truth[~out], wanted, base)
            own = plans[others.index(plan)].on(out)
            raw[out], _, alignments[out] = followed(own.levels, threshold)
        return raw, alignments

    def plans(self) -> list[Plan]:
        """Return all plans: the first stage, more and more of the nearest, each with pairs."""
        n = len(self.places)
        w, first = self._logit(self._decisions[:, :, None])
        levels = [Said(first, np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool))]
        weights = [w]
        if self.steps:
            for inner in self._inner:
                inner.scores.rank(np.arange(len(inner.held)), self.steps[-1])
                inner.scores.records.index.forget()  # what is needed once
        plans = [Plan(0, False, tuple(levels), tuple(weights))]
        for number, q in enumerate(self.steps, start=1):
            features, alignments = self._gathered(
                lambda inner, q=q: inner.scores.nearest(np.arange(len(inner.held)), q)  # type: ignore[misc]
            )
            w, said = self._logit(features, self._asks)
            said = np.where(self._asks[:, None], said, first)
            levels.append(Said(said, alignments, self._asks))
            weights.append(w)
            plans.append(Plan(number, False, tuple(levels), tuple(weights)))
        self._pairs = self._confused(first)
        if not len(self._pairs) or not self._inner:
            return plans
        machines = [
            self._machines(inner.scores.records, inner.seen, inner.kernel) for inner in self._inner
        ]
        return [*plans, *(self._with_pairs(plan, machines) for plan in plans)]

    def _with_pairs(self, plan: Plan, machines: Sequence[PairMachines]) -> Plan:
        """Return a plan with a level of pairs behind its others."""
        before = plan.levels[-1]
        q = self.steps[plan.steps - 1] if plan.steps else 0

        def votes(inner: Inner) -> tuple[NDArray[Any], ...]:
            own = before.probabilities[inner.held]
            told = machines[self._inner.index(inner)]
            return inner.scores.votes(np.arange(len(inner.held)), own, told, LIKELIEST, q)

        found, alignments, voting = self._gathered(votes)
        w, said = self._logit(pair_features(before.probabilities, found), voting)
        said = np.where(voting[:, None], said, before.probabilities)
        last = Said(said, np.where(voting, alignments, before.alignments), voting)
        return Plan(plan.steps, True, (*plan.levels, last), (*plan.weights, w))

    def _confused(self, first: FloatArray) -> IntArray:
        """Return the pairs of classes that the first stage confuses, those of most use first."""
        part = self._of.part
        sizes = np.bincount(part.labels, minlength=len(part.classes))
        mass = first.T @ first * len(part.rows) / max(1, len(first))
        least = max(_CONFUSED[0], _CONFUSED[1] * len(part.rows))
        low, high = np.nonzero(np.triu(mass >= least, 1))
        small = sizes[low] + sizes[high] <= MEMBERS
        low, high = low[small], high[small]
        use = np.round(mass[low, high] / (sizes[low] * sizes[high]), 12)
        left, kept, inside = BLOCKS * len(part.rows), [], np.zeros(len(sizes), dtype=bool)
        for number in np.argsort(-use, kind="stable").tolist():
            a, b = low[number], high[number]
            cost = sizes[a] * sizes[b] + sum(sizes[c] ** 2 // 2 for c in (a, b) if not inside[c])
            if cost <= left:
                left -= cost
                inside[[a, b]] = True
                kept.append(number)
        return np.stack([low, high], axis=1)[sorted(kept)]

    def _machines(self, records: Records, seen: IntArray, kernel: LandmarkKernel) -> PairMachines:
        fits = [*self._fitted(records, seen, kernel)]
        weights = [w for w, _, _ in fits]
        sizes = [size for _, _, size in fits]
        return PairMachines(
            self._pairs,
            np.concatenate([w[:size] for w, size in zip(weights, sizes, strict=True)]),
            np.stack([w[size:] for w, size in zip(weights, sizes, strict=True)]),
            np.array([b for _, b, _ in fits]),
        )

    def _fitted(
        self, records: Records, seen: IntArray, kernel: LandmarkKernel
    ) -> Iterator[tuple[FloatArray, float, int]]:
        for pair in self._pairs:
            own = np.flatnonzero(np.isin(records.classes, pair))
            rows = self._of.machine_rows(kernel, records, seen, own)
            yield *fit_machine(rows, records.classes[own] == pair[0]), len(own)

    def machines(self, records: Records, seen: IntArray) -> PairMachines:
        """Return the machines of all records."""
        return self._machines(records, seen, self._of.kernel)
