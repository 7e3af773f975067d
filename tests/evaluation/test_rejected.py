"""How many records of each class are rejected, by a loop and by hand."""

import numpy as np
import pandas as pd
import pytest

from evaluation.made_up import made_up_predictions, made_up_several, several_by_hand
from kreinflow.answering.answers import REASONS
from kreinflow.evaluation.metrics import PREDICTION_COLUMNS, PREDICTION_TEXT
from kreinflow.evaluation.rejected import REJECTED_COLUMNS, rejected_by_class
from kreinflow.files.tables import read_table, write_table


def made_up(several=False):
    """Predictions of two recipes over two repeats, rejected at random for each reason."""
    make = made_up_several if several else made_up_predictions
    table = make(["a", "b", "NA"], {"two": 1.0, "one": 3.0}, n=60, folds=3, repeats=2)
    rng = np.random.default_rng(0)
    return table.assign(reason=rng.choice(REASONS, len(table), p=[0.6, 0.2, 0.1, 0.1]))


@pytest.mark.parametrize("several", [False, True])
def test_it_is_what_a_loop_finds(several):
    predictions = made_up(several)
    table = rejected_by_class(predictions, several)
    assert tuple(table) == REJECTED_COLUMNS
    keys = [("two", "NA"), ("two", "a"), ("two", "b"), ("one", "NA"), ("one", "a"), ("one", "b")]
    assert list(table[["recipe", "class"]].itertuples(index=False, name=None)) == keys
    for row in table.to_dict("records"):
        own = [
            line["reason"] != ""
            for line in predictions.to_dict("records")
            if line["recipe"] == row["recipe"] and row["class"] in line["true"].split(";")
        ]
        assert row["records"] == len(own)
        assert row["rejected"] == pytest.approx(sum(own) / len(own))
    both = table.groupby("recipe")["records"].sum()
    assert ((both > 120) if several else (both == 120)).all()


def test_by_hand():
    """Of a one of three is rejected; of b both, whatever is predicted."""
    lines = [("a", "a", ""), ("a", "b", ""), ("a", "a", "unsure")]
    lines += [("b", "b", "unknown"), ("b", "a", "no relative")]
    table = pd.DataFrame(lines, columns=["true", "predicted", "reason"])
    found = rejected_by_class(table.assign(recipe="r", repeat=0, fold=0, id=list("pqrst")))
    assert found.to_numpy().tolist() == [["r", "a", 3, pytest.approx(1 / 3)], ["r", "b", 2, 1.0]]


def test_a_record_counts_for_each_of_its_labels():
    true, given = [[1, 1], [1, 0], [0, 1]], [[0, 0], [1, 1], [0, 1]]
    table = several_by_hand(true, given, np.full((3, 2), 0.5), ["a", "b"])
    found = rejected_by_class(table.assign(reason=["unsure", "", ""]), several=True)
    assert found.to_numpy().tolist() == [["r", "a", 2, 0.5], ["r", "b", 2, 0.5]]


def test_a_label_of_one_may_hold_a_semicolon():
    table = pd.DataFrame({"recipe": "r", "true": ["a;b"], "reason": ["unsure"]})
    assert rejected_by_class(table)["class"].tolist() == ["a;b"]


def test_a_table_of_a_file_says_the_same(tmp_path):
    predictions = made_up()
    write_table(tmp_path / "p.tsv.gz", predictions)
    again = read_table(tmp_path / "p.tsv.gz", PREDICTION_COLUMNS, PREDICTION_TEXT)
    pd.testing.assert_frame_equal(rejected_by_class(again), rejected_by_class(predictions))


def test_without_reasons_there_are_no_rows():
    table = rejected_by_class(made_up().drop(columns="reason"))
    assert table.empty
    assert tuple(table) == REJECTED_COLUMNS
