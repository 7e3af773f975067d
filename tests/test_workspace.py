"""The files of a run: columns on a full disk, and what is counted as an alignment."""

import errno
import itertools
import os

import numpy as np
import pytest

from kreinflow.errors import KreinflowError
from kreinflow.sequences.dataset import Dataset
from kreinflow.workspace import MatrixScores, alignment_account, write_columns


@pytest.fixture
def dataset():
    K = np.arange(36.0).reshape(6, 6)
    codes = np.array([0, 0, 0, 0, 1, 1])
    return Dataset(
        ids=tuple("abcdef"),
        labels=codes,
        classes=("x", "y"),
        rows=np.arange(6),
        digests=tuple(f"{i:032x}" for i in range(6)),
        sequences=None,
        kind="similarity",
        matrix=K + K.T,
        statistics={},
    )


def test_columns_come_back(tmp_path, dataset):
    path = tmp_path / "columns.npy"
    write_columns(path, MatrixScores(dataset), 6, np.array([4, 1]))
    np.testing.assert_array_equal(np.load(path), dataset.matrix[:, [4, 1]])
    assert os.listdir(tmp_path) == ["columns.npy"]


def test_a_full_disk_is_told_before_anything_is_written(tmp_path, dataset, monkeypatch):
    def full(descriptor, start, size):
        assert size == os.fstat(descriptor).st_size > 6 * 2 * 8
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(KreinflowError, match="columns.npy: could not be written .No space left"):
        write_columns(tmp_path / "columns.npy", MatrixScores(dataset), 6, np.array([4, 1]))
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
