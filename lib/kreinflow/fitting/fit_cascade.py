"""A cascade is learned on inner folds: its levels, their weights, and its threshold.

Nothing here looks at a record outside the training part of the fold. A record that is held out
meets the records that its inner fold learns from, in the space of the landmarks that this fold
knows. The weights that it is measured with were learned from the other folds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.cascade import (
    SMALLEST,
    Cascade,
    LevelAnswers,
    LevelScores,
    PairMachines,
    followed,
    logit,
    pair_features,
)
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.query_and_answers import Decided
from kreinflow.answering.record_scores import Records, ScoreCache
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray, single_threaded
from kreinflow.fitting.calibration import TemperatureCalibrator
from kreinflow.fitting.cascade_choice import Plan, Wanted, chosen
from kreinflow.fitting.first_stage import FirstStage, OutOfFold
from kreinflow.fitting.record_index import records_of, row_query
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks
from kreinflow.views.objects import square_norms

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

RIDGE = 0.1
"""Of a machine, in units of the mean squared length of its records about their mean."""

_CONFUSED = 0.5, 5e-4  # records of a pair that change places at least; and as a share of all
_SHRINKAGE = 1e-3  # of the squared weights of a level, against the mean log loss


def sample_size(n_records: int, n_classes: int) -> int:
    """Return how many records a cascade is learned and measured on, at most."""
    return min(n_records, SAMPLE, max(300, _FEATURES // n_classes))


def fit_logit(features: FloatArray, y: IntArray) -> FloatArray:
    r"""Return the weights of a conditional logit, shared by all classes.

    .. math:: \min_w -\frac1n \sum_i \log softmax_c(x_{ic}'w)_{y_i} + \rho \|w\|^2

    ``features``, of shape (n, n_classes, n_features). ``y``, of shape (n,).

    References
    ----------
    D. McFadden (1974), Conditional logit analysis of qualitative choice behavior, in Frontiers in
    Econometrics, 105-142.
    """
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


def fit_machine(rows: FloatArray, first: NDArray[np.bool_]) -> tuple[FloatArray, float]:
    r"""Return weights and intercept that tell two classes apart, whatever their sizes.

    .. math:: \min_{w, b} \sum_i v_i (x_i'w + b - y_i)^2 + \rho \bar s \|w\|^2

    with targets :math:`y_i = \pm 1`, weights :math:`v_i` that sum to n/2 in each class, and
    :math:`\bar s` the mean squared length of :math:`x_i` about their weighted mean.

    ``rows``, of shape (n, n_columns). ``first``, of shape (n,): which are of the first class; both
    classes have some.
    """
    n = len(rows)
    weights = np.where(first, 0.5 * n / first.sum(), 0.5 * n / (~first).sum())
    targets = np.where(first, 1.0, -1.0)  # of weighted mean 0
    mean = np.average(rows, axis=0, weights=weights)
    X = rows - mean
    K = X @ X.T
    spread, rounding = float(np.mean(np.diag(K))), (n + 8) * np.finfo(np.float64).eps
    if spread <= rounding**2 * float(np.mean(square_norms(rows))):
        return np.zeros(rows.shape[1]), 0.0  # all alike: nothing to tell them by
    ridge = RIDGE * spread
    w = X.T @ np.linalg.solve(K + np.diag(ridge / weights), targets)
    return w, -float(mean @ w)


def fit_part(
    first: FirstStage, classifier: LandmarkClassifier, held: OutOfFold
) -> tuple[LandmarkClassifier, OutOfFold]:
    """Return the model with the cascade that its recipe asks for, if it does.

    Raises InputError if records may have several labels, or the landmarks alone are more alignments
    than are wanted.
    """
    settings = classifier.about["recipe"].get("cascade")
    if settings is None:
        return classifier, held
    if classifier.several is not None:
        raise InputError(
            "a cascade decides between classes, so it cannot serve records with several labels. "
            "Leave out cascade."
        )
    fit = CascadeFit.of(first)
    with single_threaded():
        cascade, found = fit.fit(Wanted.of(settings), first.data.reject)
    return classifier.with_parts(cascade=cascade), found


@dataclass(frozen=True, eq=False)
class CascadeFit:
    """What the cascade of a first stage is learned from."""

    first: FirstStage
    cache: ScoreCache

    @classmethod
    def of(cls, first: FirstStage) -> "CascadeFit":
        """Return that of a first stage, which all recipes that share it share."""
        assert first.data.cache is not None, "a cascade, and nothing that aligns"
        found: CascadeFit = first.shared.setdefault("cascade", cls(first, first.data.cache))
        return found

    def fit(self, wanted: Wanted, reject: RejectRule) -> tuple[Cascade, OutOfFold]:
        """Learn the cascade; return it with what it says of the records that are held out.

        The out-of-fold probabilities are those of the levels with the weights that the other inner
        folds learn, and of its threshold.
        """
        before, base, kernel = self.cache.aligned, self.base, self.first.kernel
        if wanted.alignments is not None and base > wanted.alignments:
            raise InputError(
                f"cascade: {wanted.alignments:g} alignments for a query are asked for, and the "
                f"first stage takes {base}. Give more, or its selector a smaller budget."
            )
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
        every = np.arange(len(self.first.data.part.rows))
        stated = {"loss": wanted.loss, "alignments": wanted.alignments}
        cascade = Cascade(
            records=self._every_record,
            transform=kernel.transform,
            evidence=self.evidence,
            steps=held.steps[: plan.steps],
            weights=plan.weights,
            machines=held.machines(self._every_record, every, kernel) if plan.pairs else None,
            likeliest=LIKELIEST,
            threshold=threshold,
            temperature=float(calibrator.temperature_),
            reject_threshold=reject.threshold(probabilities, held.truth),
            about={key: value for key, value in stated.items() if value is not None},
        )
        mean = float(alignments.mean()) if len(alignments) else 0.0
        aligned = self.cache.aligned - before
        of_query = self.first.alignments + mean
        return cascade, OutOfFold(held.places, probabilities, compared, of_query, aligned)

    @cached_property
    def _planned(self) -> dict[int, tuple["_HeldOut", list[Plan]]]:
        """The plans of records held out, by the most nearest ones that were asked."""
        return {}

    @cached_property
    def _every_record(self) -> Records:
        data = self.first.data
        every = np.arange(len(data.part.rows))
        return self.records(data.landmarks, self.first.kernel, every, None)

    @property
    def base(self) -> int:
        """The alignments of the first stage."""
        kernel = self.first.kernel
        return len(self.first.data.landmarks.rows) + int(kernel.transform.name != "raw")

    @property
    def evidence(self) -> ScoreTransform:
        """What the nearest records are weighed by."""
        return self.first.data.evidence or self.first.kernel.transform

    def records(
        self, landmarks: Landmarks, kernel: LandmarkKernel, known: IntArray, fold: int | None
    ) -> Records:
        """Return the records that a fit knows, which a new object may ask."""
        index = self.first.index
        lift = index.lifting.lift_of(kernel, known, index.widths(fold), known)
        return records_of(lift, self.first.data.part, landmarks, known)

    def inner(self, fold: int, places: IntArray, decisions: FloatArray) -> "Inner":
        """Return an inner fold.

        ``places``, of shape (n_sample,): the records that are looked at, by their places in the
        part. ``decisions``, of shape (n_sample, n_classes): of these.
        """
        data, kernel = self.first.data, self.first.kernel
        landmarks = data.fits.landmarks(data.landmarks, data.part, fold)
        if landmarks is not data.landmarks:
            kernel = data.fits.kernel(landmarks, data.part, kernel.transform, fold)
        known = np.flatnonzero(data.fits.inner != fold)
        records = self.records(landmarks, kernel, known, fold)
        held = np.flatnonzero(data.fits.inner[places] == fold)
        query = self.query(landmarks, kernel, records, places[held], decisions[held])
        return Inner(
            held, known, kernel, LevelScores(records, query, self.evidence, kernel.transform)
        )

    def learned(self, fold: int) -> bool:
        """Return whether an inner fold left more than one landmark to learn from."""
        data = self.first.data
        return len(data.fits.landmarks(data.landmarks, data.part, fold).rows) > 1

    def query(
        self,
        landmarks: Landmarks,
        kernel: LandmarkKernel,
        records: Records,
        held: IntArray,
        decisions: FloatArray,
    ) -> Decided:
        """Return the query of training records, by their places, that asks others."""
        rows = self.first.data.part.rows[held]
        ask, objects = self.cache.of_rows(rows, records.rows), self.first.index.lifting.objects
        query = row_query(landmarks, rows, objects, ask)
        return query.decided(np.asarray(kernel.C[held]), decisions)


@dataclass(frozen=True, eq=False)
class Inner:
    """An inner fold: the records that it holds out, and their scores with those it knows."""

    held: IntArray  # places in the sample
    known: IntArray  # places in the part
    kernel: LandmarkKernel
    scores: LevelScores


class _HeldOut:
    """The records that are held out once, and what the levels say of them."""

    def __init__(self, fit: CascadeFit, most_nearest: int) -> None:
        self._fit, first = fit, fit.first
        part, fits = first.data.part, first.data.fits
        drawn = first.drawn(sample_size(len(part.rows), len(part.classes)))
        self.places = fits.measured[drawn]
        self.truth = part.labels[self.places]
        self._folds = fits.inner[self.places]
        self._decisions = first.decisions[drawn]
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
        levels = [LevelAnswers(first, np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool))]
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
            levels.append(LevelAnswers(said, alignments, self._asks))
            weights.append(w)
            plans.append(Plan(number, False, tuple(levels), tuple(weights)))
        self._pairs = self._confused(first)
        if not len(self._pairs) or not self._inner:
            return plans
        machines = [
            self.machines(inner.scores.records, inner.known, inner.kernel) for inner in self._inner
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
        last = LevelAnswers(said, np.where(voting, alignments, before.alignments), voting)
        return Plan(plan.steps, True, (*plan.levels, last), (*plan.weights, w))

    def _confused(self, first: FloatArray) -> IntArray:
        """Return the pairs of classes that the first stage confuses, those of most use first."""
        part = self._fit.first.data.part
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

    def machines(self, records: Records, known: IntArray, kernel: LandmarkKernel) -> PairMachines:
        """Return the machines of the pairs, learned from records by their places in the part."""
        members, of_landmarks, intercepts = [], [], []
        for pair in self._pairs:
            own = np.flatnonzero(np.isin(records.classes, pair))
            rows, lengths, alone = records.rows[own], records.lengths[own], records.self_scores[own]
            scores = self._fit.cache(rows, np.tile(rows, (len(rows), 1)))
            similar = kernel.transform.apply(scores, alone, alone, lengths, lengths)
            features = np.hstack([similar, np.asarray(kernel.C[known[own]])])
            w, intercept = fit_machine(features, records.classes[own] == pair[0])
            members.append(w[: len(own)])
            of_landmarks.append(w[len(own) :])
            intercepts.append(intercept)
        return PairMachines(
            self._pairs, np.concatenate(members), np.stack(of_landmarks), np.array(intercepts)
        )
