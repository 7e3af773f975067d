"""What :mod:`kreinflow.models.relatives` needs is learned from training records alone.

P-values rest on records that were held out once, each in front of the records of the other inner
folds. The thresholds of T rest on training records that are reversed: they have the composition,
the length and the repeats of proteins, and no relative.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from kreinflow.models.asked import NOBODY, Ask, AskedScores, of_records
from kreinflow.models.cascading import CascadeFit, places_of
from kreinflow.models.classifier import LandmarkClassifier
from kreinflow.models.facing import SMALLEST, Facing, Records
from kreinflow.models.levels import Levels, lineages
from kreinflow.models.reject_threshold import RejectRule
from kreinflow.models.relatives import (
    MORE,
    NEAREST,
    NoRelative,
    Relatives,
    evidence_mean,
    overwhelming,
)
from kreinflow.models.strangeness import Strangeness, evidence_needed, strange
from kreinflow.numerics import FloatArray, IntArray, single_threaded, tiles
from kreinflow.randomness import hash_keys, stream
from kreinflow.views.lift import SCORES, Lift
from kreinflow.views.objects import Viewed

STRANGERS = 200
"""Sequences without a relative that thresholds rest on, and training records that are tried."""

SPARED = 1
"""Of these the largest T are above the threshold: a single one with a chance hit does not set it.

