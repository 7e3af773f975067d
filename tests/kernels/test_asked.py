import time

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.kernels.asked import rectangles, shared_lists
from kreinflow.kernels.function import FunctionKernel
from kreinflow.kernels.registry import known_kernel
from own_scores import Counting, distance, shared

TEXTS = np.array(["abcab", "bcabc", "xyzxy", "abxy"], dtype=object)
NUMBERS = np.array([1.0, 4.0, 2.5])


def asking(call, **settings):
    return FunctionKernel({"function": "own:f", **settings}, call)


@pytest.mark.parametrize("batch", [1, 3, 256])
def test_answers_are_those_of_the_function_in_any_batch(batch):
    counting = Counting(shared)
    kernel = asking(counting, batch=batch)
    np.testing.assert_array_equal(kernel.columns(TEXTS, TEXTS[:2]), shared(TEXTS, TEXTS[:2]))
    assert sorted(counting.pairs) == sorted((x, y) for x in TEXTS for y in TEXTS[:2])


def test_only_what_a_mask_wants_is_asked_for():
    rng, counting = np.random.default_rng(1), Counting(lambda a, b: np.subtract.outer(a, b))
    mask = rng.random((20, 9)) < 0.4
    X, Y = np.arange(20.0), np.arange(100.0, 109.0)
    found = asking(counting, batch=4, kind="asymmetric").compare(X, Y, ["x"] * 20, ["y"] * 9, mask)
    np.testing.assert_array_equal(found, np.where(mask, X[:, None] - Y, np.nan))
    assert len(counting.pairs) == mask.sum()
    parts = list(rectangles(mask, 4))
    assert max(max(len(rows), len(columns)) for rows, columns in parts) <= 4


