"""Random streams depend on the seed and their name, and on nothing else."""

import numpy as np

from kreinflow.base.random_streams import hash_keys, row_uniforms, stream


def test_streams_are_named():
    assert stream(1, "a", 2).random() == stream(1, "a", 2).random()
    names = ((1, "a"), (2, "a"), (1, "b"), (1, "a", "b"))
    assert len({stream(*name).random() for name in names}) == 4


def test_keys_do_not_depend_on_the_company():
    ids = [f"id{i}" for i in range(200)]
    keys = hash_keys(3, "folds", ids)
    np.testing.assert_array_equal(hash_keys(3, "folds", ids[50:60]), keys[50:60])
    assert len(set(keys.tolist())) == 200
    assert (hash_keys(4, "folds", ids) != keys).all()
    assert (hash_keys(3, "candidates", ids) != keys).all()


def test_numbers_of_rows_are_those_of_splitmix64():
    """The first outputs of the generator from 1234567, as other implementations print them."""
    expected = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    key = np.array([1234567], dtype=np.uint64)
    found = [float(row_uniforms(key, draw)[0]) for draw in range(5)]
    assert found == [(number >> 11) * 2.0**-53 for number in expected]


def test_numbers_of_rows_are_uniform_and_do_not_depend_on_the_company():
    keys = hash_keys(1, "x", map(str, range(2000)))
    numbers = np.array([row_uniforms(keys, draw) for draw in range(20)])
    np.testing.assert_array_equal(row_uniforms(keys[500:600], 7), numbers[7, 500:600])
    counts, _ = np.histogram(numbers, bins=20, range=(0, 1))
    assert abs(counts - 2000).max() < 5 * np.sqrt(2000)
    assert abs(np.corrcoef(numbers)[np.triu_indices(20, 1)]).max() < 0.1
