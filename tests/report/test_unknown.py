"""The sections about classes held out as unknown, and about sequences without a label."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pandas as pd
import pytest

from kreinflow.artifacts import write_table
from kreinflow.evaluation.unknown import (
    FAMILIES_COLUMNS,
    REJECTION_SUMMARY_COLUMNS,
    UNKNOWN_CURVE_COLUMNS,
)
from kreinflow.report import figures as f
from kreinflow.report.page import render_report
from kreinflow.report.unknown import UnknownReport
from kreinflow.report.unlabelled import read_unlabelled
from report.made_up import best_recipe, run_tables
from report.test_page import CONTEXT, Page, report_of


def made_up(tables):
    """Tables of two classes held out; the shares of a recipe follow from its number."""
    recipes = list(tables["summary"]["recipe"])
    shares = np.arange(1, len(recipes) + 1) / 100
    deviation = np.full(len(recipes), 0.005)
    values = [recipes, [3] * len(recipes)]
    for part in (shares, shares / 10, 0.3 + shares, 0.5 + shares):
        values += [part, deviation]
    summary = pd.DataFrame(dict(zip(REJECTION_SUMMARY_COLUMNS, values, strict=True)))
    families = [
        (recipe, label, 30, 0.3 + share, np.nan, tables["classes"][0], 0.9)
        for recipe, share in zip(recipes, shares, strict=True)
        for label in ("<i>odd</i>", "new")
    ]
    curve = [(r, 0.1 * i, (0.1 * i) ** 0.5) for r in recipes for i in range(11)]
    return (
        summary,
        pd.DataFrame(families, columns=list(FAMILIES_COLUMNS)),
        pd.DataFrame(curve, columns=list(UNKNOWN_CURVE_COLUMNS)),
    )


@pytest.fixture(scope="module")
def tables():
    return run_tables(n_classes=4, n_folds=3, n=160)


def test_the_figure_has_a_line_for_each_recipe_and_a_marker_at_its_threshold(tables):
    summary, _, curve = made_up(tables)
    comparison = tables["comparison"]
    stressed = f.stressed_recipes(comparison)
    figure = f.unknown_figure(curve, summary, comparison)
    svg = f.figure_svg(figure)
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert svg == f.figure_svg(f.unknown_figure(curve, summary, comparison))
    drawn = figure.axes[0].lines[1:]
    curves = [line for line in drawn if line.get_linestyle() != "None"]
    markers = [line for line in drawn if line.get_linestyle() == "None"]
    assert len(curves) == len(summary)
    rows = summary.set_index("recipe")
    for name, line in zip(stressed, curves, strict=False):
        assert (line.get_linewidth() > 2) == (name == best_recipe(tables))
        expected = curve[curve["recipe"] == name]
        np.testing.assert_array_equal(line.get_xdata(), expected["known_rejected"])
        np.testing.assert_array_equal(line.get_ydata(), expected["unknown_rejected"])
    for name, marker in zip(stressed, markers, strict=True):
        assert marker.get_xdata().tolist() == [rows.loc[name, "known_rejected_mean"]]
        assert marker.get_ydata().tolist() == [rows.loc[name, "unknown_rejected_mean"]]


def test_the_page_tells_how_many_were_rejected(tables):
    summary, families, _ = made_up(tables)
    best = best_recipe(tables)
    statistics = tables["statistics"] | {"unknown": {"<i>odd</i>": 30, "new": 1200}}
    report = UnknownReport(summary, families, "<svg width='10pt'></svg>")
    html = render_report([report_of(tables, statistics=statistics, unknown=report)], CONTEXT)
    page = Page(html)
    assert page.faults == []
    headings = {attrs.get("id") for tag, attrs in page.elements if tag == "h3"}
    assert "data-1-unknown" in headings
    text = page.all_text
    assert "1,230 records of 2 classes were held out" in text
    assert "records held out as unknown 1,230" in text
    share = 1 + list(summary["recipe"]).index(best)
    assert f"{30 + share}.00 ± 0.50 % of the unknown were rejected by {best}" in text
    assert f"beside {share}.00 ± 0.50 % of the known" in text
    assert "at most 1 % errors among accepted predictions on inner folds, without them" in text
    assert f"<i>odd</i> 30 {30 + share}.00 % {tables['classes'][0]} 90.00 %" in text


def test_without_them_there_are_no_sections(tables):
    html = render_report([report_of(tables)], CONTEXT)
    for part in ("data-1-unknown", "held out as unknown", "data-1-unlabelled", "no label"):
        assert part not in html


def test_the_page_counts_the_sequences_without_a_label(tables, tmp_path):
    (tmp_path / "classified").mkdir()
    path = tmp_path / "classified" / "unlabelled.tsv"
    rows = [("<b>", "no", 0.4), ("<b>", "yes", 0.1), ("<b>", "no", 0.3), ("01", "yes", 0.2)]
    table = pd.DataFrame(rows, columns=["label", "reject", "landmark_score"]).assign(problem="")
    table.loc[4] = ["", "", np.nan, "has no residues"]
    write_table(path, table)
    counts = read_unlabelled(tmp_path)
    assert counts["class"].tolist() == ["<b>", "", "01"]
    html = render_report([report_of(tables, unlabelled=counts)], CONTEXT)
    page = Page(html)
    assert page.faults == []
    text = page.all_text
    assert "5 sequences have no label; 2 of them are flagged" in text
    assert "and 1 could not be classified" in text
    assert "<b> 3 1 0.300 01 1 1 0.200" in text

    write_table(path, table[:0])
    html = render_report([report_of(tables, unlabelled=read_unlabelled(tmp_path))], CONTEXT)
    assert "0 sequences have no label; 0 of them are flagged." in Page(html).all_text
