import re
import warnings
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import figures as f
from kreinflow.report import map as m
from kreinflow.report.map import map_svg
from report.made_up import all_figures, run_tables


@pytest.fixture(scope="module")
def tables():
    return run_tables(n_classes=4, n_folds=3, n=120)


@pytest.fixture(scope="module")
def svgs(tables):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return all_figures(tables)


def test_all_figures_are_svg_and_deterministic(tables, svgs):
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": None, "svg.fonttype": "none"}):
        second = all_figures(tables)
    for name, svg in svgs.items():
        assert ElementTree.fromstring(svg).tag.endswith("svg"), name
        assert "dc:date" not in svg
        assert svg == second[name], name


def test_figures_from_tables_that_were_written_and_read(tables, svgs):
    # Empty cells come back as empty text.
    read = {
        name: table.astype(object).where(table.notna(), "").astype(str)
        if name in ("comparison", "models", "landmarks", "points")
        else table
        for name, table in tables.items()
    }
    for name in ("repeat", "fold"):
        read["landmarks"][name] = read["landmarks"][name].astype(int)
    written = all_figures(read)
    for name in ("comparison", "alignments", "landmarks", "reject", "map"):
        assert written[name] == svgs[name], name


def test_one_fold_two_classes_one_recipe():
    assert all(all_figures(run_tables(n_classes=2, n_folds=1 + 1, n=40, n_recipes=2)).values())


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
    styles = f.styles([str(i) for i in range(28)])
    assert len({(s["color"], s["linestyle"]) for s in styles.values()}) == 28


def test_long_labels_and_formulas():
    assert f.short_label("a" * 100 + "b" * 100) == "a" * 14 + "…" + "b" * 13
    assert f.short_label("$x$") == r"\$x\$"
    assert f.short_label("two\n lines") == "two lines"


def test_save_figure(tmp_path, tables):
    figure = f.times_figure(tables["times"])
    f.save_figure(figure, tmp_path / "a" / "times.svg")
    assert (tmp_path / "a" / "times.svg").read_text() == f.figure_svg(figure)


