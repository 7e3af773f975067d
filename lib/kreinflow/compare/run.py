"""One fold of one competitor: what it predicts, and what that costs."""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.compare.competitor import Competitor, Records, UnavailableError
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import Partition, fold_numbers

TESTS_NOTHING = "the fold tests nothing"
"""Why the rows of a fold without test records are empty: see
:func:`kreinflow.compare.homology.homology_folds`."""

UNASSIGNED = ""
"""The prediction of a record without a hit."""

FIGURES = (
    "accuracy",
    "macro_f1",
    "unassigned",
    "train_seconds",
    "query_seconds",
    "alignments_per_query",
    "model_bytes",
)
"""What is measured in a fold."""

FOLD_COLUMNS = ("method", "repeat", "fold", "records", *FIGURES, "version", "reason")
"""Columns of the table of folds. ``query_seconds`` are those of 1,000 queries, ``unassigned`` is
the share of records without a hit, which counts as wrong; ``reason`` says why a row is empty."""

PREDICTION_COLUMNS = ("id", "true", "predicted")


def quality(true: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Return accuracy, macro F1 and the share of records that are unassigned.

    Macro F1 is the mean over the classes that occur or are predicted, as in the evaluation; having
    no hit is no class.
    """
    from sklearn.metrics import f1_score

    classes = sorted({*true, *predicted} - {UNASSIGNED})
    right = np.array(true, dtype=object) == np.array(predicted, dtype=object)
    return {
        "accuracy": float(right.mean()),
        "macro_f1": float(
            f1_score(
                list(true), list(predicted), labels=classes, average="macro", zero_division=0.0
            )
        ),
        "unassigned": float(np.mean([label == UNASSIGNED for label in predicted])),
    }


def training_records(dataset: Dataset, partition: Partition, fold: str) -> Records:
    """Return the distinct sequences that a fold learns from."""
    rows = np.unique(dataset.rows[partition.training(fold)])
    labels = dataset.row_labels
    return Records(
        tuple(dataset.sequences[row] for row in rows), tuple(labels[row] for row in rows)
    )


def run_competitor(
    competitor: Competitor,
    dataset: Dataset,
    partition: Partition,
    fold: str,
    folder: Path,
    threads: int,
    clock: Callable[[], float] = perf_counter,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Train and test a competitor on a fold.

    Parameters
    ----------
    competitor : Competitor
    dataset, partition, fold
        Of the run.
    folder : Path
        Empty, for the competitor's files.
    threads : int
    clock : callable
        Seconds.

    Returns
    -------
    dict
        :data:`FOLD_COLUMNS`.
    DataFrame
        :data:`PREDICTION_COLUMNS`; empty if the competitor could not run, or the fold tests
        nothing.
    """
    repeat, number = fold_numbers(fold)
    tested = np.flatnonzero(partition.testing(fold))
    rows, place = np.unique(dataset.rows[tested], return_inverse=True)
    figures: dict[str, Any] = dict.fromkeys(FOLD_COLUMNS, float("nan"))
    figures |= {"method": competitor.name, "repeat": repeat, "fold": number}
    figures |= {"records": len(tested), "version": "", "reason": ""}
    try:
        if not len(tested):
            raise UnavailableError(TESTS_NOTHING)
        if competitor.proteins_only and competitor.molecule != "protein":
            raise UnavailableError("for proteins only")
        figures["version"] = competitor.version()
        competitor.load()
        start = clock()
        competitor.fit(training_records(dataset, partition, fold), folder, threads)
        trained = clock()
        found = competitor.predict([dataset.sequences[row] for row in rows])
        done = clock()
    except UnavailableError as reason:
        return figures | {"reason": str(reason)}, pd.DataFrame(columns=list(PREDICTION_COLUMNS))
    labels = [UNASSIGNED if label is None else label for label in found]
    true = [dataset.classes[label] for label in dataset.labels[tested]]
    predicted = [labels[i] for i in place]
    columns = ([dataset.ids[record] for record in tested], true, predicted)
    return figures | {
        **quality(true, predicted),
        "train_seconds": trained - start,
        "query_seconds": 1000 * (done - trained) / len(rows),
        "alignments_per_query": competitor.alignments_per_query(),
        "model_bytes": competitor.model_bytes(),
    }, pd.DataFrame(dict(zip(PREDICTION_COLUMNS, columns, strict=True)))
