"""From decisions to probabilities: temperatures, also of forks; Platt's, and label thresholds."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit, softmax

from kreinflow.answering.fork_temperatures import ForkTemperatures
from kreinflow.answering.several_labels import Several
from kreinflow.base.errors import InputError
from kreinflow.base.hierarchy import Forks
from kreinflow.base.numerics import FloatArray, IntArray, tiles

LOSS_DIGITS = 9
"""Log losses that agree to so many decimals are equal, but for rounding."""

FEWEST = 2
"""Rows with a label, and rows without it, that a calibration and a threshold of its own need."""

_ROUNDING = 1e-10  # differences below this share of the largest decision may be rounding
_FLATTEST = 1e3  # the largest temperature, in units of the typical spread of the decisions
_STEPS = 100  # of Newton's method: few are needed, for the loss is convex and its minimum finite
_PRECISION = 1e-7  # of the last step, relative: what is left after it is its square
_RIDGE = 1e-12  # keeps a step finite where all probabilities are 0 or 1
_TOLERANCE = 1e-18  # of the squared Newton decrement for a row, before a last step


def _refuse_unfit(decisions: FloatArray) -> None:
    if len(decisions) == 0 or not np.isfinite(decisions).all():
        raise InputError("calibration: it needs at least one row, and finite decisions only.")


class TemperatureCalibrator:
    r"""Probabilities by temperature scaling, :math:`p = softmax(f / T)`.

    One temperature :math:`T > 0` for all classes minimises the mean log loss

    .. math:: L(T) = -\frac{1}{N} \sum_i \log softmax(f_i / T)_{y_i}

    on decisions for rows that the model was not trained on. The predicted class never changes.

    L is convex in 1/T. These cases have no minimum in the open, or one that means nothing, and are
    given a finite temperature:

    * every row is right: L falls to 0 as T does. T is then where
      :math:`L = \log 2 / (N + 1)`, as if one row more had been at even odds;
    * the decisions tell nothing (L rises with 1/T): T is 1,000 times the mean absolute deviation
      of the decisions from their row mean, which is flat for all purposes;
    * the decisions of a row differ by rounding alone: that mean is at most 1e-10 times the largest
      decision. All classes are equal then, and T is 1;
    * so do those of some classes, and another class stands far from them: T is not below 1e-10
      times the largest decision, so the classes that are equal get equal probabilities.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger (2017), On calibration of modern neural networks,
    ICML, PMLR 70, eq. 9.
    """

    temperature_: float

    def fit(self, decisions: FloatArray, y: IntArray) -> "TemperatureCalibrator":
        """Find the temperature on decisions of shape (N, n_classes) and true class codes."""
        _refuse_unfit(decisions)
        rows = np.arange(len(decisions))
        deviations = decisions - decisions.mean(axis=1, keepdims=True)
        spread = float(np.abs(deviations).mean())
        rounding = _ROUNDING * float(np.abs(decisions).max())
        if spread <= rounding:  # all decisions equal: any temperature gives the same
            self.temperature_ = 1.0
            return self
        # 1/T is looked for in units of the spread. The largest of each row is 0: nothing overflows.
        scaled = (decisions - decisions.max(axis=1, keepdims=True)) / spread
        own = scaled[rows, y]

        def told(inverse: float) -> tuple[float, float, float]:
            """Return L, its slope and its curvature in 1/T."""
            likely = np.exp(inverse * scaled)
            total = likely.sum(axis=1)
            likely *= scaled
            mean = likely.sum(axis=1) / total
            likely *= scaled
            variance = likely.sum(axis=1) / total - mean**2
            loss = np.log(total) - inverse * own
            return float(loss.mean()), float((mean - own).mean()), float(variance.mean())

        floor = float(np.log(2.0)) / (len(decisions) + 1)
        low, high, finest = 1.0 / _FLATTEST, 1.0, spread / rounding
        if told(low)[1] >= 0.0:
            inverse = low
        else:
            while (at := told(high))[1] < 0.0 and at[0] > floor and high < finest:
                low, high = high, min(2.0 * high, finest)
            if at[0] < floor:
                inverse = _root(lambda x: (told(x)[0] - floor, told(x)[1]), low, high)
            elif at[1] < 0.0:
                inverse = finest
            else:
                inverse = _root(lambda x: told(x)[1:], low, high)
        self.temperature_ = spread / float(inverse)
        return self

    def probabilities(self, decisions: FloatArray) -> FloatArray:
        """Return softmax(decisions / T), of shape (N, n_classes)."""
        return np.asarray(softmax(decisions / self.temperature_, axis=1))

    def losses(self, decisions: FloatArray, y: IntArray) -> FloatArray:
        """Return the log loss of each row, of shape (N,)."""
        likely = self.probabilities(decisions)[np.arange(len(y)), y]
        losses: FloatArray = -np.log(np.maximum(likely, np.finfo(float).tiny))
        return losses

    def converted(self, decisions: FloatArray, of: "TemperatureCalibrator") -> FloatArray:
        """Return decisions that another calibrator was fitted to in the units of this one's."""
        return decisions * (self.temperature_ / of.temperature_)


