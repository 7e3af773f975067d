"""The account of a run, against a count of all pairs."""

import itertools

import numpy as np

from data_sets import six_objects
from kreinflow.landmarks.alignment_count import alignment_account


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
