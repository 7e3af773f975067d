"""All figures of a data set, and the look that they share."""

import warnings
import xml.etree.ElementTree as ElementTree

import matplotlib
import pytest

from kreinflow.report import figures as f
from kreinflow.report.figures.dataset import dataset_figures
from report.made_up import run_tables


@pytest.fixture(scope="module")
def svgs(tables):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return dataset_figures(tables)


def test_all_figures_are_svg_and_deterministic(tables, svgs):
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": None, "svg.fonttype": "none"}):
        second = dataset_figures(tables)
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
    written = dataset_figures(read)
    for name in ("comparison", "alignments", "landmarks", "reject", "map"):
        assert written[name] == svgs[name], name


def test_two_classes_two_recipes():
    assert all(dataset_figures(run_tables(n_classes=2, n_folds=2, n=40, n_recipes=2)).values())


def test_styles_differ_for_many_recipes():
    styles = f.styles([str(i) for i in range(28)])
    assert len({(s["color"], s["linestyle"]) for s in styles.values()}) == 28


def test_long_labels_and_formulas():
    assert f.short_label("a" * 100 + "b" * 100) == "a" * 14 + "…" + "b" * 13
    assert f.short_label("$x$") == r"\$x\$"
    assert f.short_label("two\n lines") == "two lines"
