"""Labels that are paths, from a column for each level to the figure and the table of new ones."""

import json

import numpy as np
import pandas as pd
import pytest
import yaml

from kreinflow.classify.model_file import Model
from kreinflow.commands.main import main
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.fitting.fold_models import load_fold_model
from small_inputs import PROTEIN, configuration, write_fasta

LEVELS = {"separator": ".", "back_off": 0.8}


def clans(seed, each=16, length=60, rare=0):
    """Records (id, clan, family, residues): families of a clan come from one ancestor.

    Some of each clan have no family. ``rare`` families more have one record each.
    """
    rng = np.random.default_rng(seed)

    def changed(sequence, share):
        places = rng.random(length) < share
        return np.where(places, rng.choice(list(PROTEIN), length), sequence)

    records = []
    for clan in ("3", "4"):
        ancestor = rng.choice(list(PROTEIN), length)
        for family in ("1", "10", "", *(f"{i}r" for i in range(rare))):
            founder = changed(ancestor, 0.3)
            records += [
                (f"{clan}{family}x{i}", clan, family, "".join(changed(founder, 0.55)))
                for i in range(1 if family.endswith("r") else each if family else 8)
            ]
    return records


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("levels")
    records = clans(3)
    write_fasta(folder / "x.fasta", [(id, "", residues) for id, *_, residues in records])
    lines = [f"{id}\t{family}\t{clan}\n" for id, clan, family, _ in records]
    (folder / "l.tsv").write_text("id\tfamily\tclan\n" + "".join(lines))
    return folder


def test_from_two_columns_to_the_figure(workflow, folder, tmp_path):
    labels = {"table": "l.tsv", "label_column": ["clan", "family"]}
    source = {"type": "fasta", "fasta": "x.fasta", "labels": labels}
    config = configuration(source, levels=LEVELS, data=str(folder), reject_error=0.2)
    asking = {"name": "asks", "selector": "meb", "learner": "nearest"}
    config["recipes"].append(asking | {"cascade": {"alignments": 60}})
    config["classify"] = {"again": {"dataset": "mine", "input": "x.fasta"}}
    run = workflow(config)
    figure = "results/mine/figures/levels.svg"
    run.run("--", "classify", figure)
    results = run.folder / "results" / "mine"

    def read(name):
        text = ("node", "true", "predicted", "recipe", "label")
        return pd.read_csv(
            results / name, sep="\t", dtype=dict.fromkeys(text, str), keep_default_na=False
        )

    records = read("dataset/records.tsv")
    assert set(records["label"]) == {"3.1", "3.10", "3", "4.1", "4.10", "4"}
    predictions = read("evaluation/predictions.tsv.gz")
    nodes = predictions["node"]
    assert set(nodes) <= {"", "3", "4", *records["label"]}
    assert {"3", "3.1"} <= set(nodes)
    backed_off = predictions["true"].str.contains(".", regex=False) & (nodes.str.len() == 1)
    assert backed_off.any()
    # The probability of a node is the sum of its classes.
    sums = predictions.filter(like="p_3").sum(axis=1)
    own = predictions[nodes == "3"]
    np.testing.assert_allclose(own["node_probability"], sums[nodes == "3"], rtol=1e-12)

    levels = read("evaluation/levels.tsv")
    assert levels["recipe"].unique().tolist() == ["one", "asks", INNER_CHOICE]
    for row in levels.itertuples():
        part = predictions[predictions["recipe"] == row.recipe]
        true, told = part["true"].str.split("."), part["node"].str.split(".")
        has = [len(path) >= row.level for path in true]
        answered = [len(path) >= row.level and path[0] != "" for path in told[has]]
        assert row.records == sum(has)
        assert row.answered == pytest.approx(np.mean(answered))
        # The likeliest node of the level is the one whose classes have the largest sum.
        of_node = {}
        for label in (
            name for name in sorted(set(records["label"])) if name.count(".") + 1 >= row.level
        ):
            of_node.setdefault(".".join(label.split(".")[: row.level]), []).append(f"p_{label}")
        sums = pd.DataFrame({node: part[own].sum(axis=1) for node, own in of_node.items()})
        right = sums.idxmax(axis=1) == true.str[: row.level].str.join(".")
        assert row.accuracy == pytest.approx(right[has].mean())
    assert levels["accuracy"].min() < 1
    assert {*read("evaluation/hierarchy.tsv")["given"]} == {"label", "node"}
    assert "<svg" in (run.folder / figure).read_text()

    for recipe in ("one", "asks"):
        own = load_fold_model(results / "models" / "meb" / "all.safetensors", recipe).levels
        assert (own.thresholds >= 0.8).all()
    table = read("classified/again.tsv")
    assert {"node", "level", "node_probability"} <= set(table)
    np.testing.assert_array_equal(
        table["level"], [len(node.split(".")) if node else 0 for node in table["node"]]
    )
    main(["inspect", str(results / "model.safetensors")])

    records = clans(7)  # other families of the clans
    new = [(f"n{id}", clan, "3", s) for id, clan, family, s in records if family == "1"]
    write_fasta(tmp_path / "new.fasta", [(id, "", residues) for id, *_, residues in new])
    lines = [f"{id}\t{clan}\t{family}\n" for id, clan, family, _ in new]
    (tmp_path / "new.tsv").write_text("id\tclan\tfamily\n" + "".join(lines))
    given = [str(tmp_path / name) for name in ("new.fasta", "new.tsv", "two.safetensors")]
    given[1:] = ["--labels", given[1], "-o", given[2]]
    main(["update", str(results / "model.safetensors"), *given])
    updated = Model.load(tmp_path / "two.safetensors").classifier
    assert set(updated.classes) == {"3.1", "3.10", "3.3", "3", "4.1", "4.10", "4.3", "4"}
    assert "3.3" in updated.levels.tree.nodes


