"""What a model was learned from: it comes back, and what does not fit the model is refused."""

from dataclasses import replace

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.classify.learned_file import KIND, Learned, no_update, write_refusal
from kreinflow.classify.model_file import Model
from kreinflow.files.arrays import read_arrays, write_arrays
from small_inputs import configuration, learned_of, model_of, trained_recipe, write_input


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A trained recipe, its model file, and what it was learned from."""
    folder = tmp_path_factory.mktemp("saved")
    it = trained_recipe(configuration(write_input(folder)), folder)
    paths = folder / "model.safetensors", folder / "model.learned.safetensors"
    it.model.save(paths[0])
    learned_of(it).save(paths[1], paths[0])
    return it, *paths


def test_it_comes_back(saved):
    it, model, path = saved
    found, wanted = Learned.load(path, Model.load(model), model), learned_of(it)
    assert isinstance(found.scores, np.memmap)
    assert found.scores.dtype.itemsize <= 4
    for name in ("scores", "self_scores", "landmark_rows", "held_out"):
        np.testing.assert_array_equal(getattr(found, name), np.asarray(getattr(wanted, name)))
    for name in ("ids", "classes", "digests", "kind"):
        assert getattr(found.dataset, name) == getattr(wanted.dataset, name)
    np.testing.assert_array_equal(found.dataset.labels, wanted.dataset.labels)
    np.testing.assert_array_equal(found.dataset.rows, wanted.dataset.rows)
    assert found.dataset.sequences == wanted.dataset.sequences
    assert found.settings == wanted.settings


def test_the_file_of_another_model_is_refused(saved, tmp_path):
    it, model, path = saved
    other = tmp_path / "other.safetensors"
    replace(it.model, about={**it.model.about, "records": 29}).save(other)
    with pytest.raises(InputError, match="is of another model than"):
        Learned.load(path, Model.load(other), other)
    with pytest.raises(InputError, match=r"no such file. It is written beside a model of a run"):
        Learned.load(tmp_path / "none", Model.load(model), model)
    with pytest.raises(InputError, match="where a 'kreinflow learned 1' is"):
        Learned.load(model, Model.load(model), model)


def test_whole_labels_come_back(saved, tmp_path):
    it, model, _ = saved
    own, path = learned_of(it), tmp_path / "paths.safetensors"
    assert own.dataset.paths is None
    labels = tuple(f"{label}.{id}" for id, label in zip(own.dataset.ids, "ab" * 99, strict=False))
    replace(own, dataset=replace(own.dataset, paths=labels)).save(path, model)
    assert Learned.load(path, Model.load(model), model).dataset.paths == labels
    replace(own, dataset=replace(own.dataset, paths=labels[1:])).save(path, model)
    with pytest.raises(InputError, match=f"{len(labels) - 1} paths of {len(labels)} records"):
        Learned.load(path, Model.load(model), model)


FAULTS = {
    "fewer scores": lambda _, arrays: arrays.update(scores=arrays["scores"][:, :-1]),
    "no labels": lambda _, arrays: arrays.pop("labels"),
    "number of rows": lambda header, _: header.update(distinct=31),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_parts_that_do_not_fit_are_refused(saved, tmp_path, fault):
    _, model, path = saved
    header, arrays = read_arrays(path, KIND)
    FAULTS[fault](header, arrays)
    write_arrays(tmp_path / "bad.safetensors", KIND, header, arrays)
    with pytest.raises(InputError, match=r"bad\.safetensors: (a part is|not a file of)"):
        Learned.load(tmp_path / "bad.safetensors", Model.load(model), model)


@pytest.mark.parametrize(
    ("objects", "folds", "why"),
    [
        ("similarity", {"method": "stratified"}, "it was trained on a matrix"),
        ("sequences", {"method": "grouped", "column": "taxon"}, "its folds are by the column 'tax"),
        ("sequences", {"method": "grouped", "column": None}, None),
        ({"name": "gaussian"}, {"method": "stratified"}, None),
    ],
)
def test_what_cannot_be_updated_says_why(tmp_path, objects, folds, why):
    _, dataset, _ = model_of(tmp_path, objects)
    said = no_update(dataset, folds)
    assert (said or "").startswith(why or "")
    assert (said is None) == (why is None)
    several = replace(dataset, memberships=np.ones((len(dataset.ids), 3), dtype=bool))
    assert no_update(several, folds) == "its records have several labels"


def test_a_refusal_is_told(saved, tmp_path):
    _, model, _ = saved
    write_refusal(tmp_path / "no", model, "it was trained on a matrix")
    with pytest.raises(InputError, match="cannot be updated: it was trained on a matrix. Train"):
        Learned.load(tmp_path / "no", Model.load(model), model)
