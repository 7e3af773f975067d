r"""Sets of labels that hold the true one, and control of the errors among accepted predictions.

Both compare a new object with training records that were held out on inner folds, by fits that are
as like the final one as can be had (see
:func:`~kreinflow.fitting.inner_folds.decisions_with_all_landmarks`). If the new object is like
these records, the promises hold whatever the probabilities are worth. What drifts away from them is
less sure than they are, so sets look at records that are about as close to the others too, and what
is farther than nearly all of them is told; see :class:`ByCloseness`.

Where records come in groups of relatives, those of a group are no independent witnesses. Then each
of k records of one group and one class has the weight 1 / k, and what counts are the K groups. The
promises are for a record of a new group, which is exchangeable with these: they are as exact
(Y. Lee, R. F. Barber, R. Willett, Distribution-free inference with hierarchical data,
arXiv:2306.06342, 2023).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.answering.parts import ModelPart, Subject, Told
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray, tile_map
from kreinflow.files.state import Array, Part, State

CONFIDENCES = (0.9, 0.95, 0.99)  #: of the sets that are made for the records of outer folds

SET_COLUMNS = (
    *(f"{what}_{100 * confidence:g}" for confidence in CONFIDENCES for what in ("size", "held")),
    *("error_p", "beyond"),
)
"""Of predictions whose truth is known: see :func:`outcomes`."""

FAR = 0.02
"""Of new objects like the records that were held out, at most this share is told to be beyond."""

BINS = 8
"""Of closeness with equal numbers of records, at most."""

_ROUNDING = 1e-9  # 0.95 times 20 is a little less than 19


def nonconformity(probabilities: FloatArray) -> FloatArray:
    r"""Return how badly each class fits each object: the adaptive score, without dice.

    Of K classes, sorted by their probabilities :math:`p_1 \ge p_2 \ge \cdots \ge p_K`, the class of
    rank r has

    .. math:: s_1 = 0, \qquad s_r = \sum_{q < r} p_q + u\, p_r, \qquad
       u = \frac{1 - p_1}{(K - 1)\, p_1} .

    Romano, Sesia and Candès (Classification with valid and adaptive coverage, NeurIPS 2020, eqs.
    5-8) draw u from 0 to 1 for each object, and use it for the first class too. Any function of the
    probabilities keeps the promise. This u is 0 where the model is sure and 1 where all classes are
    alike. As the likeliest class fits perfectly, it is in each set. So a set is never empty, and
    holds the true label at least as often as the likeliest label is right, also of objects that are
    not like the records. Of classes that are as probable the first in order is the likelier.

    ``probabilities``, of shape (n, K). The result has shape (n, K): from 0 to 1.
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    p = np.take_along_axis(probabilities, order, axis=1)
    above = np.zeros_like(p)
    np.cumsum(p[:, :-1], axis=1, out=above[:, 1:])
    # What is left of 1 may be rounded away where the sum of the others is not.
    u = p[:, 1:].sum(axis=1) / ((p.shape[1] - 1) * p[:, 0])
    scores = np.empty_like(p)
    p[:, 0] = 0.0
    np.put_along_axis(scores, order, above + u[:, None] * p, axis=1)
    return np.clip(scores, 0.0, 1.0)


def of_own_classes(probabilities: FloatArray, y: IntArray) -> FloatArray:
    """Return the :func:`nonconformity` of the class ``y`` of each object, of shape (n,)."""

    def own(rows: slice) -> FloatArray:
        found: FloatArray = nonconformity(probabilities[rows])[np.arange(len(y[rows])), y[rows]]
        return found

    return np.concatenate([np.empty(0), *tile_map(own, len(y))])


def accepted(p: FloatArray, share: float) -> NDArray[np.bool_]:
    r"""Return which predictions Benjamini and Hochberg accept.

    Of m p-values those of at most :math:`q k / m`, with the largest k for which k of them are so
    small (Controlling the false discovery rate, Journal of the Royal Statistical Society B 57,
    289-300, 1995). ``share``: q, the expected share of wrong predictions among the accepted.

    Examples
    --------
    >>> accepted(np.array([0.01, 0.2, 0.03]), 0.05)
    array([ True, False,  True])
    """
    m = len(p)
    limits = share * np.arange(1, m + 1) / m if m else p
    small = np.flatnonzero(np.sort(p) <= limits * (1 + _ROUNDING))
    limit = limits[small[-1]] * (1 + _ROUNDING) if len(small) else -1.0
    return np.asarray(p <= limit)


