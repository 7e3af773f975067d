"""Where scores come from, and the columns that are written."""

import errno
import os

import numpy as np
import pytest

from data_sets import compared, dataset_of, six_objects
from kreinflow.base.errors import InputError, KreinflowError
from kreinflow.kernels.registry import make_kernel
from kreinflow.landmarks.stage import LandmarkStage
from kreinflow.sequences.payload import Matrix
from kreinflow.sequences.scores import (
    columns_in_memory,
    open_scores,
    transforms_of,
    write_columns,
)

RAW = transforms_of(["raw"], {}, None)


def test_columns_come_back(tmp_path):
    path, dataset = tmp_path / "columns.npy", six_objects()
    write_columns(path, open_scores(dataset), np.arange(6), np.array([4, 1]))
    np.testing.assert_array_equal(np.load(path), dataset.payload.values[:, [4, 1]])
    write_columns(path, open_scores(dataset), np.array([2, 5]), np.array([4, 1]))
    np.testing.assert_array_equal(np.load(path), dataset.payload.values[[2, 5]][:, [4, 1]])
    assert os.listdir(tmp_path) == ["columns.npy"]


@pytest.mark.parametrize("kind", ["similarity", "asymmetric"])
def test_columns_in_memory_are_those_of_the_file(tmp_path, kind):
    values, path = np.random.default_rng(0).random((6, 6)), tmp_path / "columns.npy"
    dataset = dataset_of(np.array([0, 0, 0, 0, 1, 1]), Matrix(values, kind=kind))
    scores, landmarks = open_scores(dataset), np.array([4, 1])
    write_columns(path, scores, np.arange(6), landmarks, directed=kind == "asymmetric")
    np.testing.assert_array_equal(columns_in_memory(dataset, scores, landmarks), np.load(path))


@pytest.mark.parametrize("name", ["gaussian", "ball", "edit_distance"])
def test_columns_of_a_kernel_are_those_of_the_whole_matrix(tmp_path, name):
    kernel = {"name": name}
    random = np.random.default_rng(0)
    objects = random.random((5000, 3))
    if name == "edit_distance":
        objects = np.array(["".join(word) for word in random.choice(list("ab"), (5000, 8))], object)
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
    large = open_scores(compared(1e31 * objects[:2], {"name": "linear"}), None, tmp_path)
    with pytest.raises(InputError, match=r"linear kernel of o0 and o0 is .* above 1e\+60 in size"):
        large.self_scores()


def test_a_full_disk_is_told_before_anything_is_written(tmp_path, monkeypatch):
    def full(descriptor, start, size):
        assert size == os.fstat(descriptor).st_size > 6 * 2 * 8
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    path = tmp_path / "columns.npy"
    with pytest.raises(KreinflowError, match="columns.npy: could not be written .No space left"):
        write_columns(path, open_scores(six_objects()), np.arange(6), np.array([4, 1]))
    assert os.listdir(tmp_path) == []
