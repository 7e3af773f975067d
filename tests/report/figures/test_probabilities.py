import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from kreinflow.answering.reject_threshold import NOTHING_ACCEPTED
from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report.figures import figure_svg, percent
from kreinflow.report.figures import probabilities as p
from report.made_up import unknown_tables

ACCEPTED = pd.DataFrame(
    [("a", 0.54, 0.004), ("b", 0.8, 0.02)], columns=["recipe", "accepted_mean", "wrong_of_accepted"]
)
CURVE = pd.DataFrame(
    [(recipe, c, e * c) for recipe, e in (("a", 0.02), ("b", 0.3)) for c in (0.5, 0.75, 1.0)],
    columns=["recipe", "coverage", "error"],
)


def test_what_a_model_accepts_is_marked_on_its_line_with_its_threshold():
    figure = p.reject_figure(CURVE, "a", ACCEPTED, 0.9371)
    (axes,) = figure.axes
    line, vertical, marker = axes.lines
    assert line.get_xydata().tolist() == [[0.5, 0.01], [0.75, 0.015], [1, 0.02]]
    assert set(vertical.get_xdata()) == {0.54}
    assert marker.get_xydata().tolist() == [[0.54, 0.004]]
    (note,) = axes.texts
    assert note.get_text() == "threshold 0.937\naccepted 54 %\nof these wrong 0.4 %"
    assert figure.get_label() == (
        "Of all predictions 2 % are wrong. Threshold 0.937, accepted 54 %, of these wrong 0.4 %."
    )
    assert axes.get_xlim() == (0.5, 1)
    assert axes.get_ylim()[1] == pytest.approx(0.03)


def test_a_model_that_accepts_nothing_is_marked_so():
    accepted = ACCEPTED.assign(accepted_mean=0.0, wrong_of_accepted="")
    figure = p.reject_figure(CURVE, "b", accepted, NOTHING_ACCEPTED)
    assert figure.axes[0].texts[0].get_text() == "accepted 0 %"
    assert figure.axes[0].get_xlim() == (0, 1)
    assert figure_svg(figure)


@pytest.mark.parametrize("share", [0.0, 0.31, 0.54, 0.97, 1.0])
def test_no_words_of_the_reject_figure_are_cut(share):
    figure = p.reject_figure(CURVE, "a", ACCEPTED.assign(accepted_mean=share), 0.5)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,) = figure.axes
    note, frame = (part.get_window_extent(canvas.get_renderer()) for part in (axes.texts[0], axes))
    assert frame.x0 < note.x0 < note.x1 < frame.x1
    assert frame.y0 < note.y0 < note.y1 < frame.y1
    assert not note.overlaps(axes.lines[0].get_window_extent())


def test_unknown_has_a_line_and_a_marker_at_what_is_rejected(tables):
    summary, families, curve = unknown_tables(tables)
    figure = p.unknown_figure(curve, summary, families, INNER_CHOICE)
    svg = figure_svg(figure)
    assert svg == figure_svg(p.unknown_figure(curve, summary, families, INNER_CHOICE))
    axes, beside = figure.axes
    chance, line, marker = axes.lines
    assert chance.get_xydata().tolist() == [[0, 0], [1, 1]]
    expected = curve[curve["recipe"] == INNER_CHOICE]
    np.testing.assert_array_equal(line.get_xdata(), expected["known_rejected"])
    np.testing.assert_array_equal(line.get_ydata(), expected["unknown_rejected"])
    summary = summary.set_index("recipe").loc[INNER_CHOICE]
    known, unknown = (summary[f"{name}_rejected_mean"] for name in ("known", "unknown"))
    assert marker.get_xydata().tolist() == [[known, unknown]]
    assert figure.get_label() == (
        f"{percent(known)} of the objects of known classes and {percent(unknown)} of those "
        f"of unknown ones are rejected. The AUROC is {summary['auroc_mean']:.3f}."
    )
    own = families[families["recipe"] == INNER_CHOICE]
    rows = ["all known", *own["class"]]
    assert [text.get_text().strip("\u200b") for text in beside.get_yticklabels()] == rows
    drawn = {bars.get_label(): [bar.get_width() for bar in bars] for bars in beside.containers}
    assert list(drawn) == list(AS)
    for reason, name in AS.items():
        assert drawn[reason] == pytest.approx([summary[f"known_{name}_mean"], *own[name]])


def test_calibration_is_that_of_one_recipe(tables):
    figure = p.calibration_figure(tables["calibration"], "pcvm-meb")
    chance, line = figure.axes[0].lines
    assert chance.get_xydata().tolist() == [[0, 0], [1, 1]]
    own = tables["calibration"][tables["calibration"]["recipe"] == "pcvm-meb"]
    np.testing.assert_array_equal(line.get_ydata(), own["accuracy"])
    last = own.iloc[-1]
    assert figure.get_label() == (
        f"{last['count']:,.0f} of {own['count'].sum():,.0f} probabilities are at least "
        f"{percent(last['lower'])}: their mean is {percent(last['confidence'])}, and "
        f"{percent(last['accuracy'])} of them are right."
    )


def test_boxes_are_the_ranges_of_perfect_probabilities(tables):
    above, below = p.calibration_figure(tables["calibration"], INNER_CHOICE).axes
    rows = tables["calibration"][tables["calibration"]["recipe"] == INNER_CHOICE]
    boxes = above.patches
    for name, found in (
        ("lower", [box.get_x() for box in boxes]),
        ("perfect_low", [box.get_y() for box in boxes]),
        ("perfect_high", [box.get_y() + box.get_height() for box in boxes]),
        ("count", [bar.get_height() for bar in below.patches]),
    ):
        np.testing.assert_allclose(found, rows[name])
