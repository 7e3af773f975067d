"""``kreinflow init``: what it finds in data, that its config is right, and what it refuses."""

import gzip

import numpy as np
import pytest

from kreinflow.sequences.identity import identity
from small_inputs import (
    DNA,
    PROTEIN,
    families,
    matrix_of,
    points,
    turned,
    write_fasta,
    write_matrix,
)

RECORDS = families(1, classes=("kinase", "lipase", "globin"), each=8)
CLASS = {id: label for id, label, _ in RECORDS}


def write(name, lines, join="\t"):
    text = "".join(f"{join.join(line)}\n" for line in lines)
    with (gzip.open if str(name).endswith(".gz") else open)(name, "wt") as file:
        file.write(text)
    return name


def table(name, rename=lambda id: id, labels=None, join="\t", header=("id", "label")):
    labels = labels or CLASS
    return write(name, [header, *((rename(id), label) for id, label in labels.items())], join)


def source_of(config):
    (part,) = config["datasets"].values()
    return part["source"]


def fasta(folder, records=RECORDS, name="x.fasta", header="{id}"):
    write_fasta(folder / name, records, header)
    return name


def test_it_writes_a_config_that_names_data_alone(proposed, tmp_path):
    config, out, err = proposed(fasta(tmp_path), "--labels", table("y.tsv"))
    assert config == {
        "results": "results-x",
        "datasets": {
            "x": {
                "source": {
                    "type": "fasta",
                    "fasta": "x.fasta",
                    "labels": {"table": "y.tsv", "id_column": "id", "label_column": "label"},
                },
                "folds": {"method": "stratified", "k": 5},
            }
        },
    }
    (few,) = err.splitlines()
    assert few.startswith("kreinflow: x: 24 records are few, even if none is predicted wrong: ")
    assert "x: 24 protein sequences of 60 to 60 residues (median 60) in x.fasta.\n" in out
    assert "x: labels: the column 'label' of y.tsv, 3 classes of 8 records.\n" in out
    text = (tmp_path / "kreinflow.yaml").read_text()
    assert "id_column: id # 24 of its 24 lines are of a record\n" in text
    assert "k: 5 # the smallest class, globin, has 8 different records\n" in text
    assert "# Estimate: about " in text


