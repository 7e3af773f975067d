import errno
import os
from unittest.mock import MagicMock

import numpy as np
import pytest

import kreinflow.base.tiled_matrix
from krein_problems import labelled_rows, problem_of_scores
from kreinflow.base.errors import InputError
from kreinflow.base.numerics import limited
from kreinflow.base.tiled_matrix import TiledMatrix, select
from kreinflow.fitting.inner_folds import InnerFits, choose
from kreinflow.learners.registry import LEARNERS, make_learner


@pytest.fixture
def matrix():
    return np.random.default_rng(0).normal(size=(9000, 7))


@pytest.fixture
def tiled(matrix):
    return TiledMatrix(matrix.shape, lambda places: matrix[places])


@pytest.mark.parametrize("memory_mb", [1e-6, 100])
@pytest.mark.parametrize("keep", [TiledMatrix.kept, TiledMatrix.stored])
def test_a_matrix_is_the_same_wherever_it_is_kept(matrix, tiled, keep, memory_mb):
    with limited(memory_mb=memory_mb):
        kept = keep(tiled)
    assert isinstance(kept, np.ndarray) == (memory_mb == 100)
    np.testing.assert_array_equal(kept[10:4200], matrix[10:4200])
    np.testing.assert_array_equal(np.asarray(kept), matrix)
    places = np.array([8999, 3, 3])
    np.testing.assert_array_equal(select(kept, places)[:], matrix[places])


def test_rows_are_made_when_asked_for_and_no_others(matrix):
    asked = []

    def read(places):
        asked.extend(places.tolist())
        return matrix[places]

    part = TiledMatrix(matrix.shape, read).take(np.array([5, 4, 8000])).take(np.array([2, 0]))
    assert part.shape == (2, 7)
    assert asked == []
    np.testing.assert_array_equal(part[1:], matrix[[5]])
    assert asked == [5]


def test_a_large_selection_of_an_array_is_no_copy(monkeypatch, matrix):
    monkeypatch.setattr(kreinflow.base.tiled_matrix, "_COPIED", 100)
    chosen = select(matrix, np.arange(0, 9000, 2))
    assert isinstance(chosen, TiledMatrix)
    np.testing.assert_array_equal(np.asarray(chosen), matrix[::2])


def test_a_mapped_file_gives_its_pages_back(tmp_path):
    array = np.zeros((40_000, 500), dtype=np.int16)
    array[:, 3] = np.arange(40_000)
    np.save(tmp_path / "scores.npy", array)
    mapped = np.load(tmp_path / "scores.npy", mmap_mode="r")
    tiled = TiledMatrix.mapped(mapped, np.array([3, 0]))

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[2]) * os.sysconf("SC_PAGE_SIZE")  # of files

    before = resident()
    for start in range(0, 40_000, 4096):
        rows = tiled[start : start + 4096]
        np.testing.assert_array_equal(rows[:, 0], array[start : start + 4096, 3])
        assert resident() - before < 8e6
    assert mapped.sum() == array.sum()
    assert resident() - before > 30e6  # as it is without


def test_what_was_written_to_a_copy_of_a_file_is_not_given_back(tmp_path):
    np.save(tmp_path / "scores.npy", np.zeros((500, 30)))
    copied = np.load(tmp_path / "scores.npy", mmap_mode="c")
    copied[:] = 1
    kreinflow.base.tiled_matrix.release(copied)
    assert TiledMatrix.mapped(copied) is copied
    np.testing.assert_array_equal(copied, 1)


def test_a_full_disk_is_the_users_to_mend(monkeypatch, tiled):
    full = MagicMock()
    full.return_value.__enter__.return_value.write.side_effect = OSError(errno.ENOSPC, "full")
    full.return_value.__exit__.return_value = False
    monkeypatch.setattr(kreinflow.base.tiled_matrix.tempfile, "TemporaryFile", full)
    with limited(memory_mb=1e-6), pytest.raises(InputError, match="no room for a scratch file"):
        tiled.stored()


def problem_of(kind, n=9000, m=24, correction="none"):
    """A problem of scores in 16 bits, in whatever memory the limits allow."""
    X, _, y = labelled_rows(n, 8, 4, negative=0, seed=3)
    signs = np.array([1, 1, 1, 1, 1, 1, -1, -1.0])
    K = np.round(40 * ((X * signs) @ X[:m].T)) + 3000
    own = np.round(40 * np.einsum("ij,j,ij->i", X, signs, X)) + 3000
    if kind == "squared_dissimilarity":
        K = own[:, None] + own[:m] - 2 * K
        own = np.zeros(n)
    rows = np.random.default_rng(1).permutation(n)[: n - 500]
    return problem_of_scores(K.astype(np.int32), own, y, rows, correction, kind, rank=6)


@pytest.mark.parametrize("kind", ["similarity", "squared_dissimilarity"])
@pytest.mark.parametrize("method", sorted(m for m in LEARNERS if LEARNERS[m].by_tiles))
def test_results_are_the_same_bits_whatever_memory_and_threads(method, kind):
    outcomes = []
    for threads, memory_mb in ((1, 1000), (2, 1000), (3, 0.01)):
        with limited(threads, memory_mb):
            problem = problem_of(kind)
            assert isinstance(problem.Z, TiledMatrix) == (memory_mb == 0.01)
            fits = InnerFits(np.arange(len(problem.part.rows)) % 3)
            choice, decisions, *_ = choose(make_learner({"method": method}), problem, fits, 6)
            outcomes.append((choice, decisions.tobytes()))
    assert all(outcome == outcomes[0] for outcome in outcomes)


@pytest.mark.parametrize("method", ["cvm", "svc", "linear_svc"])
def test_learners_of_whole_matrices_take_tiles_too(method):
    decisions = []
    for memory_mb in (1000, 0.01):
        with limited(memory_mb=memory_mb):
            problem = problem_of("similarity", n=1500, correction="flip")
            learner = make_learner({"method": method})
            (fitted,) = learner.fit(problem, learner.choices()[:1])
            decisions.append(learner.decide(fitted, problem))
    np.testing.assert_array_equal(*decisions)


def test_no_record_of_any_tile_finds_itself_among_the_landmarks():
    problem = problem_of("similarity")
    learner = make_learner({"method": "nearest_landmark"})
    (fitted,) = learner.fit(problem, [{}])
    C, classes = np.array(problem.C), problem.landmarks.classes
    own = problem.part.rows[:, None] == problem.landmarks.rows
    assert own[:4096].any()
    assert own[4096:].any()
    C[own] = -np.inf
    wanted = [C[:, classes == c].max(axis=1) for c in np.unique(classes)]
    found = learner.decide(fitted, problem)[:, np.unique(classes)]
    others = np.isfinite(wanted).T  # but for the landmark that is alone in its class
    np.testing.assert_array_equal(found[others], np.transpose(wanted)[others])