@dataclass(frozen=True, eq=False)
class ByCloseness(State):
    r"""Records that were held out, by their closeness to all others.

    An object is beyond them if it is less close than the record number
    :math:`\lfloor 0.02 (n + 1) \rfloor` of n, the least close first. So of new objects like these
    at most 2 % are, as each has n other records, and each record has n - 1. Fewer than 49 records
    are too few to say it.
    """

    closeness: FloatArray  # (n,), growing; see kreinflow.answering.nearest_records.closeness
    conformity: FloatArray  # (n,): nonconformity of their own classes
    weights: FloatArray | None = None  # (n,), of groups; None: all are 1

    @property
    def _up_to(self) -> FloatArray:
        """The weight of the first 0, 1, ... records."""
        return np.append(0.0, np.cumsum(weights_of(self.weights, self.closeness)))

    @property
    def least(self) -> float | None:
        """The closeness below which an object is beyond all promises."""
        up_to = self._up_to
        most = FAR * (up_to[-1] + 1) + _ROUNDING
        place = int(np.searchsorted(up_to, most, side="right")) - 1
        return float(self.closeness[place - 1]) if place else None

    def beyond(self, closeness: FloatArray) -> NDArray[np.bool_]:
        """Return which objects are less close than nearly all records."""
        least = -np.inf if self.least is None else self.least
        return np.asarray(closeness < least)

    def limits(self, closeness: FloatArray, confidence: float) -> FloatArray:
        """Return the largest nonconformity that is let into sets, of shape (n, 1).

        That of :meth:`Calibration.sets`, of the records whose closeness is in the bin of an
        object's, whatever their classes. Up to :data:`BINS` bins have equal numbers of records, at
        least twice what the confidence takes; the farthest one is halved, and its farther half
        again, as long as that holds. Those that are as close stay together. Without a second bin,
        or a closeness, there is no such limit: minus infinity.
        """
        needed, up_to = records_needed(confidence), self._up_to
        bins = min(BINS, int((up_to[-1] + _ROUNDING) / (2 * needed)))
        ends, starts = [up_to[-1] * b / bins for b in range(bins - 1, 0, -1)], [len(up_to) - 1]
        while ends and ends[-1] >= 4 * needed - _ROUNDING:
            ends.append(ends[-1] / 2)
        for end in ends:
            at = int(np.searchsorted(up_to, end + _ROUNDING, side="right")) - 1
            start = int(np.searchsorted(self.closeness, self.closeness[at]))  # of its equals
            enough = up_to[starts[0]] - up_to[start] >= needed - _ROUNDING
            starts = [start, *starts] if enough and up_to[start] >= needed - _ROUNDING else starts
        found = np.full(len(closeness), -np.inf)
        if len(starts) > 1:
            starts, weights = [0, *starts], weights_of(self.weights, self.closeness)
            slices = [slice(*ends) for ends in pairwise(starts)]
            of_bin = [limit_of(self.conformity[s], weights[s], confidence) for s in slices]
            own = np.searchsorted(self.closeness[starts[1:-1]], closeness, side="right")
            known = ~np.isnan(closeness)
            found[known] = np.array(of_bin)[own[known]]
        return found[:, None]

    state: ClassVar = {
        "closeness": Array("f8", "close"),
        "conformity": Array("f8", "close"),
        "weights": Array("f8", "close", optional=True),
    }


def weights_of(weights: FloatArray | None, records: FloatArray) -> FloatArray:
    """Return the weights of records, 1 each if they have none."""
    return np.ones(len(records)) if weights is None else weights


def limit_of(scores: FloatArray, weights: FloatArray, confidence: float) -> float:
    r"""Return the least score up to which the weights come to :math:`\gamma (K + 1)`.

    Of the confidence and the sum K of the weights. If all are 1 it is the score number
    ceil((n + 1) confidence) of n, the smallest being number 1.
    """
    order = np.argsort(scores, kind="stable")
    up_to = np.cumsum(weights[order])
    place = int(np.searchsorted(up_to, (up_to[-1] + 1) * confidence - _ROUNDING))
    return float(scores[order[min(place, len(order) - 1)]])


