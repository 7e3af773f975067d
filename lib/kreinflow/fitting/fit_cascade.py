"""A cascade is learned on inner folds: its levels, their weights, and its threshold.

A record that is held out meets the records that its inner fold learns from, in the space of the
landmarks that this fold knows. The weights that it is measured with are those of the other folds.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import scipy  # its parts are imported when they are looked at: optimize takes 0.25 s
from numpy.typing import NDArray
from scipy.special import log_softmax

from kreinflow.answering.cascade import (
    FEATURES,
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
from kreinflow.answering.nearest_records import Records
from kreinflow.answering.query_and_answers import FIRST
from kreinflow.answering.relatives import NEAREST
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray, single_threaded
from kreinflow.fitting.calibration import TemperatureCalibrator
from kreinflow.fitting.cascade_choice import Plan, Wanted, chosen
from kreinflow.fitting.first_stage import FirstStage, OutOfFold
from kreinflow.krein.landmark_kernel import LandmarkKernel
from kreinflow.views.objects import square_norms

STEPS = (NEAREST, 20, 50, 100, 200, 500, 1000)
"""Nearest records that are asked, step by step; no more than an inner fold has. The first are those
that p-values ask: where there are any, level 0 is counted with these."""

LIKELIEST = 3
"""Classes whose members the level of pairs asks."""

BLOCKS = 200
"""Alignments at most for the machines of pairs, for each record of the training part."""

MEMBERS = 2000
"""Records of the two classes of a machine, at most."""

RIDGE = 0.1
"""Of a machine, in units of the mean squared length of its records about their mean."""

_CONFUSED = 0.5, 5e-4  # records of a pair that change places at least; and as a share of all
_SHRINKAGE = 1e-3  # of the squared weights of a level, against the mean log loss


def fit_logit(features: FloatArray, y: IntArray, start: FloatArray | None = None) -> FloatArray:
    r"""Return the weights of a conditional logit, shared by all classes.

    .. math:: \min_{w: w_1 \ge 0} -\frac1n \sum_i \log softmax_c(x_{ic}'w)_{y_i} + \rho \|w\|^2

    The first feature is what the level before says: no class is less likely for it, whatever a
    few records say. ``features``: of shape (n, n_classes, n_features). ``start``: where the search
    begins, as the weights for most of these records.

    References
    ----------
    D. McFadden (1974), Conditional logit analysis of qualitative choice behavior, in Frontiers in
    Econometrics, 105-142.
    """
    n, _, p = features.shape
    if not n:
        return np.ones(p)
    rows, own = features.reshape(-1, p), features[np.arange(n), y].sum(axis=0)

    def loss(w: FloatArray) -> tuple[float, FloatArray]:
        said = log_softmax((rows @ w).reshape(n, -1), axis=1)
        value = -said[np.arange(n), y].mean() + _SHRINKAGE * float(w @ w)
        expected = np.exp(said).ravel() @ rows
        return float(value), (expected - own) / n + 2 * _SHRINKAGE * w

    free = [(None, None)] * p
    for bounds in (free, [(0.0, 0.0), *free[1:]]):  # of a convex loss the bound is met or inactive
        w0 = np.zeros(p) if start is None else start
        w = scipy.optimize.minimize(loss, w0, jac=True, method="L-BFGS-B", bounds=bounds).x
        if w[0] >= 0:
            break
    return np.asarray(w)


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

    Raises InputError if the landmarks, and what p-values ask, are more alignments than are wanted.
    """
    settings = classifier.about["recipe"].get("cascade")
    if settings is None:
        return classifier, held
    wanted, base, before = Wanted.of(settings), first.alignments, first.cache.aligned
    least = base + (NEAREST if first.data.has_p_values else 0)
    if wanted.alignments is not None and least > wanted.alignments:
        also = f", and p-values {NEAREST} more" if least > base else ""
        raise InputError(
            f"cascade: {wanted.alignments:g} alignments for a query are asked for, and the "
            f"first stage takes {base}{also}. Give more, or its selector a smaller budget."
        )
    most = wanted.most_nearest(base)
    with single_threaded():
        if most not in first.shared:
            first.shared[most] = _HeldOut(first, most)
        sample: _HeldOut = first.shared[most]
        plan, threshold = chosen(sample.plans, sample.truth, wanted, base)
        said, *_ = followed(plan.levels, threshold)
        temperature, probabilities = _calibrated(said, sample.truth)
        raw, alignments = sample.honest(wanted, base)
        _, compared = _calibrated(raw, sample.truth)
        records, machines = first.every_record, None
        if plan.pairs:
            machines = sample.machines(records, np.arange(len(records)), first.kernel)
    some = first.data.independent(sample.places)
    promise = first.data.reject.promise(probabilities[some], sample.truth[some])
    cascade = Cascade(
        records=records,
        transform=first.kernel.transform,
        evidence=first.evidence,
        steps=sample.steps[: plan.steps],
        weights=plan.weights,
        machines=machines,
        likeliest=LIKELIEST,
        threshold=threshold,
        temperature=temperature,
        reject_threshold=promise.threshold,
        about={name: value for name, value in asdict(wanted).items() if value is not None},
    )
    found = OutOfFold(
        sample.places,
        probabilities,
        compared,
        alignments=base + float(alignments.mean()),
        aligned=first.cache.aligned - before,
    )
    about = {**classifier.about, "promise": promise.told}
    return replace(classifier, about=about).with_parts(cascade=cascade), found


def _calibrated(said: FloatArray, truth: IntArray) -> tuple[float, FloatArray]:
    logs = np.log(np.maximum(said, SMALLEST))
    calibrator = TemperatureCalibrator().fit(logs, truth)
    return float(calibrator.temperature_), calibrator.probabilities(logs)


@dataclass(frozen=True, eq=False)
class _Inner:
    """An inner fold: the records that it holds out, and their scores with those it knows."""

    held: IntArray  # places in the sample
    known: IntArray  # places in the part
    kernel: LandmarkKernel
    scores: LevelScores


class _HeldOut:
    """The records that are held out once, and what the levels say of them."""

    def __init__(self, first: FirstStage, most_nearest: int) -> None:
        self._first, drawn = first, first.drawn()
        fits, self._decisions = first.data.fits, first.decisions[drawn]
        self.places = fits.measured[drawn]
        self.truth = first.data.part.labels[self.places]
        self._folds = fits.inner[self.places]
        # Where one landmark is left nothing was learned: the first stage answers.
        own = [fold for fold in np.unique(self._folds).tolist() if fold in first.learned]
        self._asks, self._inner = np.isin(self._folds, own), [self._of_fold(fold) for fold in own]
        fewest = min(int((fits.inner != fold).sum()) for fold in fits)
        asked = min(fewest, most_nearest) if own else 0
        self.steps = tuple(q for q in STEPS if q <= asked)
        self._asked_anyway = self.steps[0] if first.data.has_p_values and self.steps else 0
        self._found: dict[tuple[int | None, int], FloatArray] = {}
        self.plans = self._planned()

    def _of_fold(self, fold: int) -> _Inner:
        first, data = self._first, self._first.data
        of_fit = data.fits.known(data.landmarks, first.kernel, data.part, fold)
        assert of_fit is not None, "a fit that learned nothing"
        landmarks, kernel = of_fit
        known, held = np.flatnonzero(data.fits.inner != fold), np.flatnonzero(self._folds == fold)
        records = first.records(landmarks, kernel, known, fold)
        query = first.query(landmarks, kernel, records, self.places[held])
        scores = LevelScores(records, query, first.evidence, kernel.transform)
        return _Inner(held, known, kernel, scores)

    def _gathered(
        self, of_fold: Callable[[_Inner], tuple[NDArray[Any], ...]]
    ) -> list[NDArray[Any]]:
        """Return arrays of all records held out from those of each inner fold; 0 of others."""
        gathered = []
        for arrays in zip(*map(of_fold, self._inner), strict=True):
            whole = np.zeros((len(self.places), *arrays[0].shape[1:]), dtype=arrays[0].dtype)
            for inner, own in zip(self._inner, arrays, strict=True):
                whole[inner.held] = own
            gathered.append(whole)
        return gathered

    def _logit(
        self, features: FloatArray, used: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        """Return weights, and probabilities by the weights that the other inner folds learn."""
        probabilities, weights = np.empty(features.shape[:2]), np.empty(0)
        for fold in (*np.unique(self._folds).tolist(), None):
            out = self._folds == fold  # none of None
            # The last level with such features had about the same weights for the same records.
            key, some = (fold, features.shape[2]), used & ~out
            weights = fit_logit(features[some], self.truth[some], self._found.get(key))
            self._found[key] = weights
            probabilities[out] = logit(features[out], weights)
        return weights, probabilities

    def honest(self, wanted: Wanted, base: int) -> tuple[FloatArray, IntArray]:
        """Return probabilities and alignments by what the other inner folds choose.

        The best of many looks better than it is on the records that it was chosen by.
        """
        raw = np.empty_like(self.plans[0].levels[0].probabilities)
        alignments = np.zeros(len(raw), dtype=np.int64)
        for fold in np.unique(self._folds).tolist():
            out = self._folds == fold
            others = [plan.on(~out) for plan in self.plans]
            plan, threshold = chosen(others, self.truth[~out], wanted, base)
            own = self.plans[others.index(plan)].on(out)
            raw[out], _, alignments[out] = followed(own.levels, threshold)
        return raw, alignments

    def _planned(self) -> list[Plan]:
        """Return all plans: the first stage, more and more of the nearest, each with pairs."""
        everyone = np.ones(len(self.places), dtype=bool)
        seen = np.zeros((*self._decisions.shape, len(FEATURES[FIRST])))
        seen[:, :, 0] = self._decisions
        for inner in self._inner:
            every = np.arange(len(inner.held))
            seen[inner.held] = inner.scores.first(every)
            if self.steps:
                inner.scores.rank(every, self.steps[-1])
                # All steps are looked at: what the last one asks is asked for at once.
                inner.scores.scores(every, inner.scores.ranked(every, self.steps[-1]))
            inner.scores.records.forget()  # what is needed once
        w, first = self._logit(seen, everyone)
        levels, weights = [LevelAnswers(first, np.zeros(len(first), dtype=np.int64), everyone)], [w]
        plans = []
        for number, q in enumerate(self.steps, start=1):

            def nearest(inner: _Inner, q: int = q) -> tuple[NDArray[Any], ...]:
                return inner.scores.nearest(np.arange(len(inner.held)), q)

            features, alignments = self._gathered(nearest)
            w, said = self._logit(features, self._asks)
            said = np.where(self._asks[:, None], said, first)
            if q == self._asked_anyway:
                levels[0] = levels[0]._replace(alignments=alignments)
            levels.append(LevelAnswers(said, alignments, self._asks))
            weights.append(w)
            plans.append(Plan(number, False, tuple(levels), tuple(weights)))
        plans.insert(0, Plan(0, False, tuple(levels[:1]), tuple(weights[:1])))
        self._pairs = self._confused(first)
        if not len(self._pairs) or not self._inner:
            return plans
        machines = {
            inner: self.machines(inner.scores.records, inner.known, inner.kernel)
            for inner in self._inner
        }
        return [*plans, *(self._with_pairs(plan, machines) for plan in plans)]

    def _with_pairs(self, plan: Plan, machines: Mapping[_Inner, PairMachines]) -> Plan:
        before = plan.levels[-1]
        q = self.steps[plan.steps - 1] if plan.steps else self._asked_anyway

        def votes(inner: _Inner) -> tuple[NDArray[Any], ...]:
            own, every = before.probabilities[inner.held], np.arange(len(inner.held))
            return inner.scores.votes(every, own, machines[inner], LIKELIEST, q)

        found, alignments, voting = self._gathered(votes)
        w, said = self._logit(pair_features(before.probabilities, found), voting)
        said = np.where(voting[:, None], said, before.probabilities)
        last = LevelAnswers(said, np.where(voting, alignments, before.alignments), voting)
        return Plan(plan.steps, True, (*plan.levels, last), (*plan.weights, w))

    def _confused(self, first: FloatArray) -> IntArray:
        """Return the pairs of classes that the first stage confuses, those of most use first."""
        part = self._first.data.part
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
            scores = self._first.cache(rows, np.tile(rows, (len(rows), 1)))
            similar = kernel.transform.apply(scores, alone, alone, lengths, lengths)
            features = np.hstack([similar, np.asarray(kernel.C[known[own]])])
            w, intercept = fit_machine(features, records.classes[own] == pair[0])
            members.append(w[: len(own)])
            of_landmarks.append(w[len(own) :])
            intercepts.append(intercept)
        return PairMachines(
            self._pairs, np.concatenate(members), np.stack(of_landmarks), np.array(intercepts)
        )
