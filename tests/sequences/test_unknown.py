"""Classes held out as unknown leave a data set as if they had never been in the input."""

import numpy as np
import pytest

from kreinflow.errors import InputError
from kreinflow.sequences.dataset import load_dataset
from kreinflow.sequences.unknown import is_unknown, without_unknown
from small_inputs import PROTEIN, families, matrix_of, points, write_fasta, write_matrix

CLASSES = ("a", "b", "c", "d")


def source_of(kind, folder, classes, shared=False):
    """The records of some of the classes, mixed, in a file of their own; and their source.

    ``shared`` objects are those that two classes have: a and b, b and d, and all three.
    """
    if kind == "sequences":
        records = families(3, classes=CLASSES, each=6)
        records.insert(4, ("twin", "a", records[2][2]))
        records.append(("pair", "b", records[-1][2].replace("A", "C")))
    elif kind == "strings":
        records = families(4, classes=CLASSES, each=6)
    else:
        X, labels = points(5, classes=CLASSES, each=6)
        records = [(f"o{i}", label, X[i]) for i, label in enumerate(labels)]
    if shared:
        of = {label: [x for _, name, x in records if name == label] for label in CLASSES}
        records += [("ab", "a", of["b"][1]), ("db", "d", of["b"][2]), ("bd", "b", of["d"][3])]
        records += [("cb", "c", of["b"][4]), ("cd", "d", of["b"][4])]
    order = np.random.default_rng(1).permutation(len(records))
    records = [records[i] for i in order if records[i][1] in classes]
    labels = "".join(f"{label}\n" for _, label, _ in records)
    folder.mkdir()
    (folder / "y.txt").write_text(labels)
    lines = {"labels": {"lines": "y.txt", "table": None}, "variable": None, "min_class_size": 2}
    if kind == "sequences":
        write_fasta(folder / "x.fasta", records)
        return {
            "type": "fasta",
            "fasta": "x.fasta",
            "labels": {"pattern": r"family=(\w+);", "id_column": "id", "label_column": "label"},
            "molecule": "protein",
            "illegal_residues": "refuse",
            "unmatched": "refuse",
            "conflicting_labels": "drop",
            "max_length": 1000,
            "too_long": "refuse",
            "min_class_size": 2,
        }
    if kind == "matrix":
        X, ids = np.array([x for _, _, x in records]), [id for id, _, _ in records]
        write_matrix(folder / "k.csv", matrix_of("similarity", X, X), ids)
        more = {"matrix": "k.csv", "kind": "similarity", "symmetry_tolerance": 1e-6}
        return {"type": "matrix", **more, **lines}
    more = {"conflicting_labels": "drop"}
    if kind == "vectors":
        np.save(folder / "x.npy", np.array([x for _, _, x in records]))
        more |= {"vectors": "x.npy", "kernel": {"name": "gaussian", "width": 1.0}}
    else:
        (folder / "x.txt").write_text("".join(f"{s}\n" for _, _, s in records))
        more |= {"vectors": "x.txt", "kernel": {"name": "edit_distance"}}
    return {"type": "vectors", **more, **lines}


def load(kind, folder, classes=CLASSES, unknown=(), shared=False):
    source = source_of(kind, folder, classes, shared)
    return load_dataset(source, folder, PROTEIN, seed=1, unknown=unknown)


def assert_same_records(kind, ours, theirs):
    assert ours.classes == theirs.classes
    np.testing.assert_array_equal(ours.labels, theirs.labels)
    np.testing.assert_array_equal(ours.rows, theirs.rows)
    assert ours.row_labels == theirs.row_labels
    assert ours.sequences == theirs.sequences
    if kind in ("sequences", "matrix"):  # the others are numbered by their lines
        assert ours.ids == theirs.ids
    assert ours.digests == theirs.digests
    for name in ("matrix", "objects"):
        if getattr(theirs, name) is None:
            assert getattr(ours, name) is None
        else:
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("kind", ["sequences", "matrix", "vectors", "strings"])
@pytest.mark.parametrize("unknown", [["b"], ["d", "a"]])
def test_as_if_the_records_were_not_in_the_input(tmp_path, kind, unknown):
    whole = load(kind, tmp_path / "whole", unknown=unknown)
    ours = without_unknown(whole, unknown)
    theirs = load(kind, tmp_path / "less", [name for name in CLASSES if name not in unknown])
    assert_same_records(kind, ours, theirs)
    for name in ("records_kept", "distinct", "class_sizes", "lengths", "dropped"):
        assert ours.statistics[name] == theirs.statistics[name]
    held = is_unknown(whole, unknown)
    assert sum(ours.statistics["unknown"].values()) == held.sum() == len(whole.ids) - len(ours.ids)
    assert set(ours.dropped) == {id for id, out in zip(whole.ids, held, strict=True) if out}


@pytest.mark.parametrize("kind", ["sequences", "vectors", "strings"])
@pytest.mark.parametrize(
    ("unknown", "of_known", "conflicts"), [(["b"], 4, 2), (["d", "a"], 4, 2), (["d", "b"], 3, 4)]
)
def test_what_is_of_a_known_class_too_stays_there(tmp_path, kind, unknown, of_known, conflicts):
    left = [name for name in CLASSES if name not in unknown]
    whole = load(kind, tmp_path / "whole", unknown=unknown, shared=True)
    ours = without_unknown(whole, unknown)
    theirs = load(kind, tmp_path / "less", left, shared=True)
    assert_same_records(kind, ours, theirs)
    assert ours.statistics["class_sizes"] == theirs.statistics["class_sizes"]
    # None of the records that are held out is an object of those that are learned.
    held = np.unique(whole.rows[is_unknown(whole, unknown)])
    assert not {whole.digests[row] for row in held} & set(theirs.digests)
    what = kind.removesuffix("s")
    counts = {reason: entry["count"] for reason, entry in whole.statistics["dropped"].items()}
    assert counts.pop(f"unknown, identical to a {what} of a known class") == of_known
    assert counts.pop(f"identical {what}s with different labels", 0) == conflicts
    assert counts == {}
    assert whole.statistics["records_read"] == len(whole.ids) + of_known + conflicts


def test_organisms_that_only_the_unknown_lack_are_kept(tmp_path):
    source = source_of("sequences", tmp_path / "whole", CLASSES)
    path = tmp_path / "whole" / "x.fasta"
    lines = path.read_text().splitlines()
    named = [
        f"{line} OS=Homo sapiens OX=9606"
        if line.startswith(">") and "family=b" not in line
        else line
        for line in lines
    ]
    path.write_text("\n".join(named) + "\n")
    whole = load_dataset(source, tmp_path / "whole", PROTEIN, seed=1, unknown=["b"])
    assert set(without_unknown(whole, ["b"]).organisms["taxonomy"]) == {"9606"}
    assert load_dataset(source, tmp_path / "whole", PROTEIN, seed=1).organisms == {}


def test_nothing_held_out_is_nothing_changed(tmp_path):
    dataset = load("vectors", tmp_path / "whole")
    assert without_unknown(dataset, []) is dataset


def test_what_cannot_be_held_out_is_named(tmp_path):
    dataset = load("sequences", tmp_path / "whole")
    with pytest.raises(InputError, match=r"unknown: the data have no class 'e'; .* a, b, c, d\."):
        without_unknown(dataset, ["a", "e"])
    with pytest.raises(InputError, match="of 4 classes 3 are held out. At least two have to be"):
        without_unknown(dataset, ["a", "b", "d"])