def test_rare_families_and_conflicts_are_learned_at_their_clan(workflow, tmp_path, capsys):
    """From two columns to a record of each rare family that is answered by its clan; an update."""
    records = clans(3, rare=6)
    records += [("twin", "3", "77", records[0][3])]  # and 3.1: a family that no other record has
    records += [("one", "5", "1", records[5][3][::-1])]  # all that there is of clan 5
    write_fasta(tmp_path / "x.fasta", [(id, "", residues) for id, *_, residues in records])
    lines = [f"{id}\t{family}\t{clan}\n" for id, clan, family, _ in records]
    (tmp_path / "l.tsv").write_text("id\tfamily\tclan\n" + "".join(lines))
    labels = {"table": "l.tsv", "label_column": ["clan", "family"]}
    source = {"type": "fasta", "fasta": "x.fasta", "labels": labels}
    learn = {"levels": LEVELS | {"learn": "siblings"}}
    config = configuration(source, **learn, data=str(tmp_path), reject_error=0.2)
    config["datasets"]["mine"]["folds"] = {"method": "stratified", "k": 3}
    config["classify"] = {"again": {"dataset": "mine", "input": "x.fasta"}}
    run = workflow(config)
    run.run()
    results = run.folder / "results" / "mine"
    text = dict.fromkeys(("node", "true", "predicted", "label", "path", "level"), str)

    def read(name):
        return pd.read_csv(results / name, sep="\t", dtype=text, keep_default_na=False)

    table = read("dataset/records.tsv").set_index("id")
    assert set(table["label"]) == {"3", "3.1", "3.10", "4", "4.1", "4.10"}
    rare = table[table["path"].str.endswith("r")]
    assert len(rare) == 12
    assert (rare["label"] == rare["path"].str[0]).all()
    assert table.loc[["twin", records[0][0]], "label"].tolist() == ["3", "3"]
    assert table.loc[["twin", records[0][0]], "path"].tolist() == ["3.77", "3.1"]
    assert {id for id, *_ in records} - {*table.index} == {"one"}
    statistics = json.loads((results / "dataset/summary.json").read_text())["statistics"]
    assert statistics["levels"] == {"labels": [16, 77], "learned": [30, 63]}
    assert statistics["rolled_up"]["count"] == 14
    assert statistics["common_ancestor"]["count"] == 2

    predictions = read("evaluation/predictions.tsv.gz")
    assert set(predictions["id"]) == {*table.index}
    assert (predictions["path"] == table.loc[predictions["id"], "path"].to_numpy()).all()
    levels = read("evaluation/levels.tsv").set_index(["recipe", "level"]).astype(float)
    one = predictions[predictions["recipe"] == "one"]
    deep = one[one["path"].str.contains(".", regex=False)]
    row = levels.loc[("one", "2")]
    known = deep["path"].isin(set(table["label"]))
    assert (row["records"], row["known"]) == (len(deep), known.sum())
    assert row["answered_recall"] == pytest.approx((deep["node"] == deep["path"]).mean())
    ends = one[~one["path"].isin({"3.1", "3.10", "4.1", "4.10"})]  # at their clan at best
    above = levels.loc[("one", "1")]
    assert above["ending"] == len(ends)
    own = ends["node"].str[:1] == ends["path"].str[0]
    assert above["over"] == pytest.approx((own & (ends["node"].str.len() > 1)).mean())
    assert above["under"] == pytest.approx((ends["node"] == "").mean())
    assert above["wrong"] == pytest.approx((~own & (ends["node"] != "")).mean())

    # Answers are nodes and labels of the tree, whatever a record was learned at.
    classified = read("classified/again.tsv").set_index("id")
    assert set(classified["label"]) <= {*table["label"]}
    assert (classified.loc[rare.index, "label"] == rare["label"]).mean() > 0.6
    page = (run.folder / "results" / "report.html").read_text()
    assert "learned at a parent: classes smaller than min_class_size" in page
    assert "misclassified" in page
    (run.folder / "check.yaml").write_text(yaml.safe_dump(config))
    main(["check", str(run.folder / "check.yaml")])
    said = capsys.readouterr()
    assert "30, 63 learned at level 1 to 2 (14 above their label)" in said.out
    assert "2 records are identical to others with another label, and learned at" in said.err
    model = str(results / "model.safetensors")
    main(["explain", model, str(tmp_path / "x.fasta"), "--id", "twin"])
    assert "level 1" in capsys.readouterr().out
    main(["inspect", model])

    new = [(f"n{id}", clan, f"{family}n", s) for id, clan, family, s in clans(7, rare=1)]
    new = [record for record in new if record[2] in ("1n", "0rn")]
    write_fasta(tmp_path / "new.fasta", [(id, "", residues) for id, *_, residues in new])
    lines = [f"{id}\t{clan}\t{family}\n" for id, clan, family, _ in new]
    (tmp_path / "new.tsv").write_text("id\tclan\tfamily\n" + "".join(lines))
    given = [str(tmp_path / name) for name in ("new.fasta", "new.tsv", "two.safetensors")]
    given[1:] = ["--labels", given[1], "-o", given[2]]
    capsys.readouterr()
    main(["update", model, *given])
    assert "2 records of them learned at a parent; 0 old records" in capsys.readouterr().err
    updated = Model.load(tmp_path / "two.safetensors").classifier
    assert set(updated.classes) == {"3", "3.1", "3.10", "3.1n", "4", "4.1", "4.10", "4.1n"}
