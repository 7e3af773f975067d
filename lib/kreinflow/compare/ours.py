"""The run's own row: the recipe that the inner folds of a fold prefer, as `classify` uses it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from kreinflow.base.errors import KreinflowError
from kreinflow.base.numerics import FloatArray
from kreinflow.classify.classification import classify_file
from kreinflow.classify.model_file import Model
from kreinflow.classify.new_objects import Options
from kreinflow.compare.competitor import (
    ComparedFold,
    Competitor,
    LabelledSequences,
    run_competitor,
    write_fasta,
)
from kreinflow.compare.methods import OURS


class Ours(Competitor):
    """A fold's own classifier as a competitor: what it learned is in its model file.

    ``vectors`` has the user's vector of each sequence, for a model that looks at them.
    """

    name = OURS

    def __init__(self, model: Model, vectors: Mapping[bytes, FloatArray] | None = None) -> None:
        self.model, self.vectors = model, vectors or {}

    def fit(self, train: LabelledSequences, folder: Path, threads: int) -> None:
        self._folder, self._threads = folder, threads
        self._path = folder / "model.safetensors"
        self.model.save(self._path)
        self.model_bytes = self._path.stat().st_size
        self.predict(train.sequences[:1])

    def predict(self, queries: Sequence[bytes]) -> list[str | None]:
        path = self._folder / "query.fasta"
        write_fasta(path, queries)
        vectors = self._write_vectors(queries) if self.model.classifier.looks_at_vectors else None
        options = Options(self._threads, vectors=vectors)
        table = classify_file(Model.load(self._path), path, options)
        self.alignments_per_query = float(table["alignments"].astype(float).mean())
        return [str(label) for label in table["label"]]

    def _write_vectors(self, queries: Sequence[bytes]) -> Path:
        """Write the vectors of the queries, by the ids of :func:`write_fasta`."""
        path = self._folder / "query.tsv"
        table = pd.DataFrame([self.vectors[query] for query in queries])
        table.insert(0, "id", [f"s{i}" for i in range(len(queries))])
        table.to_csv(path, sep="\t", index=False)
        return path


@dataclass(frozen=True)
class TrainedFold:
    """What the run did for a fold with the chosen recipe."""

    predicted: Mapping[str, str]  # the label of each tested record
    selector: Mapping[str, Any]  # settings of the recipe's landmark selector
    cascade_pairs: int  # aligned to fit its cascade
    seconds: float  # of choosing the landmarks and of training


def training_alignments(
    fold: ComparedFold, selector: Mapping[str, Any], landmarks: int, cascade_pairs: int = 0
) -> int:
    """Return how many pairs a fold has to align to be trained with one selector.

    All with the landmarks; for selectors that look at scores also the members of each class with
    its candidates, or all with the sketch; and those that a cascade was fitted on. Pairs that are
    taken twice count twice.
    """
    rows = fold.training_rows
    pairs = len(rows) * landmarks + cascade_pairs
    if "candidates" in selector:
        labels = np.array(fold.dataset.row_labels)[rows]
        sizes = np.unique(labels, return_counts=True)[1]
        most = sizes.max() if selector["candidates"] is None else selector["candidates"]
        pairs += int((sizes * np.minimum(sizes, most)).sum())
    if "sketch" in selector:
        sketch = len(rows) if selector["sketch"] is None else min(selector["sketch"], len(rows))
        pairs += len(rows) * sketch
    return pairs


def run_ours(
    ours: Ours, fold: ComparedFold, trained: TrainedFold, folder: Path, threads: int
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Measure the run's classifier of a fold as a competitor, by classifying once more.

    The seconds to train are those of the run, and those that the alignments of the training take
    at the speed of the queries. A KreinflowError if the model file predicts otherwise than the run.
    """
    figures, predictions = run_competitor(ours, fold, folder, threads)
    if predictions.empty:
        return figures, predictions
    found = dict(zip(predictions["id"], predictions["predicted"], strict=True))
    if found != dict(trained.predicted):
        raise KreinflowError(
            f"fold {fold.name}: the model file predicts otherwise than the run did."
        )
    landmarks = len(ours.model.landmark_ids)
    pairs = training_alignments(fold, trained.selector, landmarks, trained.cascade_pairs)
    per_pair = figures["query_seconds"] / 1000 / max(ours.alignments_per_query, 1)
    return figures | {
        "train_seconds": trained.seconds + per_pair * pairs,
        "version": f"recipe {ours.model.classifier.about['recipe']['name']}",
    }, predictions
