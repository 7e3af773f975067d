"""The bars of benchmarks/unknown.py on small data: unknown families, and no relatives at all."""

import argparse
import importlib.util
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kreinflow.base.numerics import limited

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("unknown", BENCHMARKS / "unknown.py")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:  # it imports its neighbours
        patch.syspath_prepend(str(BENCHMARKS))
        patch.setitem(sys.modules, "unknown", module)  # its dataclasses look there
        before = set(sys.modules)
        spec.loader.exec_module(module)
        patch.setattr(module, "NULLS", 60)
        yield module
        for name in ({"aligned_folds", "kinds"} & set(sys.modules)) - before:
            del sys.modules[name]


def rows_of(benchmark, nulls):
    given = argparse.Namespace(
        name="simulated", nulls=nulls, recipe="lifted", draws=None, folds=None
    )
    draws = 1 if nulls else 6
    data = benchmark.Data(
        benchmark.simulated, ["family02", "family05"], draws, 3, 1, 30, false_alarms=0.05
    )
    with limited(1, 4096):
        return pd.DataFrame(benchmark.rows_of(data, given))


def test_families_left_out_are_drawn_or_named(benchmark):
    pairs = [("A" * n, f"f{n % 11}") for n in range(1, 40)]
    first, again, other = (benchmark.left_out(pairs, seed, None) for seed in (0, 0, 1))
    assert first == again != other
    assert len(set(first)) == 3
    assert benchmark.left_out(pairs, 0, ["f2"]) == ["f2"]


def test_sequences_without_a_relative_are_made_of_the_known(benchmark):
    known = benchmark.distinct(benchmark.simulated())
    residues = {s.decode() for s in known.sequences}
    found = dict(benchmark.without_relative(known, benchmark.simulated(), 0))
    assert list(found) == ["shuffled", "reversed", "uniform", "composition", "another kind"]
    made = {name: [sequence for sequence, _ in pairs] for name, pairs in found.items()}
    assert {len(sequences) for sequences in made.values()} == {60}
    assert {s[::-1] for s in made["reversed"]} <= residues
    counted = {tuple(sorted(Counter(s).items())) for s in residues}
    assert {tuple(sorted(Counter(s).items())) for s in made["shuffled"]} <= counted
    lengths = np.array([len(s) for s in made["uniform"]])
    assert (lengths >= 30).all()
    assert (lengths < 1000).all()


def test_most_records_of_unknown_families_are_found(benchmark):
    found = rows_of(benchmark, nulls=False)
    assert (found["unknown strange"] >= 90).all()
    assert found["unknown at"].mean() >= 60
    assert found["known p"].mean() <= 5
    assert (found["known"] + found["calibrating"] == 103).all()


def test_without_the_option_nothing_without_a_relative_is_accepted(benchmark):
    found = rows_of(benchmark, nulls=True)
    kinds = ["shuffled", "reversed", "uniform", "composition", "another kind"]
    assert (found[kinds] <= 2).all(axis=None)
    assert (found["told shuffled"] <= 2).all()
