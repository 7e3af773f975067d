import numpy as np

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report.figures import figure_svg, percent
from kreinflow.report.figures.sets import sets_figure


def test_a_dot_for_each_class_a_marker_for_all_and_bars_of_sizes(tables):
    coverage = tables["coverage"]
    figure = sets_figure(coverage, INNER_CHOICE)
    assert figure_svg(figure) == figure_svg(sets_figure(coverage, INNER_CHOICE))
    left, right = figure.axes
    own = coverage[coverage["recipe"] == INNER_CHOICE]
    *classes, whole = left.lines
    for level, dots in zip((0.9, 0.95, 0.99), classes, strict=True):
        rows = own[(own["confidence"] == level) & (own["class"] != "")]
        np.testing.assert_array_equal(dots.get_ydata(), rows["coverage"])
    np.testing.assert_array_equal(whole.get_ydata(), own.loc[own["class"] == "", "coverage"])
    assert list(whole.get_xdata()) == [0, 1, 2]
    heights = np.array([bar.get_height() for bar in right.patches]).reshape(3, 3)
    np.testing.assert_allclose(heights.sum(axis=0), 1.0)
    rows = own[own["class"] == ""]
    np.testing.assert_allclose(heights[0], rows["single"], atol=1e-12)
    np.testing.assert_allclose(heights[2], rows["empty"], atol=1e-12)
    assert [text.get_text() for text in right.texts] == [f"{size:.2f}" for size in rows["size"]]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()][:2] == ["classes", "all records"]
    held, size = rows[["coverage", "size"]].iloc[0]
    assert figure.get_label().startswith(
        f"Of sets with 90 % confidence {percent(held)} hold the true label, and they have "
        f"{size:.2f} labels on the mean."
    )


def test_without_sets_the_axes_are_empty(tables):
    figure = sets_figure(tables["coverage"][:0], "one")
    assert figure_svg(figure)
    assert all(not axes.lines and not axes.patches for axes in figure.axes)
