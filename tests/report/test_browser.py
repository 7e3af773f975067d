"""The pages in a real browser: any Chromium or Chrome that is installed, headless."""

import re
import shutil

import pytest

from compare.test_tables import compared, made_up, made_up_budgets
from kreinflow.compare.page import render_page as comparison_page
from kreinflow.report.page import render_report
from report.made_up import VERSIONS, config, dataset_report, figures_of, run_tables

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

pytestmark = pytest.mark.slow

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WIDTHS = (400, 1280, 1400)
PAPER = 794 - 2 * 46  # A4 without its margins of 12 mm, in CSS pixels
FINAL = {"many classes": "nearest-meb", "two classes": "ikfd-pooled-meb"}
LARGEST = 2_050_000  # bytes of a page


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with playwright.sync_playwright() as driver:
        try:
            started = driver.chromium.launch(executable_path=found)
        except playwright.Error as error:
            pytest.skip(f"no browser: install Chromium or Chrome ({str(error).splitlines()[0]})")
        yield started
        started.close()


@pytest.fixture(scope="module")
def pages():
    """The text of each page: a report of two data sets, one of them with 50 classes."""
    many = run_tables(n_classes=50, n_folds=2, n=2400, n_recipes=24)
    few = run_tables(n_classes=2, n_folds=2, n=60, n_recipes=2, cascades=1)
    parts = []
    for (name, recipe), tables in zip(FINAL.items(), (many, few), strict=True):
        tables["landmark_map"]["recipe"] = recipe
        figures, whole = figures_of(tables), config(24, cascades=1)
        changes = {"name": name, "figures": figures, "final_recipe": recipe}
        parts.append(dataset_report(tables, whole, **changes))
    return {
        "report": render_report(parts, config(24, cascades=1), VERSIONS),
        "compare": comparison_page({"demo": compared(made_up())}, {"demo": made_up_budgets()}, 1),
    }


@pytest.fixture(scope="module", params=["report", "compare"])
def page(request, browser, pages, tmp_path_factory):
    """A page that was opened from a file; what it asks for and complains of must be nothing."""
    path = tmp_path_factory.mktemp("pages") / f"{request.param}.html"
    path.write_text(pages[request.param])
    tab = browser.new_page()
    tab.set_default_timeout(120_000)  # of a machine that has other work too
    requests, complaints = [], []
    tab.on("request", lambda request: requests.append(request.url))
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto(path.as_uri())
    yield tab
    assert complaints == []
    assert [url for url in requests if not url.startswith("data:")] == [path.as_uri()]
    tab.close()


only_report = pytest.mark.parametrize("page", ["report"], indirect=True)


def test_no_page_is_wider_than_the_window(page):
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") == width
        for table in page.locator("main .scroll").all():
            box = table.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width


def test_what_is_wider_than_its_place_says_so(page):
    seen = set()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)  # observers of sizes report in the next frame
        boxes = page.locator("main .scroll").evaluate_all(
            """all => all.map(box => [box.scrollWidth > box.clientWidth,
                box.previousElementSibling.matches(".hint"),
                box.previousElementSibling.getBoundingClientRect().height > 0,
                box.previousElementSibling.textContent,
                box.querySelectorAll("thead th").length])"""
        )
        assert len(boxes) > 0
        for wide, beside, shown, text, columns in boxes:
            assert beside
            assert shown == wide
            assert text == "Scroll to the right" + (f": {columns} columns" if columns else "")
            seen.add((width, wide))
    if page.title() == "kreinflow: report":
        assert seen == {(width, wide) for width in WIDTHS for wide in (True, False)}


def test_nothing_is_cut_on_paper(page):
    page.set_viewport_size({"width": PAPER, "height": 1000})
    page.emulate_media(media="print")
    try:
        parts = page.locator("main table, main img, main svg, main pre, main dl, main p")
        edges = parts.evaluate_all(
            """all => all.filter(part => part.getClientRects().length).map(part =>
                [part.tagName, part.getBoundingClientRect().right, part.scrollWidth,
                 part.clientWidth, part.getBoundingClientRect().height])"""
        )
        assert len(edges) > 10
        for tag, right, inside, width, height in edges:
            assert right <= PAPER + 0.5, tag
            assert inside <= width + 1 or tag in ("TABLE", "svg"), tag
            assert height < 1000 or tag not in ("IMG", "svg")  # a page is 1,017 high
        sections = page.locator("main section:has(> h2, > h3)").all()
        assert all(section.bounding_box()["height"] > 30 for section in sections)
        assert all(warning.is_visible() for warning in page.locator(".warnings li").all())
        assert page.locator(".hint").evaluate_all(
            "all => all.every(hint => !hint.getClientRects().length)"
        )
        pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True)))
        assert pages >= (10 if page.title() == "kreinflow: report" else 1)
    finally:
        page.emulate_media(media="screen")


def test_no_page_is_large(pages):
    assert {name: len(text.encode()) for name, text in pages.items() if len(text) > LARGEST} == {}


def test_plots_are_drawn(page):
    images = page.locator("main img").all()
    for image in images:
        assert image.evaluate("image => image.complete && image.naturalWidth > 100")
        assert min(image.bounding_box()[side] for side in ("width", "height")) > 100
    drawings = page.locator("main svg").all()
    for drawing in drawings:
        assert min(drawing.bounding_box()[side] for side in ("width", "height")) > 300
    if page.title() == "kreinflow: report":
        assert len(images) == 20
        assert len(drawings) == 2


def cells(table, column):
    rows = table.locator(f"tbody tr > :nth-child({column + 1})")
    return [text.strip() for text in rows.all_text_contents()]


def number(text):
    found = re.match(r"[<>]?\s*([+-]?[\d,.]+)", text)
    return float(found.group(1).replace(",", ""))


@only_report
def test_numbers_sort_by_size_and_empty_cells_last(page):
    table = page.locator("table", has_text="p (Holm)").first
    heads = table.locator("thead th").all_text_contents()
    for name in ("accuracy", "p (Holm)", "alignments per query", "calibration error (if perfect)"):
        column = heads.index(name)
        button = table.locator("thead th button").nth(column)
        for order, sign in (("descending", -1), ("ascending", 1)):
            button.click()
            head = table.locator("thead th").nth(column)
            assert head.get_attribute("aria-sort") == order
            texts = cells(table, column)
            filled = [number(text) for text in texts if text]
            assert [sign * value for value in filled] == sorted(sign * value for value in filled)
            assert "" not in texts[: len(filled)]
    assert len(set(cells(table, heads.index("p (Holm)")))) > 2
    # Rows move whole: the best recipe is still the shaded one.
    assert table.locator("tr.best td").nth(0).text_content() == "best"


@only_report
def test_points_of_the_map_tell_what_they_are(page):
    groups = page.locator("svg").first.locator(".points")
    assert groups.count() == 100  # objects and landmarks of 50 classes
    point = groups.last.locator("use").last
    assert point.locator("title").text_content().startswith("landmark s")
    point.hover()
    assert groups.last.evaluate("group => getComputedStyle(group).opacity") == "1"
    others = groups.evaluate_all("all => all.map(group => getComputedStyle(group).opacity)")
    assert others.count("0.12") == 99
