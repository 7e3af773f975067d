"""Classes held out as unknown leave a data set as if they had never been in the input."""

import re
from dataclasses import replace

import numpy as np
import pytest

from data_sets import assert_same_rows, dropped, load
from kreinflow.base.errors import InputError
from kreinflow.sequences.dataset import is_unknown, without_unknown
from small_inputs import (
    families,
    fasta_source,
    matrix_of,
    matrix_source,
    points,
    vectors_source,
    write_fasta,
    write_matrix,
)

CLASSES = ("a", "b", "c", "d")


def source_of(kind, folder, classes, shared=False):
    """The records of some of the classes, mixed, in a file of their own; and their source.

    ``shared`` objects are those that two classes have: a and b, b and d, and all three.
    """
    if kind == "sequences":
        records = families(3, classes=CLASSES, each=6)
        records.insert(4, ("twin", "a", records[2][2]))
        records.append(("pair", "b", records[-1][2].replace("A", "C")))
    else:
        X, labels = points(5, classes=CLASSES, each=6)
        records = [(f"o{i}", label, X[i]) for i, label in enumerate(labels)]
    if shared:
        of = {label: [x for _, name, x in records if name == label] for label in CLASSES}
        records += [("ab", "a", of["b"][1]), ("db", "d", of["b"][2]), ("bd", "b", of["d"][3])]
        records += [("cb", "c", of["b"][4]), ("cd", "d", of["b"][4])]
    order = np.random.default_rng(1).permutation(len(records))
    records = [records[i] for i in order if records[i][1] in classes]
    folder.mkdir()
    (folder / "y.txt").write_text("".join(f"{label}\n" for _, label, _ in records))
    contents = [x for _, _, x in records]
    if kind == "sequences":
        write_fasta(folder / "x.fasta", records)
        return fasta_source()
    if kind == "matrix":
        ids = [id for id, _, _ in records]
        write_matrix(folder / "k.csv", matrix_of("similarity", np.array(contents), contents), ids)
        return matrix_source()
    np.save(folder / "x.npy", np.array(contents))
    return vectors_source(kernel={"name": "gaussian", "width": 1.0})


def read(kind, folder, classes=CLASSES, unknown=(), shared=False):
    return load(source_of(kind, folder, classes, shared), folder, unknown)


@pytest.mark.parametrize("kind", ["sequences", "vectors", "matrix"])
@pytest.mark.parametrize(
    ("unknown", "of_known", "conflicts"), [(["b"], 4, 2), (["d", "a"], 4, 2), (["d", "b"], 3, 4)]
)
def test_as_if_the_records_were_not_in_the_input(tmp_path, kind, unknown, of_known, conflicts):
    """What is of a known class too stays there."""
    shared = kind != "matrix"  # whose objects are never identical
    whole = read(kind, tmp_path / "whole", unknown=unknown, shared=shared)
    ours = without_unknown(whole, unknown)
    left = [name for name in CLASSES if name not in unknown]
    theirs = read(kind, tmp_path / "less", left, shared=shared)
    assert_same_rows(ours, theirs)
    assert kind == "vectors" or ours.ids == theirs.ids  # vectors are numbered by their lines
    for name in ("records_kept", "distinct", "class_sizes", "lengths"):
        assert ours.statistics[name] == theirs.statistics[name]
    held = is_unknown(whole, unknown)
    assert sum(ours.statistics["unknown"].values()) == held.sum() == len(whole.ids) - len(ours.ids)
    ids = [id for id, out in zip(whole.ids, held, strict=True) if out]
    assert ours.dropped == (*whole.dropped, *ids)
    # None of the records that are held out is an object of those that are learned.
    assert not {whole.digests[row] for row in whole.rows[held]} & set(theirs.digests)
    what = kind.removesuffix("s")
    assert dropped(whole) == (
        {}
        if kind == "matrix"
        else {
            f"unknown, identical to a {what} of a known class": of_known,
            f"identical {what}s with different labels": conflicts,
        }
    )


def test_organisms_that_only_the_unknown_lack_are_kept(tmp_path):
    source = source_of("sequences", tmp_path / "whole", CLASSES)
    path = tmp_path / "whole" / "x.fasta"
    named = re.sub(r"(?m)^(>.*family=[^b];)$", r"\1 OS=Homo sapiens OX=9606", path.read_text())
    path.write_text(named)
    whole = load(source, tmp_path / "whole", ["b"])
    assert set(without_unknown(whole, ["b"]).organisms["taxonomy"]) == {"9606"}
    assert load(source, tmp_path / "whole").organisms == {}


def test_what_cannot_be_held_out_is_named(tmp_path):
    dataset = read("sequences", tmp_path / "whole")
    with pytest.raises(InputError, match=r"unknown: the data have no class 'e'; .* a, b, c, d\."):
        without_unknown(dataset, ["a", "e"])
    with pytest.raises(InputError, match="of 4 classes 3 are held out. At least two have to be"):
        without_unknown(dataset, ["a", "b", "d"])
    several = replace(dataset, memberships=np.ones((len(dataset.ids), 4), dtype=bool))
    with pytest.raises(InputError, match="records with several labels cannot be held out"):
        without_unknown(several, ["a"])
