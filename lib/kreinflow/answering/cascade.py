r"""The cascade: what the first stage is unsure of is aligned with the records that decide.

The first stage is a :class:`~kreinflow.answering.classifier.LandmarkClassifier`. While the largest
probability of an object is below a threshold, it goes up the levels of a cascade:

* level 0: the first stage and the index of seeds, which aligns nothing,

  .. math:: p_c = softmax_c(w_1 f_c(x) + w_2 \log(1 + s_c(x)) + w_3 h_c(x))

  with the best score :math:`s_c` of class c by seeds, and its share :math:`h_c` of the ten records
  first by seeds;
* ``nearest``, a level for each number q of steps: q candidates are aligned with the object, the
  first ten by seeds if they have any in common, the others in turn near it in the space of the
  first stage and by seeds. To the sum above are added

  .. math:: w_4\, e_c(x) + w_5\, \bar e_c(x) + w_6\, n_c(x) / q

  with the evidence :math:`e_c` of the best record of class c among them and the landmarks,
  log(1 + max(0, -ln E)), the mean evidence of its :math:`n_c` records among these, and their
  number. A class of few records is seldom among the nearest, but has a landmark;
* ``pairs``: the object is aligned with all members of its likeliest classes that some of the
  :class:`PairMachines` tells apart, and

  .. math:: p_c = softmax_c(w_1 \log p'_c + w_2 \sum_d \tanh g_{cd}(x))

  with the probabilities p' of the level before and the decisions g of these machines.

The weights of a level are shared by all classes: a conditional logit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.nearest_records import SEEDS_FIRST, Records, RecordScores
from kreinflow.answering.parts import TRANSFORM, ModelPart, Subject, Told
from kreinflow.answering.query_and_answers import (
    FIRST,
    NEAREST,
    NOBODY,
    PAIRS,
    REASONS,
    Answers,
    Decided,
    unsure,
)
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, Number, Part, State, Value

FEATURES = {
    FIRST: ("decision", "best_seeds", "share_of_seeds"),
    NEAREST: (
        *("decision", "best_seeds", "share_of_seeds"),
        *("best_evidence", "mean_evidence", "share"),
    ),
    PAIRS: ("log_probability", "votes"),
}
"""What the conditional logit of each stage looks at."""

SMALLEST = 1e-12  #: probability whose logarithm is taken


def nearest_features(classes: IntArray, evidence: FloatArray, k: int, q: IntArray) -> FloatArray:
    """Return what a nearest level looks at beside :func:`seed_features`, of shape (n, k, 3).

    Of each of k classes: the evidence of its best record, the mean evidence of its records, and
    their number by ``q``, of shape (n,), that of nearest records. ``classes``, ``evidence``, a row
    for each object: codes of records, -1 for none, and what they say.
    """
    n = len(classes)
    best = np.full((n, k), -np.inf)
    total, count = np.zeros((n, k)), np.zeros((n, k))
    every = np.arange(n)
    for of_record, said in zip(classes.T, evidence.T, strict=True):
        there = of_record >= 0
        place = every[there], of_record[there]
        best[place] = np.maximum(best[place], said[there])
        total[place] += said[there]
        count[place] += 1.0
    best[count == 0] = 0.0
    share = count / np.maximum(1, q)[:, None]
    return np.stack([best, total / np.maximum(1.0, count), share], axis=2)


def seed_features(decisions: FloatArray, classes: IntArray, scores: IntArray) -> FloatArray:
    """Return what level 0 looks at, of shape (n, n_classes, 3).

    Of each class: the decision of the first stage; log(1 + s) of its record with the largest score
    s by seeds, of a class that is not there that of the last record; and its share of the first
    :data:`~kreinflow.answering.nearest_records.SEEDS_FIRST`. ``classes``, ``scores``, of shape
    (n, q): of the records that are first by seeds, in order; -1 and 0 for none.
    """
    said = np.log1p(scores)
    best = np.repeat(said[:, -1:], decisions.shape[1], axis=1)
    share = np.zeros_like(decisions)
    every, first = np.arange(len(decisions)), min(SEEDS_FIRST, scores.shape[1])
    for number in reversed(range(scores.shape[1])):
        there = classes[:, number] >= 0
        place = every[there], classes[there, number]
        best[place] = said[there, number]
        share[place] += (number < first) / first
    return np.stack([decisions, best, share], axis=2)


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


@dataclass(frozen=True, eq=False)
class PairMachines(State):
    """Linear machines that tell two classes apart which a first stage confuses.

    A machine sees the transformed scores of an object with all members of its two classes, and
    with the landmarks.
    """

    pairs: IntArray  # (n_pairs, 2): codes of the classes, the lower one first; rows are sorted
    pair_member_weights: FloatArray  # of all machines: for the records of both classes in order
    pair_landmark_weights: FloatArray  # (n_pairs, n_landmarks)
    pair_intercepts: FloatArray  # (n_pairs,)

    def members(self, classes: IntArray, pair: int) -> IntArray:
        """Return the places of the records of both classes, whose codes are ``classes``."""
        return np.flatnonzero(np.isin(classes, self.pairs[pair]))

    def ends(self, classes: IntArray) -> IntArray:
        """Return where the weights of each machine end."""
        sizes = np.bincount(classes, minlength=int(self.pairs.max(initial=0)) + 1)
        return np.concatenate([[0], np.cumsum(sizes[self.pairs].sum(axis=1))])

    def contests(self, probabilities: FloatArray, likeliest: int) -> IntArray:
        """Return the machines of the pairs of the likeliest classes, -1 for a pair without one.

        Of ``probabilities`` of shape (n, n_classes) the numbers of L (L - 1) / 2 machines each.
        """
        k = probabilities.shape[1]
        known = np.append(self.pairs[:, 0] * k + self.pairs[:, 1], k * k)  # sorted, as pairs are
        top = np.argsort(-probabilities, axis=1, kind="stable")[:, :likeliest]
        found = []
        for i, j in combinations(range(top.shape[1]), 2):
            wanted = np.minimum(top[:, i], top[:, j]) * k + np.maximum(top[:, i], top[:, j])
            places = np.searchsorted(known, wanted)
            found.append(np.where(known[places] == wanted, places, -1))
        return np.stack(found, axis=1)

    def decide(
        self, pair: int, ends: IntArray, members: FloatArray, landmarks: FloatArray
    ) -> FloatArray:
        """Return the decisions of a machine, above 0 for its first class; each by its row alone.

        ``members``, ``landmarks``: transformed scores, a row for each object.
        """
        own = self.pair_member_weights[ends[pair] : ends[pair + 1]]
        # Row by row: the sums of BLAS and of einsum depend on how many rows there are.
        decisions = (np.ascontiguousarray(members) * own).sum(axis=1)
        weighed = np.ascontiguousarray(landmarks) * self.pair_landmark_weights[pair]
        decisions += weighed.sum(axis=1)
        return np.asarray(decisions + self.pair_intercepts[pair])

    state: ClassVar = {
        "pairs": Array("i", "pairs 2"),
        "pair_member_weights": Array("f8", "weights"),
        "pair_landmark_weights": Array("f8", "pairs m"),
        "pair_intercepts": Array("f8", "pairs"),
    }


class LevelScores(RecordScores):
    """What the levels of a cascade make of the scores with training records."""

    def __init__(
        self, records: Records, query: Decided, evidence: ScoreTransform, transform: ScoreTransform
    ) -> None:
        super().__init__(records, query, evidence)
        self._transform = transform
        self._members = np.full((len(query), 0), NOBODY, dtype=np.int64)

    def nearest(self, places: IntArray, q: int) -> tuple[FloatArray, IntArray]:
        """Return what the logit sees of landmarks and q records, and alignments of the latter."""
        around, k = self.around(places, q), self.query.decisions.shape[1]
        evidence = self.evidence(places, around)
        classes = np.where(around >= 0, self.records.classes[around], NOBODY)
        near = (self.ranked(places, q) >= 0).sum(axis=1)  # so new landmarks change no other class
        of_records = nearest_features(classes, evidence, k, near)
        features = np.concatenate([self.first(places), of_records], axis=2)
        return features, self._fresh(around).sum(axis=1)

    def first(self, places: IntArray) -> FloatArray:
        """Return :func:`seed_features` of some objects."""
        near, scores = self.by_seeds
        near = near[places]
        classes = np.where(near >= 0, self.records.classes[near], NOBODY)
        return seed_features(self.query.decisions[places], classes, scores[places])

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
        """Return the landmarks and q nearest records of objects, and the members that voted."""
        near = self.around(places, q)
        return np.concatenate([near, self._members[places]], axis=1) if members else near


class Level(NamedTuple):
    """A level: its stage, and the nearest records that are asked by then."""

    stage: int
    asks: int


@dataclass(frozen=True, eq=False)
class Cascade(ModelPart):
    """The levels above the first stage, and when an object goes up."""

    needs: ClassVar = "records"

    records: Records = field()
    transform: ScoreTransform  # what the machines see scores through: that of the first stage
    evidence: ScoreTransform  # what the nearest records are weighed by
    steps: tuple[int, ...]  # rising numbers of nearest records that are asked; may be empty
    weights: tuple[FloatArray, ...]  # of the FEATURES of each level
    machines: PairMachines | None
    likeliest: int  # classes at most whose members the level of pairs asks
    threshold: float  # an object goes up while its largest probability is below it
    temperature: float  # of the answers of all levels together
    reject_threshold: float
    about: dict[str, Any] = field(default_factory=dict)  # what was asked for, and found

    @property
    def levels(self) -> tuple[Level, ...]:
        """Those above the first."""
        nearest = tuple(Level(NEAREST, q) for q in self.steps)
        most = max(self.steps, default=0)
        return nearest + ((Level(PAIRS, most),) if self.machines is not None else ())

    def answer(self, query: Decided, before: Answers) -> Answers:
        """Return the answers of the levels, asking records for objects that are unsure."""
        stage, nearest = before.stage.copy(), before.nearest.copy()
        score, scores = before.nearest_score.copy(), self.scores(query)
        threshold = self.reject_threshold
        alone = before.reason == REASONS[3]
        levels = self.level_answers(scores, self.threshold, ~alone)
        raw, number, alignments = followed(levels, self.threshold)
        probabilities = self.calibrated(raw)
        labels = probabilities.argmax(axis=1)
        for place, level in enumerate(self.levels, start=1):
            at = np.flatnonzero(number == place)
            asked = scores.asked(at, level.asks, level.stage == PAIRS)
            stage[at] = level.stage
            nearest[at], score[at] = scores.best(at, labels[at], asked, scores.evidence)
        return replace(
            before,
            probabilities=probabilities,
            reason=np.where(alone, REASONS[3], unsure(probabilities.max(axis=1), threshold)),
            stage=stage,
            alignments=alignments,
            nearest=nearest,
            nearest_score=score,
        )

    def scores(self, query: Decided) -> LevelScores:
        """Return the scores of a query with the records of the cascade."""
        return LevelScores(self.records, query, self.evidence, self.transform)

    def most_asked(self, n_classes: int) -> int:
        """See :meth:`~kreinflow.answering.parts.ModelPart.most_asked`."""
        members = 0
        if self.machines is not None:
            sizes = np.bincount(self.records.classes, minlength=n_classes)
            members = int(np.sort(sizes)[::-1][: self.likeliest].sum())
        return max(self.steps, default=0) + members

    def calibrated(self, raw: FloatArray) -> FloatArray:
        """Return the probabilities of answers, of those that the levels give."""
        return np.asarray(softmax(np.log(np.maximum(raw, SMALLEST)) / self.temperature, axis=1))

    def level_answers(
        self,
        scores: LevelScores,
        threshold: float = np.inf,
        may_ask: NDArray[np.bool_] | bool = True,
    ) -> list["LevelAnswers"]:
        """Return what each level says of the objects that get there, level 0 the first."""
        n = len(scores.query)
        first = logit(scores.first(np.arange(n)), self.weights[0])
        found = [LevelAnswers(first, np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool))]
        for level, weights in zip(self.levels, self.weights[1:], strict=True):
            before = found[-1]
            copies = before.probabilities.copy(), before.alignments.copy()
            said = LevelAnswers(*copies, np.zeros(n, dtype=bool))
            found.append(said)
            up = np.flatnonzero((before.probabilities.max(axis=1) < threshold) & may_ask)
            if not up.size:
                continue
            if level.stage == NEAREST and len(found) == 2:
                scores.rank(up, level.asks)
            elif level.stage == NEAREST and len(found) == 3:  # those that go on
                scores.rank(up, max(self.steps))
            features, alignments, asked = self.features(level, scores, up, before.probabilities[up])
            said.probabilities[up[asked]] = logit(features[asked], weights)
            said.alignments[up[asked]], said.reached[up[asked]] = alignments[asked], True
        return found

    def features(
        self, level: Level, scores: LevelScores, places: IntArray, before: FloatArray
    ) -> tuple[FloatArray, IntArray, NDArray[np.bool_]]:
        """Return what the logit of a level looks at, of shape (k, n_classes, n_features).

        ``before``: probabilities of the k objects at the level before. Behind it are the alignments
        of each so far beyond the landmarks, and whether it asks a record there.
        """
        if level.stage == NEAREST:
            features, alignments = scores.nearest(places, level.asks)
            return features, alignments, np.ones(len(places), dtype=bool)
        assert self.machines is not None, "a level of pairs without machines"
        votes, alignments, voting = scores.votes(
            places, before, self.machines, self.likeliest, level.asks
        )
        return pair_features(before, votes), alignments, voting

    def explained(self, it: Subject) -> Told:
        """See :func:`~kreinflow.answering.cascade_told.terms`."""
        from kreinflow.answering.cascade_told import terms

        return terms(self, it)

    def inspected(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """See :func:`~kreinflow.answering.cascade_told.description`."""
        from kreinflow.answering.cascade_told import description

        return {"cascade": description(self)}

    state: ClassVar = {
        "transform": TRANSFORM,
        "evidence": TRANSFORM,
        "steps": Number("i", "steps"),
        "likeliest": Number("i"),
        "threshold": Number("f"),
        "temperature": Number("f"),
        "reject_threshold": Number("f"),
        "about": Value(dict),
        "machines": Part(PairMachines),
        "level_weights": Array("f8", "w"),
    }

    def stored(self) -> dict[str, Any]:
        """Return what is kept: all but the records."""
        own = {name: getattr(self, name) for name in self.state if name != "level_weights"}
        return {**own, "level_weights": np.concatenate(self.weights)}

    @classmethod
    def dimensions(cls, header: Mapping[str, Any]) -> dict[str, int]:
        """Return the number of weights too."""
        pairs = len(FEATURES[PAIRS]) if header.get("machines") is not None else 0
        nearest = len(FEATURES[NEAREST]) * len(header["steps"])
        return {"w": len(FEATURES[FIRST]) + nearest + pairs}

    @classmethod
    def restored(cls, **values: Any) -> "Cascade":
        """See :meth:`~kreinflow.files.state.State.restored`."""
        numbers, steps, machines = values.pop("level_weights"), values["steps"], values["machines"]
        ends = np.cumsum([len(FEATURES[FIRST]), *([len(FEATURES[NEAREST])] * len(steps))])
        weights = np.split(numbers, ends if machines is not None else ends[:-1])
        return cls(**{**values, "steps": tuple(steps.tolist()), "weights": tuple(weights)})


class LevelAnswers(NamedTuple):
    """What a level says of n objects.

    Of one that does not get there, or can ask no record there, the probabilities are those of the
    level before.
    """

    probabilities: FloatArray  # (n, n_classes)
    alignments: IntArray  # (n,): so far, beyond the landmarks
    reached: NDArray[np.bool_]  # (n,): whether the object has asked records there


def followed(
    levels: Sequence[LevelAnswers], threshold: float
) -> tuple[FloatArray, IntArray, IntArray]:
    """Return what is said of objects that go up while their largest probability is too small.

    These are probabilities, the number of the level that answers (0 for the first stage), and
    alignments beyond the landmarks.
    """
    probabilities, alignments = levels[0].probabilities.copy(), levels[0].alignments.copy()
    answered = np.zeros(len(probabilities), dtype=np.int64)
    for number, level in enumerate(levels[1:], start=1):
        up = (probabilities.max(axis=1) < threshold) & level.reached
        probabilities[up], alignments[up] = level.probabilities[up], level.alignments[up]
        answered[up] = number
    return probabilities, answered, alignments
