"""The pages are built without a warning, every link leads somewhere, and none needs a network."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILD = """
import gc, sys
gc.disable()  # what it makes it needs to its end
from sphinx.cmd.build import main
sys.exit(main(sys.argv[1:]))
"""
NAMES = ["README.md", *sorted(f"docs/{path.name}" for path in DOCS.glob("*.md"))]


class Page(HTMLParser):
    """The ids of a page, where its links lead, and what a browser fetches to show it."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.fetched = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.update(filter(None, [attributes.get("id"), attributes.get("name")]))
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        if tag in ("script", "img") and attributes.get("src"):
            self.fetched.append(attributes["src"])
        if tag == "link" and attributes.get("rel") not in ("index", "search", "next", "prev"):
            self.fetched.append(attributes["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The pages as HTML; a warning of the builder is an error."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, "-qnW", "--keep-going", str(DOCS), str(folder)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "lib")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {path: Page(path) for path in sorted(folder.rglob("*.html"))}


def test_each_page_is_in_the_table_of_contents(site):
    (index,) = (page for path, page in site.items() if path.name == "index.html")
    names = {path.stem for path in DOCS.glob("*.md")}
    assert {path.stem for path in site} >= names
    assert {f"{name}.html" for name in names - {"index"}} <= set(index.links)


def test_links_between_pages_lead_somewhere(site):
    for path, page in site.items():
        for link in page.links + page.fetched:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.name}: {link}"
            if parts.fragment and target in site:
                assert unquote(parts.fragment) in site[target].ids, f"{path.name}: {link}"


def test_pages_are_shown_without_a_network(site):
    for path, page in site.items():
        assert not [link for link in page.fetched if urlsplit(link).netloc], path.name


def test_equations_are_written_for_browsers(site):
    (page,) = (path.read_text() for path in site if path.name == "api.html")
    assert page.count("<math ") > 50
    assert "\\frac" not in page


@pytest.mark.parametrize("name", NAMES)
def test_links_of_the_markdown_lead_to_files(name):
    path = ROOT / name
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        parts = urlsplit(link)
        if not parts.scheme and parts.path:
            assert (path.parent / parts.path).exists(), link


def test_the_readme_is_short():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 150
    assert [
        line for line in lines if len(line) > 100 and not line.startswith("python3 -m venv")
    ] == []


@pytest.mark.parametrize("name", [*NAMES, "CHANGELOG.md", "benchmarks/results.md"])
def test_lines_of_prose_are_short(name):
    """Code, tables and equations may be wider."""
    text = re.sub(r"^```.*?^```", "", (ROOT / name).read_text(), flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^\$\$.*?^\$\$", "", text, flags=re.DOTALL | re.MULTILINE)
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("|"))
    assert [line for line in lines if len(line) > 120] == []


def test_the_files_that_the_architecture_names_exist():
    text = (DOCS / "architecture.md").read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.(?:py|smk|json))?)`", text))
    assert len(named) > 60
    homes = (ROOT / "lib" / "kreinflow", ROOT)
    assert {name for name in named if not any((home / name).exists() for home in homes)} == {
        "dataset/"  # a result
    }
