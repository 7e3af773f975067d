"""The files of a run, read into the objects that the library works with.

The scripts of the workflow stand on this module up to the columns, and on
:mod:`kreinflow.models.run` from there on: a changed learner must not make the rules before it
run again. Both know what a file means, not who made it.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kreinflow.alignment.scoring import ScoringScheme, load_substitution_matrix, sums_over_letters
from kreinflow.alignment.store import ScoreStore
from kreinflow.alignment.transforms import ScoreTransform, make_transform
from kreinflow.artifacts import read_table, replacing
from kreinflow.errors import InputError
from kreinflow.kernels.kernel import Kernel
from kreinflow.kernels.registry import make_kernel
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
    paid_landmarks,
    pairs_with,
)
from kreinflow.landmarks.sketch import Sketch
from kreinflow.numerics import FloatArray, tiles
from kreinflow.sequences.dataset import ALIGNED, Dataset, resolve
from kreinflow.sequences.files import first_few
from kreinflow.sequences.labels import read_columns
from kreinflow.sequences.partition import ALL, Partition

Rows = NDArray[np.int64]
Path_ = str | os.PathLike[str]


def read_scheme(dataset: Dataset, scoring: Mapping[str, Any], data: Path_) -> ScoringScheme | None:
    """Return the scoring scheme of a data set's settings; None if nothing is aligned."""
    if dataset.sequences is None:
        return None
    return ScoringScheme(
        load_substitution_matrix(scoring["matrix"], Path(data)),
        scoring["gap_open"],
        scoring["gap_extend"],
        scoring["mode"],
    )


def alphabet_of(source: Mapping[str, Any], scoring: Mapping[str, Any], data: Path_) -> str | None:
    """Return the letters that the sequences of a data set may have; None if it has none."""
    if source["type"] not in ALIGNED:
        return None
    return load_substitution_matrix(scoring["matrix"], Path(data)).alphabet


def check_budgets(
    dataset: Dataset, partition: Partition, selectors: Mapping[str, Mapping[str, Any]]
) -> None:
    """Refuse a number of landmarks, or of candidates, that the smallest training part lacks.

    Raises
    ------
    InputError
    """
    # Homology-aware folds may test nothing at all: the final model is left.
    parts = [partition.training(name) for name in [*partition.names, ALL]]
    fewest = min(len(np.unique(dataset.rows[part])) for part in parts)
    classes, objects = len(dataset.classes), len(dataset.digests)
    all_parts = training_parts(partition)
    for name, selector in selectors.items():
        budget = selector.get("budget")
        wanted = landmarks_wanted(budget, fewest, classes=classes, objects=objects, parts=all_parts)
        asked = budget.get("alignments") if isinstance(budget, Mapping) else None
        if asked is not None and (paid := paid_landmarks(asked, objects, all_parts)) < classes:
            least = pairs_with(min(classes * all_parts, objects), objects)
            raise InputError(
                f"selectors.{name}.budget.alignments: {asked:,} pay for {paid} landmarks "
                f"in each of {all_parts} training parts of {objects:,} distinct sequences, fewer "
                f"than the {classes} classes. Give at least {least:,}, or use fewer folds; "
                "where the recipes are automatic, raise auto.alignments by the same factor."
            )
        if wanted is not None and wanted > fewest:
            raise InputError(
                f"selectors.{name}.budget: {wanted} landmarks are more than the {fewest} distinct "
                f"sequences of the smallest training part. Give at most {fewest}."
            )


def training_parts(partition: Partition) -> int:
    """Return how many sets of landmarks a selector chooses: one a fold, and the final model's."""
    return len(partition.names) + 1


def given_landmarks(
    dataset: Dataset, selector: Mapping[str, Any], data: Path_
) -> NDArray[np.int64] | None:
    """Return the rows that the table of a selector names, or None if it has no table.

    Raises
    ------
    InputError
        If the table cannot be read, or names what the data set does not hold.
    """
    if "table" not in selector:
        return None
    path = resolve(selector["table"], Path(data))
    ids = [id for _, id, _ in read_columns(path, ("id", "id"))]
    row_of = dict(zip(dataset.ids, dataset.rows.tolist(), strict=True))
    unknown = [id for id in ids if id not in row_of]
    if unknown:
        raise InputError(
            f"{path}: {len(unknown)} of {len(ids)} ids are not in the data set: "
            f"{first_few(unknown)}. Take them out of the table, or put the records into the data."
        )
    return np.unique(np.array([row_of[id] for id in ids], dtype=np.int64))


def check_given(
    dataset: Dataset,
    partition: Partition,
    selectors: Mapping[str, Mapping[str, Any]],
    data: Path_,
) -> None:
    """Refuse a table of landmarks with unknown ids, or of which a fold trains on less than two.

    Raises
    ------
    InputError
    """
    for name, selector in selectors.items():
        given = given_landmarks(dataset, selector, data)
        if given is None:
            continue
        for fold in partition.names:
            left = np.isin(given, dataset.rows[partition.training(fold)]).sum()
            if left < 2:
                raise InputError(
                    f"selectors.{name}.table: fold {fold} trains on {left} of the {len(given)} "
                    "landmarks. Name more of them: at least 2 have to be left in each fold."
                )


