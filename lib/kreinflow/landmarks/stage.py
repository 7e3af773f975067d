"""The landmarks of a fold: what the selector may look at, and what it chooses."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.transforms import ScoreTransform
from kreinflow.artifacts import read_table
from kreinflow.errors import InputError
from kreinflow.landmarks.candidates import (
    SKETCH,
    all_candidates,
    candidate_order,
    first_candidates,
)
from kreinflow.landmarks.features import ClassScores, Kind
from kreinflow.landmarks.selector import (
    SelectionProblem,
    Selector,
    landmarks_wanted,
)
from kreinflow.landmarks.sketch import Sketch
from kreinflow.numerics import IntArray
from kreinflow.scores import Scores
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.files import first_few
from kreinflow.sequences.labels import read_columns
from kreinflow.sequences.partition import ALL, Partition


def training_parts(partition: Partition) -> int:
    """Return how many sets of landmarks a selector chooses: one a fold, and the final model's."""
    return len(partition.names) + 1


def given_landmarks(dataset: Dataset, selector: Mapping[str, Any], data: Path) -> IntArray | None:
    """Return the rows that the table of a selector names, or None if it has no table.

    Raises
    ------
    InputError
        If the table cannot be read, or names what the data set does not hold.
    """
    if "table" not in selector:
        return None
    path = Path(data) / selector["table"]
    ids = [id for _, id, _ in read_columns(path, ("id", "id"))]
    row_of = dict(zip(dataset.ids, dataset.rows.tolist(), strict=True))
    unknown = [id for id in ids if id not in row_of]
    if unknown:
        raise InputError(
            f"{path}: {len(unknown)} of {len(ids)} ids are not in the data set: "
            f"{first_few(unknown)}. Take them out of the table, or put the records into the data."
        )
    return np.unique(np.array([row_of[id] for id in ids], dtype=np.int64))


def list_candidates(
    dataset: Dataset,
    partition: Partition,
    seed: int,
    candidates: int | None = 0,
    sketch: int | None = 0,
) -> dict[str, IntArray]:
    """Return the rows that class scores and sketches of any fold are computed against.

    Parameters
    ----------
    dataset : Dataset
    partition : Partition
    seed : int
    candidates : int or None
        Candidates of a class and fold; None takes all members, 0 none.
    sketch : int or None
        Rows of a fold's sketch; None takes all, 0 none. They stand under :data:`SKETCH`.

    Returns
    -------
    dict of str to ndarray
        Distinct rows of each class, in candidate order.
    """
    folds = [np.unique(dataset.rows[partition.training(f)]) for f in [*partition.names, ALL]]
    chosen: dict[str, IntArray] = {}
    if sketch != 0:
        order = candidate_order(dataset.digests, seed, "sketch")
        chosen |= all_candidates(order, [SKETCH] * len(order), folds, sketch)
    if candidates != 0:
        order = candidate_order(dataset.digests, seed)
        chosen |= all_candidates(order, dataset.row_labels, folds, candidates)
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


def read_candidates(path: Path) -> dict[str, IntArray]:
    """Return the candidates of each class, in their order."""
    table = read_table(path, ["class", "row"], text=["class"])
    return {str(label): part["row"].to_numpy(np.int64) for label, part in table.groupby("class")}


def read_union(paths: Iterable[Path]) -> IntArray:
    """Return the distinct rows that are a landmark in any of the tables, in order."""
    tables = [read_table(path, ["row"])["row"].to_numpy(np.int64) for path in paths]
    return np.unique(np.concatenate(tables))


