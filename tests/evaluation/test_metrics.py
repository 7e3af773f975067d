import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sklearn_metrics

from evaluation.made_up import made_up_predictions
from kreinflow.errors import InputError
from kreinflow.evaluation import metrics as m

CLASSES = ["a", "b", "c", "d"]


def made_up(n=60, repeats=2, folds=3):
    recipes = {"one": 0.8, "two": 0.4}
    return made_up_predictions(CLASSES, recipes, n=n, folds=folds, repeats=repeats)


def by_hand(true, probabilities, classes):
    """Predictions of one recipe and one fold."""
    probabilities = np.array(probabilities, dtype=float)
    table = pd.DataFrame({"recipe": "r", "repeat": 0, "fold": 0, "id": range(len(true))})
    table["true"] = true
    table["predicted"] = np.array(classes)[probabilities.argmax(axis=1)]
    for k, name in enumerate(classes):
        table["p_" + name] = probabilities[:, k]
    return table


def test_fold_metrics_agree_with_scikit_learn():
    predictions = made_up()
    table = m.fold_metrics(predictions)
    assert tuple(table.columns) == m.FOLD_METRICS_COLUMNS
    assert len(table) == 2 * 2 * 3
    assert list(dict.fromkeys(table["recipe"])) == ["one", "two"]
    for row in table.itertuples():
        part = predictions[
            (predictions["recipe"] == row.recipe)
            & (predictions["repeat"] == row.repeat)
            & (predictions["fold"] == row.fold)
        ]
        p = part[["p_" + c for c in CLASSES]].to_numpy()
        true, predicted = part["true"], part["predicted"]
        assert row.records == len(part)
        assert row.accuracy == pytest.approx(sklearn_metrics.accuracy_score(true, predicted))
        assert row.balanced_accuracy == pytest.approx(
            sklearn_metrics.balanced_accuracy_score(true, predicted)
        )
        assert row.macro_f1 == pytest.approx(
            sklearn_metrics.f1_score(true, predicted, average="macro")
        )
        assert row.mcc == pytest.approx(sklearn_metrics.matthews_corrcoef(true, predicted))
        assert row.log_loss == pytest.approx(-np.log(p[np.arange(len(p)), codes(true)]).mean())
        assert row.brier == pytest.approx(
            sklearn_metrics.brier_score_loss(true, p, labels=CLASSES, scale_by_half=False)
        )


def codes(labels):
    return np.array([CLASSES.index(label) for label in labels])


def test_calibration_error_by_hand():
    # Bin (0.6, 0.667]: one of two right at 0.65, gap 0.15; bin (0.867, 0.933]: 0.9, right, gap 0.1.
    table = by_hand(["a", "b", "a"], [[0.65, 0.35], [0.65, 0.35], [0.9, 0.1]], ["a", "b"])
    assert m.fold_metrics(table)["calibration_error"][0] == pytest.approx((2 * 0.15 + 1 * 0.1) / 3)
    bins = m.calibration_bins(table)
    assert tuple(bins.columns) == m.CALIBRATION_COLUMNS
    assert bins["bin"].tolist() == [10, 14]
    assert bins["count"].tolist() == [2, 1]
    np.testing.assert_allclose(bins["accuracy"], [0.5, 1.0])


def test_certain_and_border_confidences_have_bins():
    table = by_hand(["a", "a"], [[1.0, 0.0], [0.8, 0.2]], ["a", "b"])
    assert m.calibration_bins(table)["bin"].tolist() == [12, 15]