@dataclass(frozen=True, eq=False)
class Calibration(ModelPart):
    """What sets and p-values look at: the records that were held out once."""

    counts: IntArray  # (n_classes,): records of each class
    conformity: FloatArray  # (n,): nonconformity of their own classes, which it grows in
    wrong: FloatArray  # (n_wrong,): the largest probability of each predicted wrong, growing
    near: ByCloseness | None = None  # of a model that has its training records
    weights: FloatArray | None = None  # (n,), of groups; None: all are 1
    wrong_weights: FloatArray | None = None  # (n_wrong,)

    @classmethod
    def of(
        cls, probabilities: FloatArray, y: IntArray, weights: FloatArray | None = None
    ) -> "Calibration":
        """Return that of probabilities by models that were not trained on the record.

        ``weights``, of shape (n,): see :func:`weights_in_groups`.
        """
        scores, top = of_own_classes(probabilities, y), probabilities.max(axis=1)
        order = np.lexsort((scores, y))
        wrong = np.flatnonzero(probabilities.argmax(axis=1) != y)
        wrong = wrong[np.argsort(top[wrong], kind="stable")]
        return cls(
            counts=np.bincount(y, minlength=probabilities.shape[1]),
            conformity=scores[order],
            wrong=np.minimum(top[wrong], 1.0),
            weights=None if weights is None else weights[order],
            wrong_weights=None if weights is None else weights[wrong],
        )

    def with_closeness(
        self,
        closeness: FloatArray,
        probabilities: FloatArray,
        y: IntArray,
        weights: FloatArray | None = None,
    ) -> "Calibration":
        """Return the same with the closeness of some of the records, or of all."""
        scores = of_own_classes(probabilities, y)
        order = np.lexsort((scores, closeness))
        own = None if weights is None else weights[order]
        return replace(self, near=ByCloseness(closeness[order], scores[order], own))

    @property
    def units(self) -> FloatArray:
        """Of each class the number of its records, or of the groups that they are in."""
        own = np.split(weights_of(self.weights, self.conformity), np.cumsum(self.counts)[:-1])
        return np.round([weights.sum() for weights in own], 6)

    @property
    def _number(self) -> str:
        """How many records or groups there are, as messages say it."""
        groups = "" if self.weights is None else " groups of them"
        return f"{round(self.units.sum()):,}{groups}"

    def of_more_classes(self, codes: IntArray, n_classes: int) -> "Calibration":
        """Return the same records among more classes, by the code that each class has now."""
        counts = np.zeros(n_classes, dtype=np.int64)
        counts[codes] = self.counts
        return replace(self, counts=counts)

    def sets(
        self, probabilities: FloatArray, confidence: float, closeness: FloatArray | None = None
    ) -> NDArray[np.bool_]:
        r"""Return which classes are in the set of each object, of shape (n, n_classes).

        Class y is in it if its :func:`nonconformity` is at most that of the record number
        :math:`\lceil (n_y + 1) \gamma \rceil` among the :math:`n_y` records of the class, the one
        that fits best first. Then the set of a new object of class y holds y with a probability of
        at least the confidence :math:`\gamma` (V. Vovk, Conditional validity of inductive conformal
        predictors, ACML 2012, 475-490). Classes with fewer records than
        :math:`\gamma / (1 - \gamma)` share those of all of them, and the next smallest join them
        until there are enough. The promise is for these classes together then. An InputError if all
        records together are too few.

        With the ``closeness`` of the objects, of shape (n,), y is in the set too if it fits as well
        as :meth:`ByCloseness.limits` asks. So the promise holds for the objects of each bin of
        closeness as well.
        """
        limits = self.limits(confidence)[None, :]
        if self.near is not None and closeness is not None:
            limits = np.maximum(limits, self.near.limits(closeness, confidence))
        return nonconformity(probabilities) <= limits * (1 + _ROUNDING)

    def beyond(self, closeness: FloatArray) -> NDArray[np.bool_] | None:
        """Return which objects are farther than the promises were measured; None if unknown."""
        if self.near is None or self.near.least is None or np.isnan(closeness).any():
            return None
        return self.near.beyond(closeness)

    def limits(self, confidence: float) -> FloatArray:
        """Return the largest nonconformity of each class that is let into a set."""
        if (needed := records_needed(confidence)) > self.units.sum():
            raise InputError(
                f"sets of confidence {confidence:g} take at least {needed:,} training records "
                f"that were held out, and the model has {self._number}. Train on more "
                "records, or ask for a lower confidence."
            )
        pooled, ends = self.pooled(confidence), np.cumsum(self.counts)
        weights = weights_of(self.weights, self.conformity)
        own = np.split(np.arange(len(weights)), ends[:-1])
        pool = np.flatnonzero(np.repeat(pooled, self.counts))

        def limit(code: int) -> float:
            some = pool if pooled[code] else own[code]
            return limit_of(self.conformity[some], weights[some], confidence)

        return np.array([limit(code) for code in range(len(own))])

    def pooled(self, confidence: float) -> NDArray[np.bool_]:
        """Return which classes have too few records and share them."""
        needed = records_needed(confidence)
        units = self.units
        order = np.argsort(units, kind="stable")
        sizes = units[order]
        before = np.cumsum(sizes) - sizes
        few = (sizes < needed) | ((sizes[0] < needed) & (before < needed))
        pooled = np.empty(len(order), dtype=bool)
        pooled[order] = few
        return pooled

    def p_values(self, top: FloatArray) -> FloatArray:
        r"""Return how likely an object is to be predicted wrong with so large a probability.

        .. math:: p = \frac{1 + \#\{i : \hat y_i \ne y_i, \; \max_c p_{ic} \ge t\}}{n + 1}

        with the largest probability t of the new object (``top``). That its prediction is wrong and
        p is at most :math:`\alpha` has a probability of at most :math:`\alpha`. So :func:`accepted`
        bounds the expected share of wrong predictions among the accepted (Jin and Candès, Selection
        by prediction with conformal p-values, Journal of Machine Learning Research 24 (244), 2023:
        the clipped score, section 2.3).
        """
        up_to = np.append(0.0, np.cumsum(weights_of(self.wrong_weights, self.wrong)))
        surer = up_to[-1] - up_to[np.searchsorted(self.wrong, top, side="left")]
        return np.asarray((1 + surer) / (self.units.sum() + 1))

    def check_errors(self, share: float) -> None:
        """Refuse a share of errors that no prediction can meet, however sure it is."""
        if 1 / (self.units.sum() + 1) > share * (1 + _ROUNDING):
            needed = int(np.ceil(1 / share - _ROUNDING)) - 1
            raise InputError(
                f"a share of errors of {share:g} takes at least {needed:,} training records that "
                f"were held out, and the model has {self._number}. Train on more records, or allow "
                "more errors."
            )

    def explained(self, it: Subject) -> Told:
        """Say of an object that is beyond all promises that it is."""
        beyond = self.beyond(it.answers.closeness)
        if beyond is None or not beyond[0]:
            return Told()
        far = f"it is farther from the training records than {100 * (1 - FAR):g} % of them are"
        return Told([f"{far} from each other: sets and errors were not measured so far away"])

    def inspected(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Return what is called beyond, if anything is."""
        if self.near is None or (least := self.near.least) is None:
            return {}
        return {"beyond": {"closeness_below": least, "records": len(self.near.closeness)}}

    state: ClassVar = {
        "counts": Array("i", "c"),
        "conformity": Array("f", "records"),
        "wrong": Array("f", "wrong"),
        "near": Part(ByCloseness, "near_"),
        "weights": Array("f8", "records", optional=True),
        "wrong_weights": Array("f8", "wrong", optional=True),
    }


def weights_in_groups(groups: NDArray[Any], y: IntArray) -> FloatArray:
    """Return 1 / k of each of the k records of one group and one class."""
    codes = np.unique(groups, return_inverse=True)[1] * (int(y.max(initial=0)) + 1) + y
    _, unit, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / sizes[unit])


def outcomes(
    calibration: Calibration,
    probabilities: FloatArray,
    y: IntArray,
    closeness: FloatArray | None = None,
) -> pd.DataFrame:
    """Return what the sets and the p-values of objects came to, in columns :data:`SET_COLUMNS`.

    These are the classes in the set of each of the :data:`CONFIDENCES`, and 1 if the true one,
    ``y``, is among them, else 0; empty where the records are too few. Then the p-value, and 1 if an
    object is beyond the promises, else 0; empty if that is not known.
    """
    found: dict[str, Any] = {}
    for confidence in CONFIDENCES:
        size = held = np.full(len(y), np.nan)
        if records_needed(confidence) <= calibration.units.sum():
            sets = calibration.sets(probabilities, confidence, closeness)
            size, held = sets.sum(axis=1), sets[np.arange(len(y)), y]
        for name, values in (("size", size), ("held", held)):
            found[f"{name}_{100 * confidence:g}"] = pd.array(values.astype(float), dtype="Int64")
    beyond = None if closeness is None else calibration.beyond(closeness)
    told = np.full(len(y), np.nan) if beyond is None else beyond.astype(float)
    found["error_p"] = calibration.p_values(probabilities.max(axis=1))
    return pd.DataFrame({**found, "beyond": pd.array(told, dtype="Int64")})


def records_needed(confidence: float) -> int:
    """Return how many records a set of this confidence takes, so that some are outside.

    Examples
    --------
    >>> [records_needed(confidence) for confidence in (0.9, 0.95, 0.99)]
    [9, 19, 99]
    """
    return max(1, int(np.ceil(confidence / (1 - confidence) - _ROUNDING)))