def transforms_of(
    names: Iterable[str], constants: Mapping[str, Any], scheme: ScoringScheme | None
) -> dict[str, ScoreTransform]:
    """Return score transforms with the constants of the config, by name."""
    found = {}
    for name in dict.fromkeys(names):
        given = {key: value for key, value in constants.get(name, {}).items() if value is not None}
        found[name] = make_transform(name, scheme, **given)
    return found


def check_self_scores(
    dataset: Dataset, scheme: ScoringScheme | None, transforms: Mapping[str, ScoreTransform]
) -> None:
    """Refuse a sequence that cannot score above 0 with itself, such as one of X alone.

    Nothing is aligned: no self-score exceeds the sum of what its letters gain with themselves.

    Raises
    ------
    InputError
        Naming the record.
    """
    if scheme is None or dataset.sequences is None:
        return
    gain = np.zeros(256, dtype=np.int64)
    letters = np.frombuffer(scheme.matrix.alphabet.encode(), dtype=np.uint8)
    gain[letters] = np.maximum(np.diagonal(scheme.matrix.scores), 0)
    bounds = sums_over_letters(dataset.sequences, gain).astype(np.float64)
    for name, transform in transforms.items():
        row = transform.first_unusable(bounds, dataset.lengths)
        if row is not None:
            record = int(np.flatnonzero(dataset.rows == row)[0])
            raise InputError(
                f"{dataset.ids[record]}: its {dataset.lengths[row]} residues score "
                f"{bounds[row]:.0f} with themselves at best, too little for the transform {name} "
                "to divide by. Remove the record, or use the transform raw."
            )


class Scores(ABC):
    """Where scores come from: aligned ones from their store, others from a matrix or a kernel."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """The type that holds all scores of the data set."""

    @abstractmethod
    def into(self, out: NDArray[Any], rows: Rows, columns: Rows) -> None:
        """Write the scores of rows x columns into ``out``, which may be a memory map."""

    @abstractmethod
    def self_scores(self) -> FloatArray:
        """Return the score of each distinct row with itself."""

    def rectangle(self, rows: Rows, columns: Rows) -> NDArray[Any]:
        """Return the scores of rows x columns."""
        out = np.empty((len(rows), len(columns)), self.dtype)
        self.into(out, rows, columns)
        return out


@dataclass(frozen=True, eq=False)
class StoredScores(Scores):
    """Scores of sequences, from the store alone: nothing is aligned here."""

    dataset: Dataset
    scheme: ScoringScheme
    folder: Path

    @cached_property
    def _store(self) -> ScoreStore:
        assert self.dataset.sequences is not None
        return ScoreStore(self.folder, self.scheme, self.dataset.sequences, self.dataset.digests)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """16 bits where all scores of the data set fit, else 32."""
        assert self.dataset.sequences is not None
        small = self.scheme.score_bound(self.dataset.sequences) <= np.iinfo(np.int16).max
        return np.dtype(np.int16 if small else np.int32)

    def into(self, out: NDArray[Any], rows: Rows, columns: Rows) -> None:
        """Write the scores of rows x columns into ``out``."""
        self._store.gather_into(out, rows, columns)

    def self_scores(self) -> FloatArray:
        """Return the score of each distinct row with itself."""
        return self._store.self_scores(np.arange(len(self.dataset.digests))).astype(np.float64)


@dataclass(frozen=True, eq=False)
class MatrixScores(Scores):
    """Scores as they stand in the user's matrix."""

    dataset: Dataset
    dtype = np.dtype(np.float64)

    def into(self, out: NDArray[Any], rows: Rows, columns: Rows) -> None:
        """Write the entries of rows x columns into ``out``, a tile of rows at a time."""
        assert self.dataset.matrix is not None
        for part in tiles(len(rows)):
            out[part] = self.dataset.matrix[rows[part]][:, columns]

    def self_scores(self) -> FloatArray:
        """Return the diagonal."""
        assert self.dataset.matrix is not None
        return np.diagonal(self.dataset.matrix).astype(np.float64)


