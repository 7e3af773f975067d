"""All figures of a data set, the look that they share, and those of the data and of the map."""

import re
import warnings
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pandas as pd
import pytest

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import figures as f
from kreinflow.report.figures import data
from kreinflow.report.figures.landmark_map import _draw, map_svg
from kreinflow.report.html import drawing
from report.made_up import RECIPES, dataset_report, figures_of, run_tables


@pytest.fixture(scope="module")
def svgs(tables):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return figures_of(tables)


def test_all_figures_are_svg_and_the_same_again(tables, svgs):
    """Whatever matplotlib was told, from tables that were read, of the final model alone."""
    again = dict(tables)
    for name in ("confusion", "reject_curve", "calibration", "coverage", "accepted", "per_class"):
        own = tables[name][tables[name]["recipe"] == INNER_CHOICE]
        again[name] = own.reset_index(drop=True)
    again["landmarks"] = tables["landmarks"][tables["landmarks"]["selector"] == "meb"]
    for name in ("comparison", "models", "landmarks", "points"):
        table = again[name]
        again[name] = table.astype(object).where(table.notna(), "").astype(str)
        if name in ("models", "landmarks"):
            again[name] = again[name].assign(**table.select_dtypes(["number"]).dropna(axis=1))
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": None, "svg.fonttype": "none"}):
        second = figures_of(again)
    for name, svg in svgs.items():
        assert "dc:date" not in svg
        assert svg == second[name], name


def words(svg):
    """What is written in a figure: letters are outlines, with their words in a comment before."""
    return [text.strip().strip("\u200b") for text in re.findall(r"<!--(.*?)-->", svg)]


def test_no_figure_names_a_recipe_but_those_that_compare(svgs):
    names = [name for name, *_ in RECIPES]
    named = {
        figure: {name for name in names for text in [*words(svg), title(svg)] if name in text}
        for figure, svg in svgs.items()
    }
    assert all(len(named.pop(figure)) >= 6 for figure in ("comparison", "alignments"))
    assert set().union(*named.values()) == set()
    assert any("accepted" in text for text in words(svgs["reject"]))


def title(svg):
    return ElementTree.fromstring(svg).findtext("{http://www.w3.org/2000/svg}title")


def test_each_figure_tells_its_figures_in_words(svgs):
    told = [title(svg) for svg in svgs.values()]
    assert len(set(told)) == len(told)
    for text in told:
        assert re.search(r"\d", text), text
        assert re.fullmatch(r"[A-Z\d].*\.", text), text
        assert "nan" not in text


def test_two_classes_two_recipes():
    assert all(figures_of(run_tables(n_classes=2, n_folds=2, n=40, n_recipes=2)).values())


def test_labels_are_short_and_no_formulas_and_in_legends():
    assert f.short_label("a" * 100 + "b" * 100) == "a" * 14 + "…" + "b" * 13
    assert f.short_label("$x$") == r"\$x\$"
    assert f.short_label("two\n lines") == "two lines"
    assert f.short_label("_x") == "\u200b_x"


def test_a_matrix_has_no_lengths(tables):
    statistics = {"class_sizes": {"a": 3, "b": 4}}
    for lengths, panels in (([], 1), ([0, 0], 1), ([10, 12], 2)):
        made = dataset_report(tables, statistics=statistics, lengths=lengths)
        assert len(data.classes_figure(made).axes) == panels


def test_spectrum_shows_both_signs_of_the_first_fold_uncorrected(tables):
    rows = (("none", 0, [4.0, -2.0, 1.0]), ("flip", 0, [9.0] * 3), ("none", 1, [7.0] * 3))
    table = pd.concat(
        pd.DataFrame({"correction": correction, "repeat": 0, "fold": fold, "eigenvalue": values})
        for correction, fold, values in rows
    )
    figure = data.spectrum_figure(dataset_report(tables, spectrum=table))
    (axes,) = figure.axes
    steps = np.concatenate([patch.get_data().values for patch in axes.patches])
    np.testing.assert_allclose(steps, [1.0, 0.25, -0.5])
    told = "Eigenvalues: 2 positive, 1 negative (28.6% of all magnitudes)."
    assert figure.get_label() == told


def test_landmarks_of_the_final_model_stand_on_the_range_of_the_folds(tables):
    rows = [(0, 0, "a"), (0, 0, "a"), (0, 0, "b"), (0, 1, "a"), (-1, -1, "b"), (-1, -1, "b")]
    own = pd.DataFrame(rows, columns=["repeat", "fold", "class"])
    figure = data.landmarks_figure(dataset_report(tables, own_landmarks=own))
    (axes,) = figure.axes
    assert axes.lines[0].get_xdata().tolist() == [0, 2]
    lines = [line[:, 0].tolist() for line in axes.collections[0].get_segments()]
    assert lines == [[1, 2], [0, 1]]
    assert figure.get_label() == (
        "2 landmarks in the final model, 0 to 2 of a class. In the folds 1 to 3."
    )


AXES = {"eigenvalues": [8.0, -1.0], "all_eigenvalues": 10.0}


POINTS = pd.DataFrame({"id": ["a<1", "b&2", "c3", "d4"], "class": list("xxyy")})
POINTS = POINTS.assign(landmark=[True, False, False, True], x=[1.0, 2, 3, 4], y=[0.0, -1, 1, 0])


def test_points_of_the_map_say_what_they_are():
    svg = map_svg(POINTS, AXES)
    uses = [u for u in ElementTree.fromstring(svg).iter() if u.tag.endswith("}use") and len(u)]
    titles = {use[0].text: float(use.get("x")) for use in uses}
    shown = ["landmark a<1\nx", "object b&2\nx", "object c3\ny", "landmark d4\ny"]
    assert sorted(titles) == sorted(shown)
    np.testing.assert_allclose(np.diff([titles[text] for text in shown], n=2), 0, atol=0.02)
    assert "*{" not in svg  # a rule that would reach beyond the figure
    assert ElementTree.fromstring(svg).get("width").endswith("pt")


def test_a_prefix_renames_ids_and_what_refers_to_them():
    svg = map_svg(POINTS, AXES)
    renamed = drawing(svg, "m7-")["text"]
    old, new = (list(ElementTree.fromstring(text).iter()) for text in (svg, renamed))
    ids = {element.get("id") for element in new} - {None}
    assert ids == {f"m7-{element.get('id')}" for element in old if element.get("id")}
    values = [value for element in new for value in element.attrib.values()]
    references = {v[1:] for v in values if v.startswith("#")}
    references |= {part for v in values for part in re.findall(r"url\(#(.*?)\)", v)}
    assert len(references) > 3
    assert references <= ids


@pytest.mark.parametrize(("points", "shown"), [(300, (400, 400)), (600, (800, 560))])
def test_a_figure_says_its_width_in_pixels(points, shown):
    figure = drawing(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{points}pt" height="9pt"/>', ""
    )
    assert (figure["width"], figure["least"]) == shown


def test_axes_of_the_map_have_the_signs_of_their_eigenvalues():
    (axes,) = _draw(POINTS, {"eigenvalues": [-8.0, 1.0], "all_eigenvalues": 10.0}, {}).axes
    assert axes.get_xlabel() == "-   (eigenvalue -8, 80.0% of all magnitudes)"
    assert axes.get_ylabel().startswith("+ ")
    (axes,) = _draw(POINTS, {"eigenvalues": [3.0], "all_eigenvalues": 3.0}, {}).axes
    assert axes.get_ylabel() == "no second eigenvalue"
