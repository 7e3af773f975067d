"""Coverage and accepted errors of the outer folds, against naive counts."""

import numpy as np
import pytest

from evaluation.made_up import made_up_predictions
from kreinflow.answering.label_sets import SET_COLUMNS, Calibration
from kreinflow.evaluation.accepted import COVERAGE_COLUMNS, ERRORS, ERRORS_COLUMNS, coverage, errors

CLASSES = ["a", "b", "c", "NA"]


def made_up(n=150, repeats=2, folds=3):
    recipes = {"two": 1.0, "one": 3.0}
    return made_up_predictions(CLASSES, recipes, n=n, folds=folds, repeats=repeats)


def probabilities(table):
    return table[[f"p_{label}" for label in CLASSES]].to_numpy()


def test_coverage_is_that_of_a_naive_count():
    predictions = made_up()
    table = coverage(predictions)
    assert tuple(table.columns) == COVERAGE_COLUMNS
    assert table["recipe"].drop_duplicates().tolist() == ["two", "one"]
    assert len(table) == 2 * 3 * 5
    for row in table.itertuples():
        own = predictions[predictions["recipe"] == row.recipe]
        held, sizes = [], []
        for _, part in own.groupby("repeat"):
            y = np.array([CLASSES.index(label) for label in part["true"]])
            p = probabilities(part)
            sets = Calibration.of(p, y).sets(p, row.confidence)
            for label, inside in zip(y, sets, strict=True):
                if row[3] in ("", CLASSES[label]):
                    held.append(inside[label])
                    sizes.append(inside.sum())
        assert row.records == len(held)
        assert row.coverage == pytest.approx(np.mean(held))
        assert row.size == pytest.approx(np.mean(sizes))
        assert row.empty == pytest.approx(sizes.count(0) / len(sizes))
        assert row.single == pytest.approx(sizes.count(1) / len(sizes))


def test_errors_are_those_of_a_naive_benjamini_and_hochberg():
    predictions = made_up()
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
    few = made_up(n=40)  # records: too few for 99 %
    assert set(coverage(few)["confidence"]) == {0.9, 0.95}
    for predictions in (few.drop(columns=list(SET_COLUMNS)), few[:0]):
        assert coverage(predictions).empty
        assert errors(predictions).empty
        assert tuple(coverage(predictions).columns) == COVERAGE_COLUMNS
