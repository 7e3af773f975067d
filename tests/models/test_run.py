"""What learning reads of a run, and what the models of a fold predict of its records."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from kreinflow.artifacts import write_array, write_table
from kreinflow.classify.classification import classify_file
from kreinflow.errors import InputError
from kreinflow.models.run import objects_of, open_run, predict_fold, predict_unknown
from kreinflow.sequences.dataset import write_dataset
from kreinflow.sequences.row_tables import write_rows
from sequence_pairs import rectangle
from small_inputs import configuration, lifted_model, trained_recipe, write_input


@pytest.fixture
def kept(tmp_path):
    """A trained recipe, the files of its run, and all scores with the union of the landmarks."""
    it = trained_recipe(configuration(write_input(tmp_path)), tmp_path)
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
    return it, SimpleNamespace(**files), scores, union


def landmark_table(it):
    return pd.DataFrame({"row": it.rows, "class": [it.dataset.row_labels[row] for row in it.rows]})


def test_the_run_has_what_its_files_have(kept):
    it, files, scores, union = kept
    run = open_run(files)
    assert run.dataset.ids == it.dataset.ids
    np.testing.assert_array_equal(run.union, union)
    landmarks = run.landmarks(landmark_table(it))
    np.testing.assert_array_equal(np.asarray(landmarks.scores[:]), scores[:, it.rows])
    np.testing.assert_array_equal(landmarks.self_scores, np.diag(scores))
    assert landmarks.self_scores.dtype == np.float64
    classes = [it.dataset.classes[code] for code in landmarks.classes]
    assert classes == landmark_table(it)["class"].tolist()
    training, testing = run.training_part("r0f1"), run.testing_part("r0f1")
    np.testing.assert_array_equal(testing.rows, it.dataset.rows[1::3])
    assert sorted([*training.rows, *testing.rows]) == sorted(it.dataset.rows)


@pytest.mark.parametrize(("name", "shape"), [("columns", (-1,)), ("self_scores", (-1, 1))])
def test_arrays_of_other_dimensions_are_refused(kept, name, shape):
    _, files, *_ = kept
    path = getattr(files, name)
    write_array(path, np.load(path).reshape(shape))
    with pytest.raises(InputError, match=f"{name}.npy: not an array of . dimensions"):
        open_run(files)


@pytest.mark.parametrize("name", ["columns", "self_scores"])
def test_columns_of_another_union_are_refused(kept, name):
    _, files, *_ = kept
    path = getattr(files, name)
    write_array(path, np.load(path)[..., 1:])
    with pytest.raises(InputError, match="columns are not those of this data set.*union.tsv.*Del"):
        open_run(files)


def test_a_landmark_that_is_not_among_the_columns_is_refused(kept):
    it, files, _, union = kept
    other = np.setdiff1d(np.arange(len(it.dataset.digests)), union)[:1]
    table = pd.DataFrame({"row": other, "class": [it.dataset.row_labels[other[0]]]})
    with pytest.raises(InputError, match="lacks a landmark of this fold. Delete the folder col"):
        open_run(files).landmarks(table)


def test_a_fold_predicts_what_it_tests(kept):
    it, files, *_ = kept
    run = open_run(files)
    landmarks = run.landmarks(landmark_table(it))
    table = predict_fold(run, landmarks, "r0f1", "one", it.model.classifier)
    assert table["id"].tolist() == list(it.dataset.ids[1::3])
    assert set(zip(table["recipe"], table["repeat"], table["fold"], strict=True)) == {("one", 0, 1)}
    labels = np.array(it.dataset.classes)
    assert table["true"].tolist() == labels[it.dataset.labels[1::3]].tolist()
    probabilities = it.probabilities[1::3]
    np.testing.assert_array_equal(table[[f"p_{label}" for label in labels]], probabilities)
    assert table["predicted"].tolist() == labels[probabilities.argmax(axis=1)].tolist()
    assert predict_fold(run, landmarks, "all", "one", it.model.classifier).empty


def test_records_held_out_as_unknown_are_predicted_from_columns_of_their_own(kept):
    it, _, scores, union = kept
    rows = np.array([11, 2, 11, 25])
    records = pd.DataFrame(
        {
            "id": list("pqrs"),
            "label": "new",
            "row": rows,
            "length": it.dataset.lengths[rows],
            "self_score": np.diag(scores)[rows],
        }
    )
    table = predict_unknown(
        records, scores[:, union], union, it.rows, "r0f2", "one", it.model.classifier
    )
    of_rows = dict(zip(it.dataset.rows.tolist(), it.probabilities, strict=True))
    probabilities = np.array([of_rows[row] for row in rows.tolist()])
    np.testing.assert_array_equal(table["probability"], probabilities.max(axis=1))
    flagged = probabilities.max(axis=1) < it.model.classifier.reject_threshold
    assert table["reject"].tolist() == np.where(flagged, "yes", "no").tolist()
    labels = np.array(it.dataset.classes)[probabilities.argmax(axis=1)]
    assert table["predicted"].tolist() == labels.tolist()
    assert table[["id", "true", "repeat", "fold"]].to_numpy().tolist() == [
        [id, "new", 0, 2] for id in "pqrs"
    ]


def test_a_lifted_model_sees_what_the_unknown_records_are(tmp_path):
    model, dataset = lifted_model(tmp_path, inducing=20)
    path, vectors = tmp_path / "x.fasta", tmp_path / "v.tsv"
    table = classify_file(model, path, vectors=vectors).set_index("id")
    ids = list(dataset.ids)
    landmarks = dataset.rows[[ids.index(id) for id in model.landmark_ids]]
    every = np.arange(len(dataset.digests))
    scores = rectangle(dataset.sequences, every, every, model.scheme)
    asked = np.array([7, 2, 7, 25])
    records = pd.DataFrame(
        {
            "id": [ids[record] for record in asked],
            "label": "new",
            "row": dataset.rows[asked],
            "length": dataset.lengths[dataset.rows[asked]],
            "self_score": np.diag(scores)[dataset.rows[asked]],
        }
    )
    order = np.sort(landmarks)
    found = predict_unknown(
        *(records, scores[:, order], order, landmarks, "r0f0", "one", model.classifier),
        objects_of(dataset),
    )
    wanted = table.loc[records["id"]]
    assert found["predicted"].tolist() == wanted["label"].tolist()
    assert found["probability"].tolist() == wanted["probability"].tolist()
