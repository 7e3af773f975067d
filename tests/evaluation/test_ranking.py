"""Ranking of two classes against scikit-learn, and by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from evaluation.made_up import made_up_predictions
from kreinflow.evaluation.ranking import RANKING_COLUMNS, enrichment, ranking_table


def test_each_fold_is_ranked_by_the_probability_of_the_rarer_class():
    predictions = made_up_predictions(["a", "b"], {"good": 1.5, "bad": 0.0}, 150, 3, repeats=2)
    table = ranking_table(predictions)
    assert tuple(table) == RANKING_COLUMNS
    assert table["recipe"].tolist() == ["good", "bad"]
    rarer = predictions["true"].value_counts().idxmin()
    assert set(table["class"]) == {rarer}
    for line in table.to_dict("records"):
        part = predictions[predictions["recipe"] == line["recipe"]]
        folds = [
            (
                roc_auc_score(fold["true"] == rarer, fold[f"p_{rarer}"]),
                average_precision_score(fold["true"] == rarer, fold[f"p_{rarer}"]),
                (fold.nlargest(5, f"p_{rarer}")["true"] == rarer).mean()
                / (fold["true"] == rarer).mean(),
            )
            for _, fold in part.groupby(["repeat", "fold"])
        ]
        assert (line["folds"], line["records"]) == (6, len(part))
        assert line["share"] == (part["true"] == rarer).mean()
        for place, name in enumerate(("auc", "average_precision", "enrichment")):
            own = [fold[place] for fold in folds]
            expected = np.mean(own), np.std(own, ddof=1)
            assert (line[f"{name}_mean"], line[f"{name}_sd"]) == pytest.approx(expected)
    assert table["auc_mean"][0] > 0.8 > 0.65 > table["auc_mean"][1]


def test_of_equals_the_second_is_told_and_of_other_numbers_of_classes_nothing():
    predictions = made_up_predictions(["a", "b"], {"one": 1.0}, 40, 2)
    predictions["true"] = np.where(np.arange(40) % 2, "a", "b")
    assert ranking_table(predictions)["class"].tolist() == ["b"]
    assert ranking_table(made_up_predictions(["a", "b", "c"], {"one": 1.0}, 40, 2)).empty
    assert ranking_table(predictions[:0]).empty
    # A fold without one of the classes ranks nothing.
    predictions.loc[predictions["fold"] == 1, "true"] = "a"
    (line,) = ranking_table(predictions).to_dict("records")
    assert line["folds"] == 1
    assert np.isnan(line["auc_sd"])


def test_enrichment_is_what_any_order_of_equals_gives_on_the_mean():
    rng = np.random.default_rng(0)
    p, true = np.round(rng.random(37), 1), rng.random(37) < 0.3
    drawn = []
    for _ in range(20_000):
        order = np.lexsort((rng.random(37), -p))
        drawn.append(true[order[:4]].mean() / true.mean())
    assert enrichment(p, true) == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 140)
    assert enrichment(np.zeros(37), true) == pytest.approx(1.0)
    table = pd.Series(enrichment(np.arange(10.0), np.arange(10) == 9))
    assert table[0] == 10.0
