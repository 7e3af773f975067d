"""The landmarks of a fold: what selectors see of it, and how many they may take."""

import numpy as np
import pytest

from data_sets import dataset_of
from kreinflow.config.preflight import check_budgets
from kreinflow.landmarks.budgets import pairs_with
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.landmarks.stage import LandmarkStage, training_parts
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.payload import Matrix
from kreinflow.sequences.scores import open_scores, transforms_of

RAW = transforms_of(["raw"], {}, None)


@pytest.mark.parametrize("kind", ["similarity", "squared_dissimilarity"])
@pytest.mark.parametrize("method", sorted(set(SELECTORS) - {"given"}))
def test_selectors_look_at_no_record_that_is_tested(method, kind):
    """The scores and labels of the tested records are scrambled: the landmarks are the same."""
    random = np.random.default_rng(2)
    n, codes = 60, np.arange(60) % 2
    X = random.standard_normal((n, 3)) + codes[:, None]
    tested = np.zeros(n, dtype=bool)
    tested[random.permutation(n)[:20]] = True
    K = (X * [1, -1, 1]) @ X.T if kind == "similarity" else ((X[:, None] - X) ** 2).sum(axis=2)
    noise = random.random((n, n)) + 1.0
    np.fill_diagonal(noise, float(kind == "similarity"))
    scrambled = np.where(tested[:, None] | tested, noise + noise.T, K)
    others = np.where(tested, 1 - codes, codes)

    settings = {"method": method, "transform": "raw", "candidates": 6, "sketch": 9, "budget": 8}
    selector = make_selector(settings)
    tables = []
    for matrix, labels in ((K, codes), (scrambled, others)):
        dataset = dataset_of(labels, Matrix(matrix, kind=kind))
        stage = LandmarkStage(dataset, open_scores(dataset), RAW, 1, ~tested, "r0f0")
        tables.append(stage.select(selector))
    assert tables[0].equals(tables[1])
    assert not tested[tables[0]["row"]].any()
    assert len(tables[0]) == (40 if method == "all" else 8)


@pytest.mark.parametrize("alignments", [1000, 1769, 1770, 5000])
def test_landmarks_of_all_parts_stay_within_the_alignments_of_the_budget(alignments):
    """Even if no two training parts share a landmark; where all pairs are paid for, all are."""
    n, codes = 60, np.arange(60) % 2
    K = np.random.default_rng(7).standard_normal((n, 5))
    dataset = dataset_of(codes, Matrix(K @ K.T, kind="similarity"))
    partition = Partition(groups=np.arange(n), folds=np.array([np.arange(n) % 4]))
    parts = training_parts(partition)
    assert parts == 5
    settings = {"method": "kmeans++", "transform": "raw", "budget": {"alignments": alignments}}
    check_budgets(dataset, partition, {"s": settings})
    selector = make_selector(settings)
    counts = []
    for name in [*partition.names, "all"]:
        training = partition.training(name)
        stage = LandmarkStage(dataset, open_scores(dataset), RAW, 1, training, name, parts)
        counts.append(len(stage.select(selector)))
    assert pairs_with(min(sum(counts), n), n) <= alignments
    assert counts == {1000: [4] * 5, 1769: [11] * 5}.get(alignments, [45] * 4 + [60])
