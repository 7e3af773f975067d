"""The files of a run that learning reads and writes; see :mod:`kreinflow.sequences.scores`."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.backends import (
    SAMPLE,
    backend_named,
    compare_with_parasail,
    drawn_pairs,
)
from kreinflow.alignment.engine import pack, self_scores
from kreinflow.alignment.pair_lists import align_pair_lists
from kreinflow.alignment.progress import tell_aligned
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.answering.cascade import Answers, Said
from kreinflow.answering.classifier import LandmarkClassifier
from kreinflow.answering.label_sets import outcomes
from kreinflow.answering.query import Query
from kreinflow.answering.score_cache import ScoreCache
from kreinflow.answering.several_labels import joined
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import TILE, FloatArray, IntArray, single_threaded, tile_map
from kreinflow.base.random_streams import hash_keys
from kreinflow.base.tiled_matrix import MatrixLike, TiledMatrix
from kreinflow.files.arrays import open_array
from kreinflow.fitting.best_hits import Hits, Searched
from kreinflow.fitting.cascade_curve import Climbed
from kreinflow.fitting.fit_lift import Lifting
from kreinflow.fitting.fit_unknown import Strangers, made_strange
from kreinflow.fitting.inner_folds import ChooseAgain
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from kreinflow.landmarks.selector import Selector
from kreinflow.landmarks.stage import LandmarkStage, read_union
from kreinflow.sequences.dataset import Dataset, read_dataset, read_rows
from kreinflow.sequences.partition import Partition, fold_numbers, read_partition
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.scores import Scores, reverse_scores
from kreinflow.views.objects import Viewed


@dataclass(frozen=True, eq=False)
class Run:
    """The tables and columns of a data set that all folds share."""

    dataset: Dataset
    partition: Partition
    scores: NDArray[Any]
    union: IntArray
    self_scores: FloatArray

    def landmarks(self, table: pd.DataFrame, scores: Scores | None = None) -> Landmarks:
        """Return the landmarks of one fold, with the scores of all distinct rows.

        Parameters
        ----------
        table : DataFrame
            See :meth:`~kreinflow.landmarks.selector.Selector.select`.
        scores : Scores, optional
            Where the scores are, if they are not among the columns of the run.

        Raises
        ------
        InputError
            If a landmark is not among the columns.
        """
        rows = table["row"].to_numpy(np.int64)
        if scores is None and not np.isin(rows, self.union).all():
            raise InputError(
                "columns/landmarks.tsv lacks a landmark of this fold. Delete the folder columns of "
                "the data set's results and run again."
            )
        codes = {label: code for code, label in enumerate(self.dataset.classes)}
        columns: MatrixLike | NDArray[Any]
        if scores is not None:
            shape = len(self.dataset.digests), len(rows)
            columns = TiledMatrix(shape, lambda places: scores.rectangle(places, rows))
        else:
            every = np.array_equal(rows, self.union)  # then nothing needs to be copied
            columns = TiledMatrix.mapped(
                self.scores, None if every else np.searchsorted(self.union, rows)
            )
        return Landmarks(
            scores=columns,
            self_scores=self.self_scores,
            lengths=self.dataset.lengths.astype(np.float64),
            rows=self.alike(rows),
            classes=np.array([codes[label] for label in table["class"]], dtype=np.int64),
            kind=self.dataset.kind,
            reverse=reverse_scores(self.dataset, rows),
        )

    def alike(self, rows: IntArray) -> IntArray:
        """Return the first row with the object of each row: two classes may hold the same one."""
        return self.dataset.first_identical[rows]

    @cached_property
    def _group_names(self) -> NDArray[np.str_]:
        """Group of each record by the least digest of its rows: numbers shift as data grow."""
        digests = np.array(self.dataset.digests)[self.dataset.rows]
        order = np.argsort(digests, kind="stable")
        _, first, group = np.unique(
            self.partition.groups[order], return_index=True, return_inverse=True
        )
        names = np.empty_like(digests)
        names[order] = digests[order][first][group]
        return names

    def choose_again(
        self, stage: LandmarkStage, selector: Selector, count: int
    ) -> ChooseAgain | None:
        """Return how the landmarks of a fold are chosen without some of its training records.

        Parameters
        ----------
        stage : LandmarkStage
            Of the fold.
        selector : Selector
        count : int
            The landmarks that it chose from all training records.

        Returns
        -------
        callable or None
            Takes places in the training part, and returns the landmarks: of a budget, the same
            share of the records that are left. None if other landmarks would cost alignments, or
            the user named them.
        """
        if not self.dataset.payload.free or selector.needs == "table":
            return None

        whole = len(stage.rows)

        def chosen(held_out: IntArray) -> Landmarks:
            fewer, own = stage.without(held_out), selector
            if selector.settings.get("budget") is not None:  # the same share of fewer records
                wanted = max(1, round(count * len(fewer.rows) / whole))
                own = type(selector)({**selector.settings, "budget": wanted})
            return self.landmarks(fewer.select(own), stage.scores)

        return chosen

    def hits(self, fold: str) -> Hits:
        """Return what finds the best hits of the records that a fold tests.

        Of the columns only rows that the fold trains on are looked at. Others are landmarks of
        other folds, and may be what is tested. Those that were are searched once for all recipes.
        """
        if fold not in self._searched:
            training = self.dataset.rows[self.partition.training(fold)]
            rows = np.intersect1d(self.union, training)
            labels = [self.dataset.row_labels[row] for row in rows]
            self._searched[fold] = Searched(
                self.landmarks(pd.DataFrame({"row": rows, "class": labels})),
                self.training_part(fold),
                self.dataset.rows[self.partition.testing(fold)],
                self._digest_ranks,
            )
        return Hits(self._searched[fold])

    @cached_property
    def _searched(self) -> dict[str, Searched]:
        return {}

    @cached_property
    def _digest_ranks(self) -> IntArray:
        return np.unique(self.dataset.digests, return_inverse=True)[1]

    @cached_property
    def objects(self) -> Viewed:
        """The distinct rows as views see them."""
        return objects_of(self.dataset)

    def lifting(
        self, part: TrainingPart, letters: str, seed: int, recipe: Mapping[str, Any]
    ) -> Lifting:
        """Return what the views and the lift of a recipe make of a training part.

        Parameters
        ----------
        part : TrainingPart
        letters : str
            That sequences are made of, for their words.
        seed : int
        recipe : mapping
        """
        return Lifting(
            self.objects,
            part,
            recipe["views"],
            recipe["lift"],
            hash_keys(seed, "inducing points", self.dataset.digests),
            letters,
        )

    def asking(
        self,
        scheme: ScoringScheme,
        backend: str,
        threads: int,
        strangers: Strangers | None = None,
    ) -> ScoreCache:
        """Return the scores of distinct rows and strangers with each other; see :func:`asking`."""
        others = () if strangers is None else strangers.sequences
        return asking([*self.dataset.sequences, *others], scheme, backend, threads)

    def strangers(self, part: TrainingPart, scheme: ScoringScheme, seed: int) -> Strangers:
        """Return what has no relative, made of the records of a training part."""
        dataset, n = self.dataset, len(self.dataset.digests)
        sources, made = made_strange(dataset.sequences, dataset.digests, part.rows, seed)
        own = self_scores(pack(made), np.arange(len(made)), scheme, 1)
        lengths = np.array([len(sequence) for sequence in made], dtype=np.float64)
        return Strangers(sources, made, own.astype(np.float64), lengths, n)

    def training_part(self, fold: str) -> TrainingPart:
        """Return the records that a fold learns from."""
        return self._part(self.partition.training(fold))

    def testing_part(self, fold: str) -> TrainingPart:
        """Return the records that a fold measures, in the form of those it learns from."""
        return self._part(self.partition.testing(fold))

    def _part(self, mask: NDArray[np.bool_]) -> TrainingPart:
        return TrainingPart(
            rows=self.alike(self.dataset.rows[mask]),
            labels=self.dataset.labels[mask],
            groups=self._group_names[mask],
            classes=self.dataset.classes,
            memberships=None
            if self.dataset.memberships is None
            else self.dataset.memberships[mask],
        )


def objects_of(dataset: Dataset) -> Viewed:
    """Return the distinct rows of a data set as views see them."""
    payload = dataset.payload
    return Viewed(
        payload.residues if isinstance(payload, Sequences) else None,
        dataset.vectors,
    )


CHECKED = 0.01
"""Share of the pairs of a call that parasail scores too, until it has scored 1,000 in the job."""

_ASKING_ROWS = TILE // 4  # objects that are answered together: each may ask thousands of records


def asking(
    sequences: Sequence[bytes], scheme: ScoringScheme, backend: str, threads: int
) -> ScoreCache:
    """Return the scores of sequences with each other, which are aligned when they are asked for.

    Parameters
    ----------
    sequences : sequence of bytes
    scheme : ScoringScheme
    backend : str
        As in the config. Some pairs are held against parasail; see :data:`CHECKED`.
    threads : int
        Scores do not depend on it.

    Raises
    ------
    KreinflowError
        When it is asked, if a score is not that of parasail.
    """
    packed, aligner = pack(sequences), backend_named(backend)
    left = 0 if backend == "parasail" else SAMPLE

    def ask(rows: IntArray, others: IntArray) -> NDArray[np.int32]:
        nonlocal left
        scores = align_pair_lists(packed, rows, others, scheme, threads, aligner)
        tell_aligned(int(np.count_nonzero(others >= 0)))
        if most := min(left, math.ceil(CHECKED * np.count_nonzero(others >= 0))):
            advice = "Set the alignment backend parasail."
            r, c = drawn_pairs(others >= 0, most)
            pairs = rows[r], others[r, c]
            compare_with_parasail(packed, pairs, scores[r, c], scheme, threads, advice)
            left -= r.size
        return scores

    return ScoreCache(ask, len(sequences), symmetric=True)


def open_run(files: Any) -> Run:
    """Read what the factor and the models of any fold need.

    Parameters
    ----------
    files : object
        With the paths records, folds, columns, union and self_scores as attributes.
    """
    dataset = read_dataset(Path(files.records).parent)
    run = Run(
        dataset=dataset,
        partition=read_partition(files.folds, dataset),
        scores=open_array(files.columns, 2),
        union=read_union([files.union], dataset),
        self_scores=np.asarray(open_array(files.self_scores, 1), dtype=np.float64),
    )
    n = len(dataset.digests)
    if run.scores.shape != (n, len(run.union)) or run.self_scores.shape != (n,):
        raise InputError(
            f"{Path(files.columns).parent}: the columns are not those of this data set and of "
            f"{files.union}. Delete the folder and run again."
        )
    return run


def read_landmark_table(path: Path, dataset: Dataset) -> pd.DataFrame:
    """Read the landmarks of one fold."""
    return read_rows(path, dataset, ["class", "weight", "radius", "reached"])


def fold_queries(
    run: Run,
    landmarks: Landmarks,
    rows: IntArray,
    classifier: LandmarkClassifier,
    cache: ScoreCache | None = None,
    hits: Hits | None = None,
) -> Callable[[IntArray], Query]:
    """Return what makes a query of distinct rows, by their places in ``rows``.

    Parameters
    ----------
    run : Run
    landmarks : Landmarks
    rows : ndarray of shape (n,)
    classifier : LandmarkClassifier
    cache : ScoreCache, optional
        Of the distinct rows with each other; without it the first stage answers.
    hits : Hits, optional
        Takes note of what is asked.
    """
    records = classifier.records

    def query(places: IntArray) -> Query:
        own, ask = rows[places], None
        if cache is not None and records is not None:
            ask = cache.of_rows(own, records.rows)
            ask = ask if hits is None else hits.heard(ask, places, records)
        return Query(
            np.asarray(landmarks.scores[own]),
            landmarks.self_scores[own],
            landmarks.lengths[own],
            run.objects.take(own) if classifier.looks_at_objects else None,
            ask,
        )

    return query


def answer_rows(
    classifier: LandmarkClassifier, n: int, query: Callable[[IntArray], Query], asks: bool
) -> Answers:
    """Return the answers for n objects, of which some at a time are read and answered.

    Parameters
    ----------
    classifier : LandmarkClassifier
    n : int
    query : callable
        Takes places of objects.
    asks : bool
        Whether training records are asked: a thread does it then.
    """
    nothing = Answers.of_first(np.empty((0, len(classifier.classes))), 0.0)

    def answer(part: slice) -> Answers:
        return classifier.answer(query(np.arange(part.start, part.stop)))

    if not asks:
        return Answers.joined([nothing, *tile_map(answer, n)])
    starts = range(0, n, _ASKING_ROWS)
    parts = [slice(start, min(start + _ASKING_ROWS, n)) for start in starts]
    with single_threaded():
        return Answers.joined([nothing, *map(answer, parts)])


def climb_fold(
    run: Run, landmarks: Landmarks, fold: str, classifier: LandmarkClassifier, cache: ScoreCache
) -> Climbed:
    """Return what all levels of a cascade say of the records that a fold tests.

    Parameters
    ----------
    run : Run
    landmarks : Landmarks
    fold : str
        That tests records.
    classifier : LandmarkClassifier
        With a cascade.
    cache : ScoreCache
        Of the distinct rows.
    """
    cascade, rows = classifier.cascade, run.dataset.rows[run.partition.testing(fold)]
    assert cascade is not None, "a model without a cascade"
    hits = run.hits(fold)
    query = fold_queries(run, landmarks, rows, classifier, cache, hits)
    with single_threaded():
        parts = [
            cascade.climbed(cascade.scores(classifier.decided(query(places))))
            for places in np.split(
                np.arange(len(rows)), range(_ASKING_ROWS, len(rows), _ASKING_ROWS)
            )
        ]
    said = [
        Said(*map(np.concatenate, zip(*level, strict=True))) for level in zip(*parts, strict=True)
    ]
    return Climbed(cascade, said, _first_alignments(run, classifier), hits)


def _first_alignments(run: Run, classifier: LandmarkClassifier) -> int:
    """Return the alignments of an object before it asks any record."""
    with_itself = run.dataset.kind == "sequences" and classifier.transform.name != "raw"
    return classifier.n_landmarks + int(with_itself)


def predict_fold(
    run: Run,
    landmarks: Landmarks,
    fold: str,
    recipe: str,
    classifier: LandmarkClassifier,
    cache: ScoreCache | None = None,
    hits: Hits | None = None,
) -> pd.DataFrame:
    """Return the predictions of one classifier for the records that a fold tests.

    Of records with several labels, ``true`` and ``predicted`` are all of them, in the order of the
    classes with a semicolon between; a prediction may be none.

    Parameters
    ----------
    run : Run
    landmarks : Landmarks
    fold, recipe : str
    classifier : LandmarkClassifier
    cache : ScoreCache, optional
        Of the distinct rows. Without it the first stage predicts.
    hits : Hits, optional
        What knows already of pairs that were asked.

    Returns
    -------
    DataFrame
        See :mod:`kreinflow.evaluation.metrics`. Of a classifier with levels it has the columns
        node, which is empty for the root, and node_probability besides.
    """
    tested = np.flatnonzero(run.partition.testing(fold))
    rows, hits = run.dataset.rows[tested], hits or run.hits(fold)
    query = fold_queries(run, landmarks, rows, classifier, cache, hits)
    asks = cache is not None and classifier.records is not None
    answers = answer_rows(classifier, len(rows), query, asks)
    probabilities = answers.probabilities
    classes = np.array(run.dataset.classes, dtype=object)
    true, predicted = classes[run.dataset.labels[tested]], classes[probabilities.argmax(axis=1)]
    if classifier.several is not None and run.dataset.memberships is not None:
        true = joined(run.dataset.classes, run.dataset.memberships[tested])
        predicted = joined(run.dataset.classes, classifier.several.chosen(probabilities))
    repeat, number = fold_numbers(fold)
    table = pd.DataFrame(
        {
            "recipe": recipe,
            "repeat": repeat,
            "fold": number,
            "id": [run.dataset.ids[i] for i in tested],
            "true": true,
            "predicted": predicted,
            "reason": answers.reason,
            "unknown_p": answers.p_value,
            "alignments": _first_alignments(run, classifier) + answers.alignments,
        }
    )
    table = pd.concat([table, hits.table()], axis=1)
    if classifier.levels is not None:
        answered = classifier.levels.answer(probabilities, answers.deepest)
        nodes = np.array(classifier.levels.tree.nodes, dtype=object)
        table = table.assign(node=nodes[answered.node], node_probability=answered.probability)
    columns = pd.DataFrame(probabilities, columns=[f"p_{label}" for label in classes])
    predictions = pd.concat([table, columns], axis=1)
    if classifier.calibration is None:
        return predictions
    sets = outcomes(classifier.calibration, probabilities, run.dataset.labels[tested])
    return pd.concat([predictions, sets], axis=1)


@dataclass(frozen=True, eq=False)
class UnknownRecords:
    """The records that are held out as unknown.

    Parameters
    ----------
    table : DataFrame
        Columns id, label, row, length, self_score.
    scores : ndarray of shape (n_rows, n_union)
        Of their distinct rows with the union of the landmarks.
    union : ndarray of shape (n_union,)
        The rows of these in the data set.
    objects : Viewed or None
        The distinct rows as views see them.
    cache : ScoreCache or None
        Scores of the distinct rows, and behind them those of the data set, with each other: for
        classifiers that ask records.
    """

    table: pd.DataFrame
    scores: NDArray[Any]
    union: IntArray
    objects: Viewed | None = None
    cache: ScoreCache | None = None

    def predict(
        self, landmark_rows: IntArray, fold: str, recipe: str, classifier: LandmarkClassifier
    ) -> pd.DataFrame:
        """Return the predictions of one classifier, whose landmarks are these rows.

        Returns
        -------
        DataFrame
            With the columns of :data:`kreinflow.evaluation.unknown.UNKNOWN_COLUMNS`.
        """
        columns = np.searchsorted(self.union, landmark_rows)
        rows = self.table["row"].to_numpy(np.int64)
        own, lengths = (self.table[name].to_numpy(np.float64) for name in ("self_score", "length"))
        records, cache = classifier.records, self.cache

        def query(places: IntArray) -> Query:
            part, ask = rows[places], None
            if records is not None and cache is not None:
                ask = cache.of_rows(part, len(self.scores) + records.rows)
            return Query(
                np.asarray(self.scores[part])[:, columns],
                own[places],
                lengths[places],
                None if self.objects is None else self.objects.take(part),
                ask,
            )

        asks = records is not None and cache is not None
        answers = answer_rows(classifier, len(rows), query, asks)
        repeat, number = fold_numbers(fold)
        classes = np.array(classifier.classes, dtype=object)
        return pd.DataFrame(
            {
                "recipe": recipe,
                "repeat": repeat,
                "fold": number,
                "id": self.table["id"],
                "true": self.table["label"],
                "predicted": classes[answers.probabilities.argmax(axis=1)],
                "reason": answers.reason,
                "unknown_p": answers.p_value,
                "probability": answers.probabilities.max(axis=1),
                "reject": np.where(answers.rejected, "yes", "no"),
            }
        )
