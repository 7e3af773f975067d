"""What the page says of classes that are paths."""

from kreinflow.evaluation.metrics import INNER_CHOICE
from report.made_up import LEVELS_ASKED, levels_of, report_page, settings


def test_the_page_has_the_tree_with_its_figures(tables):
    levels = levels_of(tables)
    asked = settings() | {"levels": LEVELS_ASKED}
    _, page = report_page(tables, levels=levels, settings=asked)
    assert "data-1-levels" in page.ids
    text = page.all_text
    assert "paths with 3 levels, separated by “.”" in text
    assert "at least 95.00 %" in text
    nodes = levels["nodes"][levels["nodes"]["recipe"] == INNER_CHOICE].set_index("node")
    for path in ("1", "1.2", "1.2.1"):
        row = nodes.loc[path]
        figures = [f"{100 * row[name]:.2f}" for name in ("precision", "recall", "answered")]
        assert "".join([path, f"{row['records']:,.0f}", *figures]) in "".join(text.split())
    assert "Classes are paths." in text
    assert "Kiritchenko" in text


def test_data_sets_without_levels_say_nothing_of_them(tables):
    _, page = report_page(tables)
    assert "Classes are paths." not in page.all_text