def test_the_same_input_gives_the_same_bytes_and_nothing_is_replaced(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fasta(tmp_path)
    command = "init", "x.fasta", "--labels", table("y.tsv")
    config = tmp_path / "kreinflow.yaml"
    config.write_text("mine")
    code, _, err = run(*command)
    assert (code, config.read_text()) == (2, "mine")
    assert err == (
        "kreinflow input error: kreinflow.yaml: is there already. Name another file with -o, or "
        "give --force.\n"
    )
    assert run(*command, "--force")[0] == run(*command, "-o", "other.yaml")[0] == 0
    assert config.read_bytes() == (tmp_path / "other.yaml").read_bytes()
    code, out, err = run(*command, "-o", "-")
    assert (code, out) == (0, config.read_text())
    assert "x: 24 protein sequences" in err


def test_tables(proposed, tmp_path):
    """Names, separators, further columns, forms of ids, texts that look like something else."""
    fasta(tmp_path)
    rows = [
        (f"{40 + i}.5", CLASS[id], id, ("human", "mouse", "fly", "yeast", "worm")[i % 5], str(i))
        for i, id in enumerate(CLASS)
    ]
    write("more.tsv", [("mass", "no", "1e5", "species", "line number"), *rows])
    config, out, err = proposed("x.fasta", "--labels", "more.tsv", "--force")
    assert source_of(config)["labels"] == {
        "table": "more.tsv",
        "id_column": "1e5",
        "label_column": "no",
    }
    assert "x: or species (5 classes): label_column: species\n" in out
    assert "The labels are a guess: the column 'no' of more.tsv, such as " in err


@pytest.mark.parametrize(
    ("header", "pattern"),
    [
        ("{id} family={label}; length=60", r"\bfamily=([^\s;,\]|]+)"),
        ("{id} [class={label}] [x=3]", r"\[class=([^\]]+)\]"),
        ("{id} a protein OS={label} sapiens OX=7 GN=x", r"\bOS=(.+?)(?= [A-Z]{2}=|$)"),
        ("{id} hypothetical protein [{label} sapiens]", r"\[([^\[\]=]+)\]\s*$"),
        ("{id}|{label}|60", r"^(?:[^|]*\|){1}\s*([^|]+?)\s*(?:\||$)"),
        ("{id} {label}", r"^\S+\s+(.+?)\s*$"),
        ("{label}1_{id}", r"^(\S+?)[_.|/-]+\d+(?:\s|$)"),
        ("{id}", r"^(\S*?[A-Za-z]{2})\d+(?:\s|$)"),
    ],
)
def test_labels_in_headers(proposed, tmp_path, header, pattern):
    records = [
        (id.replace(label, "") if "1_" in header else id, label, s) for id, label, s in RECORDS
    ]
    config, out, err = proposed(fasta(tmp_path, records, header=header))
    meant = pattern.startswith((r"\bfamily=", r"\[class="))  # no organism, no part of an id
    assert ("The labels are a guess" in err) != meant
    assert source_of(config)["labels"] == {"pattern": pattern}
    assert "3 classes of 8 records" in out
    assert "without a label" not in out


def test_records_whose_headers_have_no_label_are_classified(proposed, tmp_path):
    name = fasta(tmp_path, header="{id} family={label}; length=60")
    with (tmp_path / name).open("a") as file:
        file.write(f">new of no family\n{RECORDS[0][2]}\n")
    config, out, _ = proposed(name)
    assert source_of(config)["unmatched"] == "classify"
    assert "1 record without a label: classified by the final model." in out


def test_a_folder_or_a_list_of_files_with_one_a_class(proposed, tmp_path):
    names = []
    for label in sorted(set(CLASS.values())):
        own = [record for record in RECORDS if record[1] == label]
        names.append(fasta(tmp_path, own, name=f"my families/{label} é.fa.gz"))
    config, *_ = proposed("my families", "--force")
    assert source_of(config)["fasta"] == "my families"
    assert source_of(config)["labels"] == {"from_file_names": True}
    assert list(config["datasets"]) == ["my_families"]
    config, *_ = proposed(*names, "--force")
    assert source_of(config)["fasta"] == names


@pytest.mark.parametrize("letters", ["ACGT", "ACGU"])
def test_nucleotides_and_their_strands(proposed, tmp_path, letters):
    records = families(2, letters=DNA, length=200, changed=0.1)
    records = [(id, label, s.replace("T", letters[-1])) for id, label, s in records]
    if letters == DNA:
        records[3] = turned(records[3])
    config, out, err = proposed(fasta(tmp_path, records, header="{id} {label}"))
    assert source_of(config)["molecule"] == "nucleotide"
    assert f"30 {'DNA' if letters == DNA else 'RNA'} sequences of 200" in out
    assert ("1 record was turned to the strand of those like them: a3." in err) == (letters == DNA)


def test_near_identical_sequences_share_a_fold(proposed, tmp_path):
    records = [
        *RECORDS,
        *((f"twin{id}", label, f"{s[:-2]}WW") for id, label, s in RECORDS if id.endswith("1")),
    ]
    labels = {id: label for id, label, _ in records}
    config, out, _ = proposed(fasta(tmp_path, records), "--labels", table("y.tsv", labels=labels))
    assert config["datasets"]["x"]["folds"] == {"method": "grouped", "k": 5, "identity": 0.9}
    assert "6 of 27 distinct sequences are near-identical to another (identity 0.9 or more)." in out
    assert "the smallest class, globin, has 8 groups" in out
    texts = [s.encode() for _, _, s in records]
    shares = [[identity(a, b, nucleotides=False) for b in texts] for a in texts]
    related = sum(any(0.5 <= share < 0.9 for share in row) for row in shares)
    assert 0 < related < 27
    assert f"Of 27 sequences {100 * related / 27:.0f} % have a relative of 50 % identity" in out


def test_small_classes(proposed, tmp_path):
    """The number of folds follows the smallest class; one that is too small is left out."""
    records = [r for r in RECORDS if r[1] != "globin" or r[0] in ("globin0", "globin1", "globin2")]
    config, *_ = proposed(fasta(tmp_path, records, header="{id} {label}"))
    assert config["datasets"]["x"]["folds"]["k"] == 3
    records = [r for r in records if r[0] != "globin2"]
    config, _, err = proposed(fasta(tmp_path, records, header="{id} {label}"), "--force")
    assert config["datasets"]["x"]["folds"]["k"] == 5
    assert source_of(config)["min_class_size"] == 3
    assert "1 class is too small for 5 folds and left out: globin. Give more" in err
    records = [r for r in RECORDS if r[0][-1] in "01"]
    config, *_ = proposed(fasta(tmp_path, records, header="{id} {label}"), "--force")
    assert config["datasets"]["x"]["folds"]["k"] == 2


def test_what_looks_like_a_mistake(proposed, tmp_path):
    odd = [
        ("same", "lipase", RECORDS[0][2]),
        ("stop", "kinase", f"{RECORDS[1][2]}*MK"),
        ("long", "kinase", PROTEIN * 2001),
    ]
    config, _, err = proposed(fasta(tmp_path, [*RECORDS, *odd], header="{id} {label}"))
    assert source_of(config)["illegal_residues"] == "drop"
    assert "1 record with '*' among the residues, dropped: stop." in err
    assert source_of(config)["too_long"] == "drop"
    assert "1 record with more residues than max_length, 40000, dropped: long." in err
    assert (
        "2 records are dropped as identical sequences with different labels: kinase0, same." in err
    )
    head = (tmp_path / "kreinflow.yaml").read_text().split("results:")[0].replace("\n# ", " ")
    assert "Look at this: 1 record with '*' among the residues" in head


def test_records_without_a_label_and_labels_without_a_record(proposed, tmp_path):
    labels = {id: label for id, label in CLASS.items() if not id.endswith("7")} | {
        "other": "kinase"
    }
    fasta(tmp_path)
    config, out, _ = proposed("x.fasta", "--labels", table("y.tsv", labels=labels))
    assert source_of(config)["unmatched"] == "classify"
    assert "3 records without a label: classified by the final model." in out
    labels = CLASS | {"other": "kinase"}
    config, *_ = proposed("x.fasta", "--labels", table("y.tsv", labels=labels), "--force")
    assert source_of(config)["unmatched"] == "drop"


def test_several_labels_and_levels(proposed, tmp_path):
    fasta(tmp_path)
    joined = {
        id: f"{label}; membrane" if i % 3 else label for i, (id, label) in enumerate(CLASS.items())
    } | {"kinase0": "membrane"}
    config, out, err = proposed("x.fasta", "--labels", table("y.tsv", labels=joined))
    assert source_of(config)["labels"]["multiple"] == "all"
    assert "Records have several labels, with ';' between them" in err
    assert "4 labels, several a record" in out
    lines = [(id, label) for id, text in joined.items() for label in text.split("; ")]
    write("lines.tsv", [("id", "label"), *lines])
    config, *_ = proposed("x.fasta", "--labels", "lines.tsv", "--force")
    assert source_of(config)["labels"]["multiple"] == "all"
    numbers = {"kinase": "2.7.1.1", "lipase": "3.1.1.3", "globin": "3.1.1.-"}
    labels = {id: numbers[label] for id, label in CLASS.items()}
    config, *_ = proposed("x.fasta", "--labels", table("ec.tsv", labels=labels), "--force")
    assert config["datasets"]["x"]["levels"] == {"separator": "."}


@pytest.mark.parametrize(
    "kind", ["similarity", "zero_diagonal_similarity", "dissimilarity", "asymmetric"]
)
def test_a_matrix(proposed, tmp_path, kind):
    X, labels = points(4)
    write_matrix(tmp_path / "k.csv", matrix_of(kind, X, X), [f"o{i}" for i in range(30)])
    write("y.txt", [[label] for label in labels])
    config, out, _ = proposed("k.csv", "--labels", "y.txt")
    assert "k: labels: the lines of y.txt, 3 classes of 10 records.\n" in out
    assert source_of(config) == {
        "type": "matrix",
        "matrix": "k.csv",
        "kind": kind,
        "labels": {"lines": "y.txt"},
    }


def test_vectors_with_a_table(proposed, tmp_path):
    X, labels = points(4)
    np.save(tmp_path / "x.npy", X)
    write("y.csv", [("name", "class"), *((f"o{i}", label) for i, label in enumerate(labels))], ",")
    config, *_ = proposed("x.npy", "--labels", "y.csv")
    source = source_of(config)
    assert source["labels"] == {"table": "y.csv", "id_column": "name", "label_column": "class"}
    rows = [(str(i), f"o{i}", label) for i, label in enumerate(labels)]
    write("n.csv", [("n", "id", "label"), *rows], ",")
    config, *_ = proposed("x.npy", "--labels", "n.csv", "--force")
    assert source_of(config)["labels"]["id_column"] == "id"
    assert source["kernel"]["name"] == "gaussian"
    gaps = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))[np.triu_indices(30, 1)]
    assert source["kernel"]["width"] == pytest.approx(np.median(gaps), rel=1e-2)


