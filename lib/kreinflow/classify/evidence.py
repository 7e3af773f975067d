r"""What speaks for an answer: the nearest members of the predicted class and of the runner-up.

Members are the landmarks of the class and the training records of the model: all landmarks of the
class, the :data:`CANDIDATES` records that are nearest to the object in the space of the first
stage, and the one that the answer names. Other records are left out, however well they would
align. If the records are apart and not given, or the model has none, the landmarks speak alone.

The member that the answer names may be of another class. It speaks too, without its class.

The members of a class stand in the order of their E-values :math:`K n m\, e^{-\lambda s}`, of the
score s and the lengths n and m; without E-values in that of their scores.
"""

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.engine import in_threads
from kreinflow.alignment.traceback import traced
from kreinflow.answering.query_and_answers import NOBODY, Answers
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Batch, normalised_scores
from kreinflow.sequences.matrix_files import DISSIMILARITIES

CANDIDATES = 20  #: nearest training records of a class that an object is aligned with
SHOWN = 5  #: members of a class in the table of kreinflow classify

PREDICTED, RUNNER_UP, OTHER = "predicted", "runner-up", "other"

EVIDENCE_COLUMNS = (
    *("query", "label", "of", "member", "kind", "evalue", "score", "bits"),
    *("identity", "columns", "query_start", "query_end", "member_start", "member_end"),
    *("mismatches", "gap_opens"),
)
"""``of`` says what the class is to the object: :data:`OTHER` is that of the record that the answer
names, or of its nearest landmark. ``bits`` is :math:`(\\lambda s - \\ln K) / \\ln 2`. Positions
count from 1; ``gap_opens`` are gaps, of any length. Without E-values ``evalue`` and ``bits`` are
empty; without an alignment, or of one with too many cells
(:func:`~kreinflow.alignment.traceback.traced`), the columns from ``identity`` on."""


class Evidence(NamedTuple):
    """The members that speak for some answers, a row each, and what they cost.

    In the order of the objects, predicted labels before the runner-up, the member with the smallest
    E-value first, then the one of another class, if the answer names one.
    """

    table: pd.DataFrame  # EVIDENCE_COLUMNS
    alignments: int  # with training records, beyond those with the landmarks
    rows: IntArray  # the place of the object in its query, of each row
    lengths: FloatArray  # its residues as it was given


