"""What remains of a trained model: a function of the scores with a few landmarks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.cascade import Cascade
from kreinflow.answering.fork_temperatures import ForkTemperatures
from kreinflow.answering.label_sets import Calibration
from kreinflow.answering.levels import Levels
from kreinflow.answering.nearest_records import (
    BY_SEEDS,
    Records,
    ScoreCache,
    by_seeds,
    closeness,
)
from kreinflow.answering.parts import TRANSFORM, ModelPart
from kreinflow.answering.query_and_answers import (
    MOST_PAIRS,
    NOTHING_ACCEPTED,
    REASONS,
    Answers,
    Decided,
    Query,
)
from kreinflow.answering.relatives import Relatives
from kreinflow.answering.several_labels import Several
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, Number, Part, Parts, State, Value
from kreinflow.krein.double_centring import LandmarkCentring
from kreinflow.learners.decisions import KINDS, Decision
from kreinflow.views.lift import SCORES, Lift, by_rows

PARTS: Mapping[str, type[ModelPart]] = {
    "cascade": Cascade,
    "relatives": Relatives,
    "levels": Levels,
    "calibration": Calibration,
}
"""The parts that a model may have above its first stage, in the order in which they answer."""


@dataclass(frozen=True)
class LandmarkClassifier(State):
    """Class probabilities from the scores with m landmarks.

    A decision f of the transformed scores k(x) with the landmarks (see
    :mod:`kreinflow.learners.decisions`), and

        p(x) = softmax(f(x) / temperature)

    or, of objects that may have several labels, that of
    :class:`~kreinflow.answering.several_labels.Several`. If classes are leaves of a tree, f has
    been through a temperature for each of its forks. If there is a lift, f sees the kernel with its
    p inducing points in place of k(x).

    Most learners over a Krein factor are linear in z(x) = k(x)' P and so fold into m weights a
    class (schleif2018, section 5).
    """

    classes: tuple[str, ...]
    decision: Decision
    landmark_classes: IntArray  # (n_landmarks,): codes of the landmarks' classes
    transform: ScoreTransform
    landmark_self_scores: FloatArray  # (n_landmarks,): what the transform needs of the landmarks
    landmark_lengths: FloatArray  # (n_landmarks,)
    centring: LandmarkCentring | None  # for squared dissimilarities
    temperature: float
    reject_threshold: float  # above 1: all predictions are rejected
    about: dict[str, Any] = field(default_factory=dict)  # recipe and figures, for people
    lift: Lift | None = None
    inducing_rows: IntArray | None = None  # (p,): distinct rows in the training data
    inducing_classes: IntArray | None = None  # (p,): codes of their classes
    forks: ForkTemperatures | None = None
    several: Several | None = None
    parts: Mapping[str, ModelPart] = field(default_factory=dict)

    @property
    def cascade(self) -> Cascade | None:
        """What asks training records where the first stage is unsure."""
        return cast("Cascade | None", self.parts.get("cascade"))

    @property
    def relatives(self) -> Relatives | None:
        """What tells whether an object is like any training record."""
        return cast("Relatives | None", self.parts.get("relatives"))

    @property
    def levels(self) -> Levels | None:
        """The tree of classes that are paths, and how sure it has to be at each level."""
        return cast("Levels | None", self.parts.get("levels"))

    @property
    def calibration(self) -> Calibration | None:
        """What sets of labels and the control of errors rest on."""
        return cast("Calibration | None", self.parts.get("calibration"))

    def with_parts(self, **parts: ModelPart | None) -> "LandmarkClassifier":
        """Return the model with these parts in the place of those of the same names."""
        changed = {**self.parts, **parts}
        kept = {name: part for name in PARTS if (part := changed.get(name)) is not None}
        return replace(self, parts=kept)

    @property
    def records(self) -> Records | None:
        """The training records that an object may ask, the same of all parts; None if none does."""
        return next((p.records for p in self.parts.values() if p.records is not None), None)

    def with_records(self, records: Records) -> "LandmarkClassifier":
        """Return the classifier with other records in the place of its own."""
        return self.with_parts(
            **{name: part.with_records(records) for name, part in self.parts.items()}
        )

    @property
    def promised_error(self) -> float | None:
        """The share of what it accepts that is wrong at most, as promised; None: of no share.

        It holds if the parts that ask records can.
        """
        promise, reject = self.about.get("promise"), self.about.get("reject") or {}
        if promise is None:  # a model of 0.12.0 or before
            nothing = (self.cascade or self).reject_threshold >= NOTHING_ACCEPTED
            promise = {"error": None if nothing else reject.get("error")}
        error: float | None = promise["error"]
        return error

    @property
    def n_landmarks(self) -> int:
        """Scores that a new object needs."""
        return int(self.landmark_classes.shape[0])

    @property
    def looks_at_objects(self) -> bool:
        """Whether it needs more of an object than its scores: words, vectors, or seeds."""
        return self.records is not None or any(view != SCORES for view in self._views)

    @property
    def looks_at_vectors(self) -> bool:
        """Whether it needs the vector of an object."""
        return "vectors" in self._views

    @property
    def _views(self) -> set[str]:
        lifts = (self.lift, None if self.records is None else self.records.index)
        return {view for lift in lifts if lift is not None for view in lift.rates}

    def decision_function(self, query: Query) -> FloatArray:
        """Return f of shape (n, n_classes)."""
        if isinstance(query, Decided):
            return query.decisions

        def rows(part: slice) -> FloatArray:
            return self.decision.decide(self.decision_rows(query.take(everyone[part])))

        everyone = np.arange(len(query))
        out = by_rows(len(query), len(self.classes), rows)
        return out if self.forks is None else self.forks.log_probabilities(out)

    def decided(self, query: Query) -> Decided:
        """Return a query with what the first stage makes of it."""
        if isinstance(query, Decided):
            return query
        return query.decided(self.landmark_rows(query), self.decision_function(query))

    def decision_rows(self, query: Query) -> FloatArray:
        """Return what f sees: k(x) or dissimilarities with a minus, (n, n_landmarks).

        Of a lift it is the kernel of shape (n, p).
        """
        if self.lift is not None:
            return self.lift.columns(self.landmark_rows(query), query.objects)
        if self.centring is None or self.decision.space == "kernel":
            return self.landmark_rows(query)
        return -self._transformed(query)

    def landmark_rows(self, query: Query) -> FloatArray:
        """Return k(x), of shape (n, n_landmarks); of dissimilarities it is doubly centred."""
        transformed = self._transformed(query)
        return transformed if self.centring is None else self.centring.columns(transformed)

    def _transformed(self, query: Query) -> FloatArray:
        return self.transform.apply(
            np.asarray(query.scores),
            query.self_scores,
            self.landmark_self_scores,
            query.lengths,
            self.landmark_lengths,
        )

    def predict_proba(self, query: Query) -> FloatArray:
        """Return p of the first stage; rows sum to one, unless objects may have several labels."""
        decisions = self.decision_function(query)
        if self.several is not None:
            return self.several.probabilities(decisions)
        return np.asarray(softmax(decisions / self.temperature, axis=1))

    def first_answers(self, query: Query) -> Answers:
        """Return the answers of the first stage."""
        probabilities = self.predict_proba(query)
        answers = Answers.of_first(probabilities, self.reject_threshold)
        if self.several is None:
            return answers
        none = ~self.several.chosen(probabilities).any(axis=1)
        return replace(answers, reason=np.array(REASONS)[none.astype(np.int64)])

    def answer(self, query: Query) -> Answers:
        """Return what the model says: its first stage, then its parts, each in its turn.

        Without an ask those that ask training records are left out.
        """
        asks = query.ask is not None
        parts = [
            part
            for part in self.parts.values()
            if type(part).answer is not ModelPart.answer and (asks or part.records is None)
        ]
        if not parts:
            return self.first_answers(query)
        decided, most = self.decided(query), sum(p.most_asked(len(self.classes)) for p in parts)
        step, places = max(1, MOST_PAIRS // max(1, most)), np.arange(len(query))
        blocks = [places[i : i + step] for i in range(0, max(1, len(places)), step)]
        return Answers.joined([self._answered(decided.take(own), parts) for own in blocks])

    def _answered(self, query: Decided, parts: Sequence[ModelPart]) -> Answers:
        """Return the answers for a part of the objects; no pair is aligned twice."""
        answers, aligned = self.first_answers(query), np.zeros(len(query), dtype=np.int64)
        ask = query.ask
        if ask is not None and self.records is not None:

            def counted(queries: IntArray, records: IntArray) -> NDArray[Any]:
                np.add.at(aligned, queries, (records >= 0).sum(axis=1))
                return ask(queries, records)

            seeds = by_seeds(self.records, query, BY_SEEDS)
            query = replace(query, ask=ScoreCache(counted, len(self.records)), seeds=seeds)
            answers = replace(answers, closeness=closeness(self.records, query, seeds))
        if self.relatives in parts and self.relatives is not None:
            answers = self.relatives.before_cascade(query, answers)
        for part in parts:
            answers = part.answer(query, answers)
        return replace(answers, alignments=aligned)

    state: ClassVar = {
        "classes": Value(lambda given: tuple(map(str, given)), list),
        "kind": Value(str),
        "transform": TRANSFORM,
        "centred": Value(bool),
        "temperature": Number("f"),
        "reject_threshold": Number("f"),
        "about": Value(dict),
        "landmark_classes": Array("i", "m"),
        "landmark_self_scores": Array("f", "m"),
        "landmark_lengths": Array("f", "m"),
        "centring_means": Array("f", "m", optional=True),
        "centring_grand_mean": Array("f", "1", optional=True),
        "lift": Part(Lift, "lift_"),
        "inducing_rows": Array("i", "p", optional=True),
        "inducing_classes": Array("i", "p", optional=True),
        "records": Part(Records, "records_"),
        **{name: Part(kind, f"{name}_", kind.needs) for name, kind in PARTS.items()},
        "forks": Part(ForkTemperatures, "forks_"),
        "several": Part(Several, "several_"),
    }

    def stored(self) -> dict[str, Any]:
        """See :meth:`~kreinflow.files.state.State.stored`."""
        centring = self.centring
        own = {
            "kind": self.decision.kind,
            "centred": centring is not None,
            "lift": self.lift and self.lift.without_unseen(),
            "centring_means": centring and centring.landmark_means,
            "centring_grand_mean": centring and np.array([centring.grand_mean]),
        }
        own |= {name: self.parts.get(name) for name in PARTS}
        return {name: own[name] if name in own else getattr(self, name) for name in self.state}

    def to_parts(self) -> Parts:
        """Return the header and the arrays of a file, those of the decision among them."""
        header, arrays = super().to_parts()
        return header, arrays | self.decision.to_parts()[1]

    @classmethod
    def dimensions(cls, header: Mapping[str, Any]) -> dict[str, int]:
        """Return the numbers of classes and inducing points."""
        classes, lift = {"c": len(header["classes"])}, header.get("lift")
        return classes if lift is None else {**classes, "p": int(lift["inducing"])}

    @classmethod
    def from_parts(
        cls,
        header: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        sizes: Mapping[str, int] = MappingProxyType({}),
        **given: Any,
    ) -> Self:
        """See :meth:`~kreinflow.files.state.State.from_parts`; the file has all dimensions."""
        known = cls.dimensions(header)
        columns = {"m": known.get("p", len(arrays["landmark_classes"])), "c": known["c"]}
        decision = KINDS[header["kind"]].from_parts({}, arrays, columns)
        return super().from_parts(header, arrays, known, decision=decision)

    @classmethod
    def restored(cls, **values: Any) -> Self:
        """See :meth:`~kreinflow.files.state.State.restored`."""
        means, grand_mean = values.pop("centring_means"), values.pop("centring_grand_mean")
        found = {name: values.pop(name) for name in PARTS}
        parts: dict[str, Any] = {name: part for name, part in found.items() if part is not None}
        centred = values.pop("centred")
        del values["kind"], values["records"]
        centring = LandmarkCentring(means, float(grand_mean[0])) if centred else None
        return cls(**values, centring=centring, parts=parts)
