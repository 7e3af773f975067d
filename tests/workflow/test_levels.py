"""Labels that are paths, from a column for each level to the figure and the table of new ones."""

import numpy as np
import pandas as pd
import pytest

from kreinflow.classify.model_file import Model
from kreinflow.commands.main import main
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.fitting.fold_models import load_fold_model
from small_inputs import PROTEIN, configuration, write_fasta

LEVELS = {"separator": ".", "back_off": 0.8}


def clans(seed, each=16, length=60):
    """Records (id, clan, family, residues): families of a clan come from one ancestor.

    Some of each clan have no family.
    """
    rng = np.random.default_rng(seed)

    def changed(sequence, share):
        places = rng.random(length) < share
        return np.where(places, rng.choice(list(PROTEIN), length), sequence)

    records = []
    for clan in ("3", "4"):
        ancestor = rng.choice(list(PROTEIN), length)
        for family in ("1", "10", ""):
            founder = changed(ancestor, 0.3)
            records += [
                (f"{clan}{family}x{i}", clan, family, "".join(changed(founder, 0.55)))
                for i in range(each if family else 8)
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
