"""What is measured of rows, held against scikit-learn, loops and chance."""

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics as sklearn_metrics

from evaluation.made_up import made_up_predictions, made_up_several, several_by_hand
from kreinflow.base.errors import InputError
from kreinflow.evaluation import metrics as m
from kreinflow.evaluation.measured_rows import OneLabel, SeveralLabels, average_precision
from kreinflow.evaluation.tables import SEVERAL_COLUMNS, TABLE_COLUMNS, evaluation_tables

CLASSES = ["a", "b", "NA", "d"]
MAKE = {OneLabel: made_up_predictions, SeveralLabels: made_up_several}
COLUMNS = {OneLabel: TABLE_COLUMNS, SeveralLabels: SEVERAL_COLUMNS}
KINDS = pytest.mark.parametrize("kind", MAKE)


def made_up(kind=OneLabel, n=90, repeats=2, folds=3, recipes=None):
    return MAKE[kind](CLASSES, recipes or {"one": 0.8, "two": 0.4}, n, folds, repeats=repeats)


def by_hand(true, probabilities, classes):
    """Predictions of one recipe and one fold, with one label each."""
    p = np.array(probabilities, dtype=float)
    table = pd.DataFrame({"recipe": "r", "repeat": 0, "fold": 0, "id": range(len(true))})
    table["true"], table["predicted"] = true, np.array(classes)[p.argmax(axis=1)]
    return pd.concat([table, pd.DataFrame(p, columns=[f"p_{name}" for name in classes])], axis=1)


def known(part):
    """Which labels records have and were given, and the probabilities."""
    true, given = (
        np.array([[label in text.split(";") for label in CLASSES] for text in part[name]])
        for name in ("true", "predicted")
    )
    return true, given, part[[f"p_{label}" for label in CLASSES]].to_numpy()


def of_one(part):
    """The measures of one label each, by scikit-learn."""
    true, given, (_, _, p) = part["true"], part["predicted"], known(part)
    codes = [CLASSES.index(label) for label in true]
    return {
        "accuracy": sklearn_metrics.accuracy_score(true, given),
        "balanced_accuracy": sklearn_metrics.balanced_accuracy_score(true, given),
        "macro_f1": sklearn_metrics.f1_score(true, given, average="macro"),
        "mcc": sklearn_metrics.matthews_corrcoef(true, given),
        "log_loss": -np.log(p[np.arange(len(p)), codes]).mean(),
        "brier": sklearn_metrics.brier_score_loss(
            codes, p, labels=range(len(CLASSES)), scale_by_half=False
        ),
    }


def of_several(part):
    """The measures of several labels, by scikit-learn."""
    true, given, p = known(part)
    pairs = zip(true.T, p.T, strict=True)
    found = {
        "accuracy": sklearn_metrics.accuracy_score(true, given),
        "hamming_loss": sklearn_metrics.hamming_loss(true, given),
        "log_loss": np.mean([sklearn_metrics.log_loss(*own, labels=[0, 1]) for own in pairs]),
    }
    for way in ("micro", "macro"):
        found[f"{way}_f1"] = sklearn_metrics.f1_score(true, given, average=way)
        precision = sklearn_metrics.average_precision_score(true, p, average=way)
        found[f"{way}_average_precision"] = precision
    return found


@pytest.mark.parametrize(("kind", "expected"), [(OneLabel, of_one), (SeveralLabels, of_several)])
def test_fold_metrics_agree_with_scikit_learn(kind, expected):
    predictions = made_up(kind)
    table = m.fold_metrics(predictions, kind)
    assert tuple(table.columns) == COLUMNS[kind]["metrics"]
    assert list(dict.fromkeys(table["recipe"])) == ["one", "two"]
    assert len(table) == 2 * 2 * 3
    parts = predictions.groupby(["recipe", "repeat", "fold"])
    for row in table.to_dict("records"):
        part = parts.get_group((row.pop("recipe"), row.pop("repeat"), row.pop("fold")))
        assert row == pytest.approx(expected(part) | {"records": 30})


@KINDS
def test_measures_of_a_class_agree_with_scikit_learn(kind):
    """Folds are pooled, repeats averaged."""
    predictions = made_up(kind)
    table = m.per_class(predictions, kind)
    assert tuple(table.columns) == COLUMNS[kind]["per_class"]
    own = table[table["recipe"] == "two"]
    assert own["class"].tolist() == CLASSES
    expected = []
    for _, part in predictions[predictions["recipe"] == "two"].groupby("repeat"):
        true, given, p = known(part)
        measures = [*sklearn_metrics.precision_recall_fscore_support(true, given)]
        if kind is SeveralLabels:
            measures.append(sklearn_metrics.average_precision_score(true, p, average=None))
        expected.append(measures)
    names = list(kind.class_measures)[: len(expected[0])]
    np.testing.assert_allclose(own[names].to_numpy().T, np.mean(expected, axis=0))


