"""The figure of classes that are paths."""

import numpy as np

from kreinflow.report.figures import figure_svg, percent
from kreinflow.report.figures.levels import levels_figure
from report.made_up import levels_of

RECIPE = "pcvm-meb"


def test_bars_have_the_figures_of_one_recipe(tables):
    levels = levels_of(tables)["levels"]
    figure = levels_figure(levels, RECIPE)
    assert figure_svg(figure) == figure_svg(levels_figure(levels, RECIPE))
    own = levels[levels["recipe"] == RECIPE]
    wrong, answered = figure.axes
    heights = [[bar.get_height() for bar in bars] for bars in wrong.containers]
    np.testing.assert_allclose(heights[0], 1 - own["accuracy"])
    np.testing.assert_allclose(heights[1], 1 - own["answered_accuracy"])
    (bars,) = answered.containers
    np.testing.assert_allclose([bar.get_height() for bar in bars], own["answered"])
    assert [text.get_text() for text in answered.get_xticklabels()] == [
        "level 1",
        "level 2",
        "level 3",
    ]
    first = own.iloc[0]
    assert figure.get_label().startswith(
        f"Level 1: {percent(1 - first['accuracy'])} wrong, {percent(first['answered'])} "
        f"answered, {percent(1 - first['answered_accuracy'])} of these wrong. Level 2: "
    )


def test_without_predictions_it_is_empty(tables):
    nothing = levels_of(tables)["levels"].iloc[:0]
    assert not levels_figure(nothing, "").axes[0].containers


def test_where_nothing_is_answered_no_error_is_drawn(tables):
    levels = levels_of(tables)["levels"].assign(answered=0.0, answered_accuracy="")
    figure = levels_figure(levels, RECIPE)
    (_, told) = figure.axes[0].containers
    assert [bar.get_height() for bar in told] == [0, 0, 0]
    assert "of these" not in figure.get_label()
