import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from kreinflow.evaluation.accepted import AS
from kreinflow.evaluation.identity import IDENTITY_COLUMNS
from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.fitting.reject_threshold import NOTHING_ACCEPTED
from kreinflow.report.figures import figure_svg, percent
from kreinflow.report.figures import probabilities as p
from report.made_up import dataset_report, levels_of, settings, unknown_tables

RECIPE = "pcvm-meb"

ACCEPTED = pd.DataFrame({"recipe": ["a", "b"], "accepted_mean": 0.54, "wrong_of_accepted": 0.004})
CURVE = pd.DataFrame(
    [(recipe, c, e * c) for recipe, e in (("a", 0.02), ("b", 0.3)) for c in (0.5, 0.75, 1.0)],
    columns=["recipe", "coverage", "error"],
)


@pytest.fixture
def drawn(tables):
    """A function that draws a figure of tables that replace the made-up ones."""

    def draw(figure, recipe=INNER_CHOICE, **changes):
        own = settings() | {"final": None if recipe == INNER_CHOICE else recipe}
        return figure(dataset_report(tables, settings=own, **changes))

    return draw


@pytest.fixture
def reject(drawn):
    def draw(recipe, threshold, **values):
        changes = {"accepted": ACCEPTED.assign(**values), "final": {"reject_threshold": threshold}}
        return drawn(p.reject_figure, recipe, reject_curve=CURVE, **changes)

    return draw


def test_what_a_model_accepts_is_marked_on_its_line_with_its_threshold(reject):
    figure = reject("a", 0.9371)
    (axes,) = figure.axes
    line, vertical, marker = axes.lines
    assert line.get_xydata().tolist() == [[0.5, 0.01], [0.75, 0.015], [1, 0.02]]
    assert set(vertical.get_xdata()) == {0.54}
    assert marker.get_xydata().tolist() == [[0.54, 0.004]]
    assert figure.get_label() == (
        "Of all predictions 2 % are wrong. Threshold 0.937, accepted 54 %, of these wrong 0.4 %."
    )
    assert axes.get_xlim() == (0.5, 1)
    assert axes.get_ylim()[1] == pytest.approx(0.03)


def test_a_model_that_accepts_nothing_is_marked_so(reject):
    figure = reject("b", NOTHING_ACCEPTED, accepted_mean=0.0, wrong_of_accepted="")
    assert figure.axes[0].texts[0].get_text() == "accepted 0 %"
    assert figure.axes[0].get_xlim() == (0, 1)
    assert figure_svg(figure)


@pytest.mark.parametrize("share", [0.0, 0.31, 0.54, 0.97, 1.0])
def test_no_words_of_the_reject_figure_are_cut(reject, share):
    figure = reject("a", 0.5, accepted_mean=share)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,) = figure.axes
    note, frame = (part.get_window_extent(canvas.get_renderer()) for part in (axes.texts[0], axes))
    assert frame.x0 < note.x0 < note.x1 < frame.x1
    assert frame.y0 < note.y0 < note.y1 < frame.y1
    assert not note.overlaps(axes.lines[0].get_window_extent())


def test_unknown_has_a_line_and_a_marker_at_what_is_rejected(tables, drawn):
    held = unknown_tables(tables)
    figure = drawn(p.unknown_figure, unknown=held)
    axes, beside = figure.axes
    _, line, marker = axes.lines
    expected, own = (
        held[name][held[name]["recipe"] == INNER_CHOICE] for name in ("curve", "families")
    )
    np.testing.assert_array_equal(line.get_xdata(), expected["known_rejected"])
    np.testing.assert_array_equal(line.get_ydata(), expected["unknown_rejected"])
    summary = held["summary"].set_index("recipe").loc[INNER_CHOICE]
    known, unknown = (summary[f"{name}_rejected_mean"] for name in ("known", "unknown"))
    assert marker.get_xydata().tolist() == [[known, unknown]]
    assert figure.get_label() == (
        f"{percent(known)} of the objects of known classes and {percent(unknown)} of those "
        f"of unknown ones are rejected. The AUROC is {summary['auroc_mean']:.3f}."
    )
    rows = ["all known", *own["class"]]
    assert [text.get_text().strip("\u200b") for text in beside.get_yticklabels()] == rows
    widths = {bars.get_label(): [bar.get_width() for bar in bars] for bars in beside.containers}
    assert list(widths) == list(AS)
    for reason, name in AS.items():
        assert widths[reason] == pytest.approx([summary[f"known_{name}_mean"], *own[name]])


def test_calibration_is_that_of_one_recipe_with_boxes_of_perfect_probabilities(tables, drawn):
    figure = drawn(p.calibration_figure, RECIPE)
    above, below = figure.axes
    own = tables["calibration"][tables["calibration"]["recipe"] == "pcvm-meb"]
    for name, found in (
        ("accuracy", above.lines[1].get_ydata()),
        ("lower", [box.get_x() for box in above.patches]),
        ("perfect_low", [box.get_y() for box in above.patches]),
        ("perfect_high", [box.get_y() + box.get_height() for box in above.patches]),
        ("count", [bar.get_height() for bar in below.patches]),
    ):
        np.testing.assert_allclose(found, own[name])
    last = own.iloc[-1]
    assert figure.get_label() == (
        f"{last['count']:,.0f} of {own['count'].sum():,.0f} probabilities are at least "
        f"{percent(last['lower'])}: their mean is {percent(last['confidence'])}, and "
        f"{percent(last['accuracy'])} of them are right."
    )


