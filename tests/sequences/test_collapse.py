"""Identical objects become one row; what is dropped is counted, what cannot stay is refused."""

import hashlib

import pytest

from kreinflow.errors import InputError
from kreinflow.sequences.collapse import Drops, Records, collapse
from kreinflow.sequences.payload import Sequences

RECORDS = [("a1", "A", "MKVL"), ("b1", "B", "ACDE"), ("a2", "A", "MKVLL"), ("b2", "B", "ACDEE")]
RECORDS += [("a3", "A", "MKVL")]


def collapsed(more=(), conflicting="drop", min_class_size=2, unknown=(), records=RECORDS):
    ids, labels, residues = zip(*records, *more, strict=True)
    payload = Sequences(tuple(s.encode() for s in residues))
    return collapse(Records(ids, labels, payload, len(ids)), conflicting, min_class_size, unknown)


def test_identical_sequences_share_a_row():
    data = collapsed()
    assert data.ids == ("a1", "b1", "a2", "b2", "a3")
    assert data.classes == ("A", "B")
    assert data.labels.tolist() == [0, 1, 0, 1, 0]
    assert data.rows.tolist() == [0, 1, 2, 3, 0]
    assert data.sequences == (b"MKVL", b"ACDE", b"MKVLL", b"ACDEE")
    assert data.digests[0] == hashlib.sha256(b"MKVL").hexdigest()[:32]
    assert data.lengths.tolist() == [4, 4, 5, 5]
    assert data.statistics == {
        "records_read": 5,
        "records_kept": 5,
        "distinct": 4,
        "dropped": {},
        "substitutions": {},
        "class_sizes": {"A": 3, "B": 2},
        "lengths": {
            "minimum": 4.0,
            "lower_quartile": 4.0,
            "median": 4.5,
            "upper_quartile": 5.0,
            "maximum": 5.0,
            "mean": 4.5,
        },
        "asymmetry": None,
        "files": {},
    }


def test_a_sequence_of_two_classes_is_dropped_or_refused():
    more = [("a4", "A", "MKVY"), ("c", "B", "MKVL"), ("s", "S", "WWW")]
    data = collapsed(more)
    assert data.ids == ("b1", "a2", "b2", "a4")
    assert data.statistics["dropped"] == {
        "identical sequences with different labels": {"count": 3, "examples": ["a1", "a3", "c"]},
        "small class": {"count": 1, "examples": ["s"]},
    }
    assert data.dropped == ("a1", "a3", "c", "s")
    message = "'a1' and 'c' are the same sequence with the labels 'A' and 'B'"
    with pytest.raises(InputError, match=message):
        collapsed(more, conflicting="refuse")


def test_class_size_counts_distinct_sequences():
    data = collapsed([("s1", "S", "WWW"), ("s2", "S", "WWW")])
    assert data.classes == ("A", "B")
    assert data.statistics["dropped"]["small class"] == {"count": 2, "examples": ["s1", "s2"]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"min_class_size": 9}, r"0 classes left .*min_class_size: A, B"),
        ({"records": RECORDS[::2]}, r"1 class left \(A\)"),
        ({"more": [("x", "A ", "MMM")]}, "the labels 'A' and 'A ' look the same"),
    ],
)
def test_too_few_classes_and_labels_that_look_alike(settings, message):
    with pytest.raises(InputError, match=message):
        collapsed(**settings)


def test_only_some_examples_are_listed():
    drops = Drops()
    drops.add("too long", map(str, range(30)))
    listed = drops.statistics()["too long"]
    assert listed == {"count": 30, "examples": [str(i) for i in range(20)]}
    assert len(drops.ids()) == 30
