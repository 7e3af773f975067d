"""The page: what is on it, for records with one label and with several."""

import base64
import hashlib
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from kreinflow.evaluation.metrics import INNER_CHOICE
from kreinflow.report import sections
from kreinflow.report.figures import figure_svg, probabilities
from kreinflow.report.figures.dataset import draw
from kreinflow.report.page import render_report
from kreinflow.report.tables import best_recipe
from kreinflow.report.texts import CAPTIONS, FIGURES, SEVERAL_CAPTIONS
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


def test_two_data_sets_with_unique_ids_and_links_that_lead_somewhere(tables):
    figures = dict.fromkeys(CAPTIONS, draw(dataset_report(tables), "map"))
    parts = [dataset_report(tables, name=name, figures=figures) for name in ("one", "two")]
    page = Page(render_report(parts, config(), VERSIONS)).checked()
    assert {"data-1", "data-2"} <= set(page.ids)


def test_all_sections_and_figures_are_there_and_nothing_is_loaded_from_anywhere(html):
    page = Page(html)
    order = "glance classes confusion reject identity sets calibration alignments input landmarks"
    order += " comparison methods appendix spectrum map times"
    found = [name for name in page.ids if name.startswith("data-1-")]
    assert found == [f"data-1-{name}" for name in order.split()]
    assert {"versions", "config", "references"} <= set(page.ids)
    images = [attrs for tag, attrs in page.elements if tag == "img"]
    captions = [CAPTIONS[name] for name in FIGURES if name != "map"]
    assert sorted(image["alt"] for image in images) == sorted(captions)
    assert all("width:" in image["style"] for image in images)
    assert "@import" not in html
    assert "url(" not in html.replace("url(#", "")
    (policy,) = [a["content"] for _, a in page.elements if "http-equiv" in a]
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.split("; ")[0] == "default-src 'none'"
    assert policy.endswith(f"script-src 'sha256-{digest}'")


def test_without_identities_there_is_no_section_of_them(tables):
    page = report_page(tables, best_hit=tables["best_hit"].assign(among=40.0, whole=False))[1]
    text = page.sections()["data-1-identity"]
    assert "best hit among 40 of 80 training records, those that were aligned in this run" in text
    page = report_page(tables, identity=tables["identity"][:0])[1]
    assert "data-1-identity" not in page.ids


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


def test_same_bytes_again_and_from_written_tables(tables, html):
    text = Page(html).all_text
    for part in ("700,000 pairs, for all", "illegal residues", "U -> C", "ab" * 32, "BLOSUM62"):
        assert part in text
    assert "reject_error: 0.01" in text
    empty = {
        name: tables[name].astype(object).where(tables[name].notna(), "")
        for name in ("comparison", "models", "landmarks")
    }
    assert report_page(tables, **empty)[0] == html


def test_times_can_be_taken_out(tables, html):
    def without_times(text):
        return re.sub('<section class="times">.*?</section>', "", text, flags=re.DOTALL)

    slower = tables["times"].assign(seconds=tables["times"]["seconds"] * 2, host="another")
    slower.loc[0, ["host", "cpu_kernel"]] = ["node2", "SkylakeX"]
    other, page = report_page(tables, times=slower, agreed=17)  # after an interruption
    assert "node2" in page.all_text
    assert ("OPENBLAS_CORETYPE" in other) > ("OPENBLAS_CORETYPE" in html)
    assert without_times(other) == without_times(html)


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


def test_recipes_without_all_folds_are_not_the_best_and_not_tested(tables):
    """The best of them would be the best, had it the accuracy of its first fold in all."""
    dropped = (best_recipe(tables["comparison"]), "svc-meb")
    tables = run_tables(n_classes=4, n_folds=3, n=160, dropped=dropped)
    data = dataset_report(tables, final_recipe="pcvm-meb")
    text = text_of(tables, final_recipe="pcvm-meb")
    best = best_recipe(tables["comparison"])
    assert best not in dropped
    assert f"{best} has the best mean accuracy" in text
    assert "on the same 3 folds" in text
    assert "Recipes that were not measured on all folds are not tested" in text
    for name in dropped:
        assert f"{name} measured on 1 of 3 folds" in text
        assert f" {name} " not in draw(data, "alignments")
    assert set(tables["comparison"]["recipe"].iloc[-2:]) == set(dropped)
    assert "nan" not in text.lower().split()


