"""``kreinflow update``: two files that belong together, or none."""

import os
import warnings

import pandas as pd
import pytest

from kreinflow.base.errors import KreinflowError
from kreinflow.classify import update
from kreinflow.classify.learned_file import Learned, learned_path
from kreinflow.classify.model_file import Model
from kreinflow.commands import update as module
from small_inputs import (
    DNA,
    configuration,
    families,
    fasta_source,
    learned_of,
    trained_recipe,
    turned,
    write_fasta,
    write_input,
    write_labels,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a model of 30 records and 3 classes, what it learned, and 20 new records."""
    path = tmp_path_factory.mktemp("update")
    it = trained_recipe(configuration(write_input(path)), path)
    it.model.save(path / "model.safetensors")
    learned_of(it).save(path / "model.learned.safetensors", path / "model.safetensors")
    new = [(f"n{id}", label, s) for id, label, s in families(9, classes=("b", "z"))]
    write_fasta(path / "new.fasta", new)
    write_labels(path / "new.tsv", new)
    return path


@pytest.fixture
def arguments(folder, tmp_path):
    return [
        *("update", folder / "model.safetensors", folder / "new.fasta"),
        *("--labels", folder / "new.tsv", "-o", tmp_path / "two.safetensors"),
    ]


def test_two_files_that_belong_together(run, classified, arguments, folder, tmp_path):
    code, out, err = run(*arguments, "--threads", 3, "--changes", tmp_path / "changes.tsv")
    assert (code, out) == (0, "")
    assert err.startswith("kreinflow: 20 records added, of 1 new class (z) with 3 landmarks; ")
    assert all(line.startswith("kreinflow: ") for line in err.splitlines())
    two = tmp_path / "two.safetensors"
    assert sorted(os.listdir(tmp_path)) == [
        "changes.tsv",
        "two.learned.safetensors",
        "two.safetensors",
    ]
    model = Model.load(two)
    assert model.classifier.classes == ("a", "b", "c", "z")
    assert model.about["records"] == 50
    assert Learned.load(learned_path(two), model, two).dataset.ids[30:32] == ("nb0", "nb1")
    table = pd.read_csv(tmp_path / "changes.tsv", sep="\t", keep_default_na=False)
    assert len(table) == 50
    rows = [line.split("\t") for line in classified(two, folder / "new.fasta").splitlines()[1:]]
    assert sum(row[1] == "z" for row in rows) >= 8
    again = write_labels(tmp_path / "m.tsv", [("more", "z", "")])
    fasta = write_fasta(tmp_path / "m.fasta", [("more", "z", families(9, ("b", "z"))[-1][2][:-1])])
    three = "update", two, fasta, "--labels", again, "-o", tmp_path / "three.safetensors"
    assert run(*three)[0] == 0
    assert Model.load(tmp_path / "three.safetensors").about["records"] == 51
    code, out, _ = run("inspect", tmp_path / "three.safetensors")
    first, second = "classes (z), landmarks 3, records 20", "classes (none), landmarks 0, records 1"
    assert f"updates: {first}; {second}\n" in out


def test_records_of_the_other_strand_are_turned_and_told(run, tmp_path):
    records = families(5, classes=("a", "b", "z"), each=14, letters=DNA, length=90, changed=0.15)
    old = [r for r in records if r[1] != "z" and int(r[0][1:]) < 6]
    new = [r for r in records if r not in old]
    write_fasta(tmp_path / "x.fasta", old)
    config = configuration(fasta_source(molecule="nucleotide"), scoring={"matrix": "dnafull"})
    it = trained_recipe(config, tmp_path)
    model = tmp_path / "model.safetensors"
    it.model.save(model)
    learned_of(it).save(learned_path(model), model)
    labels = write_labels(tmp_path / "new.tsv", new)
    # More of a and b than were learned, and few of the new class.
    other = [turned(r) if r[1] != "z" or r[0] in ("z3", "z7") else r for r in new]

    def updated(records, *more):
        fasta = write_fasta(tmp_path / "new.fasta", records)
        two = tmp_path / "two.safetensors"
        code, _, err = run("update", model, fasta, "--labels", labels, "-o", two, *more)
        assert code == 0, err
        return [two.read_bytes(), learned_path(two).read_bytes()], err

    forward, said = updated(new)
    assert "turned" not in said
    found, said = updated(other)
    assert found == forward
    assert said.startswith("kreinflow: 18 records were turned to the strand of those like them: a6")
    found, said = updated(other, "--strand", "given")
    assert found != forward
    assert "turned" not in said


def test_what_it_learned_may_be_elsewhere(run, refused, arguments, folder, tmp_path):
    known = folder / "model.learned.safetensors"
    moved = tmp_path / "elsewhere"
    moved.write_bytes(known.read_bytes())
    copied = tmp_path / "copy.safetensors"
    copied.write_bytes((folder / "model.safetensors").read_bytes())
    arguments[1] = copied
    assert "copy.learned.safetensors: no such file. It is written beside" in refused(*arguments)
    assert not (tmp_path / "two.safetensors").exists()
    assert run(*arguments, "--learned", moved)[0] == 0


@pytest.mark.parametrize("name", ["-", "model.tsv"])
def test_a_model_has_a_name_that_ends_in_safetensors(refused, arguments, name):
    arguments[-1] = name
    assert f"-o {name}: give a name that ends in .safetensors." in refused(*arguments)


def test_nothing_is_left_behind_by_a_full_disk(run, arguments, tmp_path, monkeypatch):
    def full(*_):
        raise KreinflowError("the disk is full")

    monkeypatch.setattr(Learned, "save", full)
    code, _, err = run(*arguments, "--changes", tmp_path / "changes.tsv")
    assert (code, err) == (1, "kreinflow error: the disk is full\n")
    assert list(tmp_path.iterdir()) == []


def test_what_the_training_warns_of_is_told(run, arguments, monkeypatch):
    learning = update.update

    def warned(*given):
        warnings.warn("class 'z' was not learned.", UserWarning, stacklevel=1)
        return learning(*given)

    monkeypatch.setattr(module, "update", warned)
    code, _, err = run(*arguments)
    assert code == 0
    assert err.startswith("kreinflow: warning: class 'z' was not learned.\nkreinflow: 20 records")


def test_a_table_with_sequences_and_labels(run, arguments, folder, tmp_path):
    """It is FASTA and table of labels in one."""
    code, _, err = run(*arguments, "--changes", tmp_path / "a.tsv")
    assert code == 0, err
    new = [(f"n{id}", label, s) for id, label, s in families(9, classes=("b", "z"))]
    table = tmp_path / "both.tsv"
    lines = ("id\tsequence\tlabel\n", *(f"{id}\t{s}\t{label}\n" for id, label, s in new))
    table.write_text("".join(lines))
    arguments = [table if a in (folder / "new.fasta", folder / "new.tsv") else a for a in arguments]
    code, _, err = run(*arguments, "--changes", tmp_path / "b.tsv")
    assert code == 0, err
    assert (tmp_path / "b.tsv").read_text() == (tmp_path / "a.tsv").read_text()
