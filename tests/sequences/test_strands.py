"""Records on the other strand than their class."""

import random

import numpy as np
import pytest
from Bio.Seq import Seq

from kreinflow.sequences.strands import on_other_strand, reverse_complements
from small_inputs import DNA, families

LETTERS = "ACGTRYN"


def turned_round(sequence):
    return reverse_complements([sequence], LETTERS)[0]


def classes(seed, sizes, length=400, changed=0.1):
    records = [
        record
        for i, size in enumerate(sizes)
        for record in families(seed + 10 * i, [f"c{i}"], size, length, DNA, changed)
    ]
    return [s.encode() for _, _, s in records], [label for _, label, _ in records]


@pytest.mark.parametrize("letters", ["T", "U"])
@pytest.mark.parametrize("seed", range(3))
def test_those_that_were_turned_are_found_and_no_others(seed, letters):
    sequences, labels = classes(seed, [30, 12, 7])
    turned = np.zeros(len(sequences), dtype=bool)
    turned[[0, 5, 6, 29, 31, 40, 48]] = True
    assert not on_other_strand(sequences, labels).any()
    sequences = [
        (turned_round(s) if t else s).replace(b"T", letters.encode())
        for s, t in zip(sequences, turned, strict=True)
    ]
    np.testing.assert_array_equal(on_other_strand(sequences, labels), turned)


@pytest.mark.parametrize("seed", range(3))
def test_more_than_twice_as_many_words_once_turned_are_what_is_meant(seed):
    """The others of the class have no mutations: words in common are counted by their share."""
    sequences, labels = classes(seed, [12], length=900, changed=0.0)
    whole = sequences[0]
    for share in (0.55, 0.62, 0.70, 0.72, 0.9):
        cut = round(share * len(whole))
        sequences[3] = turned_round(whole[:cut]) + whole[cut:]
        found = np.flatnonzero(on_other_strand(sequences, labels)).tolist()
        assert found == ([3] if share / (1 - share) > 2 else [])


def test_of_a_large_class_each_is_compared_with_some():
    sequences, labels = classes(1, [450], length=150)
    turned = np.arange(450) % 7 == 0
    sequences = [turned_round(s) if t else s for s, t in zip(sequences, turned, strict=True)]
    np.testing.assert_array_equal(on_other_strand(sequences, labels), turned)


def test_nothing_is_said_of_a_class_turned_whole_or_what_shares_no_words():
    sequences, labels = classes(2, [10, 10])
    sequences[:10] = [turned_round(s) for s in sequences[:10]]
    assert not on_other_strand(sequences, labels).any()
    drawn = random.Random(4)
    sequences = ["".join(drawn.choices("ACGT", k=300)).encode() for _ in range(40)]
    assert not on_other_strand(sequences, ["a"] * 39 + ["b"]).any()
    assert not on_other_strand([b"ACGT", b"NNNNNNNNNNNNNNNN", b""], ["a"] * 3).any()
    assert on_other_strand([], []).shape == (0,)


def test_reverse_complements_are_those_of_biopython():
    letters, rng = "ACGTRYSWKMBDHVN", np.random.default_rng(0)
    sequences = ["".join(rng.choice(list(letters), n)) for n in range(50)]
    turned = reverse_complements([s.encode() for s in sequences], letters)
    assert [t.decode() for t in turned] == [str(Seq(s).reverse_complement()) for s in sequences]
    assert reverse_complements([b"AUCG", b"A"], "ACGU") == [b"CGAU", b"U"]