A new sequence without a relative is above one threshold of N strangers with a probability of
(SPARED + 1) / (N + 1), so above one of the two with 2 % at most.
"""

LEFT_OUT = 300
"""Records at most that are tried as if nobody knew their class, or their node of a level."""

TOO_MANY = 0.2
"""The rule of relatives is off if a larger share of the training records has none by it."""


@dataclass(frozen=True, eq=False)
class Strangers:
    """Sequences that have no relative, made of training records.

    Parameters
    ----------
    sources : ndarray of shape (n,)
        The distinct rows that they are made of; the first of each half are drawn at random.
    sequences : tuple of bytes
        Those that thresholds rest on, and as many that are tried: shuffled.
    self_scores, lengths : ndarray of shape (n,)
    first : int
        Their numbers among the sequences that are asked begin here.
    """

    sources: IntArray
    sequences: tuple[bytes, ...]
    self_scores: FloatArray
    lengths: FloatArray
    first: int

    @property
    def reversed(self) -> IntArray:
        """The numbers of those that thresholds rest on."""
        return np.arange(len(self.sequences) // 2)

    @property
    def shuffled(self) -> IntArray:
        """The numbers of those that are tried."""
        return np.arange(len(self.sequences) // 2, len(self.sequences))


def made_strange(
    sequences: Sequence[bytes], digests: Sequence[str], rows: IntArray, seed: int
) -> tuple[IntArray, tuple[bytes, ...]]:
    """Return sequences that have no relative: :data:`STRANGERS` reversed ones, as many shuffled.

    Where there are fewer training records they come again, shuffled each time.

    Parameters
    ----------
    sequences, digests : sequence
        Of all distinct rows.
    rows : ndarray of int
        Those that may be used.
    seed : int

    Returns
    -------
    ndarray of shape (2 * STRANGERS,)
        The row of each.
    tuple of bytes
    """
    own = np.unique(rows)
    keys = hash_keys(seed, "strangers", (digests[row] for row in own))
    order = own[np.argsort(keys, kind="stable")][:STRANGERS]
    drawn = np.resize(order, 2 * STRANGERS)
    drawn[STRANGERS:] = drawn[:STRANGERS]
    made = []
    for number, row in enumerate(drawn.tolist()):
        if number < len(order):
            made.append(sequences[row][::-1])
        else:
            draw = stream(seed, "strangers", digests[row], number)
            letters = np.frombuffer(sequences[row], dtype=np.uint8)
            made.append(draw.permutation(letters).tobytes())
    return drawn, tuple(made)


def records_of(
    classifier: LandmarkClassifier, landmarks: Landmarks, part: TrainingPart, objects: Viewed
) -> Records:
    """Return the records that a classifier asks, or all of its training part.

    Parameters
    ----------
    classifier : LandmarkClassifier
    landmarks : Landmarks
    part : TrainingPart
    objects : Viewed
        All distinct rows.
    """
    if classifier.records is not None:
        return classifier.records
    rows, lift = part.rows, classifier.lift
    scores = np.empty((len(rows), classifier.n_landmarks), dtype=np.float32)
    for tile in tiles(len(rows)):
        own = rows[tile]
        scores[tile] = classifier.landmark_rows(
            np.asarray(landmarks.scores[own]), landmarks.self_scores[own], landmarks.lengths[own]
        )
    own_objects = objects.take(rows)
    return Records(
        index=Lift("gaussian", {SCORES: 1.0}, None, scores, own_objects)
        if lift is None
        else Lift(lift.form, lift.rates, lift.words, scores, own_objects),
        classes=part.labels,
        rows=rows,
        self_scores=landmarks.self_scores[rows],
        lengths=landmarks.lengths[rows],
        landmarks=places_of(landmarks.rows, rows),
    )


@dataclass(frozen=True, eq=False)
class Relating:
    """What tells of relatives and strangers, for one classifier.

    Parameters
    ----------
    landmarks : Landmarks
    part : TrainingPart
    objects : Viewed
        All distinct rows.
    evidence : ScoreTransform
        Of E-values.
    strangers : Strangers
    asked : AskedScores
        Of the distinct rows, and behind them the strangers, with each other.
    """

    landmarks: Landmarks
    part: TrainingPart
    objects: Viewed
    evidence: ScoreTransform
    strangers: Strangers
    asked: AskedScores

    def related(self, classifier: LandmarkClassifier) -> LandmarkClassifier:
        """Return a classifier that rejects what has no relative.

        What it knows already of strangeness stays. If the rule would reject too many training
        records it is off.
        """
        with single_threaded():
            return self._related(classifier)

    def _related(self, classifier: LandmarkClassifier) -> LandmarkClassifier:
        relatives = classifier.relatives
        if relatives is None:
            records = records_of(classifier, self.landmarks, self.part, self.objects)
            relatives = Relatives(records, self.evidence)
        records = relatives.records
        near, far = self._evidence_of(classifier, records, self.strangers.reversed)
        rule = NoRelative(*(float(np.sort(T)[-SPARED - 1]) for T in (near, far)))
        near, far = self._evidence_of_known(classifier, records)
        rejected = float(np.mean((near <= rule.near) & (far <= rule.far)))
        off = rejected > TOO_MANY or not np.isfinite([rule.near, rule.far]).all()
        told: dict[str, Any] = {"off": off, "known_rejected": rejected, "tried": len(near)}
        if not off:
            told |= {"near": rule.near, "far": rule.far}
            classifier = replace(classifier, relatives=replace(relatives, null=rule))
        given = self._given(classifier, self.strangers.shuffled)
        answers = classifier.answer(*given, self._ask(self._rows(self.strangers.shuffled), records))
        told["shuffled"] = len(answers.reason)
        told["shuffled_accepted"] = float(np.mean(~answers.rejected))
        unknown = {**classifier.about.get("unknown", {}), "no_relative": told}
        return replace(classifier, about={**classifier.about, "unknown": unknown})

    def _ask(self, rows: IntArray, records: Records) -> Ask:
        return of_records(self.asked, rows, records.rows)

    def _rows(self, numbers: IntArray) -> IntArray:
        return np.asarray(self.strangers.first + numbers)

    def _given(
        self, classifier: LandmarkClassifier, numbers: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, Viewed | None]:
        """Return what a classifier takes, of some of the strangers."""
        of, vectors = self.strangers, self.objects.vectors
        landmarks = np.tile(self.landmarks.rows, (len(numbers), 1))
        objects = Viewed(
            [of.sequences[number] for number in numbers.tolist()],
            None if vectors is None else vectors[of.sources[numbers]],
        )
        return (
            self.asked(self._rows(numbers), landmarks),
            of.self_scores[numbers],
            of.lengths[numbers],
            objects if classifier.looks_at_objects else None,
        )

    def _evidence_of(
        self, classifier: LandmarkClassifier, records: Records, numbers: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return T of some of the strangers."""
        seen = classifier.seen(*self._given(classifier, numbers))
        ask = self._ask(self._rows(numbers), records)
        return _evidence(Facing(records, self.evidence, self.evidence, seen, ask))

    def _evidence_of_known(
        self, classifier: LandmarkClassifier, records: Records
    ) -> tuple[FloatArray, FloatArray]:
        """Return T of some training records, each without the records of its own group."""
        rows, landmarks = np.unique(self.strangers.sources), self.landmarks
        places = places_of(rows, records.rows)
        groups = np.unique(self.part.groups, return_inverse=True)[1]
        seen = classifier.seen(
            np.asarray(landmarks.scores[rows]),
            landmarks.self_scores[rows],
            landmarks.lengths[rows],
            self.objects.take(rows) if classifier.looks_at_objects else None,
        )
        facing = Facing(records, self.evidence, self.evidence, seen, self._ask(rows, records))
        return _evidence(facing, (groups[places], groups))


