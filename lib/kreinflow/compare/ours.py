"""The run's own row: the recipe that the inner folds of a fold prefer, as `classify` uses it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow import __version__
from kreinflow.base.errors import KreinflowError
from kreinflow.base.numerics import FloatArray
from kreinflow.classify.classification import classify_file
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options
from kreinflow.compare.competitor import Competitor, Records, size_of, write_fasta
from kreinflow.compare.methods import OURS
from kreinflow.compare.run import run_competitor
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import Partition


class Ours(Competitor):
    """A fold's own classifier as a competitor: what it learned is in its model file.

    Parameters
    ----------
    model : Model
        Of the recipe that was chosen for the fold.
    vectors : mapping of bytes to ndarray, optional
        The user's vector of each sequence, for a model that looks at them.
    """

    name = OURS

    def __init__(self, model: Model, vectors: Mapping[bytes, FloatArray] | None = None) -> None:
        self.model = model
        self.alignments = float("nan")
        self.vectors = vectors or {}

    @classmethod
    def version(cls) -> str:
        """Return the version of kreinflow."""
        return __version__

    def fit(self, train: Records, folder: Path, threads: int) -> None:
        """Write the model file, and load the engine, which a first query would be charged for."""
        self._folder, self._threads = folder, threads
        self._path = folder / "model.safetensors"
        self.model.save(self._path)
        self.predict(train.sequences[:1])

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        """Classify the queries with the model file."""
        path = self._folder / "query.fasta"
        write_fasta(path, queries)
        vectors = self._write_vectors(queries) if self.model.classifier.looks_at_vectors else None
        options = Options(self._threads, vectors=vectors)
        table = classify_file(Model.load(self._path), path, options)
        self.alignments = float(table["alignments"].astype(float).mean())
        return [str(label) for label in table["label"]]

    def _write_vectors(self, queries: Sequence[bytes]) -> Path:
        """Write the vectors of the queries, by the ids of :func:`write_fasta`."""
        path = self._folder / "query.tsv"
        rows = ("\t".join(map(repr, self.vectors[query].tolist())) for query in queries)
        lines = (f"s{number}\t{row}\n" for number, row in enumerate(rows))
        width = len(self.vectors[queries[0]])
        path.write_text("\t".join(["id", *(f"x{i}" for i in range(width))]) + "\n" + "".join(lines))
        return path

    def model_bytes(self) -> int:
        """Return the size of the model file, with the records that a cascade asks."""
        return size_of([self._path])

    def alignments_per_query(self) -> float:
        """Return the mean number that the queries took, those with landmarks among them."""
        return self.alignments


def training_alignments(
    dataset: Dataset,
    partition: Partition,
    fold: str,
    selector: Mapping[str, Any],
    landmarks: int,
    asked: int = 0,
) -> int:
    """Return how many pairs a fold has to align to be trained with one selector.

    All with the landmarks; for selectors that look at scores also the members of each class with
    its candidates, or all with the sketch; and ``asked``, those that a cascade was fitted on.
    Pairs that are asked for twice count twice.
    """
    rows = np.unique(dataset.rows[partition.training(fold)])
    pairs = len(rows) * landmarks + asked
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
    ours: Ours,
    dataset: Dataset,
    partition: Partition,
    fold: str,
    folder: Path,
    threads: int,
    predicted: Mapping[str, str],
    selector: Mapping[str, Any],
    asked: int,
    learning_seconds: float,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Measure the run's classifier of a fold, by classifying the tested sequences once more.

    Parameters
    ----------
    ours : Ours
    dataset, partition, fold, folder, threads
        See :func:`~kreinflow.compare.run.run_competitor`.
    predicted : mapping of str to str
        What the run predicted for each tested record. The same must come out again.
    selector : mapping
        The settings of the recipe's landmark selector.
    asked : int
        Pairs that were aligned to fit its cascade.
    learning_seconds : float
        Of the jobs that chose the landmarks and trained.

    Returns
    -------
    dict
        :data:`~kreinflow.compare.run.FOLD_COLUMNS`. The seconds to train are the learning
        seconds and those that the alignments of the training take, at the speed of the queries.
    DataFrame
        :data:`~kreinflow.compare.run.PREDICTION_COLUMNS`; empty if the fold tests nothing.

    Raises
    ------
    KreinflowError
        If the model file predicts otherwise than the run did.
    """
    figures, predictions = run_competitor(ours, dataset, partition, fold, folder, threads)
    if predictions.empty:
        return figures, predictions
    if dict(zip(predictions["id"], predictions["predicted"], strict=True)) != dict(predicted):
        raise KreinflowError(f"fold {fold}: the model file predicts otherwise than the run did.")
    landmarks = len(ours.model.landmark_ids)
    pairs = training_alignments(dataset, partition, fold, selector, landmarks, asked)
    per_pair = figures["query_seconds"] / 1000 / max(ours.alignments, 1)
    return figures | {
        "train_seconds": learning_seconds + per_pair * pairs,
        "version": f"recipe {ours.model.classifier.about['recipe']['name']}",
    }, predictions
