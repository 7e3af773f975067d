"""A run with a selector that looks at a sketch, with all objects and with given landmarks."""

import copy
import json
import math

import numpy as np
import pandas as pd
import pytest

from kreinflow.sequences.sources.registry import make_source


@pytest.fixture(scope="module")
def run(tmp_path_factory, small_config):
    from workflow.conftest import Workflow

    config, folder = copy.deepcopy(small_config), tmp_path_factory.mktemp("selectors")
    config["datasets"]["small"]["source"]["sequences"] = 40
    source = config["datasets"]["small"]["source"] | {"min_class_size": 2}
    ids = make_source(source).load("ARNDCQEGHILKMFPSTWYV", config["seed"]).ids[::3]
    config["selectors"] = {
        "leverage": {"method": "leverage", "sketch": 12, "budget": {"rank": 3}},
        "balls": {"method": "meb", "candidates": 6, "budget": "leverage"},
        "everything": {"method": "all"},
        "kept": {"method": "given", "table": str(folder / "kept.tsv")},
    }
    config["recipes"] = [
        {"name": name, "selector": name, "learner": "ikfd"} for name in config["selectors"]
    ]
    workflow = Workflow(folder, config)
    (folder / "kept.tsv").write_text("\n".join(["id", *ids]))
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


def test_given_landmarks_are_those_of_the_table_that_are_trained_on(run):
    records, folds = table(run, "dataset", "records.tsv"), table(run, "folds.tsv")
    row_of = records.set_index("id")["row"]
    given = set(row_of[run.folder.joinpath("kept.tsv").read_text().split()[1:]])
    for fold in (0, 1):
        trained = set(row_of[folds.loc[folds["fold"] != fold, "id"]])
        found = table(run, "landmarks", "kept", f"r0f{fold}.tsv")["row"].tolist()
        assert set(found) == given & trained
    assert set(table(run, "landmarks", "kept", "all.tsv")["row"]) == given
    assert (
        "The landmarks of kept were given"
        in run.folder.joinpath("results", "report.html").read_text()
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


def test_a_second_run_does_nothing_and_a_changed_table_of_landmarks_is_read_again(run):
    assert run.jobs() == {}
    path = run.folder / "kept.tsv"
    path.write_text("\n".join(path.read_text().split()[:-1]))
    jobs = run.jobs()
    assert jobs["list_candidates"] == 1
    assert jobs["select_landmarks"] >= 3
