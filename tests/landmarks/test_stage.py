"""What selectors see of a fold, the columns that are written, and what counts as an alignment."""

import errno
import itertools
import os

import numpy as np
import pytest

from kreinflow.costs import alignment_account
from kreinflow.errors import InputError, KreinflowError
from kreinflow.kernels.registry import make_kernel
from kreinflow.landmarks.budgets import pairs_with
from kreinflow.landmarks.registry import SELECTORS, make_selector
from kreinflow.landmarks.stage import LandmarkStage, training_parts
from kreinflow.preflight import check_budgets
from kreinflow.scores import open_scores, transforms_of, write_columns
from kreinflow.sequences.dataset import Dataset
from kreinflow.sequences.partition import Partition
from kreinflow.sequences.payload import Compared, Matrix

RAW = transforms_of(["raw"], {}, None)


def dataset_of(codes, payload):
    n = len(codes)
    return Dataset(
        ids=tuple(f"o{i}" for i in range(n)),
        labels=codes,
        classes=("x", "y"),
        rows=np.arange(n),
        digests=tuple(f"{i:032x}" for i in range(n)),
        payload=payload,
    )


@pytest.fixture
def dataset():
    K = np.arange(36.0).reshape(6, 6)
    return dataset_of(np.array([0, 0, 0, 0, 1, 1]), Matrix(K + K.T, kind="similarity"))


def test_columns_come_back(tmp_path, dataset):
    path = tmp_path / "columns.npy"
    write_columns(path, open_scores(dataset), np.arange(6), np.array([4, 1]))
    np.testing.assert_array_equal(np.load(path), dataset.payload.values[:, [4, 1]])
    write_columns(path, open_scores(dataset), np.array([2, 5]), np.array([4, 1]))
    np.testing.assert_array_equal(np.load(path), dataset.payload.values[[2, 5]][:, [4, 1]])
    assert os.listdir(tmp_path) == ["columns.npy"]


def compared(objects, kernel):
    made = make_kernel(kernel)
    return dataset_of(np.arange(len(objects)) % 2, Compared(objects, made, kind=made.kind))


@pytest.mark.parametrize("name", ["gaussian", "ball", "edit_distance"])
def test_columns_of_a_kernel_are_those_of_the_whole_matrix(tmp_path, name):
    kernel = {"name": name}
    random = np.random.default_rng(0)
    if name == "edit_distance":
        words = ["".join(random.choice(list("ab"), 8)) for _ in range(5000)]
        objects = np.array(words, dtype=object)
    else:
        objects = random.random((5000, 3))
    dataset = compared(objects, kernel)
    scores = open_scores(dataset, None, tmp_path)
    union = np.array([4999, 7, 4096])
    write_columns(tmp_path / "columns.npy", scores, np.arange(5000), union)
    expected = make_kernel(kernel).columns(objects, objects[union])
    np.testing.assert_array_equal(np.load(tmp_path / "columns.npy"), expected)
    np.testing.assert_array_equal(scores.self_scores(), make_kernel(kernel).diagonal(objects))
    few = np.array([3, 4999])
    np.testing.assert_array_equal(scores.rectangle(few, union), expected[few])
    for part in LandmarkStage(dataset, scores, RAW, 1).class_scores(RAW["raw"], candidates=2):
        assert part.kind == dataset.kind
        whole = make_kernel(kernel).columns(objects[part.rows], objects[part.rows[part.drawn]])
        np.testing.assert_array_equal(part.scores, whole)


def test_a_kernel_that_overflows_names_the_records(tmp_path):
    objects = np.array([[1.0], [2.0], [1e200]])
    dataset = compared(objects, {"name": "polynomial", "degree": 3})
    scores = open_scores(dataset, None, tmp_path)
    with np.errstate(over="ignore"):
        with pytest.raises(InputError, match=r"polynomial .* of o2 and o2 is not finite"):
            scores.self_scores()
        with pytest.raises(InputError, match=r"polynomial .* of o1 and o2 is not finite"):
            scores.rectangle(np.array([1, 0]), np.array([0, 2]))


def test_a_full_disk_is_told_before_anything_is_written(tmp_path, dataset, monkeypatch):
    def full(descriptor, start, size):
        assert size == os.fstat(descriptor).st_size > 6 * 2 * 8
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    path = tmp_path / "columns.npy"
    with pytest.raises(KreinflowError, match="columns.npy: could not be written .No space left"):
        write_columns(path, open_scores(dataset), np.arange(6), np.array([4, 1]))
    assert os.listdir(tmp_path) == []


def test_the_account_counts_each_pair_once(dataset):
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
    selector = make_selector(
        {
            key: settings[key]
            for key in ("method", *SELECTORS[method].settings_schema)
            if key in settings
        }
    )
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


def test_alignments_that_pay_for_too_few_landmarks_are_refused(dataset):
    partition = Partition(groups=np.arange(6), folds=np.array([[0, 1, 0, 1, 0, 1]]))
    selectors = {"s": {"method": "uniform", "budget": {"alignments": 14}}}
    with pytest.raises(
        InputError,
        match="14 pay for 1 landmarks in each of 3 training parts of 6 distinct sequences, fewer "
        "than the 2 classes. Give at least 15, or use fewer folds",
    ):
        check_budgets(dataset, partition, selectors)
    check_budgets(dataset, partition, {"s": {"method": "uniform", "budget": {"alignments": 15}}})
