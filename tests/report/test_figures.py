import warnings
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest

from kreinflow.report import figures as f
from report.made_up import best_recipe, run_tables


def all_figures(tables):
    best = best_recipe(tables)
    distinct = tables["statistics"]["distinct"]
    return {
        "classes": f.classes_figure(tables["statistics"]["class_sizes"], tables["lengths"]),
        "landmarks": f.landmarks_figure(tables["landmarks"]),
        "spectrum": f.spectrum_figure(tables["spectrum"]),
        "comparison": f.comparison_figure(tables["comparison"]),
        "confusion": f.confusion_figure(tables["confusion"], best, tables["classes"]),
        "alignments": f.alignments_figure(tables["summary"], tables["models"], best, distinct),
        "reject": f.reject_figure(tables["reject_curve"], best),
        "calibration": f.calibration_figure(tables["calibration"], best),
        "times": f.times_figure(tables["times"]),
    }


@pytest.fixture(scope="module")
def tables():
    return run_tables(n_classes=4, n_folds=3, n=120)


def test_all_figures_are_svg_and_deterministic(tables):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = {name: f.figure_svg(figure) for name, figure in all_figures(tables).items()}
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": None, "svg.fonttype": "none"}):
        second = {name: f.figure_svg(figure) for name, figure in all_figures(tables).items()}
    for name, svg in first.items():
        assert ElementTree.fromstring(svg).tag.endswith("svg"), name
        assert "dc:date" not in svg
        assert svg == second[name], name


def test_figures_from_tables_that_were_written_and_read(tables):
    # Empty cells come back as empty text.
    read = {
        name: table.astype(object).where(table.notna(), "").astype(str)
        if name in ("comparison", "models", "landmarks")
        else table
        for name, table in tables.items()
    }
    for name in ("repeat", "fold"):
        read["landmarks"][name] = read["landmarks"][name].astype(int)
    written, plain = all_figures(read), all_figures(tables)
    for name in ("comparison", "alignments", "landmarks"):
        assert f.figure_svg(written[name]) == f.figure_svg(plain[name]), name


def test_one_fold_two_classes_one_recipe():
    for figure in all_figures(run_tables(n_classes=2, n_folds=1 + 1, n=40, n_recipes=2)).values():
        assert f.figure_svg(figure)


def test_a_matrix_has_no_lengths():
    assert len(f.classes_figure({"a": 3, "b": 4}, []).axes) == 1
    assert len(f.classes_figure({"a": 3, "b": 4}, [0, 0]).axes) == 1
    assert len(f.classes_figure({"a": 3, "b": 4}, [10, 12]).axes) == 2


def test_confusion_shows_shares_of_the_true_class():
    table = pd.DataFrame(
        {
            "recipe": ["r", "r", "r", "other"],
            "true": ["a", "a", "b", "b"],
            "predicted": ["a", "b", "b", "a"],
            "count": [30.0, 10.0, 5.0, 99.0],
        }
    )
    right, wrong = f.confusion_figure(table, "r", ["a", "b"]).axes[0].images
    np.testing.assert_allclose(np.diag(right.get_array().filled(0)), [0.75, 1.0])
    np.testing.assert_allclose(wrong.get_array().filled(0), [[0, 0.25], [0, 0]])


def test_spectrum_shows_both_signs_of_the_first_fold_uncorrected():
    rows = [
        ("none", 0, 0, [4.0, -2.0, 1.0]),
        ("flip", 0, 0, [9.0, 9.0, 9.0]),
        ("none", 0, 1, [7.0, 7.0, 7.0]),
        ("none", -1, -1, [8.0, 8.0, 8.0]),
    ]
    table = pd.concat(
        pd.DataFrame({"correction": c, "repeat": r, "fold": k, "eigenvalue": values})
        for c, r, k, values in rows
    ).assign(selector="meb", transform="log", rank_wanted="misfit")
    (axes,) = f.spectrum_figure(table).axes
    steps = np.concatenate([patch.get_data().values for patch in axes.patches])
    np.testing.assert_allclose(steps, [1.0, 0.25, -0.5])
    assert "2 positive, 1 negative (28.6%)" in axes.get_title(loc="left")


def test_landmarks_are_counted_by_class_and_fold():
    table = pd.DataFrame(
        {
            "selector": "s",
            "repeat": [0, 0, 0, 0, -1],
            "fold": [0, 0, 0, 1, -1],
            "class": ["a", "a", "b", "a", "b"],
        }
    )
    (axes,) = f.landmarks_figure(table).axes
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [1.5, 0.5])


def test_styles_differ_for_many_recipes():
    styles = f._styles([str(i) for i in range(28)])
    assert len({(s["color"], s["linestyle"]) for s in styles.values()}) == 28


def test_long_labels_and_formulas():
    assert f._label("a" * 100 + "b" * 100) == "a" * 14 + "…" + "b" * 13
    assert f._label("$x$") == r"\$x\$"
    assert f._label("two\n lines") == "two lines"


def test_save_figure(tmp_path, tables):
    figure = f.times_figure(tables["times"])
    f.save_figure(figure, tmp_path / "a" / "times.svg")
    assert (tmp_path / "a" / "times.svg").read_text() == f.figure_svg(figure)