@dataclass(frozen=True, eq=False)
class KernelScores(Scores):
    """The kernel of vectors or strings, computed when it is asked for."""

    dataset: Dataset
    kernel: Kernel
    dtype = np.dtype(np.float64)

    def into(self, out: NDArray[Any], rows: Rows, columns: Rows) -> None:
        """Write the kernel of rows x columns into ``out``, a tile of rows at a time."""
        assert self.dataset.objects is not None
        others = self.dataset.objects[columns]
        for part in tiles(len(rows)):
            values = self.kernel.columns(self.dataset.objects[rows[part]], others)
            wrong = np.argwhere(~np.isfinite(values))
            if len(wrong):
                i, j = wrong[0].tolist()
                raise self._overflow(int(rows[part][i]), int(columns[j]))
            out[part] = values

    def self_scores(self) -> FloatArray:
        """Return the kernel of each distinct row with itself."""
        assert self.dataset.objects is not None
        values = self.kernel.diagonal(self.dataset.objects)
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            raise self._overflow(int(wrong[0]), int(wrong[0]))
        return values

    def _overflow(self, *rows: int) -> InputError:
        first, second = (
            self.dataset.ids[int(np.flatnonzero(self.dataset.rows == row)[0])] for row in rows
        )
        return InputError(
            f"{self.kernel.describe()} of {first} and {second} is not finite. Give vectors with "
            "smaller numbers, or change the kernel's settings."
        )


def open_scores(dataset: Dataset, scheme: ScoringScheme | None, folder: Path) -> Scores:
    """Return where the scores of a data set are; ``folder`` is that of the score stores."""
    if scheme is not None:
        return StoredScores(dataset, scheme, folder)
    if dataset.kernel is None:
        return MatrixScores(dataset)
    return KernelScores(dataset, make_kernel(dataset.kernel))


def list_candidates(
    dataset: Dataset,
    partition: Partition,
    seed: int,
    candidates: int | None = 0,
    sketch: int | None = 0,
) -> dict[str, Rows]:
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
    chosen: dict[str, Rows] = {}
    if sketch != 0:
        order = candidate_order(dataset.digests, seed, "sketch")
        chosen |= all_candidates(order, [SKETCH] * len(order), folds, sketch)
    if candidates != 0:
        order = candidate_order(dataset.digests, seed)
        chosen |= all_candidates(order, dataset.row_labels, folds, candidates)
    return chosen


def candidate_rectangles(
    dataset: Dataset, candidates: Mapping[str, Rows]
) -> list[tuple[Rows, Rows]]:
    """Return the rows and columns to align for each class: its members, or all for the sketch."""
    labels = np.array(dataset.row_labels)
    return [
        (np.flatnonzero((labels == label) | (label == SKETCH)), rows)
        for label, rows in candidates.items()
    ]


def read_candidates(path: Path_) -> dict[str, Rows]:
    """Return the candidates of each class, in their order."""
    table = read_table(path, ["class", "row"], text=["class"])
    return {str(label): part["row"].to_numpy(np.int64) for label, part in table.groupby("class")}


def read_union(paths: Iterable[Path_]) -> Rows:
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
    given: Rows | None = None,
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
            selector, dataset, training, MatrixScores(dataset), make_transform("raw"), 1, "r0f0"
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


def write_columns(path: Path_, scores: Scores, rows: Rows, union: Rows) -> None:
    """Write the scores of distinct rows with the union of the landmarks, atomically.

    They go straight into a memory map: the columns of a large data set need not fit in memory.

    Raises
    ------
    KreinflowError
        If the disk has no room for them.
    """
    with replacing(path) as part:
        out = np.lib.format.open_memmap(
            part, mode="w+", dtype=scores.dtype, shape=(len(rows), len(union))
        )
        # The file has holes yet: writing to a map of a full disk would end in SIGBUS.
        with part.open("rb+") as file:
            os.posix_fallocate(file.fileno(), 0, part.stat().st_size)
        scores.into(out, rows, union)
        out.flush()


def alignment_account(
    dataset: Dataset, scheme: ScoringScheme | None, candidates: Mapping[str, Rows], union: Rows
) -> dict[str, Any]:
    """Count the alignments that a run needs, and those that the full matrix would.

    A pair that a class block and a column both want is counted once, and so is a pair of two
    landmarks. Rows of the sketch meet all others, as landmarks do.
    """
    n = len(dataset.digests)
    everywhere = np.zeros(n, dtype=bool)
    everywhere[union] = True
    everywhere[candidates.get(SKETCH, union)] = True
    m = int(everywhere.sum())
    pairs = pairs_with(m, n)
    labels = np.asarray(dataset.row_labels)
    for label, picked in candidates.items():
        if label == SKETCH:
            continue
        size = int(np.sum(labels == label))
        # Pairs of a class with a candidate in them, less those that are counted already.
        asked = np.zeros(n, dtype=bool)
        asked[picked] = True
        both = int(np.sum(asked & everywhere))
        only_candidate = int(asked.sum()) - both
        plain = size - int(np.sum((asked | everywhere) & (labels == label)))
        pairs += only_candidate * plain + only_candidate * (only_candidate - 1) // 2
    return {
        "aligned": pairs if scheme else 0,
        "self_scores": n if scheme else 0,
        "full_matrix": n * (n - 1) // 2,
        "distinct": n,
        "landmarks_of_all_folds": len(union),
        "store": scheme.digest if scheme else None,
        "scheme": {
            "matrix": scheme.matrix.name,
            "gap_open": scheme.gap_open,
            "gap_extend": scheme.gap_extend,
            "mode": scheme.mode,
        }
        if scheme
        else None,
    }
