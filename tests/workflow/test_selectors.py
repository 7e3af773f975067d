"""A run with a selector that looks at a sketch, and with all objects as landmarks."""

import copy
import json
import math

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="module")
def run(tmp_path_factory, small_config):
    from workflow.conftest import Workflow

    config = copy.deepcopy(small_config)
    config["datasets"]["small"]["source"]["sequences"] = 40
    config["selectors"] = {
        "leverage": {"method": "leverage", "sketch": 12, "budget": {"rank": 3}},
        "balls": {"method": "meb", "candidates": 6, "budget": "leverage"},
        "everything": {"method": "all"},
    }
    config["recipes"] = [
        {"name": name, "selector": name, "learner": "ikfd"} for name in config["selectors"]
    ]
    workflow = Workflow(tmp_path_factory.mktemp("selectors"), config)
    workflow.run()
    return workflow


def table(run, *path):
    return pd.read_csv(
        run.folder.joinpath("results", "small", *path), sep="\t", keep_default_na=False
    )


def test_each_selector_has_its_number(run):
    distinct = table(run, "dataset", "distinct.tsv")
    records, folds = table(run, "dataset", "records.tsv"), table(run, "folds.tsv")
    rows = records.set_index("id").loc[folds["id"], "row"].to_numpy()
    for fold in (0, 1):
        trained = set(rows[folds["fold"] != fold])
        found = {
            name: table(run, "landmarks", name, f"r0f{fold}.tsv")["row"].tolist()
            for name in ("leverage", "balls", "everything")
        }
        assert set(found["everything"]) == trained
        assert set(found["leverage"]) <= trained
        assert (
            len(found["leverage"]) == len(found["balls"]) == math.ceil(3 * math.log(len(trained)))
        )
    assert table(run, "landmarks", "everything", "all.tsv")["row"].tolist() == list(
        range(len(distinct))
    )


def test_the_sketch_stands_beside_the_candidates_and_is_aligned(run):
    candidates = table(run, "candidates.tsv")
    sketch = candidates.loc[candidates["class"] == "", "row"]
    assert sketch.is_unique
    assert 12 <= len(sketch) <= 36  # two folds and all, that share what they can
    assert set(candidates["class"]) > {""}
    n = len(table(run, "dataset", "distinct.tsv"))
    path = run.folder / "results" / "small" / "alignment"
    first = [json.loads(file.read_text()) for file in sorted(path.glob("class_scores.*.json"))]
    assert len(first) == 2
    assert first[0]["rectangles"][0] == [n, len(sketch)]
    account = json.loads(
        run.folder.joinpath("results", "small", "columns", "alignments.json").read_text()
    )
    assert account["aligned"] == account["full_matrix"] == n * (n - 1) // 2


def test_all_landmarks_give_a_factor_of_the_whole_kernel(run):
    factor = table(run, "factors", "everything", "r0f0.tsv").iloc[0]
    assert factor["landmarks"] >= factor["rank"]
    assert factor["misfit"] == pytest.approx(0, abs=1e-9)
    accuracy = table(run, "evaluation", "summary.tsv").set_index("recipe")["accuracy_mean"]
    assert np.min(accuracy) > 0.6


def test_the_report_tells_what_ran(run):
    page = run.folder.joinpath("results", "report.html").read_text()
    assert "3 ln n of n training objects, from the alignments with 12 training objects" in page
    assert "fitted to as many as leverage took" in page
    assert "all training objects, which takes all alignments" in page


def test_a_second_run_does_nothing(run):
    assert run.jobs() == {}
