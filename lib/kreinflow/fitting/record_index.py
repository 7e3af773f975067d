"""Queries of rows of a run, and the training records that they may ask, with an index of them."""

import numpy as np

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.answering.nearest_records import Records
from kreinflow.answering.query_and_answers import NOBODY, Ask, Query
from kreinflow.base.numerics import IntArray
from kreinflow.krein.landmark_kernel import Landmarks, TrainingPart
from kreinflow.views.lift import Lift
from kreinflow.views.objects import Viewed
from kreinflow.views.seeds import Seeds


def records_of(
    index: Lift, seeds: Seeds | None, part: TrainingPart, landmarks: Landmarks, places: IntArray
) -> Records:
    """Return records of a training part, by their places in it, with the indexes of them."""
    rows = part.rows[places]
    return Records(
        index=index,
        classes=part.labels[places],
        rows=rows,
        self_scores=landmarks.self_scores[rows],
        lengths=landmarks.lengths[rows],
        landmarks=places_of(landmarks.rows, rows),
        seeds=seeds,
    )


def places_of(wanted: IntArray, rows: IntArray) -> IntArray:
    """Return the first place of each number among others, -1 for one that is not there."""
    order = np.argsort(rows, kind="stable")
    at = np.minimum(np.searchsorted(rows, wanted, sorter=order), len(rows) - 1)
    found = order[at]
    return np.where(rows[found] == wanted, found, NOBODY)


def row_query(
    landmarks: Landmarks, rows: IntArray, objects: Viewed | None = None, ask: Ask | None = None
) -> Query:
    """Return the query of distinct rows; ``objects`` are all of them, as views see them."""
    return Query(
        np.asarray(landmarks.scores[rows]),
        landmarks.self_scores[rows],
        landmarks.lengths[rows],
        None if objects is None else objects.take(rows),
        ask,
    )


def first_alignments(landmarks: Landmarks, transform: ScoreTransform) -> int:
    """Return the alignments of an object before it asks records: landmarks, and itself."""
    return len(landmarks.rows) + (landmarks.kind == "sequences" and transform.name != "raw")
