import numpy as np
import pandas as pd
import pytest

from kreinflow.base.errors import InputError
from kreinflow.evaluation.comparison import (
    COMPARISON_COLUMNS,
    compare_recipes,
    corrected_t_test,
    holm,
)
from kreinflow.evaluation.metrics import INNER_CHOICE


def folds(accuracies, records=10, losses=None, repeats=1):
    """Predictions of a class against "other", their metrics, and a group for each record.

    Of each fold a share of the first records is right, so that a worse recipe is right where a
    better one is.
    """
    parts, rows = [], []
    for recipe, values in accuracies.items():
        for number, accuracy in enumerate(values):
            repeat, fold = divmod(number, len(values) // repeats)
            size = records if isinstance(records, int) else records[fold]
            right = np.arange(size) < round(accuracy * size)
            parts.append(
                pd.DataFrame(
                    {
                        "recipe": recipe,
                        "repeat": repeat,
                        "fold": fold,
                        "id": [f"r{fold}.{i}" for i in range(size)],
                        "true": "a",
                        "predicted": np.where(right, "a", "b"),
                    }
                )
            )
            loss = (losses or {}).get(recipe, 0.1)
            rows.append((recipe, repeat, fold, size, right.mean(), loss))
    columns = ["recipe", "repeat", "fold", "records", "accuracy", "log_loss"]
    predictions = pd.concat(parts, ignore_index=True)
    ids = predictions["id"].unique()
    groups = pd.Series(np.arange(len(ids)), index=ids)
    return predictions, pd.DataFrame(rows, columns=columns), groups


def test_corrected_t_test_by_hand():
    # mean 2, variance 1, factor 1/3 + 10/20: t = 2 / sqrt(5/6); the t distribution of two
    # degrees of freedom has the closed tail 1 - t / sqrt(2 + t^2).
    t, p = corrected_t_test(np.array([1.0, 2.0, 3.0]), np.full(3, 20.0), np.full(3, 10.0))
    assert t == pytest.approx(2 / np.sqrt(5 / 6))
    assert p == pytest.approx(1 - t / np.sqrt(2 + t * t))


def test_t_test_where_nothing_varies():
    many = np.full(4, 30.0)
    assert corrected_t_test(np.zeros(4), many, many) == (0.0, 1.0)
    shifted = np.full(4, 0.3) - np.full(4, 0.1)
    assert corrected_t_test(shifted, many, many) == (np.inf, 0.0)
    assert np.isnan(corrected_t_test(np.ones(1), many[:1], many[:1])).all()


def test_holm_by_hand():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.5])), [0.04, 0.09, 0.09, 0.5])
    np.testing.assert_allclose(holm(np.array([0.6, 0.7])), [1.0, 1.0])
    assert holm(np.empty(0)).shape == (0,)


def test_comparison_names_the_best_and_what_cannot_be_told_apart():
    table = compare_recipes(
        *folds(
            {
                "poor": [0.50, 0.52, 0.48, 0.51, 0.49],
                "best": [0.90, 0.91, 0.92, 0.90, 0.91],
                "close": [0.91, 0.89, 0.92, 0.90, 0.91],
                INNER_CHOICE: [0.90, 0.91, 0.92, 0.90, 0.92],
            },
            records=100,
        )
    )
    assert tuple(table.columns) == COMPARISON_COLUMNS
    assert table["recipe"].tolist() == [INNER_CHOICE, "best", "close", "poor"]
    assert table["best"].tolist() == [False, True, False, False]
    assert table["indistinguishable"].tolist() == [False, False, True, False]
    assert (table["folds"] == 5).all()
    rows = table.set_index("recipe")
    tested = ["p_folds", "p_folds_holm", "difference_records", "low", "high", "p_records"]
    assert rows.loc[[INNER_CHOICE, "best"], [*tested, "p_records_holm"]].isna().all(axis=None)
    assert rows.loc["poor", "difference"] == pytest.approx(0.5 - 0.908)
    assert rows.loc["poor", "difference_records"] == pytest.approx(0.5 - 0.908)
    assert rows.loc["poor", "low"] < 0.5 - 0.908 < rows.loc["poor", "high"] < -0.3
    assert rows.loc["poor", "accuracy_sd"] == pytest.approx(np.sqrt(0.001 / 4))
    # 204 records are right with the best alone; 1 with "close" alone and 2 without it.
    assert rows.loc["poor", "p_records"] == pytest.approx(2.0**-203)
    assert rows.loc["close", "p_records"] == 1.0
    # Two tests of each kind: the smaller p doubles.
    for p in ("p_folds", "p_records"):
        assert rows.loc["poor", f"{p}_holm"] == pytest.approx(2 * rows.loc["poor", p])


