"""Objects in front of the training records: what is asked, and what comes back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.models.asked import NOBODY, Ask, AskedScores
from kreinflow.models.pair_machines import PairMachines
from kreinflow.numerics import FloatArray, IntArray
from kreinflow.views.lift import Lift
from kreinflow.views.objects import Viewed

NEAREST_WEIGHTS, PAIR_WEIGHTS = 4, 2
"""Features of :func:`nearest_features` and of :func:`pair_features`."""

SMALLEST = 1e-12
"""Probability whose logarithm is taken."""


@dataclass(frozen=True, eq=False)
class Records:
    """The training records that an object may be aligned with.

    Parameters
    ----------
    index : Lift
        Its points are the records, in the space in which the nearest are found.
    classes : ndarray of shape (n_records,)
        Codes of their classes.
    rows : ndarray of shape (n_records,)
        Their distinct rows in the training data.
    self_scores, lengths : ndarray of shape (n_records,)
    landmarks : ndarray of shape (n_landmarks,)
        The places of the landmarks among the records, -1 for one that is not there.
    """

    index: Lift
    classes: IntArray
    rows: IntArray
    self_scores: FloatArray
    lengths: FloatArray
    landmarks: IntArray

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.classes)


@dataclass(frozen=True, eq=False)
class Seen:
    """What the first stage saw of n objects, and what it decided.

    Parameters
    ----------
    decisions : ndarray of shape (n, n_classes)
    rows : ndarray of shape (n, n_landmarks)
        Transformed scores.
    scores : ndarray of shape (n, n_landmarks)
        As aligned.
    self_scores, lengths : ndarray of shape (n,)
    objects : Viewed or None
        The objects, for the views of the index.
    """

    decisions: FloatArray
    rows: FloatArray
    scores: NDArray[Any]
    self_scores: FloatArray
    lengths: FloatArray
    objects: Viewed | None

    def take(self, places: IntArray) -> "Seen":
        """Return what was seen of some of the objects."""
        return Seen(
            self.decisions[places],
            self.rows[places],
            self.scores[places],
            self.self_scores[places],
            self.lengths[places],
            None if self.objects is None else self.objects.take(places),
        )


def nearest_features(decisions: FloatArray, classes: IntArray, evidence: FloatArray) -> FloatArray:
    """Return what a nearest level looks at, of shape (n, n_classes, 4).

    Of each class: the decision of the first stage, the evidence of its best record among those
    asked, the mean evidence of its records, and their share of those asked.

    Parameters
    ----------
    decisions : ndarray of shape (n, n_classes)
        Of the first stage.
    classes : ndarray of shape (n, q)
        Codes of the records asked, -1 for none.
    evidence : ndarray of shape (n, q)
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