def test_average_precision_is_that_of_scikit_learn_whatever_the_ties():
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 40):
        for levels in (1, 3, 1000):
            p, true = rng.integers(levels, size=n) / levels, rng.random(n) < 0.4
            true[0] = True
            expected = sklearn_metrics.average_precision_score(true, p)
            assert average_precision(p, true) == pytest.approx(expected)
    assert np.isnan(average_precision(np.array([0.3, 0.2]), np.array([False, False])))


def test_noise_gives_chance():
    """Probabilities that know nothing: precision, and average precision, are the shares."""
    found = []
    for seed in range(20):
        table = made_up_several(CLASSES, {"noise": 0.0}, n=400, folds=2, seed=seed)
        row = m.fold_metrics(table, SeveralLabels).mean(numeric_only=True)
        true, given, _ = known(table)
        share, told = true.mean(), given.mean()
        chance = {
            "micro_average_precision": share,
            "macro_average_precision": true.mean(axis=0).mean(),
            "micro_f1": 2 * share * told / (share + told),
            "hamming_loss": share * (1 - told) + told * (1 - share),
        }
        found.append({name: row[name] - value for name, value in chance.items()})
        per_label = m.per_class(table, SeveralLabels)
        shares = per_label["support"] / 400
        assert (per_label["average_precision"] < shares + 0.12).all()
        assert per_label["precision"].mean() == pytest.approx(shares.mean(), abs=0.05)
    # Of few records average precision is a little above.
    assert (pd.DataFrame(found).mean().abs() < 0.015).all()


@pytest.mark.filterwarnings("error")
def test_what_is_all_right():
    true = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]])
    table = several_by_hand(true, true, true, CLASSES)
    (row,) = m.fold_metrics(table, SeveralLabels).to_dict("records")
    losses = {"hamming_loss", "log_loss"}
    assert [row[name] for name in SeveralLabels.metrics] == [
        float(name not in losses) for name in SeveralLabels.metrics
    ]
    per_label = m.per_class(table, SeveralLabels).set_index("class")
    # A label that never occurs, and is never given: nothing to find, and nothing to rank.
    assert per_label.loc["d", ["precision", "recall", "f1", "support"]].tolist() == [0, 0, 0, 0]
    assert np.isnan(per_label.loc["d", "average_precision"])


@pytest.mark.filterwarnings("error")
def test_absent_classes_do_not_count_and_a_zero_probability_has_a_loss():
    p = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]]
    row = m.fold_metrics(by_hand(["a", "a", "b"], p, ["a", "b", "c"]), OneLabel).iloc[0]
    assert row["balanced_accuracy"] == pytest.approx((0.5 + 1.0) / 2)  # c is absent
    assert row["macro_f1"] == pytest.approx((2 / 3 + 1.0 + 0.0) / 3)  # but it was predicted
    assert row["log_loss"] == pytest.approx(-np.log([0.8, 0.1, 0.7]).mean())
    table = by_hand(["a", "a"], [[1.0, 0.0], [1.0, 0.0]], ["a", "b"])
    row = m.fold_metrics(table, OneLabel).iloc[0]
    assert (row["accuracy"], row["mcc"]) == (1.0, 0.0)
    assert np.isfinite(m.fold_metrics(table.assign(true="b"), OneLabel)["log_loss"][0])


def test_records_that_are_given_no_label():
    true = np.array([[1, 1, 0, 0], [0, 0, 1, 0]])
    table = several_by_hand(true, np.zeros((2, 4)), np.full((2, 4), 0.1), CLASSES)
    groups = pd.Series([0, 1], index=["s0", "s1"])
    tables = evaluation_tables(table.assign(fold=[0, 1]), groups, several=True)
    assert tables["metrics"][["accuracy", "micro_f1"]].to_numpy().tolist() == [[0, 0]] * 2
    assert tables["reject_curve"].empty
    assert tables["confusion"].empty
    assert list(tables["reject_curve"].columns) == list(SEVERAL_COLUMNS["reject_curve"])


@pytest.mark.parametrize(
    ("kind", "label"), [(OneLabel, "z"), (SeveralLabels, "a;z"), (SeveralLabels, "a;")]
)
def test_labels_without_probabilities_are_named(kind, label):
    with pytest.raises(InputError, match="label '(z|)' in column 'true' has no probabilities"):
        m.fold_metrics(made_up(kind).assign(true=label), kind)