def svg_elements(svg, tag):
    return list(ElementTree.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{tag}"))


def test_points_of_the_map_say_what_they_are():
    points = pd.DataFrame(
        {
            "id": ["a<1", "b&2", "c3", "d4"],
            "class": ["x", "x", "y", "y"],
            "landmark": [True, False, False, True],
            "x": [1.0, 2.0, 3.0, 4.0],
            "y": [0.0, -1.0, 1.0, 0.0],
        }
    )
    svg = map_svg(points, {"eigenvalues": [8.0, -1.0], "all_eigenvalues": 10.0})
    root = ElementTree.fromstring(svg)
    uses = [use for use in svg_elements(svg, "use") if len(use)]
    titles = {use[0].text: float(use.get("x")) for use in uses}
    shown = ["landmark a<1\nx", "object b&2\nx", "object c3\ny", "landmark d4\ny"]
    assert sorted(titles) == sorted(shown)
    np.testing.assert_allclose(np.diff([titles[text] for text in shown], n=2), 0, atol=1e-5)
    assert "*{" not in svg  # a rule that would reach beyond the figure
    assert root.get("width").endswith("pt")


def test_a_prefix_renames_ids_and_leaves_texts():
    odd = ["url(#a)", ' id="x"', 'xlink:href="#y"', "#z"]
    points = pd.DataFrame(
        {"id": odd, "class": odd, "landmark": [True, False, False, True], "x": 1.0, "y": 2.0}
    )
    svg = map_svg(points, {"eigenvalues": [8.0, -1.0], "all_eigenvalues": 10.0})
    renamed = m.with_prefix(svg, "m7-")
    before, after = (
        [title.text for title in svg_elements(text, "title")] for text in (svg, renamed)
    )
    assert before == after
    assert [text.partition("\n")[2] for text in sorted(after)] == [
        text.partition(" ")[2].partition("\n")[0] for text in sorted(after)
    ]
    elements = list(ElementTree.fromstring(renamed).iter())
    ids = {element.get("id") for element in elements} - {None}
    assert ids == {f"m7-{element.get('id')}" for element in ElementTree.fromstring(svg).iter()} - {
        "m7-None"
    }
    values = [value for element in elements for value in element.attrib.values()]
    references = {v[1:] for v in values if v.startswith("#m7-")}
    references |= {part for v in values for part in re.findall(r"url\(#(.*?)\)", v)}
    assert len(references) > 3
    assert references <= ids


def test_names_that_begin_with_an_underscore_are_in_the_legends(monkeypatch, tables):
    seen = []
    monkeypatch.setattr(m, "figure_svg", lambda figure: seen.append(figure) or f.figure_svg(figure))
    points = pd.DataFrame(
        {"id": ["a", "b"], "class": ["_x", "y"], "landmark": [True, False], "x": 1.0, "y": 2.0}
    )
    comparison = tables["comparison"].assign(recipe="_" + tables["comparison"]["recipe"])
    curve = tables["reject_curve"].assign(recipe="_" + tables["reject_curve"]["recipe"])
    landmarks = tables["landmarks"].assign(selector="_" + tables["landmarks"]["selector"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # among others, of letters that the font lacks
        map_svg(points, {"eigenvalues": [-8.0, 1.0], "all_eigenvalues": 10.0})
        seen += [f.reject_figure(curve, comparison), f.landmarks_figure(landmarks)]
        drawn = [f.figure_svg(figure) for figure in seen]
    assert all(drawn)
    of_map, of_curve, of_landmarks = (
        [text.get_text().strip("\u200b") for text in figure.legends[0].get_texts()]
        for figure in seen
    )
    assert of_map == ["_x", "y", "landmark"]
    best = f.stressed_recipes(comparison)[0]
    assert f"{best} (best)" in of_curve
    selectors = landmarks["selector"].unique()
    assert {text.split()[0] for text in of_landmarks} == set(selectors)


def test_axes_of_the_map_have_the_signs_of_their_eigenvalues(monkeypatch):
    seen = []
    monkeypatch.setattr(m, "figure_svg", lambda figure: seen.append(figure) or f.figure_svg(figure))
    points = pd.DataFrame({"id": ["a"], "class": ["x"], "landmark": [True], "x": [1.0], "y": [2.0]})
    map_svg(points, {"eigenvalues": [-8.0, 1.0], "all_eigenvalues": 10.0})
    map_svg(points, {"eigenvalues": [3.0], "all_eigenvalues": 3.0})
    (first,), (second,) = (figure.axes for figure in seen)
    assert first.get_xlabel() == "-   (eigenvalue -8, 80.0% of all magnitudes)"
    assert first.get_ylabel().startswith("+ ")
    assert second.get_ylabel() == "no second eigenvalue"


def many_recipes(n):
    names = [f"r{i:02d}" for i in range(n)]
    return names, pd.DataFrame(
        {
            "recipe": [*names[:3], INNER_CHOICE, *names[3:]],
            "best": [True] + [False] * n,
        }
    )


def test_of_many_recipes_the_best_few_and_the_inner_choice_have_a_colour():
    names, comparison = many_recipes(30)
    assert f.stressed_recipes(comparison) == [*names[: f.STRESSED], INNER_CHOICE]
    curve = pd.DataFrame(
        [
            (name, coverage, 0.01 * coverage * (coverage > 0.7))
            for name in comparison["recipe"]
            for coverage in (0.5, 0.75, 1.0)
        ],
        columns=["recipe", "coverage", "error"],
    )
    figure = f.reject_figure(curve, comparison)
    (axes,) = figure.axes
    coloured = [line for line in axes.lines if line.get_color() != f.PALE]
    assert len(axes.lines) == 31
    assert [line.get_label() for line in coloured] == [
        "r00 (best)",
        *names[1 : f.STRESSED],
        INNER_CHOICE,
    ]
    assert axes.get_xlim() == (0.7, 1.0)
    (legend,) = figure.legends
    assert legend.get_texts()[-1].get_text() == "24 other recipes (see the table)"


def test_of_many_recipes_those_are_named_that_nothing_as_cheap_exceeds():
    names, _ = many_recipes(30)
    accuracy = np.linspace(0.99, 0.7, 30)
    accuracy[29] = 0.8
    summary = pd.DataFrame({"recipe": names, "accuracy_mean": accuracy, "accuracy_sd": 0.01})
    cost = [200.0] * 29 + [20.0]
    models = pd.DataFrame({"recipe": names, "repeat": 0, "alignments_per_query": cost})
    (legend,) = f.alignments_figure(summary, models, "r00", 1000).legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert "r29" in texts
    assert {"r00 (best)", *names[1:6]} <= set(texts)
    assert "23 other recipes (see the table)" in texts
    assert len(texts) == 9


def test_the_front_of_cost_and_accuracy():
    costs, accuracies = np.array([5.0, 5, 3, 2, 9]), np.array([0.9, 0.8, 0.9, 0.7, 0.6])
    assert f._best_for_their_cost(costs, accuracies) == [2, 3]


def test_intervals_are_those_of_wilson():
    right, n = np.array([0, 1, 7, 10]), np.array([1, 1, 9, 10])
    low, high = f._wilson(right / n, n.astype(float))
    expected = [
        binomtest(int(k), int(m), 0.5).proportion_ci(0.95, "wilson")
        for k, m in zip(right, n, strict=True)
    ]
    np.testing.assert_allclose(low, [e.low for e in expected], atol=1e-6)
    np.testing.assert_allclose(high, [e.high for e in expected], atol=1e-6)


def test_the_inner_choice_stands_beside_the_best_recipe(tables):
    best = tables["comparison"]["recipe"].iloc[0]
    figure = f.calibration_figure(tables["calibration"], best)
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["perfect", INNER_CHOICE, f"{best} (best)"]
