"""The made-up data of benchmarks/kinds.py: what it claims of evolution, and that seeds repeat."""

import importlib.util
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kreinflow.sequences.simulation import lg_model, transition_probabilities

PATH = Path(__file__).parents[1] / "benchmarks" / "kinds.py"


@pytest.fixture(scope="module")
def kinds():
    spec = importlib.util.spec_from_file_location("kinds", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_sites_change_as_their_rates_say(kinds, monkeypatch):
    monkeypatch.setattr(kinds, "_INDELS", 0.0)
    random = np.random.default_rng(1)
    site = kinds.drawn(60_000, random)
    later = kinds.evolved(site, 0.7, random)
    for code, rate in enumerate(kinds._RATES):
        own = site.rates == code
        kept = lg_model()[1] @ np.diagonal(transition_probabilities(0.7 * rate))
        error = np.sqrt(kept * (1 - kept) / own.sum())
        assert np.mean(later.residues[own] == site.residues[own]) == pytest.approx(
            kept, abs=4 * error
        )
    assert np.isclose(kinds._RATES.mean(), 1)


@pytest.mark.parametrize("kind", ["peptides", "ribosomal"])
def test_a_kind_is_the_same_for_the_same_seed(kinds, kind):
    first, again = (kinds.KINDS[kind](np.random.default_rng([1, 2])) for _ in range(2))
    assert first == again
    sizes = Counter(label for _, label in first)
    assert 10 <= len(sizes) <= 50
    assert min(sizes.values()) >= 3
    letters = set("".join(residues for residues, _ in first))
    assert letters <= set("ACGT" if kind == "ribosomal" else "ARNDCQEGHILKMFPSTWYV")


def test_larger_data_have_their_classes(kinds):
    sizes = Counter(label for _, label in kinds.enzymes(np.random.default_rng(1), 2))
    assert len(sizes) == 28
    assert set(sizes.values()) == {2}
    sizes = Counter(label for _, label in kinds.superfamilies(np.random.default_rng(1), 600))
    assert len(sizes) == 49
    assert min(sizes.values()) == 10
    assert max(sizes.values()) > 20
