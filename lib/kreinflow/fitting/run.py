"""The files of a run that learning reads; see :mod:`kreinflow.sequences.scores`."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.backends import (
    SAMPLE,
    align_pair_lists,
    backend_named,
    compare_with_parasail,
    drawn_pairs,
)
from kreinflow.alignment.engine import pack, self_scores
from kreinflow.alignment.progress import tell_aligned
from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.alignment.traceback import aligned_identity
from kreinflow.answering.nearest_records import ScoreCache
from kreinflow.answering.query_and_answers import Ask
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.tiled_matrix import TiledMatrix, release
from kreinflow.files.arrays import open_array
from kreinflow.fitting.best_hits import Hits, Searched
from kreinflow.fitting.inner_folds import ChooseAgain
from kreinflow.fitting.strangers import Strangers, made_strange
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from kreinflow.landmarks.selector import Selector
from kreinflow.landmarks.stage import LandmarkStage, read_union
from kreinflow.sequences.dataset import Dataset, read_dataset, read_rows
from kreinflow.sequences.partition import Partition, read_partition
from kreinflow.sequences.payload import Sequences
from kreinflow.sequences.scores import Scores
from kreinflow.views.objects import Viewed

CHECKED = 0.01
"""Share of the pairs of a call that parasail scores too, until it has scored 1,000 in the job."""


@dataclass(frozen=True, eq=False)
class Run:
    """The tables and columns of a data set that all folds share.

    ``scores`` are of :func:`~kreinflow.sequences.scores.write_columns`, with the ``union`` of the
    landmarks; of an asymmetric kernel both ways.
    """

    dataset: Dataset
    partition: Partition
    scores: NDArray[Any]
    union: IntArray
    self_scores: FloatArray
    _searched: dict[str, Searched] = field(default_factory=dict, init=False)

    def landmarks(self, table: pd.DataFrame, scores: Scores | None = None) -> Landmarks:
        """Return the landmarks of one fold, with the scores of all distinct rows.

        ``table``: see :meth:`~kreinflow.landmarks.selector.Selector.select`. ``scores``: where they
        are, if not among the columns of the run.
        """
        rows = table["row"].to_numpy(np.int64)
        codes = {label: code for code, label in enumerate(self.dataset.classes)}
        columns: TiledMatrix | NDArray[Any]
        reverse: TiledMatrix | NDArray[Any] | None = None
        directed = self.dataset.kind == "asymmetric"
        if scores is not None:
            shape = len(self.dataset.digests), len(rows)
            columns = TiledMatrix(shape, lambda places: scores.rectangle(places, rows))
            if directed:
                reverse = TiledMatrix(shape, lambda places: _turned(scores.rectangle(rows, places)))
        elif np.isin(rows, self.union).all():
            same, m = np.array_equal(rows, self.union), len(self.union)
            own = np.arange(m) if same else np.searchsorted(self.union, rows)
            if directed:
                reverse = TiledMatrix.mapped(self.scores, own + m)
            every = same and not directed  # then nothing needs to be copied
            columns = TiledMatrix.mapped(self.scores, None if every else own)
        else:
            raise InputError(
                "columns/landmarks.tsv lacks a landmark of this fold. Delete the folder columns of "
                "the data set's results and run again."
            )
        return Landmarks(
            scores=columns,
            self_scores=self.self_scores,
            lengths=self.dataset.lengths.astype(np.float64),
            rows=self.dataset.first_identical[rows],  # two classes may hold the same object
            classes=np.array([codes[label] for label in table["class"]], dtype=np.int64),
            kind=self.dataset.kind,
            reverse=reverse,
        )

    @cached_property
    def _group_names(self) -> NDArray[np.str_]:
        """Group of each record by the least digest of its rows: numbers shift as data grow."""
        digests = np.array(self.dataset.digests)[self.dataset.rows]
        order = np.argsort(digests, kind="stable")
        groups = self.partition.groups
        _, first = np.unique(groups[order], return_index=True)
        return digests[order][first][np.unique(groups, return_inverse=True)[1]]

    def choose_again(
        self, stage: LandmarkStage, selector: Selector, count: int
    ) -> ChooseAgain | None:
        """Return how the landmarks of a fold are chosen without some of its training records.

        Of a budget, the same share is chosen as the ``count`` that were chosen from all records.
        None if others would cost alignments, or the user named them.
        """
        if not self.dataset.payload.free or selector.needs == "table":
            return None

        def chosen(held_out: IntArray) -> Landmarks:
            fewer, own = stage.without(held_out), selector
            if selector.settings.get("budget") is not None:
                wanted = max(1, round(count * len(fewer.rows) / len(stage.rows)))
                own = type(selector)({**selector.settings, "budget": wanted})
            return self.landmarks(fewer.select(own), stage.scores)

        return chosen

    def hits(self, fold: str, scheme: ScoringScheme | None = None) -> Hits:
        """Return what finds the best hits of the records that a fold tests.

        Of the columns only rows that the fold trains on are searched: others may be tested. The
        ``scheme``, always the same, is that of sequences.
        """
        if fold not in self._searched:
            training = self.dataset.rows[self.partition.training(fold)]
            rows = np.intersect1d(self.union, training)
            labels = [self.dataset.row_labels[row] for row in rows]
            columns = self.landmarks(pd.DataFrame({"row": rows, "class": labels}))
            tested = self.dataset.rows[self.partition.testing(fold)]
            ranks = np.unique(self.dataset.digests, return_inverse=True)[1]
            part = self.training_part(fold)
            identity = None if scheme is None else _identities(self.dataset.sequences, scheme)
            self._searched[fold] = Searched(columns, part, tested, ranks, identity)
        return Hits(self._searched[fold])

    @cached_property
    def objects(self) -> Viewed:
        """The distinct rows as views see them."""
        return objects_of(self.dataset)

    def pair_scores(
        self, scheme: ScoringScheme, backend: str, threads: int, strangers: Strangers | None = None
    ) -> ScoreCache:
        """Return the scores of distinct rows and strangers; those with landmarks are known."""
        others = () if strangers is None else strangers.sequences
        sequences = [*self.dataset.sequences, *others]
        return pair_scores(sequences, scheme, backend, threads, self._of_columns)

    def _of_columns(self, rows: IntArray, others: IntArray) -> FloatArray:
        """Return the scores of pairs that the columns have, NaN of others; -1 is no row."""
        n, found = len(self.scores), np.full(others.shape, np.nan)
        column_of = np.full(n + 1, -1)
        column_of[self.union] = np.arange(len(self.union))
        one, other = (np.where(of < n, of, -1) for of in (rows[:, None] + 0 * others, others))
        for row, column in ((one, column_of[other]), (other, column_of[one])):
            there = (row >= 0) & (column >= 0)
            found[there] = self.scores[row[there], column[there]]
        release(self.scores)
        return found

    def strangers(self, part: TrainingPart, scheme: ScoringScheme, seed: int) -> Strangers:
        """Return sequences without a relative, made of the records of a training part."""
        dataset = self.dataset
        sources, made = made_strange(dataset.sequences, dataset.digests, part.rows, seed)
        own = self_scores(pack(made, scheme), np.arange(len(made)))
        return Strangers(sources, made, own.astype(np.float64))

    def training_part(self, fold: str) -> TrainingPart:
        """Return the records that a fold learns from."""
        return self._part(self.partition.training(fold))

    def testing_part(self, fold: str) -> TrainingPart:
        """Return the records that a fold measures, in the form of those it learns from."""
        return self._part(self.partition.testing(fold))

    def _part(self, mask: NDArray[np.bool_]) -> TrainingPart:
        memberships, paths = self.dataset.memberships, self.dataset.paths
        return TrainingPart(
            rows=self.dataset.first_identical[self.dataset.rows[mask]],
            labels=self.dataset.labels[mask],
            groups=self._group_names[mask],
            classes=self.dataset.classes,
            memberships=None if memberships is None else memberships[mask],
            paths=None if paths is None else tuple(compress(paths, mask)),
        )


def _turned(scores: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(scores.T)


def _identities(sequences: Sequence[bytes], scheme: ScoringScheme) -> Callable[[int, int], float]:
    @cache  # most recipes have the same hits
    def identity(row: int, other: int) -> float:
        return aligned_identity(sequences[row], sequences[other], scheme)

    return identity


def objects_of(dataset: Dataset) -> Viewed:
    """Return the distinct rows of a data set as views see them."""
    payload = dataset.payload
    residues = payload.residues if isinstance(payload, Sequences) else None
    return Viewed(residues, dataset.vectors)


def pair_scores(
    sequences: Sequence[bytes],
    scheme: ScoringScheme,
    backend: str,
    threads: int,
    known: Ask | None = None,
) -> ScoreCache:
    """Return the scores of sequences with each other, which are aligned when they are asked for.

    But for those that are ``known``, see :class:`ScoreCache`.

    Some pairs are held against parasail (see :data:`CHECKED`): KreinflowError if a score differs.
    """
    packed, aligner = pack(sequences, scheme, threads), backend_named(backend)
    left = 0 if backend == "parasail" else SAMPLE

    def ask(rows: IntArray, others: IntArray) -> NDArray[np.int32]:
        nonlocal left
        scores = align_pair_lists(packed, rows, others, aligner)
        count = int(np.count_nonzero(others >= 0))
        tell_aligned(count)
        if most := min(left, math.ceil(CHECKED * count)):
            advice = "Set the alignment backend parasail."
            r, c = drawn_pairs(others >= 0, most)
            pairs = rows[r], others[r, c]
            compare_with_parasail(packed, pairs, scores[r, c], advice)
            left -= r.size
        return scores

    return ScoreCache(ask, len(sequences), symmetric=True, known=known)


def open_run(files: Any) -> Run:
    """Read what the models of any fold need.

    ``files``: with the paths records, folds, columns, union and self_scores as attributes.
    """
    dataset = read_dataset(Path(files.records).parent)
    run = Run(
        dataset=dataset,
        partition=read_partition(files.folds, dataset),
        scores=open_array(files.columns, 2),
        union=read_union([files.union], dataset),
        self_scores=np.asarray(open_array(files.self_scores, 1), dtype=np.float64),
    )
    n, m = len(dataset.digests), len(run.union) * (2 if dataset.kind == "asymmetric" else 1)
    if run.scores.shape != (n, m) or run.self_scores.shape != (n,):
        raise InputError(
            f"{Path(files.columns).parent}: the columns are not those of this data set and of "
            f"{files.union}. Delete the folder and run again."
        )
    return run


def read_landmark_table(path: Path, dataset: Dataset) -> pd.DataFrame:
    """Read the landmarks of one fold."""
    return read_rows(path, dataset, ["class", "weight", "radius", "reached"])
