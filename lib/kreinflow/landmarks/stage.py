"""The landmarks of a fold: what the selector may look at, and what it chooses."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.base.errors import InputError
from kreinflow.base.late import pandas as pd
from kreinflow.base.numerics import FloatArray, IntArray
from kreinflow.base.wording import abridged
from kreinflow.landmarks.budgets import landmarks_wanted
from kreinflow.landmarks.candidates import SKETCH, all_candidates, candidate_order, first_candidates
from kreinflow.landmarks.sampled_scores import Kind, Sketch
from kreinflow.landmarks.selector import SelectionProblem, Selector
from kreinflow.sequences.dataset import Dataset, read_rows
from kreinflow.sequences.partition import ALL, Partition
from kreinflow.sequences.scores import Scores
from kreinflow.sequences.user_tables import read_columns


def training_parts(partition: Partition) -> int:
    """Return how many sets of landmarks there are: one a fold, and the final model's."""
    return len(partition.names) + 1


def given_landmarks(dataset: Dataset, selector: Mapping[str, Any], data: Path) -> IntArray | None:
    """Return the rows that the table of a selector names, or None if it has no table."""
    if "table" not in selector:
        return None
    path = Path(data) / selector["table"]
    ids = [id for _, id, _ in read_columns(path, ("id", "id"))]
    row_of = dict(zip(dataset.ids, dataset.rows.tolist(), strict=True))
    unknown = [id for id in ids if id not in row_of]
    if unknown:
        raise InputError(
            f"{path}: {len(unknown)} of {len(ids)} ids are not in the data set: "
            f"{abridged(unknown)}. Take them out of the table, or put the records into the data."
        )
    rows = np.unique(np.array([row_of[id] for id in ids], dtype=np.int64))
    if lacking := np.setdiff1d(rows, dataset.that_may_be_landmarks(rows)).tolist():
        named = abridged([dataset.first_id(row) for row in lacking])
        fault = f"{len(lacking)} ids lack scores with others: {named}. Leave them out."
        raise InputError(f"{path}: {fault}")
    return rows


def list_candidates(
    dataset: Dataset,
    partition: Partition,
    seed: int,
    candidates: int | None = 0,
    sketch: int | None = 0,
) -> dict[str, IntArray]:
    """Return the rows that class scores, and under :data:`SKETCH` sketches, of any fold need."""
    trained = (np.unique(dataset.rows[partition.training(f)]) for f in [*partition.names, ALL])
    folds = [dataset.that_may_be_landmarks(rows) for rows in trained]
    chosen: dict[str, IntArray] = {}
    everyone = [SKETCH] * len(dataset.digests)
    wanted = ("sketch", everyone, sketch), ("candidates", dataset.row_labels, candidates)
    for name, labels, count in wanted:
        if count != 0:
            order = candidate_order(dataset.digests, seed, name)
            chosen |= all_candidates(order, labels, folds, count)
    return chosen


def candidate_rectangles(
    dataset: Dataset, candidates: Mapping[str, IntArray]
) -> list[tuple[IntArray, IntArray]]:
    """Return the rows and columns to align for each class: its members, or all for the sketch."""
    labels = np.array(dataset.row_labels)
    return [
        (np.flatnonzero((labels == label) | (label == SKETCH)), rows)
        for label, rows in candidates.items()
    ]


def read_candidates(path: Path, dataset: Dataset) -> dict[str, IntArray]:
    """Return the candidates of each class, in their order."""
    table = read_rows(path, dataset, ["class"])
    return {str(label): part["row"].to_numpy() for label, part in table.groupby("class")}


def read_union(paths: Iterable[Path], dataset: Dataset) -> IntArray:
    """Return the distinct rows that are a landmark in any of the tables, in order."""
    return np.unique(np.concatenate([read_rows(path, dataset)["row"] for path in paths]))


