"""The benchmarks find what they import of the library; what they measure is on the pages."""

import importlib
import sys
from pathlib import Path

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
