"""What :mod:`kreinflow.answering.relatives` needs is learned from training records alone.

P-values rest on training records, each in front of all others but those of its own group, with the
probability that it was given when it was held out. The thresholds of T rest on reversed records:
they have the composition, the length and the repeats of proteins, and no relative.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.cascade import SMALLEST
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.levels import NO_NODE
from kreinflow.answering.nearest_records import Records, RecordScores, ScoreCache
from kreinflow.answering.query_and_answers import Query
from kreinflow.answering.relatives import (
    MORE,
    NEAREST,
    NoRelative,
    Relatives,
    evidence_mean,
    levels_reached,
    likeliest_nodes,
    overwhelming,
)
from kreinflow.answering.unknown_pvalue import Strangeness, unlike
from kreinflow.base.numerics import FloatArray, IntArray, single_threaded, tiles
from kreinflow.fitting.first_stage import FirstStage, OutOfFold
from kreinflow.fitting.record_index import places_of, records_of, row_query
from kreinflow.fitting.reject_threshold import ABOVE_HALF, Promise, fitted_levels
from kreinflow.fitting.strangers import MEMBERS, Strangers
from kreinflow.fitting.unknown_levels import NodeLimits, likeness_of
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from kreinflow.views.gapless import Besides
from kreinflow.views.lift import SCORES, Lift
from kreinflow.views.objects import Viewed
from kreinflow.views.seeds import Seeds

SPARED = 1
"""Of these the largest T are above the threshold: a single one with a chance hit does not set it.

