"""What a competitor is, and what it predicts and costs on one fold."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from kreinflow.alignment.scoring import ScoringScheme
from kreinflow.base.numerics import IntArray
from kreinflow.compare.methods import UnavailableError, version_of
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import Partition, fold_numbers

TESTS_NOTHING = "the fold tests nothing"  # see homology_folds
UNASSIGNED = ""  # the prediction of a record without a hit

FIGURES = (
    *("accuracy", "macro_f1", "unassigned"),
    *("train_seconds", "query_seconds", "alignments_per_query", "model_bytes"),
)
"""What is measured in a fold. ``query_seconds`` are those of 1,000 queries, ``unassigned`` is the
share of records without a hit, which counts as wrong."""

FOLD_COLUMNS = ("method", "repeat", "fold", "records", *FIGURES, "version", "reason")
"""Columns of the table of folds; ``reason`` says why a row is empty."""

PREDICTION_COLUMNS = ("id", "true", "predicted")


class LabelledSequences(NamedTuple):
    """Distinct sequences with their classes."""

    sequences: Sequence[bytes]
    labels: Sequence[str]


@dataclass(frozen=True)
class ComparedFold:
    """A fold of a data set's partition, by its name such as r0f1."""

    dataset: Dataset
    partition: Partition
    name: str

    @property
    def training_rows(self) -> IntArray:
        """The distinct rows that the fold learns from."""
        return np.unique(self.dataset.rows[self.partition.training(self.name)])

    def training(self) -> LabelledSequences:
        """Return the distinct sequences that the fold learns from."""
        labels, sequences = self.dataset.row_labels, self.dataset.sequences
        rows = self.training_rows
        return LabelledSequences([sequences[r] for r in rows], [labels[r] for r in rows])


class Competitor(ABC):
    """One way to classify sequences, with fixed settings: nothing is tuned on a test part.

    Methods raise :class:`~kreinflow.compare.methods.UnavailableError` if a tool fails or is not
    installed. :meth:`fit` sets ``model_bytes``, the bytes that have to be kept to predict.
    """

    name: ClassVar[str]  # a key of METHODS
    proteins_only: ClassVar[bool] = False
    model_bytes: int
    alignments_per_query: float = float("nan")  # sequences or profiles; NaN if filters decide

    def __init__(self, scheme: ScoringScheme, molecule: str) -> None:
        self.scheme, self.molecule = scheme, molecule

    def load(self) -> None:  # noqa: B027, most have nothing to load
        """Load what is slow to load: no second of it belongs to training or predicting."""

    @abstractmethod
    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        """Learn from a training part; files of the folder may be used until the last prediction.

        The threads are for predictions too, whose results do not depend on them.
        """

    @abstractmethod
    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        """Return the class of each query; None where there is no hit."""


def write_fasta(path: Path, sequences: Sequence[bytes]) -> None:
    """Write sequences, named by their numbers: no tool has to understand the user's ids."""
    with path.open("wb") as file:
        for number, sequence in enumerate(sequences):
            file.write(b">s%d\n%b\n" % (number, sequence))


def quality(true: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Return accuracy, macro F1 (of classes that occur or are predicted), share of unassigned."""
    from sklearn.metrics import f1_score  # most scripts that import this module measure nothing

    classes = sorted({*true, *predicted} - {UNASSIGNED})
    return {
        "accuracy": float(np.mean([a == b for a, b in zip(true, predicted, strict=True)])),
        "macro_f1": float(f1_score(list(true), list(predicted), labels=classes, average="macro")),
        "unassigned": float(np.mean([label == UNASSIGNED for label in predicted])),
    }


def run_competitor(
    competitor: Competitor, fold: ComparedFold, folder: Path, threads: int
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Train and test a competitor on a fold; the folder is empty, for its files.

    It returns :data:`FOLD_COLUMNS`, and a table of :data:`PREDICTION_COLUMNS` that is empty if the
    competitor could not run, or the fold tests nothing.
    """
    dataset, (repeat, number) = fold.dataset, fold_numbers(fold.name)
    tested = np.flatnonzero(fold.partition.testing(fold.name))
    rows, place = np.unique(dataset.rows[tested], return_inverse=True)
    about = {"method": competitor.name, "repeat": repeat, "fold": number, "records": len(tested)}
    figures = dict.fromkeys(FOLD_COLUMNS, float("nan")) | about | {"version": "", "reason": ""}
    try:
        if not len(tested):
            raise UnavailableError(TESTS_NOTHING)
        if competitor.proteins_only and competitor.molecule != "protein":
            raise UnavailableError("for proteins only")
        figures["version"] = version_of(competitor.name)
        competitor.load()
        training = fold.training()
        start = perf_counter()
        competitor.fit(training, folder, threads)
        trained = perf_counter()
        found = competitor.predict([dataset.sequences[row] for row in rows])
        done = perf_counter()
    except UnavailableError as reason:
        return figures | {"reason": str(reason)}, pd.DataFrame(columns=list(PREDICTION_COLUMNS))
    ids = [dataset.ids[record] for record in tested]
    true = [dataset.classes[label] for label in dataset.labels[tested]]
    predicted = [found[i] or UNASSIGNED for i in place]
    return figures | {
        **quality(true, predicted),
        "train_seconds": trained - start,
        "query_seconds": 1000 * (done - trained) / len(rows),
        "alignments_per_query": competitor.alignments_per_query,
        "model_bytes": competitor.model_bytes,
    }, pd.DataFrame(zip(ids, true, predicted, strict=True), columns=list(PREDICTION_COLUMNS))
