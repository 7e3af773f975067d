"""Inducing points: by classes, by digests, and not by the order of records."""

import numpy as np
import pytest

from kreinflow.base.random_streams import hash_keys
from kreinflow.views.inducing import inducing_places

SIZES = (200, 50, 8, 2)


def records(seed=0, twice=30):
    """Distinct rows of four classes, some of them twice, in a random order."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(SIZES)), SIZES)
    rows = np.arange(len(labels))
    again = rng.choice(rows, twice, replace=False)
    order = rng.permutation(len(rows) + twice)
    rows, labels = np.r_[rows, again][order], np.r_[labels, labels[again]][order]
    return rows, labels, hash_keys(1, "inducing points", [f"row {row}" for row in rows])


@pytest.mark.parametrize("count", [4, 60, 259, 260, 1000])
def test_they_are_distinct_rows_of_all_classes_by_the_smallest_keys(count):
    rows, labels, keys = records()
    places = inducing_places(rows, labels, count, keys)
    assert len(places) == min(count, 260) == len(set(rows[places]))
    assert (np.diff(places) > 0).all()
    for code in range(4):
        taken = keys[places][labels[places] == code]
        assert len(taken) > 0
        own = sorted(set(keys[labels == code].tolist()))
        assert sorted(taken.tolist()) == own[: len(taken)]


def test_more_of_them_hold_the_fewer():
    rows, labels, keys = records()
    before = set()
    for count in range(4, 261):
        found = set(inducing_places(rows, labels, count, keys).tolist())
        assert before <= found
        before = found


def test_shares_go_with_the_root_of_the_size():
    rows, labels, keys = records()
    counts = np.bincount(labels[inducing_places(rows, labels, 52, keys)])
    assert counts[3] == 2  # all it has
    expected = 50 * np.sqrt(SIZES[:3]) / np.sqrt(SIZES[:3]).sum()
    assert np.abs(counts[:3] - expected).max() <= 1


@pytest.mark.parametrize("count", [5, 60, 1000])
def test_the_order_of_records_does_not_matter(count):
    rows, labels, keys = records()
    found = set(rows[inducing_places(rows, labels, count, keys)])
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(rows))
        places = inducing_places(rows[order], labels[order], count, keys[order])
        assert set(rows[order][places]) == found


def test_an_object_of_two_classes_is_of_the_same_one_in_any_order():
    rows, labels = np.array([0, 0, 1, 2, 3, 4]), np.array([1, 0, 0, 0, 1, 1])
    keys = hash_keys(1, "inducing points", [f"row {row}" for row in rows])
    found = []
    for order in (np.arange(6), np.array([1, 0, 2, 3, 4, 5]), np.arange(6)[::-1]):
        for count in (3, 9):
            places = inducing_places(rows[order], labels[order], count, keys[order])
            picked = zip(rows[order][places].tolist(), labels[order][places].tolist(), strict=True)
            found.append((count, sorted(picked)))
    assert found[2:] == found[:2] * 2
