"""What is accepted and rejected, and what of it is wrong, by a loop and by hand."""

import numpy as np
import pandas as pd
import pytest

from evaluation.made_up import made_up_predictions, made_up_several
from kreinflow.answering.label_sets import SET_COLUMNS, Calibration
from kreinflow.answering.query_and_answers import REASONS
from kreinflow.evaluation.accepted import (
    ACCEPTED_COLUMNS,
    AS,
    COVERAGE_COLUMNS,
    ERRORS,
    ERRORS_COLUMNS,
    REJECTED_COLUMNS,
    accepted_table,
    coverage,
    errors,
    rejected_by_class,
)


def made_up():
    """Predictions of two recipes, rejected at random for each reason; one fold of one wholly."""
    recipes = {"two": 1.0, "one": 3.0}
    table = made_up_predictions(["a", "b", "NA"], recipes, n=60, folds=3, repeats=2)
    rng = np.random.default_rng(0)
    table["reason"] = rng.choice(REASONS, len(table), p=[0.6, 0.2, 0.1, 0.1])
    table["alignments"] = rng.integers(20, 90, len(table))
    all_of_it = (table["recipe"] == "one") & (table["fold"] == 1) & (table["repeat"] == 0)
    table.loc[all_of_it & (table["reason"] == ""), "reason"] = "unsure"
    return table


def test_it_is_what_a_loop_finds():
    predictions = made_up()
    table = accepted_table(predictions)
    assert tuple(table) == ACCEPTED_COLUMNS
    assert table["recipe"].tolist() == ["two", "one"]
    for row in table.to_dict("records"):
        found = {name: [] for name in ("accepted", "wrong", *AS.values(), "alignments")}
        pooled = []
        own = predictions[predictions["recipe"] == row["recipe"]]
        for _, fold in own.groupby(["repeat", "fold"]):
            lines = fold.to_dict("records")
            kept = [line for line in lines if line["reason"] == ""]
            found["accepted"].append(len(kept) / len(lines))
            if kept:
                wrong = [line["true"] != line["predicted"] for line in kept]
                found["wrong"].append(sum(wrong) / len(kept))
                pooled += wrong
            found["alignments"].append(np.mean([line["alignments"] for line in lines]))
            for reason, name in AS.items():
                found[name].append(sum(line["reason"] == reason for line in lines) / len(lines))
        assert row["folds"] == 6
        assert len(found["wrong"]) == 6 - (row["recipe"] == "one"), "one fold accepts none"
        for name, values in found.items():
            assert row[f"{name}_mean"] == pytest.approx(np.mean(values))
            assert row[f"{name}_sd"] == pytest.approx(np.std(values, ddof=1))
        assert row["wrong_of_accepted"] == pytest.approx(np.mean(pooled))
        assert row["accepted_records"] == len(pooled) / 2
        rejected = sum(row[f"{name}_mean"] for name in AS.values())
        assert row["accepted_mean"] + rejected == pytest.approx(1)


@pytest.mark.parametrize("several", [False, True])
def test_rejected_of_a_class_is_what_a_loop_finds(several):
    make = made_up_several if several else made_up_predictions
    predictions = make(["a", "b", "NA"], {"two": 1.0, "one": 3.0}, n=60, folds=3, repeats=2)
    rng = np.random.default_rng(0)
    predictions["reason"] = rng.choice(REASONS, len(predictions), p=[0.6, 0.2, 0.1, 0.1])
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


def test_a_label_of_one_may_hold_a_semicolon():
    table = pd.DataFrame({"recipe": "r", "true": ["a;b"], "reason": ["unsure"]})
    assert rejected_by_class(table)["class"].tolist() == ["a;b"]


CLASSES = ["a", "b", "c", "NA"]


def with_sets(n=150):
    return made_up_predictions(CLASSES, {"two": 1.0, "one": 3.0}, n=n, folds=3, repeats=2)


def test_coverage_is_that_of_a_naive_count():
    predictions = with_sets()
    table = coverage(predictions)
    assert tuple(table.columns) == COVERAGE_COLUMNS
    assert table["recipe"].drop_duplicates().tolist() == ["two", "one"]
    assert len(table) == 2 * 3 * 5
    for row in table.itertuples():
        own = predictions[predictions["recipe"] == row.recipe]
        held, sizes = [], []
        for _, part in own.groupby("repeat"):
            y = np.array([CLASSES.index(label) for label in part["true"]])
            p = part[[f"p_{label}" for label in CLASSES]].to_numpy()
            sets = Calibration.of(p, y).sets(p, row.confidence)
            for label, inside in zip(y, sets, strict=True):
                if row[3] in ("", CLASSES[label]):
                    held.append(inside[label])
                    sizes.append(inside.sum())
        assert row.records == len(held)
        assert row.coverage == pytest.approx(np.mean(held))
        assert row.size == pytest.approx(np.mean(sizes))
        assert row.single == pytest.approx(sizes.count(1) / len(sizes))


def test_errors_are_those_of_a_naive_benjamini_and_hochberg():
    predictions = with_sets()
    table = errors(predictions)
    assert tuple(table.columns) == ERRORS_COLUMNS
    for row in table.itertuples():
        shares, wrongs = [], []
        own = predictions[predictions["recipe"] == row.recipe]
        for _, fold in own.groupby(["repeat", "fold"]):
            p = np.sort(fold["error_p"])
            most = [p[k - 1] for k in range(1, len(p) + 1) if p[k - 1] <= row.errors * k / len(p)]
            kept = fold[fold["error_p"] <= (max(most) if most else -1)]
            shares.append(len(kept) / len(fold))
            wrongs.append((kept["true"] != kept["predicted"]).mean() if len(kept) else 0.0)
        assert row.folds == 6
        assert row.accepted_mean == pytest.approx(np.mean(shares))
        assert row.accepted_sd == pytest.approx(np.std(shares, ddof=1))
        assert row.wrong_mean == pytest.approx(np.mean(wrongs))
        assert row.wrong_sd == pytest.approx(np.std(wrongs, ddof=1))
    assert table["errors"].tolist() == [*ERRORS] * 2
    assert table["accepted_mean"].max() > 0


def test_what_was_not_promised_has_no_row():
    few = with_sets(n=40)  # records: too few for 99 %
    assert set(coverage(few)["confidence"]) == {0.9, 0.95}
    none = few.drop(columns=list(SET_COLUMNS))  # nor reasons
    assert all(make(none).empty for make in (coverage, errors, accepted_table, rejected_by_class))
