import numpy as np
import pandas as pd

from kreinflow.report.figures import recipes


def test_confusion_shows_shares_of_the_true_class():
    table = pd.DataFrame(
        {
            "recipe": ["r", "r", "r", "other"],
            "true": ["a", "a", "b", "b"],
            "predicted": ["a", "b", "b", "a"],
            "count": [30.0, 10.0, 5.0, 99.0],
        }
    )
    right, wrong = recipes.confusion_figure(table, "r", ["a", "b"]).axes[0].images
    np.testing.assert_allclose(np.diag(right.get_array().filled(0)), [0.75, 1.0])
    np.testing.assert_allclose(wrong.get_array().filled(0), [[0, 0.25], [0, 0]])
    for axis in (right.axes.xaxis, right.axes.yaxis):
        assert axis.get_ticklocs().tolist() == [0, 1]
        assert [tick.get_text() for tick in axis.get_ticklabels()] == ["a", "b"]


def test_of_many_recipes_those_are_named_that_nothing_as_cheap_exceeds():
    names = [f"r{i:02d}" for i in range(30)]
    accuracy = np.linspace(0.99, 0.7, 30)
    accuracy[29] = 0.8
    summary = pd.DataFrame({"recipe": names, "accuracy_mean": accuracy, "accuracy_sd": 0.01})
    summary["folds"] = 3
    cost = [200.0] * 29 + [20.0]
    models = pd.DataFrame({"recipe": names, "repeat": 0, "alignments_per_query": cost})
    (legend,) = recipes.alignments_figure(summary, models, "r00", 1000).legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert "r29" in texts
    assert {"r00 (best)", *names[1:6]} <= set(texts)
    assert "23 other recipes (see the table)" in texts
    assert len(texts) == 9


def test_the_front_of_cost_and_accuracy():
    costs, accuracies = np.array([5.0, 5, 3, 2, 9]), np.array([0.9, 0.8, 0.9, 0.7, 0.6])
    assert recipes._best_for_their_cost(costs, accuracies) == [2, 3]
