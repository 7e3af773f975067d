import numpy as np
import pandas as pd
import pytest
from scipy import stats

from kreinflow.errors import InputError
from kreinflow.evaluation.comparison import (
    COMPARISON_COLUMNS,
    compare_recipes,
    corrected_t_test,
    holm,
)
from kreinflow.evaluation.metrics import INNER_CHOICE


def folds(accuracies, records=10, losses=None):
    rows = [
        (recipe, 0, fold, records, accuracy, (losses or {}).get(recipe, 0.1))
        for recipe, values in accuracies.items()
        for fold, accuracy in enumerate(values)
    ]
    return pd.DataFrame(
        rows, columns=["recipe", "repeat", "fold", "records", "accuracy", "log_loss"]
    )


def test_corrected_t_test_by_hand():
    # mean 2, variance 1, factor 1/3 + 10/20: t = 2 / sqrt(5/6); the t distribution of two
    # degrees of freedom has the closed tail 1 - t / sqrt(2 + t^2).
    t, p = corrected_t_test(np.array([1.0, 2.0, 3.0]), np.full(3, 20.0), np.full(3, 10.0))
    assert t == pytest.approx(2 / np.sqrt(5 / 6))
    assert p == pytest.approx(1 - t / np.sqrt(2 + t * t))


def test_without_test_records_it_is_the_paired_t_test_of_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.random(10), rng.random(10)
    expected = stats.ttest_rel(a, b)
    t, p = corrected_t_test(a - b, np.full(10, 90.0), np.zeros(10))
    assert (t, p) == pytest.approx((expected.statistic, expected.pvalue))
    corrected = corrected_t_test(a - b, np.full(10, 90.0), np.full(10, 10.0))
    assert corrected[0] == pytest.approx(t * np.sqrt(0.1 / (0.1 + 1 / 9)))
    assert corrected[1] > p


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
        folds(
            {
                "poor": [0.50, 0.52, 0.48, 0.51, 0.49],
                "best": [0.90, 0.91, 0.92, 0.90, 0.91],
                "close": [0.91, 0.89, 0.92, 0.90, 0.91],
                INNER_CHOICE: [0.90, 0.91, 0.92, 0.90, 0.92],
            }
        ),
        n_records=50,
    )
    assert tuple(table.columns) == COMPARISON_COLUMNS
    assert table["recipe"].tolist() == [INNER_CHOICE, "best", "close", "poor"]
    assert table["best"].tolist() == [False, True, False, False]
    assert table["indistinguishable"].tolist() == [False, False, True, False]
    rows = table.set_index("recipe")
    assert rows.loc["poor", "difference"] == pytest.approx(0.5 - 0.908)
    assert np.isnan(rows.loc[[INNER_CHOICE, "best"], "p"]).all()
    # Two tests: the smaller p doubles.
    assert rows.loc["poor", "p_holm"] == pytest.approx(2 * rows.loc["poor", "p"])
    assert rows.loc["poor", "accuracy_sd"] == pytest.approx(np.sqrt(0.001 / 4))


def test_equal_accuracies_go_by_log_loss_then_by_order():
    same = {"x": [0.8, 0.9], "y": [0.9, 0.8], "z": [0.8, 0.9]}
    assert compare_recipes(folds(same), 30)["recipe"].tolist() == ["x", "y", "z"]
    table = compare_recipes(folds(same, losses={"z": 0.05}), 30)
    assert table["recipe"].tolist() == ["z", "x", "y"]
    assert table["p_holm"].iloc[1] == 1.0


def test_one_fold_allows_no_test():
    table = compare_recipes(folds({"a": [0.7], "b": [0.8]}), 30)
    assert table["best"].tolist() == [True, False]
    assert table["p_holm"].isna().all()
    assert not table["indistinguishable"].any()


def test_one_recipe_alone():
    table = compare_recipes(folds({"a": [0.7, 0.8]}), 30)
    assert table["best"].tolist() == [True]


def test_repeats_are_folds_of_their_own():
    first = folds({"a": [0.7, 0.8], "b": [0.75, 0.9]})
    both = pd.concat([first, first.assign(repeat=1, accuracy=first["accuracy"] + 0.01)])
    table = compare_recipes(both, 20)
    d = np.array([-0.05, -0.1, -0.05, -0.1])
    expected = corrected_t_test(d, np.full(4, 10.0), np.full(4, 10.0))[1]
    assert table["p"].iloc[1] == pytest.approx(expected)


def test_unequal_folds_are_refused():
    table = folds({"a": [0.7, 0.8], "b": [0.8, 0.9]}).iloc[:-1]
    with pytest.raises(InputError, match="'b' was not measured on all folds"):
        compare_recipes(table, 30)


def test_too_few_records_are_refused():
    with pytest.raises(InputError, match="tests 10 of 10 records"):
        compare_recipes(folds({"a": [0.7, 0.8]}), 10)
