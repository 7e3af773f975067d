import numpy as np
import pandas as pd
import pytest

from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report.figures import PALE, STRESSED, figure_svg
from kreinflow.report.figures import probabilities as p
from kreinflow.report.tables import best_recipe
from report.made_up import unknown_tables


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text().strip("\u200b") for text in legend.get_texts()]


def test_of_many_recipes_the_best_few_and_the_inner_choice_have_a_colour():
    names = [f"_r{i:02d}" for i in range(30)]  # matplotlib leaves out names that begin with "_"
    comparison = pd.DataFrame({"recipe": [*names[:3], INNER_CHOICE, *names[3:]]})
    assert p.stressed_recipes(comparison) == [*names[:STRESSED], INNER_CHOICE]
    curve = pd.DataFrame(
        [
            (name, coverage, 0.01 * coverage * (coverage > 0.7))
            for name in comparison["recipe"]
            for coverage in (0.5, 0.75, 1.0)
        ],
        columns=["recipe", "coverage", "error"],
    )
    figure = p.reject_figure(curve, comparison)
    (axes,) = figure.axes
    assert len(axes.lines) == 31
    assert sum(line.get_color() != PALE for line in axes.lines) == STRESSED + 1
    assert axes.get_xlim() == (0.7, 1.0)
    others = "24 other recipes (see the table)"
    assert legend_of(figure) == ["_r00 (best)", *names[1:STRESSED], INNER_CHOICE, others]


def test_unknown_has_a_line_for_each_recipe_and_a_marker_at_its_threshold(tables):
    summary, families, curve = unknown_tables(tables)
    comparison = tables["comparison"]
    figure = p.unknown_figure(curve, summary, families, comparison)
    svg = figure_svg(figure)
    assert svg == figure_svg(p.unknown_figure(curve, summary, families, comparison))
    chance, *drawn = figure.axes[0].lines
    assert chance.get_xydata().tolist() == [[0, 0], [1, 1]]
    curves = [line for line in drawn if line.get_linestyle() != "None"]
    markers = [line for line in drawn if line.get_linestyle() == "None"]
    assert len(curves) == len(summary)
    rows = summary.set_index("recipe")
    stressed = p.stressed_recipes(comparison)
    for name, line, marker in zip(stressed, curves, markers, strict=False):
        assert (line.get_linewidth() > 2) == (name == best_recipe(comparison))
        expected = curve[curve["recipe"] == name]
        np.testing.assert_array_equal(line.get_xdata(), expected["known_rejected"])
        np.testing.assert_array_equal(line.get_ydata(), expected["unknown_rejected"])
        assert marker.get_xdata().tolist() == [rows.loc[name, "known_rejected_mean"]]
        assert marker.get_ydata().tolist() == [rows.loc[name, "unknown_rejected_mean"]]
    assert len(markers) == len(stressed)
    best, beside = stressed[0], figure.axes[1]
    own = families[families["recipe"] == best]
    rows = ["all known", *own["class"]]
    assert [text.get_text().strip("\u200b") for text in beside.get_yticklabels()] == rows
    drawn = {bars.get_label(): [bar.get_width() for bar in bars] for bars in beside.containers}
    summary = summary.set_index("recipe").loc[best]
    assert list(drawn) == list(AS)
    for reason, name in AS.items():
        assert drawn[reason] == pytest.approx([summary[f"known_{name}_mean"], *own[name]])


def test_the_inner_choice_stands_beside_the_best_recipe(tables):
    best = best_recipe(tables["comparison"])
    figure = p.calibration_figure(tables["calibration"], best)
    assert set(legend_of(figure)) == {"perfect", INNER_CHOICE, f"{best} (best)"}
    assert figure.axes[0].lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]


def test_boxes_are_the_ranges_of_perfect_probabilities(tables):
    best = best_recipe(tables["comparison"])
    above, below = p.calibration_figure(tables["calibration"], best).axes
    rows = tables["calibration"][tables["calibration"]["recipe"] == best]
    boxes = above.patches
    for name, found in (
        ("lower", [box.get_x() for box in boxes]),
        ("perfect_low", [box.get_y() for box in boxes]),
        ("perfect_high", [box.get_y() + box.get_height() for box in boxes]),
        ("count", [bar.get_height() for bar in below.patches]),
    ):
        np.testing.assert_allclose(found, rows[name])
