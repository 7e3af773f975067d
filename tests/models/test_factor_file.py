"""The file of a fold's factors gives back what was put in, each rank under its own name."""

import numpy as np
import pytest

from kreinflow.alignment.transforms import make_transform
from kreinflow.errors import InputError
from kreinflow.models.factor_file import factor_table, load_embedding, save_factors
from kreinflow.models.factors import Landmarks, TrainingPart, make_factors


@pytest.fixture
def entries():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 5))
    K = (X * [1, 1, 1, -1, -1]) @ X.T
    rows = np.arange(6)
    landmarks = Landmarks(
        K[:, rows], np.diag(K).copy(), np.zeros(30), rows, np.arange(6) % 2, "similarity"
    )
    part = TrainingPart(np.arange(30), np.arange(30) % 2, np.arange(30), ("a", "b"))
    recipes = [
        {"transform": "raw", "rank": rank, "correction": correction}
        for rank, correction in ((1, "none"), (1.0, "none"), (1.0, "flip"), ("misfit", "none"))
    ]
    return make_factors(landmarks, part, {"raw": make_transform("raw")}, recipes)


def test_rank_one_and_the_whole_rank_are_two_factors(entries, tmp_path):
    path = tmp_path / "factors.safetensors"
    save_factors(path, entries)
    assert factor_table(entries)["rank_wanted"].tolist() == ["1", "1.0", "misfit"]
    assert load_embedding(path, "raw", 1, "none").rank == 1
    assert load_embedding(path, "raw", 1.0, "none").rank == 5
    assert (load_embedding(path, "raw", 1.0, "flip").signs == 1).all()


def test_a_correction_that_was_not_asked_for_is_refused(entries, tmp_path):
    path = tmp_path / "factors.safetensors"
    save_factors(path, entries)
    with pytest.raises(InputError, match="no factor of transform raw, rank 1, correction flip"):
        load_embedding(path, "raw", 1, "flip")
