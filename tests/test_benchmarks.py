"""The benchmarks find what they import of the library; what they measure is on the pages."""

import importlib
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))


def test_benchmarks_find_what_they_import():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        for name in NAMES:
            patch.delitem(sys.modules, name, raising=False)
        for name in NAMES:
            importlib.import_module(name)
        for name in NAMES:
            del sys.modules[name]


@pytest.fixture
def lineages(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("lineages")


def test_lineages_are_judged_by_the_deepest_node_that_is_known(lineages):
    known = {"a", "a; b", "a; b; c", "a; x"}
    cases = [  # told, true; rank told, rank of its right part, deepest known of the true lineage
        ("a; b; c", "a; b; c", 3, 3, 3),
        ("a", "a; b; c", 1, 1, 3),
        ("a; b; c", "a; b; d", 3, 2, 2),
        ("a; x", "a; b; d", 2, 1, 2),
        ("", "a; b; c", 0, 0, 3),
    ]
    told, true, *expected = zip(*cases, strict=True)
    found = lineages.judged(told, true, known)
    assert found.to_numpy().T.tolist() == [list(column) for column in expected]
    shares = lineages.measures(found)
    named = {name: shares[name] for name in ("match", "under", "over", "mis")}
    assert named == {"match": 20, "under": 40, "over": 20, "mis": 20}


@pytest.mark.parametrize("name", ["v4", "its"])
def test_lineages_part_as_far_as_their_kind_says(lineages, name):
    table, kind = lineages.simulated(name, 200, 700, 1), lineages.KINDS[name]
    assert (table["species"].value_counts() == 1).sum() == round(lineages.ALONE * 200)
    assert table.shape[0] == 700
    assert table["species"].nunique() == 200
    kind = kind._replace(indels=0.0)
    random, far = lineages.stream(1, "apart"), []
    for height in kind.heights:
        root = lineages.drawn(kind, 20_000, random)
        root.rates[random.random(20_000) < kind.conserved] = 0
        one, other = (lineages.evolved(kind, root, height, random) for _ in range(2))
        far.append((one.letters != other.letters).mean())
    assert far == pytest.approx(kind.apart, abs=0.02)


@pytest.fixture
def objects(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("objects")


def test_objects_are_compared_as_plain_recursions_say(objects):
    """By recursion over beginnings, over all assignments, and by hand."""
    rng = np.random.default_rng(2)

    def warped(x, y):
        if not x and not y:
            return 0.0
        if not x or not y:
            return np.inf
        before = min(warped(x[:-1], y), warped(x, y[:-1]), warped(x[:-1], y[:-1]))
        return before + (x[-1] - y[-1]) ** 2

    def edits(x, y):
        if not x or not y:
            return len(x) + len(y)
        other = edits(x[:-1], y[:-1]) + (x[-1] != y[-1])
        return min(other, edits(x[:-1], y) + 1, edits(x, y[:-1]) + 1)

    for _ in range(5):
        x, y = (rng.normal(size=int(rng.integers(1, 6))) for _ in range(2))
        found = objects.KINDS["series"].score([x], [y])[0, 0]
        assert found == pytest.approx(np.sqrt(warped(x.tolist(), y.tolist())))
        a, b = ("".join(rng.choice(list("ab"), int(rng.integers(1, 6)))) for _ in range(2))
        found = objects.KINDS["texts"].score([a], [b])[0, 0]
        assert found == edits(a, b) / max(len(a), len(b))
    x, y = (rng.normal(size=(3, 3)) for _ in range(2))
    similar = np.exp(-((x[:, None] - y[None]) ** 2).sum(axis=2))
    best = max(similar[[0, 1, 2], list(order)].sum() for order in permutations(range(3)))
    assert objects.KINDS["graphs"].score([x], [y])[0, 0] == pytest.approx(best / 3)
    assert objects.hausdorff(np.array([[0.0], [4.0]]), np.array([[1.0]])) == 2.0
    assert objects.contained(frozenset({1, 2, 3}), frozenset({2, 3, 4, 5})) == 2 / 3
    peaks = np.array([100.0, 200.0]), np.array([3.0, 4.0]), 550.0
    shifted = np.array([114.0, 300.0]), np.array([3.0, 4.0]), 564.0
    assert objects.modified_cosine(peaks, peaks) == pytest.approx(1.0)
    assert objects.modified_cosine(peaks, shifted) == pytest.approx(9 / 25)


@pytest.mark.filterwarnings("ignore:the factor misses")
@pytest.mark.parametrize("name", ["texts", "sets"])
def test_landmarks_ask_for_few_pairs_of_objects(objects, name):
    rows = pd.DataFrame(objects.measured(name, 40, 8, 0)).set_index("method")
    every, ways = rows.loc["1-NN"], 2 if name == "sets" else 1
    assert (every["calls"], every["calls a query"]) == (1600, 40)
    learned = rows.drop(["1-NN", "dense SVM, clipped"])
    assert (learned["calls a query"] == 8).all()
    assert (learned["calls"] <= ways * 40 * 8 + 100).all()
