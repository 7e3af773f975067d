"""What recipes of one fold and one set of landmarks share, and the first stage of one of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.label_sets import weights_in_groups
from kreinflow.answering.levels import Levels
from kreinflow.answering.nearest_records import Records, ScoreCache, closeness_besides
from kreinflow.answering.query_and_answers import Decided
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.random_streams import stream
from kreinflow.fitting.fit_lift import Lifted, Lifting, TriedWidths
from kreinflow.fitting.inner_folds import (
    FEW_RECORDS,
    PARTS,
    Calibrator,
    InnerFits,
    decisions_with_all_landmarks,
)
from kreinflow.fitting.record_index import first_alignments, places_of, records_of, row_query
from kreinflow.fitting.reject_threshold import RejectRule
from kreinflow.fitting.strangers import Strangers
from kreinflow.krein.landmark_kernel import LandmarkKernel, Landmarks, TrainingPart
from kreinflow.learners.learner import Choice, Fitted, Learner, Problem
from kreinflow.learners.siblings import Learned
from kreinflow.views.lift import SCORES

SAMPLE = 1500
"""Records at most that a cascade is learned and measured on."""

_FEATURES = 2_000_000  # numbers of one feature of them: with many classes there are fewer records


def sample_size(n_records: int, n_classes: int) -> int:
    """Return how many records a cascade is learned and measured on, at most."""
    return min(n_records, SAMPLE, max(300, _FEATURES // n_classes))


@dataclass(frozen=True, eq=False)
class TrainingData:
    """What all recipes of one fold and one set of landmarks have in common."""

    landmarks: Landmarks
    part: TrainingPart
    fits: InnerFits  # those of the inner folds, which recipes share
    reject: RejectRule
    seed: int  # for the learners that draw
    liftings: Callable[[Mapping[str, Any]], Lifting]  # returns that of a recipe
    cache: ScoreCache | None = None  # of the distinct rows with each other, for what asks records
    evidence: ScoreTransform | None = None  # of a cascade; that of the recipe if it is left out
    levels: Levels | None = None  # of classes that are paths; their thresholds are found anew
    above: IntArray | None = None  # of labels that are nodes of a tree, see Several
    learn: Learned = "leaves"  # of their tree; see kreinflow.learners.siblings.learner_of
    false_alarms: float | None = None  # share of members to reject as unknown; None tests nothing
    overclassification: float | None = None  # share of objects of unknown nodes; None is no limit
    strangers: Strangers | None = None  # which the cache knows
    # By the transform: what recipes share that find records in the space of the scores.
    spaces: dict[str, dict[Any, Any]] = field(default_factory=dict, init=False)

    @property
    def has_p_values(self) -> bool:
        """Whether models tell how strange an object is, for which they ask its nearest records."""
        asks = self.cache is not None and self.evidence is not None
        return self.false_alarms is not None and asks

    def independent(self, places: IntArray) -> IntArray:
        """Return which of some records thresholds rest on: all, or of each group one by chance.

        Exact bounds take errors to be independent, and those of one group are not. With one of each
        they hold for a record of a new group.
        """
        if not self.part.grouped:
            return np.arange(len(places))
        drawn = stream(self.seed, "one of a group").random(len(self.part.rows))
        order = np.argsort(drawn[places])
        first = np.unique(self.part.groups[places][order], return_index=True)[1]
        return np.sort(order[first])

    def weights(self, places: IntArray) -> FloatArray | None:
        """Return the weights of some records in sets; None if no groups hold different objects."""
        part = self.part
        return weights_in_groups(part.groups[places], part.labels[places]) if part.grouped else None

    def true_nodes(self, places: IntArray) -> IntArray:
        """Return the nodes of the whole labels of records, see ``Levels.true_nodes``."""
        assert self.levels is not None, "nodes of classes without levels"
        paths = self.part.paths or [self.part.classes[code] for code in self.part.labels]
        return self.levels.true_nodes([paths[place] for place in places])

    @property
    def limits_levels(self) -> bool:
        """Whether levels are answered only as far as an object is like a training record."""
        return self.has_p_values and self.overclassification is not None


@dataclass(frozen=True, eq=False)
class RecipeLift:
    """What makes the lift of a recipe, the widths that were tried, and the lift of all records."""

    lifting: Lifting
    tried: TriedWidths
    lifted: Lifted


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What a model says of training records when an inner fold holds them out."""

    places: IntArray  # of the n records in the training part
    probabilities: FloatArray  # (n, n_classes), which promises are made with
    compared: FloatArray  # (n, n_classes), of what the other inner folds choose: compares recipes
    alignments: float  # mean for a query
    aligned: int = 0  # pairs that a cascade had aligned for it


