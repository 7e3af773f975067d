import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from kreinflow.report.cascades import asking, chosen, costs_of, fold_means
from kreinflow.report.figures import PALE, percent, recipes
from kreinflow.report.tables import best_recipe
from report.made_up import dataset_report, run_tables


@pytest.mark.parametrize("several", [False, True])
def test_confusion_shows_shares_of_the_true_class_or_of_the_records_with_a_label(tables, several):
    """With several labels, of 40 with a, 30 were given it, and 15 b too; the 5 with b were it."""
    table = pd.DataFrame({"recipe": list("rrro"), "true": list("aabb"), "predicted": list("abba")})
    labels = pd.DataFrame({"recipe": "r", "class": ["a", "b"], "support": [40.0, 5.0]})
    named = {"measured": "r", "landmark_map": {"similar_classes": ["b", "a"]}}
    named |= {"statistics": tables["statistics"] | {"several": several}}
    table = table.assign(count=[30.0, 15.0 if several else 10.0, 5.0, 99.0])
    named |= {"confusion": table, "per_class": labels}
    figure = recipes.confusion_figure(dataset_report(tables, **named))
    right, wrong = figure.axes[0].images
    np.testing.assert_allclose(np.diag(right.get_array().filled(0)), [1.0, 0.75])
    share = 0.375 if several else 0.25
    np.testing.assert_allclose(wrong.get_array().filled(0), [[0, 0], [share, 0]])
    most = "15 of 40 of a as b" if several else "10 of 40 of a as b"
    assert figure.get_label() == f"Right: 35 of 45 in 2 classes. The most frequent error: {most}."


def test_of_many_recipes_those_are_named_that_nothing_as_cheap_exceeds(tables):
    names = [f"r{i:02d}" for i in range(30)]
    own = pd.DataFrame({"recipe": names, "accuracy_mean": np.linspace(0.99, 0.7, 30)})
    own.loc[29, "accuracy_mean"] = 0.8
    own = own.assign(accuracy_sd=0.01, folds=3, repeat=0, best=own["recipe"] == "r00")
    own["alignments_per_query"] = [200.0] * 29 + [20.0]
    made = dict.fromkeys(("summary", "models", "comparison"), own)
    data = dataset_report(tables, final_recipe="r28", **made)
    (legend,) = recipes.alignments_figure(data).legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert "r29" in texts
    assert {"r00 (best)", "r28 (final model)", *names[1:5]} <= set(texts)
    assert "23 other recipes (see the table)" in texts
    assert len(texts) == 9


def test_the_final_model_is_marked_in_the_comparison_and_among_the_costs(tables):
    comparison, best = tables["comparison"], best_recipe(tables["comparison"])
    assert best != "pcvm-meb"
    data = dataset_report(tables, final_recipe="pcvm-meb")
    figure = recipes.comparison_figure(data)
    (band,) = figure.axes[0].patches
    middle = int(band.get_y() + band.get_height() / 2)
    assert comparison["recipe"].iloc[middle] == "pcvm-meb"
    figures = comparison.set_index("recipe")["accuracy_mean"]
    for name, role in ((best, "best"), ("pcvm-meb", "final model")):
        assert f"{name} ({role}) {percent(figures[name])}" in figure.get_label()
    figure = recipes.alignments_figure(data)
    bars = figure.axes[0].containers
    sizes = {each.get_label(): each.lines[0].get_markersize() for each in bars}
    assert sizes.pop("pcvm-meb (final model)") > max(sizes.values())
    assert f"{best} (best)" in sizes
    assert figure.get_label().startswith(
        f"Of all recipes pcvm-meb (final model) has {percent(figures['pcvm-meb'])}"
    )
    both = recipes.alignments_figure(dataset_report(tables, final_recipe=best)).get_label()
    assert both.startswith(f"Of all recipes {best} (final model, best) has ")


def cost_figure(cascades, n_recipes=9):
    tables = run_tables(n_classes=3, n_folds=3, n=300, n_recipes=n_recipes, cascades=cascades)
    return tables, recipes.alignments_figure(dataset_report(tables))


@pytest.mark.parametrize("cascades", [1, 9])
def test_each_cascade_has_a_line_from_its_first_stage_to_everything(cascades):
    tables, figure = cost_figure(cascades)
    (axes,) = figure.axes
    lines = [line for line in axes.lines if line.get_marker() == "|"]
    curves = tables["curves"]
    names = curves["recipe"].unique()
    assert len(lines) == len(names) == cascades
    first, every = (fold_means(asking(curves, end)) for end in (0.0, 2.0))
    own, summary = fold_means(chosen(curves)), tables["summary"].set_index("recipe")
    costs = costs_of(tables["models"], tables["accepted"])
    markers = np.array([bars.lines[0].get_xydata()[0] for bars in axes.containers])
    for name, line in zip(sorted(names), lines, strict=True):
        shown = line.get_xydata()
        for end, place in ((first, 0), (every, -1)):
            np.testing.assert_allclose(shown[place], end.loc[name, ["alignments", "accuracy"]])
        assert (np.diff(shown[:, 0]) > 0).all()
        # The marker is at the mean cost and the accuracy of the outer folds.
        cost, accuracy = costs[name], summary.loc[name, "accuracy_mean"]
        if cascades == 1:  # else some have no name
            assert np.isclose(markers, [cost, accuracy]).all(axis=1).sum() == 1
        assert abs(np.interp(own.loc[name, "alignments"], *shown.T) - accuracy) < 0.003
    low, high = axes.get_xlim()
    assert low < curves["alignments"].min() < curves["alignments"].max() < high
    assert sum(line.get_color() == PALE for line in lines) == (2 if cascades == 9 else 0)


@pytest.mark.parametrize("cascades", [1, 6])
def test_no_words_of_the_cost_figure_lie_on_each_other(cascades):
    _, figure = cost_figure(cascades, n_recipes=12)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # lays it out
    renderer = canvas.get_renderer()
    (axes,), (legend,) = figure.axes, figure.legends
    texts = [axes.xaxis.label, axes.yaxis.label, *legend.get_texts()]
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        labels = zip(axis.get_majorticklocs(), axis.get_majorticklabels(), strict=True)
        texts += [label for at, label in labels if low <= at <= high]
    boxes = [text.get_window_extent(renderer) for text in texts if text.get_text()]
    assert len(boxes) > 15
    whole = figure.get_window_extent(renderer)
    for number, box in enumerate(boxes):
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
        assert not any(box.overlaps(other) for other in boxes[:number])
    assert not legend.get_window_extent(renderer).overlaps(axes.get_window_extent(renderer))
