"""Measures of records with several labels, held against scikit-learn, loops and chance."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sklearn_metrics

from evaluation.made_up import made_up_predictions, made_up_several, several_by_hand
from kreinflow.evaluation import metrics as m
from kreinflow.evaluation.measured_rows import OneLabel, SeveralLabels, average_precision
from kreinflow.evaluation.tables import SEVERAL_COLUMNS, evaluation_tables

CLASSES = ("a", "b", "NA", "d")


def made_up(n=90, repeats=2, folds=3, qualities=(1.0, 0.3)):
    recipes = dict(zip(("one", "two"), qualities, strict=False))
    return made_up_several(CLASSES, recipes, n=n, folds=folds, repeats=repeats)


def indicators(texts, classes=CLASSES):
    return np.array([[label in text.split(";") for label in classes] for text in texts])


def probabilities(part, classes=CLASSES):
    return part[[f"p_{label}" for label in classes]].to_numpy()


def naive_average_precision(p, true):
    """Precision at each threshold times the recall that it adds, by loops."""
    area, found = 0.0, 0.0
    for threshold in sorted(set(p), reverse=True):
        kept = [t for q, t in zip(p, true, strict=True) if q >= threshold]
        recall = sum(kept) / sum(true)
        area += (recall - found) * sum(kept) / len(kept)
        found = recall
    return area


def test_fold_metrics_agree_with_scikit_learn():
    predictions = made_up()
    table = m.fold_metrics(predictions, SeveralLabels)
    assert tuple(table.columns) == SEVERAL_COLUMNS["metrics"]
    assert len(table) == 2 * 2 * 3
    for row in table.itertuples():
        part = predictions[
            (predictions["recipe"] == row.recipe)
            & (predictions["repeat"] == row.repeat)
            & (predictions["fold"] == row.fold)
        ]
        true, given, p = (
            indicators(part["true"]),
            indicators(part["predicted"]),
            probabilities(part),
        )
        assert row.records == len(part) == 30
        assert row.accuracy == pytest.approx(sklearn_metrics.accuracy_score(true, given))
        assert row.hamming_loss == pytest.approx(sklearn_metrics.hamming_loss(true, given))
        for way in ("micro", "macro"):
            f1 = sklearn_metrics.f1_score(true, given, average=way)
            assert getattr(row, f"{way}_f1") == pytest.approx(f1)
            ap = sklearn_metrics.average_precision_score(true, p, average=way)
            assert getattr(row, f"{way}_average_precision") == pytest.approx(ap)
        losses = [
            sklearn_metrics.log_loss(*own, labels=[0, 1]) for own in zip(true.T, p.T, strict=True)
        ]
        assert row.log_loss == pytest.approx(np.mean(losses))


def test_average_precision_is_that_of_loops_whatever_the_ties():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 40):
        for levels in (1, 3, 1000):
            p, true = rng.integers(levels, size=n) / levels, rng.random(n) < 0.4
            true[0] = True
            expected = naive_average_precision(p, true)
            assert average_precision(p, true) == pytest.approx(expected)
            known = sklearn_metrics.average_precision_score(true, p)
            assert average_precision(p, true) == pytest.approx(known)
    assert np.isnan(average_precision(np.array([0.3, 0.2]), np.array([False, False])))


def test_of_one_label_each_they_are_the_measures_of_one_label():
    """The likeliest label alone is given: a special case, for which other code is there."""
    table = made_up_predictions(CLASSES, {"one": 0.8, "two": 0.4}, n=120, folds=3, repeats=2)
    one, several = (
        [make(table, kind) for make in (m.confusion, m.reject_curve, m.per_class, m.fold_metrics)]
        for kind in (OneLabel, SeveralLabels)
    )
    order = ["recipe", "true", "predicted"]
    for name, (own, other) in {
        "confusion": [t.sort_values(order, ignore_index=True) for t in (one[0], several[0])],
        "reject": (one[1], several[1]),
        "per_class": (one[2], several[2][one[2].columns]),
        "accuracy": (
            t[3][["recipe", "repeat", "fold", "records", "accuracy", "macro_f1"]]
            for t in (one, several)
        ),
    }.items():
        pd.testing.assert_frame_equal(own, other, obj=name)
    micro, accuracy = several[3]["micro_f1"], several[3]["accuracy"]
    np.testing.assert_allclose(micro, accuracy)  # as many are given as there are


def test_per_label_measures_agree_with_scikit_learn():
    predictions = made_up()
    table = m.per_class(predictions, SeveralLabels)
    assert tuple(table.columns) == SEVERAL_COLUMNS["per_class"]
    own = table[table["recipe"] == "two"]
    assert own["class"].tolist() == list(CLASSES)
    expected = []
    for _, part in predictions[predictions["recipe"] == "two"].groupby("repeat"):
        true, given = indicators(part["true"]), indicators(part["predicted"])
        measures = sklearn_metrics.precision_recall_fscore_support(true, given)
        ranked = sklearn_metrics.average_precision_score(true, probabilities(part), average=None)
        expected.append([*measures, ranked])
    names = ["precision", "recall", "f1", "support", "average_precision"]
    np.testing.assert_allclose(own[names].to_numpy().T, np.mean(expected, axis=0))


def test_noise_gives_chance():
    """Probabilities that know nothing: precision, and average precision, are the shares."""
    found = []
    for seed in range(20):
        table = made_up_several(CLASSES, {"noise": 0.0}, n=400, folds=2, seed=seed)
        row = m.fold_metrics(table, SeveralLabels).mean(numeric_only=True)
        true = indicators(table["true"])
        share, given = true.mean(), indicators(table["predicted"]).mean()
        found.append(
            {
                "micro_average_precision": row["micro_average_precision"] - share,
                "macro_average_precision": row["macro_average_precision"]
                - true.mean(axis=0).mean(),
                "micro_f1": row["micro_f1"] - 2 * share * given / (share + given),
                "hamming_loss": row["hamming_loss"] - share * (1 - given) - given * (1 - share),
            }
        )
        per_label = m.per_class(table, SeveralLabels)
        shares = per_label["support"] / 400
        assert (per_label["average_precision"] < shares + 0.12).all()
        precision = per_label["precision"].mean()
        assert precision == pytest.approx(shares.mean(), abs=0.05)
    means = pd.DataFrame(found).mean()
    assert (means.abs() < 0.015).all()  # of few records average precision is a little above


@pytest.mark.filterwarnings("error")
def test_what_is_all_right():
    true = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]])
    table = several_by_hand(true, true, true, CLASSES)
    (row,) = m.fold_metrics(table, SeveralLabels).to_dict("records")
    best = ["accuracy", "micro_f1", "macro_f1"]
    best += ["micro_average_precision", "macro_average_precision"]
    assert [row[name] for name in (*best, "hamming_loss", "log_loss")] == [1.0] * 5 + [0.0] * 2
    per_label = m.per_class(table, SeveralLabels).set_index("class")
    # A label that never occurs, and is never given: nothing to find, and nothing to rank.
    assert per_label.loc["d", ["precision", "recall", "f1", "support"]].tolist() == [0, 0, 0, 0]
    assert np.isnan(per_label.loc["d", "average_precision"])


def test_records_that_are_given_no_label():
    true = np.array([[1, 1, 0, 0], [0, 0, 1, 0]])
    p = np.full((2, 4), 0.1)
    tables = evaluation_tables(
        several_by_hand(true, np.zeros((2, 4)), p, CLASSES).assign(fold=[0, 1]),
        pd.Series([0, 1], index=["s0", "s1"]),
        several=True,
    )
    assert tables["metrics"]["accuracy"].tolist() == [0, 0]
    assert tables["metrics"]["micro_f1"].tolist() == [0, 0]
    assert tables["reject_curve"].empty
    assert tables["confusion"].empty
    assert list(tables["reject_curve"].columns) == list(SEVERAL_COLUMNS["reject_curve"])


def test_confusion_by_hand():
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


def test_curve_of_the_labels_that_are_kept_by_hand():
    # Given: .9 right, .8 right, .8 wrong, .6 wrong; what was not given does not count.
    true, given = [[1, 1, 0, 0], [1, 0, 0, 0]], [[1, 0, 0, 1], [1, 0, 1, 0]]
    p = [[0.9, 0.4, 0.1, 0.6], [0.8, 0.1, 0.8, 0.1]]
    curve = m.reject_curve(several_by_hand(true, given, p, CLASSES), SeveralLabels)
    np.testing.assert_allclose(curve["coverage"], [0.25, 0.75, 1.0])
    np.testing.assert_allclose(curve["threshold"], [0.9, 0.8, 0.6])
    np.testing.assert_allclose(curve["accuracy"], [1.0, 2 / 3, 0.5])


def forecasts(seed, n=300, temperature=1.0):
    """Labels drawn from known probabilities; those that are told are these at a temperature."""
    rng = np.random.default_rng(seed)
    decisions = 2.5 * rng.normal(size=(n, 4)) - 1.0
    told, p = (1 / (1 + np.exp(-decisions / t)) for t in (temperature, 1.0))
    true = rng.random(p.shape) < p
    return several_by_hand(true, told >= 0.5, told, CLASSES, fold=rng.permutation(n) % 3)


def test_perfect_probabilities_have_the_calibration_error_of_perfect_ones():
    runs = [m.calibration_errors(forecasts(seed), SeveralLabels) for seed in range(100)]
    found, perfect = (
        np.array([run[f"calibration_error{of}"].item() for run in runs]) for of in ("", "_perfect")
    )
    assert found.mean() > 0.01
    error = found.std(ddof=1) / np.sqrt(len(runs))
    assert abs((found - perfect).mean()) < 3 * error + 0.034 * perfect.mean()
    per_label = pd.concat([m.per_class(forecasts(seed), SeveralLabels) for seed in range(40)])
    found, perfect = per_label["calibration_error"], per_label["calibration_error_perfect"]
    assert found.mean() == pytest.approx(perfect.mean(), rel=0.05)
    bins = pd.concat([m.calibration_bins(forecasts(seed), SeveralLabels) for seed in range(60)])
    inside = bins["accuracy"].between(bins["perfect_low"], bins["perfect_high"])
    assert 0.94 < inside[bins["count"] >= 20].mean() < 0.985


def test_false_probabilities_have_a_larger_one():
    for seed in range(10):
        table = forecasts(seed, temperature=0.5)
        (found,) = m.calibration_errors(table, SeveralLabels).to_dict("records")
        assert found["calibration_error"] > 1.5 * found["calibration_error_perfect"]
