"""The tables of measures: by hand, by scikit-learn, and of probabilities that are known."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sklearn_metrics

from evaluation.made_up import several_by_hand
from evaluation.test_measured_rows import CLASSES, by_hand, made_up
from kreinflow.evaluation import metrics as m
from kreinflow.evaluation.measured_rows import OneLabel, SeveralLabels
from kreinflow.evaluation.tables import TABLE_COLUMNS


def forecasts(kind, seed, n=900, temperature=1.0, repeats=1, folds=5):
    """Labels drawn from known probabilities; those that are told are these at a temperature."""
    rng = np.random.default_rng(seed)
    decisions = 2.5 * rng.normal(size=(n, 3))
    told, p = (np.exp(decisions / t) for t in (temperature, 1.0))
    if kind is SeveralLabels:
        told, p = (q / (np.e + q) for q in (told, p))
        true = rng.random(p.shape) < p
        table = several_by_hand(true, told >= 0.5, told, list("abc"))
    else:
        told, p = (q / q.sum(axis=1, keepdims=True) for q in (told, p))
        true = (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1).clip(max=2)
        table = by_hand(np.array(list("abc"))[true], told, ["a", "b", "c"])
    copies = [table.assign(repeat=r, fold=rng.permutation(n) % folds) for r in range(repeats)]
    return pd.concat(copies, ignore_index=True)


def test_calibration_error_by_hand():
    # Bin (0.6, 0.667]: one of two right at 0.65, gap 0.15; bin (0.867, 0.933]: 0.9, right, gap 0.1.
    table = by_hand(["a", "b", "a"], [[0.65, 0.35], [0.65, 0.35], [0.9, 0.1]], ["a", "b"])
    (found,) = m.calibration_errors(table, OneLabel).to_dict("records")
    assert found["calibration_error"] == pytest.approx((2 * 0.15 + 1 * 0.1) / 3)
    # Of two at 0.65 none, one or both are right: gaps 0.65, 0.15, 0.35; of one at 0.9: 0.9, 0.1.
    perfect = 0.65 * 0.35**2 + 0.15 * 2 * 0.65 * 0.35 + 0.35 * 0.65**2, 0.9 * 0.1 + 0.1 * 0.9
    expected = (2 * perfect[0] + perfect[1]) / 3
    assert found["calibration_error_perfect"] == pytest.approx(expected)
    bins = m.calibration_bins(table, OneLabel)
    assert tuple(bins.columns) == m.CALIBRATION_COLUMNS
    assert bins["bin"].tolist() == [10, 14]
    assert bins["count"].tolist() == [2, 1]
    np.testing.assert_allclose(bins["accuracy"], [0.5, 1.0])
    np.testing.assert_allclose(bins["perfect_low"], [0.0, 0.0])  # 0.35^2 and 0.1 are above 2.5 %
    np.testing.assert_allclose(bins["perfect_high"], [1.0, 1.0])


def test_certain_and_border_confidences_have_bins():
    table = by_hand(["a", "a"], [[1.0, 0.0], [0.8, 0.2]], ["a", "b"])
    assert m.calibration_bins(table, OneLabel)["bin"].tolist() == [12, 15]
    row = m.calibration_errors(table, OneLabel).iloc[0]
    assert row["calibration_error_perfect"] == pytest.approx(0.2 * 0.8)  # half of 2 p (1 - p)


@pytest.mark.parametrize(
    ("kind", "n", "seeds", "slack", "least"),
    [
        (OneLabel, 60, 120, 0.01, 0.02),
        (OneLabel, 900, 80, 0.01, 0.02),
        (SeveralLabels, 300, 80, 0.034, 0.01),
    ],
)
def test_perfect_probabilities_have_the_calibration_error_of_perfect_ones(
    kind, n, seeds, slack, least
):
    runs = [m.calibration_errors(forecasts(kind, seed, n), kind) for seed in range(seeds)]
    found, perfect = (
        np.array([run[f"calibration_error{of}"].item() for run in runs]) for of in ("", "_perfect")
    )
    assert found.mean() > least
    error = found.std(ddof=1) / np.sqrt(len(runs))
    assert abs((found - perfect).mean()) < 3 * error + slack * perfect.mean()
    assert 0.3 < np.mean(found > perfect) < 0.7
    assert (np.abs(perfect / perfect.mean() - 1) < 0.3).all()


def test_perfect_probabilities_of_a_label_have_its_calibration_error():
    parts = [forecasts(SeveralLabels, seed, 300) for seed in range(40)]
    per_label = pd.concat([m.per_class(part, SeveralLabels) for part in parts])
    found, perfect = per_label["calibration_error"], per_label["calibration_error_perfect"]
    assert found.mean() == pytest.approx(perfect.mean(), rel=0.05)


def test_neither_folds_nor_repeats_change_what_they_measure_again():
    once, folds, repeats = (
        forecasts(OneLabel, 0, **how) for how in ({}, {"folds": 30}, {"repeats": 4})
    )
    errors = m.calibration_errors(once, OneLabel)
    pd.testing.assert_frame_equal(m.calibration_errors(folds, OneLabel), errors)
    pd.testing.assert_frame_equal(m.calibration_errors(repeats, OneLabel), errors)
    columns = ["accuracy", "perfect_low", "perfect_high"]
    bins = [m.calibration_bins(table, OneLabel)[columns] for table in (once, repeats)]
    pd.testing.assert_frame_equal(*bins)


@pytest.mark.parametrize("kind", [OneLabel, SeveralLabels])
def test_perfect_probabilities_are_in_their_range_and_false_ones_outside(kind):
    def inside(**how):
        tables = [m.calibration_bins(forecasts(kind, s, 600, **how), kind) for s in range(50)]
        bins = pd.concat(tables)
        bins = bins[bins["count"] >= 20]
        assert len(bins) > 300
        return bins["accuracy"].between(bins["perfect_low"], bins["perfect_high"]).mean()

    assert 0.94 < inside() < 0.985  # of discrete numbers it is more than 95 %
    assert inside(temperature=0.6) < 0.6


def test_summary_is_mean_and_sample_deviation():
    table = m.fold_metrics(made_up(), OneLabel)
    result = m.summary(table, made_up(), OneLabel)
    assert tuple(result.columns) == TABLE_COLUMNS["summary"]
    values = table[table["recipe"] == "two"]["mcc"].to_numpy()
    row = result[result["recipe"] == "two"].iloc[0]
    assert row["mcc_mean"] == pytest.approx(values.mean())
    assert row["mcc_sd"] == pytest.approx(np.sqrt(((values - values.mean()) ** 2).sum() / 5))
    assert (row["folds"], row["records"]) == (6, 180)
    columns = ["recipe", "calibration_error", "calibration_error_perfect"]
    pd.testing.assert_frame_equal(result[columns], m.calibration_errors(made_up(), OneLabel))


def test_confusion_adds_folds_and_averages_repeats():
    predictions = made_up()
    table = m.confusion(predictions, OneLabel)
    assert tuple(table.columns) == m.CONFUSION_COLUMNS
    one = table[table["recipe"] == "one"]
    found = one.pivot_table("count", "true", "predicted", fill_value=0).loc[CLASSES, CLASSES]
    rows = predictions[predictions["recipe"] == "one"]
    expected = sklearn_metrics.confusion_matrix(rows["true"], rows["predicted"], labels=CLASSES)
    np.testing.assert_allclose(found, expected / 2)
    assert (table["count"] > 0).all()


def test_confusion_of_several_labels_by_hand():
    # s0 has a and b: b was found, a was not, d is wrong. s1 has a: found, d is wrong. s2 is right.
    true = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    given = [[0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 0]]
    table = several_by_hand(true, given, given, CLASSES)
    twice = pd.concat([table, table.assign(repeat=1, predicted=table["true"])])
    for predictions, counts in (
        (table, {"aa": 1, "ad": 2, "bb": 1, "bd": 1, "NANA": 1}),
        (twice, {"aa": 1.5, "ad": 1, "bb": 1, "bd": 0.5, "NANA": 1}),
    ):
        found = m.confusion(predictions, SeveralLabels)
        assert dict(zip(found["true"] + found["predicted"], found["count"], strict=True)) == counts


# Given: .9 right, .8 right, .8 wrong, which stay together, .6 wrong.
CURVES = {
    OneLabel: by_hand(
        ["a", "a", "b", "b"], [[0.8, 0.2], [0.9, 0.1], [0.8, 0.2], [0.6, 0.4]], ["a", "b"]
    ),
    # What was not given does not count.
    SeveralLabels: several_by_hand(
        [[1, 1, 0, 0], [1, 0, 0, 0]],
        [[1, 0, 0, 1], [1, 0, 1, 0]],
        [[0.9, 0.4, 0.1, 0.6], [0.8, 0.1, 0.8, 0.1]],
        CLASSES,
    ),
}


@pytest.mark.parametrize("kind", CURVES)
def test_reject_curve_by_hand(kind):
    curve = m.reject_curve(CURVES[kind], kind)
    assert tuple(curve.columns) == m.REJECT_CURVE_COLUMNS
    np.testing.assert_allclose(curve["coverage"], [0.25, 0.75, 1.0])
    np.testing.assert_allclose(curve["threshold"], [0.9, 0.8, 0.6])
    np.testing.assert_allclose(curve["accuracy"], [1.0, 2 / 3, 0.5])
    np.testing.assert_allclose(curve["error"], [0.0, 1 / 3, 0.5])


def test_reject_curve_of_many_is_short_and_that_of_a_dense_count():
    predictions = made_up(n=2000, repeats=1, folds=2, recipes={"one": 0.8})
    curve = m.reject_curve(predictions, OneLabel)
    assert len(curve) <= m.REJECT_POINTS
    top = predictions[[f"p_{name}" for name in CLASSES]].max(axis=1)
    right = predictions["true"] == predictions["predicted"]
    for row in curve.iloc[[40, -1]].itertuples():
        kept = top >= row.threshold
        assert row.coverage == pytest.approx(kept.mean())
        assert row.accuracy == pytest.approx(right[kept].mean())
    assert curve["coverage"].iloc[-1] == 1
