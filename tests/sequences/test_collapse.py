"""Identical objects become one row; what is dropped is counted, what cannot stay is refused."""

import hashlib

import numpy as np
import pytest

from kreinflow.base.errors import InputError
from kreinflow.sequences.collapse import SourceRecords, collapse, collapse_several
from kreinflow.sequences.dataset import without_unknown
from kreinflow.sequences.payload import Matrix, Sequences

RECORDS = [("a1", "A", "MKVL"), ("b1", "B", "ACDE"), ("a2", "A", "MKVLL"), ("b2", "B", "ACDEE")]
RECORDS += [("a3", "A", "MKVL")]


def source_records(records):
    ids, labels, residues = zip(*records, strict=True)
    payload = Sequences(tuple(s.encode() for s in residues))
    return SourceRecords(ids, labels, payload, len(ids))


def collapsed(more=(), conflicting="drop", min_class_size=2, records=RECORDS):
    return collapse(source_records([*records, *more]), conflicting, min_class_size, ())


def test_identical_sequences_share_a_row():
    data = collapsed()
    assert data.ids == ("a1", "b1", "a2", "b2", "a3")
    assert data.joined_labels == ["A", "B", "A", "B", "A"]
    assert data.rows.tolist() == [0, 1, 2, 3, 0]
    assert data.sequences == (b"MKVL", b"ACDE", b"MKVLL", b"ACDEE")
    assert data.digests[0] == hashlib.sha256(b"MKVL").hexdigest()[:32]
    lengths = data.statistics["lengths"]
    assert list(lengths.values()) == [4.0, 4.0, 4.5, 5.0, 5.0, 4.5]
    assert list(lengths)[::2] == ["minimum", "median", "maximum"]
    counts = {"records_read": 5, "records_kept": 5, "distinct": 4, "class_sizes": {"A": 3, "B": 2}}
    assert data.statistics.items() >= (counts | {"dropped": {}}).items()


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


SEVERAL = [
    ("a", "x;y", "MKVL"),
    ("b", "y", "ACDE"),
    ("c", "x;z", "MKVLL"),
    ("d", "y;z", "WWWW"),
    ("e", "z", "MKVL"),
]


def of_several(records=SEVERAL, conflicting="drop", min_class_size=2):
    return collapse_several(source_records(records), conflicting, min_class_size)


def test_identical_sequences_have_the_labels_of_all_of_them():
    data = of_several(min_class_size=1)
    assert data.rows.tolist() == [0, 1, 2, 3, 0]
    # x has two distinct sequences, y and z three: of equal ones the first.
    assert [data.classes[code] for code in data.labels] == ["x", "y", "x", "y", "x"]
    assert data.joined_labels == ["x;y;z", "y", "x;z", "y;z", "x;y;z"]
    assert data.row_labels == ["x", "y", "x", "y"]
    statistics = data.statistics
    assert statistics["several"] is True
    assert statistics["labels_per_record"] == {"1": 1, "2": 2, "3": 2}
    assert statistics["class_sizes"] == {"x": 3, "y": 4, "z": 4}
    assert statistics["labels_removed"] == {"count": 0, "examples": []}
    with pytest.raises(InputError, match="'a' and 'e' are the same sequence with the labels 'x;y'"):
        of_several(conflicting="refuse")


def test_a_label_that_too_few_records_have_or_lack_is_removed():
    sequences = [f"MK{a}{b}" for a in "ACDE" for b in "FGHI"]
    labels = ["x;all" if i % 2 else "y;all" for i in range(16)]
    labels[:4] = ["rare", "x;all;odd", "rare", "odd"]
    records = [(f"r{i}", own, s) for i, (own, s) in enumerate(zip(labels, sequences, strict=True))]
    data = of_several(records, min_class_size=3)
    # Without the records that have nothing but rare labels, all records have the label "all".
    assert data.classes == ("x", "y")
    assert data.statistics["labels_removed"]["examples"] == ["all", "odd", "rare"]
    assert data.statistics["dropped"]["no label left"]["examples"] == ["r0", "r2", "r3"]
    assert data.dropped == ("r0", "r2", "r3")
    assert data.joined_labels[data.ids.index("r1")] == "x"
    message = r"0 classes left \(none; dropped as too few records have or lack them: all"
    with pytest.raises(InputError, match=message):
        of_several(records, min_class_size=8)
    with pytest.raises(InputError, match="the labels 'x' and 'x ' look the same"):
        of_several([*records, ("s", "x ;y", "MMMM")])


def test_alike_rows_of_a_matrix_keep_their_own_labels():
    K = np.eye(6)
    K[0] = K[1] = K[:, 0] = K[:, 1] = 1.0
    labels = ["x", "y", "x;y", "x", "y", "y"]
    ids = [f"o{i}" for i in range(6)]
    data = collapse_several(SourceRecords(ids, labels, Matrix(K, kind="similarity"), 6), "drop", 1)
    assert data.digests[0] == data.digests[1]
    assert data.joined_labels == labels


