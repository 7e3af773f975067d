"""The scores of a query with training records, and what its levels make of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.pair_machines import PairMachines
from kreinflow.answering.query import Decided, Query
from kreinflow.answering.score_cache import NOBODY, ScoreCache
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, Part, State
from kreinflow.views.lift import Lift

NEAREST_WEIGHTS, PAIR_WEIGHTS = 4, 2
"""Features of :func:`nearest_features` and of :func:`pair_features`."""

_RANKED = 1 << 21  # objects with their nearest records, at once

SMALLEST = 1e-12
"""Probability whose logarithm is taken."""


@dataclass(frozen=True, eq=False)
class Records(State):
    """The training records that an object may be aligned with.

    Parameters
    ----------
    landmarks : ndarray of shape (n_landmarks,)
        The places of the landmarks among the records, -1 for one that is not there.
    """

    index: Lift  # its points are the records, in the space in which the nearest are found
    classes: IntArray  # (n_records,): codes of their classes
    rows: IntArray  # (n_records,): their distinct rows in the training data
    self_scores: FloatArray  # (n_records,)
    lengths: FloatArray  # (n_records,)
    landmarks: IntArray

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.classes)

    state: ClassVar = {
        "index": Part(Lift, "index_"),
        "classes": Array("i", "number"),
        "rows": Array("i", "number"),
        "self_scores": Array("f", "number"),
        "lengths": Array("f", "number"),
        "landmarks": Array("i", "m"),
    }

    def __post_init__(self) -> None:
        """Refuse an index of other records."""
        if not len(self.index) == len(self) >= 1:
            raise ValueError("its records and classes do not agree")


def cached(query: Query, records: Records) -> ScoreCache:
    """Return the scores of a query with records, those with landmarks among them known."""
    cache, known = query.ask, np.flatnonzero(records.landmarks >= 0)
    if not isinstance(cache, ScoreCache):
        assert cache is not None, "a query that cannot be aligned with records"
        cache = ScoreCache(cache, len(records))
    cache.know(np.arange(len(query)), records.landmarks[known], query.scores[:, known])
    return cache


def nearest_features(decisions: FloatArray, classes: IntArray, evidence: FloatArray) -> FloatArray:
    """Return what a nearest level looks at, of shape (n, n_classes, 4).

    Of each class: the decision of the first stage, the evidence of its best record among those
    asked, the mean evidence of its records, and their share of those asked. ``classes``,
    ``evidence``, of shape (n, q): codes of the records asked, -1 for none, and what they say.
    """
    n, k = decisions.shape
    best = np.full((n, k), -np.inf)
    total, count = np.zeros((n, k)), np.zeros((n, k))
    every = np.arange(n)
    for of_record, said in zip(classes.T, evidence.T, strict=True):
        asked = of_record >= 0
        place = every[asked], of_record[asked]
        best[place] = np.maximum(best[place], said[asked])
        total[place] += said[asked]
        count[place] += 1.0
    best[count == 0] = 0.0
    share = count / np.maximum(1, (classes >= 0).sum(axis=1))[:, None]
    return np.stack([decisions, best, total / np.maximum(1.0, count), share], axis=2)


def pair_features(probabilities: FloatArray, votes: FloatArray) -> FloatArray:
    """Return what the level of pairs looks at, of shape (n, n_classes, 2)."""
    return np.stack([np.log(np.maximum(probabilities, SMALLEST)), votes], axis=2)


def logit(features: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the probabilities of a conditional logit, of shape (n, n_classes)."""
    # Term by term: what BLAS sums depends on how many rows there are.
    total = features[:, :, 0] * weights[0]
    for number in range(1, len(weights)):
        total += features[:, :, number] * weights[number]
    return np.asarray(softmax(total, axis=1))


