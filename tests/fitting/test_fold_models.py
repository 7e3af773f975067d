"""The models of a fold: each recipe gives back its own."""

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.classify.model_file import Model
from kreinflow.fitting.fold_models import load_fold_model, load_held_out, save_fold_models
from kreinflow.fitting.training import Trained
from small_inputs import model_of


def test_models_of_a_fold_by_recipe(tmp_path):
    one, two = (model_of(tmp_path, learner=name)[0].classifier for name in ("ikfd", "pcvm"))
    path = tmp_path / "fold.safetensors"
    held_out = {"one": np.array([-1, 0, 2]), "one-more": np.array([1])}
    trained = {
        name: Trained(it, {}, held_out[name]) for name, it in (("one", one), ("one-more", two))
    }
    save_fold_models(path, trained)
    for name, model in (("one", one), ("one-more", two)):
        again = load_fold_model(path, name)
        np.testing.assert_array_equal(again.decision.weights, model.decision.weights)
        np.testing.assert_array_equal(load_held_out(path, name), held_out[name])
    with pytest.raises(InputError, match="holds no recipe 'two'"):
        load_fold_model(path, "two")
    with pytest.raises(InputError, match="holds a 'kreinflow fold models 1' where a 'kreinflow"):
        Model.load(path)
