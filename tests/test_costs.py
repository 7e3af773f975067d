"""Pairs, minutes and megabytes that jobs ask for, counted by hand."""

import itertools

import numpy as np
import pytest

from data_sets import six_objects
from kreinflow import costs
from kreinflow.costs import alignment_account

STATISTICS = {
    "distinct": 100,
    "class_sizes": {"a": 60, "b": 45},
    "lengths": {"mean": 200.0},
    "unknown": {"c": 7, "d": 5},
}
"""105 records are 100 distinct sequences."""

CELLS_A_MINUTE = 60 * 2e9


def test_class_scores_are_members_with_candidates_and_all_with_the_sketch():
    assert costs.class_pairs(STATISTICS, ["a", "a", "b", ""]) == 60 + 60 + 45 + 100
    assert costs.class_pairs(STATISTICS, []) == 0


def test_columns_are_all_with_the_landmarks_of_which_none_counts_twice():
    assert costs.column_pairs(STATISTICS, 30) == 3000
    assert costs.column_pairs(STATISTICS, 300) == 100 * 100


def test_unknown_records_meet_all_landmarks():
    assert costs.unknown_pairs(STATISTICS, 30) == 12 * 30


@pytest.mark.parametrize("threads", [1, 4])
def test_minutes_are_ten_and_those_of_the_cells(threads):
    pairs = 3e8
    expected = 10 + pairs * 200.0**2 / CELLS_A_MINUTE / threads
    assert costs.alignment_minutes(STATISTICS, pairs, threads) == pytest.approx(expected, rel=1e-12)
    assert costs.alignment_minutes({**STATISTICS, "lengths": {}}, pairs, threads) == 10


def test_clusters_take_half_the_square_of_each_class():
    sizes = {"a": 60_000, "b": 45_000}
    pairs = (60_000**2 + 45_000**2) / 2
    seconds = pairs * (1e-4 + 3 * 200.0**2 / 2e9)
    found = costs.clustering_minutes({**STATISTICS, "class_sizes": sizes})
    assert found == pytest.approx(30 + seconds / 60, rel=1e-12)


def test_rows_by_tiles_have_a_bound_and_others_have_none():
    square = 16 * 8 * 1000**2 / 1e6
    assert costs.learning_mb(100, 1000, 2048) == 1000 + 2048 + square
    assert costs.learning_mb(10, 1000, 2048) == 1000 + 240 + square
    assert costs.learning_mb(100, 1000, None) == 1000 + 2400 + square


@pytest.mark.parametrize("landmarks", [0, 200, 4000])
@pytest.mark.parametrize("input_mb", [5, 500])
def test_a_job_gives_its_rows_what_it_asked_for_them(landmarks, input_mb):
    asked = costs.learning_mb(input_mb, landmarks, 2048)
    assert costs.rows_mb(asked, landmarks) == pytest.approx(max(64, min(24 * input_mb, 2048)))
    assert costs.rows_mb(100, landmarks) == 64  # a cluster that gives less than was asked for


def test_the_account_counts_each_pair_once():
    dataset = six_objects()

    class Scheme:
        digest, gap_open, gap_extend, mode = "d", 11, 1, "local"
        matrix = type("Matrix", (), {"name": "m"})

    candidates = {"x": np.array([1, 2, 3]), "y": np.array([5])}
    landmarks = np.array([1, 4])
    wanted = {
        (i, j)
        for i, j in itertools.combinations(range(6), 2)
        if i in landmarks
        or j in landmarks
        or (
            dataset.labels[i] == dataset.labels[j]
            and {i, j} & set(candidates["xy"[dataset.labels[i]]].tolist())
        )
    }
    account = alignment_account(dataset, Scheme, candidates, landmarks)
    assert account["aligned"] == len(wanted)
    assert account["full_matrix"] == 15
