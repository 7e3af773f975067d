from dataclasses import replace

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.commands.proposing import folds
from kreinflow.commands.proposing.folds import nearest_of_others, propose_folds
from kreinflow.sequences.collapse import SourceRecords, collapse
from kreinflow.sequences.identity import identity
from kreinflow.sequences.payload import Sequences
from small_inputs import PROTEIN, families

RECORDS = families(3, each=6)


def proposed(records):
    """Folds for records of sequences."""

    def load(least):
        ids, labels, residues = zip(*records, strict=True)
        payload = Sequences(tuple(s.encode() for s in residues))
        return collapse(SourceRecords(ids, labels, payload, len(ids)), "drop", least, ())

    return propose_folds(load, seed=1)


def near(records, number):
    """So many sequences that are each near-identical to the first."""
    id, label, residues = records[0]
    return [
        (f"{id}-{i}", label, f"{residues[:i]}W{residues[i + 1 :]}") for i in range(1, number + 1)
    ]


def test_a_class_of_one_group_is_left_out_if_it_is_small():
    small = [("z", "z", RECORDS[0][2][::-1])]
    records = [*RECORDS, *small, *near(small, 2)]
    found = proposed(records)
    assert (found.min_class_size, found.left_out) == (4, ("z",))
    assert found.settings["method"] == "grouped"
    # A large one is kept, and its sequences are not.
    found = proposed([*RECORDS, *small, *near(small, 20)])
    assert (found.min_class_size, found.settings["method"]) == (2, "stratified")
    assert found.alike == 20  # one of them has a W there already


def test_no_folds_at_all():
    with pytest.raises(InputError, match="At least two are needed"):
        proposed(RECORDS[:6])


def test_all_sequences_are_compared_however_many():
    """As many folds as the smallest class has groups: the run would refuse more."""
    letters = np.frombuffer(PROTEIN.encode(), np.uint8)
    residues = np.random.default_rng(0).choice(letters, (6_002, 12))
    residues[:3] = residues[3:6]  # each has a twin but for its last residue
    residues[:6, 11] = letters[:6]
    labels = ["z"] * 6 + ["a", "b"] * 2_998
    records = [(f"r{i}", labels[i], s.tobytes().decode()) for i, s in enumerate(residues)]
    found = proposed(records)
    assert (found.smallest, found.fewest, found.settings["k"]) == ("z", 3, 3)
    assert (found.alike, found.distinct) == (6, 6_002)


def test_the_nearest_of_other_groups_are_those_of_plain_loops(monkeypatch):
    """All of ten are aligned here; of those with another at hand, the most alike counts."""
    monkeypatch.setattr(folds, "_ALIGNED", 99)
    rng = np.random.default_rng(4)
    roots = [rng.choice(list(PROTEIN), 90) for _ in range(2)]
    residues = []
    for number in range(10):
        own, changed = roots[number % 2].copy(), rng.random(90) < 0.05 * number
        own[changed] = rng.choice(list(PROTEIN), changed.sum())
        residues.append("".join(own).encode())
    groups = np.arange(10) // 2 % 4  # the last two are of the first group
    found = nearest_of_others(residues, [f"d{i}" for i in range(10)], groups, 1)
    expected = [
        max(
            identity(own, other, False)
            for other, g in zip(residues, groups, strict=True)
            if g != of
        )
        for own, of in zip(residues, groups, strict=True)
    ]
    assert sorted(found) == pytest.approx(sorted(expected))
    assert 0.4 < min(found) < 0.6
    assert max(found) < 0.95
    digests = [f"d{i}" for i in range(11)]
    assert not nearest_of_others(residues, digests[:10], np.zeros(10), 1).any()
    alone = nearest_of_others([*residues, b"W" * 90], digests, np.append(groups, 9), 1)
    assert sorted(alone) == pytest.approx([0.0, *sorted(expected)])


def of_lineages(records):
    """Folds for records whose labels are paths."""

    def load(least):
        ids, labels, residues = zip(*records, strict=True)
        payload = Sequences(tuple(s.encode() for s in residues))
        data = collapse(SourceRecords(ids, labels, payload, len(ids)), "drop", least, (), ";")
        return replace(data, paths=tuple(label for id, label, _ in records if id in data.ids))

    return propose_folds(load, seed=1)


def test_lineages_have_five_folds_however_small_their_classes():
    labels = dict(zip("abc", ("A;x", "A;y", "B;z"), strict=True))
    records = [(id, labels[label], s) for id, label, s in families(3, "abc", each=8)]
    rare = [(f"q{i}", f"A;x;{i // 2}", s[::-1]) for i, (_, _, s) in enumerate(records[:8])]
    found = of_lineages([*records, *rare])
    assert (found.min_class_size, found.left_out, found.settings["k"]) == (2, (), 5)
    assert found.settings["method"] == "stratified"
    assert found.fewest == 2
    # Groups of near-identical ones, while most records are in classes of several.
    found = of_lineages([*records, *rare, *near(rare, 4)])
    assert (found.settings["method"], found.settings["k"]) == ("grouped", 5)
    found = of_lineages([*records, *near([("t", "A;t;1", records[0][2][::-1])], 30)])
    assert (found.settings["method"], found.settings["k"]) == ("stratified", 5)
