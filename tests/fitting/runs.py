"""Runs of trained recipes, for tests of what learning reads and predicts."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from kreinflow.files.arrays import write_array
from kreinflow.files.tables import write_table
from kreinflow.fitting.predictions import FoldRecords
from kreinflow.sequences.dataset import write_dataset, write_rows
from sequence_pairs import rectangle


def run_of(it, tmp_path):
    """The files of the run of a trained recipe, all scores, and the union of the landmarks."""
    n = len(it.dataset.digests)
    union = np.union1d(it.rows, [0, 7, n - 1])
    assert len(it.rows) < len(union) < n
    scores = rectangle(it.dataset.sequences, np.arange(n), np.arange(n), it.model.scheme)
    write_dataset(tmp_path / "dataset", it.dataset)
    files = {name: tmp_path / f"{name}.npy" for name in ("columns", "self_scores")}
    files |= {name: tmp_path / f"{name}.tsv" for name in ("folds", "union")}
    write_array(files["columns"], scores[:, union])
    write_array(files["self_scores"], np.diag(scores).astype(np.int32))
    write_rows(files["union"], pd.DataFrame({"row": union}), it.dataset)
    records = len(it.dataset.ids)
    folds = {"id": it.dataset.ids, "group": range(records), "repeat": 0}
    write_table(files["folds"], pd.DataFrame(folds | {"fold": np.arange(records) % 3}))
    files["records"] = tmp_path / "dataset" / "records.tsv"
    return SimpleNamespace(**files), scores, union


def landmark_table(it):
    return pd.DataFrame({"row": it.rows, "class": [it.dataset.row_labels[row] for row in it.rows]})


def fold_records(it, run, classifier, asked=None, fold="r0f1"):
    """The records of a fold, for a classifier."""
    return FoldRecords(run, run.landmarks(landmark_table(it)), fold, classifier, asked)
