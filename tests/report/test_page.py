import base64
import hashlib
import re
import subprocess
import sys

import numpy as np
import pytest

from kreinflow.report.figures.dataset import draw
from kreinflow.report.page import render_report
from kreinflow.report.tables import best_recipe
from kreinflow.report.texts import CAPTIONS, FIGURES
from report.made_up import (
    VERSIONS,
    Page,
    config,
    dataset_report,
    figures_of,
    report_page,
    run_tables,
)


@pytest.fixture(scope="module")
def html(tables):
    return report_page(tables)[0]


def text_of(tables, **changes):
    return report_page(tables, **changes)[1].all_text


def test_the_page_is_written_without_matplotlib():
    said = "import sys, kreinflow.report.page; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_two_data_sets_with_unique_ids_and_links_that_lead_somewhere(tables):
    figures = dict.fromkeys(CAPTIONS, draw(dataset_report(tables), "map"))
    parts = [dataset_report(tables, name=name, figures=figures) for name in ("one", "two")]
    page = Page(render_report(parts, config(), VERSIONS)).checked()
    assert {"data-1", "data-2"} <= set(page.ids)


def test_all_sections_and_figures_are_there(html):
    page = Page(html)
    headings = {attrs.get("id") for tag, attrs in page.elements if tag in ("h2", "h3")}
    order = "glance classes confusion reject sets calibration alignments input landmarks comparison"
    appendix = ("spectrum", "map", "times")
    names = [*order.split(), "methods", "appendix", *appendix]
    assert [name for name in page.ids if name.startswith("data-1-")] == [
        f"data-1-{name}" for name in names
    ]
    assert {"versions", "config", "references"} <= headings
    sections = page.sections()
    for name in names[1:-4] + list(appendix):
        assert " What to look for: " in sections[f"data-1-{name}"], name
    images = [attrs for tag, attrs in page.elements if tag == "img"]
    captions = [CAPTIONS[name] for name in FIGURES if name != "map"]
    assert sorted(image["alt"] for image in images) == sorted(captions)
    assert all("width:" in image["style"] for image in images)
    for name in ("automatic", "unknown", "levels", "unlabelled"):
        assert f"data-1-{name}" not in page.ids


def test_nothing_is_loaded_from_anywhere(html):
    page = Page(html).checked()
    assert "@import" not in html
    assert "url(" not in html.replace("url(#", "")
    (policy,) = [a["content"] for _, a in page.elements if "http-equiv" in a]
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.split("; ")[0] == "default-src 'none'"
    assert policy.endswith(f"script-src 'sha256-{digest}'")


def test_hostile_labels_are_text(tables):
    label, recipe = "<b>&\"'", "<img src=x onerror=alert(1)>"
    whole = config()
    whole["recipes"][0]["name"] = recipe
    html, page = report_page(
        tables,
        whole,
        name=label,
        statistics=tables["statistics"] | {"class_sizes": {label: 3, "b": 40}},
        per_class=tables["per_class"].replace({"class": {tables["classes"][0]: label}}),
        **{name: tables[name].replace({"ikfd-meb": recipe}) for name in ("models", "accepted")},
        final_recipe=recipe,
    )
    assert not any(tag == "b" and "onerror" in str(attrs) for tag, attrs in page.elements)
    assert '<b>&"' not in html
    for text in (label, recipe, "<i>bad</i>"):  # the last is an id that was dropped
        assert text in page.all_text


def test_numbers_of_the_tables_are_there(tables, html):
    text = Page(html).all_text
    for part in ("700,000 pairs, for all", "illegal residues", "U -> C", "ab" * 32, "BLOSUM62"):
        assert part in text
    row = tables["per_class"].iloc[0]
    assert f"{100 * row['recall']:.2f}" in text
    assert "reject_error: 0.01" in text


def test_same_bytes_again_and_from_written_tables(tables, html):
    assert report_page(tables)[0] == html
    empty = {
        name: tables[name].astype(object).where(tables[name].notna(), "")
        for name in ("comparison", "models", "landmarks")
    }
    assert report_page(tables, **empty)[0] == html


def test_times_can_be_taken_out(tables, html):
    def without_times(text):
        return re.sub('<section class="times">.*?</section>', "", text, flags=re.DOTALL)

    slower = tables["times"].assign(seconds=tables["times"]["seconds"] * 2, host="another")
    other, _ = report_page(tables, times=slower, agreed=17)  # after an interruption
    assert other != html
    assert without_times(other) == without_times(html)


def test_jobs_of_more_than_one_kind_of_processor_are_told(tables, html):
    assert "OPENBLAS_CORETYPE" not in html
    times = tables["times"].copy()
    times.loc[0, ["host", "cpu_kernel"]] = ["node2", "SkylakeX"]
    text = text_of(tables, times=times)
    assert "OPENBLAS_CORETYPE" in text
    assert "node2" in text


def test_one_fold_has_a_test_of_records_alone(tables):
    comparison = tables["comparison"].assign(
        folds=1, p_folds=np.nan, p_folds_holm=np.nan, accuracy_sd=np.nan
    )
    summary = tables["summary"].assign(folds=1)
    for name in summary.columns[summary.columns.str.endswith("_sd")]:
        summary[name] = np.nan
    text = text_of(tables, comparison=comparison, summary=summary)
    assert "measured on the same 1 fold." in text
    assert "Not distinguishable from it in this run: " in text
    assert "nan" not in text.lower().split()


def test_recipes_without_all_folds_are_not_the_best_and_not_tested():
    """The best of them would be the best, had it the accuracy of its first fold in all."""
    whole = run_tables(n_classes=4, n_folds=3, n=160)
    dropped = (best_recipe(whole["comparison"]), "svc-meb")
    tables = run_tables(n_classes=4, n_folds=3, n=160, dropped=dropped)
    figures = figures_of(tables)
    text = text_of(tables, figures=figures, final_recipe="pcvm-meb")
    best = best_recipe(tables["comparison"])
    assert best not in dropped
    assert f"{best} has the best mean accuracy" in text
    assert "on the same 3 folds" in text
    assert "Recipes that were not measured on all folds are not tested" in text
    for name in dropped:
        assert f"{name} measured on 1 of 3 folds" in text
        assert f">{name}<" not in figures["alignments"]
    assert set(tables["comparison"]["recipe"].iloc[-2:]) == set(dropped)
    assert "nan" not in text.lower().split()