@pytest.fixture(scope="module")
def page(tables_of_several):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures = figures_of(tables_of_several)
    return report_page(tables_of_several, figures=figures)[1]


def test_the_page_tells_measures_of_labels(tables_of_several, page):
    text = page.all_text
    row = tables_of_several["summary"].set_index("recipe").loc[INNER_CHOICE]
    f1 = f"{100 * row['micro_f1_mean']:.2f} ± {100 * row['micro_f1_sd']:.2f} %"
    assert f"Micro F1: {f1}." in text
    assert f"{row['hamming_loss_mean']:.4f}" in text
    for part in ("MCC", "Brier", "balanced accuracy", "temperature", "reject below"):
        assert part not in text, part
    assert "rejects new objects" not in text
    assert "data-1-sets" not in page.ids
    others = [text for name, text in SEVERAL_CAPTIONS.items() if text != CAPTIONS[name]]
    assert len(others) == 5
    assert all(caption in text for caption in others)
    own = tables_of_several["per_class"]
    own = own[own["recipe"] == INNER_CHOICE]
    rejected = tables_of_several["rejected"]
    rejected = rejected[rejected["recipe"] == INNER_CHOICE].set_index("class")["rejected"]
    assert rejected.nunique() > 1
    for row in own.itertuples():
        label = row._2  # the column is called class
        measures = (row.precision, row.recall, row.f1, row.average_precision, row.support / 160)
        cells = " ".join(f"{100 * value:.2f}" for value in measures)
        error = f"{row.calibration_error:.3f} ({row.calibration_error_perfect:.3f})"
        share = f"{100 * rejected[label]:.2f}"
        assert f"{label} {cells} {error} {share} {row.support:.0f} 0.375" in text


def test_axes_name_labels_and_no_label_given_is_drawn(tables_of_several):
    data = dataset_report(tables_of_several)
    assert len(data.own("accepted")) > 0
    (axes,) = probabilities.reject_figure(data).axes
    assert not axes.texts
    assert axes.get_xlabel() == "labels given and kept, the most certain first"
    above, below = probabilities.calibration_figure(data).axes
    assert above.get_ylabel() == "records that have it (boxes: 95 % ranges)"
    assert below.get_xlabel() == "probability given to the label"
    drawn = sum(bar.get_height() for bar in below.patches)
    assert drawn == 160 * 4  # a probability for each record and label
    data.tables["reject_curve"] = data["reject_curve"][:0]
    assert figure_svg(probabilities.reject_figure(data))


def test_thresholds_are_those_of_the_final_model(tables):
    several = SimpleNamespace(thresholds=np.array([0.25, 0.5]))
    data = dataset_report(tables)
    vars(data).pop("thresholds")
    vars(data)["_classifier"] = SimpleNamespace(classes=("a", "b"), several=several)
    assert data.thresholds == {"a": 0.25, "b": 0.5}


def test_a_label_without_records_has_no_average_precision(tables_of_several):
    table = tables_of_several["per_class"].copy()
    table.loc[table["class"] == "NA", ["average_precision", "support"]] = [np.nan, 0]
    rejected = tables_of_several["rejected"]
    rejected = rejected[rejected["class"] != "NA"]
    found = sections.per_class(
        dataset_report(tables_of_several, per_class=table, rejected=rejected)
    )
    (row,) = (row for row in found.rows if row[0] == "NA")
    assert row[4:6] == ("", "0.00")
    assert row[found.head.index("rejected, %")] == ""
