r"""The cascade: what the first stage is unsure of is aligned with the records that decide.

The first stage is a :class:`~kreinflow.answering.classifier.LandmarkClassifier`. While the largest
probability of an object is below a threshold, it goes up the levels of a cascade:

* level 0: the first stage itself, :math:`p = softmax(w f(x))`;
* ``nearest``, a level for each number q of steps: the q records that are nearest to the object in
  the space of the first stage are aligned with it, and

  .. math:: p_c = softmax_c(w_1 f_c(x) + w_2\, e_c(x) + w_3\, \bar e_c(x) + w_4\, n_c(x) / q)

  with the evidence :math:`e_c` of the best record of class c among them,
  log(1 + max(0, -ln E)), the mean evidence of its :math:`n_c` records among them, and their share;
* ``pairs``: the object is aligned with all members of its likeliest classes that some machine of
  :mod:`kreinflow.answering.pair_machines` tells apart, and

  .. math:: p_c = softmax_c(w_1 \log p'_c + w_2 \sum_d \tanh g_{cd}(x))

  with the probabilities p' of the level before and the decisions g of these machines.

The weights of a level are shared by all classes: a conditional logit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.answers import FIRST, NEAREST, PAIRS, Answers, unsure
from kreinflow.answering.pair_machines import PairMachines
from kreinflow.answering.parts import ModelPart
from kreinflow.answering.query import Decided
from kreinflow.answering.record_scores import (
    NEAREST_WEIGHTS,
    PAIR_WEIGHTS,
    SMALLEST,
    Records,
    RecordScores,
    logit,
    pair_features,
)
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.files.state import Array, Number, Part, Value

FEATURES = {
    FIRST: ("decision",),
    NEAREST: ("decision", "best_evidence", "mean_evidence", "share"),
    PAIRS: ("log_probability", "votes"),
}
"""What the conditional logit of each stage looks at."""

TRANSFORM = Value(ScoreTransform.from_dict, ScoreTransform.to_dict)
"""A score transform in a file."""


class Level(NamedTuple):
    """A level: its stage, and the nearest records that are asked by then."""

    stage: int
    asks: int


@dataclass(frozen=True, eq=False)
class Cascade(ModelPart):
    """The levels above the first stage, and when an object goes up.

    Parameters
    ----------
    evidence : ScoreTransform
        What the nearest records are weighed by; see
        :meth:`~kreinflow.alignment.transforms.ScoreTransform.evidence`.
    steps : tuple of int
        Rising numbers of nearest records that are asked; empty for no such level.
    weights : tuple of ndarray
        Of each level: 1 of the first, :data:`NEAREST_WEIGHTS` of each step,
        :data:`PAIR_WEIGHTS` of the pairs, if there are machines.
    about : dict
        What was asked for, and what the inner folds said.
    """

    needs: ClassVar = "records"

    records: Records
    transform: ScoreTransform  # what the machines see scores through: that of the first stage
    evidence: ScoreTransform
    steps: tuple[int, ...]
    weights: tuple[FloatArray, ...]
    machines: PairMachines | None
    likeliest: int  # classes at most whose members the level of pairs asks
    threshold: float  # an object goes up while its largest probability is below it
    temperature: float  # of the answers of all levels together
    reject_threshold: float
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Those above the first."""
        nearest = tuple(Level(NEAREST, q) for q in self.steps)
        most = max(self.steps, default=0)
        return nearest + ((Level(PAIRS, most),) if self.machines is not None else ())

    def answer(self, query: Decided, before: Answers) -> Answers:
        """Return the answers of the levels, asking records for objects that are unsure.

        What is said of an object depends on the object alone.

        ``before``: of the first stage.
        """
        raw = logit(query.decisions[:, :, None], self.weights[0])
        stage, alignments = before.stage.copy(), before.alignments.copy()
        nearest, score = before.nearest.copy(), before.nearest_score.copy()
        up = np.flatnonzero(raw.max(axis=1) < self.threshold)
        scores = self.scores(query.take(up))
        raw[up], number, alignments[up] = followed(
            self.level_answers(scores, self.threshold), self.threshold
        )
        probabilities = self.calibrated(raw)
        labels = probabilities[up].argmax(axis=1)
        for place, level in enumerate(self.levels, start=1):
            rows = np.flatnonzero(number == place)
            stage[up[rows]] = level.stage
            asked = scores.asked(rows, level.asks, level.stage == PAIRS)
            nearest[up[rows]], score[up[rows]] = scores.best(
                rows, labels[rows], asked, scores.evidence
            )
        return replace(
            before,
            probabilities=probabilities,
            reason=unsure(probabilities.max(axis=1), self.reject_threshold),
            stage=stage,
            alignments=alignments,
            nearest=nearest,
            nearest_score=score,
        )

    def scores(self, query: Decided) -> RecordScores:
        """Return the scores of a query with the records of the cascade."""
        return RecordScores(self.records, query, self.transform, self.evidence)

    def asked_records(self) -> Records:
        """See :meth:`~kreinflow.answering.parts.ModelPart.asked_records`."""
        return self.records

    def with_records(self, records: Records) -> "Cascade":
        """See :meth:`~kreinflow.answering.parts.ModelPart.with_records`."""
        return replace(self, records=records)

    def most_asked(self, n_classes: int) -> int:
        """Return the records that an object asks at most."""
        members = 0
        if self.machines is not None:
            sizes = np.bincount(self.records.classes, minlength=n_classes)
            members = int(np.sort(sizes)[::-1][: self.likeliest].sum())
        return max(self.steps, default=0) + members

    def calibrated(self, raw: FloatArray) -> FloatArray:
        """Return the probabilities of answers, of those that the levels give."""
        return np.asarray(softmax(np.log(np.maximum(raw, SMALLEST)) / self.temperature, axis=1))

    def level_answers(
        self, scores: RecordScores, threshold: float = np.inf
    ) -> list["LevelAnswers"]:
        """Return what each level says of the objects that get there, level 0 the first."""
        n = len(scores.query)
        first = logit(scores.query.decisions[:, :, None], self.weights[0])
        found = [LevelAnswers(first, np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool))]
        for level, weights in zip(self.levels, self.weights[1:], strict=True):
            before = found[-1]
            copies = before.probabilities.copy(), before.alignments.copy()
            said = LevelAnswers(*copies, np.zeros(n, dtype=bool))
            found.append(said)
            up = np.flatnonzero(before.probabilities.max(axis=1) < threshold)
            if not up.size:
                continue
            if len(found) == 2 and level.stage == NEAREST:
                scores.rank(up, max(self.steps))
            features, alignments, asked = self.features(level, scores, up, before.probabilities[up])
            said.probabilities[up[asked]] = logit(features[asked], weights)
            said.alignments[up[asked]], said.reached[up[asked]] = alignments[asked], True
        return found

    def features(
        self, level: Level, scores: RecordScores, places: IntArray, before: FloatArray
    ) -> tuple[FloatArray, IntArray, NDArray[np.bool_]]:
        """Return what the logit of a level looks at, of shape (k, n_classes, n_features).

        ``before``, of shape (k, n_classes): probabilities of k objects at the level before. Behind
        it are the alignments of each so far beyond the landmarks, and whether it asks a record
        there.
        """
        if level.stage == NEAREST:
            features, alignments = scores.nearest(places, level.asks)
            return features, alignments, np.ones(len(places), dtype=bool)
        assert self.machines is not None, "a level of pairs without machines"
        votes, alignments, voting = scores.votes(
            places, before, self.machines, self.likeliest, level.asks
        )
        return pair_features(before, votes), alignments, voting

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
        pairs = PAIR_WEIGHTS if header.get("machines") is not None else 0
        return {"w": 1 + NEAREST_WEIGHTS * len(header["steps"]) + pairs}

    @classmethod
    def restored(cls, **values: Any) -> "Cascade":
        """See :meth:`~kreinflow.files.state.State.restored`."""
        numbers, steps, machines = values.pop("level_weights"), values["steps"], values["machines"]
        records: Records = values["records"]
        if (np.diff(steps) <= 0).any() or max(steps, default=0) > len(records):
            raise ValueError("its steps do not rise, or ask more records than there are")
        if machines is not None:
            classes = records.classes
            if machines.ends(classes)[-1] != len(machines.member_weights):
                raise ValueError("the weights of its machines do not fit its records")
        ends = np.cumsum([1, *([NEAREST_WEIGHTS] * len(steps))])
        weights = np.split(numbers, ends if machines is not None else ends[:-1])
        return cls(**{**values, "steps": tuple(steps.tolist()), "weights": tuple(weights)})


class LevelAnswers(NamedTuple):
    """What a level says of n objects.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        Of an object that does not get there, or can ask no record there: those of the level before.
    """

    probabilities: FloatArray
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
