import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sklearn_metrics

from evaluation.made_up import made_up_predictions
from kreinflow.base.errors import InputError
from kreinflow.evaluation import metrics as m
from kreinflow.evaluation.measured_rows import OneLabel, SeveralLabels
from kreinflow.evaluation.tables import TABLE_COLUMNS

CLASSES = ["a", "b", "c", "d"]

fold_metrics, summary, per_class, confusion, reject_curve, calibration_bins, calibration_errors = (
    partial(measure, kind=OneLabel)
    for measure in (
        *(m.fold_metrics, m.summary, m.per_class, m.confusion, m.reject_curve),
        *(m.calibration_bins, m.calibration_errors),
    )
)


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
    table = fold_metrics(predictions)
    assert tuple(table.columns) == TABLE_COLUMNS["metrics"]
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
    (found,) = calibration_errors(table).to_dict("records")
    assert found["calibration_error"] == pytest.approx((2 * 0.15 + 1 * 0.1) / 3)
    # Of two at 0.65 none, one or both are right: gaps 0.65, 0.15, 0.35; of one at 0.9: 0.9, 0.1.
    perfect = 0.65 * 0.35**2 + 0.15 * 2 * 0.65 * 0.35 + 0.35 * 0.65**2, 0.9 * 0.1 + 0.1 * 0.9
    expected = (2 * perfect[0] + perfect[1]) / 3
    assert found["calibration_error_perfect"] == pytest.approx(expected)
    bins = calibration_bins(table)
    assert tuple(bins.columns) == m.CALIBRATION_COLUMNS
    assert bins["bin"].tolist() == [10, 14]
    assert bins["count"].tolist() == [2, 1]
    np.testing.assert_allclose(bins["accuracy"], [0.5, 1.0])
    np.testing.assert_allclose(bins["perfect_low"], [0.0, 0.0])  # 0.35^2 and 0.1 are above 2.5 %
    np.testing.assert_allclose(bins["perfect_high"], [1.0, 1.0])


def test_certain_and_border_confidences_have_bins():
    table = by_hand(["a", "a"], [[1.0, 0.0], [0.8, 0.2]], ["a", "b"])
    assert calibration_bins(table)["bin"].tolist() == [12, 15]
    row = calibration_errors(table).iloc[0]
    assert row["calibration_error_perfect"] == pytest.approx(0.2 * 0.8)  # half of 2 p (1 - p)


def forecasts(seed, n=900, folds=5, temperature=1.0, repeats=1):
    """Labels drawn from known probabilities; those that are told are these at a temperature."""
    rng = np.random.default_rng(seed)
    decisions = 2.5 * rng.normal(size=(n, 3))
    told, p = (np.exp(decisions / t) for t in (temperature, 1.0))
    told, p = (q / q.sum(axis=1, keepdims=True) for q in (told, p))
    true = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=2)
    table = by_hand(np.array(list("abc"))[true], told, ["a", "b", "c"])
    copies = [table.assign(repeat=r, fold=rng.permutation(n) % folds) for r in range(repeats)]
    return pd.concat(copies, ignore_index=True)


@pytest.mark.parametrize("n", [60, 900])
def test_perfect_probabilities_have_the_calibration_error_of_perfect_ones(n):
    runs = [calibration_errors(forecasts(seed, n)) for seed in range(150)]
    found, perfect = (
        np.array([run[f"calibration_error{of}"].item() for run in runs]) for of in ("", "_perfect")
    )
    assert found.mean() > 0.02
    error = found.std(ddof=1) / np.sqrt(len(runs))
    assert abs((found - perfect).mean()) < 3 * error + 0.01 * perfect.mean()
    assert 0.3 < np.mean(found > perfect) < 0.7
    assert (np.abs(perfect / perfect.mean() - 1) < 0.3).all()


@pytest.mark.parametrize("temperature", [0.6, 1.8])
def test_false_probabilities_have_a_larger_one(temperature):
    for seed in range(20):
        found = calibration_errors(forecasts(seed, temperature=temperature)).iloc[0]
        assert found["calibration_error"] > 1.5 * found["calibration_error_perfect"]


def test_the_number_of_folds_does_not_change_the_calibration_error():
    few, many = (calibration_errors(forecasts(0, folds=folds)) for folds in (1, 30))
    pd.testing.assert_frame_equal(few, many)


