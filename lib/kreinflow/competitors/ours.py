"""The run's own row: the recipe that the inner folds of a fold prefer, as `classify` uses it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.classify.classification import classify_file
from kreinflow.classify.model_file import Model
from kreinflow.competitors.competitor import write_fasta
from kreinflow.competitors.methods import OURS
from kreinflow.competitors.run import (
    FOLD_COLUMNS,
    PREDICTION_COLUMNS,
    TESTS_NOTHING,
    prediction_table,
    quality,
    tested_rows,
)
from kreinflow.errors import KreinflowError
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import Partition, fold_numbers


def training_alignments(
    dataset: Dataset, partition: Partition, fold: str, selector: Mapping[str, Any], landmarks: int
) -> int:
    """Return how many pairs a fold has to align to be trained with one selector.

    All with the landmarks; for selectors that look at scores also the members of each class with
    its candidates, or all with the sketch. Pairs that are asked for twice count twice.
    """
    rows = np.unique(dataset.rows[partition.training(fold)])
    pairs = len(rows) * landmarks
    if "candidates" in selector:
        labels = np.array(dataset.row_labels)[rows]
        for size in np.unique(labels, return_counts=True)[1].tolist():
            asked = size if selector["candidates"] is None else min(selector["candidates"], size)
            pairs += size * asked
    if "sketch" in selector:
        sketch = len(rows) if selector["sketch"] is None else min(selector["sketch"], len(rows))
        pairs += len(rows) * sketch
    return pairs


def run_ours(
    model: Model,
    predicted: Mapping[str, str],
    dataset: Dataset,
    partition: Partition,
    fold: str,
    selector: Mapping[str, Any],
    learning_seconds: float,
    alignments_per_query: float,
    folder: Path,
    threads: int,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Measure the run's classifier of a fold, by classifying the tested sequences once more.

    Parameters
    ----------
    model : Model
        Of the recipe that was chosen for the fold.
    predicted : mapping of str to str
        What the run predicted for each tested record. The same must come out again.
    dataset, partition, fold
        Of the run.
    selector : mapping
        The settings of the recipe's landmark selector.
    learning_seconds : float
        Of the jobs that chose the landmarks and trained.
    alignments_per_query : float
    folder : Path
        For files.
    threads : int

    Returns
    -------
    dict
        :data:`~kreinflow.competitors.run.FOLD_COLUMNS`. The seconds to train are the learning
        seconds and those that the alignments of the training take, at the speed of the queries.
    DataFrame
        :data:`~kreinflow.competitors.run.PREDICTION_COLUMNS`; empty if the fold tests nothing.

    Raises
    ------
    KreinflowError
        If the model file predicts otherwise than the run did.
    """
    repeat, number = fold_numbers(fold)
    tested, rows, place = tested_rows(dataset, partition, fold)
    figures: dict[str, Any] = dict.fromkeys(FOLD_COLUMNS, float("nan"))
    figures |= {"method": OURS, "repeat": repeat, "fold": number, "records": len(tested)}
    if not len(tested):
        figures |= {"version": "", "reason": TESTS_NOTHING}
        return figures, pd.DataFrame(columns=list(PREDICTION_COLUMNS))
    path, queries = folder / "model.safetensors", folder / "query.fasta"
    model.save(path)
    write_fasta(queries, [dataset.sequences[row] for row in rows])
    _warm_up(path, dataset, rows.tolist(), folder)
    start = perf_counter()
    labels = classify_file(Model.load(path), queries, threads)["label"].tolist()
    seconds = perf_counter() - start
    predictions = prediction_table(dataset, tested, [labels[i] for i in place])
    if dict(zip(predictions["id"], predictions["predicted"], strict=True)) != dict(predicted):
        raise KreinflowError(f"fold {fold}: the model file predicts otherwise than the run did.")
    pairs = training_alignments(dataset, partition, fold, selector, len(model.landmark_ids))
    per_pair = seconds / (len(rows) * max(alignments_per_query, 1))
    return figures | {
        **quality(predictions["true"].tolist(), predictions["predicted"].tolist()),
        "train_seconds": learning_seconds + per_pair * pairs,
        "query_seconds": 1000 * seconds / len(rows),
        "alignments_per_query": alignments_per_query,
        "model_bytes": path.stat().st_size,
        "version": f"recipe {model.classifier.about['recipe']['name']}",
        "reason": "",
    }, predictions


def _warm_up(path: Path, dataset: Dataset, rows: Sequence[int], folder: Path) -> None:
    """Load the compiled engine, which a first call would be charged for."""
    write_fasta(folder / "one.fasta", [dataset.sequences[rows[0]]])
    classify_file(Model.load(path), folder / "one.fasta")