class Facing:
    """Objects in front of the records: what they are asked, and what comes back.

    Parameters
    ----------
    records : Records
    transform, evidence : ScoreTransform
        See :class:`Cascade`.
    seen : Seen
    ask : callable
        Scores objects, by their places in ``seen``, with records.
    """

    def __init__(
        self,
        records: Records,
        transform: ScoreTransform,
        evidence: ScoreTransform,
        seen: Seen,
        ask: Ask,
    ) -> None:
        self.records, self.seen = records, seen
        self._transform, self._evidence = transform, evidence
        self._asked = AskedScores(ask, len(records))
        n = len(seen.decisions)
        known = np.flatnonzero(records.landmarks >= 0)
        self._asked.know(np.arange(n), records.landmarks[known], seen.scores[:, known])
        self._is_landmark = np.isin(np.arange(len(records)), records.landmarks)
        self._order = np.full((n, 0), NOBODY, dtype=np.int64)
        self._members: list[IntArray] = []  # of sets of classes
        self._set = np.full(n, NOBODY, dtype=np.int64)  # whose members an object has asked

    def rank(self, places: IntArray, most: int) -> None:
        """Find the nearest records of some objects, so many at most."""
        objects = None if self.seen.objects is None else self.seen.objects.take(places)
        near = self.records.index.nearest(self.seen.rows[places], objects, most)
        self._order = np.full((len(self.seen.decisions), near.shape[1]), NOBODY, dtype=np.int64)
        self._order[places] = near

    def nearest(self, places: IntArray, q: int) -> tuple[FloatArray, IntArray]:
        """Ask the q nearest records of some objects, which :meth:`rank` has found.

        Returns
        -------
        ndarray of shape (k, n_classes, 4)
            See :func:`nearest_features`.
        ndarray of shape (k,)
            Alignments so far beyond the landmarks.
        """
        near = self._order[places, :q]
        said = self._said(places, near)
        classes = np.where(near >= 0, self.records.classes[near], NOBODY)
        features = nearest_features(self.seen.decisions[places], classes, said)
        return features, self._fresh(near).sum(axis=1)

    def votes(
        self,
        places: IntArray,
        before: FloatArray,
        machines: PairMachines,
        likeliest: int,
        q: int,
    ) -> tuple[FloatArray, IntArray, NDArray[np.bool_]]:
        """Ask the members of the likeliest classes of some objects.

        Parameters
        ----------
        places : ndarray of shape (k,)
        before : ndarray of shape (k, n_classes)
            Probabilities.
        machines : PairMachines
        likeliest, q : int
            Classes at most, and the nearest records that were asked before.

        Returns
        -------
        ndarray of shape (k, n_classes)
            Sums of tanh of the decisions for each class.
        ndarray of shape (k,)
            Alignments so far beyond the landmarks.
        ndarray of shape (k,), bool
            Whether any machine has a vote; the others are not asked.
        """
        records, classes = self.records, self.records.classes
        contests = machines.contests(before, likeliest)
        voting = (contests >= 0).any(axis=1)
        sets, of_object = np.unique(contests, axis=0, return_inverse=True)
        members = [np.flatnonzero(np.isin(classes, machines.pairs[own[own >= 0]])) for own in sets]
        self._set[places] = len(self._members) + of_object
        self._members += members
        asked = np.full((len(places), max(map(len, members), default=0)), NOBODY, dtype=np.int64)
        for number, some in enumerate(members):
            asked[of_object == number, : len(some)] = some
        self._asked(places, asked)
        votes = np.zeros_like(before)
        ends = machines.ends(classes)
        for contest in contests.T:
            for pair in np.unique(contest[contest >= 0]).tolist():
                rows = np.flatnonzero(contest == pair)
                own = machines.members(classes, pair)
                objects = places[rows]
                scores = self._asked(objects, np.tile(own, (len(rows), 1)))
                similar = self._transform.apply(
                    scores,
                    self.seen.self_scores[objects],
                    records.self_scores[own],
                    self.seen.lengths[objects],
                    records.lengths[own],
                )
                vote = np.tanh(machines.decide(pair, ends, similar, self.seen.rows[objects]))
                votes[rows, machines.pairs[pair, 0]] += vote
                votes[rows, machines.pairs[pair, 1]] -= vote
        near = self._order[places, :q]
        twice = np.isin(_keys(asked, len(records)), _keys(near, len(records)))
        fresh = self._fresh(near).sum(axis=1) + (self._fresh(asked) & ~twice).sum(axis=1)
        return votes, np.asarray(fresh), np.asarray(voting)

    def best(
        self, places: IntArray, labels: IntArray, q: int, members: bool
    ) -> tuple[IntArray, FloatArray]:
        """Return the record of a class with the most evidence for each object, and its score.

        Parameters
        ----------
        places, labels : ndarray of shape (k,)
            The objects, and the codes of the classes.
        q : int
            The nearest records that were asked.
        members : bool
            Whether members of classes were asked too.

        Returns
        -------
        ndarray of shape (k,)
            The first of equal ones; -1 if none was asked.
        ndarray of shape (k,)
            As aligned; NaN for none.
        """
        best, score = np.full(len(places), NOBODY), np.full(len(places), np.nan)
        sets = self._set[places] if members else np.full(len(places), NOBODY)
        for number in np.unique(sets).tolist():
            rows = np.flatnonzero(sets == number)
            own = places[rows]
            asked = self._order[own, :q]
            if number != NOBODY:
                others = np.tile(self._members[number], (len(rows), 1))
                asked = np.concatenate([asked, others], axis=1)
            if not asked.shape[1]:
                continue
            fits = (asked >= 0) & (self.records.classes[asked] == labels[rows, None])
            said = np.where(fits, self._said(own, np.where(fits, asked, NOBODY)), -np.inf)
            most = fits & (said == said.max(axis=1, keepdims=True))
            first = np.where(most, asked, len(self.records)).min(axis=1)
            found = most.any(axis=1)
            best[rows[found]] = first[found]
            score[rows[found]] = self._asked(own[found], first[found, None])[:, 0]
        return best, score

    def _said(self, places: IntArray, records: IntArray) -> FloatArray:
        """Return the evidence of records, of shape (k, q); 0 for none."""
        of, seen = self.records, self.seen
        return self._evidence.evidence(
            self._asked(places, records),
            seen.self_scores[places, None],
            of.self_scores[records],
            seen.lengths[places, None],
            of.lengths[records],
        )

    def _fresh(self, records: IntArray) -> NDArray[np.bool_]:
        """Return which records are not aligned as landmarks."""
        return np.asarray((records >= 0) & ~self._is_landmark[records])


def _keys(records: IntArray, n_records: int) -> IntArray:
    """Return numbers that tell the pairs of rows and records apart, of each row's records."""
    keys = np.arange(len(records))[:, None] * n_records + records
    return np.asarray(np.where(records >= 0, keys, -1))
