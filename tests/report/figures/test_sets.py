import numpy as np

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report.figures import figure_svg
from kreinflow.report.figures.sets import sets_figure
from kreinflow.report.tables import best_recipe


def test_a_dot_for_each_class_a_marker_for_all_and_bars_of_sizes(tables):
    coverage, best = tables["coverage"], best_recipe(tables["comparison"])
    figure = sets_figure(coverage, best)
    assert figure_svg(figure) == figure_svg(sets_figure(coverage, best))
    left, right = figure.axes
    own = coverage[coverage["recipe"] == best]
    *classes, chosen, whole = left.lines
    for level, dots in zip((0.9, 0.95, 0.99), classes, strict=True):
        rows = own[(own["confidence"] == level) & (own["class"] != "")]
        np.testing.assert_array_equal(dots.get_ydata(), rows["coverage"])
    for name, line in ((best, whole), (INNER_CHOICE, chosen)):
        rows = coverage[(coverage["recipe"] == name) & (coverage["class"] == "")]
        np.testing.assert_array_equal(line.get_ydata(), rows["coverage"])
        assert list(line.get_xdata()) == [0, 1, 2]
    heights = np.array([bar.get_height() for bar in right.patches]).reshape(3, 3)
    np.testing.assert_allclose(heights.sum(axis=0), 1.0)
    rows = own[own["class"] == ""]
    np.testing.assert_allclose(heights[0], rows["single"], atol=1e-12)
    np.testing.assert_allclose(heights[2], rows["empty"], atol=1e-12)
    assert [text.get_text() for text in right.texts] == [f"{size:.2f}" for size in rows["size"]]


def test_without_sets_the_axes_are_empty(tables):
    figure = sets_figure(tables["coverage"][:0], "one")
    assert figure_svg(figure)
    assert all(not axes.lines and not axes.patches for axes in figure.axes)
