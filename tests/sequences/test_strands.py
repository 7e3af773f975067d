"""Records on the other strand than their class."""

import random

import numpy as np
import pytest
from Bio.Seq import Seq

from kreinflow.sequences import strands
from kreinflow.sequences.strands import (
    FRAMES,
    on_other_strand,
    reverse_complements,
    six_frames,
)
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
    sequences, _ = classes(seed, [30, 12, 7])
    turned = np.zeros(len(sequences), dtype=bool)
    turned[[0, 5, 6, 29, 31, 40, 48]] = True
    assert not on_other_strand(sequences).any()
    sequences = [
        (turned_round(s) if t else s).replace(b"T", letters.encode())
        for s, t in zip(sequences, turned, strict=True)
    ]
    np.testing.assert_array_equal(on_other_strand(sequences), turned)


@pytest.mark.parametrize("seed", range(3))
def test_reads_in_either_direction_are_made_of_one(seed):
    """Half of each class, so the first of a class says which half; and a genus of three classes."""
    sequences, labels = classes(seed, [40, 9, 2], changed=0.15)
    genus = [s.encode() for *_, s in families(seed + 90, ["g"], 3, 400, DNA, 0.05)]
    for i, ancestor in enumerate(genus):
        rng = np.random.default_rng([seed, i])
        for _ in range(4):
            child = np.frombuffer(ancestor, dtype=np.uint8).copy()
            places = rng.random(len(child)) < 0.05
            child[places] = rng.choice(list(b"ACGT"), places.sum())
            sequences.append(child.tobytes())
            labels.append("g")
    turned = np.random.default_rng(seed).random(len(sequences)) < 0.5
    mixed = [turned_round(s) if t else s for s, t in zip(sequences, turned, strict=True)]
    found = on_other_strand(mixed) ^ turned
    for label in set(labels):
        own = found[[i for i, other in enumerate(labels) if other == label]]
        assert own.all() or not own.any(), "all of a set on one strand"
    # What is turned so has nothing left to turn.
    again = [
        turned_round(s) if t else s for s, t in zip(mixed, on_other_strand(mixed), strict=True)
    ]
    assert not on_other_strand(again).any()


@pytest.mark.parametrize("seed", range(3))
def test_more_than_twice_as_many_words_once_turned_are_what_is_meant(seed):
    """The others have no mutations: words in common are counted by their share."""
    sequences, _ = classes(seed, [12], length=900, changed=0.0)
    whole = sequences[0]
    for share in (0.55, 0.62, 0.70, 0.72, 0.9):
        cut = round(share * len(whole))
        sequences[3] = turned_round(whole[:cut]) + whole[cut:]
        found = np.flatnonzero(on_other_strand(sequences)).tolist()
        assert found == ([3] if share / (1 - share) > 2 else [])


def test_of_many_words_a_share_is_looked_at(monkeypatch):
    sequences, _ = classes(1, [150], length=150)
    turned = np.arange(150) % 7 == 0
    sequences = [turned_round(s) if t else s for s, t in zip(sequences, turned, strict=True)]
    monkeypatch.setattr(strands, "MOST_WORDS", 150 * 150 // 3)
    assert strands._signed_words(sequences).nnz < 150 * 150 / 2
    np.testing.assert_array_equal(on_other_strand(sequences), turned)


def test_those_that_are_unknown_say_nothing_of_others():
    sequences, _ = classes(4, [12, 5])
    sequences[:3] = map(turned_round, sequences[:3])
    related = [turned_round(s) for s in sequences[4:12]] * 3  # would turn the majority
    known = np.arange(17 + len(related)) < 17
    found = on_other_strand([*sequences, *related], known)
    np.testing.assert_array_equal(found[:17], on_other_strand(sequences))
    assert found[:17].sum() == 3
    assert found[17:].all()


def test_leading_ones_say_which_strand_is_meant():
    """Also where they are fewer; where there are none it is the strand of most."""
    sequences, labels = classes(3, [13, 5])
    meant = np.array([label == "c0" for label in labels])
    meant[:3] = False
    meant[-1] = True
    found = [turned_round(s) if t else s for s, t in zip(sequences, meant, strict=True)]
    np.testing.assert_array_equal(on_other_strand(found, leading=3), meant)
    np.testing.assert_array_equal(np.flatnonzero(on_other_strand(found)), [0, 1, 2, 17])


def test_nothing_is_said_of_what_shares_no_words():
    sequences, _ = classes(2, [10, 10])
    sequences[:10] = [turned_round(s) for s in sequences[:10]]
    assert not on_other_strand(sequences).any()
    drawn = random.Random(4)
    sequences = ["".join(drawn.choices("ACGT", k=300)).encode() for _ in range(40)]
    assert not on_other_strand(sequences).any()
    assert not on_other_strand([b"ACGT", b"NNNNNNNNNNNNNNNN", b""]).any()
    assert on_other_strand([]).shape == (0,)


def test_frames_are_those_of_biopython():
    rng = np.random.default_rng(1)
    for n in (5, 6, 7, 61, 300):
        dna = "".join(rng.choice(list("ACGT"), n))
        frames = six_frames(dna.encode())
        for name, frame in zip(FRAMES, frames, strict=True):
            strand = Seq(dna) if name[0] == "+" else Seq(dna).reverse_complement()
            first = int(name[1]) - 1
            codons = strand[first : n - (n - first) % 3]
            assert frame.decode() == str(codons.translate()).replace("*", "X")
    assert six_frames(b"augnnngcr")[0] == b"MXX"
    codons = "".join(a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT")
    assert six_frames(codons.encode())[0].decode() == str(Seq(codons).translate()).replace("*", "X")


def test_reverse_complements_are_those_of_biopython():
    letters, rng = "ACGTRYSWKMBDHVN", np.random.default_rng(0)
    sequences = ["".join(rng.choice(list(letters), n)) for n in range(50)]
    turned = reverse_complements([s.encode() for s in sequences], letters)
    assert [t.decode() for t in turned] == [str(Seq(s).reverse_complement()) for s in sequences]
    assert reverse_complements([b"AUCG", b"A"], "ACGU") == [b"CGAU", b"U"]
