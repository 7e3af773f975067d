"""Predictions of the records that outer folds test, and of those held out as unknown."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.answering.cascade import LevelAnswers
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.label_sets import outcomes
from kreinflow.answering.nearest_records import BY_SEEDS, ScoreCache
from kreinflow.answering.query_and_answers import Answers, Query
from kreinflow.answering.several_labels import label_texts
from kreinflow.base.numerics import TILE, IntArray, single_threaded, tile_map
from kreinflow.fitting.best_hits import Hits
from kreinflow.fitting.cascade_choice import CascadeCurve
from kreinflow.fitting.record_index import first_alignments, row_query
from kreinflow.fitting.run import Run
from kreinflow.krein.landmark_kernel import Landmarks
from kreinflow.sequences.partition import fold_numbers
from kreinflow.views.objects import Viewed

_ROWS = TILE // 4  # objects that are answered together: each may ask thousands of records


@dataclass(frozen=True, eq=False)
class FoldRecords:
    """The records that a fold tests, for one classifier."""

    run: Run
    landmarks: Landmarks
    fold: str
    classifier: LandmarkClassifier
    cache: ScoreCache | None = None  # of the distinct rows; without it the first stage answers
    scheme: ScoringScheme | None = None  # of sequences

    @cached_property
    def records(self) -> IntArray:
        """The numbers of the records."""
        return np.flatnonzero(self.run.partition.testing(self.fold))

    @cached_property
    def hits(self) -> Hits:
        """The best hits of the records, which take note of what is asked."""
        return self.run.hits(self.fold, self.scheme)

    def query(self, places: IntArray) -> Query:
        """Return the query of some of the records."""
        rows, ask = self.run.dataset.rows[self.records[places]], None
        asked = self.classifier.records
        if self.cache is not None and asked is not None:
            ask = self.hits.noting(self.cache.of_rows(rows, asked.rows), places, asked)
        objects = self.run.objects if self.classifier.looks_at_objects else None
        query = row_query(self.landmarks, rows, objects, ask)
        return query if self.seeds is None else replace(query, seeds=self.seeds[places])

    @cached_property
    def seeds(self) -> IntArray | None:
        """The training records that are first by seeds of the records: all that look share them."""
        asked, objects = self.classifier.records, self.run.objects
        if self.cache is None or asked is None or asked.seeds is None:
            return None
        sequences = objects.take(self.run.dataset.rows[self.records]).sequences
        assert sequences is not None, "seeds of no sequences"
        return np.stack(asked.by_seeds.nearest(sequences, BY_SEEDS), axis=1)

    def curve(self) -> CascadeCurve:
        """Return what all levels of the cascade say of the records."""
        cascade, classifier = self.classifier.cascade, self.classifier
        assert cascade is not None, "a model without a cascade"
        with single_threaded():
            parts = [
                cascade.level_answers(cascade.scores(classifier.decided(self.query(places))))
                for places in _blocks(len(self.records))
            ]
        levels = [
            LevelAnswers(*map(np.concatenate, zip(*level, strict=True)))
            for level in zip(*parts, strict=True)
        ]
        return CascadeCurve(cascade, levels, first_alignments(self.landmarks, classifier.transform))

    def predictions(self, recipe: str) -> pd.DataFrame:
        """Return the predictions; see :mod:`kreinflow.evaluation.metrics`.

        Of records with several labels, ``true`` and ``predicted`` are all of them, with a semicolon
        between; a prediction may be none. With levels there are the columns node, which is empty
        for the root, and node_probability besides; and the path of the data set, if it has one.
        """
        dataset, classifier, tested = self.run.dataset, self.classifier, self.records
        answers = _answers(classifier, len(tested), self.query, self.cache is not None)
        probabilities, labels = answers.probabilities, dataset.labels[tested]
        table = _told(classifier, answers, recipe, self.fold)
        table["id"] = [dataset.ids[i] for i in tested]
        table["true"] = np.array(dataset.classes, dtype=object)[labels]
        base = first_alignments(self.landmarks, classifier.transform)
        table["alignments"] = base + answers.alignments
        if classifier.several is not None and dataset.memberships is not None:
            table["true"] = label_texts(dataset.classes, dataset.memberships[tested])
            chosen = classifier.several.chosen(probabilities)
            table["predicted"] = label_texts(dataset.classes, chosen)
        parts = [table, self.hits.table()]
        if classifier.levels is not None:
            found = classifier.levels.nodes(probabilities, answers.deepest)
            nodes = np.array(classifier.levels.tree.nodes, dtype=object)[found.node]
            parts.append(pd.DataFrame({"node": nodes, "node_probability": found.probability}))
        if dataset.paths is not None:
            parts.append(pd.DataFrame({"path": [dataset.paths[i] for i in tested]}))
        columns = [f"p_{label}" for label in dataset.classes]
        parts.append(pd.DataFrame(probabilities, columns=columns))
        if classifier.calibration is not None:
            closeness = answers.closeness
            parts.append(outcomes(classifier.calibration, probabilities, labels, closeness))
        return pd.concat(parts, axis=1)


@dataclass(frozen=True, eq=False)
class UnknownRecords:
    """The records that are held out as unknown."""

    table: pd.DataFrame  # columns id, label, row, length, self_score
    scores: NDArray[Any]  # (n_rows, n_union): of their distinct rows
    union: IntArray  # (n_union,): the rows of these in the data set
    objects: Viewed | None = None  # the distinct rows as views see them
    # Of the distinct rows and, behind them, those of the data set.
    cache: ScoreCache | None = None

    def predict(
        self, landmark_rows: IntArray, fold: str, recipe: str, classifier: LandmarkClassifier
    ) -> pd.DataFrame:
        """Return the columns ``UNKNOWN_COLUMNS`` of :mod:`kreinflow.evaluation.unknown`."""
        columns, rows = np.searchsorted(self.union, landmark_rows), self.table["row"].to_numpy()
        own, lengths = (self.table[name].to_numpy(np.float64) for name in ("self_score", "length"))
        records, cache = classifier.records, self.cache

        def query(places: IntArray) -> Query:
            part, ask = rows[places], None
            if records is not None and cache is not None:
                ask = cache.of_rows(part, len(self.scores) + records.rows)
            objects = None if self.objects is None else self.objects.take(part)
            scores = np.asarray(self.scores[part])[:, columns]
            return Query(scores, own[places], lengths[places], objects, ask)

        answers = _answers(classifier, len(rows), query, cache is not None)
        told = _told(classifier, answers, recipe, fold)
        told["id"], told["true"] = self.table["id"], self.table["label"]
        told["probability"] = answers.probabilities.max(axis=1)
        return told.assign(reject=np.where(answers.rejected, "yes", "no"))


def _answers(
    classifier: LandmarkClassifier, n: int, query: Callable[[IntArray], Query], asks: bool
) -> Answers:
    """Return the answers for n objects, some at a time; in one thread if ``asks`` records."""
    nothing = Answers.of_first(np.empty((0, len(classifier.classes))), 0.0)

    def answer(places: IntArray) -> Answers:
        return classifier.answer(query(places))

    if not asks or classifier.records is None:
        tiles = tile_map(lambda tile: answer(np.arange(tile.start, tile.stop)), n)
        return Answers.joined([nothing, *tiles])
    with single_threaded():
        return Answers.joined([nothing, *map(answer, _blocks(n))])


def _blocks(n: int) -> list[IntArray]:
    return [np.arange(start, min(start + _ROWS, n)) for start in range(0, n, _ROWS)]


def _told(classifier: LandmarkClassifier, answers: Answers, recipe: str, fold: str) -> pd.DataFrame:
    """Return the first columns of a table of predictions; id and true are to be filled."""
    repeat, number = fold_numbers(fold)
    classes = np.array(classifier.classes, dtype=object)
    return pd.DataFrame(
        {
            "recipe": recipe,
            "repeat": repeat,
            "fold": number,
            "id": "",
            "true": "",
            "predicted": classes[answers.probabilities.argmax(axis=1)],
            "reason": answers.reason,
            "unknown_p": answers.p_value,
        }
    )