def _evidence(
    facing: Facing, besides: tuple[IntArray, IntArray] | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return T of objects over the landmarks and a few of the nearest records, and more of them."""
    every = np.arange(len(facing.seen.decisions))
    facing.rank(every, MORE, besides)
    found = []
    for q in (NEAREST, MORE):
        around = _without(facing.around(every, q), besides)
        found.append(evidence_mean(facing.resemblance(every, around)[1]))
    return found[0], found[1]


def _without(around: IntArray, besides: tuple[IntArray, IntArray] | None) -> IntArray:
    """Return records without those that have the code of the object."""
    if besides is None:
        return around
    own, codes = besides
    return np.where(codes[around] == own[:, None], NOBODY, around)


def calibrated(
    fit: CascadeFit,
    classifier: LandmarkClassifier,
    places: IntArray,
    probabilities: FloatArray,
    reject: RejectRule,
    false_alarms: float,
    levels: Levels | None = None,
) -> LandmarkClassifier:
    """Return a classifier that has p-values of its strangeness.

    Parameters
    ----------
    fit : CascadeFit
        Of its first stage.
    classifier : LandmarkClassifier
    places : ndarray of shape (n,)
        Of records that were held out once, in the training part.
    probabilities : ndarray of shape (n, n_classes)
        That they were given then.
    reject : RejectRule
    false_alarms : float
    levels : Levels, optional
        Of classes that are paths.
    """
    with single_threaded():
        return _calibrated(fit, classifier, places, probabilities, reject, false_alarms, levels)


def _calibrated(
    fit: CascadeFit,
    classifier: LandmarkClassifier,
    places: IntArray,
    probabilities: FloatArray,
    reject: RejectRule,
    false_alarms: float,
    levels: Levels | None = None,
) -> LandmarkClassifier:
    n, truth = len(places), fit.part.labels[places]
    decisions = fit.decisions[np.searchsorted(fit.fits.measured, places)]
    first: FloatArray = softmax(decisions / classifier.temperature, axis=1)
    keys = fit.lifting.keys[fit.part.rows[places]]
    tried = np.zeros(n, dtype=bool)
    tried[np.argsort(keys, kind="stable")[:LEFT_OUT]] = True
    of_landmarks, of_nearest, strangers, far = np.full((4, n, 3), np.nan)
    hit, labels = np.zeros(n, dtype=bool), probabilities.argmax(axis=1)
    # Of each class the nodes that are neither the root nor on the last level.
    nodes = () if levels is None else lineages(levels.tree)[levels.tree.leaf, 1:-1].T
    of_others = np.full((len(nodes), n), np.nan)
    for fold in filter(fit.learned, np.unique(fit.fits.inner[places]).tolist()):
        inner = fit.inner(fold, places, decisions)
        held, facing = inner.held, inner.facing
        every = np.arange(len(held))
        of_landmarks[held] = strange(*facing.met(), first[held].max(axis=1))
        facing.rank(every, NEAREST)
        around = facing.around(every, NEAREST)
        likeness = facing.resemblance(every, around)
        of_nearest[held] = strange(*likeness, probabilities[held].max(axis=1))
        hit[held] = overwhelming(facing.records.classes, labels[held], around, likeness[1])
        some = np.flatnonzero(tried[held])
        left = held[some]
        besides = truth[left], facing.records.classes
        facing.rank(some, NEAREST, besides)
        for q, out, said in ((0, strangers, first), (NEAREST, far, probabilities)):
            around = _without(facing.around(some, q), besides)
            others = said[left].copy()
            others[np.arange(len(left)), truth[left]] = 0.0
            others /= np.maximum(others.sum(axis=1, keepdims=True), SMALLEST)
            out[left] = strange(*facing.resemblance(some, around), others.max(axis=1))
        for evidence, of_class in zip(of_others, nodes, strict=True):
            besides = of_class[truth[left]], of_class[facing.records.classes]
            facing.rank(some, NEAREST, besides)
            around = _without(facing.around(some, NEAREST), besides)
            found = strange(*facing.resemblance(some, around), first[left].max(axis=1))
            evidence[left] = np.where(besides[0] >= 0, -found[:, 1], np.nan)
        facing.records.index.forget()
    known = ~np.isnan(of_landmarks[:, 0])
    if not known.any():
        return classifier
    strangeness = Strangeness(of_landmarks[known], of_nearest[known], false_alarms)
    tried &= known
    as_strange = strangeness.p_values(strangers[tried], far[tried]) <= false_alarms
    sure = probabilities[known].copy()
    sure[hit[known], labels[known][hit[known]]] = 1.0
    threshold: float | None = reject.threshold(sure, truth[known])
    plain = (classifier.cascade or classifier).reject_threshold
    top = probabilities[known].max(axis=1)
    if np.count_nonzero(sure.max(axis=1) >= threshold) < np.count_nonzero(top >= plain):
        threshold = None
    relatives = Relatives(
        records_of(classifier, fit.landmarks, fit.part, fit.lifting.objects),
        fit.evidence,
        strangeness=strangeness,
        sure_threshold=threshold,
        needed=None if levels is None else _needed(of_others, 1.0 - levels.back_off),
    )
    own = [float(as_strange[truth[tried] == label].mean()) for label in np.unique(truth[tried])]
    unknown = {
        "false_alarms": false_alarms,
        "calibrating": len(strangeness),
        "would_be_found": float(np.mean(own)),
        "left_out": int(np.count_nonzero(tried)),
    }
    about = {**classifier.about, "unknown": unknown}
    return replace(classifier, relatives=relatives, about=about)


def _needed(of_others: FloatArray, error: float) -> FloatArray | None:
    """Return the evidence that an answer takes at each level but the last; None if there is one."""
    found = [evidence_needed(evidence[~np.isnan(evidence)], error) for evidence in of_others]
    return np.array(found) if found else None