def _root(of: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """Return the root of a monotone function between two numbers, by Newton's method.

    ``of`` returns value and slope. Where a step leaves what is left of the interval, it is halved.
    """
    x, rises = high, None
    for _ in range(_STEPS):
        value, slope = of(x)
        if rises is None:
            rises = value > 0.0
        low, high = (low, x) if (value > 0.0) == rises else (x, high)
        new = x - value / slope if slope else low
        if not low < new < high:
            new = (low + high) / 2.0
        if abs(new - x) <= _PRECISION * abs(x):
            break
        x = new
    return new


class PlattCalibrator:
    r"""Probabilities of several labels by Platt scaling, :math:`p_c = expit(a_c f_c + b_c)`.

    For each label c, with the numbers :math:`N_+, N_-` of the rows that have it and of the others,
    slope and intercept minimise

    .. math::
        - \sum_i t_i \log p_c(x_i) + (1 - t_i) \log(1 - p_c(x_i)), \qquad
        t_i = \frac{N_+ + 1}{N_+ + 2} \text{ of the former, } \frac{1}{N_- + 2}
        \text{ of the latter}

    on decisions for rows that the model was not trained on. These targets give a finite minimum
    where the decisions tell all rows apart.

    Slopes are positive, so a larger decision never means a smaller probability: at least 1e-3
    divided by the mean absolute deviation of the decisions, which is flat for all purposes. The
    labels ``shared_``, which fewer than :data:`FEWEST` rows have, or fewer than that lack, share a
    slope and an intercept, which are fitted to the rows of all labels together.

    References
    ----------
    J. Platt (1999), Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods, Advances in large margin classifiers, MIT Press, 61-74.
    H.-T. Lin, C.-J. Lin, R. C. Weng (2007), A note on Platt's probabilistic outputs for support
    vector machines, Machine Learning 68, 267-276.
    """

    slopes_: FloatArray
    intercepts_: FloatArray
    shared_: NDArray[np.bool_]

    def fit(self, decisions: FloatArray, memberships: NDArray[np.bool_]) -> "PlattCalibrator":
        """Find slopes and intercepts on decisions and memberships of shape (N, n_labels)."""
        _refuse_unfit(decisions)
        having = memberships.sum(axis=0)
        self.shared_ = np.minimum(having, len(decisions) - having) < FEWEST
        self.slopes_, self.intercepts_ = np.empty((2, decisions.shape[1]))
        for code in np.flatnonzero(~self.shared_):
            own = _platt(decisions[:, code], memberships[:, code])
            self.slopes_[code], self.intercepts_[code] = own
        if self.shared_.any():
            shared = _platt(decisions.ravel(), memberships.ravel())
            self.slopes_[self.shared_], self.intercepts_[self.shared_] = shared
        return self

    def logits(self, decisions: FloatArray) -> FloatArray:
        """Return a f + b, of shape (N, n_labels)."""
        return decisions * self.slopes_ + self.intercepts_

    def probabilities(self, decisions: FloatArray) -> FloatArray:
        """Return the probability of each label, of shape (N, n_labels)."""
        return np.asarray(expit(self.logits(decisions)))

    def losses(self, decisions: FloatArray, memberships: NDArray[np.bool_]) -> FloatArray:
        """Return the mean log loss over the labels of each row, of shape (N,)."""
        logits = self.logits(decisions)
        losses: FloatArray = -log_expit(np.where(memberships, logits, -logits)).mean(axis=1)
        return losses

    def converted(self, decisions: FloatArray, of: "PlattCalibrator") -> FloatArray:
        """Return decisions that another calibrator was fitted to in the units of this one's."""
        return (of.logits(decisions) - self.intercepts_) / self.slopes_


def _platt(decisions: FloatArray, own: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and intercept of one label, by Newton's method with halved steps."""
    n, having = len(own), int(own.sum())
    targets = np.where(own, (having + 1.0) / (having + 2.0), 1.0 / (n - having + 2.0))
    centre = float(decisions.mean())
    spread = float(np.abs(decisions - centre).mean())
    rounding = _ROUNDING * float(np.abs(decisions).max())
    if spread <= rounding:  # all decisions equal: they tell nothing
        spread = max(1.0, abs(centre))
    u = (decisions - centre) / spread
    odds = float(targets.sum() / (n - targets.sum()))

    def loss(line: FloatArray) -> float:
        logits = line[0] * u + line[1]
        return -float((targets * log_expit(logits) + (1.0 - targets) * log_expit(-logits)).sum())

    def minimised(line: FloatArray, free: NDArray[np.bool_]) -> FloatArray:
        value = loss(line)
        for _ in range(_STEPS):
            p = expit(line[0] * u + line[1])
            residuals, weights = p - targets, p * (1.0 - p)
            gradient = np.array([residuals @ u, residuals.sum()])
            cross = float(weights @ u)
            hessian = np.array([[float(weights @ (u * u)), cross], [cross, float(weights.sum())]])
            step = np.zeros(2)
            own = np.ix_(free, free)
            step[free] = np.linalg.solve(hessian[own] + _RIDGE * np.eye(2)[own], gradient[free])
            decrement, length = float(gradient @ step), 1.0
            if decrement <= _TOLERANCE * n:
                return line - step
            while (new := loss(line - length * step)) > value - 1e-4 * length * decrement:
                length /= 2.0
                if length < 1e-9:  # what is left is rounding
                    return line
            line, value = line - length * step, new
        return line

    line = minimised(np.array([0.0, np.log(odds)]), np.array([True, True]))
    if line[0] < 1.0 / _FLATTEST:
        line = minimised(np.array([1.0 / _FLATTEST, np.log(odds)]), np.array([False, True]))
    slope = float(line[0]) / spread
    return slope, float(line[1]) - slope * centre


def several_of(
    calibrator: PlattCalibrator,
    decisions: FloatArray,
    memberships: NDArray[np.bool_],
    above: IntArray | None = None,
) -> Several:
    """Return the best thresholds for the decisions of a calibrator; 0.5 where it is shared."""
    logits = calibrator.logits(decisions)
    cuts = [
        0.0 if shared else f1_threshold(own, having)
        for own, having, shared in zip(logits.T, memberships.T, calibrator.shared_, strict=True)
    ]
    info = np.finfo(np.float64)  # an open interval, whatever is rounded
    thresholds = np.clip(expit(np.array(cuts)), info.tiny, 1.0 - info.epsneg)
    return Several(calibrator.slopes_, calibrator.intercepts_, thresholds, above)


def f1_threshold(logits: FloatArray, having: NDArray[np.bool_]) -> float:
    r"""Return the logit from which on rows are said to have a label, for the F1 of new rows.

    Let n rows be said to have it, the likeliest first, k of them rightly, and :math:`N_+` have it:

    .. math:: F_1 = \frac{2 k}{n + N_+} .

    The threshold is the mean of two:

    * the cut of the largest :math:`F_1` of these rows, midway between the last row above it and the
      first below it; the highest of equals; the smallest logit if all rows are said to have it;
    * the logit of :math:`F^*/2`, half the largest :math:`F_1` that the probabilities let expect,
      with the sum of those of the n rows for k and the sum of all for :math:`N_+`. A row adds to
      the largest :math:`F_1` if its probability is above that [1]_.

    ``logits``, of shape (N,): of calibrated probabilities. ``having``: which have the label: some.

    Notes
    -----
    The first varies with every row near the cut. The second is steady, but few rows with the label
    give probabilities that are too cautious. Of 500 simulated rows, 2 to 80 of them with the label,
    their mean gave new rows an F1 within .03 of the better of both.

    References
    ----------
    .. [1] Lipton, Z. C., Elkan, C., Naryanaswamy, B.: Optimal thresholding of classifiers to
       maximize F1 measure. ECML PKDD 2014, Lecture Notes in Computer Science 8725, 225-239.
    """
    order = np.argsort(-logits, kind="stable")
    ordered, p = logits[order], expit(logits[order])
    said = np.arange(1, len(ordered) + 1)
    f1 = 2.0 * np.cumsum(having[order]) / (said + having.sum())
    last = np.append(ordered[1:] < ordered[:-1], True)  # of equal logits all or none are said
    best = int(np.where(last, f1, -1.0).argmax())
    expected = float((2.0 * np.cumsum(p) / (said + p.sum())).max())
    cut = float(ordered[best : best + 2].mean())
    return (cut + float(logit(expected / 2.0))) / 2.0


def held_out_figures(
    decisions: FloatArray,
    memberships: NDArray[np.bool_],
    folds: IntArray,
    above: IntArray | None = None,
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return which rows have all labels right, and the mean log loss over the labels of each.

    The calibration and the thresholds of each inner fold are those that the other folds give.
    """
    right, losses = np.zeros(len(folds), dtype=bool), np.empty(len(folds))
    for fold in np.unique(folds):
        own, others = folds == fold, folds != fold
        calibrator = PlattCalibrator().fit(decisions[others], memberships[others])
        several = several_of(calibrator, decisions[others], memberships[others], above)
        said = several.chosen(several.probabilities(decisions[own]))
        right[own] = (said == memberships[own]).all(axis=1)
        losses[own] = calibrator.losses(decisions[own], memberships[own])
    return right, losses


def fork_temperatures(
    forks: Forks, decisions: FloatArray, y: IntArray, temperature: float | None = None
) -> tuple[ForkTemperatures, FloatArray]:
    """Find the temperatures of forks on out-of-fold decisions, and T if it is not known.

    The log probabilities of the classes by them are returned too.
    """
    calibrator, given = TemperatureCalibrator(), temperature is not None
    if temperature is None:
        temperature = calibrator.fit(decisions, y).temperature_
    found = ForkTemperatures(forks, temperature, np.ones(len(forks.branches)))
    values = np.concatenate([found.branch_values(decisions[part]) for part in tiles(len(y))])
    for fork, (branches, codes) in enumerate(zip(forks.branches, forks.codes, strict=True)):
        own = codes[y] >= 0
        if own.any():
            calibrator.fit(np.ascontiguousarray(values[own, branches]), codes[y[own]])
            found.of_forks[fork] = calibrator.temperature_
        elif fork:
            found.of_forks[fork] = found.of_forks[forks.fork_above(fork)]

    def logs() -> FloatArray:
        return np.concatenate([found.tempered(values[part]) for part in tiles(len(y))])

    said = logs()
    if not given:
        before, after = decisions.argmax(axis=1) == y, said.argmax(axis=1) == y
        if int(before.sum()) - int(after.sum()) > np.sqrt((before != after).sum()):
            found.of_forks[:] = 1.0
            said = logs()
    return found, said