def test_records_of_one_group_are_not_independent():
    """The same predictions, whose records are copies of few: nothing can be told."""
    predictions, metrics, groups = folds({"a": [0.6] * 5, "b": [0.7] * 5}, records=20)
    single = compare_recipes(predictions, metrics, groups).iloc[1]
    assert single["p_records"] == pytest.approx(2.0**-9)
    # The records that differ, two of a fold, are in one group.
    grouped = compare_recipes(predictions, metrics, groups // 4).iloc[1]
    assert grouped["p_records"] == pytest.approx(2.0**-4)
    assert grouped["indistinguishable"]
    assert grouped["low"] < single["low"] < single["high"] < grouped["high"]


def test_a_recipe_that_was_not_measured_on_all_folds_is_listed_but_not_tested():
    """What is dropped after the first fold was better there, and is never the best."""
    parts = folds({"a": [0.6, 0.8], "b": [0.7, 0.9], "dropped": [1.0], "lost": [0.9]})
    table = compare_recipes(*parts)
    assert table["recipe"].tolist() == ["b", "a", "dropped", "lost"]
    assert table["folds"].tolist() == [2, 2, 1, 1]
    assert table["best"].tolist() == [True, False, False, False]
    assert not table["indistinguishable"].iloc[2:].any()
    assert table["difference"].iloc[2:].tolist() == pytest.approx([0.3, 0.2])  # on its fold
    assert table["accuracy_mean"].iloc[2:].tolist() == [1.0, 0.9]
    tested = ["p_folds", "p_folds_holm", "difference_records", "low", "high", "p_records"]
    assert table[[*tested, "p_records_holm"]].iloc[2:].isna().all(axis=None)
    # The others are compared as if it were not there.
    alone = compare_recipes(*folds({"a": [0.6, 0.8], "b": [0.7, 0.9]}))
    pd.testing.assert_frame_equal(table[:2], alone)


def test_equal_accuracies_go_by_log_loss_then_by_order():
    same = {"x": [0.8, 0.9], "y": [0.9, 0.8], "z": [0.8, 0.9]}
    assert compare_recipes(*folds(same))["recipe"].tolist() == ["x", "y", "z"]
    table = compare_recipes(*folds(same, losses={"z": 0.05}))
    assert table["recipe"].tolist() == ["z", "x", "y"]
    assert table["p_folds_holm"].iloc[1] == 1.0
    assert table["p_records_holm"].iloc[1] == 1.0


def test_one_fold_allows_no_test_over_folds_but_one_of_records():
    table = compare_recipes(*folds({"a": [0.7], "b": [0.8]}, records=100))
    assert table["best"].tolist() == [True, False]
    assert table[["p_folds", "p_folds_holm"]].isna().all(axis=None)
    assert table["p_records"].iloc[1] == pytest.approx(2.0**-9)
    assert not table["indistinguishable"].any()


def test_repeats_are_folds_of_their_own_but_their_records_are_not():
    accuracies = {"a": [0.7, 0.8, 0.7, 0.8], "b": [0.8, 0.9, 0.8, 0.9]}
    parts = folds(accuracies, records=50, repeats=2)
    row = compare_recipes(*parts).iloc[1]
    # Each repeat has the same ten records that differ.
    assert row["p_records"] == pytest.approx(2.0**-9)
    varied = {"a": [0.7, 0.8, 0.71, 0.8], "b": [0.75, 0.9, 0.76, 0.9]}
    row = compare_recipes(*folds(varied, records=100, repeats=2)).iloc[1]
    d = np.array([-0.05, -0.1, -0.05, -0.1])
    expected = corrected_t_test(d, np.full(4, 100.0), np.full(4, 100.0))[1]
    assert row["p_folds"] == pytest.approx(expected)


def test_the_order_of_predictions_says_nothing():
    parts = folds({"a": [0.7, 0.8], "b": [0.8, 0.9], "c": [0.5, 0.9]})
    mixed = parts[0].sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(compare_recipes(mixed, *parts[1:]), compare_recipes(*parts))


def test_what_is_better_on_more_records_is_not_called_worse():
    """A large fold decides over records, and counts no more than another in the mean of folds."""
    row = compare_recipes(*folds({"a": [0.9, 0.2], "b": [0.5, 0.8]}, records=[1000, 10])).iloc[1]
    assert row["recipe"] == "a"
    assert row["difference"] == pytest.approx(-0.1)
    assert row["difference_records"] == pytest.approx(394 / 1010)
    assert row["p_records_holm"] < 1e-9
    assert row["indistinguishable"]


def test_other_records_are_refused():
    predictions, metrics, groups = folds({"a": [0.7, 0.8], "b": [0.8, 0.9]})
    predictions.loc[0, "id"] = predictions.loc[1, "id"]
    with pytest.raises(InputError, match="'b' and others have not predicted the same records"):
        compare_recipes(predictions, metrics, groups)