@dataclass(frozen=True, eq=False)
class LandmarkStage:
    """One fold, for which selectors choose landmarks. They see its training records alone.

    ``training`` is a mask of these (else all), ``transforms`` are those that selectors name, and
    ``parts`` the training parts that a budget of alignments has to suffice for.
    """

    dataset: Dataset
    scores: Scores
    transforms: Mapping[str, ScoreTransform]
    seed: int
    training: NDArray[np.bool_] | None = None
    fold: str = ALL
    parts: int = 1

    def without(self, records: IntArray) -> "LandmarkStage":
        """Return the stage of a training part that lacks some records, given by their places."""
        mask = np.ones(len(self.dataset.rows), bool) if self.training is None else self.training
        training = np.zeros_like(mask)
        training[np.delete(np.flatnonzero(mask), records)] = True
        return replace(self, training=training)

    def select(
        self, selector: Selector, matched: int | None = None, given: IntArray | None = None
    ) -> "pd.DataFrame":
        """See :meth:`Selector.select`, :func:`landmarks_wanted` and :func:`given_landmarks`."""
        settings = selector.settings
        digests, classes = self.dataset.digests, len(self.dataset.classes)
        size = len(self._trained), matched, classes, len(digests), self.parts
        budget = landmarks_wanted(settings.get("budget"), *size)
        if isinstance(settings.get("budget"), Mapping):
            budget = min(budget or 0, len(self.rows))
        seen: dict[str, Any] = {"given": given}
        if "transform" in settings:
            transform = self.transforms[settings["transform"]]
            if selector.needs == "class_scores":
                seen["class_scores"] = self.class_scores(transform, settings["candidates"])
            else:
                seen["sketch"] = self.sketch(transform, settings["sketch"])
        return selector.select(
            SelectionProblem(self._members, digests, self.seed, self.fold, budget, **seen)
        )

    def class_scores(self, transform: ScoreTransform, candidates: int | None) -> list[Sketch]:
        """Return the scores inside each class; None takes all members as candidates."""
        order = candidate_order(self.dataset.digests, self.seed)
        chosen = first_candidates(order, self.dataset.row_labels, self.rows, candidates)
        parts = [(members, chosen[label]) for label, members in self._members.items()]
        return [
            Sketch(own, np.searchsorted(own, few), *self._compared(transform, own, few))
            for own, few in parts
        ]

    def sketch(self, transform: ScoreTransform, count: int | None) -> Sketch:
        """Return the scores of all rows with some of them, drawn uniformly; None takes all."""
        rows = self.rows
        order = candidate_order([self.dataset.digests[row] for row in rows], self.seed, "sketch")
        return Sketch(rows, order, *self._compared(transform, rows, rows[order[:count]]))

    def _compared(
        self, transform: ScoreTransform, rows: IntArray, others: IntArray
    ) -> tuple[FloatArray, FloatArray, Kind]:
        """Return transformed scores of rows with others and with themselves, and their kind."""
        own, lengths = self._own, self.dataset.lengths
        sides = own[rows], own[others], lengths[rows], lengths[others]
        columns = transform.apply(self.scores.rectangle(rows, others), *sides)
        dissimilar = self.dataset.kind == "squared_dissimilarity"
        kind: Kind = "squared_dissimilarity" if dissimilar else "similarity"
        return columns, transform.self_similarity(own[rows], lengths[rows]), kind

    @cached_property
    def _trained(self) -> IntArray:
        rows = self.dataset.rows
        return np.unique(rows if self.training is None else rows[self.training])

    @property
    def rows(self) -> IntArray:
        """The training rows that may be landmarks."""
        return self.dataset.that_may_be_landmarks(self._trained)

    @cached_property
    def _members(self) -> dict[str, IntArray]:
        labels = np.asarray(self.dataset.row_labels)[self.rows]
        return {str(label): self.rows[labels == label] for label in np.unique(labels)}

    @cached_property
    def _own(self) -> FloatArray:
        return self.scores.self_scores()