class Witnesses:
    """The members of a model's classes: training records, then landmarks that are none of them."""

    def __init__(self, model: Model) -> None:
        classifier, residues = model.classifier, model.record_residues
        self.model = model
        self.ids = np.array(model.landmark_ids, dtype=object)
        self.classes, self.lengths = classifier.landmark_classes, classifier.landmark_lengths
        self.residues = model.landmarks if isinstance(model.landmarks, tuple) else None
        self.landmarks = np.arange(len(self.ids))  # the number of a member as a landmark; or -1
        self.records = None if model.lacks_records else classifier.records
        if self.records is not None:
            of = self.records.landmarks
            rest, known = np.flatnonzero(of < 0), np.flatnonzero(of >= 0)
            landmarks = np.full(len(self.records), NOBODY)
            landmarks[of[known]] = known
            self.ids = np.append(np.array(model.record_ids, dtype=object), self.ids[rest])
            self.classes = np.append(self.records.classes, self.classes[rest])
            self.lengths = np.append(self.records.lengths, self.lengths[rest])
            if residues is not None and self.residues is not None:
                self.residues = (*residues, *(self.residues[i] for i in rest.tolist()))
            self.landmarks = np.append(landmarks, rest)
        asking = classifier.relatives or classifier.cascade
        weighing = classifier.transform if asking is None else asking.evidence
        local = model.scheme is not None and model.scheme.mode == "local"
        self.weighing = weighing if local and weighing.name == "evalue" else None  # else no E-value

    def evidence(self, batch: Batch, answers: Answers, shown: int, threads: int) -> Evidence:
        """Return what speaks for the answers of a batch; each row depends on its object alone.

        There are ``shown`` members of each class at most. Answers that are not finite are left out.
        The result does not depend on the number of threads.
        """
        asked = self._questions(answers)
        rows, codes = asked["row"].to_numpy(), asked["code"].to_numpy()
        near = self._nearest(batch, rows, codes, max(shown, CANDIDATES))
        scores = np.zeros(near.shape)
        if batch.ask is not None and (near >= 0).any():
            scores = np.asarray(batch.ask(rows, near), dtype=np.float64)
        # The candidates: all landmarks of a class, the nearest records, and the one that is named.
        known, named = np.flatnonzero(self.landmarks >= 0), answers.nearest[rows, None]
        sizes = np.bincount(self.classes[known], minlength=len(self.model.classifier.classes))
        of_class = np.full((sizes.size, sizes.max()), NOBODY)
        of_class[np.arange(sizes.max()) < sizes[:, None]] = known[
            np.argsort(self.classes[known], kind="stable")
        ]
        own = of_class[codes]
        other = (self.classes[named] != codes[:, None]) | (self.landmarks[named] >= 0)
        other |= (near == named).any(axis=1, keepdims=True)
        who = np.hstack([own, near, np.where(other, NOBODY, named)])
        given = batch.scores[rows[:, None], self.landmarks[own]]
        of_named = answers.nearest_score[rows]
        said = np.hstack([given, scores, of_named[:, None]])
        keys = said if self.model.measured_kind in DISSIMILARITIES else -said
        if self.weighing is not None:  # the logarithms do not underflow
            keys = self.weighing.log_evalues(said, batch.lengths[rows, None], self.lengths[who])
        first = np.lexsort((who, np.where(who >= 0, keys, np.inf)), axis=1)[:, :shown]
        who, said = (np.take_along_axis(values, first, axis=1) for values in (who, said))
        place, column = np.nonzero(who >= 0)
        found = asked.iloc[place].assign(who=who[place, column], score=said[place, column])
        found = pd.concat([found, self._others(batch, answers, asked)])
        found = found.sort_values("row", kind="stable")
        rows = found["row"].to_numpy(np.int64)
        table = self._table(batch, found, threads)
        given = batch.lengths if batch.given is None else batch.given
        return Evidence(table, int((near >= 0).sum()), rows, given[rows])

    def _questions(self, answers: Answers) -> pd.DataFrame:
        """Return row, code, of: the predicted class or all labels, then the likeliest other."""
        p, several = answers.probabilities, self.model.classifier.several
        found: list[tuple[int, int, str]] = []
        for row in np.flatnonzero(np.isfinite(p).all(axis=1)).tolist():
            order = np.argsort(-p[row], kind="stable").tolist()
            own = order[:1]
            if several is not None:
                own = [] if answers.rejected[row] else several.ranked(p[row])
            found += [(row, code, PREDICTED) for code in own]
            found += [(row, code, RUNNER_UP) for code in order if code not in own][:1]
        table = pd.DataFrame(found, columns=["row", "code", "of"])
        return table.astype({"row": np.int64, "code": np.int64})

    def _nearest(self, batch: Batch, rows: IntArray, codes: IntArray, q: int) -> IntArray:
        """Return the q nearest records of each class; -1 for none, and for landmarks."""
        near, records = np.full((len(rows), q), NOBODY, dtype=np.int64), self.records
        if records is None:
            return near[:, :0]
        lift, of_objects = records.index, self.model.classifier.landmark_rows(batch)
        for code in np.unique(codes).tolist():
            own, places = np.flatnonzero(records.classes == code), np.flatnonzero(codes == code)
            if not len(own):
                continue
            index = replace(lift, scores=lift.scores[own], objects=lift.objects.take(own))
            objects = rows[places]
            viewed = None if batch.objects is None else batch.objects.take(objects)
            found = own[index.nearest(of_objects[objects], viewed, q)]
            near[places, : found.shape[1]] = found
        return np.where(self.landmarks[near] < 0, near, NOBODY)

    def _others(self, batch: Batch, answers: Answers, asked: pd.DataFrame) -> pd.DataFrame:
        """Return the record that each answer names, or the nearest landmark, of other classes."""
        rows = np.unique(asked["row"].to_numpy())
        known = np.flatnonzero(self.landmarks >= 0)
        nearest = nearest_landmarks(self.model, batch)[0][rows]
        landmarks = known[np.argsort(self.landmarks[known])][nearest]
        named = answers.nearest[rows]
        who = np.where(named >= 0, named, landmarks)
        scores = np.where(named >= 0, answers.nearest_score[rows], batch.scores[rows, nearest])
        found = pd.DataFrame({"row": rows, "code": self.classes[who], "of": OTHER, "who": who})
        there = pd.MultiIndex.from_frame(asked[["row", "code"]])
        apart = ~pd.MultiIndex.from_frame(found[["row", "code"]]).isin(there)
        return found.assign(score=scores)[apart]

    def _table(self, batch: Batch, found: pd.DataFrame, threads: int) -> pd.DataFrame:
        rows, codes, who = (found[name].to_numpy() for name in ("row", "code", "who"))
        scores = found["score"].to_numpy(np.float64)
        evalues, bits = np.full((2, len(who)), np.nan)
        if self.weighing is not None:
            n, m = batch.lengths[rows], self.lengths[who]
            evalues = self.weighing.evalues(scores, n, m)
            bits = (np.log(n * m) - self.weighing.log_evalues(scores, n, m)) / np.log(2)
        if self.model.scheme is not None:
            scores = scores.astype(np.int64)
        elif self.model.measured_kind == "dissimilarity":
            scores = np.sqrt(scores)
        pairs = list(zip(rows.tolist(), who.tolist(), strict=True))
        spans = in_threads(lambda pair: self._span(batch, *pair), pairs, threads)
        columns = (
            np.array(batch.ids, dtype=object)[batch.scored][rows],
            np.array(self.model.classifier.classes, dtype=object)[codes],
            found["of"].to_numpy(),
            self.ids[who],
            np.where(self.landmarks[who] >= 0, "landmark", "record").astype(object),
            *(evalues, scores, bits),
            *np.array(spans, dtype=object).reshape(-1, 8).T,
        )
        table = pd.DataFrame(dict(zip(EVIDENCE_COLUMNS, columns, strict=True)))
        return table.assign(**{name: values[rows] for name, values in batch.turned.items()})

    def _span(self, batch: Batch, row: int, member: int) -> tuple[Any, ...]:
        """Return the cells of an object and a member from ``identity`` on."""
        scheme = self.model.scheme
        if batch.sequences is None or self.residues is None or scheme is None:
            return ("",) * 8
        alignment = traced(batch.sequences[row], self.residues[member], scheme)
        if alignment is None or not alignment.marks:
            return ("", "" if alignment is None else 0, *[""] * 6)
        n = len(alignment.marks)
        starts = alignment.first_start, alignment.second_start
        both = alignment.first, alignment.second
        gaps = [row.count("-") for row in both]
        ends = [start + n - gap - 1 for start, gap in zip(starts, gaps, strict=True)]
        spans = starts[0], ends[0], starts[1], ends[1]
        opened = sum(len(re.findall("-+", row)) for row in both)
        equal = alignment.identical
        return equal / n, n, *spans, n - equal - sum(gaps), opened


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
