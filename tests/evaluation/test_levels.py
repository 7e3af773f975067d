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


LEARNED = ("a", "a.x.1", "a.x.2", "b.z")  # a.y.3 and a.x.4 are learned at a, b.w at none
BY_HAND = [  # whole label, class, answer, likeliest class
    ("a.x.1", "a.x.1", "a.x.1", "a.x.1"),  # as it should be
    ("a.x.1", "a.x.1", "a.x", "a.x.2"),  # under
    ("a.x.1", "a.x.1", "", "b.z"),  # under
    ("a.x.2", "a.x.2", "a.x.1", "a.x.1"),  # wrong
    ("a.y.3", "a", "a", "a"),  # as it should be: no more is known
    ("a.y.3", "a", "a.x.1", "a.x.1"),  # over
    ("a.y.3", "a", "b.z", "b.z"),  # wrong
    ("a.x.4", "a", "a.x", "a.x.1"),  # as it should be: the tree has a.x
    ("a.x.4", "a", "a.x.2", "a.x.2"),  # over
    ("a.x", "a", "a.x.2", "a.x.2"),  # over: what is below its label nobody knows
    ("b.z", "b.z", "b.z", "b.z"),  # as it should be
]


def by_hand():
    path, true, node, likeliest = zip(*BY_HAND, strict=True)
    table = pd.DataFrame({"recipe": "one", "repeat": 0, "id": range(len(path)), "true": true})
    table = table.assign(predicted=likeliest, node=node, path=path)
    least = dict(zip(LEARNED, (0.10, 0.05, 0.12, 0.08), strict=True))
    shown = np.array(likeliest)
    p = {f"p_{name}": np.where(shown == name, 0.7, least[name]) for name in LEARNED}
    return table.assign(**p)


def test_whole_labels_are_measured_at_all_levels_and_where_they_could_be_answered():
    levels = level_tables(by_hand(), SETTINGS)["levels"].set_index("level")
    expected = {  # records, known; answered, right of these; ending, under, over, wrong
        1: (11, 11, 10, 9, 3, 0, 1, 1),
        2: (11, 8, 9, 7, 4, 0, 2, 0),
        3: (9, 4, 4, 1, 4, 2, 0, 1),
    }
    for level, (n, known, told, right, ending, *kinds) in expected.items():
        found = levels.loc[level]
        assert (found["records"], found["known"], found["ending"]) == (n, known, ending)
        assert found["answered"] == pytest.approx(told / n)
        assert found["answered_accuracy"] == pytest.approx(right / told)
        assert found["answered_recall"] == pytest.approx(right / n)
        precision, recall = right / told, right / n
        assert found["answered_f1"] == pytest.approx(2 * precision * recall / (precision + recall))
        np.testing.assert_allclose(found[["under", "over", "wrong"]].astype(float) * ending, kinds)
    # Of the known alone: at level 2 all with a.x or b.z but the third; at level 3 only the first.
    assert levels["accuracy"].tolist() == pytest.approx([9 / 11, 7 / 8, 1 / 4])


def test_of_the_nodes_those_that_are_known_have_figures():
    nodes = level_tables(by_hand(), SETTINGS)["nodes"].set_index("node")
    assert nodes["records"].to_dict() == {
        "a": 10,
        "a.x": 7,
        "a.x.1": 3,
        "a.x.2": 1,
        "b": 1,
        "b.z": 1,
    }
    # One of the four that are given a.x.1 at level 3 has it.
    assert nodes.loc["a.x.1", "precision"] == pytest.approx(1 / 4)
    assert nodes.loc["a.x", "answered_accuracy"] == 1


def test_hierarchical_recall_is_that_of_whole_labels():
    table = level_tables(by_hand(), SETTINGS)["hierarchy"].set_index("given").loc["node"]
    shared = 3 + 2 + 0 + 2 + 1 + 1 + 0 + 2 + 2 + 2 + 2
    said = 3 + 2 + 0 + 3 + 1 + 3 + 2 + 2 + 3 + 3 + 2
    assert table["precision"] == pytest.approx(shared / said)
    assert table["recall"] == pytest.approx(shared / (11 + 11 + 9))


def test_without_whole_labels_they_end_where_their_classes_do(predictions, tables):
    again = level_tables(predictions.assign(path=predictions["true"]), SETTINGS)
    for name, table in tables.items():
        pd.testing.assert_frame_equal(again[name], table)
    found = tables["levels"]
    assert (found["known"] == found["records"]).all()
    assert found["ending"].sum() == len(predictions)