def test_repeats_do_not_sharpen_what_they_measure_again():
    once, again = forecasts(0), forecasts(0, repeats=4)
    pd.testing.assert_frame_equal(*map(calibration_errors, (once, again)))
    columns = ["accuracy", "perfect_low", "perfect_high"]
    pd.testing.assert_frame_equal(*(calibration_bins(t)[columns] for t in (once, again)))


def test_perfect_probabilities_are_in_their_range_and_false_ones_outside():
    def inside(**how):
        bins = pd.concat([calibration_bins(forecasts(seed, **how)) for seed in range(60)])
        bins = bins[bins["count"] >= 20]
        assert len(bins) > 400
        return bins["accuracy"].between(bins["perfect_low"], bins["perfect_high"]).mean()

    assert 0.94 < inside() < 0.985  # of discrete numbers it is more than 95 %
    assert inside(temperature=0.6) < 0.6


def test_absent_classes_do_not_count_and_do_not_warn():
    table = by_hand(
        ["a", "a", "b"], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]], ["a", "b", "c"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = fold_metrics(table).iloc[0]
    assert row["balanced_accuracy"] == pytest.approx((0.5 + 1.0) / 2)  # c is absent
    assert row["macro_f1"] == pytest.approx((2 / 3 + 1.0 + 0.0) / 3)  # but it was predicted
    assert row["log_loss"] == pytest.approx(-np.log([0.8, 0.1, 0.7]).mean())


def test_a_fold_of_one_class_and_a_zero_probability():
    table = by_hand(["a", "a"], [[1.0, 0.0], [1.0, 0.0]], ["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        row = fold_metrics(table).iloc[0]
    assert (row["accuracy"], row["mcc"]) == (1.0, 0.0)
    wrong = by_hand(["b"], [[1.0, 0.0]], ["a", "b"])
    assert np.isfinite(fold_metrics(wrong)["log_loss"][0])


def test_summary_is_mean_and_sample_deviation():
    table = fold_metrics(made_up())
    result = summary(table, made_up())
    assert tuple(result.columns) == TABLE_COLUMNS["summary"]
    values = table[table["recipe"] == "two"]["mcc"].to_numpy()
    row = result[result["recipe"] == "two"].iloc[0]
    assert row["mcc_mean"] == pytest.approx(values.mean())
    assert row["mcc_sd"] == pytest.approx(np.sqrt(((values - values.mean()) ** 2).sum() / 5))
    assert (row["folds"], row["records"]) == (6, 120)
    columns = ["recipe", "calibration_error", "calibration_error_perfect"]
    pd.testing.assert_frame_equal(result[columns], calibration_errors(made_up()))


def test_per_class_pools_folds_and_averages_repeats():
    predictions = made_up()
    table = per_class(predictions)
    assert tuple(table.columns) == TABLE_COLUMNS["per_class"]
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
    table = confusion(predictions)
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
    curve = reject_curve(table)
    assert tuple(curve.columns) == m.REJECT_CURVE_COLUMNS
    assert curve["coverage"].tolist() == [0.25, 0.75, 1.0]
    np.testing.assert_allclose(curve["threshold"], [0.9, 0.8, 0.6])
    np.testing.assert_allclose(curve["accuracy"], [1.0, 2 / 3, 0.5])
    np.testing.assert_allclose(curve["error"], [0.0, 1 / 3, 0.5])


def test_reject_curve_of_many_is_short_and_that_of_a_dense_count():
    predictions = made_up(n=2000, repeats=1, folds=2)
    predictions = predictions[predictions["recipe"] == "one"]
    curve = reject_curve(predictions)
    assert len(curve) <= m.REJECT_POINTS
    top = predictions[["p_" + c for c in CLASSES]].max(axis=1)
    right = predictions["true"] == predictions["predicted"]
    for row in curve.iloc[[40, -1]].itertuples():
        kept = top >= row.threshold
        assert row.coverage == pytest.approx(kept.mean())
        assert row.accuracy == pytest.approx(right[kept].mean())
    assert curve["coverage"].iloc[-1] == 1


@pytest.mark.parametrize(
    ("kind", "label"), [(OneLabel, "z"), (SeveralLabels, "a;z"), (SeveralLabels, "a;")]
)
def test_labels_without_probabilities_are_named(kind, label):
    with pytest.raises(InputError, match="label '(z|)' in column 'true' has no probabilities"):
        m.fold_metrics(made_up().assign(true=label), kind)
