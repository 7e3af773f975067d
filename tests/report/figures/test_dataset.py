"""All figures of a data set, and the look that they share."""

import re
import warnings
import xml.etree.ElementTree as ElementTree

import matplotlib
import pytest

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import figures as f
from kreinflow.report.figures.dataset import DRAWN
from kreinflow.report.texts import CAPTIONS, FIGURES
from report.made_up import RECIPES, figures_of, run_tables


@pytest.fixture(scope="module")
def svgs(tables):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return figures_of(tables)


def test_all_figures_are_svg_and_deterministic(tables, svgs):
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": None, "svg.fonttype": "none"}):
        second = figures_of(tables)
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
    for name in ("landmarks", "models"):
        whole = tables[name].select_dtypes(["number"]).dropna(axis=1)
        read[name] = read[name].assign(**whole)
    written = figures_of(read)
    for name in ("comparison", "alignments", "landmarks", "reject", "map"):
        assert written[name] == svgs[name], name


COMPARING = ("comparison", "alignments")


def words(svg):
    """What is written in a figure: letters are outlines, with their words in a comment before."""
    return [text.strip().strip("\u200b") for text in re.findall(r"<!--(.*?)-->", svg)]


def test_no_figure_names_a_recipe_but_those_that_compare(svgs):
    names = [name for name, *_ in RECIPES]
    named = {
        figure: {name for name in names for text in [*words(svg), title(svg)] if name in text}
        for figure, svg in svgs.items()
    }
    assert all(len(named.pop(figure)) >= 6 for figure in COMPARING)
    assert set().union(*named.values()) == set()
    assert any("accepted" in text for text in words(svgs["reject"]))


def test_figures_are_of_the_final_model(tables, svgs):
    """Tables of the inner choice alone, and of the final selector, draw the same."""
    for name in ("confusion", "reject_curve", "calibration", "coverage", "accepted", "per_class"):
        own = tables[name][tables[name]["recipe"] == INNER_CHOICE]
        tables = tables | {name: own.reset_index(drop=True)}
    landmarks = tables["landmarks"]
    tables = tables | {"landmarks": landmarks[landmarks["selector"] == "meb"]}
    assert figures_of(tables) == svgs


def test_each_figure_has_a_caption():
    assert {*DRAWN, "map"} == set(CAPTIONS)
    assert set(CAPTIONS) - set(FIGURES) == {"unknown", "levels"}


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


def test_styles_differ_for_many_classes():
    styles = f.styles([str(i) for i in range(84)])
    assert len({(s["color"], s["marker"]) for s in styles.values()}) == 84


def test_labels_are_short_and_no_formulas_and_in_legends():
    assert f.short_label("a" * 100 + "b" * 100) == "a" * 14 + "…" + "b" * 13
    assert f.short_label("$x$") == r"\$x\$"
    assert f.short_label("two\n lines") == "two lines"
    assert f.short_label("_x") == "\u200b_x"
