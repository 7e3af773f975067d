"""Random streams depend on the seed and their name, and on nothing else."""

import numpy as np

from kreinflow.randomness import hash_keys, stream


def test_streams_are_named():
    assert stream(1, "a", 2).random() == stream(1, "a", 2).random()
    draws = {
        stream(1, "a").random(),
        stream(2, "a").random(),
        stream(1, "b").random(),
        stream(1, "a", "b").random(),
    }
    assert len(draws) == 4


def test_keys_do_not_depend_on_the_company():
    ids = [f"id{i}" for i in range(200)]
    keys = hash_keys(3, "folds", ids)
    np.testing.assert_array_equal(hash_keys(3, "folds", ids[50:60]), keys[50:60])
    assert len(set(keys.tolist())) == 200
    assert (hash_keys(4, "folds", ids) != keys).all()
    assert (hash_keys(3, "candidates", ids) != keys).all()


def test_keys_are_spread_evenly():
    keys = hash_keys(1, "x", [str(i) for i in range(10_000)])
    counts = np.bincount((keys % np.uint64(10)).astype(int), minlength=10)
    assert abs(counts - 1000).max() < 150