PATHS = [
    *(("p1", "A;x;1", "MKV"), ("p2", "A;x;2", "MKW"), ("p3", "A;y;3", "MKY")),
    *(("p4", "A;y;3", "MKA"), ("p5", "B;z", "ACD"), ("p6", "B;z", "ACE")),
    *(("p7", "B;w;5", "ACF"), ("p8", "C;q;8", "WWW")),
]


def of_paths(more=(), unknown=(), conflicting="drop", least=2, kept=()):
    records = source_records([*PATHS, *more])
    return collapse(records, conflicting, least, unknown, ";", kept)


def test_records_of_small_classes_are_learned_at_parents():
    data = of_paths()
    # p7 comes up to B alone, where two others are below it; p8 is all that there is of C.
    assert data.joined_labels == ["A;x", "A;x", "A;y;3", "A;y;3", "B;z", "B;z", "B"]
    assert data.statistics["dropped"] == {"small class": {"count": 1, "examples": ["p8"]}}
    assert data.classes == ("A;x", "A;y;3", "B", "B;z")
    more = [("p9", "B", "ACG"), ("p10", "C", "WWY"), ("p11", "A;x;1", "MKV")]
    data = of_paths(more)
    assert "p11" in data.ids  # and p1 are one object: too few for a class of their own
    assert dict(zip(data.ids, data.joined_labels, strict=True)).items() >= {
        ("p11", "A;x"),
        ("p7", "B"),
        ("p9", "B"),
        ("p8", "C"),
        ("p10", "C"),
    }
    assert data.statistics["dropped"] == {}
    assert data.statistics["class_sizes"] == {"A;x": 3, "A;y;3": 2, "B": 2, "B;z": 2, "C": 2}
    assert of_paths(least=3).classes == ("A", "B")
    assert of_paths(least=3, kept=["B;z"]).classes == ("A", "B", "B;z")
    message = r"1 class left \(A; dropped as smaller than min_class_size: B;w;5, B;z, C;q;8\)"
    with pytest.raises(InputError, match=message):
        of_paths(least=4)


def test_an_object_of_several_classes_is_learned_at_their_common_ancestor():
    more = [
        ("q1", "A;y;4", "MKV"),
        ("q2", "A;y", "MKA"),
        ("q3", "D;q", "ACD"),
        ("q4", "A;y", "MKL"),
    ]
    data = of_paths(more)
    learned = dict(zip(data.ids, data.joined_labels, strict=True))
    # x;1 and y;4 meet at A, where x;2 comes up too; y and y;3 meet at y.
    assert [learned[id] for id in ("p1", "q1", "p2")] == ["A", "A", "A"]
    assert [learned[id] for id in ("p3", "p4", "q2", "q4")] == ["A;y"] * 4
    reason = "identical sequences with different labels"
    assert data.statistics["dropped"][reason] == {"count": 2, "examples": ["p5", "q3"]}
    assert data.statistics["common_ancestor"]["examples"] == ["p1", "p4", "q1", "q2"]
    assert len(data.row_labels) == len(data.digests)  # one class of each object
    with pytest.raises(InputError, match="'p1' and 'q1' are the same sequence with the labels"):
        of_paths(more, conflicting="refuse")


@pytest.mark.parametrize("unknown", [["A;y;3"], ["B;z", "A;x;1"]])
def test_what_is_rolled_up_does_not_depend_on_classes_that_are_held_out(unknown):
    more = [("q1", "A;y;4", "MKV"), ("q2", "A;y;5", "MKL"), ("q3", "A;x;1", "MKI")]
    more += [("q4", "B", "ACH"), ("q5", "A;x;1", "MKN")]
    whole = without_unknown(of_paths(more, unknown), unknown)
    records = [record for record in [*PATHS, *more] if record[1] not in unknown]
    alone = collapse(source_records(records), "drop", 2, (), ";")
    assert (whole.ids, whole.joined_labels) == (alone.ids, alone.joined_labels)
    assert whole.statistics["common_ancestor"] == alone.statistics["common_ancestor"]
    # A class that is held out and too small is nowhere, as it was.
    with pytest.raises(InputError, match="the data have no class 'C;q;8'"):
        without_unknown(of_paths(more, ["C;q;8"]), ["C;q;8"])


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_records_changes_no_class(seed):
    more = [("q1", "A;y;4", "MKV"), ("q2", "A;y", "MKA"), ("q3", "D;q", "ACD"), ("q4", "B", "ACG")]
    records = [*PATHS, *more]
    order = np.random.default_rng(seed).permutation(len(records))
    found = []
    for some in (records, [records[i] for i in order]):
        data = collapse(source_records(some), "drop", 2, (), ";")
        found.append(dict(zip(data.ids, data.joined_labels, strict=True)))
    assert found[0] == found[1]


def test_without_a_path_below_the_root_it_is_as_if_small_classes_were_dropped():
    more = [("x", "A", "ACDE"), ("s", "S", "WWW"), ("y", "B", "ACDD")]
    flat, paths = collapsed(more), collapse(source_records([*RECORDS, *more]), "drop", 2, (), ";")
    assert paths.statistics.pop("common_ancestor") == {"count": 0, "examples": []}
    assert (paths.ids, paths.classes, paths.dropped) == (flat.ids, flat.classes, flat.dropped)
    assert paths.statistics == flat.statistics
