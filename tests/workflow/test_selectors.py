"""Landmarks of a run: by a selector that looks at a sketch, all objects, and given ones."""

import copy
import json
import math

import pandas as pd
import pytest

from kreinflow.sequences.sources.registry import make_source
from workflow.conftest import SMALL, Workflow

TARGETS = ("--", "landmarks", "alignment")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config, folder = copy.deepcopy(SMALL), tmp_path_factory.mktemp("selectors")
    config["datasets"]["small"]["source"]["sequences"] = 40
    config["alignment"]["blocks"] = 1
    source = config["datasets"]["small"]["source"] | {"min_class_size": 2}
    ids = make_source(source).load("ARNDCQEGHILKMFPSTWYV", config["seed"]).ids[::3]
    config["selectors"] = {
        "leverage": {"method": "leverage", "sketch": 12, "budget": {"rank": 3}},
        "balls": {"method": "meb", "candidates": 6, "budget": "leverage"},
        "everything": {"method": "all"},
        "kept": {"method": "given", "table": str(folder / "kept.tsv")},
    }
    config["datasets"]["small"]["final"] = "kept"  # the report warns of its model
    config["recipes"] = [
        {"name": name, "selector": name, "learner": "ikfd"} for name in config["selectors"]
    ]
    workflow = Workflow(folder, config)
    (folder / "kept.tsv").write_text("\n".join(["id", *ids]))
    workflow.run(*TARGETS)
    return workflow


def table(run, *path):
    return pd.read_csv(
        run.folder.joinpath("results", "small", *path), sep="\t", keep_default_na=False
    )


def test_each_selector_has_its_number_of_those_that_are_trained_on(run):
    row_of = table(run, "dataset", "records.tsv").set_index("id")["row"]
    folds = table(run, "folds.tsv")
    given = set(row_of[run.folder.joinpath("kept.tsv").read_text().split()[1:]])
    for name, trained in (
        ("r0f0", set(row_of[folds.loc[folds["fold"] != 0, "id"]])),
        ("r0f1", set(row_of[folds.loc[folds["fold"] != 1, "id"]])),
        ("all", set(range(len(table(run, "dataset", "distinct.tsv"))))),
    ):
        leverage, balls, everything, kept = (
            set(table(run, "landmarks", selector, f"{name}.tsv")["row"])
            for selector in ("leverage", "balls", "everything", "kept")
        )
        assert everything == trained
        assert kept == given & trained
        assert leverage <= trained
        assert len(leverage) == len(balls) == math.ceil(3 * math.log(len(trained)))


def test_the_sketch_stands_beside_the_candidates_and_is_aligned(run):
    candidates = table(run, "candidates.tsv")
    sketch = candidates.loc[candidates["class"] == "", "row"]
    assert sketch.is_unique
    assert 12 <= len(sketch) <= 36  # two folds and all, that share what they can
    assert set(candidates["class"]) > {""}
    n = len(table(run, "dataset", "distinct.tsv"))
    path = run.folder / "results" / "small" / "alignment"
    first = [json.loads(file.read_text()) for file in sorted(path.glob("class_scores.*.json"))]
    assert first[0]["rectangles"][0] == [n, len(sketch)]
    account = json.loads(
        run.folder.joinpath("results", "small", "columns", "alignments.json").read_text()
    )
    assert account["aligned"] == account["full_matrix"] == n * (n - 1) // 2