def class_scores(
    dataset: Dataset,
    training: NDArray[np.bool_],
    scores: Scores,
    transform: ScoreTransform,
    candidates: int | None,
    seed: int,
    with_scores: bool,
) -> list[ClassScores]:
    """Return the scores inside each class, of the distinct rows that a fold trains on.

    Parameters
    ----------
    dataset : Dataset
    training : ndarray of shape (n_records,), bool
    scores : Scores
    transform : ScoreTransform
    candidates : int or None
        Candidates of a class; None takes all its members.
    seed : int
    with_scores : bool
        False for selectors that look at no score.
    """
    rows = np.unique(dataset.rows[training])
    labels = np.asarray(dataset.row_labels)
    order = candidate_order(dataset.digests, seed)
    chosen = first_candidates(order, dataset.row_labels, rows, candidates)
    own, lengths = scores.self_scores() if with_scores else np.empty(0), dataset.lengths
    parts = []
    for label, picked in chosen.items():
        members = rows[labels[rows] == label]
        if not with_scores:
            parts.append(ClassScores.without_scores(label, members))
            continue
        columns = transform.apply(
            scores.rectangle(members, picked),
            own[members],
            own[picked],
            lengths[members],
            lengths[picked],
            (members, picked),
        )
        parts.append(
            ClassScores(
                label,
                members,
                np.searchsorted(members, picked),
                columns,
                transform.self_similarity(own[members], lengths[members]),
                _kind(dataset),
            )
        )
    return parts


def _kind(dataset: Dataset) -> Kind:
    dissimilar = dataset.kind == "squared_dissimilarity"
    return "squared_dissimilarity" if dissimilar else "similarity"


def sketch_scores(
    dataset: Dataset,
    training: NDArray[np.bool_],
    scores: Scores,
    transform: ScoreTransform,
    count: int | None,
    seed: int,
) -> Sketch:
    """Return the scores of the distinct rows that a fold trains on with some of them.

    Parameters
    ----------
    dataset : Dataset
    training : ndarray of shape (n_records,), bool
    scores : Scores
    transform : ScoreTransform
    count : int or None
        Rows that the sketch is made of; None takes all.
    seed : int
    """
    rows = np.unique(dataset.rows[training])
    order = candidate_order([dataset.digests[row] for row in rows], seed, "sketch")
    drawn = rows[order[:count]]
    own, lengths = scores.self_scores(), dataset.lengths
    return Sketch(
        rows,
        order,
        transform.apply(
            scores.rectangle(rows, drawn),
            own[rows],
            own[drawn],
            lengths[rows],
            lengths[drawn],
            (rows, drawn),
        ),
        transform.self_similarity(own[rows], lengths[rows]),
        _kind(dataset),
    )


def select_landmarks(
    selector: Selector,
    dataset: Dataset,
    training: NDArray[np.bool_],
    scores: Scores,
    transform: ScoreTransform,
    seed: int,
    fold: str,
    matched: int | None = None,
    given: IntArray | None = None,
    parts: int = 1,
) -> pd.DataFrame:
    """Return the landmarks that a selector chooses for one fold.

    Parameters
    ----------
    selector : Selector
        It says which scores it needs, and how many landmarks are wanted.
    dataset : Dataset
    training : ndarray of shape (n_records,), bool
        The records that the fold trains on.
    scores : Scores
    transform : ScoreTransform
        That of the selector's settings.
    seed : int
    fold : str
        For messages.
    matched : int, optional
        The number of landmarks of the selector that the budget names.
    given : ndarray of int, optional
        See :func:`given_landmarks`.
    parts : int
        Training parts that a budget of alignments has to suffice for; see :func:`training_parts`.

    Returns
    -------
    DataFrame
        See :meth:`~kreinflow.landmarks.selector.Selector.select`.

    Examples
    --------
    The landmarks of a fold, without a workflow::

        selector = make_selector({"method": "leverage", "transform": "raw", "budget": 20})
        table = select_landmarks(
            selector, dataset, training, open_scores(dataset), make_transform("raw"), 1, "r0f0"
        )
    """
    settings = selector.settings
    n = len(np.unique(dataset.rows[training]))
    problem = SelectionProblem(
        classes=class_scores(
            dataset,
            training,
            scores,
            transform,
            settings.get("candidates"),
            seed,
            with_scores=selector.needs == "class_scores",
        ),
        digests=dataset.digests,
        seed=seed,
        fold=fold,
        budget=landmarks_wanted(
            settings.get("budget"),
            n,
            matched,
            classes=len(dataset.classes),
            objects=len(dataset.digests),
            parts=parts,
        ),
        sketch=sketch_scores(dataset, training, scores, transform, settings["sketch"], seed)
        if selector.needs == "sketch"
        else None,
        given=given,
    )
    return selector.select(problem)