def test_absent_classes_do_not_count_and_do_not_warn():
    table = by_hand(
        ["a", "a", "b"], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]], ["a", "b", "c"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = m.fold_metrics(table).iloc[0]
    assert row["balanced_accuracy"] == pytest.approx((0.5 + 1.0) / 2)  # c is absent
    assert row["macro_f1"] == pytest.approx((2 / 3 + 1.0 + 0.0) / 3)  # but it was predicted
    assert row["log_loss"] == pytest.approx(-np.log([0.8, 0.1, 0.7]).mean())


def test_a_fold_of_one_class_and_a_zero_probability():
    table = by_hand(["a", "a"], [[1.0, 0.0], [1.0, 0.0]], ["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = m.fold_metrics(table).iloc[0]
    assert (row["accuracy"], row["mcc"]) == (1.0, 0.0)
    wrong = by_hand(["b"], [[1.0, 0.0]], ["a", "b"])
    assert np.isfinite(m.fold_metrics(wrong)["log_loss"][0])


def test_summary_is_mean_and_sample_deviation():
    table = m.fold_metrics(made_up())
    result = m.summary(table)
    assert tuple(result.columns) == m.SUMMARY_COLUMNS
    values = table[table["recipe"] == "two"]["mcc"].to_numpy()
    row = result[result["recipe"] == "two"].iloc[0]
    assert row["mcc_mean"] == pytest.approx(values.mean())
    assert row["mcc_sd"] == pytest.approx(np.sqrt(((values - values.mean()) ** 2).sum() / 5))
    assert (row["folds"], row["records"]) == (6, 120)


def test_summary_of_one_fold_has_no_deviation():
    one = m.fold_metrics(by_hand(["a", "b"], [[0.9, 0.1], [0.2, 0.8]], ["a", "b"]))
    assert np.isnan(m.summary(one)["accuracy_sd"][0])


def test_per_class_pools_folds_and_averages_repeats():
    predictions = made_up()
    table = m.per_class(predictions)
    assert tuple(table.columns) == m.PER_CLASS_COLUMNS
    expected = np.mean(
        [
            sklearn_metrics.precision_recall_fscore_support(
                part["true"], part["predicted"], labels=CLASSES
            )
            for _, part in predictions[predictions["recipe"] == "one"].groupby("repeat")
        ],
        axis=0,
    )
    found = table[table["recipe"] == "one"][["precision", "recall", "f1", "support"]]
    np.testing.assert_allclose(found.to_numpy().T, expected)


def test_confusion_adds_folds_and_averages_repeats():
    predictions = made_up()
    table = m.confusion(predictions)
    assert tuple(table.columns) == m.CONFUSION_COLUMNS
    one = table[table["recipe"] == "one"]
    matrix = np.zeros((4, 4))
    matrix[codes(one["true"]), codes(one["predicted"])] = one["count"]
    rows = predictions[predictions["recipe"] == "one"]
    expected = sklearn_metrics.confusion_matrix(rows["true"], rows["predicted"], labels=CLASSES)
    np.testing.assert_allclose(matrix, expected / 2)
    assert (table["count"] > 0).all()


def test_reject_curve_by_hand():
    # Sorted: .9 right; .8 right and .8 wrong stay together; .6 wrong.
    table = by_hand(
        ["a", "a", "b", "b"], [[0.8, 0.2], [0.9, 0.1], [0.8, 0.2], [0.6, 0.4]], ["a", "b"]
    )
    curve = m.reject_curve(table)
    assert tuple(curve.columns) == m.REJECT_CURVE_COLUMNS
    assert curve["coverage"].tolist() == [0.25, 0.75, 1.0]
    np.testing.assert_allclose(curve["threshold"], [0.9, 0.8, 0.6])
    np.testing.assert_allclose(curve["accuracy"], [1.0, 2 / 3, 0.5])
    np.testing.assert_allclose(curve["error"], [0.0, 1 / 3, 0.5])


def test_reject_curve_is_short_and_ends_with_the_accuracy_of_all():
    predictions = made_up(n=2000, repeats=1, folds=2)
    predictions = predictions[predictions["recipe"] == "one"]
    curve = m.reject_curve(predictions)
    assert len(curve) <= m.REJECT_POINTS
    assert curve["coverage"].is_monotonic_increasing
    right = (predictions["true"] == predictions["predicted"]).mean()
    assert curve["accuracy"].iloc[-1] == pytest.approx(right)
    threshold = curve["threshold"].iloc[40]
    top = predictions[["p_" + c for c in CLASSES]].max(axis=1)
    kept = predictions[top >= threshold]
    assert curve["coverage"].iloc[40] == pytest.approx(len(kept) / len(predictions))
    assert curve["accuracy"].iloc[40] == pytest.approx((kept["true"] == kept["predicted"]).mean())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="fold"), "column 'fold' is missing"),
        (lambda t: t.iloc[:0], "no rows"),
        (lambda t: t.assign(true="z"), "label 'z' in column 'true'"),
        (lambda t: t.assign(p_a=0.9), "'s0' by 'one' sum to"),
        (lambda t: t.assign(p_a=np.nan), "'s0' by 'one' sum to nan"),
    ],
)
def test_bad_tables_are_named(change, message):
    with pytest.raises(InputError, match=message):
        m.fold_metrics(change(made_up()))


def test_labels_that_look_like_columns_or_numbers():
    table = by_hand(["p_1", "2"], [[0.9, 0.1], [0.2, 0.8]], ["p_1", "2"])
    assert m.class_names(table) == ("p_1", "2")
    assert m.fold_metrics(table)["accuracy"][0] == 1.0