def test_a_dot_for_each_class_a_marker_for_all_and_bars_of_sizes(tables, drawn):
    coverage = tables["coverage"]
    figure = drawn(p.sets_figure)
    left, right = figure.axes
    own = coverage[coverage["recipe"] == INNER_CHOICE]
    *classes, whole = left.lines
    for level, dots in zip((0.9, 0.95, 0.99), classes, strict=True):
        rows = own[(own["confidence"] == level) & (own["class"] != "")]
        np.testing.assert_array_equal(dots.get_ydata(), rows["coverage"])
    np.testing.assert_array_equal(whole.get_ydata(), own.loc[own["class"] == "", "coverage"])
    assert list(whole.get_xdata()) == [0, 1, 2]
    heights = np.array([bar.get_height() for bar in right.patches]).reshape(2, 3)
    np.testing.assert_allclose(heights.sum(axis=0), 1.0)
    rows = own[own["class"] == ""]
    np.testing.assert_allclose(heights[0], rows["single"], atol=1e-12)
    assert [text.get_text() for text in right.texts] == [f"{size:.2f}" for size in rows["size"]]
    held, size = rows[["coverage", "size"]].iloc[0]
    assert figure.get_label().startswith(
        f"Of sets with 90 % confidence {percent(held)} hold the true label, and they have "
        f"{size:.2f} labels on the mean."
    )


def test_bars_have_the_figures_of_one_recipe(tables, drawn):
    by_level = levels_of(tables)
    levels = by_level["levels"]
    figure = drawn(p.levels_figure, RECIPE, levels=by_level)
    own = levels[levels["recipe"] == RECIPE]
    wrong, answered = figure.axes
    drawn_bars = [*wrong.containers, *answered.containers]
    expected = (1 - own["accuracy"], 1 - own["answered_accuracy"], own["answered"])
    for bars, shares in zip(drawn_bars, expected, strict=True):
        np.testing.assert_allclose([bar.get_height() for bar in bars], shares)
    first = own.iloc[0]
    assert figure.get_label().startswith(
        f"Level 1: {percent(1 - first['accuracy'])} wrong, {percent(first['answered'])} "
        f"answered, {percent(1 - first['answered_accuracy'])} of these wrong. Level 2: "
    )


def test_where_nothing_is_answered_or_no_set_was_made_nothing_is_drawn(tables, drawn):
    levels = levels_of(tables)["levels"].assign(answered=0.0, answered_accuracy="")
    figure = drawn(p.levels_figure, RECIPE, levels={"levels": levels})
    (_, told) = figure.axes[0].containers
    assert [bar.get_height() for bar in told] == [0, 0, 0]
    assert "of these" not in figure.get_label()
    for name, made in (("levels", p.levels_figure), ("coverage", p.sets_figure)):
        empty = (levels_of(tables) | tables)[name][:0]
        figure = drawn(made, **({"levels": {name: empty}} if name == "levels" else {name: empty}))
        assert figure_svg(figure)
        assert all(not axes.lines and not axes.patches for axes in figure.axes)


def test_by_identity_there_is_a_line_for_each_share_and_a_bar_of_records(drawn):
    rows = [
        (0.0, 0.3, 20, 0.25, 0.7, 0.5, 0.6, 0.3, 0.0, 0.1, 0.8, 0.9, 0.2),
        (0.9, 1.0, 4, 0.97, *[1.0] * 3, 0, 0, 0, 1, 1, 0),
    ]
    table = pd.DataFrame(rows, columns=list(IDENTITY_COLUMNS[1:])).assign(recipe="a")
    other = table.assign(recipe="b", accuracy=0.0)
    figure = drawn(p.identity_figure, "a", identity=pd.concat([table, other]))
    above, below = figure.axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in above.lines}
    assert lines == {
        "right: model": [[0.25, 0.7], [0.97, 1]],
        "right: best hit": [[0.25, 0.5], [0.97, 1]],
        "accepted": [[0.25, 0.6], [0.97, 1]],
        "no relative": [[0.25, 0.1], [0.97, 0]],
        "95 % sets hold": [[0.25, 0.9], [0.97, 1]],
        "beyond": [[0.25, 0.2], [0.97, 0]],
    }, "nothing was unknown"
    assert [bar.get_height() for bar in below.patches] == [20, 4]
    assert figure.get_label() == (
        "0 to 30 % identity: 20 records, 70 % right, 50 % of the best hits. "
        "90 to 100 % identity: 4 records, 100 % right, 100 % of the best hits."
    )
    table = table.assign(held_90="", held_95="", beyond="")
    (above, _) = drawn(p.identity_figure, "a", identity=table).axes
    known = {"right: model", "right: best hit", "accepted", "no relative"}
    assert {line.get_label() for line in above.lines} == known
    assert figure_svg(drawn(p.identity_figure, "a", identity=table[:0]))
