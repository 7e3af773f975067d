"""Measures at the levels of a hierarchy, against sets of paths counted one record at a time."""

import numpy as np
import pandas as pd
import pytest

from evaluation.made_up import PATHS as CLASSES
from evaluation.made_up import made_up_paths
from kreinflow.evaluation.levels import level_tables

SETTINGS = {"separator": ".", "back_off": 0.6}


def made_up(recipes, n=300, repeats=1):
    return made_up_paths(recipes, n, folds=3, repeats=repeats)


def beginnings(path):
    """A node and those above it, without the root."""
    parts = path.split(".") if path else []
    return {".".join(parts[:size]) for size in range(1, len(parts) + 1)}


def at(path, level):
    return next((node for node in beginnings(path) if node.count(".") == level - 1), None)


def likeliest(row, level):
    """The node of a level with the largest sum of its classes; None if it is none's."""
    sums = {}
    for name in CLASSES:
        if node := at(name, level):
            sums[node] = sums.get(node, 0.0) + row[f"p_{name}"]
    return max(sums, key=sums.get)


@pytest.fixture(scope="module")
def predictions():
    return made_up({"good": 3.0, "poor": 1.0})


@pytest.fixture(scope="module")
def tables(predictions):
    return level_tables(predictions, SETTINGS)


@pytest.mark.parametrize("recipe", ["good", "poor"])
def test_figures_of_each_level(predictions, tables, recipe):
    rows = predictions[predictions["recipe"] == recipe].to_dict("records")
    table = tables["levels"].set_index(["recipe", "level"]).loc[recipe]
    assert table.index.tolist() == [1, 2, 3]
    assert table["nodes"].tolist() == [3, 3, 5]
    for level, found in table.iterrows():
        own = [row for row in rows if at(row["true"], level)]
        told = [row for row in own if at(row["node"], level)]
        assert 0 < len(told) < len(own)
        assert found["records"] == len(own)
        right = [likeliest(row, level) == at(row["true"], level) for row in own]
        assert found["accuracy"] == pytest.approx(np.mean(right))
        assert found["answered"] == pytest.approx(len(told) / len(own))
        kept = [at(row["node"], level) == at(row["true"], level) for row in told]
        assert found["answered_accuracy"] == pytest.approx(np.mean(kept))


@pytest.mark.parametrize("recipe", ["good", "poor"])
@pytest.mark.parametrize(("given", "column"), [("label", "predicted"), ("node", "node")])
def test_hierarchical_precision_and_recall(predictions, tables, recipe, given, column):
    rows = predictions[predictions["recipe"] == recipe]
    true, said = ([beginnings(path) for path in rows[name]] for name in ("true", column))
    shared = sum(len(a & b) for a, b in zip(true, said, strict=True))
    precision, recall = (shared / sum(map(len, sets)) for sets in (said, true))
    found = tables["hierarchy"].set_index(["recipe", "given"]).loc[(recipe, given)]
    assert found["precision"] == pytest.approx(precision)
    assert found["recall"] == pytest.approx(recall)
    assert found["f1"] == pytest.approx(2 * precision * recall / (precision + recall))


def test_figures_of_each_node(predictions, tables):
    rows = predictions[predictions["recipe"] == "good"].to_dict("records")
    table = tables["nodes"].set_index(["recipe", "node"]).loc["good"]
    every = set().union(*map(beginnings, CLASSES))
    assert set(table.index) == every
    for node, found in table.iterrows():
        level = node.count(".") + 1
        assert found["level"] == level
        has = [row for row in rows if at(row["true"], level)]
        own = [row for row in has if at(row["true"], level) == node]
        taken = [row for row in has if likeliest(row, level) == node]
        both = [row for row in own if likeliest(row, level) == node]
        told = [row for row in own if at(row["node"], level)]
        kept = [row for row in told if at(row["node"], level) == node]
        assert found["records"] == len(own)
        assert found["recall"] == pytest.approx(len(both) / len(own))
        assert found["precision"] == pytest.approx(len(both) / len(taken))
        assert found["answered"] == pytest.approx(len(told) / len(own))
        assert found["answered_accuracy"] == pytest.approx(len(kept) / len(told))


def test_noise_has_the_accuracy_of_chance():
    """Probabilities that know nothing: at a level the share of the records by the node's mass."""
    table = made_up({"noise": 0.0}, n=6000)
    levels = level_tables(table, SETTINGS)["levels"].set_index("level")
    for level, found in levels.iterrows():
        own = table[[bool(at(path, level)) for path in table["true"]]]
        true = pd.Series([at(path, level) for path in own["true"]]).value_counts(normalize=True)
        said = pd.Series([likeliest(row, level) for row in own.to_dict("records")])
        chance = float((true * said.value_counts(normalize=True)).sum())
        assert found["accuracy"] == pytest.approx(chance, abs=0.03)


def test_repeats_are_averaged():
    whole = made_up({"one": 1.5}, repeats=2)
    parts = [
        level_tables(whole[whole["repeat"] == repeat], SETTINGS)["levels"] for repeat in (0, 1)
    ]
    both = level_tables(whole, SETTINGS)["levels"]
    assert (parts[0]["accuracy"] != parts[1]["accuracy"]).any()
    for name in ("records", "accuracy", "answered", "answered_accuracy"):
        np.testing.assert_allclose(both[name], (parts[0][name] + parts[1][name]) / 2)


def test_nothing_answered_has_no_accuracy():
    table = made_up({"one": 1.5}).assign(node="")
    found = level_tables(table, SETTINGS)
    assert (found["levels"]["answered"] == 0).all()
    assert found["levels"]["answered_accuracy"].isna().all()
    node = found["hierarchy"].set_index("given").loc["node"]
    assert np.isnan(node["precision"])
    assert (node["recall"], node["f1"]) == (0, 0)
