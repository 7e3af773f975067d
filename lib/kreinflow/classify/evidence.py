r"""What speaks for an answer: the nearest members of the predicted class and of the runner-up.

Members are the landmarks of the class and the training records of the model: all landmarks of the
class, the :data:`CANDIDATES` records that are nearest to the object in the space of the first
stage, and the one that the answer names. Other records are left out, however well they would
align. If the records are apart and not given, or the model has none, the landmarks speak alone.

The member that the answer names may be of another class. It speaks too, without its class.

The members of a class stand in the order of their E-values :math:`K n m\, e^{-\lambda s}`, of the
score s and the lengths n and m; without E-values in that of their scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.engine import in_threads
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.alignment.traceback import Alignment, trace
from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.answers import Answers
from kreinflow.answering.score_cache import NOBODY
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Batch, normalised_scores
from kreinflow.sequences.matrix_files import DISSIMILARITIES

CANDIDATES = 20
"""Nearest training records of a class that an object is aligned with."""

SHOWN = 5
"""Members of a class in the table of ``kreinflow classify``."""

LARGEST_TRACE = 100_000_000
"""Cells of an alignment that is traced back: it takes a byte and more for each."""

PREDICTED, RUNNER_UP, OTHER = "predicted", "runner-up", "other"

EVIDENCE_COLUMNS = (
    *("query", "label", "of", "member", "kind", "evalue", "score", "bits"),
    *("identity", "columns", "query_start", "query_end", "member_start", "member_end"),
)
"""``label`` is the class, and ``of`` says whether it is :data:`PREDICTED`, the :data:`RUNNER_UP`,
or :data:`OTHER`: neither, but of the record that the answer names, or of its nearest landmark if it
names no record; ``kind`` is ``landmark`` or ``record``; ``score`` is as aligned or measured;
``bits`` is :math:`(\\lambda s - \\ln K) / \\ln 2`; ``identity`` is the share of equal residues in
the ``columns`` of the alignment; positions count from 1, and the last one is part of the alignment.
Without E-values ``evalue`` and ``bits`` are empty; without an alignment, or of one with more than
:data:`LARGEST_TRACE` cells, the columns from ``identity`` on. With both strands aligned, ``strand``
stands last, and positions are those of this strand."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The members that speak for some answers, and what they cost.

    Attributes
    ----------
    table : DataFrame
        :data:`EVIDENCE_COLUMNS`, a row for each member: in the order of the objects, predicted
        labels before the runner-up, the member with the smallest E-value first, then the one of
        another class, if the answer names one.
    alignments : int
        With training records, beyond those with the landmarks.
    """

    table: pd.DataFrame
    alignments: int


class _Questions(NamedTuple):
    """Classes whose members are looked for: the row of the object, the class, what it is to it."""

    rows: IntArray
    classes: IntArray
    of: NDArray[Any]

    def take(self, some: NDArray[Any]) -> "_Questions":
        return _Questions(*(values[some] for values in self))


@dataclass(frozen=True, eq=False)
class _Members:
    """All members: the training records, and behind them landmarks that are none of them.

    Attributes
    ----------
    ids : ndarray of shape (n,)
    classes, lengths : ndarray of shape (n,)
    residues : sequence of bytes or None
    landmarks : ndarray of shape (n,)
        The number of the landmark that a member is; -1 for none.
    """

    ids: NDArray[Any]
    classes: IntArray
    lengths: FloatArray
    residues: Sequence[bytes] | None
    landmarks: IntArray

    @classmethod
    def of(cls, model: Model) -> "_Members":
        """Return those of a model."""
        classifier, records = model.classifier, model.classifier.records
        ids, residues = np.array(model.landmark_ids, dtype=object), model.landmarks
        classes, lengths = classifier.landmark_classes, classifier.landmark_lengths
        own = residues if isinstance(residues, tuple) else None
        if records is None or model.record_residues is None or own is None:
            return cls(ids, classes, lengths, own, np.arange(len(ids)))
        rest, known = np.flatnonzero(records.landmarks < 0), np.flatnonzero(records.landmarks >= 0)
        landmarks = np.full(len(records), NOBODY)
        landmarks[records.landmarks[known]] = known
        return cls(
            np.concatenate([np.array(model.record_ids, dtype=object), ids[rest]]),
            np.concatenate([records.classes, classes[rest]]),
            np.concatenate([records.lengths, lengths[rest]]),
            [*model.record_residues, *(own[i] for i in rest.tolist())],
            np.concatenate([landmarks, rest]),
        )


@dataclass(frozen=True, eq=False)
class Witnesses:
    """The members of a model's classes."""

    model: Model

    @cached_property
    def _members(self) -> _Members:
        return _Members.of(self.model)

    @cached_property
    def _weighing(self) -> ScoreTransform | None:
        """What makes E-values of scores; None if the model has nothing that does."""
        scheme, classifier = self.model.scheme, self.model.classifier
        asking = classifier.relatives or classifier.cascade
        found = classifier.transform if asking is None else asking.evidence
        local = scheme is not None and scheme.mode == "local"
        return found if local and found.name == "evalue" else None

    def evidence(self, batch: Batch, answers: Answers, shown: int, threads: int) -> Evidence:
        """Return what speaks for the answers of a batch; each row depends on its object alone.

        Parameters
        ----------
        batch : Batch
        answers : Answers
            Those that are not finite are left out.
        shown : int
            Members of each class, at most.
        threads : int
            The result does not depend on them.
        """
        asked = self._questions(answers)
        near = self._nearest(batch, asked, max(shown, CANDIDATES))
        scores = np.zeros(near.shape)
        if batch.ask is not None and (near >= 0).any():
            scores = np.asarray(batch.ask(asked.rows, near), dtype=np.float64)
        places, who, said = self._candidates(batch, answers, asked, near, scores)
        keys = said if self.model.measured_kind in DISSIMILARITIES else -said
        if self._weighing is not None:  # the logarithms do not underflow
            lengths = batch.lengths[asked.rows[places]], self._members.lengths[who]
            keys = self._weighing.log_evalues(said, *lengths)
        order = np.lexsort((who, keys, places))
        rank = np.arange(len(order)) - np.searchsorted(places[order], places[order])
        first = order[rank < shown]
        parts = (asked.take(places[first]), who[first], said[first])
        table = self._table(batch, (parts, self._other(batch, answers, asked)), threads)
        return Evidence(table, int((near >= 0).sum()))

    def _questions(self, answers: Answers) -> _Questions:
        """Return the predicted classes and the runner-up of each object.

        With several labels: all that the object has, and the likeliest of the others.
        """
        p, several = answers.probabilities, self.model.classifier.several
        rows = np.flatnonzero(np.isfinite(p).all(axis=1))
        if several is None:
            first, second = likeliest_two(p[rows])
            classes = np.stack([first, second], axis=1).ravel()
            of = np.tile(np.array([PREDICTED, RUNNER_UP], dtype=object), len(rows))
            return _Questions(np.repeat(rows, 2), classes, of)
        found: list[tuple[int, int, str]] = []
        for row in rows.tolist():
            own = [] if answers.rejected[row] else several.ranked(p[row])
            found += [(row, code, PREDICTED) for code in own]
            order = np.argsort(-p[row], kind="stable").tolist()
            found += [(row, code, RUNNER_UP) for code in order if code not in own][:1]
        table = np.array(found, dtype=object).reshape(-1, 3)
        return _Questions(table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2])

    def _nearest(self, batch: Batch, asked: _Questions, q: int) -> IntArray:
        """Return the q nearest records of each class; -1 for none, and for landmarks."""
        classifier, records = self.model.classifier, self.model.classifier.records
        near = np.full((len(asked.rows), q), NOBODY, dtype=np.int64)
        if records is None or self.model.record_residues is None:
            return near[:, :0]
        rows = classifier.landmark_rows(batch)
        for code in np.unique(asked.classes).tolist():
            own = np.flatnonzero(records.classes == code)
            if not len(own):
                continue
            index = replace(
                records.index,
                scores=records.index.scores[own],
                objects=records.index.objects.take(own),
            )
            places = np.flatnonzero(asked.classes == code)
            objects = asked.rows[places]
            viewed = None if batch.objects is None else batch.objects.take(objects)
            found = own[index.nearest(rows[objects], viewed, q)]
            near[places, : found.shape[1]] = found
        return np.where(self._members.landmarks[near] < 0, near, NOBODY)

    def _candidates(
        self,
        batch: Batch,
        answers: Answers,
        asked: _Questions,
        near: IntArray,
        scores: FloatArray,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the members of each class that are looked at: the question, member and score."""
        members = self._members
        known = np.flatnonzero(members.landmarks >= 0)
        places, columns = np.nonzero(members.classes[known] == asked.classes[:, None])
        landmarks = known[columns]
        given = batch.scores[asked.rows[places], members.landmarks[landmarks]]
        of_records = np.nonzero(near >= 0)
        named = answers.nearest[asked.rows]
        told = (named >= 0) & (members.classes[named] == asked.classes)
        told &= (members.landmarks[named] < 0) & ~(near == named[:, None]).any(axis=1)
        return (
            np.concatenate([places, of_records[0], np.flatnonzero(told)]),
            np.concatenate([landmarks, near[of_records], named[told]]),
            np.concatenate([given, scores[of_records], answers.nearest_score[asked.rows[told]]]),
        )

    def _other(
        self, batch: Batch, answers: Answers, asked: _Questions
    ) -> tuple[_Questions, IntArray, FloatArray]:
        """Return the member that each answer names, and its score, if it is of another class.

        It is a record, or the nearest landmark where the answer names none.
        """
        members, rows = self._members, np.unique(asked.rows)
        known = np.flatnonzero(members.landmarks >= 0)
        nearest = nearest_landmarks(self.model, batch)[0][rows]
        landmarks = known[np.argsort(members.landmarks[known])][nearest]
        named = answers.nearest[rows]
        who = np.where(named >= 0, named, landmarks)
        scores = np.where(named >= 0, answers.nearest_score[rows], batch.scores[rows, nearest])
        classes, n = members.classes[who], len(self.model.classifier.classes)
        apart = ~np.isin(rows * n + classes, asked.rows * n + asked.classes)
        of = np.full(len(rows), OTHER, dtype=object)
        return _Questions(rows, classes, of).take(apart), who[apart], scores[apart]

    def _table(
        self,
        batch: Batch,
        parts: Sequence[tuple[_Questions, IntArray, FloatArray]],
        threads: int,
    ) -> pd.DataFrame:
        """Return the table of members and their scores, one for each question, by the objects."""
        given = [np.concatenate(column) for column in zip(*((*q, *m) for q, *m in parts))]  # noqa: B905
        order = np.argsort(given[0], kind="stable")
        rows, codes, of, who, scores = (column[order] for column in given)
        members = self._members
        evalues, bits = np.full((2, len(who)), np.nan)
        if self._weighing is not None:
            n, m = batch.lengths[rows], members.lengths[who]
            evalues = self._weighing.evalues(scores, n, m)
            bits = (np.log(n * m) - self._weighing.log_evalues(scores, n, m)) / np.log(2)
        if self.model.scheme is not None:
            scores = scores.astype(np.int64)
        elif self.model.measured_kind == "dissimilarity":
            scores = np.sqrt(scores)
        columns = (
            np.array(batch.ids, dtype=object)[batch.scored][rows],
            np.array(self.model.classifier.classes, dtype=object)[codes],
            of,
            members.ids[who],
            np.where(members.landmarks[who] >= 0, "landmark", "record").astype(object),
            evalues,
            scores,
            bits,
            *self._spans(batch, rows, who, threads).T,
        )
        table = pd.DataFrame(dict(zip(EVIDENCE_COLUMNS, columns, strict=True)))
        return table if batch.strands is None else table.assign(strand=batch.strands[rows])

    def _spans(self, batch: Batch, rows: IntArray, who: IntArray, threads: int) -> NDArray[Any]:
        """Return the columns of the table from ``identity`` on, of shape (n, 6)."""
        sequences, residues, scheme = batch.sequences, self._members.residues, self.model.scheme
        found = np.full((len(rows), 6), "", dtype=object)
        if sequences is None or residues is None or scheme is None:
            return found

        def span(pair: tuple[int, int]) -> tuple[Any, ...]:
            alignment = traced(sequences[pair[0]], residues[pair[1]], scheme)
            if alignment is None or not alignment.marks:
                return ("", "" if alignment is None else 0, *[""] * 4)
            n = len(alignment.marks)
            starts = alignment.first_start, alignment.second_start
            gaps = alignment.first.count("-"), alignment.second.count("-")
            ends = [start + n - gap - 1 for start, gap in zip(starts, gaps, strict=True)]
            return alignment.identical / n, n, starts[0], ends[0], starts[1], ends[1]

        pairs = list(zip(rows.tolist(), who.tolist(), strict=True))
        for number, cells in enumerate(in_threads(span, pairs, threads)):
            found[number] = cells
        return found


def traced(first: bytes, second: bytes, scheme: ScoringScheme) -> Alignment | None:
    """Return the alignment of two sequences; None if it has too many cells to trace back."""
    too_large = len(first) * len(second) > LARGEST_TRACE
    return None if too_large else trace(first, second, scheme)


def nearest_landmarks(model: Model, batch: Batch) -> tuple[NDArray[np.int64], FloatArray]:
    r"""Return the nearest landmark of each object that is scored, and its score.

    For sequences the score is :math:`s_{xl} / \sqrt{s_{xx} s_{ll}}`, whatever transform the model
    uses, and NaN if x does not score above 0 with itself. For others it is the largest similarity
    or the smallest dissimilarity of the input (squared if the model's is). The first of equals is
    taken.
    """
    values, kind = batch.scores, model.measured_kind
    if model.scheme is not None:
        values = normalised_scores(model, batch.scores, batch.self_scores)
    dissimilar = kind in DISSIMILARITIES
    rows = np.arange(len(values))
    nearest = (values.argmin if dissimilar else values.argmax)(axis=1)
    unsure = np.flatnonzero(np.isnan(values[rows, nearest]))  # NaN counts as the largest
    nearest[unsure] = np.nan_to_num(values[unsure], nan=-np.inf).argmax(axis=1)
    score = values[rows, nearest]
    return nearest, np.sqrt(score) if kind == "dissimilarity" else score


def likeliest_two(probabilities: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the codes of the likeliest class of each object, and of the next; the first of equals.

    Parameters
    ----------
    probabilities : ndarray of shape (n, n_classes)
        At least two classes. It is written to, and as it was when this returns.
    """
    rows, first = np.arange(len(probabilities)), probabilities.argmax(axis=1)
    top = probabilities[rows, first]
    probabilities[rows, first] = -np.inf
    second = probabilities.argmax(axis=1)
    probabilities[rows, first] = top
    return first, second