class RecordScores:
    """Objects of a query with the training records: their scores, and what follows from these.

    Places are those of k objects in the query, of shape (k,). Records have shape (k, q), -1 for
    none. The query has an ask; of a ScoreCache nothing is kept twice.
    """

    def __init__(
        self, records: Records, query: Decided, transform: ScoreTransform, evidence: ScoreTransform
    ) -> None:
        self.records, self.query = records, query
        self._transform, self._evidence = transform, evidence
        self.scores = cached(query, records)  # as aligned
        self._is_landmark = np.isin(np.arange(len(records)), records.landmarks)
        self._order = self._members = np.full((len(query), 0), NOBODY, dtype=np.int64)

    def rank(
        self, places: IntArray, most: int, besides: tuple[IntArray, IntArray] | None = None
    ) -> None:
        """Find the nearest records of some objects, so many at most.

        ``besides`` are codes of the objects and of all records: those of its own code are left out.
        """
        if besides is None:
            near = self._nearest(places, most)
        else:
            near = self._nearest_besides(places, most, *besides)
        self._order = np.full((len(self.query), near.shape[1]), NOBODY, dtype=np.int64)
        self._order[places] = near

    def _nearest_besides(
        self, places: IntArray, most: int, own: IntArray, codes: IntArray
    ) -> IntArray:
        wanted = min(len(codes), most + int(np.unique(codes, return_counts=True)[1].max()))
        near = np.full((len(places), most), NOBODY, dtype=np.int64)
        step = max(1, _RANKED // wanted)
        for part in (slice(start, start + step) for start in range(0, len(places), step)):
            found = self._nearest(places[part], wanted)
            other = codes[found] != own[part, None]
            first = np.argsort(~other, axis=1, kind="stable")[:, :most]
            taken = np.take_along_axis(found, first, axis=1)
            fits = np.take_along_axis(other, first, axis=1)
            near[part, : taken.shape[1]] = np.where(fits, taken, NOBODY)
        return near

    def _nearest(self, places: IntArray, most: int) -> IntArray:
        if not len(places):
            return np.empty((0, 0), dtype=np.int64)
        objects = None if self.query.objects is None else self.query.objects.take(places)
        return self.records.index.nearest(self.query.rows[places], objects, most)

    def with_landmarks(self) -> tuple[FloatArray, FloatArray]:
        """Return :meth:`resemblance` of all objects with the landmarks."""
        known, column = np.unique(self.records.landmarks, return_index=True)
        there = known >= 0
        records = np.tile(known[there], (len(self.query), 1))
        scores = np.asarray(self.query.scores[:, column[there]], dtype=np.float64)
        return self._resembling(np.arange(len(records)), records, scores)

    def around(self, places: IntArray, q: int) -> IntArray:
        """Return the landmarks and the q nearest records of some objects, each once."""
        known = np.unique(self.records.landmarks[self.records.landmarks >= 0])
        near = self._order[places, :q]
        near = np.where((near >= 0) & ~self._is_landmark[near], near, NOBODY)
        return np.concatenate([np.tile(known, (len(places), 1)), near], axis=1)

    def resemblance(self, places: IntArray, records: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return normalised scores and -ln E of objects with records; NaN for none."""
        return self._resembling(places, records, self.scores(places, records))

    def _resembling(
        self, places: IntArray, records: IntArray, scores: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        of, query = self.records, self.query
        product = query.self_scores[places, None] * of.self_scores[records]
        normalised = np.zeros(scores.shape)
        np.divide(scores, np.sqrt(np.maximum(product, 0.0)), out=normalised, where=product > 0)
        normalised[np.isnan(scores)] = np.nan
        lengths = query.lengths[places, None], of.lengths[records]
        return normalised, -self._evidence.log_evalues(scores, *lengths)

    def evidence(self, places: IntArray, records: IntArray) -> FloatArray:
        """Return the evidence of records for some objects; 0 for none."""
        of, query = self.records, self.query
        return self._evidence.evidence(
            self.scores(places, records),
            query.self_scores[places, None],
            of.self_scores[records],
            query.lengths[places, None],
            of.lengths[records],
        )

    def ranked(self, places: IntArray, q: int) -> IntArray:
        """Return the q nearest records of some objects, which :meth:`rank` has found."""
        return self._order[places, :q]

    def nearest(self, places: IntArray, q: int) -> tuple[FloatArray, IntArray]:
        """Return :func:`nearest_features` of the q nearest records, and alignments so far.

        Those with landmarks are not counted.
        """
        near = self.ranked(places, q)
        evidence = self.evidence(places, near)
        classes = np.where(near >= 0, self.records.classes[near], NOBODY)
        features = nearest_features(self.query.decisions[places], classes, evidence)
        return features, self._fresh(near).sum(axis=1)

    def votes(
        self, places: IntArray, before: FloatArray, machines: PairMachines, likeliest: int, q: int
    ) -> tuple[FloatArray, IntArray, NDArray[np.bool_]]:
        """Ask members of the likeliest classes of objects; ``before``: their probabilities.

        ``likeliest``, ``q``: classes at most, and the nearest records that were asked before.
        Returned are sums of tanh of the decisions for each class, of shape (k, n_classes);
        alignments so far beyond the landmarks; and whether any machine has a vote: the others are
        not asked.
        """
        n, classes = len(self.records), self.records.classes
        contests = machines.contests(before, likeliest)
        sets, of_object = np.unique(contests, axis=0, return_inverse=True)
        members = [np.flatnonzero(np.isin(classes, machines.pairs[own[own >= 0]])) for own in sets]
        asked = np.full((len(places), max(map(len, members), default=0)), NOBODY, dtype=np.int64)
        for number, some in enumerate(members):
            asked[of_object == number, : len(some)] = some
        self._members = np.full((len(self.query), asked.shape[1]), NOBODY, dtype=np.int64)
        self._members[places] = asked
        self.scores(places, asked)
        votes, ends = np.zeros_like(before), machines.ends(classes)
        for contest in contests.T:
            for pair in np.unique(contest[contest >= 0]).tolist():
                rows = np.flatnonzero(contest == pair)
                similar = self.similarities(places[rows], machines.members(classes, pair))
                rows_of = self.query.rows[places[rows]]
                vote = np.tanh(machines.decide(pair, ends, similar, rows_of))
                votes[rows, machines.pairs[pair, 0]] += vote
                votes[rows, machines.pairs[pair, 1]] -= vote
        near, row = self._order[places, :q], np.arange(len(places))[:, None] * n
        twice = np.isin(row + asked, np.where(near >= 0, row + near, -1))
        fresh = self._fresh(near).sum(axis=1) + (self._fresh(asked) & ~twice).sum(axis=1)
        return votes, np.asarray(fresh), np.asarray((contests >= 0).any(axis=1))

    def similarities(self, places: IntArray, records: IntArray) -> FloatArray:
        """Return the transformed scores of objects with the same records, of shape (k, q)."""
        return self._transform.apply(
            self.scores(places, np.tile(records, (len(places), 1))),
            self.query.self_scores[places],
            self.records.self_scores[records],
            self.query.lengths[places],
            self.records.lengths[records],
        )

    def asked(self, places: IntArray, q: int, members: bool) -> IntArray:
        """Return the q nearest records of some objects, and the members that voted."""
        near = self._order[places, :q]
        return np.concatenate([near, self._members[places]], axis=1) if members else near

    def best(
        self,
        places: IntArray,
        labels: IntArray,
        asked: IntArray,
        weight: Callable[[IntArray, IntArray], FloatArray],
    ) -> tuple[IntArray, FloatArray]:
        """Return the record of a class with the most weight for each object, and its score.

        ``labels``, of shape (k,): codes of the classes, -1 for any. ``asked``, of shape (k, q):
        records. ``weight`` takes places and records, as :meth:`evidence` does. Of equal records it
        is the first, and -1 with NaN if there is none.
        """
        any_class = (labels < 0)[:, None]
        fits = (asked >= 0) & (any_class | (self.records.classes[asked] == labels[:, None]))
        asked, n = np.where(fits, asked, NOBODY), len(self.records)
        value = np.where(fits, weight(places, asked), -np.inf)
        most = fits & (value == value.max(axis=1, keepdims=True, initial=-np.inf))
        first = np.where(most, asked, n).min(axis=1, initial=n)
        best = np.where(most.any(axis=1), first, NOBODY)
        return best, self.scores(places, best[:, None])[:, 0]

    def _fresh(self, records: IntArray) -> NDArray[np.bool_]:
        """Return which records are not aligned as landmarks."""
        return np.asarray((records >= 0) & ~self._is_landmark[records])