@dataclass(frozen=True, eq=False)
class FirstStage:
    """A trained first stage, and what the parts above it are learned from."""

    data: TrainingData
    classifier: LandmarkClassifier
    kernel: LandmarkKernel  # of the scores
    machine: Learner
    problem: Problem
    choice: Choice  # the hyper-parameters
    fitted: Fitted
    calibrator: Calibrator
    decisions: FloatArray  # (n_measured, n_classes): for the records that are held out once
    lift: RecipeLift | None
    # What the cascades of recipes share that differ in these alone.
    shared: dict[Any, Any] = field(default_factory=dict, init=False)

    @property
    def of_space(self) -> dict[Any, Any]:
        """What recipes share that find the nearest records in the same space."""
        name, spaces = self.kernel.transform.name, self.data.spaces
        return self.shared if self.lift else spaces.setdefault(name, {})

    @property
    def alignments(self) -> int:
        """Of an object that meets the landmarks, that with itself included."""
        return first_alignments(self.data.landmarks, self.kernel.transform)

    @cached_property
    def index(self) -> Lifting:
        """The space in which the nearest records are found: without a lift that of the scores."""
        if self.lift is not None:
            return self.lift.lifting
        alone = {"kernel": "gaussian", "width": 1.0, "inducing": 1}
        return self.data.liftings({"views": {}, "lift": alone})

    @cached_property
    def promised(self) -> tuple[IntArray, FloatArray]:
        """What sets of labels and the control of errors rest on, without a cascade.

        These are the places of records that were held out, and their probabilities.
        """
        decisions, places = self.decisions, self.data.fits.measured
        # Else they would take as long again as the fits of the inner folds.
        several = len(self.machine.choices(self.problem.n_landmarks)) > 1
        few = PARTS * len(self.data.part.rows) <= FEW_RECORDS
        if self.fitted.iterations == 1 or several or few:
            found = decisions_with_all_landmarks(
                self.machine, self.problem, self.choice, self.data.fits, self.data.landmarks
            )
            if found is not None:
                places, decisions = found
                if self.classifier.forks is not None:
                    decisions = self.classifier.forks.log_probabilities(decisions)
        return places, self.calibrator.probabilities(decisions)

    def closeness(self, records: Records, places: IntArray) -> FloatArray:
        """Return how close held-out records are to others, those of their own groups left out."""
        part = self.data.part
        groups = np.unique(part.groups, return_inverse=True)[1]
        query = self.query(self.data.landmarks, self.kernel, records, places)
        codes = groups[places_of(records.rows, part.rows)]
        found = closeness_besides(records, query, groups[places], codes)
        records.forget()  # what is needed once
        return found

    def drawn(self) -> IntArray:
        """Return some of the records that are held out once, by their places among these."""
        part, keys = self.data.part, self.index.keys
        order = np.argsort(keys[part.rows[self.data.fits.measured]], kind="stable")
        return np.sort(order[: sample_size(len(part.rows), len(part.classes))])

    @property
    def cache(self) -> ScoreCache:
        """The scores of the distinct rows with each other."""
        assert self.data.cache is not None, "a part that asks records, and nothing that aligns"
        return self.data.cache

    @property
    def evidence(self) -> ScoreTransform:
        """What the nearest records are weighed by."""
        return self.data.evidence or self.kernel.transform

    @cached_property
    def learned(self) -> list[int]:
        """The inner folds that left more than one landmark to learn from."""
        data = self.data
        left = {fold: data.fits.landmarks(data.landmarks, data.part, fold) for fold in data.fits}
        return [fold for fold, landmarks in left.items() if len(landmarks.rows) > 1]

    @cached_property
    def every_record(self) -> Records:
        """All records of the training part, which a new object may ask."""
        every = np.arange(len(self.data.part.rows))
        return self.records(self.data.landmarks, self.kernel, every)

    def records(
        self, landmarks: Landmarks, kernel: LandmarkKernel, known: IntArray, fold: int | None = None
    ) -> Records:
        """Return the records that a fit knows, by their places; None is the fit of all."""
        widths = {SCORES: 1.0} if self.lift is None else self.lift.tried.best(fold)
        lift = self.index.lift_of(kernel, known, widths, known)
        return records_of(lift, self.index.seeds, self.data.part, landmarks, known)

    def query(
        self, landmarks: Landmarks, kernel: LandmarkKernel, records: Records, places: IntArray
    ) -> Decided:
        """Return the query of held-out records, by their places, that asks others."""
        rows = self.data.part.rows[places]
        ask, objects = self.cache.of_rows(rows, records.rows), self.index.objects
        decisions = self.decisions[np.searchsorted(self.data.fits.measured, places)]
        query = row_query(landmarks, rows, objects, ask)
        return query.decided(np.asarray(kernel.C[places]), decisions)