@pytest.mark.parametrize(("rows", "columns", "width"), [(30, 8, 4), (8, 30, 9), (5, 5, 5)])
@pytest.mark.parametrize("by_pairs", [False, True])
def test_lists_are_cut_into_blocks_with_each_pair_once(rows, columns, width, by_pairs):
    rng = np.random.default_rng(rows)
    lists = np.array([rng.choice(columns, width, replace=False) for _ in range(rows)])
    lists[::3] = lists[0]
    lists[rng.random(lists.shape) < 0.2] = -1
    seen = np.zeros(lists.size, dtype=int)
    blocks = list(shared_lists(lists, by_pairs))
    for own, others, places, wanted in blocks:
        r, c = np.nonzero(wanted)
        np.testing.assert_array_equal(lists.ravel()[places], others[c])
        np.testing.assert_array_equal(places // width, own[r])
        seen[places] += 1
    assert seen.tolist() == (lists >= 0).ravel().astype(int).tolist()
    if by_pairs:
        assert len(blocks) == 1
        return
    mask = (lists[:, :, None] == np.arange(columns)).any(axis=1)
    fewest = min(len({bytes(one) for one in side if one.any()}) for side in (mask, mask.T))
    assert np.linalg.matrix_rank(mask.astype(float)) <= len(blocks) == fewest
    assert not list(shared_lists(np.full((3, 2), -1)))


def test_objects_with_the_same_list_share_a_call():
    calls = []

    def times(a, b):
        calls.append((len(a), len(b)))
        return np.multiply.outer(a, b)

    lists = np.array([[2, 0, -1], [0, 2, -1], [1, 0, 2], [-1, -1, -1]])
    X, Y = np.arange(1.0, 5.0), np.array([10.0, 20.0, 30.0])
    found = asking(times).compare_lists(X, Y, list("abcd"), list("xyz"), lists)
    expected = np.where(lists >= 0, X[:, None] * Y[lists], np.nan)
    np.testing.assert_array_equal(found, expected)
    assert sorted(calls) == [(1, 3), (2, 2)]


def test_dissimilarities_are_squared_and_alone_zero():
    kernel = asking(distance, kind="dissimilarity")
    np.testing.assert_array_equal(kernel.columns(NUMBERS, NUMBERS), distance(NUMBERS, NUMBERS) ** 2)
    assert kernel.diagonal(NUMBERS).tolist() == [0, 0, 0]
    squared = asking(distance, kind="squared_dissimilarity")
    np.testing.assert_array_equal(squared.columns(NUMBERS, NUMBERS), distance(NUMBERS, NUMBERS))
    assert (kernel.kind, squared.kind) == ("squared_dissimilarity",) * 2


def test_self_scores_are_asked_for_or_stated():
    counting = Counting(lambda a, b: np.multiply.outer(a, b))
    assert asking(counting).diagonal(NUMBERS).tolist() == (NUMBERS**2).tolist()
    assert counting.pairs == [(x, x) for x in NUMBERS]
    assert asking(None, self=3).diagonal(NUMBERS).tolist() == [3, 3, 3]


def slow(a, b):
    time.sleep(5)


def raising(a, b):
    raise KeyError("lost")


@pytest.mark.parametrize(
    ("call", "settings", "message"),
    [
        (raising, {}, "own:f, asked for p, q, r with s, t, u: raised KeyError: 'lost'"),
        (lambda a, b: "much", {}, "own:f, asked for p, q, r with .*: returned no numbers"),
        (lambda a, b: [[1], [1, 2]], {}, "returned no numbers"),
        (lambda a, b: np.ones(3), {}, r"returned the shape \(3,\), not \(3, 3\)"),
        (
            lambda a, b: np.where(np.equal.outer(a, b) & (a[1] == b)[:, None], np.nan, 1),
            {},
            "the score of q with t is nan, which is not a finite",
        ),
        (lambda a, b: np.full((3, 3), 1e70), {}, "is 1e[+]70, which is not a finite .* too large"),
        (
            lambda a, b: -distance(a, b),
            {"kind": "dissimilarity"},
            "the score of p with t is -3, which is negative, which no dissimilarity is",
        ),
        (slow, {"timeout": 0.05}, "took more than the 0.05 seconds of its timeout"),
    ],
)
def test_what_is_wrong_is_told_with_the_objects(call, settings, message):
    with pytest.raises(InputError, match=message):
        asking(call, **settings).compare(NUMBERS, NUMBERS, [*"pqr"], [*"stu"])


def test_what_is_in_time_is_taken():
    kernel = asking(distance, timeout=60, kind="dissimilarity")
    np.testing.assert_array_equal(kernel.columns(NUMBERS, NUMBERS), distance(NUMBERS, NUMBERS) ** 2)


def test_a_kernel_that_was_read_imports_nothing(tmp_path, monkeypatch):
    (tmp_path / "own_bomb.py").write_text("raise SystemError('imported')\nf = None\n")
    monkeypatch.chdir(tmp_path)
    kernel = known_kernel(asking(None, function="own_bomb:f").settings | {"name": "function"})
    with pytest.raises(InputError, match="Say that it may be asked: --score own_bomb:f"):
        kernel.columns(TEXTS, TEXTS)
    with pytest.raises(InputError, match="cannot be imported .SystemError: imported"):
        kernel.loaded([])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_nowhere:f", "cannot be imported .ModuleNotFoundError"),
        ("own_module:g", "cannot be imported .AttributeError"),
        ("own_module:number", "is no function"),
    ],
)
def test_functions_that_are_not_there_are_named(name, message, tmp_path):
    (tmp_path / "own_module.py").write_text("number = 3\n")
    with pytest.raises(InputError, match=f"function {name}: {message}"):
        FunctionKernel({"function": name}).loaded([tmp_path])


def test_the_digest_is_that_of_function_kind_and_version():
    same = {"batch": 7, "timeout": 3.0, "column": "text"}
    assert asking(None, **same).digest == asking(None).digest
    others = ({"version": "2"}, {"kind": "asymmetric"}, {"function": "own:g"}, {"self": 1})
    digests = [asking(None, **other).digest for other in ({}, *others)]
    assert len(set(digests)) == 5
    assert asking(None, version=1).digest == asking(None, version="1").digest


def test_arrays_are_told_apart_by_shape_and_type(tmp_path):
    kernel = asking(None)
    x = np.arange(4.0)
    contents = [kernel.content(v) for v in (x, x.reshape(2, 2), x.astype(np.float32), "text")]
    assert len(set(contents)) == 4
    assert kernel.content(x.copy()) == contents[0]
    assert kernel.content(object()) is None
    (tmp_path / "a").write_bytes(b"same")
    (tmp_path / "b").write_bytes(b"same")
    files = asking(None, objects="files")
    assert files.content(str(tmp_path / "a")) == files.content(str(tmp_path / "b"))
    with pytest.raises(InputError, match="c: cannot be read"):
        files.content(str(tmp_path / "c"))
