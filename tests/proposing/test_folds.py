import numpy as np
import pytest

from kreinflow.errors import InputError
from kreinflow.proposing import folds
from kreinflow.proposing.folds import propose_folds
from kreinflow.sequences.collapse import Records, collapse
from kreinflow.sequences.payload import Sequences
from small_inputs import families

RECORDS = families(3, each=6)


def proposed(records):
    """Folds for records of sequences."""

    def load(least):
        ids, labels, residues = zip(*records, strict=True)
        payload = Sequences(tuple(s.encode() for s in residues))
        return collapse(Records(ids, labels, payload, len(ids)), "drop", least, ())

    return propose_folds(load, seed=1)


def near(records, number):
    """So many sequences that are each near-identical to the first."""
    id, label, residues = records[0]
    return [
        (f"{id}-{i}", label, f"{residues[:i]}W{residues[i + 1 :]}") for i in range(1, number + 1)
    ]


def test_without_near_identical_sequences():
    found = proposed(RECORDS)
    assert (found.settings, found.min_class_size) == ({"method": "stratified", "k": 5}, 2)
    assert (found.alike, found.compared, found.smallest, found.fewest) == (0, 18, "a", 6)


def test_near_identical_sequences_are_groups():
    found = proposed([*RECORDS, *near(RECORDS, 2)])
    assert found.settings == {"method": "grouped", "k": 5, "identity": 0.9}
    assert found.alike == 3
    assert found.folds.groupby("group")["fold"].nunique().max() == 1
    assert found.folds["group"].nunique() == 18


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


def test_two_folds_rather_than_no_classes():
    found = proposed([record for record in RECORDS if record[0][-1] in "01"])
    assert (found.settings["k"], found.min_class_size) == (2, 2)


def test_no_folds_at_all():
    with pytest.raises(InputError, match="At least two are needed"):
        proposed(RECORDS[:6])


def test_of_many_sequences_a_sample_is_compared(monkeypatch):
    monkeypatch.setattr(folds, "MOST_COMPARED", 30)
    rng = np.random.default_rng(0)
    twins = [
        (f"{id}twin", label, f"{s[:k]}W{s[k + 1 :]}")
        for (id, label, s), k in zip(families(4, each=25), rng.integers(60, size=75), strict=True)
    ]
    found = proposed([*families(4, each=25), *twins])
    assert found.compared == 30
    assert found.settings["method"] == "grouped"
    assert found.alike > 15  # a random sample of a fifth would have 6
    assert found.folds["group"].nunique() == len(found.dataset.digests)
