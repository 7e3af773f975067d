import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report.page import CAPTIONS, INLINE, RunContext, render_report
from report.made_up import (
    all_figures,
    best_recipe,
    config,
    dataset_report,
    run_tables,
    settings,
)

VOID = {"meta", "img", "br", "link", "input", "hr"}
CONTEXT = RunContext(config(), {"python": "3.11", "kreinflow": "0.1.0"})


class Page(HTMLParser):
    """Elements with their attributes, the text, and whether tags are closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.text, self.faults = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        self.text.append(data)

    @property
    def all_text(self):
        return " ".join(" ".join(self.text).split())


def report_of(tables, name="demo", svg="<svg width='10pt'></svg>", **changes):
    figures = dict.fromkeys(CAPTIONS, svg)
    return dataset_report(tables, name, **({"figures": figures} | changes))


@pytest.fixture(scope="module")
def tables():
    return run_tables(n_classes=4, n_folds=3, n=160)


@pytest.fixture(scope="module")
def html(tables):
    return render_report([report_of(tables)], CONTEXT)


def test_it_is_well_formed_with_unique_ids_and_links_that_lead_somewhere(html):
    page = Page(html)
    assert page.faults == []
    assert page.open == []
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    inside = {a["href"] for tag, a in page.elements if tag == "a" and a["href"].startswith("#")}
    assert inside <= {f"#{name}" for name in ids}


def test_all_sections_and_figures_are_there(html):
    page = Page(html)
    headings = {attrs.get("id") for tag, attrs in page.elements if tag in ("h2", "h3")}
    names = "glance input landmarks spectrum map comparison classes confusion alignments reject"
    for name in [*names.split(), "calibration", "times", "methods"]:
        assert f"data-1-{name}" in headings
    assert {"versions", "config", "references"} <= headings
    images = [attrs for tag, attrs in page.elements if tag == "img"]
    captions = [text for name, text in CAPTIONS.items() if name not in INLINE]
    assert sorted(image["alt"] for image in images) == sorted(captions)


def test_nothing_is_loaded_from_anywhere(html):
    page = Page(html)
    for tag, attrs in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base")
        for name in ("src", "srcset", "poster", "data"):
            assert attrs.get(name, "data:").startswith("data:")
        if tag == "script":
            assert attrs == {}
        if "href" in attrs:
            assert tag == "a"
            assert attrs["href"].startswith(("#", "https://doi.org/"))
    assert "@import" not in html
    assert "url(" not in html.replace("url(#", "")
    (policy,) = [a["content"] for _, a in page.elements if "http-equiv" in a]
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.split("; ")[0] == "default-src 'none'"
    assert policy.endswith(f"script-src 'sha256-{digest}'")


def test_hostile_labels_are_text(tables):
    label, recipe = "<b>&\"'", "<img src=x onerror=alert(1)>"
    statistics = tables["statistics"] | {"class_sizes": {label: 3, "b": 40}}
    changed = {
        "statistics": statistics,
        "per_class": tables["per_class"].replace({"class": {tables["classes"][0]: label}}),
        "final_recipe": recipe,
    }
    html = render_report([report_of(tables, name=label, **changed)], CONTEXT)
    page = Page(html)
    assert page.faults == []
    assert not any(tag == "b" and "onerror" in str(attrs) for tag, attrs in page.elements)
    assert all(attrs.get("src", "data:").startswith("data:") for _, attrs in page.elements)
    assert '<b>&"' not in html
    assert label in page.all_text
    assert recipe in page.all_text
    assert "<i>bad</i>" in page.all_text  # an id that was dropped


def test_it_tells_the_winner_from_the_honest_figure(tables, html):
    text = Page(html).all_text
    best = best_recipe(tables)
    assert f"{best} has the best mean accuracy" in text
    assert "slightly optimistic" in text
    inner = tables["summary"].set_index("recipe").loc["inner choice"]
    shown = f"{100 * inner['accuracy_mean']:.2f} ± {100 * inner['accuracy_sd']:.2f} %"
    assert f"“inner choice” is the honest figure, {shown}" in text
    assert "The final model is ikfd-meb , the recipe with the best accuracy on the inner" in text
    alike = tables["comparison"].loc[tables["comparison"]["indistinguishable"], "recipe"]
    assert len(alike) > 0
    assert f"Not distinguishable from it in this run: {', '.join(alike)}. That does not" in text


def test_the_cost_at_a_glance_is_that_of_the_final_model(tables, html):
    models = tables["models"]
    final = models[(models["repeat"] < 0) & (models["recipe"] == "ikfd-meb")].iloc[0]
    cost = round(final["alignments_per_query"])
    assert f"Alignments per query {cost} final model; all distinct: " in Page(html).all_text


def test_numbers_of_the_tables_are_there(tables, html):
    text = Page(html).all_text
    for part in ("700,000 pairs were aligned", "illegal residues", "U -> C", "ab" * 32, "BLOSUM62"):
        assert part in text
    row = tables["per_class"].iloc[0]
    assert f"{100 * row['recall']:.2f}" in text
    assert "reject_error: 0.01" in text


def test_warnings_are_prominent(tables, html):
    assert "Look at this first" in html
    sound = {
        "models": tables["models"].assign(converged=True),
        "factors": tables["factors"].assign(misfit=0.1),
        "landmarks": tables["landmarks"].assign(reached=True),
        "statistics": tables["statistics"] | {"class_sizes": {"a": 80, "b": 80}},
    }
    calm = render_report([report_of(tables, **sound)], CONTEXT)
    assert "Look at this first" not in calm
    assert "No warnings" in calm


def test_same_bytes_again_and_from_written_tables(tables, html):
    assert render_report([report_of(tables)], CONTEXT) == html
    empty = {
        name: tables[name].astype(object).where(tables[name].notna(), "")
        for name in ("comparison", "models", "landmarks")
    }
    assert render_report([report_of(tables, **empty)], CONTEXT) == html


def test_times_can_be_taken_out(tables, html):
    def without_times(text):
        start = text.index('<section class="times">')
        return text[:start] + text[text.index("</section>", start) :]

    slower = tables["times"].assign(seconds=tables["times"]["seconds"] * 2, host="another")
    other = render_report([report_of(tables, times=slower)], CONTEXT)
    assert other != html
    assert without_times(other) == without_times(html)


def test_jobs_of_more_than_one_kind_of_processor_are_told(tables, html):
    assert "OPENBLAS_CORETYPE" not in html
    times = tables["times"].copy()
    times.loc[0, ["host", "cpu_kernel"]] = ["node2", "SkylakeX"]
    page = render_report([report_of(tables, times=times)], CONTEXT)
    assert "OPENBLAS_CORETYPE" in page
    assert "node2" in page


def test_several_data_sets(tables):
    figures = all_figures(tables)
    parts = [report_of(tables, name, figures=figures) for name in ("one", "two")]
    page = Page(render_report(parts, CONTEXT))
    assert page.faults == []
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert {"data-1", "data-2"} <= set(ids)


def test_one_fold_says_that_no_test_is_possible(tables):
    comparison = tables["comparison"].assign(
        p=np.nan, p_holm=np.nan, accuracy_sd=np.nan, indistinguishable=False
    )
    summary = tables["summary"].assign(folds=1)
    for name in summary.columns[summary.columns.str.endswith("_sd")]:
        summary[name] = np.nan
    html = render_report([report_of(tables, comparison=comparison, summary=summary)], CONTEXT)
    text = Page(html).all_text
    assert "With a single fold no test is possible" in text
    assert "nan" not in text.lower().split()


def test_a_matrix(tables):
    data_set = settings() | {"source": {"type": "matrix", "kind": "dissimilarity"}}
    changed = {
        "settings": data_set,
        "alignments": tables["alignments"] | {"aligned": 0, "store": None, "scheme": None},
        "statistics": tables["statistics"] | {"lengths": {}, "substitutions": {}, "files": {}},
    }
    text = Page(render_report([report_of(tables, **changed)], CONTEXT)).all_text
    assert "nothing was aligned" in text
    assert "scores per query" in text


def test_small_with_sixty_classes():
    tables = run_tables(n_classes=60, n_folds=3, n=600)
    svgs = all_figures(tables)
    assert set(svgs) == set(CAPTIONS)
    html = render_report([report_of(tables, figures=svgs)], CONTEXT)
    assert len(html.encode()) < 3_000_000
    images = [a for tag, a in Page(html).elements if tag == "img"]
    assert all("width:" in image["style"] for image in images)


def test_an_automatic_choice_has_a_section_with_the_runners_up(tables):
    inner = dict(
        zip(tables["models"]["recipe"].unique(), [0.91, 0.97, 0.96] + 6 * [0.9], strict=True)
    )
    models = tables["models"].assign(inner_accuracy=tables["models"]["recipe"].map(inner))
    # In one fold another recipe is ahead.
    swapped = (models["fold"] == 0) & (models["recipe"] == "ikfd-pooled-meb-normalised")
    models.loc[swapped, "inner_accuracy"] = 0.98
    context = RunContext(config() | {"auto": {"alignments": 5_000_000}}, CONTEXT.versions)
    report = report_of(tables, models=models, final_recipe="ikfd-pooled-meb")
    html = render_report([report], context)
    page = Page(html)
    assert page.faults == []
    assert ("h3", {"id": "data-1-automatic"}) in page.elements
    text = page.all_text
    assert "9 recipes were compared in 4 training parts" in text
    # Four recipes with 9 ridges on 3 inner folds, five with nothing to choose, each once on all.
    assert "with 132 fits in each, 528 in all" in text
    assert "limited by 5,000,000 alignments" in text
    assert "Nothing of a test fold was seen by a choice" in text
    section = html[html.index('id="data-1-automatic"') : html.index('id="data-1-input"')]
    rows = re.findall(r'<th scope="row">(.*?)</th>(.*?)</tr>', section)
    assert [name for name, _ in rows][:3] == [
        "ikfd-pooled-meb",
        "ikfd-pooled-meb-normalised",
        "ikfd-meb",
    ]
    assert "<td>97.00 %</td>" in rows[0][1]
    assert "<td>2 of 3</td>" in rows[0][1]
    assert "<td>1 of 3</td>" in rows[1][1]
    assert len(rows) == 9
    assert 'data-1-automatic"' not in render_report([report_of(tables)], CONTEXT)


def test_it_says_how_many_objects_the_map_shows(tables):
    whole = {"distinct": 140, "landmarks": 32, "shown_objects": 108, "shown_landmarks": 32}
    text = Page(render_report([report_of(tables, landmark_map=whole)], CONTEXT)).all_text
    assert "It shows all 32 landmarks and all 108 other objects. " in text
    assert "A hash" not in text
    part = whole | {"distinct": 10_000, "shown_objects": 2000}
    text = Page(render_report([report_of(tables, landmark_map=part)], CONTEXT)).all_text
    assert "all 32 landmarks and 2,000 of 9,968 other objects. A hash of their ids says" in text


def test_of_many_recipes_that_are_alike_only_the_number_is_told():
    tables = run_tables(n_classes=3, n_folds=2, n=60, n_recipes=11)
    comparison = tables["comparison"]
    others = ~comparison["best"] & (comparison["recipe"] != INNER_CHOICE)
    one = comparison.index[others][-1]
    comparison = comparison.assign(indistinguishable=others)
    text = Page(render_report([report_of(tables, comparison=comparison)], CONTEXT)).all_text
    assert "in this run: all others. That" in text
    comparison.loc[one, "indistinguishable"] = False
    text = Page(render_report([report_of(tables, comparison=comparison)], CONTEXT)).all_text
    assert "in this run: 9 of the 10 others, named so in the table. That" in text
