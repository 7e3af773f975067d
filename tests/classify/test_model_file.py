"""The model file: what is written is read back, and the final recipe is the inner choice."""

import numpy as np
import pytest

from kreinflow.classify.model_file import Model
from kreinflow.errors import InputError
from kreinflow.models.choice import choose_recipe
from kreinflow.models.fold_models import load_fold_model, save_fold_models
from small_inputs import (
    DNA,
    configuration,
    families,
    matrix_of,
    points,
    trained_model,
    write_fasta,
    write_matrix,
)

SOURCE = {"type": "fasta", "fasta": "x.fasta", "labels": {"pattern": r"family=(\w+);"}}


def of_sequences(folder, **settings):
    write_fasta(folder / "x.fasta", families(1))
    return trained_model(configuration(SOURCE, **settings), folder)[0]


def of_a_matrix(folder, kind="dissimilarity", learner="pcvm"):
    X, labels = points(2)
    ids = [f"o{i}" for i in range(len(X))]
    write_matrix(folder / "k.tsv", matrix_of(kind, X, X), ids)
    (folder / "y.txt").write_text("\n".join(labels))
    source = {"type": "matrix", "matrix": "k.tsv", "kind": kind, "labels": {"lines": "y.txt"}}
    return trained_model(configuration(source, "raw", learner), folder)[0]


@pytest.mark.parametrize("learner", ["ikfd", "pcvm", "nearest", "svc"])
@pytest.mark.parametrize("transform", ["raw", "normalised", "sqrt", "log", "evalue"])
def test_read_back_as_it_was(tmp_path, learner, transform):
    model = of_sequences(tmp_path, transform=transform, learner=learner)
    model.save(tmp_path / "model.safetensors")
    again = Model.load(tmp_path / "model.safetensors")
    assert again.scheme.to_dict() == model.scheme.to_dict()
    for name in ("landmark_ids", "landmarks", "matrix_kind", "molecule", "about"):
        assert getattr(again, name) == getattr(model, name)
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 200, (5, len(model.landmarks)))
    own, lengths = np.full(5, 300.0), np.full(5, 60.0)
    np.testing.assert_array_equal(
        again.classifier.predict_proba(scores, own, lengths),
        model.classifier.predict_proba(scores, own, lengths),
    )
    assert again.classifier.transform == model.classifier.transform
    assert again.classifier.reject_threshold == model.classifier.reject_threshold


@pytest.mark.parametrize("learner", ["ikfd", "nearest"])
@pytest.mark.parametrize("kind", ["similarity", "dissimilarity", "squared_dissimilarity"])
def test_a_model_of_a_matrix_has_no_sequences(tmp_path, kind, learner):
    model = of_a_matrix(tmp_path, kind, learner)
    model.save(tmp_path / "model.safetensors")
    again = Model.load(tmp_path / "model.safetensors")
    assert again.landmarks is None
    assert again.scheme is None
    assert again.matrix_kind == kind
    assert (again.classifier.centring is None) == (kind == "similarity")


def test_the_same_model_is_the_same_bytes(tmp_path):
    model = of_sequences(tmp_path)
    for name in ("one", "two"):
        model.save(tmp_path / name)
    Model.load(tmp_path / "one").save(tmp_path / "again")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "again").read_bytes()


def test_every_cut_is_refused_and_named(tmp_path):
    of_a_matrix(tmp_path).save(tmp_path / "model.safetensors")
    data = (tmp_path / "model.safetensors").read_bytes()
    for length in (*range(0, len(data), 97), len(data) - 1):
        (tmp_path / "cut.safetensors").write_bytes(data[:length])
        with pytest.raises(InputError, match=r"cut\.safetensors: "):
            Model.load(tmp_path / "cut.safetensors")


def test_models_of_a_fold_by_recipe(tmp_path):
    one, two = (of_sequences(tmp_path, learner=name).classifier for name in ("ikfd", "pcvm"))
    path = tmp_path / "fold.safetensors"
    save_fold_models(path, {"one": one, "one-more": two})
    np.testing.assert_array_equal(
        load_fold_model(path, "one").decision.weights, one.decision.weights
    )
    np.testing.assert_array_equal(
        load_fold_model(path, "one-more").decision.weights, two.decision.weights
    )
    with pytest.raises(InputError, match="holds no recipe 'two'"):
        load_fold_model(path, "two")
    with pytest.raises(InputError, match="holds a 'kreinflow fold models 1' where a 'kreinflow"):
        Model.load(path)


def test_the_final_recipe_is_the_inner_choice():
    figures = [
        {"recipe": "a", "inner_accuracy": 0.9, "inner_log_loss": 0.1},
        {"recipe": "b", "inner_accuracy": 0.95, "inner_log_loss": 0.9},
        {"recipe": "c", "inner_accuracy": 0.95, "inner_log_loss": 0.3},
        {"recipe": "d", "inner_accuracy": 0.95, "inner_log_loss": 0.3},
    ]
    assert choose_recipe(figures, ["a", "b", "c", "d"]) == "c"
    assert choose_recipe(figures, ["d", "c", "b", "a"]) == "d"
    assert choose_recipe(figures, ["a", "b"]) == "b"
    assert choose_recipe(figures, ["a", "b", "c", "d"], "a") == "a"


def test_of_losses_that_differ_by_rounding_the_first_recipe_is_taken():
    """Where all inner predictions are right, all recipes have the same loss."""
    figures = [
        {"recipe": "few", "inner_accuracy": 1.0, "inner_log_loss": 0.0017 + 3e-12},
        {"recipe": "many", "inner_accuracy": 1.0, "inner_log_loss": 0.0017},
    ]
    assert choose_recipe(figures, ["few", "many"]) == "few"
    assert choose_recipe(figures, ["many", "few"]) == "many"


def test_the_landmarks_of_a_collapsed_sequence_have_the_first_id(tmp_path):
    records = families(4, letters=DNA, each=6)
    twins = [(f"twin{i}", label, s) for i, (_, label, s) in enumerate(records)]
    write_fasta(tmp_path / "x.fasta", [*records, *twins])
    config = configuration(
        {**SOURCE, "molecule": "nucleotide"}, scoring={"matrix": "nuc44", "gap_open": 10}
    )
    model, dataset, _ = trained_model(config, tmp_path)
    assert len(dataset.digests) == len(records)
    assert set(model.landmark_ids) <= {r[0] for r in records}
    residues = {i: s.encode() for i, _, s in records}
    assert model.landmarks == tuple(residues[i] for i in model.landmark_ids)
    assert model.molecule == "nucleotide"