A new sequence without a relative is above one threshold of N strangers with a probability of
(SPARED + 1) / (N + 1), so above one of the two with 2 % at most.
"""

LARGEST_INDEX = 1 << 26
"""Scores of records with landmarks that the rule of relatives may add to a model file."""

LEFT_OUT = 300
"""Records at most that are tried as if their class were unknown, or their node of a level."""

TOO_MANY = 0.2
"""The rule of relatives is off if a larger share of the training records has none by it."""


def spread(n: int, most: int) -> IntArray:
    """Return so many of n places at most, in equal steps."""
    kept = min(n, max(1, most))
    return np.arange(kept) * n // kept


@dataclass(frozen=True, eq=False)
class NoRelativeFit:
    """What tells of relatives and strangers, for classifiers of one space."""

    landmarks: Landmarks
    part: TrainingPart
    objects: Viewed  # all distinct rows
    evidence: ScoreTransform  # of E-values
    strangers: Strangers | None  # None of no sequences: then there is no rule of relatives
    cache: ScoreCache  # of the distinct rows, and behind them the strangers, with each other
    letters: str = ""  # of the sequences, for seeds
    # What classifiers share that find the nearest records in the same space.
    shared: dict[Any, Any] = field(default_factory=dict, init=False)

    def asked(self, classifier: LandmarkClassifier, most: int) -> Records:
        """Return the records that a classifier asks, else those of its part, so many at most."""
        if classifier.records is not None:
            return classifier.records
        kept = spread(len(self.part.rows), most)
        if ("asked", len(kept)) not in self.shared:
            self.shared["asked", len(kept)] = self._asked(classifier, kept)
        records: Records = self.shared["asked", len(kept)]
        return records

    def _asked(self, classifier: LandmarkClassifier, kept: IntArray) -> Records:
        rows, lift = self.part.rows[kept], classifier.lift
        scores = np.empty((len(rows), classifier.n_landmarks), dtype=np.float32)
        for tile in tiles(len(rows)):
            scores[tile] = classifier.landmark_rows(row_query(self.landmarks, rows[tile]))
        own = self.objects.take(rows)
        if lift is None:
            index = Lift("gaussian", {SCORES: 1.0}, None, scores, own)
        else:
            index = replace(lift, scores=scores, objects=own)
        sequences = self.objects.sequences
        seeds = None if sequences is None else Seeds.of(sequences, self.letters)
        return records_of(index, seeds, self.part, self.landmarks, kept)

    def fit(self, classifier: LandmarkClassifier) -> LandmarkClassifier:
        """Return a classifier that rejects what has no relative; its p-values stay."""
        with single_threaded():
            strangers = self.strangers
            return classifier if strangers is None else self._fit(classifier, strangers)

    def _fit(self, classifier: LandmarkClassifier, strangers: Strangers) -> LandmarkClassifier:
        relatives = classifier.relatives
        if relatives is None:
            records = self.asked(classifier, LARGEST_INDEX // classifier.n_landmarks)
            relatives = Relatives(records, self.evidence)
        key = "rule", len(relatives.records), classifier.cascade is None
        if key not in self.shared:
            self.shared[key] = self._rule(classifier, strangers, relatives)
        rule, told, shuffled = self.shared[key]
        told = dict(told)
        if not told["off"]:
            told |= {"near": rule.near, "far": rule.far}
            classifier = classifier.with_parts(relatives=replace(relatives, null=rule))
        answers = classifier.answer(shuffled)
        told["shuffled"] = len(answers.reason)
        told["shuffled_accepted"] = float(np.mean(~answers.rejected))
        unknown = {**classifier.about.get("unknown", {}), "no_relative": told}
        return replace(classifier, about={**classifier.about, "unknown": unknown})

    def _rule(
        self, classifier: LandmarkClassifier, strangers: Strangers, relatives: Relatives
    ) -> tuple[NoRelative, dict[str, Any], Query]:
        """Return the rule, what is told of it, and shuffled sequences that try it.

        None of these depends on what the classifier decides.
        """
        records = relatives.records
        reverse, shuffled = np.split(np.arange(len(strangers.sequences)), 2)
        query = self._query(strangers, records, reverse)
        away = RecordScores(records, classifier.decided(query), relatives.evidence)
        T = map(evidence_mean, _gains(away))
        rule = NoRelative(*(float(np.sort(of)[-SPARED - 1]) for of in T))
        # And training records, each without the records of its own group.
        rows = self.part.rows[spread(len(self.part.rows), MEMBERS)]
        groups = np.unique(self.part.groups, return_inverse=True)[1]
        own, others = (groups[places_of(of, self.part.rows)] for of in (rows, records.rows))
        ask = self.cache.of_rows(rows, records.rows)
        query = row_query(self.landmarks, rows, self.objects, ask)
        known = RecordScores(records, classifier.decided(query), relatives.evidence)
        near, far = _gains(known, (own, others))
        rejected = float(np.mean((evidence_mean(near) <= rule.near) & rule.alone(far)))
        off = rejected > TOO_MANY or not np.isfinite([rule.near, rule.far]).all()
        told = {"off": off, "known_rejected": rejected, "tried": len(rows)}
        return rule, told, self._query(strangers, records, shuffled)

    def _query(self, of: Strangers, records: Records, numbers: IntArray) -> Query:
        vectors = self.objects.vectors
        rows = len(self.landmarks.self_scores) + numbers
        sequences = [of.sequences[number] for number in numbers.tolist()]
        own = None if vectors is None else vectors[of.sources[numbers]]
        return Query(
            self.cache(rows, np.tile(self.landmarks.rows, (len(numbers), 1))),
            of.self_scores[numbers],
            np.array([len(sequence) for sequence in sequences], dtype=np.float64),
            Viewed(sequences, own),
            self.cache.of_rows(rows, records.rows),
        )


def _gains(scores: RecordScores, besides: Besides | None = None) -> tuple[FloatArray, FloatArray]:
    """Return -ln E of the landmarks and a few of the nearest records, and of more of them."""
    every = np.arange(len(scores.query))
    scores.rank(every, MORE, besides)
    _, gains = scores.resemblance(every, scores.around(every, MORE, besides))
    return gains[:, : _n_landmarks(scores) + NEAREST], gains


def _n_landmarks(scores: RecordScores) -> int:
    """Return the landmarks that objects are in front of before the nearest records."""
    return int(scores.around(np.arange(0), 0).shape[1])


def fit_part(
    first: FirstStage, classifier: LandmarkClassifier, held: OutOfFold
) -> tuple[LandmarkClassifier, OutOfFold]:
    """Return the model with p-values and the rule of relatives, if unknown objects are tested."""
    data = first.data
    if data.false_alarms is None or not data.has_p_values or classifier.several is not None:
        return classifier, held
    places, probabilities = held.places, held.probabilities
    if classifier.cascade is None:
        drawn = first.drawn()
        places, probabilities = places[drawn], probabilities[drawn]
    learned = np.isin(data.fits.inner[places], first.learned)
    if "no relative" not in (space := first.of_space):
        index, of_data = first.index, (data.landmarks, data.part)
        space["no relative"] = NoRelativeFit(
            *of_data, index.objects, first.evidence, data.strangers, first.cache, index.letters
        )
    rule: NoRelativeFit = space["no relative"]
    if learned.any():
        of = places[learned], probabilities[learned]
        with single_threaded():
            records = rule.asked(classifier, len(data.part.rows))
            classifier = _with_p_values(first, classifier, records, *of)
    return rule.fit(classifier), held


def _with_p_values(
    stage: FirstStage,
    classifier: LandmarkClassifier,
    records: Records,
    places: IntArray,
    probabilities: FloatArray,
) -> LandmarkClassifier:
    """Return a classifier with p-values, of records that were held out with these probabilities."""
    data, false_alarms, levels = stage.data, stage.data.false_alarms, classifier.levels
    assert false_alarms is not None, "p-values, and nothing to reject by them"
    part = data.part
    n, truth, labels = len(places), part.labels[places], probabilities.argmax(axis=1)
    decisions = stage.decisions[np.searchsorted(data.fits.measured, places)]
    first: FloatArray = softmax(decisions / classifier.temperature, axis=1)
    groups, every = np.unique(part.groups, return_inverse=True)[1], np.arange(n)
    alone = groups[places], groups[places_of(records.rows, part.rows)]

    @cache
    def scores() -> RecordScores:
        query = stage.query(data.landmarks, stage.kernel, records, places)
        found = RecordScores(records, query, stage.evidence)
        found.rank(every, NEAREST, alone)
        return found

    free = levels if data.limits_levels else None
    likeness = np.zeros((n, 0))
    if free is not None:
        nodes = likeliest_nodes(probabilities, free.paths)
        likeness = likeness_of(scores(), every, alone, free.paths, nodes)
    keys = stage.index.keys[part.rows[places]]
    tried = np.argsort(keys, kind="stable")[:LEFT_OUT]
    left = truth[tried]
    key = "p-values", len(records), n, classifier.cascade is None
    if key not in stage.of_space:
        stage.of_space[key] = _in_front(scores(), alone, tried, (left, records.classes))
    of_all, of_left, doubtless = stage.of_space[key]
    tops = first.max(axis=1), probabilities.max(axis=1)
    of_landmarks, of_nearest = _strange(of_all, tops)
    strangeness = Strangeness(of_landmarks, of_nearest, false_alarms)
    hit = doubtless == labels
    sure = probabilities / 2
    sure[hit, labels[hit]] += 0.5
    some = data.independent(places)
    of_sureness = data.reject.promise(sure[some], truth[some])
    threshold, promised = _better(classifier, probabilities, of_sureness, sure)
    tops = _largest_but(first[tried], left), _largest_but(probabilities[tried], left)
    strangers = _strange(of_left, tops)
    found = strangeness.p_values(*strangers) <= false_alarms
    needed, paths, of_levels = None, None, {}
    if free is not None:
        assert data.overclassification is not None, "a limit without a share"
        limits = NodeLimits.of(free, scores(), tried, left, data.overclassification)
        needed, reached = limits.likeness, levels_reached(likeness, limits.likeness)
        # Of what is not answered nothing has to be right.
        true = data.true_nodes(places)
        true[:, 1:][~reached] = NO_NODE
        own = probabilities[some], true[some]
        fitted = fitted_levels(free, *own, data.reject.confidence, ABOVE_HALF)
        rows = limits.told(free, fitted, probabilities[tried], likeness[tried])
        of_levels = {"overclassification": data.overclassification, "levels": rows}
        levels, paths = fitted, free.paths
    relatives = Relatives(
        records,
        stage.evidence,
        strangeness=strangeness,
        sure_threshold=threshold,
        needed=needed,
        paths=paths,
    )
    unknown = {
        "false_alarms": false_alarms,
        "calibrating": len(strangeness),
        "would_be_found": float(np.mean([found[left == code].mean() for code in np.unique(left)])),
        "left_out": len(tried),
        **of_levels,
    }
    about = {**classifier.about, "unknown": unknown, "promise": promised}
    return replace(classifier, about=about).with_parts(relatives=relatives, levels=levels)


def _in_front(
    scores: RecordScores, alone: Besides, tried: IntArray, besides: Besides
) -> tuple[list[FloatArray], list[FloatArray], IntArray]:
    """Return how unlike records are all objects, which are ranked, and some that are tried.

    Each by the landmarks alone, and by the nearest too; and the class that leaves no doubt of all.
    None of these depends on what a classifier decides.
    """

    def told(objects: IntArray, others: Besides) -> tuple[list[FloatArray], IntArray]:
        around, m = scores.around(objects, NEAREST, others), _n_landmarks(scores)
        normalised, gains = scores.resemblance(objects, around)
        found = [unlike(normalised[:, :m], gains[:, :m]), unlike(normalised, gains)]
        return found, overwhelming(scores.records.classes, around, gains)

    of_all, doubtless = told(np.arange(len(scores.query)), alone)
    scores.rank(tried, NEAREST, besides)
    return of_all, told(tried, besides)[0], doubtless


def _strange(unlike: Iterable[FloatArray], tops: Iterable[FloatArray]) -> list[FloatArray]:
    """Return what p-values are made of, with the largest probabilities."""
    return [np.column_stack([own, -top]) for own, top in zip(unlike, tops, strict=True)]


def _largest_but(probabilities: FloatArray, left: IntArray) -> FloatArray:
    """Return the largest probability of each row among the classes but one."""
    others = probabilities.copy()
    others[np.arange(len(left)), left] = 0.0
    others /= np.maximum(others.sum(axis=1, keepdims=True), SMALLEST)
    return np.asarray(others.max(axis=1))


def _better(
    classifier: LandmarkClassifier, probabilities: FloatArray, promise: Promise, sure: FloatArray
) -> tuple[float | None, dict[str, Any]]:
    """Return the threshold of sureness, if it is the better one, and what is promised then.

    The one with the smaller promised error is better, of equal ones that which accepts more.
    """
    plain, before = (classifier.cascade or classifier).reject_threshold, classifier.about["promise"]
    own, other = (1.0 if error is None else error for error in (promise.error, before["error"]))
    accepted = np.count_nonzero(probabilities.max(axis=1) >= plain)
    more = np.count_nonzero(sure.max(axis=1) >= promise.threshold) - accepted
    if own < other or (own == other and more >= 0):
        return promise.threshold, promise.told
    return None, before
