"""New objects of a matrix, and vectors and strings: what is read, and what does not fit."""

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.classify.classification import classify_file
from kreinflow.classify.new_objects import Options
from kreinflow.files.text_files import STANDARD_INPUT
from small_inputs import (
    KINDS,
    lifted_model,
    matrix_of,
    model_of,
    points,
    write_matrix,
    write_vectors,
)

KERNELS = {
    "gaussian": {"name": "gaussian", "width": 2.0},
    "pseudo_euclidean": {"name": "pseudo_euclidean", "positive": 1},
    "ball": {"name": "ball"},
    "edit_distance": {"name": "edit_distance"},
}


def refused(model, path):
    with pytest.raises(InputError) as caught:
        classify_file(model, path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def assert_predictions(table, model, probabilities, **tolerance):
    best = np.sort(probabilities, axis=1).T
    np.testing.assert_allclose(table["probability"], best[-1], **tolerance)
    np.testing.assert_allclose(table["runner_up_probability"], best[-2], **tolerance)
    labels = np.array(model.classifier.classes)[probabilities.argmax(axis=1)]
    assert table["label"].tolist() == labels.tolist()
    margin = table["probability"] - table["runner_up_probability"]
    np.testing.assert_array_equal(table["margin"], margin)
    assert (table["label"] != table["runner_up"]).all()


@pytest.fixture(params=KINDS)
def measured(request, tmp_path):
    """A model of a matrix, the values of all objects with its landmarks, their probabilities."""
    model, dataset, probabilities = model_of(tmp_path, request.param)
    X, ids = points(4)[0], list(dataset.ids)
    values = matrix_of(request.param, X, X[[ids.index(id) for id in model.landmark_ids]])
    return model, ids, values, probabilities


def test_columns_are_found_by_their_names_or_taken_in_order(measured, tmp_path):
    model, ids, values, probabilities = measured
    landmarks = list(model.landmark_ids)
    order = np.random.default_rng(1).permutation(len(landmarks))
    write_matrix(tmp_path / "named.csv", values, ids, landmarks)
    write_matrix(tmp_path / "shuffled.tsv.gz", values[:, order], ids, [landmarks[i] for i in order])
    np.save(tmp_path / "plain.npy", values)
    # The training matrix itself has a column for each landmark, and others.
    for name in ("named.csv", "shuffled.tsv.gz", "plain.npy", "k.csv"):
        table = classify_file(model, tmp_path / name)
        numbered = [str(i + 1) for i in range(len(ids))]
        assert table["id"].tolist() == (numbered if name == "plain.npy" else ids)
        assert_predictions(table, model, probabilities, rtol=1e-9, atol=1e-15)


def test_matrices_that_do_not_fit_the_model(measured, tmp_path):
    model, ids, values, _ = measured
    landmarks, m = list(model.landmark_ids), len(model.landmark_ids)
    np.save(tmp_path / "narrow.npy", values[:, 1:])
    message = f"has {m - 1} columns where the model has {m} landmarks"
    assert message in refused(model, tmp_path / "narrow.npy")
    write_matrix(tmp_path / "lacks.csv", values, ids, ["stranger", *landmarks[1:]])
    message = f"no column for 1 of the {m} landmarks of the model: {landmarks[0]}."
    assert message in refused(model, tmp_path / "lacks.csv")
    write_matrix(tmp_path / "twice.csv", values, ids, [landmarks[1], *landmarks[1:]])
    message = f"id {landmarks[1]!r} of column 2 is empty or stands twice"
    assert message in refused(model, tmp_path / "twice.csv")
    values[2, 1] = np.nan
    np.save(tmp_path / "nan.npy", values)
    message = "row 3 (3), column 2: nan is not a finite number"
    assert message in refused(model, tmp_path / "nan.npy")
    if "dissimilarity" in model.matrix_kind:
        values[2, 1] = -1
        np.save(tmp_path / "negative.npy", values)
        message = f"row 3 (3), column 2: -1 is negative, which no {model.matrix_kind} is"
        assert message in refused(model, tmp_path / "negative.npy")


@pytest.mark.parametrize("name", KERNELS)
def test_what_a_kernel_compares(tmp_path, name):
    model, _, probabilities = model_of(tmp_path, KERNELS[name])
    path = tmp_path / ("x.txt" if name == "edit_distance" else "x.npy")
    table = classify_file(model, path)
    assert table["id"].tolist() == [str(i + 1) for i in range(len(probabilities))]
    assert_predictions(table, model, probabilities, rtol=0)
    # One alone has the same line, whatever file it comes in.
    if name == "edit_distance":
        one = tmp_path / "one.txt"
        one.write_text(path.read_text().splitlines()[17] + "\n")
    else:
        one = tmp_path / "one.csv"
        one.write_text(",x,y\nq," + ",".join(map(repr, np.load(path)[17].tolist())))
    alone = classify_file(model, one)
    assert alone.iloc[0, 1:].equals(table.iloc[17, 1:])


@pytest.mark.parametrize(
    "objects", [*KINDS, KERNELS["gaussian"], KERNELS["edit_distance"]], ids=str
)
def test_standard_input_is_for_sequences(tmp_path, objects):
    model, *_ = model_of(tmp_path, objects)
    with pytest.raises(InputError, match="standard input is read for models of sequences only"):
        classify_file(model, STANDARD_INPUT)


def test_vectors_and_strings_that_do_not_fit_the_model(tmp_path):
    model, *_ = model_of(tmp_path, KERNELS["gaussian"])
    np.save(tmp_path / "wide.npy", np.ones((2, 5)))
    message = "has 5 columns of numbers where the model's vectors have 2"
    assert message in refused(model, tmp_path / "wide.npy")
    np.save(tmp_path / "nan.npy", np.array([[1.0, 2.0], [np.nan, 1.0]]))
    message = "nan.npy, row 2, column 1: nan is not a finite number"
    assert message in refused(model, tmp_path / "nan.npy")
    model, *_ = model_of(tmp_path, KERNELS["edit_distance"])
    write_matrix(tmp_path / "x.csv", np.ones((2, 2)), ["q", "r"])
    assert "compares strings. Give a .txt file" in refused(model, tmp_path / "x.csv")


@pytest.fixture(scope="module")
def lifted(tmp_path_factory):
    """A model that looks at words and vectors, and the folder of what it was trained on."""
    folder = tmp_path_factory.mktemp("lifted")
    return lifted_model(folder, inducing=20)[0], folder


def test_a_record_without_a_vector_loses_no_other(lifted, tmp_path):
    model, folder = lifted
    lines = (folder / "v.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "fewer.tsv").write_text("".join(lines[:3] + lines[4:]))
    whole = classify_file(model, folder / "x.fasta", Options(vectors=folder / "v.tsv"))
    told = []
    table = classify_file(
        model, folder / "x.fasta", Options(on_fault=told.append, vectors=tmp_path / "fewer.tsv")
    )
    kept = np.arange(len(table)) != 2
    assert table[kept].equals(whole[kept])
    fault = f"has no vector in {tmp_path / 'fewer.tsv'}. Add it."
    assert table["problem"].tolist()[2] == fault
    assert len(told) == 1
    assert told[0].endswith(f"record 3 (line 5), a2: {fault}")
    with pytest.raises(InputError, match="a2: has no vector in"):
        classify_file(model, folder / "x.fasta", Options(vectors=tmp_path / "fewer.tsv"))


def test_vectors_that_do_not_fit_the_model(lifted, tmp_path):
    model, folder = lifted
    with pytest.raises(InputError, match="looks at vectors of 4 numbers. Give those of the new"):
        classify_file(model, folder / "x.fasta")
    path = write_vectors(tmp_path / "wide.csv", [f"a{i}" for i in range(10)], columns=5)
    with pytest.raises(InputError, match="wide.csv: has 5 columns of numbers where .* have 4"):
        classify_file(model, folder / "x.fasta", Options(vectors=path))
    plain, _ = lifted_model(tmp_path, vectors=False)
    with pytest.raises(InputError, match="--vectors .*wide.csv: the model looks at no vectors."):
        classify_file(plain, tmp_path / "x.fasta", Options(vectors=path))


def test_objects_of_a_matrix_have_vectors_too(tmp_path):
    ids, labels = [f"o{i}" for i in range(30)], [label for label in "abc" for _ in range(10)]
    vectors = write_vectors(tmp_path / "v.csv", ids, labels=labels)
    recipe = {"views": {"vectors": True}, "lift": {"kernel": "gaussian", "inducing": 20}}
    model, _, probabilities = model_of(
        tmp_path, "dissimilarity", recipe=recipe, vectors="v.csv", seed=3
    )
    assert "vectors" in model.classifier.lift.rates, "the test needs a model that looks at them"
    table = classify_file(model, tmp_path / "k.csv", Options(vectors=vectors))
    np.testing.assert_array_equal(table["probability"], probabilities.max(axis=1))