def test_wrong_input(refused_here, tmp_path):
    fasta(tmp_path)
    assert "nothing.fasta: no such file" in refused_here("nothing.fasta")
    assert "If it has the labels, give it behind --labels" in refused_here("x.fasta", "y.tsv")
    message = refused_here("x.fasta", "--labels", table("y.tsv", rename="record {}".format))
    assert "y.tsv: no column has the ids of the records. These are kinase0, kinase1" in message
    assert "the table has record kinase0, kinase" in message
    aligned = [(id, label, f"{s[:5]}--{s[5:]}") for id, label, s in RECORDS]
    message = refused_here(fasta(tmp_path, aligned, "aligned.fasta", "{id} {label}"))
    assert "Remove the gaps of an alignment" in message
    fasta(tmp_path, [(f"{i:x}", "", s) for i, (_, _, s) in enumerate(RECORDS)], "bare.fasta")
    assert "bare.fasta: no labels. Give a table with --labels" in refused_here("bare.fasta")
    np.save(tmp_path / "k.npy", np.eye(4))
    assert "k.npy: numbers have no labels in them. Give --labels" in refused_here("k.npy")
    np.save(tmp_path / "d.npy", np.triu(np.ones((4, 4)), 1))
    write("four.txt", [["a"], ["a"], ["b"], ["b"]])
    message = refused_here("d.npy", "--labels", "four.txt")
    assert "d.npy: looks like dissimilarities that differ in their two directions" in message
    np.save(tmp_path / "v.npy", np.array([[1.0, np.nan]] * 4))
    assert "is not a finite number" in refused_here("v.npy", "--labels", "four.txt")
