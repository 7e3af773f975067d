"""The factors of a fold, each rank under its own name, and what their tables hold."""

import numpy as np
import pytest

from fitting.trainings import kernel_problem
from flipped_bits import count_refused
from kreinflow.alignment.transforms import make_transform
from kreinflow.base.errors import InputError
from kreinflow.files.tables import write_table
from kreinflow.fitting.factors import (
    embedding_of,
    factor_row,
    factor_table,
    make_factors,
    spectrum_table,
)
from kreinflow.krein.correction import LANDMARK_COORDINATES


def recipe(rank, correction):
    return {"transform": "raw", "rank": rank, "correction": correction}


def entries_of(choices):
    X = np.random.default_rng(3).normal(size=(30, 5))
    _, landmarks, part = kernel_problem(X, [1, 1, 1, -1, -1], np.arange(6))
    recipes = [recipe(*choice) for choice in choices]
    return make_factors(landmarks, part, {"raw": make_transform("raw")}, recipes)


@pytest.fixture
def entries():
    return entries_of([(1, "none"), (1.0, "none"), (1.0, "flip"), ("misfit", "none")])


def test_rank_one_and_the_whole_rank_are_two_factors(entries):
    assert factor_table(entries)["rank_wanted"].tolist() == ["1", "1.0", "misfit"]
    assert [list(entry.corrected) for entry in entries] == [["none"], ["none", "flip"], ["none"]]
    for of, rank in (((1, "none"), 1), ((1.0, "none"), 5), ((1.0, "flip"), 5)):
        embedding = embedding_of(entries, recipe(*of))
        assert embedding.rank == rank
    assert (embedding.signs == 1).all()


def test_the_row_of_a_factor_is_read_from_its_table_and_stands_there_once(entries, tmp_path):
    path = tmp_path / "factors.tsv"
    table = factor_table(entries)
    write_table(path, table)
    assert factor_row(path, recipe(1.0, "none"))["rank"] == 5
    assert count_refused(path, lambda p: factor_row(p, recipe(1, "none"))) > 100
    for damaged in (table[1:], table.iloc[[0, 0]]):
        write_table(path, damaged)
        with pytest.raises(InputError, match="factors.tsv: has . factors of .*rank 1. Delete it"):
            factor_row(path, recipe(1, "none"))


def test_recipes_can_name_the_coordinates_of_the_landmarks():
    (entry,) = entries = entries_of([("misfit", name) for name in LANDMARK_COORDINATES])
    whole, flipped, positive = (entry.corrected[name] for name in LANDMARK_COORDINATES)
    np.testing.assert_array_equal(whole.signs, entry.factor.signs)
    assert (flipped.signs == 1).all()
    assert positive.rank == np.count_nonzero(entry.factor.signs > 0) < whole.rank
    table = spectrum_table(entries)
    assert list(table["correction"].unique()) == ["none", *LANDMARK_COORDINATES]
    smallest = table.groupby("correction")["eigenvalue"].min()
    assert smallest["none"] < 0
    assert smallest["landmark_basis"] == pytest.approx(smallest["none"], rel=1e-10)
    assert smallest[["flip_landmark_matrix", "landmark_mds"]].min() > 0
